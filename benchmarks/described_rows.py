"""Whether pictures that a description finds are the right ones: right pictures among the first twelve, on validation
folds of letters, if rows are ranked by the description's own score, and as the service does (`LoadedRows.score_rows`).
A letter is described whole, or by its base or its mark alone; it is among the known classes, or not. Test rows are not
looked at.

Run: python benchmarks/described_rows.py
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from zskl import ClassMeansClassifier, datasets, selection
from zskl.datasets.letters import decompose
from zskl.serve.classes import name_classes_by_text
from zskl.serve.gallery import LoadedRows, fit_classes
from zskl.serve.limits import Limits
from zskl.serve.service import Service

FIRST = 12


def main() -> None:
    data = datasets.load("letters")
    whole = data.signatures.drop(columns="case: upper")  # as the demonstration has it
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for fold in (1, 2, 3):
        train, held = data.parts[f"fold{fold}_train"], data.parts[f"fold{fold}_val"]
        rows = np.concatenate([train, held])
        for known, table in (("known", whole), ("not known", whole.loc[np.unique(data.y[train])])):
            model = ClassMeansClassifier().fit(data.X[train], data.y[train], table)
            selection.calibrate(model, data.X[train], data.y[train], table, 2)
            shown = LoadedRows(data, name_classes_by_text(model))
            service = Service(shown.model, "letters", Limits(), None, shown)
            bases, marks = np.array([decompose(name) for name in data.y[rows]]).T
            new = np.unique(data.y[held])
            asked = [(f"new letters, {known}", whole.loc[name], data.y[rows] == name) for name in new]
            for group, values in (("letter", bases), ("mark", marks)):
                columns = whole.columns[whole.columns.str.startswith(f"{group}: ")]
                for value in np.unique(values):
                    given = (whole.loc[:, columns].iloc[0] * 0.0).where(columns != f"{group}: {value}", 1.0)
                    asked.append((f"{group} alone, {known}", given, values == value))
            for kind, given, right in asked:
                described = service.classes.describe({k: v for k, v in given.items() if v == 1}, None)
                own = shown._score_vector(shown._projected, described.vector, None)[rows]
                found[kind, "its own score"].append(int(right[np.argsort(-own, kind="stable")[:FIRST]].sum()))
                fits = fit_classes(service.snapshot, service.classes.words, described).fit
                told = shown.score_rows(service.snapshot, described.vector, fits)[rows]
                found[kind, "as served"].append(int(right[np.argsort(-told, kind="stable")[:FIRST]].sum()))
    for (kind, way), counts in sorted(found.items()):
        print(f"{kind:26} {way:14} {np.mean(counts):5.1f} of {FIRST} ({len(counts)} descriptions)")


if __name__ == "__main__":
    main()
