"""The first answer on small real problems: the default, tuned and calibrated model, and what users would do instead.

Run: python benchmarks/zoo.py FOLDER [--draws 5] [--only NAME ...] [--workers 2] [--json FILE]

FOLDER holds problems as .npz files: X (n, d), y (n,) 0-based, names (C,), S (C, p) the class table, and shared (whether
rows and descriptions come from one encoder). A draw takes a quarter of the classes, at least five, as unseen, and keeps
a fifth of the rows of the others back. Nothing is chosen on these rows. Figures are per cent, means over classes: T1
among the unseen classes, H the harmonic mean of seen and unseen classes among all. ECE is the expected calibration
error over 15 bins, corrected for the bias of few rows, of rows that are answered by an unseen or by a seen class.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
import warnings
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402 (after the threads are set)
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402

SHOTS = (1, 2, 5, 20)
LEAST_LEFT = 5  # test rows of each class beside the examples
BINS = 15


def unit(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def accuracy(labels: Any, answers: Any) -> float:
    return 100 * float(np.mean([(answers[labels == one] == one).mean() for one in np.unique(labels)]))


def harmonic(unseen: float, seen: float) -> float:
    return 2 * unseen * seen / (unseen + seen) if unseen + seen else 0.0


def calibration_error(confidence: Any, right: Any) -> float:
    """ECE in per cent; from each bin's squared gap the variance that chance alone would give is taken."""
    bins = np.minimum((np.asarray(confidence) * BINS).astype(int), BINS - 1)
    error = 0.0
    for one in np.unique(bins):
        mine = bins == one
        gap, n = right[mine].mean() - confidence[mine].mean(), mine.sum()
        chance = (confidence[mine] * (1 - confidence[mine])).mean() / n
        error += mine.mean() * np.sqrt(max(gap**2 - chance, 0.0))
    return 100 * float(error)


class Draw:
    """One problem with its classes divided by a seed."""

    def __init__(self, path: Path, seed: int) -> None:
        file = np.load(path)
        X, names = file["X"].astype(np.float32), file["names"]
        y, table, self.shared = names[file["y"]], file["S"].astype(np.float32), bool(file["shared"])
        self.rng = np.random.default_rng(seed)
        self.names = names
        classes = self.rng.permutation(names)
        self.unseen = np.sort(classes[: max(5, len(classes) // 4)])
        is_unseen = np.isin(y, self.unseen)
        self.X, self.y = X[is_unseen], y[is_unseen]
        kept = self.rng.random((~is_unseen).sum()) < 0.2
        seen_rows, seen_labels = X[~is_unseen], y[~is_unseen]
        self.train, self.train_labels = seen_rows[~kept], seen_labels[~kept]
        self.seen_test, self.seen_labels = seen_rows[kept], seen_labels[kept]
        columns = [f"a{k}" for k in range(table.shape[1])]
        self.table = pd.DataFrame(table, index=names, columns=columns)
        self.descriptions = self.table.loc[self.unseen].to_numpy()

    def zero_shot(self, model: Any) -> float:
        return accuracy(self.y, model.predict(self.X, candidates=self.unseen))

    def generalised(self, model: Any, calibrated: bool = True) -> float:
        both = (
            accuracy(labels, model.predict(rows, calibrated=calibrated))
            for rows, labels in ((self.X, self.y), (self.seen_test, self.seen_labels))
        )
        return harmonic(*both)

    def standardise(self, rows: Any) -> Any:
        if self.shared:
            return unit(rows)
        return unit((rows - self.train.mean(axis=0)) / (self.train.std(axis=0) + 1e-6))


def measure(path: Path, seed: int) -> dict[str, Any]:
    """All figures of one problem and draw."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    from zskl import ClassMeansClassifier, selection

    draw = Draw(path, seed)
    found: dict[str, Any] = {"problem": path.stem, "seed": seed, "unseen rows": len(draw.y)}
    if draw.shared:
        everyone = draw.table.to_numpy()
        found["cosine"] = accuracy(draw.y, draw.unseen[(unit(draw.X) @ unit(draw.descriptions).T).argmax(axis=1)])
        both = ((draw.X, draw.y), (draw.seen_test, draw.seen_labels))
        found["H cosine"] = harmonic(
            *(accuracy(y, draw.names[(unit(X) @ unit(everyone).T).argmax(axis=1)]) for X, y in both)
        )
    default = ClassMeansClassifier().fit(draw.train, draw.train_labels, draw.table)
    found["default"], found["H default"] = draw.zero_shot(default), draw.generalised(default)
    began = time.perf_counter()
    calibrated = selection.calibrate(default, draw.train, draw.train_labels, draw.table)
    found["calibrate s"] = time.perf_counter() - began
    found["H calibrated"] = draw.generalised(calibrated)
    began = time.perf_counter()
    tuned = selection.tune(ClassMeansClassifier(), draw.train, draw.train_labels, draw.table)
    found["tune s"] = time.perf_counter() - began
    model = tuned.model
    found["tuned"], found["H tuned"] = draw.zero_shot(model), draw.generalised(model)
    found["H tuned raw"] = draw.generalised(model, calibrated=False)
    found["kept"] = bool(tuned.against_default is not None and tuned.against_default.kept)
    found |= measure_probabilities(draw, model)
    for shots in SHOTS:
        found |= measure_examples(draw, model, shots)
    found |= measure_adaptation(draw, model, found)
    return found


def measure_probabilities(draw: Draw, model: Any) -> dict[str, Any]:
    """Confidence and rightness of all test rows, by the side of the answer; seen and unseen rows as they come."""
    candidates = np.asarray(model.candidates_)
    unseen = set(draw.unseen.tolist())
    rows = np.concatenate([draw.X, draw.seen_test])
    labels = np.concatenate([draw.y, draw.seen_labels])
    chances = model.predict_proba(rows, candidates=candidates)
    answers, confidence = candidates[chances.argmax(axis=1)], chances.max(axis=1)
    side = np.array([one in unseen for one in answers.tolist()])
    alone = model.predict_proba(draw.X, candidates=draw.unseen)
    return {
        "_confidence": confidence.round(4).tolist(),
        "_right": (answers == labels).tolist(),
        "_unseen": side.tolist(),
        "_alone": alone.max(axis=1).round(4).tolist(),
        "_alone right": (draw.unseen[alone.argmax(axis=1)] == draw.y).tolist(),
    }


def measure_examples(draw: Draw, model: Any, shots: int) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression

    places = [draw.rng.permutation(np.flatnonzero(draw.y == one)) for one in draw.unseen]
    if min(map(len, places)) < shots + LEAST_LEFT:
        return {}
    given = np.concatenate([mine[:shots] for mine in places])
    left = np.setdiff1d(np.arange(len(draw.y)), given)
    taught = model.add_examples(draw.X[given], draw.y[given])
    X, y, truth = draw.standardise(draw.X[given]), draw.y[given], draw.y[left]
    asked = draw.standardise(draw.X[left])

    def logistic(rows: Any, labels: Any) -> float:
        return accuracy(truth, LogisticRegression(C=10, max_iter=500).fit(rows, labels).predict(asked))

    found = {
        f"+{shots}": accuracy(truth, taught.predict(draw.X[left], candidates=draw.unseen)),
        f"logistic +{shots}": logistic(X, y),
    }
    if draw.shared:
        with_words = logistic(np.concatenate([X, unit(draw.descriptions)]), np.concatenate([y, draw.unseen]))
        found[f"logistic +{shots}"] = max(found[f"logistic +{shots}"], with_words)
    return found


def measure_adaptation(draw: Draw, model: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Adapted to the unseen rows, and to rows of all classes; refused ones are forced, to see what was missed."""
    answers: dict[str, Any] = {}
    for name, rows, options, before in (
        ("unseen", draw.X, {}, found["tuned"]),
        ("all", np.concatenate([draw.X, draw.seen_test]), {"candidates": "all"}, found["H tuned"]),
    ):
        try:
            adapted = model.adapt(rows, **options)
            answers[f"adapt {name}"] = "accepted"
        except ValueError:
            answers[f"adapt {name}"] = "refused"
            adapted = model.adapt(rows, force=True, **options)
        after = draw.zero_shot(adapted) if name == "unseen" else draw.generalised(adapted)
        answers[f"adapt {name} gain"] = after - before
    return answers


def show(records: list[dict[str, Any]]) -> None:
    frame = pd.DataFrame(records)
    frame = frame[[name for name in frame if not name.startswith("_")]]
    numbers = frame.select_dtypes("number").drop(columns="seed").assign(kept=frame["kept"].astype(float))
    print(numbers.groupby(frame["problem"]).mean().round(1).T.to_string())
    pooled: dict[str, dict[str, float]] = {}
    for problem, some in pd.DataFrame(records).groupby("problem"):
        join = {name: np.concatenate([np.asarray(one) for one in some[name]]) for name in some if name.startswith("_")}
        pooled[str(problem)] = {
            "ECE unseen answers": calibration_error(
                join["_confidence"][join["_unseen"]], join["_right"][join["_unseen"]]
            ),
            "ECE seen answers": calibration_error(
                join["_confidence"][~join["_unseen"]], join["_right"][~join["_unseen"]]
            ),
            "ECE unseen alone": calibration_error(join["_alone"], join["_alone right"]),
        }
    errors = pd.DataFrame(pooled)
    print(errors.assign(mean=errors.mean(axis=1)).round(1).to_string())
    print("\nwanted · measured")
    gain = frame["tuned"] - frame["default"]
    by_problem = gain.groupby(frame["problem"]).mean()
    enough = gain[frame["unseen rows"] >= 500]
    print(f"tuned − default ≥ −0.5 on each problem · {by_problem.min():.1f} (mean {gain.mean():+.1f})")
    print(f"5th percentile of draws ≥ −3 · {np.percentile(enough, 5) if len(enough) else float('nan'):.1f}")
    if "cosine" in frame:
        shared = frame[frame["cosine"].notna()]
        for name, column, least in (
            ("default", "default", -0.5),
            ("tuned", "tuned", 0),
        ):
            mean = (shared[column] - shared["cosine"]).groupby(shared["problem"]).mean()
            print(f"{name} − cosine ≥ {least} in each shared space · {mean.min():.1f}")
        for column in ("H calibrated", "H tuned"):
            least_h = (shared[column] - shared["H cosine"]).groupby(shared["problem"]).mean().min()
            print(f"{column} − cosine's H ≥ 0 in each shared space · {least_h:.1f}")
    raw = (frame["H tuned"] - frame["H tuned raw"]).groupby(frame["problem"]).mean()
    print(f"H tuned − the same uncalibrated ≥ −1 on each problem · {raw.min():.1f}")
    for shots in SHOTS:
        if f"+{shots}" in frame:
            mean = (frame[f"+{shots}"] - frame[f"logistic +{shots}"]).groupby(frame["problem"]).mean()
            print(f"{shots} examples − the better logistic regression ≥ −0.5 on each problem · {mean.min():.1f}")
    for name in ("unseen", "all"):
        for outcome in ("accepted", "refused"):
            some = frame.loc[frame[f"adapt {name}"] == outcome, f"adapt {name} gain"]
            if len(some):
                print(f"adapted to {name}, {outcome}: {len(some)}, mean {some.mean():+.1f}, least {some.min():+.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--only", nargs="+", help="names of problems")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    paths = [path for path in sorted(chosen.folder.glob("*.npz")) if "S" in np.load(path).files]
    paths = [path for path in paths if not chosen.only or path.stem in chosen.only]
    jobs = [(path, seed) for seed in range(chosen.draws) for path in paths]
    records = Parallel(chosen.workers, batch_size=1)(delayed(measure)(*job) for job in jobs)
    if chosen.json:
        chosen.json.write_text(json.dumps(records, default=float) + "\n")
    show(records)


if __name__ == "__main__":
    main()
