"""ConSE: convex combination of semantic embeddings."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import ClassVar, Self

from zskl._arrays import Array, convert_like, namespace, to_numpy
from zskl._validation import check_count
from zskl.baselines import _linear_models
from zskl.baselines._baseline import WeightedClassifier, baseline
from zskl.baselines._linear_models import class_signatures, scale_to_unit_length
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized


@baseline
class ConSE(WeightedClassifier):
    """Convex combination of semantic embeddings: a sample is a mixture of its most probable seen classes.

    The signature of a sample is the mean of those of its T most probable seen classes, weighted by their
    probabilities::

        f(x) = Σ_t p(k_t | x) y_{k_t} / Σ_t p(k_t | x),   score cos(f(x), y)

    Here k_1, …, k_T are the seen classes with the largest p, by a multinomial logistic regression.

    Parameters
    ----------
    T : int, default=10
        How many seen classes are combined. A T above the number of seen classes takes them all.
    C : float, default=1.0
        Inverse strength of the ridge of the logistic regression.

    Attributes
    ----------
    weights_ : ndarray of shape (d, C)
        Weights of the classifier of the seen classes, in float32.
    intercept_ : ndarray of shape (C,)
        Its intercepts, in float32.
    seen_ : ndarray of shape (C, p)
        Scaled signatures of the seen classes, in float32.

    Notes
    -----
    Differs from the paper: the probabilities are those of a logistic regression on the given features, not of the
    network that made them.

    References
    ----------
    .. [1] M. Norouzi, T. Mikolov, S. Bengio, Y. Singer, J. Shlens, A. Frome, G. S. Corrado and J. Dean, "Zero-shot
       learning by convex combination of semantic embeddings", ICLR 2014.
    """

    kind: ClassVar[str] = "conse"
    EXAMPLE: ClassVar[str] = "T=5"
    SUMMARY: ClassVar[str] = "Convex combination of the signatures of the most probable seen classes"
    GRID: ClassVar = add_standardized(
        {
            "T": (5, 10, 20, 50, 100),
            "C": (1.0, 3.0, 10.0),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
            "signature_scaling": ("center-l2", "sqrt-center-l2", "standardize-l2"),
        },
        {"C": (3.0,), "signature_scaling": ("center-l2", "standardize-l2")},
    )
    BOUNDS: ClassVar = {"T": (1, 1000), "C": (0.01, 1000.0)}
    LEARNED: ClassVar = {"weights_": ("d", "C"), "intercept_": ("C",), "seen_": ("C", "p"), "T_": None}
    FREE: ClassVar = ("T", "C")
    CHECKS: ClassVar = {"T_": check_count}

    T: int = 10
    C: float = 1.0
    _: KW_ONLY
    feature_scaling: str = "l2-center-l2"

    def _learn(self, training: Training) -> Callable[[Self], None]:
        seen = to_numpy(class_signatures(training))
        classifier = _linear_models.logistic_path(training)

        def finish(model: Self) -> None:
            model.weights_, model.intercept_ = classifier(model.C)
            model.seen_, model.T_ = seen, int(model.T)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        p = softmax(X @ convert_like(self.weights_, X) + convert_like(self.intercept_, X))  # (n, C)
        if p.shape[1] > self.T_:
            least = xp.sort(p, axis=1)[:, -self.T_ :][:, :1]
            p = xp.where(p >= least, p, 0 * p)
        return scale_to_unit_length(p @ convert_like(self.seen_, X)) @ scale_to_unit_length(Y).T
