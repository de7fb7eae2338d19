"""Rows of a features file whose labels would help a fitted model most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zskl.batch.predict_file import PathLike, candidate_table, typed
from zskl.batch.teach_file import whole_file
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.next_rows import Picks, pick


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


def label_next(
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
    """The n rows of a file to label next; see `model.label_next`. Candidates are those of `predict_file.Predictor`."""
    if strategy == "change" and model.temperatures_ is None and hasattr(model, "add_examples"):
        raise ValueError(
            "strategy is 'change', which goes by probabilities, and those of this model are not calibrated: expected a "
            "calibrated model; fit it with zskl fit --calibrate, or use --strategy margin"
        )
    table = candidate_table(model, signatures, with_known)
    names = None if candidates is None else typed(model, candidates)
    X, ids, _ = whole_file(model, features)
    found = pick(model, X, n, strategy, table, names, diversity)
    values = found.scores if found.probabilities is None else found.probabilities
    rows = [
        Question(
            ids[row] if ids else row,
            found.labels[place].tolist(),
            [f"{value:.3g}" for value in values[place]],
            f"{found.worth[place]:.3g}",
            why(found, place),
        )
        for place, row in enumerate(found.rows.tolist())
    ]
    return Questions("id" if ids else "row", "score" if found.probabilities is None else "probability", rows)


def why(found: Picks, place: int) -> str:
    """Why a row is worth a label, in a few words."""
    if found.strategy == "change":
        return f"expected change {found.worth[place]:.2g}"
    return f"scores {found.scores[place, 0] - found.scores[place, 1]:.2g} apart"
