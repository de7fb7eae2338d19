"""What the protocols find, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.metrics.seen_unseen import Curve
from zskl.shown.table import Shown, percent, some

HARDEST = 5  # classes that a result shows


def no_choice(name: object) -> str:
    """Why there is no zero-shot figure of a single unseen class."""
    return f"no zero-shot figure, because {name} is the only unseen class and every answer would be right"


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """
    What a protocol found for each row it scored.

    Parameters
    ----------
    rows : array of shape (n,)
        The rows, by their places in the dataset.
    answers : array of shape (n,)
        The class that each was answered.
    gaps : array of shape (n,), default=None
        Of gzsl: best score of a seen class minus best score of an unseen one, before calibration.
    right : array of bool of shape (n,), default=None
        Of gzsl: whether the row's class is the best among the seen, or among the unseen, classes.

    Examples
    --------
    >>> import numpy as np
    >>> from zskl.metrics.results import ScoredRows
    >>> ScoredRows(np.array([7]), np.array(["emu"])).answers.tolist()
    ['emu']
    """

    rows: NDArray[np.int64]
    answers: NDArray[Any]
    gaps: NDArray[np.float64] | None = None
    right: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Result:
    """
    What a protocol found: accuracies are means over classes, fractions between 0 and 1.

    Parameters
    ----------
    protocol : {"zsl", "gzsl"}
        Which protocol it was. The fields of the other one are None.
    accuracy : float, default=None
        Of zsl: accuracy on the unseen classes. None if there is only one of them: every answer would be right.
    unseen, seen : float, default=None
        Of gzsl: accuracy on rows of unseen and of seen classes, among all classes.
    harmonic : float, default=None
        Of gzsl: the harmonic mean H of the two.
    ausuc : float, default=None
        Of gzsl: area under the seen–unseen curve.
    calibration : float, default=None
        Of gzsl: the constant that was subtracted from the scores of seen classes.
    per_class : dict, default={}
        From each class with test rows to its accuracy.
    left_out : tuple, default=()
        Candidates without a test row. They can be answered, but have no accuracy and no part in a mean. Also the only
        unseen class of zsl.
    curve : Curve, default=None
        Of gzsl: both accuracies under every constant.
    mistaken : dict, default={}
        Of zsl: from each class to its most frequent wrong answers and their shares.
    shots : int, default=0
        How many examples of each unseen class the model was taught before. They were not scored.
    unlabelled : {"unseen", "all"} or None, default=None
        Which test rows the model adapted to before, without their labels.
    short : tuple, default=()
        Classes with fewer than `shots` examples, because one row at least stays to be scored.
    declined : str or None, default=None
        Why the model did not adapt to the unlabelled rows. The figures are then those of the model as it was.
    adaptation : dict or None, default=None
        What the model says about its adaptation.
    scored : ScoredRows, default=None
        The answer for each row.

    Examples
    --------
    >>> from zskl import Result
    >>> Result("zsl", accuracy=0.5, per_class={"emu": 0.5}).as_dict()
    {'protocol': 'zsl', 'accuracy': 0.5, 'per_class': {'emu': 0.5}, 'left_out': []}
    >>> Result("zsl", accuracy=0.5, per_class={"emu": 0.5})
    Result('zsl', accuracy 50.0 %, 1 class)
    """

    protocol: str
    accuracy: float | None = None
    unseen: float | None = None
    seen: float | None = None
    harmonic: float | None = None
    ausuc: float | None = None
    calibration: float | None = None
    per_class: dict[Any, float] = field(default_factory=dict)
    left_out: tuple[Any, ...] = ()
    curve: Curve | None = field(default=None, repr=False, compare=False)
    mistaken: dict[Any, tuple[tuple[Any, float], ...]] = field(default_factory=dict, repr=False, compare=False)
    shots: int = 0
    unlabelled: str | None = None
    short: tuple[Any, ...] = ()
    declined: str | None = None
    adaptation: dict[str, Any] | None = field(default=None, repr=False)
    scored: ScoredRows | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        figures = [f"{name} {value}" for name, value in self._figures() if name != "constant"]
        classes = f"{len(self.per_class)} class{'' if len(self.per_class) == 1 else 'es'}"
        classes = classes if self.alone is None else no_choice(self.alone)
        return f"Result({', '.join([repr(self.protocol), *figures, classes])})"

    def __str__(self) -> str:
        return self._shown().text()

    def _repr_html_(self) -> str:
        return self._shown().html()

    @property
    def alone(self) -> Any:
        """Of zsl: the only unseen class, where there is only one; otherwise None."""
        lonely = self.protocol == "zsl" and not self.per_class and len(self.left_out) == 1
        return self.left_out[0] if lonely else None

    def _figures(self) -> list[tuple[str, str]]:
        """(name, value) of each that there is."""
        names = {"accuracy": "accuracy", "unseen": "unseen", "seen": "seen", "harmonic": "H", "ausuc": "area"}
        found = [(word, percent(getattr(self, name))) for name, word in names.items()]
        constant = "" if self.calibration is None else f"{self.calibration:.4g}"
        return [(word, value) for word, value in [*found, ("constant", constant)] if value]

    def _shown(self) -> Shown:
        title = {"zsl": "Zero-shot: unseen classes alone", "gzsl": "Generalised: seen and unseen classes together"}
        given = f"after {self.shots} example{'' if self.shots == 1 else 's'} of each unseen class" if self.shots else ""
        if self.unlabelled is not None:
            given = f"after unlabelled rows ({self.unlabelled})"
        hardest = sorted(self.per_class.items(), key=lambda one: one[1])[:HARDEST]
        rows = [*self._figures(), *((f"lowest: {label}", percent(share)) for label, share in hardest)]
        notes = [f"no test rows: {some(self.left_out)}"] if self.left_out and self.alone is None else []
        notes += [] if self.alone is None else [no_choice(self.alone)]
        notes += [f"did not adapt: {self.declined}"] if self.declined else []
        heading = title.get(self.protocol, self.protocol)
        return Shown(f"{heading}, {given}" if given else heading, ("", ""), rows, notes)

    def as_dict(self) -> dict[str, Any]:
        """
        Give the figures as plain values, ready for JSON.

        Returns
        -------
        dict
            The fields of this protocol without curve and mistakes; classes become strings. What the model was given
            is there only if it was given something.

        Examples
        --------
        >>> from zskl import Result
        >>> Result("gzsl", unseen=0.2, seen=0.8, harmonic=0.32).as_dict()["harmonic"]
        0.32
        """
        numbers = ("accuracy", "unseen", "seen", "harmonic", "ausuc", "calibration")
        found = {name: getattr(self, name) for name in numbers if getattr(self, name) is not None}
        found |= {} if self.alone is None else {"accuracy": None}
        per_class = {str(label): value for label, value in self.per_class.items()}
        left_out = [str(label) for label in self.left_out]
        short = [str(label) for label in self.short]
        given: dict[str, Any] = {"shots": self.shots, "short": short} if self.shots else {}
        if self.unlabelled is not None:
            told = {"unlabelled": self.unlabelled, "declined": self.declined, "adaptation": self.adaptation}
            given = {name: value for name, value in told.items() if value is not None}
        return {"protocol": self.protocol, **found, "per_class": per_class, "left_out": left_out, **given}


@dataclass(frozen=True)
class Confidence:
    """
    How far probabilities can be trusted, over rows.

    Parameters
    ----------
    protocol : {"zsl", "gzsl"}
        Which rows and candidates were scored.
    ece : float
        The expected calibration error: the mean distance between probability and accuracy.
    accuracy : float
        Share of rows answered right.
    mean_confidence : float
        Mean probability of the answers.
    coverage : tuple of (float, float, float or None)
        Threshold, share of rows that are answered with at least that probability, and the accuracy of these.

    Examples
    --------
    >>> from zskl.protocols import Confidence
    >>> Confidence("zsl", 0.02, 0.81, 0.8, ((0.0, 1.0, 0.81),)).as_dict()["ece"]
    0.02
    """

    protocol: str
    ece: float
    accuracy: float
    mean_confidence: float
    coverage: tuple[tuple[float, float, float | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """
        Give the figures as plain values, ready for JSON.

        Returns
        -------
        dict
            A value for each field.

        Examples
        --------
        >>> from zskl.protocols import Confidence
        >>> Confidence("zsl", 0.02, 0.81, 0.8, ()).as_dict()["coverage"]
        []
        """
        return {**vars(self), "coverage": [list(point) for point in self.coverage]}
