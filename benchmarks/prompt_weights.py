"""Several prompts for a class: their mean, the one that folds choose, or weights that folds choose.

Run: python benchmarks/prompt_weights.py FOLDER [--draws 10]; FOLDER as `adapters.py pack` wrote it; needs MiniLM.

Each prompt gives a class a unit vector, and a mixture of prompts the unit vector of their weighted sum. Class means
with their default settings learn from the seen classes of a draw (as in adapters.py) and name the rows of its unseen
classes. Prompts and weights are chosen on three folds of the seen classes. Draws start at 20, which `adapters.py` does
not use. The table is zero-shot accuracy, mean over draws, and the difference to the table that the problem came with,
± standard error over draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import shared_space
from adapters import WRONG, Draw
from zskl import ClassMeansClassifier
from zskl.datasets.split import hold_out_thirds
from zskl.signatures.sentences import BUNDLED, encode_texts, load_encoder

PROMPTS = {
    "clinc150": ("{name}", "a question about {name}", "the user wants to {name}", "how do I {name}?"),
    "esc50": ("the sound of {name}", "{name}", "a recording of {name}", "you hear {name}"),
    "docstrings": ("{name}", "{text}", "{name}: {text}", "the Python module {name}"),
}
MIXTURES, FIRST = 8, 20
Matrix = NDArray[Any]


def prompt_tables(problem: str, names: list[str], encoder: Any) -> Matrix:
    """(prompts, classes, p) unit vectors."""
    texts = {name: text.partition(": ")[2] for name, text in shared_space.texts()[1].items()}
    sentences = [
        prompt.format(name=name.replace("_", " "), text=texts.get(name, ""))
        for prompt in PROMPTS[problem]
        for name in names
    ]
    found = np.asarray(encode_texts(encoder, sentences), np.float64).reshape(len(PROMPTS[problem]), len(names), -1)
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def accuracy(X: Matrix, y: Matrix, table: pd.DataFrame, rows: Matrix, truth: Matrix) -> float:
    """Of class means that learn from rows X, for `rows` of other classes, among these."""
    model = ClassMeansClassifier().fit(X, y, table)
    classes = np.unique(truth)
    answers = model.predict(rows, candidates=classes, calibrated=False)
    return 100 * float(np.mean([(answers[truth == one] == one).mean() for one in classes]))


def mix(tables: Matrix, weights: Matrix, names: list[str]) -> pd.DataFrame:
    values = np.tensordot(weights, tables, axes=1)
    return pd.DataFrame(values / np.linalg.norm(values, axis=1, keepdims=True), index=names)


def measure(draw: Draw, tables: Matrix, names: list[str]) -> dict[str, float]:
    given = draw.table.loc[names]
    rng = np.random.default_rng((draw.seed, 5))
    even = np.full(len(tables), 1 / len(tables))
    tried = [*np.eye(len(tables)), even, *rng.dirichlet(np.ones(len(tables)), MIXTURES)]
    folds = hold_out_thirds(np.unique(draw.labels), rng)
    scores = np.zeros(len(tried))
    for _, held in folds:
        out = np.isin(draw.labels, held)
        for k, weights in enumerate(tried):
            parts = draw.train[~out], draw.labels[~out], mix(tables, weights, names)
            scores[k] += accuracy(*parts, draw.train[out], draw.labels[out])
    best = {"one prompt, chosen": int(scores[: len(tables)].argmax()), "weights, chosen": int(scores.argmax())}
    found = {"as given": accuracy(draw.train, draw.labels, given, draw.X, draw.y)}
    for name, weights in (("mean of prompts", even), *((name, tried[k]) for name, k in best.items())):
        found[name] = accuracy(draw.train, draw.labels, mix(tables, weights, names), draw.X, draw.y)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    chosen = parser.parse_args()
    encoder = load_encoder(BUNDLED)
    print("| problem | as given | mean of prompts | one prompt, chosen | weights, chosen |\n|---|---:|---:|---:|---:|")
    for problem in PROMPTS:
        path = chosen.folder / f"{problem}.npz"
        draws = [Draw(path, FIRST + number) for number in range(chosen.draws)]
        names = [name for name in draws[0].table.index if not name.endswith(WRONG)]
        tables = prompt_tables(problem, names, encoder)
        found = pd.DataFrame([measure(draw, tables, names) for draw in draws])
        gaps = found.sub(found["as given"], axis=0)
        spread = gaps.std(ddof=1) / np.sqrt(len(gaps))
        cells = [f"{found['as given'].mean():.1f}"]
        for one in list(found)[1:]:
            cells.append(f"{found[one].mean():.1f} ({gaps[one].mean():+.1f} ± {spread[one]:.1f})")
        print(f"| {problem} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
