"""Letters: are the 50 unseen ones a lucky choice, and does validation rank settings as the test does?

Run: python benchmarks/letters_choices.py [--seeds 20] [--jobs 2] [--again]. What benchmarks/results/letters.json
has is not measured again without --again; docs/letters.md is written from it. Test rows are for the report alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import joblib
import numpy as np
from rich.progress import track

import letters_page
import validation
from machine import RESULTS
from zskl import methods, protocols
from zskl._files import write_atomically
from zskl.datasets import letters
from zskl.experiments.unit import Unit
from zskl.paper import results
from zskl.selection.grid_search import expand_grid

METHODS = {
    "class-means": False,
    "eszsl": True,
    "gaussian-softmax": False,
    "gaussian-ort": False,
}  # → tuned?
GRIDS: dict[str, dict[str, tuple[object, ...]]] = {  # of the default grids, the settings that matter most
    "class-means": {
        "bandwidth": (1.0, 4.0),
        "noise": (0.03, 0.1),
        "shrinkage": (0.1, 0.2, 0.45, 0.75),
        "crowding": (0.0, 0.2, 0.4),
        "feature_scaling": ("sqrt-l2", "l2"),
    },
    "eszsl": {"gamma": (0.3, 1.0, 3.0, 10.0), "lam": (0.1, 0.3, 1.0, 3.0), "targets": ("zero-one", "signs")},
    "gaussian-softmax": {
        "sigma": (0.7, 1.0),
        "temperature": (0.05, 0.1),
        "learning_rate": (0.0001, 0.0003),
        "epochs": (2, 4, 8),
    },
    "gaussian-ort": {
        "sigma": (0.7, 1.0),
        "repulsion": (3.0, 10.0),
        "learning_rate": (0.0003, 0.001),
        "epochs": (2, 4, 8),
    },
}
THINNED = {"eszsl": 1, "class-means": 7}  # of the default grid, every so manieth setting
RECORD = RESULTS / "letters.json"


def figures(seed: int, method: str, tune: bool) -> list[float]:
    """Zero-shot accuracy, then unseen, seen and H with calibration, in per cent."""
    fixed = results.published_grid(method) if tune else None  # the highest mean of this grid, as recorded
    record = Unit(method, 0, tune=tune, calibrate=True, fixed_grid=fixed).run(letters.load(seed=seed))
    general = record.gzsl_calibrated
    assert general is not None
    return [100 * value for value in (record.zsl.accuracy, general.unseen, general.seen, general.harmonic)]


def over_seeds(method: str, seeds: int, jobs: int) -> list[list[float]]:
    """The figures of a method for each seed of the unseen letters."""
    tasks = (joblib.delayed(figures)(seed, method, METHODS[method]) for seed in range(seeds))
    work = joblib.Parallel(n_jobs=jobs, return_as="generator")(tasks)
    return list(track(work, description=method, total=seeds))


def over_languages() -> dict[str, dict[str, Any]]:
    """Language → the unseen letters, and the zero-shot accuracy of class-means at its defaults."""
    found: dict[str, dict[str, Any]] = {}
    for language in track(letters.LANGUAGES, description="languages"):
        data = letters.load(language)
        model = methods.build("class-means").fit(*data.samples("trainval"), data.signatures)
        accuracy = 100 * protocols.zsl(model, data).accuracy
        found[language] = {"letters": "".join(data.unseen_classes), "zero-shot": accuracy}
    return found


def mistakes() -> dict[str, Any]:
    """By class-means at its defaults: accuracy on faces that were trained on and on others, and the worst letters."""
    data = letters.load()
    model = methods.build("class-means").fit(*data.samples("trainval"), data.signatures)
    rows = data.parts["test_unseen"]
    new = np.isin(letters.row_faces()[rows], letters.draw_test_faces(letters.SEED))
    right = model.predict(data.X[rows], data.signatures.loc[data.unseen_classes]) == data.y[rows]
    result = protocols.zsl(model, data)
    worst = sorted(result.per_class, key=lambda name: result.per_class[name])[:6]
    return {
        "known faces": 100 * float(right[~new].mean()),
        "new faces": 100 * float(right[new].mean()),
        "worst": {str(name): 100 * result.per_class[name] for name in worst},
    }


def rankings() -> dict[str, dict[str, list[list[float]]]]:
    """Method → the scores of the settings in `GRIDS`."""
    return {name: ranking(name, grid) for name, grid in track(GRIDS.items(), description="settings", total=len(GRIDS))}


def thinned(method: str) -> list[dict[str, list[object]]]:
    """Some settings of the default grid, spread over it."""
    settings = expand_grid(results.published_grid(method), methods.build(method))[:: THINNED[method]]
    return [{name: [value] for name, value in setting.items()} for setting in settings]


def ranking(method: str, grid: Any) -> dict[str, list[list[float]]]:
    """Scoring → validation and test scores of every setting, on the default split."""
    search, tested = validation.both(letters.load(), method, None, grid)
    found = {}
    for scoring, _ in validation.PANELS:
        mean = search.scores(scoring).mean(axis=1)
        whole = np.isfinite(mean) & np.isfinite(tested[scoring])
        found[scoring] = [mean[whole].round(5).tolist(), tested[scoring][whole].round(5).tolist()]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    chosen = parser.parse_args()
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() and not chosen.again else {}
    steps: dict[str, Callable[[], Any]] = {"mistakes": mistakes, "languages": over_languages, "settings": rankings}
    steps["tuned"] = partial(figures, letters.SEED, "class-means", True)
    steps |= {f"grid {name}": partial(ranking, name, thinned(name)) for name in THINNED}
    steps |= {f"seeds {name}": partial(over_seeds, name, chosen.seeds, chosen.jobs) for name in METHODS}
    for name, measure in steps.items():
        if name not in record:
            record[name] = measure()
            write_atomically(RECORD, (json.dumps(record, ensure_ascii=False) + "\n").encode())
    print(letters_page.write(record))


if __name__ == "__main__":
    main()
