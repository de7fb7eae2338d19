"""IAP: indirect attribute prediction."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from zskl._arrays import Array, convert_like, namespace, to_numpy
from zskl.baselines import _linear_models, dap
from zskl.baselines._baseline import baseline
from zskl.baselines._linear_models import class_signatures
from zskl.estimators._candidates import softmax
from zskl.estimators._inputs import Training
from zskl.estimators.base import add_standardized

FLOOR = 1e-6  # of a probability whose logarithm is taken


@baseline
class IAP(dap.AttributeClassifier):
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
            model.threshold_ = dap.attribute_thresholds(Y, model.threshold)
            model.present_ = dap.binarise(Y, model.threshold_)
            model.prior_ = model.present_.mean(axis=0, dtype=np.float64)
            model.weights_, model.intercept_ = classifier(model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        classes = softmax(X @ convert_like(self.weights_, X) + convert_like(self.intercept_, X))  # (n, C)
        p = xp.clip(classes @ convert_like(self.present_, X), FLOOR, 1 - FLOOR)
        return dap.score_by_attributes(xp.log(p), xp.log1p(-p), dap.binarise(Y, self.threshold_), self.prior_)
