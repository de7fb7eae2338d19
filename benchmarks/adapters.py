"""Class means beside today's adapters, by a strict protocol: twenty draws, nothing chosen on the classes in question.

Run, in this order:

    python benchmarks/adapters.py pack FOLDER --root DATA [--only NAME ...]
    python benchmarks/adapters.py measure FOLDER RESULTS --workers 16 --limit 540 [--only NAME ...] [--draws 20]
    python benchmarks/adapters.py show RESULTS [MORE ...]

`pack` writes each problem as one file: those of DATA/zoo, CUB with two networks from DATA/xlsa17 and
DATA/xlsa17_resnet50, and the docstrings of shared_space.py, which need MiniLM. `measure` reads nothing but FOLDER. It
writes a file of JSON lines for each draw when it is done, starts none after LIMIT seconds, and skips those that are
there: run the same command again until it says that nothing is left, on one machine or several. What matters most comes
first. `show` prints tables, and writes benchmarks/results/adapters.json, docs/figures/adapters-examples.svg and the
tables of docs/adapters.md.

A draw takes a quarter of the classes, at least five, as unseen; CUB has its published split, and a draw is of examples.
Models learn from rows of seen classes. "published" has the settings of the papers and nothing of ours (class means: its
defaults); "chosen" has what `selection.calibrate` chose on held-out seen classes; "loose" chose among the same settings
on four labelled rows of each unseen class, as the papers do, which a user does not have. Accuracy is the mean over
classes after examples, and over rows of a batch without labels.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402 (after the threads are set)
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402
from sklearn.model_selection import ParameterGrid  # noqa: E402

SHOTS = (1, 2, 4, 8, 16)
LEFT = 2  # rows of each class that are scored, at least
CHOOSING = 4  # labelled rows of each unseen class that the loose protocol chooses on
PRESENCES = {"1-4 classes": 0.0, "a quarter": 0.25, "half": 0.5, "all": 1.0}
BATCHES = (64, 256, 1024)
BOTH = (1, 4)
CUB_DRAWS = 5  # of one unit: they share what validation classes choose
EXAMPLE_METHODS = ("class-means", "tip-adapter", "gda", "clap", "proker", "logistic")
ROW_METHODS = ("class-means", "transclip", "stata", "zlap")
WRONG = " (another's description)"
TRAIN, UNSEEN, HELD_BACK = 0, 1, 2
FIRST = ("clinc150", "ucf101", "docstrings", "caltech101", "esc50", "imagenet4")  # the others come before, being long


# Problems


def pack(folder: Path, root: Path, only: list[str] | None) -> None:
    from zskl import datasets

    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((root / "zoo").glob("*.npz")):
        file = np.load(path)
        if "S" in file.files and (not only or path.stem in only):
            arrays = {name: file[name] for name in ("X", "y", "names", "S", "shared")}
            np.savez(folder / path.name, **arrays, part=np.full(len(arrays["y"]), TRAIN))
    for features, place in (("efficientnet_lite2", "xlsa17"), ("resnet50", "xlsa17_resnet50")):
        name = f"CUB-{features}"
        if only and name not in only:
            continue
        data = datasets.load("CUB", root=root / place, features=features)
        part = np.full(len(data.y), HELD_BACK)
        part[data.parts["trainval"]], part[data.parts["test_unseen"]] = TRAIN, UNSEEN
        np.savez(
            folder / f"{name}.npz",
            X=data.X.astype(np.float16),
            y=data.codes,
            names=data.class_names,
            S=data.signatures.to_numpy(np.float32),
            shared=False,
            part=part,
        )
    if not only or "docstrings" in only:
        import shared_space
        from zskl.signatures.sentences import BUNDLED, load_encoder

        rows, described = shared_space.texts()
        X, frame, labels = shared_space.vectors(rows, described, load_encoder(BUNDLED))
        codes = pd.Index(frame.index).get_indexer(pd.Index(labels))
        names, S = frame.index.to_numpy(str), frame.to_numpy(np.float32)
        part = np.full(len(codes), TRAIN)
        np.savez(folder / "docstrings.npz", X=X.astype(np.float16), y=codes, names=names, S=S, shared=True, part=part)


class Draw:
    """One problem with its classes divided by a seed, or as published."""

    def __init__(self, path: Path, seed: int) -> None:
        file = np.load(path)
        names, y, part = file["names"].astype(str), file["names"].astype(str)[file["y"]], file["part"]
        X, self.seed, self.problem = file["X"].astype(np.float32), seed, path.stem
        self.fixed = bool((part == UNSEEN).any())
        rng = np.random.default_rng((seed, 1))
        if self.fixed:
            self.unseen = np.unique(y[part == UNSEEN])
        else:
            self.unseen = np.sort(rng.permutation(names)[: max(5, len(names) // 4)])
        new = np.isin(y, self.unseen)
        self.X, self.y = X[new], y[new]
        trained = ~new & (part == TRAIN)
        self.train, self.labels = X[trained], y[trained]
        table = pd.DataFrame(
            file["S"].astype(np.float64), index=names, columns=[f"a{k}" for k in range(file["S"].shape[1])]
        )
        # Each unseen class once more, under another name and with the description of another unseen class.
        order = rng.permutation(self.unseen)
        turned = table.loc[np.roll(order, 1)].set_axis([f"{one}{WRONG}" for one in order], axis=0)
        self.table = pd.concat([table, turned])

    def examples(self) -> dict[int, Any]:
        """k → rows of each unseen class, more examples adding to the same; where every class keeps rows to score."""
        order = [
            np.random.default_rng((self.seed, 2, c)).permutation(np.flatnonzero(self.y == one))
            for c, one in enumerate(self.unseen)
        ]
        least = min(map(len, order))
        return {k: np.concatenate([mine[:k] for mine in order]) for k in SHOTS if least >= k + LEFT}

    def accuracy(self, labels: Any, answers: Any) -> float:
        return 100 * float(np.mean([(answers[labels == one] == one).mean() for one in np.unique(labels)]))


# Measurements


def measure_unit(path: Path, seeds: list[int], out: Path) -> None:
    warnings.simplefilter("ignore")
    import logging

    logging.disable(logging.CRITICAL)
    models: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        draw = Draw(path, seed)
        target = out / f"{path.stem}-{seed:02}.jsonl"
        if target.exists():
            continue
        seconds: dict[str, float] = {}
        if not models or not draw.fixed:
            models = {}
            for method in dict.fromkeys((*EXAMPLE_METHODS, *ROW_METHODS)):
                models[method], found = fit(draw, method)
                seconds |= found
        lines = [{"part": "times", "times": seconds}, *measure_examples(draw, models), *measure_rows(draw, models)]
        lines += [*measure_both(draw, models), *measure_loose(draw, models)]
        text = "".join(json.dumps({"problem": draw.problem, "seed": seed, **line}) + "\n" for line in lines)
        part = target.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(target)


def fit(draw: Draw, method: str) -> tuple[dict[str, Any], dict[str, float]]:
    from zskl import methods, selection

    began = time.perf_counter()
    model = methods.build(method).fit(draw.train, draw.labels, draw.table)
    fitted = time.perf_counter()
    chosen = selection.calibrate(copy.deepcopy(model), draw.train, draw.labels, draw.table, engine=None)
    times = {f"{method} fit": fitted - began, f"{method} choose": time.perf_counter() - fitted}
    return {"published": model, "chosen": chosen}, times


def measure_examples(draw: Draw, models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Also the control: the same after examples, with descriptions of other classes."""
    given = draw.examples()
    wrong = np.array([f"{one}{WRONG}" for one in draw.unseen])
    for method in EXAMPLE_METHODS:
        for variant, model in models[method].items():
            line = {"part": "examples", "method": method, "variant": variant}
            yield {**line, "k": 0, **ask(draw, model, draw.X, draw.y)}
            for k, rows in given.items():
                left = np.setdiff1d(np.arange(len(draw.y)), rows)
                began = time.perf_counter()
                taught = model.add_examples(draw.X[rows], draw.y[rows])
                answer = ask(draw, taught, draw.X[left], draw.y[left])
                yield {**line, "k": k, **answer, "seconds": time.perf_counter() - began}
                if variant != "chosen":
                    continue
                places = np.searchsorted(draw.unseen, draw.y)
                taught = model.add_examples(draw.X[rows], wrong[places[rows]])
                answers = taught.predict(draw.X[left], candidates=wrong, calibrated=False)
                yield {**line, "part": "control", "k": k, "accuracy": draw.accuracy(wrong[places[left]], answers)}
    alone = copy.copy(models["logistic"]["published"]).set_params(descriptions=False)
    for k, rows in given.items():
        left = np.setdiff1d(np.arange(len(draw.y)), rows)
        answer = ask(draw, alone.add_examples(draw.X[rows], draw.y[rows]), draw.X[left], draw.y[left])
        yield {"part": "examples", "method": "logistic", "variant": "examples alone", "k": k, **answer}


def ask(draw: Draw, model: Any, X: Any, y: Any) -> dict[str, Any]:
    answers = model.predict(X, candidates=draw.unseen, calibrated=False)
    return {"accuracy": draw.accuracy(y, answers)}


def measure_rows(draw: Draw, models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Batches without labels: which classes are there, and how many rows."""
    for number, (presence, share) in enumerate(PRESENCES.items()):
        for size in BATCHES:
            rng = np.random.default_rng((draw.seed, 3, number, size))
            few = int(rng.integers(1, 5)) if share == 0 else max(2, round(share * len(draw.unseen)))
            there = np.flatnonzero(np.isin(draw.y, rng.permutation(draw.unseen)[:few]))
            rows = rng.permutation(there)[:size]
            if len(rows) < size and size != BATCHES[0] and len(there) <= BATCHES[BATCHES.index(size) - 1]:
                continue  # the same rows as in the smaller batch
            X, y = draw.X[rows], draw.y[rows]
            line = {"part": "rows", "presence": presence, "batch": size, "rows": len(rows)}
            plain = models["stata"]["published"]
            yield {**line, "method": "descriptions", "variant": "published", **answer_batch(draw, plain, X, y)}
            for method in ROW_METHODS:
                for variant, model in models[method].items():
                    yield {**line, "method": method, "variant": variant, **adapt(draw, method, variant, model, X, y)}


def answer_batch(draw: Draw, model: Any, X: Any, y: Any) -> dict[str, Any]:
    answers = model.predict(X, candidates=draw.unseen, calibrated=False)
    return {"accuracy": 100 * float((answers == y).mean())}


def adapt(draw: Draw, method: str, variant: str, model: Any, X: Any, y: Any) -> dict[str, Any]:
    """Class means refuse where validation classes promise nothing; with its defaults nobody has asked them."""
    began, accepted = time.perf_counter(), True
    try:
        model = model.adapt(X, candidates=draw.unseen.tolist(), force=variant != "chosen")
    except ValueError:
        accepted = False
    found = answer_batch(draw, model, X, y)
    return {**found, "accepted": accepted, "seconds": time.perf_counter() - began}


def measure_both(draw: Draw, models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Some examples of each class, and all other rows without labels."""
    for k, rows in draw.examples().items():
        if k not in BOTH:
            continue
        left = np.setdiff1d(np.arange(len(draw.y)), rows)
        for method in ROW_METHODS:
            for variant, model in models[method].items():
                taught = model.add_examples(draw.X[rows], draw.y[rows])
                found = adapt(draw, method, variant, taught, draw.X[left], draw.y[left])
                yield {"part": "both", "k": k, "method": method, "variant": variant, **found}


def measure_loose(draw: Draw, models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The settings with the best accuracy on labelled rows of the unseen classes, scored on the others."""
    if draw.seed >= CUB_DRAWS:  # what it is worth shows in a few draws
        return
    for k, rows in draw.examples().items():
        left = np.setdiff1d(np.arange(len(draw.y)), rows)
        choosing = np.concatenate([left[draw.y[left] == one][:CHOOSING] for one in draw.unseen])
        scored = np.setdiff1d(left, choosing)
        if len(np.unique(draw.y[scored])) < len(draw.unseen):
            continue
        for method in EXAMPLE_METHODS:
            if method == "class-means":
                continue
            model = models[method]["published"].add_examples(draw.X[rows], draw.y[rows])
            best, found = -1.0, {}
            for setting in ParameterGrid(dict(type(model).TRIED)):
                one = copy.copy(model).set_params(**setting)
                on_choosing = ask(draw, one, draw.X[choosing], draw.y[choosing])["accuracy"]
                if on_choosing > best:
                    best, found = on_choosing, ask(draw, one, draw.X[scored], draw.y[scored])
            yield {"part": "examples", "method": method, "variant": "loose", "k": k, **found}


def measure(folder: Path, out: Path, draws: int, workers: int, limit: float, only: list[str] | None) -> None:
    out.mkdir(parents=True, exist_ok=True)
    paths = {path.stem: path for path in folder.glob("*.npz") if not only or path.stem in only}
    order = sorted(paths, key=lambda one: (one in FIRST, FIRST.index(one) if one in FIRST else 0))
    units: list[tuple[Path, list[int]]] = []
    for start in range(0, draws, CUB_DRAWS):
        seeds = list(range(start, min(draws, start + CUB_DRAWS)))
        for problem in order:
            fixed = problem not in FIRST
            units += [(paths[problem], seeds)] if fixed else [(paths[problem], [seed]) for seed in seeds]
    waiting = [
        (path, [seed for seed in seeds if not (out / f"{path.stem}-{seed:02}.jsonl").exists()]) for path, seeds in units
    ]
    waiting = [(path, seeds) for path, seeds in waiting if seeds]
    began = time.monotonic()

    def run(path: Path, seeds: list[int]) -> None:
        if time.monotonic() - began < limit:
            measure_unit(path, seeds, out)

    Parallel(workers, batch_size=1, pre_dispatch=workers)(delayed(run)(*unit) for unit in waiting)
    missing = [
        f"{path.stem} {seed}"
        for path, seeds in waiting
        for seed in seeds
        if not (out / f"{path.stem}-{seed:02}.jsonl").exists()
    ]
    print(f"{len(missing)} draws are left" if missing else "nothing is left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--root", type=Path, required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("results", type=Path)
    measuring.add_argument("--draws", type=int, default=20)
    measuring.add_argument("--workers", type=int, default=2)
    measuring.add_argument("--limit", type=float, default=float("inf"))
    for one in (packing, measuring):
        one.add_argument("--only", nargs="+", help="names of problems")
    chosen = parser.parse_args()
    if chosen.command == "pack":
        pack(chosen.folder, chosen.root, chosen.only)
    else:
        measure(chosen.folder, chosen.results, chosen.draws, chosen.workers, chosen.limit, chosen.only)


if __name__ == "__main__":
    main()
