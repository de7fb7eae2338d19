"""Rows of files as evidence for a fitted model: labelled ones to teach it, unlabelled ones to adapt it."""

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._display import count_noun
from zskl._validation import list_values
from zskl.batch.predict import (
    Labels,
    PathLike,
    block_features,
    choose_candidates,
    open_for_model,
    read_candidates,
    to_model_labels,
)
from zskl.datasets import tables
from zskl.datasets.tables.features import Block
from zskl.datasets.tables.labels import Labels as TableLabels
from zskl.datasets.tables.labels import match_labels
from zskl.datasets.tables.source import STANDARD_INPUT
from zskl.estimators._candidates import pick_rows
from zskl.estimators.base import ZeroShotClassifier
from zskl.methods import methods_with

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
        seen = set(self.before.seen_classes_.tolist())
        old, new = self.before.candidates_.tolist(), self.after.candidates_.tolist()
        if self.counts:
            kinds = {one: "seen" if one in seen else "unseen" if one in set(old) else "new" for one in self.counts}
            shown = [f"{count} of {one} ({kinds[one]})" for one, count in list(self.counts.items())[:SHOWN]]
            listed = ", ".join(shown) + (f" and {len(kinds) - SHOWN} more" if len(kinds) > SHOWN else "")
            rows, classes = count_noun(sum(self.counts.values()), "row"), count_noun(len(kinds), "class")
            yield f"{self.verb} {rows} of {classes}: {listed}"
        else:
            yield f"{self.verb} all examples"
        lists = {
            "new to the model": [label for label in new if label not in set(old)],
            "no longer in the model": [label for label in old if label not in set(new)],
            "without a description, known by examples alone": getattr(self.after, "undescribed_", ()),
        }
        yield from (f"{what}: {list_values(labels)}" for what, labels in lists.items() if len(labels))
        yield _describe_calibration(self.before, self.after)


def _describe_calibration(before: ZeroShotClassifier, after: ZeroShotClassifier) -> str:
    if before.temperatures_ is None and not before.calibration_ and not after.calibration_:
        return "calibration: none, as before; fit the model with validation classes (zskl fit) to have one"
    same = before.calibration_ == after.calibration_ and before.temperatures_ == after.temperatures_
    written = ", ".join(f"{value:.3g} among {name}" for name, value in (after.temperatures_ or {}).items())
    constant = f"{after.calibration_:.4g} is subtracted from the scores of seen classes"
    was = "as before" if same else f"it was {before.calibration_:.4g}"
    return f"calibration: {constant} ({was})" + (f"; temperatures {written} candidates" if written else "")


def check_teaching_ability(model: ZeroShotClassifier, path: PathLike, ability: str) -> None:
    """Refuse a model without this method, naming those that have it, before its files are read."""
    if not hasattr(model, ability):
        names = methods_with(ability)
        raise ValueError(
            f"{path} holds a model of kind {model.kind!r}, which cannot {ABILITIES[ability]}: expected one of "
            f"{', '.join(names)}; fit one with zskl fit --method {names[0]}"
        )


def teach_from_file(
    model: Any,
    features: PathLike,
    labels: PathLike,
    signatures: PathLike | None = None,
    wrong: bool = False,
    new_classes: bool = False,
) -> Change:
    X, y = read_teaching_rows(model, features, labels)
    table = None if signatures is None else read_candidates(model, signatures, with_known=False)
    verb = "marked as wrong" if wrong else "taught"
    taught = model.add_examples(X, y, table, wrong=wrong, new_classes=new_classes)
    return Change(model, taught, verb, dict(Counter(y.tolist())))


def remove_examples(model: Any, features: PathLike | None, labels: PathLike | None) -> Change:
    """Without features all examples of the classes in the file of labels go, and without labels all examples."""
    if features is not None and labels is not None:
        X, y = read_teaching_rows(model, features, labels)
        return Change(model, model.remove_examples(X, y), "removed", dict(Counter(y.tolist())))
    if features is not None:
        raise ValueError("features were given without labels: expected the class of each row; give --labels too")
    if labels is None:
        return Change(model, model.remove_examples(), "removed", {})
    if str(labels) != STANDARD_INPUT and not Path(labels).exists():
        raise ValueError(
            f"labels is {str(labels)!r}, and there is no such file: expected a file with the names of classes whose "
            "examples are to go, such as a .txt with a name in each line"
        )
    found = tables.read_labels(labels)[0]
    names = to_model_labels(model, found.names)
    gone = Counter(label for label in getattr(model, "example_classes_", ()) if label in set(names.tolist()))
    return Change(model, model.remove_examples(y=names), "removed", dict(gone))


def read_teaching_rows(model: ZeroShotClassifier, features: PathLike, labels: PathLike) -> tuple[Any, Labels]:
    """Rows and their classes. A file of labels that names its rows may name some of them only: others are left out."""
    column = tables.label_column(tables.read_header(features), features, labels)
    found, label_ids, numbered = (TableLabels(), None, False) if column else tables.read_labels(labels, some=True)
    X, ids, texts = read_whole_file(model, features, column, None if column or label_ids is not None else len(found))
    if column:
        found.extend(texts)
    if numbered:
        ids = [str(row) for row in range(len(X))]
    if ids and label_ids is not None:
        _check_unknown_rows(label_ids, ids, labels, features, numbered)
        wanted = set(label_ids)
        # All rows if none is wanted: `match_labels` then says so.
        kept = [place for place, one in enumerate(ids) if one in wanted] or list(range(len(ids)))
        X, ids = X.iloc[kept] if hasattr(X, "iloc") else X[kept], [ids[place] for place in kept]
    found = match_labels(found, label_ids, labels, features, len(X), ids)
    return X, to_model_labels(model, [found.names[code] for code in found.codes])


def read_whole_file(
    model: ZeroShotClassifier, path: PathLike, column: str | None = None, count: int | None = None
) -> tuple[NDArray[Any] | pd.DataFrame, list[str], list[str]]:
    """Features under the names that the model knows, and the ids and labels of the rows where the file has them."""
    blocks = list(open_for_model(model, path, column, count).blocks())
    whole = Block(np.concatenate([block.X for block in blocks]))
    ids = [one for block in blocks for one in block.ids or ()]
    return block_features(model, whole), ids, [one for block in blocks for one in block.labels or ()]


def _check_unknown_rows(
    wanted: list[str], ids: list[str], labels: PathLike, features: PathLike, numbered: bool
) -> None:
    """Warn of labels for rows that are not there; refuse them if numbers name the rows: others may be off by one."""
    unknown = set(wanted) - set(ids)
    names = [name for name in wanted if name in unknown]
    if unknown and numbered:
        raise ValueError(
            f"{labels} has labels of row {list_values(names)}, and {features} has {len(ids)} rows: expected numbers "
            f"from 0 to {len(ids) - 1}; rows are counted from 0"
        )
    if 0 < len(unknown) < len(set(wanted)):
        warnings.warn(f"{labels} has labels of rows that {features} does not have: {list_values(names)}", stacklevel=5)


@dataclass(frozen=True)
class Adaptation:
    """A model before and after it was adapted; `changed` of the unlabelled `rows` are answered otherwise now."""

    before: ZeroShotClassifier
    after: ZeroShotClassifier
    candidates: str
    rows: int
    changed: int

    def sentences(self) -> Iterator[str]:
        outcome: dict[str, Any] = getattr(self.after, "adaptation_", None) or {}
        masses = outcome.get("masses") or {}
        yield f"adapted to {self.rows} unlabelled rows, which may be of {self.candidates} classes"
        yield f"{self.changed} of these rows get another answer than before ({self.changed / self.rows:.0%})"
        if masses:
            least, most = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
            yield f"rows per class: from {masses[least]:.1f} for {least} to {masses[most]:.1f} for {most}"
        if "converged" in outcome:
            rest = "came to rest" if outcome["converged"] else "did not come to rest: check its answers"
            yield f"after {outcome['rounds']} rounds it {rest} (last turn {outcome['turned']:.2g})"
        yield _describe_calibration(self.before, self.after)


def adapt_to_file(
    model: Any, features: PathLike, candidates: str = "unseen", force: bool = False, balance: float | None = None
) -> Adaptation:
    """Adapt a model to the rows of a file. `candidates` are the classes that they may be of: "unseen" or "all"."""
    X = read_whole_file(model, features)[0]
    after = model.adapt(X, candidates, force=force, balance=balance)
    seen = set(model.seen_classes_.tolist())
    names = [label for label in model.candidates_.tolist() if candidates == "all" or label not in seen]
    answers = [one.predict(X, candidates=names) for one in (model, after)]
    return Adaptation(model, after, candidates, len(X), int(np.sum(answers[0] != answers[1])))


@dataclass(frozen=True)
class Question:
    """A row to label, by its id or number, and the best two classes with their scores, or probabilities."""

    row: object
    guesses: list[object]
    values: list[str]
    worth: str
    why: str


@dataclass(frozen=True)
class Questions:
    """Rows to label, the first one first. They are `named_by` "id" or "row"; values are "probability" or "score"."""

    named_by: str
    value: str
    rows: list[Question]

    def table(self) -> Iterator[list[object]]:
        """The lines of a CSV file, its column names first; the column "label" is yours to fill in."""
        yield [self.named_by, "label", "guess", self.value, "guess_2", f"{self.value}_2", "worth", "why"]
        for one in self.rows:
            pairs = zip(one.guesses, one.values, strict=True)
            yield [one.row, "", *(cell for pair in pairs for cell in pair), one.worth, one.why]


def choose_rows_to_label(
    model: ZeroShotClassifier,
    features: PathLike,
    n: int = 10,
    strategy: str = "margin",
    *,
    signatures: PathLike | None = None,
    with_known: bool = False,
    candidates: Sequence[str] | None = None,
    diversity: float = 1.0,
) -> Questions:
    """The n rows of a file to label next; see `model.label_next`. Candidates are those of `Predictor`."""
    if strategy == "change" and model.temperatures_ is None and hasattr(model, "add_examples"):
        raise ValueError(
            "strategy is 'change', which goes by probabilities, and those of this model are not calibrated: expected a "
            "calibrated model; fit it with zskl fit --calibrate, or use --strategy margin"
        )
    table, names = choose_candidates(model, signatures, with_known, candidates)
    X, ids, _ = read_whole_file(model, features)
    found = pick_rows(model, X, n, strategy, table, names, diversity)
    values = found.scores if found.probabilities is None else found.probabilities
    rows = []
    for place, row in enumerate(found.rows.tolist()):
        worth, scores = found.worth[place], found.scores[place]
        change = found.strategy == "change"
        why = f"expected change {worth:.2g}" if change else f"scores {scores[0] - scores[1]:.2g} apart"
        guesses, numbers = found.labels[place].tolist(), [f"{value:.3g}" for value in values[place]]
        rows.append(Question(ids[row] if ids else row, guesses, numbers, f"{worth:.3g}", why))
    return Questions("id" if ids else "row", "score" if found.probabilities is None else "probability", rows)
