"""How much the service subtracts for classes that a description rules out (`zskl.serve.gallery.RIVAL_SHARE`): right
pictures among the first twelve for a description, on the validation folds of letters. Test rows are not looked at.

Run: python benchmarks/rank_rivals.py
"""

from __future__ import annotations

import numpy as np

from zskl import ClassMeansClassifier, datasets
from zskl.datasets.letters import decompose

SHARES, FIRST = (0.0, 0.5, 1.0), 12


def main() -> None:
    data = datasets.load("letters")
    table = data.signatures.drop(columns="case: upper")  # as the demonstration has it
    counts: dict[str, list[list[int]]] = {"new letters": [], "seen letters": [], "letter only": [], "mark only": []}
    for fold in (1, 2, 3):
        train, held = data.parts[f"fold{fold}_train"], data.parts[f"fold{fold}_val"]
        model = ClassMeansClassifier().fit(data.X[train], data.y[train], table)
        rows = np.concatenate([train, held])
        seen = np.unique(data.y[train])
        known = model.compatibility(data.X[rows], table.loc[seen])
        bases, marks = np.array([decompose(name) for name in data.y[rows]]).T
        asked = [
            ("new letters", table.loc[name], slice(None), data.y[rows] == name) for name in np.unique(data.y[held])
        ]
        asked += [("seen letters", table.loc[name], slice(None), data.y[rows] == name) for name in seen[::5]]
        for group, kind, values in (("letter", "letter only", bases), ("mark", "mark only", marks)):
            given = table.columns.str.startswith(f"{group}: ")
            for value in np.unique(values):
                described = table.loc[seen].mean()
                described[given] = (table.columns[given] == f"{group}: {value}").astype(float)
                asked.append((kind, described, given, values == value))
        for kind, described, given, right in asked:
            scores = model.compatibility(data.X[rows], described.to_frame("described").T)[:, 0]
            apart = (np.abs(table.loc[seen] - described).to_numpy()[:, given] > 0.5).any(axis=1)
            best = known[:, apart].max(axis=1)
            counts[kind].append([int(right[np.argsort(share * best - scores)[:FIRST]].sum()) for share in SHARES])
    print(f"{'right of 12':16}" + "".join(f"{f'share {share:g}':>12}" for share in SHARES))
    for kind, found in counts.items():
        print(f"{kind:16}" + "".join(f"{mean:12.1f}" for mean in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
