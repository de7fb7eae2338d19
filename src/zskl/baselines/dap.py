"""DAP and IAP, direct and indirect attribute prediction: binary attributes, and scores by their posteriors."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import ClassVar, Self

import numpy as np

from zskl._arrays import Array, NumPyArray, convert_like, namespace, to_numpy
from zskl.baselines import _linear_models
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import class_signatures, rotate_rows
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized

THRESHOLDS = ("mean", "median", "matrix-mean")
FLOOR = 1e-6  # of a probability whose logarithm is taken


def attribute_thresholds(Y: NumPyArray, rule: str) -> NumPyArray:
    """(p,) above which an attribute is present, for the seen classes Y (C, p): in the middle between two values, so
    that rounding cannot move a class across it. That of a constant attribute is its value, unless the rule is of the
    whole of Y: then all classes may have an attribute."""
    Y = Y.astype(np.float64)
    if rule == "matrix-mean":
        about = np.full(Y.shape[1], Y.mean())
    else:
        about = Y.mean(axis=0) if rule == "mean" else np.median(Y, axis=0)
        about = np.where(about >= Y.max(axis=0), Y.min(axis=0), about)  # the median of mostly ones
    below = np.where(about >= Y, Y, -np.inf).max(axis=0)
    above = np.where(about < Y, Y, np.inf).min(axis=0)
    between = np.isfinite(below) & np.isfinite(above)
    return np.where(between, 0.5 * (below + above), about)


def binarise(Y: Array, threshold: NumPyArray) -> Array:
    """(rows, p) 1 where a class has an attribute, else 0."""
    return namespace(Y).astype(convert_like(threshold, Y) < Y, Y.dtype)


def score_by_attributes(log_present: Array, log_absent: Array, A: Array, prior: NumPyArray) -> Array:
    """Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ) for classes with attributes A (c, p): scores (n, c). An attribute that
    all or none of the seen classes have says nothing about unseen classes and is left out."""
    varies = (prior > 0) & (prior < 1)
    safe = np.where(varies, prior, 0.5)
    use = convert_like(varies, log_present)
    gain = use * (log_present - convert_like(np.log(safe), log_present))
    loss = use * (log_absent - convert_like(np.log(1 - safe), log_present))
    return (gain - loss) @ A.T + namespace(loss).sum(loss, axis=1, keepdims=True)


@baseline
class AttributeClassifier(WeightedClassifier):
    """The settings that DAP and IAP share."""

    BOUNDS: ClassVar = {"C": (0.01, 1000.0)}
    FREE: ClassVar = ("C", "threshold")
    OPTIONS: ClassVar = {"threshold": THRESHOLDS}

    C: float = 1.0
    threshold: str = "mean"
    _: KW_ONLY
    feature_scaling: str = "l2-center-l2"
    signature_scaling: str = "none"


@baseline
class DAP(AttributeClassifier):
    """Direct attribute prediction: one probabilistic classifier for each attribute.

    A class scores by how well its attributes are met::

        Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ),   p(a_m = 1 | x) = sigmoid(xᵀw_m + b_m)

    Attributes are made binary at a threshold. Their priors are shares of the seen classes; an attribute that all or
    none of these classes have is left out. All logistic regressions are trained at once.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the ridge of the logistic regressions.
    threshold : {"mean", "median", "matrix-mean"}, default="mean"
        Which value parts the presence of an attribute from its absence: its mean or median over the seen classes, or,
        as published, the mean of all attributes over these classes.
    signature_scaling : str, default="none"
        Scaling of the signatures, see `zskl.scaling`. After centring, "matrix-mean" is as good as "mean".

    Attributes
    ----------
    weights_ : ndarray of shape (d, p)
        Weights of the attribute classifiers, in float32.
    intercept_ : ndarray of shape (p,)
        Their intercepts, in float32.
    threshold_ : ndarray of shape (p,)
        Above it, an attribute counts as present.
    prior_ : ndarray of shape (p,)
        Share of the seen classes that have each attribute.

    Notes
    -----
    Differs from the paper: logistic regressions instead of support vector machines with Platt's sigmoids.

    References
    ----------
    .. [1] C. H. Lampert, H. Nickisch and S. Harmeling, "Learning to detect unseen object classes by between-class
       attribute transfer", CVPR 2009.
    """

    kind: ClassVar[str] = "dap"
    EXAMPLE: ClassVar[str] = "C=1.0"
    SUMMARY: ClassVar[str] = "Direct attribute prediction: a classifier for each attribute"
    GRID: ClassVar = add_standardized(
        {
            "C": (1.0, 3.0, 10.0),
            "threshold": ("mean", "matrix-mean"),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
        },
        {"C": (3.0,)},
    )
    LEARNED: ClassVar = {"weights_": ("d", "p"), "intercept_": ("p",), "threshold_": ("p",), "prior_": ("p",)}

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training))
        rows = rotate_rows(training.X, training.weights)

        def finish(model: Self) -> None:
            model.threshold_ = attribute_thresholds(Y, model.threshold)
            A = to_numpy(binarise(Y, model.threshold_))  # (C, p)
            model.prior_ = A.mean(axis=0, dtype=np.float64)
            targets = convert_like(A, rows.rotated)[training.codes]
            model.weights_, model.intercept_ = _linear_models.fit_binary(rows, targets, model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        F = X @ convert_like(self.weights_, X) + convert_like(self.intercept_, X)
        A = binarise(Y, self.threshold_)
        return score_by_attributes(-_linear_models.softplus(-F), -_linear_models.softplus(F), A, self.prior_)


@baseline
class IAP(AttributeClassifier):
    """Indirect attribute prediction: recognise seen classes, and recall their attributes.

    A class scores by how well its attributes are met::

        Σ_m log p(a_m = a_mᶜ | x) − log p(a_mᶜ),   p(a_m | x) = Σ_k p(a_m | class k) p(class k | x)

    The sum is over the seen classes k, whose p(a_m | class k) is 0 or 1. Posteriors are kept 10⁻⁶ away from 0 and 1.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the ridge of the multinomial logistic regression.
    threshold : {"mean", "median", "matrix-mean"}, default="mean"
        Which value parts the presence of an attribute from its absence: its mean or median over the seen classes, or,
        as published, the mean of all attributes over these classes.
    signature_scaling : str, default="none"
        Scaling of the signatures, see `zskl.scaling`. After centring, "matrix-mean" is as good as "mean".

    Attributes
    ----------
    weights_ : ndarray of shape (d, C)
        Weights of the classifier of the seen classes, in float32.
    intercept_ : ndarray of shape (C,)
        Its intercepts, in float32.
    present_ : ndarray of shape (C, p)
        Which attributes the seen classes have, in float32.
    threshold_ : ndarray of shape (p,)
        Above it, an attribute counts as present.
    prior_ : ndarray of shape (p,)
        Share of the seen classes that have each attribute.

    References
    ----------
    .. [1] C. H. Lampert, H. Nickisch and S. Harmeling, "Learning to detect unseen object classes by between-class
       attribute transfer", CVPR 2009.
    """

    kind: ClassVar[str] = "iap"
    EXAMPLE: ClassVar[str] = "C=1.0"
    SUMMARY: ClassVar[str] = "Indirect attribute prediction: attributes recalled from seen classes"
    GRID: ClassVar = add_standardized(
        {
            "C": (1.0, 3.0, 10.0, 30.0),
            "threshold": ("mean", "matrix-mean"),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
        },
        {"C": (3.0,)},
    )
    LEARNED: ClassVar = {
        "weights_": ("d", "C"),
        "intercept_": ("C",),
        "present_": ("C", "p"),
        "threshold_": ("p",),
        "prior_": ("p",),
    }

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training))
        classifier = _linear_models.logistic_path(training)

        def finish(model: Self) -> None:
            model.threshold_ = attribute_thresholds(Y, model.threshold)
            model.present_ = binarise(Y, model.threshold_)
            model.prior_ = model.present_.mean(axis=0, dtype=np.float64)
            model.weights_, model.intercept_ = classifier(model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        classes = softmax(X @ convert_like(self.weights_, X) + convert_like(self.intercept_, X))  # (n, C)
        p = xp.clip(classes @ convert_like(self.present_, X), FLOOR, 1 - FLOOR)
        return score_by_attributes(xp.log(p), xp.log1p(-p), binarise(Y, self.threshold_), self.prior_)
