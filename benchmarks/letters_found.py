"""The picture of the README: letters that the model was never trained on, found by their descriptions.

Run: python benchmarks/letters_found.py [--out docs/figures/letters-found.png]

For each mark the first small unseen letter, in Unicode's order: so none is picked because it looks good. Of all test
rows, of seen and unseen letters, the best ten come first; a wrong one has a frame.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from zskl import ClassMeansClassifier, datasets
from zskl.datasets import letters
from zskl.datasets.letters import decompose

SHOWN, BEST = 8, 10  # letters, pictures of each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs/figures/letters-found.png")
    chosen = parser.parse_args()
    data, drawn = datasets.load("letters"), letters.pictures()
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    rows = np.concatenate([data.parts["test_unseen"], data.parts["test_seen"]])
    first: dict[str, str] = {}
    for name in sorted(map(str, data.unseen_classes)):
        if name.islower():
            first.setdefault(decompose(name)[1], name)
    found = list(first.values())[:SHOWN]
    scores = model.compatibility(data.X[rows], data.signatures.loc[found])
    figure, grid = plt.subplots(SHOWN, BEST + 1, figsize=(7.2, 4.6), gridspec_kw={"width_ratios": [4.2] + [1] * BEST})
    wrong = 0
    for line, name, column in zip(grid, found, scores.T, strict=True):
        base, mark = decompose(name)
        line[0].text(1, 0.5, f"“{base} with {mark}”", ha="right", va="center", fontsize=11)
        for place, row in zip(line[1:], rows[np.argsort(-column)[:BEST]], strict=True):
            place.imshow(255 - drawn[row], cmap="gray", vmin=0, vmax=255)
            wrong += data.y[row] != name
            for side in place.spines.values():
                side.set(visible=bool(data.y[row] != name), color="#c22", linewidth=2)
            place.set(xticks=[], yticks=[])
        line[0].set_axis_off()
    figure.subplots_adjust(left=0, right=0.995, top=0.995, bottom=0.005, wspace=0.06, hspace=0.06)
    figure.savefig(chosen.out, dpi=110, metadata={"Software": None})
    print(f"{SHOWN * BEST - wrong} of {SHOWN * BEST} right: {chosen.out}")


if __name__ == "__main__":
    main()
