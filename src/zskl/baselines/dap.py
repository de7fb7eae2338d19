"""DAP: direct attribute prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Self

import numpy as np

from zskl.arrays import Array, like, to_numpy
from zskl.baselines import attributes, logistic
from zskl.baselines.linear import rotate
from zskl.baselines.shared_fit import WeightedClassifier, class_signatures
from zskl.estimators.default_grid import with_standardized
from zskl.estimators.estimator import Training
from zskl.parameters import one_of, positive


class DAP(WeightedClassifier):
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
    feature_scaling : str, default="l2-center-l2"
        Scaling of the features, see `zskl.scaling`. Use "none" inside a pipeline that scales.
    signature_scaling : str, default="none"
        Scaling of the signatures, see `zskl.scaling`. After centring, "matrix-mean" is as good as "mean".
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Not used, because this method draws nothing. It is here so that all methods take the same settings.

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
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table: the default candidates of `predict`.

    Notes
    -----
    Differs from the paper: logistic regressions instead of support vector machines with Platt's sigmoids.

    References
    ----------
    .. [1] C. H. Lampert, H. Nickisch and S. Harmeling, "Learning to detect unseen object classes by between-class
       attribute transfer", CVPR 2009.

    Examples
    --------
    >>> from zskl import baselines, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = baselines.DAP(C=1.0).fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "dap"
    RANDOM: ClassVar[bool] = False
    SUMMARY: ClassVar[str] = "Direct attribute prediction: a classifier for each attribute"
    GRID: ClassVar = with_standardized(
        {
            "C": (1.0, 3.0, 10.0),
            "threshold": ("mean", "matrix-mean"),
            "feature_scaling": ("l2-center-l2", "sqrt-center-l2"),
        },
        {"C": (3.0,)},
    )
    BOUNDS: ClassVar[Mapping[str, tuple[float, float]]] = {"C": (0.01, 1000.0)}
    LEARNED: ClassVar = {"weights_": ("d", "p"), "intercept_": ("p",), "threshold_": ("p",), "prior_": ("p",)}
    FREE: ClassVar = ("C", "threshold")

    def __init__(
        self,
        C: float = 1.0,
        threshold: str = "mean",
        *,
        feature_scaling: str = "l2-center-l2",
        signature_scaling: str = "none",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.threshold = threshold
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        positive("C", self.C)
        one_of("threshold", self.threshold, attributes.THRESHOLDS)

    def _learn(self, training: Training) -> Callable[[Self], None]:
        Y = to_numpy(class_signatures(training))
        rows = rotate(training.X, training.weights)

        def finish(model: Self) -> None:
            model.threshold_ = attributes.thresholds(Y, model.threshold)
            A = to_numpy(attributes.present(Y, model.threshold_))  # (C, p)
            model.prior_ = A.mean(axis=0, dtype=np.float64)
            targets = like(A, rows.rotated)[training.codes]
            model.weights_, model.intercept_ = logistic.binary(rows, targets, model.C)

        return finish

    def _scores(self, X: Array, Y: Array) -> Array:
        F = X @ like(self.weights_, X) + like(self.intercept_, X)
        A = attributes.present(Y, self.threshold_)
        return attributes.class_scores(-logistic.softplus(-F), -logistic.softplus(F), A, self.prior_)
