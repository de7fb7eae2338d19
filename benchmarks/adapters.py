"""Class means beside today's adapters, by a strict protocol: twenty draws, nothing chosen on the classes in question.

Run, in this order:

    python benchmarks/adapters.py pack FOLDER --root DATA [--only NAME ...]
    python benchmarks/adapters.py measure FOLDER RESULTS --workers 16 --limit 540 [--only NAME ...] [--draws 20]
        [--method METHOD ...]
    python benchmarks/adapters.py show [benchmarks/results/adapters.json] RESULTS [MORE ...]

`pack` writes each problem as one file: those of DATA/zoo, CUB with two networks from DATA/xlsa17 and
DATA/xlsa17_resnet50, and the docstrings of shared_space.py, which need MiniLM. `measure` reads nothing but FOLDER. It
writes a file of JSON lines for each draw when it is done, starts none after LIMIT seconds, and skips those that are
there: run the same command again until it says that nothing is left, on one machine or several. What matters most comes
first. With --method it measures these methods again in the draws that are there or in the record below, and replaces
their lines; the others' lines stay. Until all draws are through, files named `.again` mark those that are. `show`
prints tables, and writes benchmarks/results/adapters.json, docs/figures/adapters-examples.svg and the tables of
docs/adapters.md. Give it that record too to keep what it has: a line of a later source replaces the same line of an
earlier one. Regrets are over the draws that all methods of a cell have.

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
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402 (after the threads are set)
import pandas as pd  # noqa: E402
from joblib import Parallel, delayed  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from sklearn.model_selection import ParameterGrid  # noqa: E402

SHOTS = (1, 2, 4, 8, 16)
LEFT = 2  # rows of each class that are scored, at least
CHOOSING = 4  # labelled rows of each unseen class that the loose protocol chooses on
PRESENCES = {"1-4 classes": 0.0, "a quarter": 0.25, "half": 0.5, "all": 1.0}
BATCHES = (64, 256, 1024)
BOTH = (1, 4)
LOOSE_SHOTS, LOOSE_DRAWS = (1, 4, 16), 3
CUB_DRAWS = 5  # of one unit: they share what validation classes choose
EXAMPLE_METHODS = ("class-means", "tip-adapter", "gda", "clap", "proker", "logistic")
ROW_METHODS = ("class-means", "transclip", "stata", "zlap")
METHODS = tuple(dict.fromkeys((*EXAMPLE_METHODS, *ROW_METHODS)))
WRONG = " (another's description)"
TRAIN, UNSEEN, HELD_BACK = 0, 1, 2
CELL = ("part", "problem", "method", "variant", "k", "presence", "batch")  # what names a line, with its seed
AGAIN = 200  # samples of draws for an interval
RECORD = Path(__file__).parent / "results" / "adapters.json"
PAGE = Path(__file__).parents[1] / "docs" / "adapters.md"
FIGURE = PAGE.parent / "figures" / "adapters-examples.svg"
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
        names, y = file["names"].astype(str), file["names"].astype(str)[file["y"]]
        part = file["part"] if "part" in file.files else np.full(len(y), TRAIN)
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


def measure_unit(path: Path, seeds: list[int], out: Path, again: list[str] | None = None) -> None:
    """Write a file for each seed; with `again` replace the lines of these methods in it."""
    warnings.simplefilter("ignore")
    import logging

    logging.disable(logging.CRITICAL)
    models: dict[str, dict[str, Any]] = {}
    for seed in seeds:
        draw = Draw(path, seed)
        target = draw_file(out, path, seed)
        if is_done(target, again):
            continue
        seconds: dict[str, float] = {}
        if not models or not draw.fixed:
            models = {}
            for method in again or METHODS:
                models[method], found = fit(draw, method)
                seconds |= found
        lines = [*measure_examples(draw, models), *measure_rows(draw, models)]
        lines += [*measure_both(draw, models), *measure_loose(draw, models)]
        if again:
            seconds, lines = replace_lines(target, again, seconds, lines)
        lines = [{"part": "times", "times": seconds}, *lines]
        text = "".join(json.dumps({"problem": draw.problem, "seed": seed, **line}) + "\n" for line in lines)
        part = target.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(target)
        if again:
            target.with_suffix(".again").touch()


def draw_file(out: Path, path: Path, seed: int) -> Path:
    return out / f"{path.stem}-{seed:02}.jsonl"


def is_done(target: Path, again: list[str] | None) -> bool:
    """Only draws that are there, or in the record, can be measured again."""
    if not again:
        return target.exists()
    return target.with_suffix(".again").exists() or not (target.exists() or target.stem in recorded_draws())


def recorded_draws() -> frozenset[str]:
    """The draws of the record, by the names of their files."""
    cells = json.loads(RECORD.read_text("utf-8"))["accuracies"] if RECORD.exists() else []
    return frozenset(f"{one['problem']}-{int(seed):02}" for one in cells for seed in one["seeds"])


def replace_lines(
    target: Path, again: list[str], seconds: dict[str, float], lines: list[dict[str, Any]]
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The times and lines of a draw's file with those of the methods in `again` replaced."""
    gone = {*again, "descriptions"} if "stata" in again else set(again)
    times: dict[str, float] = {}
    kept: list[dict[str, Any]] = []
    for line in map(json.loads, target.read_text("utf-8").splitlines() if target.exists() else ()):
        if line["part"] == "times":
            times |= line["times"]
        elif line["method"] not in gone:
            kept.append(line)
    return times | seconds, kept + lines


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
    for method in filter(models.__contains__, EXAMPLE_METHODS):
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
    if "logistic" not in models:
        return
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
            if "stata" in models:
                plain = models["stata"]["published"]
                yield {**line, "method": "descriptions", "variant": "published", **answer_batch(draw, plain, X, y)}
            for method in filter(models.__contains__, ROW_METHODS):
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
        for method in filter(models.__contains__, ROW_METHODS):
            for variant, model in models[method].items():
                taught = model.add_examples(draw.X[rows], draw.y[rows])
                found = adapt(draw, method, variant, taught, draw.X[left], draw.y[left])
                yield {"part": "both", "k": k, "method": method, "variant": variant, **found}


def measure_loose(draw: Draw, models: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The settings with the best accuracy on labelled rows of the unseen classes, scored on the others."""
    if draw.seed >= LOOSE_DRAWS:  # what it is worth shows in a few draws
        return
    for k, rows in draw.examples().items():
        if k not in LOOSE_SHOTS:
            continue
        left = np.setdiff1d(np.arange(len(draw.y)), rows)
        choosing = np.concatenate([left[draw.y[left] == one][:CHOOSING] for one in draw.unseen])
        scored = np.setdiff1d(left, choosing)
        if len(np.unique(draw.y[scored])) < len(draw.unseen):
            continue
        for method in filter(models.__contains__, EXAMPLE_METHODS):
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


def measure(
    folder: Path,
    out: Path,
    draws: int,
    workers: int,
    limit: float,
    only: list[str] | None,
    again: list[str] | None,
) -> None:
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
        (path, [seed for seed in seeds if not is_done(draw_file(out, path, seed), again)]) for path, seeds in units
    ]
    waiting = [(path, seeds) for path, seeds in waiting if seeds]
    began = time.monotonic()

    def run(path: Path, seeds: list[int]) -> None:
        if time.monotonic() - began < limit:
            measure_unit(path, seeds, out, again)

    Parallel(workers, batch_size=1, pre_dispatch=workers)(delayed(run)(*unit) for unit in waiting)
    missing = [
        f"{path.stem} {seed}"
        for path, seeds in waiting
        for seed in seeds
        if not is_done(draw_file(out, path, seed), again)
    ]
    if not missing:
        for path in paths.values():
            for mark in out.glob(f"{path.stem}-*.again"):
                mark.unlink()
    print(f"{len(missing)} draws are left" if missing else "nothing is left")


# Tables


def collect(sources: list[Path]) -> pd.DataFrame:
    """A row for each accuracy in folders and records, the newest; the columns that do not apply are empty."""
    lines: list[dict[str, Any]] = []
    for source in sources:
        if source.is_file():
            lines += to_lines(json.loads(source.read_text("utf-8")))
            continue
        for path in sorted(source.glob("*.jsonl")):
            lines += map(json.loads, path.read_text("utf-8").splitlines())
    frame = pd.DataFrame(lines)
    return frame[(frame["part"] == "times") | ~frame.duplicated([*CELL, "seed"], keep="last")]


def to_lines(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines that a record was made of; of seconds and accepted batches it has the median and the share."""
    for cell in record["accuracies"]:
        line = {name: cell[name] for name in (*CELL, "seconds") if name in cell}
        line |= {"accepted": cell["accepted"] / len(cell["seeds"])} if "accepted" in cell else {}
        for seed, accuracy in zip(cell["seeds"], cell["accuracy"], strict=True):
            yield {**line, "seed": seed, "accuracy": accuracy}
    for problem, times in record["times"].items():
        yield {"part": "times", "problem": problem, "times": times}


def to_record(frame: pd.DataFrame) -> dict[str, Any]:
    """Accuracies of all draws, by what was measured; and the median of seconds."""
    found: dict[str, Any] = {"accuracies": [], "times": {}}
    measured = frame[frame["part"] != "times"]
    for key, some in measured.groupby(list(CELL), dropna=False, sort=True):
        cell = {name: value for name, value in zip(CELL, key, strict=True) if value == value}
        cell |= {name: int(cell[name]) for name in ("k", "batch") if name in cell}
        some = some.sort_values("seed")
        kept = {"accuracy": some["accuracy"].round(2).tolist(), "seeds": some["seed"].astype(int).tolist()}
        if some["accepted"].notna().any():
            kept["accepted"] = round(some["accepted"].sum())
        if some["seconds"].notna().any():
            kept["seconds"] = float(f"{some['seconds'].median():.2g}")
        found["accuracies"].append({**cell, **kept})
    for problem, some in frame[frame["part"] == "times"].groupby("problem"):
        # Medians of a record have no seed: they stay where nothing newer was measured.
        parts = [pd.DataFrame(some.loc[kept, "times"].tolist()) for kept in (some["seed"].isna(), some["seed"].notna())]
        # Of CUB only the first draw of a unit fits anything.
        found["times"][problem] = {name: float(f"{part[name].median():.2g}") for part in parts for name in part}
    return found


class Cells:
    """Accuracies (draws,) of each method and variant in each cell of a part, such as a problem and a number."""

    def __init__(self, record: dict[str, Any], part: str, by: tuple[str, ...]) -> None:
        self.by = by
        self.found: dict[tuple[Any, ...], dict[tuple[str, str], Any]] = {}
        for one in record["accuracies"]:
            if one["part"] == part:
                cell = self.found.setdefault(tuple(one[name] for name in by), {})
                cell[one["method"], one["variant"]] = pd.Series(one["accuracy"], index=one["seeds"])

    def rivals(self, variants: tuple[str, ...] = ("published", "chosen")) -> list[tuple[str, str]]:
        seen = dict.fromkeys(name for cell in self.found.values() for name in cell)
        return [name for name in seen if name[1] in variants]

    def regrets(self) -> pd.DataFrame:
        """How far each is from the best of each cell, by means over draws."""
        return self._regrets(lambda values, problem: values)

    def regrets_again(self) -> NDArray[np.float64]:
        """(AGAIN, rivals) mean regrets where problems, and the draws of each, are drawn again."""
        rng, found = np.random.default_rng(0), []
        problems = list(dict.fromkeys(key[0] for key in self.found))
        for _ in range(AGAIN):
            counts = np.bincount(rng.integers(0, len(problems), len(problems)), minlength=len(problems))
            state = {one: rng.integers(0, 1 << 30) for one in problems}

            def again(values: Any, problem: str, state: dict[str, Any] = state) -> Any:
                own = np.random.default_rng(state[problem])
                return values[:, own.integers(0, values.shape[1], values.shape[1])]

            regrets = self._regrets(again)
            weights = np.array([counts[problems.index(key[0])] for key in self.found], float)
            there = regrets.notna().to_numpy() * weights[:, None]
            found.append((np.nan_to_num(regrets.to_numpy()) * there).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
        return np.array(found)

    @cached_property
    def _values(self) -> dict[tuple[Any, ...], NDArray[np.float64]]:
        """(rivals, draws) of each cell: of the draws that all have who are there."""
        names = self.rivals()
        return {
            key: pd.DataFrame({name: cell[name] for name in names if name in cell}).dropna().T.reindex(names).to_numpy()
            for key, cell in self.found.items()
        }

    def _regrets(self, draw: Callable[[Any, str], Any]) -> pd.DataFrame:
        names, rows = self.rivals(), []
        for key, values in self._values.items():
            means = draw(values, key[0]).mean(axis=1)
            rows.append(np.nanmax(means) - means)
        return pd.DataFrame(rows, index=list(self.found), columns=pd.Index(names, tupleize_cols=False))

    def mean(self, name: tuple[str, str], where: Any = lambda key: True) -> float:
        some = [cell[name].mean() for key, cell in self.found.items() if where(key) and name in cell]
        return float(np.mean(some)) if some else float("nan")

    def difference(self, one: tuple[str, str], other: tuple[str, str], where: Any = lambda key: True) -> str:
        """Paired over draws, mean over cells, with a 95 % interval: problems and their draws are drawn again."""
        pairs: dict[str, list[Any]] = {}
        for key, cell in self.found.items():
            if where(key) and one in cell and other in cell:
                pairs.setdefault(key[0], []).append((cell[one] - cell[other]).dropna().to_numpy())
        if not pairs:
            return "–"
        rng, again, names = np.random.default_rng(0), [], list(pairs)
        for _ in range(AGAIN):
            found: list[float] = []
            for place in rng.integers(0, len(names), len(names)):
                cells = pairs[names[place]]
                mine = rng.integers(0, len(cells[0]), len(cells[0]))
                found += [
                    cell[mine[mine < len(cell)]].mean() if (mine < len(cell)).any() else cell.mean() for cell in cells
                ]
            again.append(np.mean(found))
        low, high = np.percentile(again, [2.5, 97.5])
        mean = np.mean([cell.mean() for cells in pairs.values() for cell in cells])
        return f"{mean:+.1f} ({low:+.1f} … {high:+.1f})"


def named(name: tuple[str, str]) -> str:
    return name[0] if name[0] == "descriptions" else f"{name[0]}, {name[1]}"


def regret_table(cells: Cells, columns: dict[str, Any]) -> list[str]:
    """A row for each method: mean accuracy in groups of cells, mean and worst regret, and class means minus it."""
    plain = cells.regrets()
    again = dict(zip(cells.rivals(), cells.regrets_again().T, strict=True))
    mine, order = ("class-means", "chosen"), plain.mean().sort_values().index.tolist()
    head = ["method", *columns, "mean regret (95 %)", "worst", "class-means minus it (95 %)"]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for name in order:
        low, high = np.nanpercentile(again[name], [2.5, 97.5])
        worst = plain[name].idxmax()
        row = [named(name), *(f"{cells.mean(name, where):.1f}" for where in columns.values())]
        row += [
            f"{plain[name].mean():.2f} ({low:.2f} … {high:.2f})",
            f"{plain[name].max():.1f} ({', '.join(map(str, worst))})",
        ]
        row.append("" if name == mine else cells.difference(mine, name))
        lines.append(f"| {' | '.join(row)} |")
    return lines


def problem_table(cells: Cells) -> list[str]:
    names = [name for name in cells.rivals(("chosen", "examples alone")) if name != ("logistic", "chosen")] + [
        ("logistic", "chosen")
    ]
    head = ["problem", "examples", *(one[0] if one[1] == "chosen" else "logistic, examples alone" for one in names)]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for (problem, k), cell in sorted(cells.found.items()):
        means = {name: cell[name].mean() for name in names if name in cell}
        best = max(means.values())
        row = [
            ("**{:.1f}**" if means[name] > best - 0.05 else "{:.1f}").format(means[name]) if name in means else "–"
            for name in names
        ]
        lines.append(f"| {problem} | {k} | {' | '.join(row)} |")
    return lines


def control_table(record: dict[str, Any]) -> list[str]:
    """What descriptions bring: accuracy with the own ones minus that with those of other classes."""
    right, wrong = Cells(record, "examples", ("problem", "k")), Cells(record, "control", ("problem", "k"))
    lines = [f"| method | {' | '.join(f'{k} examples' for k in SHOTS)} |", f"|---|{'---:|' * len(SHOTS)}"]
    for method in EXAMPLE_METHODS:
        row, name = [], (method, "chosen")
        for k in SHOTS:
            gains = [
                right.found[key][name].mean() - cell[name].mean() for key, cell in wrong.found.items() if key[1] == k
            ]
            row.append(f"{np.mean(gains):+.1f}" if gains else "–")
        lines.append(f"| {method} | {' | '.join(row)} |")
    return lines


def loose_table(cells: Cells) -> list[str]:
    ks = sorted({key[1] for key in cells.found if key[1]})
    lines = [f"| method | {' | '.join(f'{k} examples' for k in ks)} |", f"|---|{'---:|' * len(ks)}"]
    for method in EXAMPLE_METHODS[1:]:
        row = [cells.difference((method, "loose"), (method, "chosen"), lambda key, k=k: key[1] == k) for k in ks]
        lines.append(f"| {method} | {' | '.join(row)} |")
    return lines


def times_table(record: dict[str, Any]) -> list[str]:
    """Medians over problems: to fit, to choose settings, and to learn 4 examples of each class and answer."""
    lines = ["| method | fit | choose settings | learn and answer | adapt and answer |", "|---|---:|---:|---:|---:|"]
    for method in dict.fromkeys((*EXAMPLE_METHODS, *ROW_METHODS)):
        row = [
            np.median([times[f"{method} {step}"] for times in record["times"].values()]) for step in ("fit", "choose")
        ]
        for part, where in (("examples", {"k": 4}), ("rows", {"batch": 1024, "presence": "all"})):
            some = [
                one["seconds"]
                for one in record["accuracies"]
                if one["part"] == part
                and one["method"] == method
                and one["variant"] == "chosen"
                and "seconds" in one
                and all(one.get(name) == value for name, value in where.items())
            ]
            row.append(np.median(some) if some else float("nan"))
        lines.append(f"| {method} | {' | '.join('–' if np.isnan(one) else f'{one:.2g}' for one in row)} |")
    return lines


def draw_figure(cells: Cells) -> str:
    """A line for each method: mean over the problems that have every number of examples."""
    from zskl.plots import _style

    ks = (0, *SHOTS)
    problems = [one for one in dict.fromkeys(key[0] for key in cells.found) if all((one, k) in cells.found for k in ks)]
    lines = [*((method, "chosen") for method in EXAMPLE_METHODS), ("logistic", "examples alone")]
    said = []
    with _style.open_panels(1, 330) as (ax,):
        for name, colour, dash in zip(lines, _style.COLOURS, _style.DASHES, strict=True):
            values = [cells.mean(name, lambda key, k=k: key[0] in problems and key[1] == k) for k in ks]
            label = name[0] if name[1] == "chosen" else "logistic, no descriptions"
            ax.plot(range(len(ks)), values, marker="o", color=colour, linestyle=dash, label=label, clip_on=False)
            points = [f"{value:.1f} with {k}" for k, value in zip(ks, values, strict=True) if np.isfinite(value)]
            said.append(f"{label}: {', '.join(points)}")
        _style.set_tick_names(ax.xaxis, range(len(ks)), [str(k) for k in ks])
        ax.set_xlim(0, len(ks) - 1)
        ax.set_title(f"Mean of {len(problems)} problems")
        ax.set_xlabel("examples of each unseen class")
        ax.set_ylabel("zero-shot accuracy, %")
        _style.draw_legend(ax, 2)
    return _style.to_svg(ax.figure, "Accuracy against the number of examples", "; ".join(said))


def tables(record: dict[str, Any]) -> dict[str, list[str]]:
    """Every generated part of docs/adapters.md."""
    examples = Cells(record, "examples", ("problem", "k"))
    rows = Cells(record, "rows", ("problem", "presence", "batch"))
    both = Cells(record, "both", ("problem", "k"))
    counts = dict.fromkeys(record["times"], 0)
    for one in record["accuracies"]:
        counts[one["problem"]] = max(counts[one["problem"]], len(one["seeds"]))
    return {
        "draws": [f"Draws of each: {', '.join(f'{problem} {count}' for problem, count in counts.items())}."],
        "examples": regret_table(examples, {f"{k}": lambda key, k=k: key[1] == k for k in (0, *SHOTS)}),
        "problems": problem_table(examples),
        "rows": regret_table(rows, {name: lambda key, name=name: key[1] == name for name in PRESENCES}),
        "both": regret_table(both, {f"{k} + rows": lambda key, k=k: key[1] == k for k in BOTH}),
        "control": control_table(record),
        "loose": loose_table(examples),
        "times": times_table(record),
    }


def put_into_page(text: str, parts: dict[str, list[str]]) -> str:
    """The page with its generated parts renewed, each between two marks."""
    for name, lines in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{chr(10).join(lines)}\n\n{end}{after}"
    return text


def show(sources: list[Path]) -> None:
    from machine import describe

    record = to_record(collect(sources))
    cells = ",\n".join(json.dumps(one, ensure_ascii=False) for one in record["accuracies"])  # a line for each
    parts = (
        f'"machine": {json.dumps(describe())}',
        f'"times": {json.dumps(record["times"])}',
        f'"accuracies": [\n{cells}\n]',
    )
    RECORD.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    for name, lines in tables(record).items():
        print(f"\n{name}", *lines, sep="\n")
    PAGE.write_text(put_into_page(PAGE.read_text("utf-8"), tables(record)), encoding="utf-8")
    FIGURE.write_text(draw_figure(Cells(record, "examples", ("problem", "k"))), encoding="utf-8")


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
    measuring.add_argument(
        "--method", nargs="+", choices=METHODS, help="measure these again in the draws that are there"
    )
    showing = commands.add_parser("show")
    showing.add_argument("results", type=Path, nargs="+")
    for one in (packing, measuring):
        one.add_argument("--only", nargs="+", help="names of problems")
    chosen = parser.parse_args()
    if chosen.command == "pack":
        pack(chosen.folder, chosen.root, chosen.only)
    elif chosen.command == "show":
        show(chosen.results)
    else:
        measure(chosen.folder, chosen.results, chosen.draws, chosen.workers, chosen.limit, chosen.only, chosen.method)


if __name__ == "__main__":
    main()
