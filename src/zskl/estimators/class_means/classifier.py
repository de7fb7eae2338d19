"""The estimator: `fit` in one go or in pieces, and scores."""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Self

import numpy as np

from zskl.arrays import Array, on_device
from zskl.estimators.class_means.descriptions import KERNELS, PRIORS, SignatureKernel
from zskl.estimators.class_means.foundation import Foundation
from zskl.estimators.class_means.searching import Searching
from zskl.parameters import one_of, positive

log = logging.getLogger(__name__)


class ClassMeansClassifier(Searching):
    """
    Class means: a class is a direction in feature space; its description and its rows are evidence about it.

    Features are whitened by the scatter within classes. A Gaussian process predicts the direction of a class from its
    signature. Training rows, examples (`add_examples`) and unlabelled rows (`adapt`) move it. Everything is in closed
    form. The score is::

        score(x, c) = x̂·u_c − a·r_c,   u_c = unit(n₀ m̂(y_c) + Σ x̂ of the rows of c),   m(y) = k(y, Y)(K + νI)⁻¹ M̂

    x̂ is a whitened row of unit length. M̂ holds the directions of the whitened means of the training classes. r_c says
    how crowded the place of class c is: the mean of the largest products x̂·u_c over some training rows that the model
    keeps.

    Rows and signatures may be sparse (SciPy). Sparse rows are whitened column by column: by the diagonal of the
    scatter.

    Parameters
    ----------
    kernel : {"gaussian", "linear"}, default="gaussian"
        Kernel k between signatures.
    bandwidth : float, default=1.0
        Width of the Gaussian kernel, in units of the median squared distance between training classes.
    noise : float, default=0.1
        How far a class may lie from what its description says: ν > 0.
    shrinkage : float, default=0.5
        How far the scatter is drawn towards a multiple of the identity before it whitens: ρ in (0, 1].
    prior : {"zero", "identity", "cosine"}, default="zero"
        What is expected of a class before training. "identity" is for a shared space, where one encoder made features
        and signatures: the signature itself. "cosine" trains nothing there: it compares rows and signatures as they
        are.
    description_weight : float, default=2.0
        How many training rows the description of a seen class is worth: n₀.
    crowding : float, default=0.25
        How much of r_c is subtracted: a ≥ 0. With 0 the model keeps no training rows.
    crowding_share : float, default=0.01
        The share of the kept rows whose mean is r_c.
    feature_scaling : str, default="sqrt-l2"
        Scaling of the features, see `zskl.scaling`.
    signature_scaling : str, default="center-l2"
        Scaling of the signatures, see `zskl.scaling`.
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Not used, because this method draws nothing. It is here so that all methods take the same settings.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The seen classes, sorted.
    candidates_ : ndarray
        The seen classes, then the further classes of the table, then classes that only have examples.
    center_ : ndarray of shape (d,)
        g, the mean of the class means.
    whitening_ : ndarray of shape (d, d)
        What makes a centred row x̃, in float32. After a fit on sparse rows it is diagonal, as a column (d, 1).
    regression_ : ndarray of shape (n_signatures, d)
        (K + νI)⁻¹ M̂, in float32.
    class_means_ : ndarray of shape (C, d)
        M̃, the whitened means of the seen classes, in float32.
    class_rows_ : ndarray of shape (C,)
        How many training rows each has, or what these weigh together.
    eigenvalues_ : ndarray of shape (d,)
        Those of the scatter within classes.
    shrinkage_ : float
        ρ as it is in use: `shrinkage`, or what validation classes chose for a model with examples or unlabelled rows.
    kept_rows_ : ndarray of shape (n_kept, d)
        Some whitened training rows of unit length, each once, in half precision; sparse if X was.
    width_ : float
        What the Gaussian kernel divides squared distances by.
    slope_ : float
        How much of a signature is its class's direction, with another prior than "zero".
    practice_ : dict or None
        What validation classes say about examples and unlabelled rows; `zskl.selection` fills it in.

    See Also
    --------
    Committee : Class means together with a trained kernel.

    Notes
    -----
    The kept rows are training rows in another form. If these are private, set `crowding=0`.

    Examples
    --------
    >>> from zskl import ClassMeansClassifier, datasets, protocols
    >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
    >>> X, y = data.samples("trainval")
    >>> model = ClassMeansClassifier().fit(X, y, data.signatures)
    >>> protocols.zsl(model, data).accuracy > 0.5  # chance is 0.2
    True
    """

    kind: ClassVar[str] = "class-means"
    RANDOM: ClassVar[bool] = False
    SPARSE: ClassVar[bool] = True
    LEARNED: ClassVar = {
        "center_": ("d",),
        "whitening_": ("d", "d|1"),
        "regression_": ("*", "d"),
        "class_means_": ("C", "d"),
        "class_rows_": ("C",),
        "eigenvalues_": ("d",),
        "kept_rows_": ("?", "d"),
        "signature_center_": ("?",),
        "width_": None,
        "slope_": None,
        "shrinkage_": None,
        **Searching.LEARNED,
    }
    FREE: ClassVar = (
        "kernel",
        "bandwidth",
        "noise",
        "shrinkage",
        "prior",
        "description_weight",
        "crowding",
        "crowding_share",
    )

    def __init__(
        self,
        kernel: str = "gaussian",
        bandwidth: float = 1.0,
        noise: float = 0.1,
        shrinkage: float = 0.5,
        prior: str = "zero",
        description_weight: float = 2.0,
        crowding: float = 0.25,
        crowding_share: float = 0.01,
        feature_scaling: str = "sqrt-l2",
        *,
        signature_scaling: str = "center-l2",
        signature_mean: str = "seen",
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.noise = noise
        self.shrinkage = shrinkage
        self.prior = prior
        self.description_weight = description_weight
        self.crowding = crowding
        self.crowding_share = crowding_share
        self.feature_scaling = feature_scaling
        self.signature_scaling = signature_scaling
        self.signature_mean = signature_mean
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        one_of("kernel", self.kernel, KERNELS)
        one_of("prior", self.prior, PRIORS)
        for name in ("bandwidth", "noise"):
            positive(name, getattr(self, name))
        for name in ("shrinkage", "crowding_share"):
            if positive(name, getattr(self, name)) > 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}: expected a number above 0, at most 1")
        for name in ("description_weight", "crowding"):
            positive(name, getattr(self, name), zero_allowed=True)

    # Fitting ---------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        callback: Any = None,
    ) -> Self:
        """
        Learn from training rows, their classes and the signatures of the classes. Reads X once, block by block.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training rows.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            The description of each class: a data frame with a row per class, a mapping from class to vector, or an
            array with a row per class of sorted(set(y)). None stands for one-hot rows. Classes that are not in y become
            further candidates.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts: 2 is as if it were there twice, 0 as if it were not there. None counts all once.
        class_weight : {"balanced"}, mapping or None, default=None
            A factor of the weights of all rows of a class, by class; one that is not named has 1. "balanced" lets the
            rows of each class weigh the same together.
        callback : callable, default=None
            Never called, because the method has no steps.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table).candidates_.tolist()
        ['ant', 'bee', 'emu']
        """
        with self._all_or_nothing():
            self._check_parameters()
            self._forget()
            weights = sample_weight, class_weight
            self._sums, self._given = self._summed(X, y, signatures, self.crowding > 0, weights), signatures
            self._finish()
        return self

    def _built(self) -> Foundation:
        seen = self.signature_table_.select(self.classes_)
        d, p = self.n_features_in_, seen.matrix.shape[1]
        if not self._applies(d, p):
            raise ValueError(
                f"prior is {self.prior!r}, signatures have {p} columns and features {d}: expected as many, from one "
                "encoder; use prior='zero'"
            )
        n = int(self._sums.rows.sum())
        if self._sums.products.ndim == 1:
            log.info("sparse rows: whitened column by column, by the diagonal of the scatter")
        elif n < d:
            log.info("%d training rows for %d features: shrinkage %g carries the load", n, d, self.shrinkage)
        owners = np.searchsorted(self.classes_, seen.labels)
        scaled: Any = self.signature_scaling_.apply(seen.matrix).astype(np.float64)
        shared = self.feature_scaling_.apply(seen.matrix) if p == d else None
        return Foundation(self._sums, scaled, owners, shared, on_device(np.empty(0), self.device))

    def _finish(self, foundation: Foundation | None = None) -> None:
        """Set what is learned, from the sums."""
        foundation = foundation or vars(self).get("_foundation") or self._built()
        at = self._whitened(foundation)
        kernel = SignatureKernel(self.kernel, foundation.width(self.kernel, float(self.bandwidth)))
        self.center_ = at.space.center
        self.whitening_ = at.matrix
        self.width_ = kernel.width
        self.slope_ = at.slope if self.prior == "identity" else float(self.prior == "cosine")
        targets = at.targets if self.prior == "zero" else at.targets - self.slope_ * at.own_signatures
        weights = 0.0 * targets if self.prior == "cosine" else foundation.inverse(kernel, float(self.noise)) @ targets
        self.regression_ = weights.astype(np.float32)
        self.class_means_ = at.means.astype(np.float32)
        self.class_rows_, self.eigenvalues_ = at.space.rows, at.space.eigenvalues
        self.shrinkage_ = float(self.shrinkage)
        self.kept_rows_ = at.kept if self.crowding else at.kept[:0]
        self.signature_center_ = np.empty(0) if self.prior == "zero" else at.signature_center
        if "practice_" not in vars(self):
            self._start_teaching()
