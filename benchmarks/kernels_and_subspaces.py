"""What the paper leaves as future work, for the trained projection W: several kernels at once, class-wise subspaces.

Run: python benchmarks/kernels_and_subspaces.py OUT --root DIR … [--features NAME …] [--seeds 2]
     python benchmarks/kernels_and_subspaces.py show OUT

`show` keeps the lines in results/ and writes the table into docs/paper.md.

Everything happens on the validation folds of the training rows; test rows are not read. Settings of the methods are
those that validation chose for them (benchmarks/results/paper/records.jsonl). Figures are zero-shot accuracies of the
classes that a fold holds out, against the same method without the idea, on the same folds and seeds. Since the ideas
are looked at on the folds that chose the settings of the plain method, a small gain proves nothing, and neither does a
small loss. Each line of OUT is a variant on a fold with a seed; after an interruption the same command goes on.

Several kernels: a sum of kernels of three radii, or of a Gaussian and a Cauchy kernel, in one objective; or the scores
of projections that were trained apart, each divided by its standard deviation on the training rows.

Class-wise subspaces: a class gets the r directions in which its training rows vary most around its description,
Wᵀx − y. They count less in its distance. A class that nobody trained on takes the directions of the rows of its
nearest seen classes, by their descriptions. This happens after training, or in each epoch of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from paper_seeds import find_problems
from zskl import datasets, methods
from zskl.experiments import run_folder
from zskl.experiments.record import Record
from zskl.kernels import Cauchy, Gaussian, Kernel, squared_distances
from zskl.metrics import per_class_accuracy
from zskl.training import solver
from zskl.training.objective import class_weights

RESULTS = Path(__file__).parent / "results"
RECORDS, LINES = RESULTS / "paper" / "records.jsonl", RESULTS / "kernels_and_subspaces.jsonl"
PAGE, MARKS = Path(__file__).parents[1] / "docs" / "paper.md", ("<!-- ideas -->", "<!-- end of ideas -->")
WIDTHS = (0.6, 1.0, 1.6)
RANKS, REMOVED, NEAREST = (3, 10, 30), (0.5, 1.0), (1, 5)
BATCH, SMOOTHING, EPSILON = 10, 0.99, 1e-6
Matrix = NDArray[Any]


@dataclass(frozen=True)
class KernelSum(Kernel):
    """The mean of radial kernels."""

    name: ClassVar[str] = "sum"
    parts: tuple[Kernel, ...] = ()

    def value(self, t: Any) -> Any:
        return sum(part.value(t) for part in self.parts) / len(self.parts)

    def slope(self, t: Any, value: Any = None) -> Any:
        return sum(part.slope(t) for part in self.parts) / len(self.parts)


def evaluate(scores: Matrix, candidates: Matrix, y: Matrix) -> float:
    return 100 * float(np.mean(list(per_class_accuracy(y, candidates[scores.argmax(axis=1)]).values())))


def fit(name: str, setting: dict[str, Any], kernel: Kernel | None, part: Part, seed: int) -> Any:
    model = methods.build(name, {**setting, "random_state": seed, **({} if kernel is None else {"kernel": kernel})})
    return model.fit(part.X, part.y, part.table)


@dataclass(frozen=True)
class Part:
    """A fold: training rows, and those of the classes that it holds out."""

    X: Matrix
    y: Matrix
    held: Matrix
    truth: Matrix
    table: Any

    @property
    def candidates(self) -> Matrix:
        return np.unique(self.truth)

    def score(self, model: Any, rows: Matrix | None = None) -> Matrix:
        X = self.held if rows is None else rows
        return np.asarray(model.compatibility(X, self.table.loc[self.candidates]))


def parts(data: Any) -> Iterator[Part]:
    for k in (1, 2, 3):
        train, held = data.parts[f"fold{k}_train"], data.parts[f"fold{k}_val"]
        new = held[~np.isin(data.y[held], data.y[train])]
        yield Part(data.X[train], data.y[train], data.X[new], data.y[new], data.signatures)


def several_kernels(part: Part, chosen: dict[str, dict[str, Any]], seed: int) -> Iterator[tuple[str, str, float]]:
    """(plain method, idea, accuracy); the idea "" is the plain method itself."""
    apart = {}
    for name in ("gaussian-ort", "gaussian-softmax"):
        setting, other = chosen[name], chosen[name.replace("gaussian", "cauchy")]
        radii = tuple(Gaussian(sigma=width * setting["sigma"]) for width in WIDTHS)
        both = Gaussian(sigma=setting["sigma"]), Cauchy(sigma=other["sigma"])
        for idea, kernel in (
            ("", None),
            ("three radii", KernelSum(radii)),
            ("Gaussian + Cauchy", KernelSum(both)),
        ):
            model = fit(name, setting, kernel, part, seed)
            yield name, idea, evaluate(part.score(model), part.candidates, part.truth)
            if not idea:
                apart[name] = model
    for name in ("cauchy-ort", "polynomial-4"):
        apart[name] = fit(name, chosen[name], None, part, seed)
        yield name, "", evaluate(part.score(apart[name]), part.candidates, part.truth)
    scores = {name: part.score(model) / part.score(model, part.X[::7]).std() for name, model in apart.items()}
    for names in (("gaussian-ort", "cauchy-ort"), ("gaussian-ort", "cauchy-ort", "polynomial-4")):
        found = evaluate(sum(scores[name] for name in names), part.candidates, part.truth)
        yield "gaussian-ort", " + ".join(names) + ", trained apart", found


def directions(E: Matrix, r: int) -> Matrix:
    """The r directions (p, r) in which rows (n, p) are largest; zeros where there are fewer rows."""
    V = np.linalg.svd(E, full_matrices=False)[2][:r].T
    return np.pad(V, ((0, 0), (0, r - V.shape[1]))).astype(np.float32)


def near_rows(Y: Matrix, of: Matrix, codes: Matrix, k: int) -> list[Matrix]:
    """For each row of `of` the training rows of its k nearest classes, by descriptions."""
    distances = ((of[:, None] - Y[None]) ** 2).sum(axis=-1)
    return [np.flatnonzero(np.isin(codes, np.argsort(row)[:k])) for row in distances]


def class_subspaces(P: Matrix, Y: Matrix, codes: Matrix, rows: list[Matrix], r: int) -> Matrix:
    """(classes, p, r) from the residuals Wᵀx − y of some rows for each class."""
    return np.stack([directions(P[some] - Y[codes[some]], r) for some in rows])


def subspace_distances(P: Matrix, Y: Matrix, U: Matrix, removed: float) -> tuple[Matrix, Matrix, Matrix]:
    """‖e‖² − removed · ‖Uᵀe‖² of e = Wᵀx − y (n, C), with e and Uᵀe."""
    E = P[:, None] - Y[None]
    inside = np.einsum("ncp,cpr->ncr", E, U)
    return np.maximum((E**2).sum(axis=-1) - removed * (inside**2).sum(axis=-1), 0), E, inside


def subspaces(part: Part, chosen: dict[str, dict[str, Any]], seed: int) -> Iterator[tuple[str, str, float]]:
    setting = chosen["gaussian-ort"]
    model = fit("gaussian-ort", setting, None, part, seed)
    classes, codes = np.unique(part.y, return_inverse=True)

    def scale(names: Matrix) -> Matrix:
        values = part.table.loc[names].to_numpy(np.float64)
        return np.asarray(model.signature_scaling_.apply(values), np.float32)

    def scale_rows(X: Matrix) -> Matrix:
        return np.asarray(model.feature_scaling_.apply(X.astype(np.float32)), np.float32)

    Y, new, X, held = scale(classes), scale(part.candidates), scale_rows(part.X), scale_rows(part.held)
    kernel = Gaussian(sigma=setting["sigma"])

    def score(W: Matrix, U: Matrix, removed: float) -> float:
        found = []
        for rows in np.array_split(held, max(1, len(held) // 200)):
            P = rows @ W
            Z = new @ W.T
            D2 = squared_distances((rows**2).sum(axis=1)[:, None], rows @ Z.T, (Z**2).sum(axis=1))
            found.append(kernel.value(subspace_distances(P, new, U, removed)[0]) + kernel.value(D2))
        return evaluate(np.concatenate(found), part.candidates, part.truth)

    W = np.asarray(model.projection_, np.float32)
    none = np.zeros((len(new), Y.shape[1], 1), np.float32)
    yield "gaussian-ort", "", score(W, none, 0.0)
    P = X @ W
    for k in NEAREST:
        found = class_subspaces(P, Y, codes, near_rows(Y, new, codes, k), max(RANKS))
        for r in RANKS:
            for removed in REMOVED:
                words = f"subspaces after training, r = {r}, {removed:.0%}, {k} nearest"
                yield "gaussian-ort", words, score(W, found[:, :, :r], removed)
    own = [np.flatnonzero(codes == code) for code in range(len(classes))]
    near = near_rows(Y, new, codes, NEAREST[1])
    for r in RANKS[:2]:
        W = train_with_subspaces(X, Y, codes, own, r, REMOVED[1], setting, kernel, seed)
        U = class_subspaces(X @ W, Y, codes, near, r)
        yield "gaussian-ort", f"subspaces while training, r = {r}, 100%", score(W, U, REMOVED[1])


def train_with_subspaces(
    X: Matrix, Y: Matrix, codes: Matrix, own: list[Matrix], r: int, removed: float, setting: dict[str, Any],
    kernel: Kernel, seed: int,
) -> Matrix:  # fmt: skip
    """Gaussian-Ort whose distance in signature space leaves out each class's own directions, found again each epoch."""
    mine, others = class_weights("mean", np.bincount(codes).astype(np.float32))
    state = solver.start_state(solver.polarise(X, Y[codes], seed)[None])
    for _ in range(setting["epochs"]):
        U = class_subspaces(X @ state.W[0], Y, codes, own, r)

        def step(W: Matrix, rows: Matrix, t: int, U: Matrix = U) -> tuple[Matrix, Matrix, None]:
            x, n, W = X[rows], len(rows), W[0]
            P, Z = x @ W, W @ Y.T
            D1, E, inside = subspace_distances(P, Y, U, removed)
            D2 = squared_distances((x**2).sum(axis=1)[:, None], x @ Z, (Z**2).sum(axis=0))
            own_class = codes[rows][:, None] == np.arange(len(Y))
            w = np.where(own_class, mine, setting["repulsion"] * others)
            k1, k2 = kernel.value(D1), kernel.value(D2)
            A = 2 * w * (k1 - own_class) * kernel.slope(D1, k1)
            B = 2 * w * (k2 - own_class) * kernel.slope(D2, k2)
            left = E - removed * np.einsum("ncr,cpr->ncp", inside, U)
            gradient = x.T @ (np.einsum("nc,ncp->np", A, left) - B @ Y) + (Z * B.sum(axis=0)) @ Y
            losses = (w * ((k1 - own_class) ** 2 + (k2 - own_class) ** 2)).sum() / n
            return np.array([losses]), (2 / n * gradient)[None].astype(np.float32), None

        options = {"learning_rate": setting["learning_rate"], "smoothing": SMOOTHING, "epsilon": EPSILON}
        state = solver.minimise(step, state, n_rows=len(X), batch_size=BATCH, epochs=1, seed=seed, **options).state
    return np.asarray(state.W[0])


def measure(out: Path, problems: list[tuple[str, str, str]], seeds: int) -> None:
    lines = read(out)
    done = {(one["features"], one["fold"], one["seed"], one["part"]) for one in lines}
    records = run_folder.read_records(RECORDS, Record.from_json)
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, features, root in problems:
        data = datasets.load(name, root, features)
        firsts = [one for one in records if (one.dataset, one.features, one.seed) == (name, features, 0)]
        chosen = {one.method: dict(one.tune.choices.zsl.setting) for one in firsts if one.method in methods.METHODS}
        for seed in range(seeds):
            for fold, part in enumerate(parts(data), start=1):
                for label, idea in (("kernels", several_kernels), ("subspaces", subspaces)):
                    if (features, fold, seed, label) in done:
                        continue
                    found = [
                        {"features": features, "fold": fold, "seed": seed, "part": label, "method": method,
                         "idea": words, "zero-shot": value}
                        for method, words, value in idea(part, chosen, seed)
                    ]  # fmt: skip
                    with out.open("a", encoding="utf-8") as file:
                        file.writelines(json.dumps(one) + "\n" for one in found)
                    print(features, seed, fold, label, file=sys.stderr)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def put_into_page(page: str, lines: list[dict[str, Any]]) -> str:
    before, rest = page.split(MARKS[0])
    return f"{before}{MARKS[0]}\n{show(lines)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def show(lines: list[dict[str, Any]]) -> str:
    """Mean differences to the plain method on the same folds and seeds, ± their standard error (of how many)."""
    features = list(dict.fromkeys(one["features"] for one in lines))
    plain = {
        (one["features"], one["fold"], one["seed"], one["part"], one["method"]): one["zero-shot"]
        for one in lines
        if not one["idea"]
    }
    rows = [f"| method | idea | {' | '.join(features)} |", "|---|---|" + "---:|" * len(features)]
    for method, idea in dict.fromkeys((one["method"], one["idea"]) for one in lines if one["idea"]):
        cells = []
        for name in features:
            mine = [one for one in lines if (one["features"], one["method"], one["idea"]) == (name, method, idea)]
            gaps = [one["zero-shot"] - plain[name, one["fold"], one["seed"], one["part"], method] for one in mine]
            spread = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else 0
            cells.append(f"{np.mean(gaps):+.1f} ± {spread:.1f} ({len(gaps)})" if gaps else "–")
        rows.append(f"| `{method}` | {idea} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="+", type=Path)
    parser.add_argument("--root", type=Path, action="append", default=[])
    parser.add_argument("--features", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=2)
    chosen = parser.parse_args()
    if str(chosen.out[0]) == "show":
        lines = read(chosen.out[1])
        LINES.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
        PAGE.write_text(put_into_page(PAGE.read_text("utf-8"), lines), encoding="utf-8")
        print(show(lines))
    else:
        measure(chosen.out[0], find_problems(chosen.root, chosen.features), chosen.seeds)


if __name__ == "__main__":
    main()
