"""Sets, none of these, and answers of a given risk: what they hold on classes without training rows.

Run: python benchmarks/decisions.py measure RESULTS.jsonl --root ROOT --zoo FOLDER [--draws 50] [--only K] [--seconds S]
     python benchmarks/decisions.py tables RESULTS.jsonl [--docs docs/decisions.md]

A piece is a kind of figure, a problem and a seed; a line is written for each that finishes, and the same command goes
on where it stopped. A draw takes a quarter of the classes (at least five) as unseen and keeps a fifth of the rows of
the others back. Models are class means at default settings, calibrated on training classes alone. `tables` prints the
tables of docs/decisions.md, or writes them between their marks.

sets    coverage and size at 90 %, against one threshold for both sides and against the best k classes
none    rows of classes that are not in the table, of no class at all (clinc150), and photos that are no birds (CUB,
        tiles of the photos that come with scikit-learn and Matplotlib), against four other scores
tree    errors by level for risk 0.1 and 0.2 on CUB, with families and orders as parents
shift   where the guarantee breaks: the unseen classes of CUB are two families, not drawn at random
        and letters whose rows to predict are noisier than those to train on
speed   milliseconds of processor time for the set of a row among 1000 classes
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from zskl import ClassMeansClassifier, datasets, selection
from zskl.decisions import area_under_curve, take_parents
from zskl.selection.class_folds import prepare_fold_data
from zskl.selection.draw_search import score_draws

SETS = ("letters", "clinc150", "caltech101", "ucf101", "CUB", "esc50")
NONE = ("clinc150", "CUB", "letters", "caltech101", "ucf101")
COVERAGE, REJECT = 0.9, 0.05
SHIFTED = ("Parulidae", "Passerellidae")
TREE_DRAWS, SHIFT_DRAWS = 20, 3
MOST_ROWS = 2000  # test rows of a side


@cache
def read_problem(name: str, root: Path, zoo: Path) -> tuple[Any, Any, pd.DataFrame]:
    """Rows, labels and the class table."""
    if name in ("CUB", "letters"):
        data = datasets.load("CUB", root=root, features="efficientnet_lite2") if name == "CUB" else datasets.load(name)
        return np.asarray(data.X), np.asarray(data.y), data.signatures
    file = np.load(zoo / f"{name}.npz")
    values = file["S"].astype(np.float32)
    table = pd.DataFrame(values, index=file["names"], columns=[f"a{k}" for k in range(values.shape[1])])
    return file["X"].astype(np.float32), file["names"][file["y"]], table


class Problem:
    """The rows of one problem, and its classes divided by a seed."""

    def __init__(self, name: str, seed: int, root: Path, zoo: Path, unseen: list[Any] | None = None, gone: float = 0.0):
        X, y, self.table = read_problem(name, root, zoo)
        draw = np.random.default_rng(seed)
        order = draw.permutation(np.unique(self.table.index))
        share = 5 if gone else 4
        count = max(5, len(order) // share)
        hidden = order[:count] if unseen is None else np.asarray(unseen)
        away = order[count : count + round(gone * len(order))]
        is_hidden, is_away = np.isin(y, hidden), np.isin(y, away)
        kept = (draw.random(len(y)) < 0.2) & ~is_hidden & ~is_away
        train = ~is_hidden & ~is_away & ~kept
        if len(away):
            self.table = self.table[~self.table.index.isin(away)]
        self.train, self.labels = X[train], y[train]
        some = [draw.permutation(np.flatnonzero(mask))[:MOST_ROWS] for mask in (kept, is_hidden, is_away)]
        self.rows = {"seen": X[some[0]], "unseen": X[some[1]]}
        self.truth = {"seen": y[some[0]], "unseen": y[some[1]]}
        self.away = X[some[2]]

    def model(self) -> Any:
        made = ClassMeansClassifier().fit(self.train, self.labels, self.table)
        return selection.calibrate(made, self.train, self.labels, self.table, few_shot=False)

    def validation(self, model: Any) -> list[Any]:
        """Calibrated scores of validation rows, their columns, and seen columns, as `calibrate` had them."""
        shared = prepare_fold_data(clone(model), self.train, self.labels, self.table)
        return [(scores - model.calibration_ * seen, own, seen) for scores, own, seen in score_draws(shared)]


def scores_of(model: Any, X: Any) -> Any:
    seen = np.isin(model.candidates_, model.seen_classes_)
    return model.compatibility(X).astype(np.float64) - model.calibration_ * seen


def measure_sets(problem: Problem) -> dict[str, Any]:
    model = problem.model()
    parts = problem.validation(model)
    sides = np.concatenate([seen[own] for _, own, seen in parts])
    gaps = np.concatenate([scores.max(axis=1) - scores[np.arange(len(own)), own] for scores, own, _ in parts])
    ranks = np.concatenate(
        [(scores > scores[np.arange(len(own)), own][:, None]).sum(axis=1) for scores, own, _ in parts]
    )
    weights = np.where(sides, 0.5 / sides.sum(), 0.5 / (~sides).sum())
    order = np.argsort(gaps)
    one = gaps[order][np.searchsorted(np.cumsum(weights[order]), COVERAGE)]
    k = max(int(np.quantile(ranks[sides == side], COVERAGE, method="higher")) + 1 for side in (True, False))
    found: dict[str, Any] = {"k": k}
    for side, X in problem.rows.items():
        scores, truth = scores_of(model, X), problem.truth[side]
        own = np.searchsorted(model.candidates_, truth)
        mine = scores[np.arange(len(own)), own]
        sets = model.predict_set(X, COVERAGE)
        found[side] = {
            "coverage": float(np.mean([label in one for label, one in zip(truth.tolist(), sets, strict=True)])),
            "size": float(np.median(list(map(len, sets)))),
            "mean size": float(np.mean(list(map(len, sets)))),
            "accuracy": float(np.mean(scores.argmax(axis=1) == own)),
            "one": float(np.mean(scores.max(axis=1) - mine <= one)),
            "one size": float(np.median((scores >= scores.max(axis=1, keepdims=True) - one).sum(axis=1))),
            "top": float(np.mean((scores > mine[:, None]).sum(axis=1) < k)),
        }
    return found


def known_scores(scores: Any, seen: Any, model: Any) -> dict[str, Any]:
    """What tells rows of a candidate by its scores, larger for these: ours and the alternatives."""
    best = -np.sort(-scores, axis=1)[:, :2]
    T = model.temperatures_
    of_row = np.where(seen[scores.argmax(axis=1)], T["mixed_seen"], T["mixed_unseen"])[:, None]
    likely = 1 / np.exp((scores - best[:, :1]) / of_row).sum(axis=1)
    energy = best[:, 0] + T["mixed"] * np.log(np.exp((scores - best[:, :1]) / T["mixed"]).sum(axis=1))
    lead = best[:, 0] - best[:, 1]
    return {
        "ours": best[:, 0] + model.decisions_.lead * lead,
        "probability": likely,
        "energy": energy,
        "features": np.column_stack([best[:, 0], lead, likely, scores.mean(axis=1), scores.std(axis=1)]),
    }


def measure_none(problem: Problem, others: dict[str, Any]) -> dict[str, Any]:
    model = problem.model()
    seen = np.isin(model.candidates_, model.seen_classes_)
    parts = problem.validation(model)
    # "A fitted threshold": a classifier of validation rows, where half of the held-out classes play the unknown ones.
    played, unknown = [], []
    for number, (scores, own, side) in enumerate(parts):
        held = np.random.default_rng(number).permutation(np.flatnonzero(~side))
        gone = held[: len(held) // 2]
        stays = np.setdiff1d(np.arange(len(side)), gone)
        played.append(known_scores(scores[:, stays], side[stays], model)["features"])
        unknown.append(np.isin(own, gone))
    features = np.concatenate(played)
    centre, spread = features.mean(axis=0), features.std(axis=0)
    fitted = LogisticRegression(class_weight="balanced").fit((features - centre) / spread, ~np.concatenate(unknown))

    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)  # noqa: E731
    means = np.stack([unit(problem.train[problem.labels == one]).mean(axis=0) for one in model.seen_classes_])
    near = lambda X: -(1 + (means**2).sum(axis=1) - 2 * unit(X) @ means.T).min(axis=1)  # noqa: E731

    def all_of(scores: Any, columns: Any, X: Any = None) -> dict[str, Any]:
        found = known_scores(scores, columns, model)
        given = (found.pop("features") - centre) / spread
        found["fitted"] = fitted.decision_function(given)
        return found if X is None else {**found, "distance": near(X)}

    validation = [all_of(scores, side) for scores, _, side in parts]
    sides = np.concatenate([side[own] for _, own, side in parts])
    weights = np.where(sides, 0.5 / sides.sum(), 0.5 / (~sides).sum())
    limits = {}
    for name in validation[0]:
        values = np.concatenate([one[name] for one in validation])
        order = np.argsort(values)
        limits[name] = values[order][np.searchsorted(np.cumsum(weights[order]), REJECT)]
    limits["distance"] = np.quantile(near(problem.train), REJECT)
    known = {side: all_of(scores_of(model, X), seen, X) for side, X in problem.rows.items()}
    rejected = {side: float(np.mean(model.predict(X, reject=REJECT) == "unknown")) for side, X in problem.rows.items()}
    found: dict[str, Any] = {"lead": model.decisions_.lead, "others": {}}
    found["false alarms"] = {
        side: {name: float(np.mean(values < limits[name])) for name, values in one.items()} | {"ours": rejected[side]}
        for side, one in known.items()
    }
    for name, X in {"other classes": problem.away, **others}.items():
        told = all_of(scores_of(model, X), seen, X)
        sides_of = [known["seen"], known["unseen"]]
        caught = {key: float(np.mean(values < limits[key])) for key, values in told.items()}
        found["others"][name] = {
            "rows": len(X),
            "auroc": {
                key: float(np.mean([area_under_curve(one[key], values) for one in sides_of]))
                for key, values in told.items()
            },
            "caught": caught | {"ours": float(np.mean(model.predict(X, reject=REJECT) == "unknown"))},
        }
    return found


def measure_tree(problem: Problem, risks: tuple[float, ...] = (0.1, 0.2)) -> dict[str, Any]:
    model = problem.model()
    found = {}
    for risk in risks:
        per_side = {
            side: model.hierarchy_.report(problem.truth[side], model.predict(X, risk=risk), model.candidates_)
            for side, X in problem.rows.items()
        }
        plain = {
            side: model.hierarchy_.report(problem.truth[side], model.predict(X), model.candidates_)[
                "accuracy"
            ].to_dict()
            for side, X in problem.rows.items()
        }
        found[str(risk)] = {
            side: {level: {key: float(value) for key, value in row.items()} for level, row in table.T.to_dict().items()}
            for side, table in per_side.items()
        } | {"plain": plain}
    return found


def measure_speed(problem: Problem) -> dict[str, Any]:
    model = problem.model()
    rows = problem.rows["seen"][:200]
    model.predict_set(rows[:1])
    took = []
    for row in rows:
        began = time.process_time()
        model.predict_set(row[None])
        took.append(1000 * (time.process_time() - began))
    began = time.process_time()
    model.predict_set(rows)
    together = 1000 * (time.process_time() - began) / len(rows)
    return {"classes": len(model.candidates_), "one by one": float(np.median(took)), "together": together}


def photos_without_birds() -> Any:
    """Features of tiles of the photos that come with scikit-learn and Matplotlib: a flower, a temple, a woman."""
    import matplotlib
    import sklearn
    from PIL import Image

    from zskl.datasets.backbones import load_backbone

    files = [*Path(sklearn.__file__).parent.glob("datasets/images/*.jpg")]
    files.append(Path(matplotlib.__file__).parent / "mpl-data" / "sample_data" / "grace_hopper.jpg")
    network, tiles = load_backbone("efficientnet-lite2"), []
    for file in files:
        picture = Image.open(file).convert("RGB")
        for parts in (1, 2, 3):
            wide, high = picture.width // parts, picture.height // parts
            places = [(wide * i, high * j) for i in range(parts) for j in range(parts)]
            tiles += [picture.crop((left, top, left + wide, top + high)) for left, top in places]
    return np.concatenate([network.features(network.prepare(tile)[None]) for tile in tiles])


def pieces(draws: int) -> Iterator[tuple[str, str, int]]:
    for seed in range(max(draws, TREE_DRAWS)):
        for name in SETS if seed < draws else ():
            yield "sets", name, seed
        if seed < TREE_DRAWS:
            yield "tree", "CUB", seed
            for name in NONE:
                yield "none", name, seed
        if seed < SHIFT_DRAWS:
            yield "shift", "CUB", seed
            yield "shift", "letters", seed
    yield "speed", "imagenet4", 0


def measure_piece(kind: str, name: str, seed: int, root: Path, zoo: Path) -> dict[str, Any]:
    if kind == "none":
        others = {}
        if name == "clinc150":
            others["no intent"] = np.load(zoo / "clinc150_none_of_these.npz")["X"].astype(np.float32)
        if name == "CUB":
            others["no birds"] = photos_without_birds()
        return measure_none(Problem(name, 1000 + seed, root, zoo, gone=0.2), others)
    if kind == "shift" and name == "letters":
        problem = Problem(name, seed, root, zoo)
        noise = np.random.default_rng(seed)
        spread = problem.train.std(axis=0)
        problem.rows = {
            side: (X + spread * noise.normal(size=X.shape)).astype(np.float32) for side, X in problem.rows.items()
        }
        return measure_sets(problem)
    if kind == "shift":
        data = datasets.load("CUB", root=root, features="efficientnet_lite2")
        tree = take_parents(data.signatures, None)[1]
        assert tree is not None
        alike = [one for one, above in tree.parents.items() if above[0] in SHIFTED]
        return measure_sets(Problem(name, seed, root, zoo, unseen=alike))
    problem = Problem(name, seed, root, zoo)
    return {"sets": measure_sets, "tree": measure_tree, "speed": measure_speed}[kind](problem)


def measure(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    done = {tuple(one["piece"]) for one in read(args.results)} if args.results.exists() else set()
    start = time.perf_counter()
    for piece in pieces(args.draws):
        if piece in done or (args.only and piece[0] not in args.only):
            continue
        began = time.perf_counter()
        if began - start > args.seconds:
            raise SystemExit(3)
        found = measure_piece(*piece, args.root, args.zoo)
        line = {"piece": piece, **found, "seconds": round(time.perf_counter() - began, 2)}
        with args.results.open("a") as file:
            file.write(json.dumps(line) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def percent(values: Any) -> str:
    return f"{100 * float(np.nanmean(values)):.1f}"


def lowest(values: Any) -> str:
    return f"{100 * float(np.quantile(values, 0.1)):.1f}"


def make_tables(lines: list[dict[str, Any]]) -> dict[str, str]:
    """The tables of docs/decisions.md, by name."""
    by: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in lines:
        by.setdefault((one["piece"][0], one["piece"][1]), []).append(one)

    def sets(kind: str, names: tuple[str, ...]) -> list[str]:
        rows = []
        for name in names:
            found = by.get((kind, name), [])
            if not found:
                continue
            cells = [name, str(len(found))]
            for side in ("seen", "unseen"):
                cells.append(
                    f"{percent([o[side]['coverage'] for o in found])} ({lowest([o[side]['coverage'] for o in found])})"
                )
            for key in ("size", "one size"):
                cells.append(" / ".join(f"{np.median([o[side][key] for o in found]):g}" for side in ("seen", "unseen")))
            cells.append(" / ".join(percent([o[side]["one"] for o in found]) for side in ("seen", "unseen")))
            cells.append(f"{np.median([o['k'] for o in found]):g}")
            rows.append("| " + " | ".join(cells) + " |")
        return rows

    head = [
        "| problem | draws | covered, seen (p10) | covered, unseen (p10) | size, seen / unseen | one threshold: size | "
        "one threshold: covered | top k: k |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    tables = {
        "sets": "\n".join(head + sets("sets", SETS)),
        "shift": "\n".join(head + sets("shift", ("CUB", "letters"))),
    }
    names = ("ours", "probability", "energy", "distance", "fitted")
    rows = ["| rows of none | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    alarms = ["| problem, rows | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for problem in NONE:
        found = by.get(("none", problem), [])
        for other in found[0]["others"] if found else ():
            cells = [
                f"{percent([o['others'][other]['auroc'][key] for o in found])} "
                f"({percent([o['others'][other]['caught'][key] for o in found])})"
                for key in names
            ]
            rows.append(f"| {problem}: {other} | " + " | ".join(cells) + " |")
        for side in ("seen", "unseen") if found else ():
            cells = [percent([o["false alarms"][side][key] for o in found]) for key in names]
            alarms.append(f"| {problem}, {side} | " + " | ".join(cells) + " |")
    tables["none"], tables["alarms"] = "\n".join(rows), "\n".join(alarms)
    rows = [
        "| risk | level | answered | wrong of these | wrong of these, rows of unseen classes | plain answer right |",
        "|---|---|---:|---:|---:|---:|",
    ]
    found = by.get(("tree", "CUB"), [])
    for risk in ("0.1", "0.2") if found else ():
        for level in ("class", "family", "order", "all"):
            both = [[o[risk][side][level] for side in ("seen", "unseen")] for o in found]
            answered = [[one["answered"] for one in pair] for pair in both]
            # Of all rows that are answered on the level in any draw: a draw without any says nothing.
            failed = [[np.nan_to_num(one["wrong"] * one["answered"]) for one in pair] for pair in both]
            wrong = np.sum(failed) / max(np.sum(answered), 1e-9)
            plain = [o[risk]["plain"][side][level] for o in found for side in ("seen", "unseen")]
            unseen = np.sum(failed, axis=0)[1] / max(np.sum(answered, axis=0)[1], 1e-9)
            right = "–" if level == "all" else percent(plain)
            rows.append(f"| {risk} | {level} | {percent(answered)} | {percent(wrong)} | {percent(unseen)} | {right} |")
    tables["tree"] = "\n".join(rows)
    for one in by.get(("speed", "imagenet4"), []):
        tables["speed"] = (
            f"Among {one['classes']} classes the set of a row takes {one['one by one']:.1f} ms of one core if rows are "
            f"asked one by one, and {one['together']:.2f} ms if 200 are asked together."
        )
    return tables


def put_into_page(page: str, tables: dict[str, str]) -> str:
    for name, table in tables.items():
        part = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        page = part.sub(lambda found, text=table: f"{found[1]}\n{text}\n\n{found[2]}", page)
    return page


def write_tables(args: argparse.Namespace) -> None:
    tables = make_tables(read(args.results))
    if args.docs is not None:
        args.docs.write_text(put_into_page(args.docs.read_text("utf-8"), tables), "utf-8")
        return
    for name, table in tables.items():
        print(f"{name}\n\n{table}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("measure")
    one.add_argument("results", type=Path)
    one.add_argument("--root", type=Path, required=True)
    one.add_argument("--zoo", type=Path, required=True)
    one.add_argument("--draws", type=int, default=50)
    one.add_argument("--only", nargs="*", default=[])
    one.add_argument("--seconds", type=float, default=np.inf, help="begin no piece after so many; exit code 3")
    one.set_defaults(run=measure)
    other = commands.add_parser("tables")
    other.add_argument("results", type=Path)
    other.add_argument("--docs", type=Path)
    other.set_defaults(run=write_tables)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
