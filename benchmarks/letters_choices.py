"""Letters: are the 50 unseen ones a lucky choice, and does validation rank settings as the test does?

Run: python benchmarks/letters_choices.py [--seeds 20] [--jobs 2] [--again]. What benchmarks/results/letters.json
has is not measured again without --again; docs/letters.md is written from it. Test rows are for the report alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from rich.progress import track

import letters_page
import validation
from machine import RESULTS
from zskl import methods, protocols
from zskl.datasets import letters
from zskl.datasets.letters import parts
from zskl.experiments.unit import Unit
from zskl.files import write_atomically

METHODS = {
    "class-means": True,
    "eszsl": True,
    "gaussian-softmax": False,
    "gaussian-ort": False,
}  # → tuned?
RANKED = ("class-means", "eszsl", "gaussian-softmax", "gaussian-ort")
RECORD = RESULTS / "letters.json"


def figures(language: str | None, seed: int, method: str, tune: bool) -> list[float]:
    """Zero-shot accuracy, then unseen, seen and H with calibration, in per cent."""
    record = Unit(method, 0, tune=tune, calibrate=True).run(letters.load(language, seed))
    general = record.gzsl_calibrated
    assert general is not None
    return [100 * value for value in (record.zsl.accuracy, general.unseen, general.seen, general.harmonic)]


def over_seeds(seeds: int, jobs: int) -> dict[str, list[list[float]]]:
    """Method → the figures of each seed of the unseen letters."""
    return {name: _each([(None, seed, name, tune) for seed in range(seeds)], jobs) for name, tune in METHODS.items()}


def over_languages(jobs: int) -> dict[str, dict[str, Any]]:
    """Language → how many letters are unseen, and the figures of class-means at its defaults."""
    found = _each([(language, letters.SEED, "class-means", False) for language in letters.LANGUAGES], jobs)
    unseen = ["".join(letters.load(language).unseen_classes) for language in letters.LANGUAGES]
    pairs = zip(letters.LANGUAGES, unseen, found, strict=True)
    return {language: {"letters": names, "figures": values} for language, names, values in pairs}


def _each(tasks: list[tuple[str | None, int, str, bool]], jobs: int) -> list[list[float]]:
    work = joblib.Parallel(n_jobs=jobs, return_as="generator")(joblib.delayed(figures)(*task) for task in tasks)
    return list(track(work, description=tasks[0][2], total=len(tasks)))


def mistakes() -> dict[str, Any]:
    """By class-means at its defaults: accuracy on faces that were trained on and on others, and the worst letters."""
    data = letters.load()
    model = methods.build("class-means").fit(*data.samples("trainval"), data.signatures)
    rows = data.parts["test_unseen"]
    new = np.isin(parts.face_of_row()[rows], parts.drawn_faces(letters.SEED))
    right = model.predict(data.X[rows], data.signatures.loc[data.unseen_classes]) == data.y[rows]
    result = protocols.zsl(model, data)
    worst = sorted(result.per_class, key=lambda name: result.per_class[name])[:6]
    return {
        "known faces": 100 * float(right[~new].mean()),
        "new faces": 100 * float(right[new].mean()),
        "worst": {str(name): 100 * result.per_class[name] for name in worst},
    }


def rankings() -> dict[str, dict[str, list[list[float]]]]:
    """Method → scoring → validation and test scores of every setting of the default grid, on the default split."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    for method in track(RANKED, description="settings"):
        search, tested = validation.both(letters.load(), method, None)
        found[method] = {}
        for scoring, _ in validation.PANELS:
            mean = search.scores(scoring).mean(axis=1)
            whole = np.isfinite(mean) & np.isfinite(tested[scoring])
            found[method][scoring] = [mean[whole].round(5).tolist(), tested[scoring][whole].round(5).tolist()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() and not chosen.again else {}
    steps: dict[str, Callable[[], Any]] = {
        "mistakes": mistakes,
        "languages": lambda: over_languages(chosen.jobs),
        "seeds": lambda: over_seeds(chosen.seeds, chosen.jobs),
        "settings": rankings,
    }
    for name, measure in steps.items():
        if name not in record:
            record[name] = measure()
            write_atomically(RECORD, (json.dumps(record, ensure_ascii=False) + "\n").encode())
    print(letters_page.write(record))


if __name__ == "__main__":
    main()
