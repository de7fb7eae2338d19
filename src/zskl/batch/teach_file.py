"""Rows of files as evidence for a fitted model: labelled ones to teach it, unlabelled ones to adapt it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl.batch.predict_file import Labels, PathLike, candidate_table, opened, rows_of, typed
from zskl.datasets import tables
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.methods import able
from zskl.parameters import listed

SHOWN = 10  # classes in a sentence
ABILITIES = {"add_examples": "learn from examples", "adapt": "adapt to unlabelled rows"}


@dataclass(frozen=True)
class Change:
    """A model before and after; `counts` are the rows of each class that were added, or removed."""

    before: ZeroShotClassifier
    after: ZeroShotClassifier
    verb: str
    counts: dict[Any, int]

    def sentences(self) -> Iterator[str]:
        """What changed, a sentence each."""
        rows = sum(self.counts.values())
        if self.counts:
            yield f"{self.verb} {rows} row(s) of {len(self.counts)} class(es): {self._counted()}"
        else:
            yield f"{self.verb} all examples"
        mine, new = set(self.before.candidates_.tolist()), self.after.candidates_.tolist()
        yield from _named("new to the model", [label for label in new if label not in mine])
        left = set(new)
        yield from _named(
            "no longer in the model", [label for label in self.before.candidates_.tolist() if label not in left]
        )
        yield from _named("without a description, known by examples alone", getattr(self.after, "undescribed_", ()))
        yield from calibration(self.before, self.after)

    def _counted(self) -> str:
        seen, mine = set(self.before.classes_.tolist()), set(self.before.candidates_.tolist())
        kinds = {label: "seen" if label in seen else "unseen" if label in mine else "new" for label in self.counts}
        shown = [f"{count} of {label} ({kinds[label]})" for label, count in list(self.counts.items())[:SHOWN]]
        return ", ".join(shown) + (f" and {len(kinds) - SHOWN} more" if len(kinds) > SHOWN else "")


def calibration(before: ZeroShotClassifier, after: ZeroShotClassifier) -> Iterator[str]:
    """What calibration is now."""
    if before.temperatures_ is None and not before.calibration_ and not after.calibration_:
        yield "calibration: none, as before; fit the model with validation classes (zskl fit) to have one"
        return
    same = before.calibration_ == after.calibration_ and before.temperatures_ == after.temperatures_
    written = ", ".join(f"{value:.3g} among {name}" for name, value in (after.temperatures_ or {}).items())
    constant = f"{after.calibration_:.4g} is subtracted from the scores of seen classes"
    was = "as before" if same else f"it was {before.calibration_:.4g}"
    yield f"calibration: {constant} ({was})" + (f"; temperatures {written} candidates" if written else "")


def check_able(model: ZeroShotClassifier, path: PathLike, ability: str) -> None:
    """Refuse a model without this method, naming those that have it, before its files are read."""
    if not hasattr(model, ability):
        names = able(ability)
        raise ValueError(
            f"{path} holds a model of kind {model.kind!r}, which cannot {ABILITIES[ability]}: expected one of "
            f"{', '.join(names)}; fit one with zskl fit --method {names[0]}"
        )


def teach(
    model: Any, features: PathLike, labels: PathLike, signatures: PathLike | None = None, wrong: bool = False
) -> Change:
    """Add the labelled rows of a file to the examples of a model, as wrong ones if you say so."""
    X, y = labelled(model, features, labels)
    table = None if signatures is None else candidate_table(model, signatures, with_known=False)
    verb = "marked as wrong" if wrong else "taught"
    return Change(model, model.add_examples(X, y, table, wrong=wrong), verb, dict(Counter(y.tolist())))


def remove(model: Any, features: PathLike | None, labels: PathLike | None) -> Change:
    """Remove the labelled rows of a file from the examples of a model.

    Without features all examples of the classes in the file of labels go, and without labels all examples.
    """
    if features is not None and labels is not None:
        X, y = labelled(model, features, labels)
        return Change(model, model.remove_examples(X, y), "removed", dict(Counter(y.tolist())))
    if features is not None:
        raise ValueError("features were given without labels: expected the class of each row; give --labels too")
    if labels is None:
        return Change(model, model.remove_examples(), "removed", {})
    if str(labels) != tables.STANDARD_INPUT and not Path(labels).exists():
        raise ValueError(
            f"labels is {str(labels)!r}, and there is no such file: expected a file with the names of classes whose "
            "examples are to go, such as a .txt with a name in each line"
        )
    found, _ = tables.read_labels(labels)
    names = typed(model, found.names)
    gone = Counter(label for label in getattr(model, "example_classes_", ()) if label in set(names.tolist()))
    return Change(model, model.remove_examples(y=names), "removed", dict(gone))


def labelled(model: ZeroShotClassifier, features: PathLike, labels: PathLike) -> tuple[Any, Labels]:
    """The rows of a features file for a model, and the class of each: a column of it, or another file.

    If that file names its rows, by id or by number, it may name some of them only: the others are left out.
    """
    column = tables.label_column(tables.look(features), features, labels)
    found, label_ids, numbered = (tables.Labels(), None, False) if column else tables.read_some_labels(labels)
    X, ids, texts = whole_file(model, features, column, None if column or label_ids is not None else len(found))
    if column:
        found.extend(texts)
    if numbered:
        ids = [str(row) for row in range(len(X))]
    if ids and label_ids is not None:
        _check_others(label_ids, ids, labels, features, numbered)
        X, ids = _labelled_only(X, ids, set(label_ids))
    found = tables.matched(found, label_ids, labels, features, len(X), ids)
    return X, typed(model, [found.names[code] for code in found.codes])


def unlabelled(model: ZeroShotClassifier, features: PathLike) -> Any:
    """The rows of a features file for a model."""
    return whole_file(model, features)[0]


def whole_file(
    model: ZeroShotClassifier, path: PathLike, column: str | None = None, count: int | None = None
) -> tuple[NDArray[Any] | pd.DataFrame, list[str], list[str]]:
    """Features under the names that the model knows, and the ids and labels of the rows where the file has them."""
    blocks = list(opened(model, path, column, count).blocks())
    whole = tables.Block(np.concatenate([block.X for block in blocks]))
    ids = [one for block in blocks for one in block.ids or ()]
    return rows_of(model, whole), ids, [one for block in blocks for one in block.labels or ()]


def _check_others(wanted: list[str], ids: list[str], labels: PathLike, features: PathLike, numbered: bool) -> None:
    """Warn of labels for rows that are not there; refuse them if numbers name the rows: others may be off by one."""
    unknown = set(wanted) - set(ids)
    names = [name for name in wanted if name in unknown]
    if unknown and numbered:
        raise ValueError(
            f"{labels} has labels of row {listed(names)}, and {features} has {len(ids)} rows: expected numbers from 0 "
            f"to {len(ids) - 1}; rows are counted from 0"
        )
    if 0 < len(unknown) < len(set(wanted)):
        warnings.warn(f"{labels} has labels of rows that {features} does not have: {listed(names)}", stacklevel=5)


def _labelled_only(X: Any, ids: list[str], wanted: set[str]) -> tuple[Any, list[str]]:
    """The rows whose ids are wanted; all, if none is, for `matched` to say so."""
    kept = [place for place, one in enumerate(ids) if one in wanted] or list(range(len(ids)))
    return X.iloc[kept] if hasattr(X, "iloc") else X[kept], [ids[place] for place in kept]


def _named(what: str, labels: Sequence[Any]) -> Iterator[str]:
    if len(labels):
        yield f"{what}: {listed(labels)}"
