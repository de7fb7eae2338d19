"""How unseen classes are answered: the accuracy of each, worst first, and what they are mistaken for."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zskl import protocols
from zskl.datasets import Dataset
from zskl.experiments.record import Record
from zskl.metrics import per_class_accuracy, wrong_answers
from zskl.plots import _style
from zskl.plots._base import Axes, RecordDisplay, read_required
from zskl.protocols import single_class_note

SQUARE = 12  # classes that a whole matrix is drawn of
PAIRS = 15  # confusions drawn otherwise
LETTERS = 22  # of a class in a pair
SPOKEN = 5  # confusions in the description
MOST = 20  # bars; of more classes the worst and the best halves of that
WHAT = "accuracies of single classes"
REMEDY = "run the method again with this version, on data with two unseen classes or more"


def read_confusion(record: Record) -> "ConfusionDisplay | None":
    """Of the zero-shot protocol; None where a record holds no wrong answers."""
    found = record.zsl
    return ConfusionDisplay(*_confusion_matrix(found.mistaken, found.per_class)) if found.mistaken else None


def _confusion_matrix(
    mistaken: Mapping[Any, Sequence[Sequence[Any]]], right: Mapping[Any, float], complete: bool = False
) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Records hold at most three wrong answers of a class; a share that is not there is 0 only if all answers are."""
    classes = list(mistaken)
    others = dict.fromkeys(answer for wrong in mistaken.values() for answer, _ in wrong if answer not in mistaken)
    answers = [*classes, *others]
    most = 1 + max(map(len, mistaken.values()))
    whole = complete or len(answers) <= max(most, 4)
    shares = np.full((len(classes), len(answers)), 0.0 if whole else np.nan)
    for i, name in enumerate(classes):
        shares[i, i] = right.get(name, np.nan)
        for answer, share in mistaken[name]:
            shares[i, answers.index(answer)] = share
    return shares, [str(name) for name in classes], [str(name) for name in answers]


class ConfusionDisplay(RecordDisplay):
    """What unseen classes are mistaken for: a matrix of few classes, the largest shares of many.

    Of several records the first is drawn. It holds the three most frequent wrong answers of a class.

    Parameters
    ----------
    shares : array-like of shape (n_classes, n_answers)
        Share of the rows of a class that got an answer, fractions between 0 and 1; NaN where it is unknown.
    classes : list of str
        The true classes.
    answers : list of str, default=None
        The classes that were answered, true ones first and in the same order. By default the true classes.

    Examples
    --------
    >>> from zskl.plots import ConfusionDisplay
    >>> display = ConfusionDisplay([[0.8, 0.2], [0.1, 0.9]], ["ant", "bee"]).plot()
    >>> display.description
    'ant taken for bee: 20.0 %; bee taken for ant: 10.0 %'
    """

    def __init__(self, shares: ArrayLike, classes: Sequence[str], answers: Sequence[str] | None = None) -> None:
        self.shares = np.asarray(shares, np.float64)
        self.classes, self.answers = classes, classes if answers is None else answers

    @classmethod
    def from_estimator(cls, model: Any, data: Dataset, *, ax: "Axes | None" = None) -> Self:
        """Draw what a fitted model answers to the unseen test rows of a dataset, unseen classes as candidates."""
        rows, candidates = data.parts["test_unseen"], data.unseen_classes
        if len(candidates) == 1:
            raise ValueError(f"there is {single_class_note(candidates[0])}: expected two unseen classes or more")
        table = data.signatures.loc[data.signatures.index.isin(candidates)]
        true, answers = data.y[rows], model.predict(data.X[rows], table)
        wrong = wrong_answers(true, answers, most=len(candidates))
        return cls(*_confusion_matrix(wrong, per_class_accuracy(true, answers), complete=True)).plot(ax)

    @classmethod
    def _read(cls, records: Sequence[Record]) -> Self:
        (found,) = read_required(records[:1], read_confusion, "wrong answers", "run the method again with this version")
        return cls(found.shares, found.classes, found.answers)

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """(true class, wrong answer, share), the largest share first."""
        found = [
            (self.classes[i], self.answers[j], float(share))
            for (i, j), share in np.ndenumerate(self.shares)
            if i != j and share > 0
        ]
        return sorted(found, key=lambda pair: -pair[2])

    @property
    def description(self) -> str:
        pairs = self.pairs[:SPOKEN]
        return "; ".join(f"{true} taken for {answer}: {100 * share:.1f} %" for true, answer, share in pairs) or "none"

    @property
    def whole(self) -> bool:
        """Whether the matrix is drawn, not only its largest entries."""
        return len(self.classes) <= SQUARE

    def _height(self) -> float:
        if self.whole:
            return _style.cells_height(self.classes, self.answers)
        return _style.bars_height(len(self.pairs[:PAIRS]), above=True)

    def _draw(self, ax: Axes) -> None:
        if self.whole:
            _style.draw_cells(ax, 100 * self.shares, self.classes, self.answers, (0.0, 100.0))
            ax.set_xlabel("answer")
            ax.set_ylabel("true class")
            return
        shown = self.pairs[:PAIRS]
        names = [f"{_style.shorten(true, LETTERS)} → {_style.shorten(answer, LETTERS)}" for true, answer, _ in shown]
        _style.draw_bars(ax, names, 100 * np.array([share for *_, share in shown]), above=True)
        ax.set_xlabel("share of the class's rows (%)")


class ClassAccuracyDisplay(RecordDisplay):
    """Zero-shot accuracy of each unseen class as bars, worst first.

    Of more than 20 classes the ten worst and the ten best are drawn; of several records, say one for each seed, the
    means.

    Parameters
    ----------
    accuracy : dict of str to float
        The accuracy of each class, a fraction between 0 and 1.
    chance : float, default=None
        The accuracy of a guess, drawn as a dashed line. By default one over the number of classes.

    Examples
    --------
    >>> from zskl.plots import ClassAccuracyDisplay
    >>> display = ClassAccuracyDisplay({"ant": 0.5, "bee": 0.25}).plot()
    >>> list(display.accuracy)
    ['bee', 'ant']
    """

    bars_: Any

    def __init__(self, accuracy: Mapping[str, float], *, chance: float | None = None) -> None:
        self.accuracy = dict(sorted(accuracy.items(), key=lambda pair: pair[1]))
        self.chance = 1 / len(accuracy) if chance is None else chance

    @classmethod
    def from_estimator(cls, model: Any, data: Dataset, *, ax: "Axes | None" = None) -> Self:
        """Draw the accuracies of a fitted model on the unseen test rows of a dataset."""
        result = protocols.zsl(model, data)
        if result.alone is not None:
            raise ValueError(f"there is {single_class_note(result.alone)}: expected two unseen classes or more")
        chance = 1 / (len(result.per_class) + len(result.left_out))
        return cls({str(name): value for name, value in result.per_class.items()}, chance=chance).plot(ax)

    @classmethod
    def _read(cls, records: Sequence[Record]) -> Self:
        found: dict[str, list[float]] = {}
        for one in read_required(records, lambda record: record.zsl.per_class or None, WHAT, REMEDY):
            for name, value in one.items():
                found.setdefault(name, []).append(value)
        means = {name: statistics.mean(values) for name, values in found.items()}
        # Candidates without a test row have no bar, but chance depends on them.
        return cls(means, chance=1 / (len(means) + len(records[0].zsl.left_out)))

    @property
    def description(self) -> str:
        (worst, low), *_ = pairs = list(self.accuracy.items())
        best, high = pairs[-1]
        span = f"from {100 * low:.1f} % ({worst}) to {100 * high:.1f} % ({best})"
        return f"{len(pairs)} classes, {span}; chance is {100 * self.chance:.1f} %"

    def _rows(self) -> list[tuple[str, float]]:
        pairs, half = list(self.accuracy.items()), MOST // 2
        if len(pairs) <= MOST:
            return pairs
        return [*pairs[:half], (f"… {len(pairs) - MOST} classes between …", np.nan), *pairs[-half:]]

    def _height(self) -> float:
        return _style.bars_height(len(self._rows()))

    def _draw(self, ax: Axes) -> None:
        names, values = zip(*self._rows(), strict=True)
        self.bars_ = _style.draw_bars(ax, names, 100 * np.array(values), 100 * self.chance)
        ax.set_xlabel("accuracy (%)")
