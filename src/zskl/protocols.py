"""The two evaluation protocols. Each picks test rows and candidate classes; the model only ranks these. ::

    zsl     rows test_unseen, candidates the unseen classes
    gzsl    rows test_seen and test_unseen, candidates all classes, a constant γ subtracted from seen ones:
            ŷ_i = argmax_j ( compatibility[i, j] − γ · [class j is seen] )

Both also score a model that was first given labelled examples of the unseen classes (`shots`), or the test rows without
their labels (`unlabelled`). Such a result says so, and the fitted model stays as it was.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl import metrics
from zskl._arrays import make_generator
from zskl._display import Shown, format_percent, list_some
from zskl._validation import check_count, check_option
from zskl.datasets.dataset import Dataset
from zskl.estimators._candidates import calibrate_scores
from zskl.metrics import Curve, row_gaps

__all__ = ["Confidence", "Result", "confidence", "gzsl", "zsl"]

HARDEST = 5  # classes that a result shows
THRESHOLDS = tuple(i / 10 for i in range(10))
UNLABELLED: Mapping[str, tuple[str, ...]] = {"unseen": ("test_unseen",), "all": ("test_seen", "test_unseen")}
_SHOTS = 5  # the stream of the seed that draws examples


class Ranker(Protocol):
    """Scores rows (n, d) against the c classes of a table: (n, c), larger is better, in the table's order."""

    def compatibility(self, X: Any, signatures: pd.DataFrame) -> Any: ...


@dataclass(frozen=True)
class Result:
    """What a protocol found: accuracies are means over classes, fractions between 0 and 1.

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
    scored: "ScoredRows | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        figures = [f"{name} {value}" for name, value in self._figures() if name != "constant"]
        classes = f"{len(self.per_class)} class{'' if len(self.per_class) == 1 else 'es'}"
        classes = classes if self.alone is None else single_class_note(self.alone)
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
        names = {"accuracy": "accuracy", "unseen": "unseen", "seen": "seen", "harmonic": "H", "ausuc": "area"}
        found = [(word, format_percent(getattr(self, name))) for name, word in names.items()]
        constant = "" if self.calibration is None else f"{self.calibration:.4g}"
        return [(word, value) for word, value in [*found, ("constant", constant)] if value]

    def _shown(self) -> Shown:
        title = {"zsl": "Zero-shot: unseen classes alone", "gzsl": "Generalised: seen and unseen classes together"}
        given = f"after {self.shots} example{'' if self.shots == 1 else 's'} of each unseen class" if self.shots else ""
        if self.unlabelled is not None:
            given = f"after unlabelled rows ({self.unlabelled})"
        hardest = sorted(self.per_class.items(), key=lambda one: one[1])[:HARDEST]
        rows = [*self._figures(), *((f"lowest: {label}", format_percent(share)) for label, share in hardest)]
        notes = [f"no test rows: {list_some(self.left_out)}"] if self.left_out and self.alone is None else []
        notes += [] if self.alone is None else [single_class_note(self.alone)]
        notes += [f"did not adapt: {self.declined}"] if self.declined else []
        heading = title.get(self.protocol, self.protocol)
        return Shown(f"{heading}, {given}" if given else heading, ("", ""), rows, notes)

    def as_dict(self) -> dict[str, Any]:
        """Give the figures as plain values, ready for JSON.

        Returns
        -------
        dict
            The fields of this protocol without curve and mistakes; classes become strings. What the model was given
            is there only if it was given something.
        """
        numbers = ("accuracy", "unseen", "seen", "harmonic", "ausuc", "calibration")
        found = {name: getattr(self, name) for name in numbers if getattr(self, name) is not None}
        found |= {} if self.alone is None else {"accuracy": None}
        per_class = {str(label): value for label, value in self.per_class.items()}
        left_out, short = ([str(label) for label in labels] for labels in (self.left_out, self.short))
        given: dict[str, Any] = {"shots": self.shots, "short": short} if self.shots else {}
        if self.unlabelled is not None:
            told = {"unlabelled": self.unlabelled, "declined": self.declined, "adaptation": self.adaptation}
            given = {name: value for name, value in told.items() if value is not None}
        return {"protocol": self.protocol, **found, "per_class": per_class, "left_out": left_out, **given}


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """What a protocol found for each row it scored: its place in the dataset, and the class answered; of gzsl also
    `gaps`, the best score of a seen class minus the best of an unseen one before calibration, and whether the row is
    `right` on its side."""

    rows: NDArray[np.int64]
    answers: NDArray[Any]
    gaps: NDArray[np.float64] | None = None
    right: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Confidence:
    """How far probabilities can be trusted, over rows.

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
    ece_seen, ece_unseen : float or None, default=None
        The error of rows answered by a seen class, and by an unseen one: both may hide behind `ece`. None with "zsl".

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
    ece_seen: float | None = None
    ece_unseen: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Give the figures as plain values, ready for JSON.

        Returns
        -------
        dict
            A value for each field.
        """
        return {**vars(self), "coverage": [list(point) for point in self.coverage]}


def zsl(model: Ranker, data: Dataset, shots: int = 0, seed: int = 0, unlabelled: str | None = None) -> Result:
    """Score a model by the zero-shot protocol: rows of unseen classes, only unseen classes as candidates.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier, or any object with its method `compatibility`.
    data : Dataset
        The dataset whose rows "test_unseen" are scored.
    shots : int, default=0
        How many examples of each unseen class the model is taught first, with its `add_examples`. They are drawn from
        "test_unseen" and not scored. A class always keeps at least one row to be scored, so a class with few rows
        gets fewer examples; the result names it in `short`.
    seed : int, default=0
        Draws the examples. More shots from the same seed add to the same examples.
    unlabelled : {"unseen", "all"} or None, default=None
        The rows that the model first adapts to without their labels, with its `adapt`: those of "test_unseen", or
        those of both test parts. Where the model declines, it is scored as it is, and the result says why.
        Not together with `shots`.

    Returns
    -------
    Result
        With `accuracy`, `per_class` and `mistaken`, and what the model was given. A single unseen class leaves
        nothing to choose, so there is no figure then: `accuracy` is None, and `alone` names the class.

    Examples
    --------
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5
    True
    """
    return score_zero_shot(prepare_model(model, data, shots, seed, unlabelled), data)


def score_zero_shot(prepared: "PreparedModel", data: Dataset) -> Result:
    """The result of `zsl` for a model that already has what it is given."""
    rows, candidates = prepared.rows_to_score(data, "test_unseen"), data.unseen_classes
    scores = _candidate_scores(prepared.model, data, rows, candidates)
    true, predicted = data.y[rows], candidates[np.argmax(scores, axis=1)]
    per_class, left_out = _accuracy_by_class(true, predicted, candidates)
    # Every answer is right, which says nothing.
    if len(candidates) == 1:
        per_class, left_out = {}, tuple(candidates.tolist())
    return Result(
        "zsl",
        accuracy=metrics.mean_per_class_accuracy(true, predicted) if per_class else None,
        per_class=per_class,
        left_out=left_out,
        mistaken=metrics.wrong_answers(true, predicted) if per_class else {},
        scored=ScoredRows(rows, predicted),
        **prepared.describe(),
    )


def gzsl(
    model: Ranker,
    data: Dataset,
    calibration: float | str | None = None,
    shots: int = 0,
    seed: int = 0,
    unlabelled: str | None = None,
) -> Result:
    """Score a model by the generalised protocol: rows of seen and unseen classes, all classes as candidates.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier, or any object with its method `compatibility`.
    data : Dataset
        The dataset whose rows "test_seen" and "test_unseen" are scored.
    calibration : float, "model" or None, default=None
        The constant that is subtracted from the scores of seen classes. None is 0; "model" is the constant that
        selection chose for the model, its `calibration_`; a taught or adapted model has its own.
    shots : int, default=0
        How many examples of each unseen class the model is taught first; see `zsl`.
    seed : int, default=0
        Draws the examples.
    unlabelled : {"all"} or None, default=None
        "all" lets the model first adapt to the rows of both test parts without their labels. "unseen" is refused: it
        would tell the model which rows are of unseen classes, which is what this protocol asks.
        Not together with `shots`.

    Returns
    -------
    Result
        With `unseen`, `seen`, `harmonic`, `ausuc`, `calibration`, `per_class` and `curve`, and what the model was
        given.

    Examples
    --------
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> raw, calibrated = protocols.gzsl(model, data), protocols.gzsl(model, data, calibration=0.1)
    >>> calibrated.unseen >= raw.unseen
    True
    """
    # A bad constant is refused before any work.
    _calibration_constant(model, calibration)
    if unlabelled == "unseen":
        raise ValueError(
            "unlabelled is 'unseen': expected 'all' or None, since the generalised protocol asks whether a row is of "
            "an unseen class, and rows that are known to be would answer it; use 'all', or zsl"
        )
    return score_generalised(prepare_model(model, data, shots, seed, unlabelled), data, calibration)


def score_generalised(prepared: "PreparedModel", data: Dataset, calibration: float | str | None = None) -> Result:
    """The result of `gzsl` for a model that already has what it is given."""
    model, constant = prepared.model, _calibration_constant(prepared.model, calibration)
    seen_rows, unseen_rows = (prepared.rows_to_score(data, part) for part in ("test_seen", "test_unseen"))
    rows, candidates = np.concatenate([seen_rows, unseen_rows]), data.class_names
    is_seen = np.isin(candidates, data.seen_classes)
    scores = _candidate_scores(model, data, rows, candidates)
    true = data.y[rows]
    curve = metrics.seen_unseen_curve(scores, true, candidates, is_seen)
    gap, _, right = row_gaps(scores, data.codes[rows], is_seen)
    predicted = candidates[np.argmax(calibrate_scores(scores.astype(np.float64), is_seen, constant), axis=1)]
    split = len(seen_rows)
    seen = metrics.mean_per_class_accuracy(true[:split], predicted[:split])
    unseen = metrics.mean_per_class_accuracy(true[split:], predicted[split:])
    per_class, left_out = _accuracy_by_class(true, predicted, candidates)
    return Result(
        "gzsl",
        unseen=unseen,
        seen=seen,
        harmonic=metrics.harmonic_mean(seen, unseen),
        ausuc=curve.area,
        calibration=constant,
        per_class=per_class,
        left_out=left_out,
        curve=curve,
        scored=ScoredRows(rows, predicted, gap, right),
        **prepared.describe(),
    )


def confidence(model: Any, data: Dataset, protocol: str = "zsl") -> Confidence:
    """Compare the probabilities of a model with how often it is right.

    Parameters
    ----------
    model : estimator
        A fitted zero-shot classifier with `predict_proba`.
    data : Dataset
        The dataset whose test rows are scored.
    protocol : {"zsl", "gzsl"}, default="zsl"
        Which rows and candidates: those of `zsl`, or those of `gzsl` with the model's own calibration.

    Returns
    -------
    Confidence
        The figures.

    Examples
    --------
    >>> import warnings
    >>> from zskl import ZeroShotKernelClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=6, n_unseen=3)
    >>> rows = data.parts["trainval"]
    >>> model = ZeroShotKernelClassifier(random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # nobody has fitted this model's temperature
    ...     found = protocols.confidence(model, data)
    >>> 0 <= found.ece <= 1
    True
    """
    if protocol not in ("zsl", "gzsl"):
        raise ValueError(f"protocol is {protocol!r}: expected 'zsl' or 'gzsl'")
    zero_shot = protocol == "zsl"
    parts = ("test_unseen",) if zero_shot else ("test_seen", "test_unseen")
    rows = np.concatenate([part_rows(data, part) for part in parts])
    candidates = data.unseen_classes if zero_shot else data.class_names
    if len(candidates) == 1:
        raise ValueError(f"protocol is 'zsl', but there is {single_class_note(candidates[0])}: use 'gzsl'")
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    probabilities = np.asarray(model.predict_proba(model_features(model, data, rows), table), np.float64)
    answers, best = candidates[np.argmax(probabilities, axis=1)], probabilities.max(axis=1)
    correct, new = answers == data.y[rows], np.isin(answers, data.unseen_classes)
    sides = [] if zero_shot else [side if side.any() else None for side in (~new, new)]
    shares, accuracies = metrics.coverage_accuracy(best, correct, THRESHOLDS)
    points = zip(THRESHOLDS, shares.tolist(), accuracies.tolist(), strict=True)
    return Confidence(
        protocol,
        metrics.expected_calibration_error(best, correct),
        float(correct.mean()),
        float(best.mean()),
        tuple((t, share, None if math.isnan(right) else right) for t, share, right in points),
        *(None if side is None else metrics.expected_calibration_error(best[side], correct[side]) for side in sides),
    )


def single_class_note(name: object) -> str:
    return f"no zero-shot figure, because {name} is the only unseen class and every answer would be right"


def _candidate_scores(
    model: Ranker, data: Dataset, rows: NDArray[np.int64], candidates: NDArray[Any]
) -> NDArray[np.floating[Any]]:
    """Compatibility (n, c). The table keeps the order of its rows, and so the columns that of the classes."""
    table = data.signatures.loc[data.signatures.index.isin(candidates)]
    scores: NDArray[np.floating[Any]] = np.asarray(model.compatibility(model_features(model, data, rows), table))
    if scores.shape != (len(rows), len(candidates)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave shape {scores.shape} for {len(rows)} rows and "
            f"{len(candidates)} classes: expected one row each and one column per class"
        )
    if not np.all(np.isfinite(scores)):
        raise ValueError(
            f"{type(model).__name__}.compatibility gave {np.sum(~np.isfinite(scores))} scores that are NaN "
            "or infinite: expected finite scores; has the training diverged?"
        )
    return scores


def _calibration_constant(model: Ranker, calibration: float | str | None) -> float:
    if isinstance(calibration, str):
        if calibration != "model":
            raise ValueError(f"calibration is {calibration!r}: expected None, 'model' or a number")
        if not hasattr(model, "calibration_"):
            raise ValueError(f"{type(model).__name__} has no calibration_: fit it first, or hand the constant to gzsl")
        calibration = model.calibration_
    constant = 0.0 if calibration is None else float(calibration)
    if not math.isfinite(constant):
        raise ValueError(f"the calibration constant is {constant}: expected a finite number")
    return constant


def _accuracy_by_class(
    true: NDArray[Any], predicted: NDArray[Any], candidates: NDArray[Any]
) -> tuple[dict[Any, float], tuple[Any, ...]]:
    """Accuracy of each candidate that has rows, in the order of the candidates, and the other candidates."""
    found, labels = metrics.per_class_accuracy(true, predicted), candidates.tolist()
    per_class = {label: found[label] for label in labels if label in found}
    return per_class, tuple(label for label in labels if label not in found)


# What a model is given beside descriptions before it is scored


@dataclass(frozen=True)
class PreparedModel:
    """A model with what it was given, in the words of `Result`; `examples` are the rows that it was taught."""

    model: Any
    shots: int = 0
    unlabelled: str | None = None
    examples: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    short: tuple[Any, ...] = ()
    declined: str | None = None

    def rows_to_score(self, data: Dataset, part: str) -> NDArray[np.int64]:
        rows = part_rows(data, part)
        return rows[~np.isin(rows, self.examples)] if len(self.examples) else rows

    def describe(self) -> dict[str, Any]:
        adapted = self.unlabelled is not None and self.declined is None
        adaptation = getattr(self.model, "adaptation_", None) if adapted else None
        names = ("shots", "unlabelled", "short", "declined")
        given = {name: getattr(self, name) for name in names}
        return {**given, "adaptation": None if adaptation is None else dict(adaptation)}


def prepare_model(
    model: Any, data: Dataset, shots: int = 0, seed: int = 0, unlabelled: str | None = None
) -> PreparedModel:
    """The model with `shots` examples of each unseen class, or adapted to the `unlabelled` rows; never both."""
    if shots and unlabelled is not None:
        raise ValueError(
            f"shots is {shots} and unlabelled is {unlabelled!r}: expected one of them, since their figures answer "
            "different questions; ask for each by itself"
        )
    if shots:
        return _teach(model, data, check_count("shots", shots), seed)
    if unlabelled is not None:
        return _adapt(model, data, unlabelled)
    return PreparedModel(model)


def _check_ability(model: Any, method: str, what: str, option: str) -> None:
    if not hasattr(model, method):
        raise ValueError(
            f"{type(model).__name__} cannot {what}: expected a model with {method}; leave {option} out, or take a "
            "method that has it, such as class-means"
        )


def _teach(model: Any, data: Dataset, shots: int, seed: int) -> PreparedModel:
    _check_ability(model, "add_examples", "learn from examples", "shots")
    drawn = draw_examples(data, shots, seed)
    if not len(drawn):
        raise ValueError(
            f"every unseen class of dataset {data.name!r} has at most one test row, which is to be scored: expected 2 "
            "rows of some class; leave shots out"
        )
    labels, tested = data.y[drawn], np.unique(data.y[part_rows(data, "test_unseen")])
    short = tuple(label for label in tested.tolist() if np.sum(labels == label) < shots)
    taught = model.add_examples(model_features(model, data, drawn), labels)
    return PreparedModel(taught, shots, examples=drawn, short=short)


def draw_examples(data: Dataset, shots: int, seed: int) -> NDArray[np.int64]:
    """Of each unseen class `shots` rows of "test_unseen", or all but one; more shots add to the same rows."""
    rows = part_rows(data, "test_unseen")
    labels, drawn = data.y[rows], []
    for place, label in enumerate(data.unseen_classes):
        mine = make_generator(seed, _SHOTS, place).permutation(rows[labels == label])
        drawn.append(mine[: min(shots, max(0, len(mine) - 1))])
    return np.concatenate(drawn).astype(np.int64)


def _adapt(model: Any, data: Dataset, unlabelled: str) -> PreparedModel:
    check_option("unlabelled", unlabelled, tuple(UNLABELLED))
    _check_ability(model, "adapt", "adapt to unlabelled rows", "unlabelled")
    rows = np.concatenate([part_rows(data, part) for part in UNLABELLED[unlabelled]])
    try:
        adapted = model.adapt(model_features(model, data, rows), candidates=unlabelled)
        return PreparedModel(adapted, unlabelled=unlabelled)
    except ValueError as error:
        # There is no clear gain on validation classes, or too few rows: the fit is not thrown away.
        return PreparedModel(model, unlabelled=unlabelled, declined=str(error))


def part_rows(data: Dataset, part: str) -> NDArray[np.int64]:
    rows = data.parts[part]
    if not len(rows):
        raise ValueError(f"dataset {data.name!r} has no rows in {part!r}: this protocol needs at least one")
    return rows


def model_features(model: Any, data: Dataset, rows: NDArray[np.int64]) -> Any:
    """The rows of X; under their column names where the model was fitted with names and the data have them."""
    if data.feature_names is None or getattr(model, "feature_names_in_", None) is None:
        return data.X[rows]
    return pd.DataFrame(data.X[rows], columns=data.feature_names, copy=False)
