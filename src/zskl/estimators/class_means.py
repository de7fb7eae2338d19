"""Class means: a class is a direction in feature space; its description and its rows are evidence about it."""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from zskl import scaling
from zskl._arrays import (
    Array,
    NumPyArray,
    check_device,
    convert_like,
    is_sparse_rows,
    move_to_device,
    runs_on_gpu,
    to_dense,
    to_numpy,
)
from zskl._validation import check_flag, check_option, check_positive, list_values
from zskl.decisions import take_parents
from zskl.estimators import _class_means_adapt as teaching
from zskl.estimators import _class_means_fit as fitting
from zskl.estimators import _class_means_scores as scoring
from zskl.estimators import _inputs, model_file
from zskl.estimators._blocks import Blocks, BlockScaling, Spectrum, read_blocks, scale_to_unit_length
from zskl.estimators._candidates import Question, best_row_scores, choose_candidates, match_label_dtype
from zskl.estimators._class_draws import TRIAL_KEPT_ROWS, choose_in_shared_space
from zskl.estimators._class_means_adapt import (
    AdaptationSettings,
    FewShotTrial,
    KeptAdaptation,
    OtherModels,
    Rows,
    RowsAtHand,
)
from zskl.estimators._class_means_fit import Evidence, FitCache, Floats, LeftOutClasses, SignatureKernel, Sums
from zskl.estimators._class_means_scores import ClassMeansQuestion, CrowdingScores, SearchScores
from zskl.estimators._inputs import Training, combine_weights, drop_weightless_rows
from zskl.estimators.base import SIGNATURE_MEANS, Labels, Visit, ZeroShotClassifier
from zskl.scaling import Scaling
from zskl.signatures import table as tables
from zskl.signatures.strength import find_weak_descriptions
from zskl.signatures.table import SignatureTable, label_kind, unify_spelling
from zskl.training.rows import ScaledRows, StreamedRows

log = logging.getLogger(__name__)

SCALES, SHARES = ("bandwidth", "noise"), ("shrinkage", "crowding_share")  # settings above 0; the latter at most 1
WEIGHTS = ("crowding",)  # those of at least 0
AUTO = scaling.AUTO
DESCRIPTION_WEIGHT = 2.0  # n₀ of seen classes where nothing says better
SHARED_WEIGHTS = (2.0, 8.0, 32.0, 128.0, 512.0)  # those that a fit tries in a shared space
CAREFUL = 0.25  # p, where rows are compared as they are and nothing was tried: there most masses are crumbs
UNTAUGHT_WEIGHT = 2.0  # n₀ of an unseen class without examples: matters only beside rows marked as wrong for it
WRONG_WEIGHT = 0.35  # what rows marked as wrong for a class count against it together, until validation says better
TRAINING, EXAMPLES, UNLABELLED = "training rows", "examples", "unlabelled rows"  # what a direction is made of
LATER = ("_kernel_inverse", "_left_out", "_refined")  # worked out when it is first needed
CONVERGED = 0.01  # 1 − cosine that no direction turned by in the last round


def has_no_rows(X: Any, y: Any) -> bool:
    """Whether these are training rows of no class at all, such as two empty lists."""
    rows = len(X) if isinstance(X, list | tuple) else next(iter(getattr(X, "shape", ())), None)
    return rows == 0 and y is not None and len(y) == 0


class ClassMeansClassifier(ZeroShotClassifier):
    """Class means: a class is a direction in feature space; its description and its rows are evidence about it.

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
    shrinkage : float, default=0.7
        How far the scatter is drawn towards a multiple of the identity before it whitens: ρ in (0, 1].
    prior : {"auto", "zero", "identity", "cosine"}, default="auto"
        What is expected of a class before training. "identity" is for a shared space, where one encoder made features
        and signatures: the signature itself. "cosine" trains nothing there: it compares rows and signatures as they
        are. "auto" takes "zero" unless features and signatures have the same columns and agree far beyond chance on
        the training classes. Then it takes "identity", or "cosine" if held-out training classes show no clear gain
        over it. `prior_` says which.
    description_weight : float or "auto", default="auto"
        How many training rows the description of a seen class is worth: n₀. "auto" is 2; in a shared space it is what
        serves held-out training classes and others together best.
    crowding : float, default=0.15
        How much of r_c is subtracted: a ≥ 0. With 0 the model keeps no training rows.
    crowding_share : float, default=0.01
        The share of the kept rows whose mean is r_c.
    feature_scaling : str, default="auto"
        Scaling of the features, see `zskl.scaling`. "auto" is "unit-center-l2" where columns differ in spread by a
        factor of 300 or more; else "l2" if features are negative, "sqrt-l2" if not. `feature_scaling_` says which.
    signature_scaling : str, default="auto"
        Scaling of the signatures, see `zskl.scaling`. "auto" is "unit-center-l2" where columns differ so widely; else
        "center-l2".
    signature_mean : {"seen", "all"}, default="seen"
        Whether signatures are centred on the mean of the seen classes, or of all classes in the table.
    blocks : list of int, mapping or None, default=None
        How the columns of X are cut into blocks, such as one for each of several networks: a list of widths, or name →
        columns, as `Dataset.blocks` has them. Each block is scaled, whitened and set to unit length by itself; a score
        is then the mean of the blocks' scores. None: X is one block.
    block_weights : list or mapping of float, default=None
        What each block counts in that mean. None: all the same.
    signature_blocks : list of int, mapping or None, default=None
        The same for the columns of the class table, where several tables stand side by side. Each has a kernel of its
        own, with a width of its own.
    signature_weights : list or mapping of float, default=None
        What each kernel counts in their mean. None: all the same.
    device : str or None, default=None
        Where to compute. None computes where X lies; "cuda" moves NumPy input to the GPU.
    random_state : int, RandomState or None, default=None
        Not used, because this method draws nothing. It is here so that all methods take the same settings.

    Attributes
    ----------
    classes_, candidates_ : ndarray
        All classes, sorted: the seen ones, the further classes of the table, and classes that only have examples.
    seen_classes_ : ndarray of shape (C,)
        The classes with training rows, sorted.
    center_ : ndarray of shape (d,)
        g, the mean of the class means.
    whitening_ : ndarray of shape (d, d)
        What makes a centred row x̃, in float32. After a fit on sparse rows it is diagonal, as a column (d, 1). With
        several blocks it is (d, w): the matrices of the blocks below each other, w the width of the widest.
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
    prior_ : {"zero", "identity", "cosine"}
        The prior that is in use.
    description_weight_ : float
        n₀ as it is in use.
    slope_ : float
        How much of a signature is its class's direction, with another prior than "zero".
    blocks_, tables_ : Blocks
        How rows and signatures are cut into blocks: `names`, `ends` and `weights`.
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
    >>> adapted = model.adapt(data.samples("test_unseen")[0], force=True)
    >>> adapted.adaptation_["rows"] == len(data.parts["test_unseen"])
    True
    >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
    >>> model = ClassMeansClassifier().partial_fit([[0, 1]], ["ant"], table).partial_fit([[1, 1]], ["bee"])
    >>> taught = model.add_examples([[5, 0], [4, 0]], ["cow", "cow"])
    >>> taught.predict([[3, 0]]).tolist(), taught.remove_examples(y=["cow"]).candidates_.tolist()
    (['cow'], ['ant', 'bee', 'emu'])
    >>> maps = model.ranking_map()
    >>> bool(abs(maps.samples([[1, 0]]) @ maps.classes().T - model.compatibility([[1, 0]])).max() < 1e-6)
    True
    >>> both = model.sums([[0, 1]], ["ant"]) + model.sums([[1, 1]], ["bee"])
    >>> ClassMeansClassifier().fit_sums(both, table).classes_.tolist()
    ['ant', 'bee', 'emu']
    """

    kind: ClassVar[str] = "class-means"
    RANDOM: ClassVar[bool] = False
    SEES_NONE: ClassVar[bool] = True
    SPARSE: ClassVar[bool] = True
    LEARNED: ClassVar = {
        "center_": ("d",),
        "whitening_": ("d", "*"),
        "regression_": ("?", "d"),
        "class_means_": ("C", "d"),
        "class_rows_": ("C",),
        "eigenvalues_": ("d",),
        "kept_rows_": ("?", "d"),
        "signature_center_": ("?",),
        "prior_": None,
        "description_weight_": None,
        "width_": None,
        "slope_": None,
        "shrinkage_": None,
        "examples_": ("?", "d"),
        "example_weights_": ("?",),
        "example_classes_": None,
        "undescribed_": None,
        "adapted_sums_": ("?", "d"),
        "adapted_classes_": None,
        "adaptation_": None,
        "crowding_": None,
        "practice_": None,
        "untaught_": None,
        "blocks_": None,
        "tables_": None,
    }
    LABELLED: ClassVar = ("example_classes_", "undescribed_", "adapted_classes_")
    FREE: ClassVar = ("kernel", "prior", "description_weight", "signature_weights", *SCALES, *SHARES, *WEIGHTS)

    width_: Any  # a list of several tables
    kept_rows_: Any  # NDArray[np.float16], or SparseRows
    example_classes_: list[Any]
    undescribed_: list[Any]  # classes that are known by their examples alone
    adapted_classes_: list[Any]
    adaptation_: dict[str, Any] | None
    practice_: dict[str, Any] | None
    untaught_: dict[str, Any] | None  # calibration and shrinkage before the model was taught
    _sums: Sums  # of all training rows
    _signatures: Any  # a table that has been read, or as they were handed over
    _fit_cache: FitCache  # of the models of one search, as are the next two
    _search_scores: SearchScores
    _member: tuple[CrowdingScores, int]

    def __init__(
        self,
        kernel: str = "gaussian",
        bandwidth: float = 1.0,
        noise: float = 0.1,
        shrinkage: float = 0.7,
        prior: str = AUTO,
        description_weight: float | str = AUTO,
        crowding: float = 0.15,
        crowding_share: float = 0.01,
        feature_scaling: str = "auto",
        *,
        signature_scaling: str = "auto",
        signature_mean: str = "seen",
        blocks: Any = None,
        block_weights: Any = None,
        signature_blocks: Any = None,
        signature_weights: Any = None,
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
        self.blocks = blocks
        self.block_weights = block_weights
        self.signature_blocks = signature_blocks
        self.signature_weights = signature_weights
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_option("kernel", self.kernel, fitting.KERNELS)
        check_option("prior", self.prior, fitting.PRIORS)
        for name in SCALES:
            check_positive(name, getattr(self, name))
        for name in SHARES:
            if check_positive(name, getattr(self, name)) > 1:
                raise ValueError(f"{name} is {getattr(self, name)!r}: expected a number above 0, at most 1")
        for name in WEIGHTS:
            check_positive(name, getattr(self, name), zero_allowed=True)
        if isinstance(self.description_weight, str) and self.description_weight != AUTO:
            raise ValueError(
                f"description_weight is {self.description_weight!r}: expected a number of at least 0, or {AUTO!r}"
            )
        if self.description_weight != AUTO:
            check_positive("description_weight", self.description_weight, zero_allowed=True)

    def fit(
        self,
        X: Array,
        y: Any,
        signatures: Any = None,
        *,
        sample_weight: Any = None,
        class_weight: Any = None,
        callback: Any = None,
        hierarchy: Any = None,
    ) -> Self:
        """Learn from training rows, their classes and the signatures of the classes. Reads X once, block by block.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Training rows. Without any (n = 0), rows and signatures are compared by their cosine, in one space.
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
        hierarchy : DataFrame, mapping or list of str, default=None
            Parents of classes, for answers of a given risk: see `zskl.decisions.Hierarchy.read`. Columns of signatures
            that it names are no attributes.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._check_parameters()
            self._forget()
            signatures, self.hierarchy_ = take_parents(signatures, hierarchy)
            if has_no_rows(X, y):
                return self._fit_descriptions(X, signatures)
            weights = sample_weight, class_weight
            training = self._prepare(X, y, signatures, StreamedRows, values=False, weights=weights)
            self._sums, self._signatures = self._sum_training(training, self._keeps_rows()), signatures
            self._fit_from_sums()
            self._warn_about_weak_descriptions()
        return self

    def _fit_descriptions(self, X: Any, signatures: Any) -> Self:
        """Without any row: plain cosine between rows and signatures, which must lie in one space."""
        check_device(self.device)
        if signatures is None:
            raise ValueError("X has no rows and there are no signatures: expected rows, descriptions or both")
        if self.prior == "zero":
            raise ValueError("prior is 'zero' and X has no rows: expected rows to learn from; use prior='cosine'")
        table = tables.read_table(signatures)
        p = table.matrix.shape[1]
        shape: tuple[int, ...] = getattr(X, "shape", ())
        d = shape[1] if len(shape) == 2 else None
        if d not in (None, p):
            raise ValueError(
                f"X has no rows, {d} features, and signatures have {p} columns: expected as many, from one encoder, "
                "because rows and signatures are compared as they are; give rows to learn from"
            )
        for name in ("feature_names_in_", "preparation_", "backbone_"):  # of other rows
            self.__dict__.pop(name, None)
        self.n_features_in_ = p
        kind = label_kind(table.labels, "signatures")
        self.seen_classes_ = np.empty(0, np.str_) if kind == "string" else table.labels[:0]
        self._set_table(table)
        for name in ("feature_scaling", "signature_scaling"):
            given = getattr(self, name)
            steps = ("l2",) if given == scaling.AUTO else scaling.parse_scaling(given, name)
            if {*scaling.FITTED, *scaling.LOOKED_UP} & set(steps):
                raise ValueError(f"{name} is {given!r} and X has no rows: expected no mean to learn; use 'l2'")
            setattr(self, f"{name}_", Scaling(steps))
        self.attribute_names_, self.described_ = table.names, True
        self.calibration_, self.temperatures_, self.decisions_ = 0.0, None, None
        tables.warn_about_signatures(self.signature_table_, signatures)
        self.prior_, self.description_weight_ = "cosine", DESCRIPTION_WEIGHT
        diagonal = is_sparse_rows(table.matrix)
        self.center_ = np.zeros(p)
        self.whitening_ = np.ones((p, 1), np.float32) if diagonal else np.eye(p, dtype=np.float32)
        self.width_, self.slope_ = 1.0, 1.0
        self.blocks_, self.tables_ = Blocks.single(p), Blocks.single(p)
        self.regression_ = self.class_means_ = np.empty((0, p), np.float32)
        self.class_rows_, self.eigenvalues_, self.shrinkage_ = np.empty(0), np.ones(p), float(self.shrinkage)
        self.kept_rows_, self.signature_center_ = np.empty((0, p), np.float16), np.zeros(p)
        self._reset_teaching()
        count = len(self.classes_)
        log.info("no rows of any class: plain cosine between rows and the signatures of %d classes", count)
        return self

    def _warn_about_weak_descriptions(self) -> None:
        if not self.described_:
            return
        seen, sums = self.signature_table_.select(self.seen_classes_), self._sums
        owners = np.searchsorted(self.seen_classes_, seen.labels)
        found = find_weak_descriptions(self.signature_scaling_.apply(seen.matrix), owners, sums.means)
        if found:
            log.warning(found)

    def partial_fit(
        self, X: Array, y: Any, signatures: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from one more piece of the training rows. Pieces in any order give the model that `fit` gives at once.

        The model is worked out from the sums of all pieces when you first use it. What it learned from examples and
        unlabelled rows is dropped, and so is its calibration, as by `fit`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            A piece of the training rows.
        y : array-like of shape (n,)
            Their classes. New classes may come with any piece.
        signatures : DataFrame, mapping or array-like, default=None
            The descriptions, as for `fit`. None keeps those of the pieces before; a table replaces them.
        classes : list of class names, default=None
            The classes that may come, as in scikit-learn: a class in y that is not among them is refused.
        sample_weight : array-like of shape (n,), default=None
            How often each row of this piece counts, as for `fit`.

        Returns
        -------
        self
            The estimator.
        """
        with self._all_or_nothing():
            self._check_parameters()
            piece = self.sums(X, y, sample_weight)
            before = vars(self).get("_sums")
            if before is None and len(vars(self).get("seen_classes_", ())):
                raise ValueError(
                    "this model was loaded from a file, which does not hold the sums of its training rows: "
                    "partial_fit goes on only with a model that this process has fitted; fit a new one"
                )
            earlier, mine = (label_kind(one.classes, "y") for one in (before or piece, piece))
            if earlier != mine:
                raise ValueError(
                    f"this piece names classes by {mine}s such as {list_values(piece.classes)}, the pieces before by "
                    f"{earlier}s: use one type for all"
                )
            given = vars(self).get("_signatures") if signatures is None else signatures
            self._set_sums(piece if before is None else before + piece, given)
            if classes is not None:
                have = self._sums.classes.tolist()
                allowed = set(tables.to_labels(classes, "classes", have).tolist())
                unknown = [label for label in have if label not in allowed]
                if unknown:
                    raise ValueError(
                        f"y holds {list_values(unknown)}, which `classes` does not name: name every class that may come"
                    )
        return self

    def sums(self, X: Array, y: Any, sample_weight: Any = None) -> Sums:
        """Add up a piece of the training rows, elsewhere if you like: what workers send back, to be merged by `+`.

        Parameters
        ----------
        X : array-like of shape (n, d)
            A piece of the training rows.
        y : array-like of shape (n,)
            Their classes.
        sample_weight : array-like of shape (n,), default=None
            How often each row counts, as for `fit`.

        Returns
        -------
        Sums
            Its size depends on the number of features and classes, not on n. Hand the sum of all pieces to `fit_sums`.
        """
        self._check_parameters()
        if self.feature_scaling != scaling.AUTO:
            self._check_piecewise(scaling.parse_scaling(self.feature_scaling, "feature_scaling"))
        check_device(self.device)
        before, first = vars(self).get("_sums"), "n_features_in_" not in vars(self)
        # A model from a file has columns and no sums: the check must not change its columns.
        checker = self if before is not None or first else clone(self)
        X, y = _inputs.check_training(checker, X, y, values=False, reset=first or checker is not self)
        self.feature_scaling_ = self._choose_piece_scaling(X)
        y = unify_spelling(y, () if before is None else before.classes.tolist())
        X, y, weights = drop_weightless_rows(X, y, combine_weights(y, sample_weight))
        classes, codes = np.unique(y, return_inverse=True)
        return self._sum_rows(X, codes, classes, self._keeps_rows(), weights)

    def _check_piecewise(self, steps: tuple[str, ...]) -> None:
        """Refuse scalings that must see all training rows."""
        fitted = [step for step in steps if step in (*scaling.FITTED, *scaling.LOOKED_UP)]
        if fitted:
            raise ValueError(
                f"feature_scaling is {self.feature_scaling!r}: its step {fitted[0]!r} needs all training rows at "
                "once, so they cannot come in pieces; use 'sqrt-l2', 'l2' or 'none', or call fit"
            )

    def _choose_piece_scaling(self, X: Array) -> Any:
        """The scaling of a piece: with "auto", one that learns nothing from rows; that of the pieces before, if any."""
        self._read_blocks()
        before = vars(self).get("_sums")
        names = None if before is None else before.scaling
        if len(self.blocks_) == 1:
            return self._choose_block_scaling(X, names)
        several = [names] * len(self.blocks_) if names is None or "+" not in names else names.split("+")
        pairs = zip(self.blocks_.split(X), several, strict=True)
        return BlockScaling(self.blocks_, tuple(self._choose_block_scaling(block, name) for block, name in pairs))

    def _choose_block_scaling(self, X: Array, before: str | None) -> Scaling:
        """That of one block, where the pieces before had a scaling of the name `before`."""
        found = scaling.choose_scaling(self.feature_scaling, X, "feature_scaling")
        piecewise = not {*scaling.FITTED, *scaling.LOOKED_UP} & set(found.steps)
        if before is not None and self.feature_scaling == scaling.AUTO and (piecewise or X.shape[0] < scaling.LEAST):
            if piecewise and found.name != before and X.shape[0] >= scaling.LEAST:
                log.warning(
                    "feature_scaling is 'auto': this piece alone would take %r, those before %r, which stays; name "
                    "feature_scaling if this is wrong",
                    found.name,
                    before,
                )
            return scaling.choose_scaling(before, X, "feature_scaling")
        if piecewise:
            return found
        if X.shape[0] >= scaling.LEAST:
            raise ValueError(
                f"feature_scaling is 'auto', and in this piece {found.reason}: expected columns in one unit, because "
                "to standardise needs all training rows at once; call fit, or divide each column by its spread and "
                "name feature_scaling, such as 'l2'"
            )
        return scaling.choose_scaling(self.feature_scaling, X, "feature_scaling", alone=True)

    def fit_sums(self, sums: Sums, signatures: Any = None) -> Self:
        """Fit from sums of the training rows, such as those that workers have computed.

        Parameters
        ----------
        sums : Sums
            Those of all training rows: what `sums` returns for pieces, added.
        signatures : DataFrame, mapping or array-like, default=None
            The descriptions, as for `fit`.

        Returns
        -------
        self
            The fitted estimator.
        """
        with self._all_or_nothing():
            self._check_parameters()
            if not isinstance(sums, Sums) or self.feature_scaling not in (sums.scaling, scaling.AUTO):
                found = f"of rows scaled by {sums.scaling!r}" if isinstance(sums, Sums) else f"{sums!r:.60}"
                raise ValueError(
                    f"sums is {found}: expected what `sums` of a model with "
                    f"feature_scaling={self.feature_scaling!r} returns"
                )
            self.n_features_in_ = len(sums.products)
            self._read_blocks()
            steps = [scaling.parse_scaling(name, "sums.scaling") for name in sums.scaling.split("+")]
            parts = [Scaling(one) for one in (steps * len(self.blocks_) if len(steps) == 1 else steps)]
            if len(parts) != len(self.blocks_):
                raise ValueError(
                    f"sums is of rows in {len(parts)} blocks: expected the {len(self.blocks_)} of this model"
                )
            self.feature_scaling_: Any = parts[0] if len(parts) == 1 else BlockScaling(self.blocks_, tuple(parts))
            self._set_sums(sums, signatures)
            if len(sums.classes) < 2:
                raise ValueError(
                    f"the sums hold 1 class only ({list_values(sums.classes)}): training needs rows of at least 2 "
                    "classes"
                )
        return self

    def _fit_feature_scaling(self, rows: ScaledRows, weights: NumPyArray | None) -> Any:
        """One for each block, chosen and fitted by itself."""
        self._read_blocks()
        if len(self.blocks_) == 1:
            return super()._fit_feature_scaling(rows, weights)
        parts = [
            type(rows)(block, self.device).fit_scaling(self.feature_scaling, weights)
            for block in self.blocks_.split(rows.source)
        ]
        found = BlockScaling(self.blocks_, tuple(parts))
        rows.use_scaling(found)
        return found

    def _fit_signature_scaling(self, matrix: Any) -> Any:
        names = self.attribute_names_
        self.tables_ = read_blocks(
            self.signature_blocks, self.signature_weights, names, matrix.shape[1], "signature_blocks"
        )
        if len(self.tables_) == 1:
            return super()._fit_signature_scaling(matrix)
        parts = [super(ClassMeansClassifier, self)._fit_signature_scaling(part) for part in self.tables_.split(matrix)]
        return BlockScaling(self.tables_, tuple(parts))

    def _read_blocks(self) -> None:
        names = getattr(self, "feature_names_in_", None)
        self.blocks_ = read_blocks(
            self.blocks, self.block_weights, None if names is None else list(names), self.n_features_in_, "blocks"
        )

    def _keeps_rows(self) -> bool:
        """Whether rows are kept: for crowding, or to choose a prior by."""
        table = vars(self).get("signature_table_")
        may_share = table is None or table.matrix.shape[1] == self.n_features_in_
        return self.crowding > 0 or (may_share and AUTO in (self.prior, self.description_weight))

    def _sum_training(self, training: Training, keep: bool) -> Sums:
        return self._sum_rows(training.X.source, to_numpy(training.codes), self.seen_classes_, keep, training.weights)

    def _sum_rows(
        self, X: Array, codes: NumPyArray, classes: NumPyArray, keep: bool, weights: NumPyArray | None
    ) -> Sums:
        gpu = runs_on_gpu(X, self.device)

        def read_scaled(rows: slice) -> tuple[Array, Array]:
            raw = _inputs.take_input_rows(self, X, rows)
            placed = move_to_device(raw, self.device)
            # NumPy needs less time and memory than PyTorch for a tensor on a CPU.
            return raw, self.feature_scaling_.apply(placed if gpu else to_numpy(placed))

        return fitting.sum_rows(X, codes, classes, read_scaled, keep, self.feature_scaling_.name, weights, gpu)

    def _set_sums(self, sums: Sums, given: Any) -> None:
        check_option("signature_mean", self.signature_mean, SIGNATURE_MEANS)
        table = tables.read_table_once(given)
        self._forget()
        self._read_blocks()
        for name in ("classes_", "seen_classes_"):
            self.__dict__.pop(name, None)
        self._sums, self._signatures = sums, table
        if len(sums.classes) > 1:
            self.seen_classes_ = sums.classes
            self._describe(table)
            tables.warn_about_signatures(self.signature_table_, given)
            self._reset_teaching()

    def _forget(self) -> None:
        for name in (*self.LEARNED, *LATER):
            self.__dict__.pop(name, None)

    def _reset_teaching(self) -> None:
        self.examples_ = self.adapted_sums_ = np.empty((0, int(self.n_features_in_)), np.float32)
        self.example_weights_ = np.empty(0)
        self.example_classes_, self.undescribed_, self.adapted_classes_ = [], [], []
        self.adaptation_ = self.practice_ = self.untaught_ = None
        self.crowding_ = float(self.crowding)

    def _fit_from_sums(self) -> None:
        cache = vars(self).get("_fit_cache") or self._make_fit_cache()
        self._settle_prior(cache)
        at = self._whitening(cache)
        kernel = cache.kernel(self.kernel, float(self.bandwidth), self._tables())
        self.center_, self.whitening_ = at.space.center, at.matrix
        self.width_ = kernel.widths[0] if len(kernel.widths) == 1 else list(kernel.widths)
        self.slope_ = at.slope if self.prior_ == "identity" else float(self.prior_ == "cosine")
        targets = at.targets if self.prior_ == "zero" else at.targets - self.slope_ * at.own_signatures
        # Plain cosine trains nothing: its weights are zeros of the same shape.
        weights = 0.0 * targets if self.prior_ == "cosine" else cache.inverse(kernel, float(self.noise)) @ targets
        self.regression_, self.class_means_ = weights.astype(np.float32), at.means.astype(np.float32)
        self.class_rows_, self.eigenvalues_ = at.space.rows, at.space.spectrum.values
        self.shrinkage_ = float(self.shrinkage)
        self.kept_rows_ = at.kept if self.crowding else at.kept[:0]
        self.signature_center_ = np.empty(0) if self.prior_ == "zero" else at.signature_center
        if "practice_" not in vars(self):
            self._reset_teaching()

    @classmethod
    def _restore(cls, header: dict[str, Any], arrays: dict[str, NumPyArray], known: Any = None) -> Self:
        parameters, learned = header["parameters"], header["learned"]
        # Files of 0.2 hold neither: what was asked for was in use.
        learned.setdefault("prior_", parameters["prior"])
        learned.setdefault("description_weight_", parameters["description_weight"])
        p = arrays["signatures"].shape[1] if "signatures" in arrays else header["sparse"]["signatures"][1]
        for name, width in (("blocks_", header["n_features"]), ("tables_", p)):  # nor these
            learned.setdefault(name, cls._to_json_blocks(Blocks.single(int(width))))
        return super()._restore(header, arrays, known)

    @staticmethod
    def _to_json_blocks(blocks: Blocks) -> dict[str, Any]:
        return {"names": list(blocks.names), "ends": list(blocks.ends), "weights": list(blocks.weights)}

    def _to_json(self, name: str, value: Any) -> Any:
        if name in ("blocks_", "tables_"):
            return self._to_json_blocks(value)
        if name in ("blocks", "signature_blocks") and value is not None:
            fitted = self.blocks_ if name == "blocks" else self.tables_
            widths = [part.stop - part.start for part in fitted.columns]
            return dict(zip(fitted.names, widths, strict=True)) if isinstance(value, Mapping) else widths
        if name in ("block_weights", "signature_weights") and value is not None:
            return dict(value) if isinstance(value, Mapping) else [float(one) for one in value]
        return super()._to_json(name, value)

    @classmethod
    def _from_json(cls, name: str, value: Any) -> Any:
        if name in ("blocks_", "tables_"):
            return Blocks.from_json(value)
        return super()._from_json(name, value)

    def _class_vectors(self) -> dict[str, NumPyArray]:
        small = len(self.signature_table_.labels) * int(self.n_features_in_) <= scoring.KEPT_VALUES
        return scoring.pack_class_vectors(self, self.signature_table_) if small else {}

    def _pack_for_scorer(self, signatures: Any = None) -> tuple[dict[str, Any], dict[str, NumPyArray]]:
        """What a model file holds, but for these classes, and with their vectors however many there are."""
        check_is_fitted(self)
        header, arrays = self._pack()
        table = choose_candidates(self, signatures, None)
        for name, labels in (("classes", table.classes), ("signature_labels", table.labels)):
            header[name] = model_file.labels_to_json(match_label_dtype(self.seen_classes_, labels))
        return header, arrays | scoring.pack_class_vectors(self, table)

    def _make_fit_cache(self) -> FitCache:
        seen = self.signature_table_.select(self.seen_classes_)
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
        owners = np.searchsorted(self.seen_classes_, seen.labels)
        scaled: Any = self.signature_scaling_.apply(seen.matrix).astype(np.float64)
        shared = self.feature_scaling_.apply(seen.matrix) if p == d else None
        place = move_to_device(np.empty(0), self.device)
        return FitCache(self._sums, scaled, owners, shared, place, self._blocks(), self._tables())

    def _tell_automatic(self) -> list[str]:
        told = super()._tell_automatic()
        if self.prior == AUTO and "prior_" in vars(self):
            told.append(f"prior: auto ({self.prior_})")
        return told

    def _settle_prior(self, cache: FitCache) -> None:
        """Set prior and description weight as they are in use: those that were given, or what "auto" stands for."""
        if "prior_" in vars(self):
            return
        self.prior_, self.description_weight_ = str(self.prior), DESCRIPTION_WEIGHT
        if self.description_weight != AUTO:
            self.description_weight_ = float(self.description_weight)
        if self.prior == AUTO:
            shared = cache.shared is not None and self.described_ and cache.signatures_agree
            self.prior_ = "identity" if shared else "zero"
        if self.prior_ == "zero" or AUTO not in (self.prior, self.description_weight):
            return
        tried = (self.prior_,) if self.prior != AUTO else ("identity", "cosine")
        weights = SHARED_WEIGHTS if self.description_weight == AUTO else (self.description_weight_,)
        self.prior_, self.description_weight_ = choose_in_shared_space(self, cache, tried, weights)
        if self.prior == AUTO:
            log.info("features and signatures share a space: prior=%r", self.prior_)

    def _whitening(self, cache: FitCache) -> fitting.Whitening:
        return cache.whitening(float(self.shrinkage), plain=self.prior_ == "cosine")

    def __sklearn_is_fitted__(self) -> bool:
        if "classes_" not in vars(self) and "_sums" in vars(self):
            raise NotFittedError(
                "this model is not fitted yet, since all pieces so far hold 1 class only "
                f"({list_values(self._sums.classes)}): training needs rows of at least 2 classes; "
                "call partial_fit with rows of another"
            )
        return "classes_" in vars(self)

    def __getattr__(self, name: str) -> Any:
        """What is learned from sums is worked out when it is first asked for."""
        if name in type(self).LEARNED and "_sums" in vars(self) and "classes_" in vars(self):
            self._fit_from_sums()
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def class_sums_(self) -> NDArray[np.float32]:
        """What the training rows of each seen class say about its direction (C, d)."""
        found = self._spectrum().sum_directions(self.class_means_, self.class_rows_, self.shrinkage_)
        return found.astype(np.float32)

    def _question(self, scaled: Array, table: SignatureTable) -> ClassMeansQuestion:
        asked = super()._question(scaled, table)
        shared = self._scale_as_features(table.matrix)
        shared = None if shared is None else convert_like(shared, scaled)
        return ClassMeansQuestion(asked.Y, asked.rows, asked.labels, shared, teaching.find_undescribed(self, table))

    def _scale_as_features(self, signatures: Array) -> Array | None:
        return None if self.prior_ == "zero" else self.feature_scaling_.apply(signatures)

    def _row_directions(self, scaled: Array) -> Array:
        """x̂ (n, d) of scaled rows."""
        centred = scaled - convert_like(self.center_, scaled)
        found: Array = self._blocks().to_unit_length(self._whiten(centred))
        return found

    def _whiten(self, centred: Array) -> Array:
        """x̃ of centred rows (n, d), or of centred signatures in the shared space."""
        whitened: Array = self._blocks().whiten(centred, convert_like(self.whitening_, centred))
        return whitened

    def _blocks(self) -> Blocks:
        """How the columns of rows are cut into blocks."""
        return self.blocks_ if "blocks_" in vars(self) else Blocks.single(int(self.n_features_in_))

    def _tables(self) -> Blocks:
        """How the columns of signatures are."""
        if "tables_" in vars(self):
            return self.tables_
        return Blocks.single(int(self.signature_table_.matrix.shape[1]))

    def _weigh_tables(self) -> None:
        """After a search has set other weights."""
        if len(self.tables_) > 1:
            self.tables_ = self.tables_.weighed(self.signature_weights, "signature_blocks")

    def _spectrum(self) -> Spectrum:
        return Spectrum(self.eigenvalues_, self._blocks())

    def _signature_kernel(self) -> SignatureKernel:
        widths: Any = self.width_
        return SignatureKernel(
            self.kernel, tuple(widths) if isinstance(widths, list) else (float(widths),), self._tables()
        )

    def _predict_means(self, Y: Array, shared: Array | None) -> Array:
        """m(y) (rows, d) of scaled signatures (rows, p), which may lie in the shared space too."""
        seen = convert_like(self._seen_signatures(), Y)
        means = self._signature_kernel()(Y, seen) @ convert_like(self.regression_, Y)
        if self.prior_ == "zero":
            return means
        assert shared is not None  # with another prior than zero there is one
        centred = shared - convert_like(self.signature_center_, Y)
        own: Array = to_dense(self._whiten(centred))
        return means + self.slope_ * own

    def _seen_signatures(self) -> Array:
        found: Array = self.signature_scaling_.apply(self.signature_table_.select(self.seen_classes_).matrix)
        return found

    def _described_directions(self, question: Question) -> Array:
        """m̂ (rows, d) of the candidates' signatures."""
        means = self._predict_means(question.Y, getattr(question, "shared", None))
        found: Array = self._blocks().to_unit_length(means)
        return found

    def _directions(self, question: Question) -> Array:
        described, evidence = self._described_directions(question), self._evidence(question)
        return scale_to_unit_length(evidence.add_to(described))

    def _crowded(self, directions: Array) -> Array | None:
        """r (rows,), without its factor."""
        if not len(self.kept_rows_):
            return None
        cosines = convert_like(self.kept_rows_, directions) @ directions.T
        return fitting.mean_of_largest(cosines, float(self.crowding_share))

    def _crowding_of(self, directions: Array) -> Array | None:
        """a·r (rows,)."""
        crowded = self._crowded(directions) if self.crowding_ else None
        return None if crowded is None else self.crowding_ * crowded

    def _evidence(self, question: Question, unlabelled: bool = True, more: int = 0) -> Evidence:
        """What rows say about the candidates, descriptions weighed as if each had so many `more` examples."""
        seen = fitting.signature_codes(self.seen_classes_, question) >= 0
        weights = np.where(seen, float(self.description_weight_), UNTAUGHT_WEIGHT)
        columns = dict(zip(question.labels.tolist(), question.rows, strict=True))
        counts = self._count_examples()
        taught = [label for label, rows in columns.items() if counts[label] + more and not seen[rows[0]]]
        certainty = self._description_certainty(question) if taught else np.empty(0)
        for label in taught:
            weights[columns[label]] = self._description_worth(counts[label] + more) * certainty[columns[label]]
        adapted = set(self.adapted_classes_ if unlabelled else ()) - set(taught if self._knows_worth() else ())
        for label in columns.keys() & adapted:
            weights[columns[label]] = float((self.adaptation_ or {})["weight"])
        # The signature of such a class is a placeholder, which must not count.
        for label in columns.keys() & getattr(question, "undescribed", ()):
            weights[columns[label]] = 0.0
        parts = self._sums_by_source(question)
        if not unlabelled:
            parts.pop(UNLABELLED, None)
        none = np.zeros((question.Y.shape[0], self.class_sums_.shape[1]))
        return Evidence(sum(parts.values(), start=none), weights, seen)

    def _sums_by_source(self, question: Question) -> dict[str, Floats]:
        """Σ x̂ (rows, d) of each signature row by source; only sources that say something of a candidate are there."""
        codes = fitting.signature_codes(self.seen_classes_, question)
        columns = {label: np.unique(rows) for label, rows in zip(question.labels.tolist(), question.rows, strict=True)}
        found: dict[str, Floats] = {}
        if (codes >= 0).any():
            found[TRAINING] = np.where((codes >= 0)[:, None], self.class_sums_[codes], 0.0).astype(np.float64)
        examples = zip(self.examples_, self._weigh_examples(), self.example_classes_, strict=True)
        unlabelled = zip(self.adapted_sums_, np.ones(len(self.adapted_sums_)), self.adapted_classes_, strict=True)
        for name, rows in ((EXAMPLES, examples), (UNLABELLED, unlabelled)):
            for row, weight, label in rows:
                if label in columns:
                    sums = found.setdefault(name, np.zeros((len(codes), len(row))))
                    sums[columns[label]] += weight * row.astype(np.float64)
        for label, extra in self._refined_examples().items():
            if label in columns:
                found[EXAMPLES][columns[label]] += extra
        return found

    def _refined_examples(self) -> dict[Any, Rows]:
        """(d,) for each unseen class with examples: what these add beyond their sum; whatever is asked."""
        if not self.example_classes_:
            return {}
        if "_refined" not in vars(self):
            self._refined: dict[Any, Rows] = {}  # empty while the sums are asked for
            if not self._learns_as_before():
                self._refined = self._refine_examples()
        return self._refined

    def _refine_examples(self) -> dict[Any, Rows]:
        seen, counts = set(self.seen_classes_.tolist()), self._count_examples()
        labels = [label for label in counts if label not in seen]
        refined = {
            label
            for label in labels
            if teaching.are_examples_refined(teaching.nearest_example_entry(self.practice_, counts[label]))
        }
        # An example that is alone in its class changes nothing; most models have none at all.
        if len(labels) < 2 or max(counts[label] for label in labels) < 2 or not refined:
            return {}
        place = {label: column for column, label in enumerate(labels)}
        mine = [
            row
            for row, (label, weight) in enumerate(
                zip(self.example_classes_, self.example_weights_.tolist(), strict=True)
            )
            if weight > 0 and label in place
        ]
        own = np.array([place[self.example_classes_[row]] for row in mine])
        table = self.signature_table_.select(labels)
        question = self._question(np.empty((0, self.n_features_in_), np.float32), table)
        base = to_numpy(self._evidence(question, unlabelled=False).add_to(self._described_directions(question)))
        order = [question.labels.tolist().index(label) for label in labels]
        found = teaching.refine_examples(base.astype(np.float32), self.examples_[mine], own, question.rows[order])
        return {label: row for label, row in zip(labels, found, strict=True) if label in refined}

    def _description_worth(self, count: int) -> float:
        """n₀ of an unseen class with so many examples whose description is as sure as usual."""
        if not len(self.seen_classes_):
            return UNTAUGHT_WEIGHT
        entry = teaching.nearest_example_entry(self.practice_, count)
        if entry is None and self._learns_as_before():
            return UNTAUGHT_WEIGHT
        worth = self._left_out_classes().description_worth(self.shrinkage_)
        if entry is None and self.prior_ == "cosine":
            # Nothing is whitened, so most of how rows and descriptions differ tells no class from another.
            worth = max(worth, UNTAUGHT_WEIGHT)
        return teaching.weigh_description(entry, worth)

    def _learns_as_before(self) -> bool:
        """Whether an earlier version has taught the model: it goes on as it began, until it is calibrated again."""
        return self.untaught_ is not None and "refined" not in self.untaught_

    def _left_out_classes(self) -> LeftOutClasses:
        if "_left_out" not in vars(self):
            seen = self.signature_table_.select(self.seen_classes_)
            owners = fitting.find_class_codes(self.seen_classes_, seen.labels)
            # As it was fitted: validation may have chosen another shrinkage for what the model was taught.
            shrinkage = self.shrinkage_ if self.untaught_ is None else float(self.untaught_["shrinkage"])
            ratio = self._spectrum().ratio(self.shrinkage_, shrinkage)
            means = self.class_means_.astype(np.float64) * ratio
            if self.prior_ == "cosine":
                centred = self.feature_scaling_.apply(seen.matrix) - self.signature_center_
                described = np.asarray(to_dense(self._whiten(centred)), np.float64)
            else:
                targets = self._blocks().to_unit_length(means)[owners]
                regression = self.regression_.astype(np.float64) * ratio
                described = fitting.predict_left_out(
                    targets, regression, self._signature_inverse(), owners, len(self.seen_classes_)
                )
            rows = self.class_rows_[owners]
            plain = self.prior_ == "cosine"
            self._left_out = LeftOutClasses(described, means[owners], rows, self._spectrum(), shrinkage, plain)
        return self._left_out

    def _count_examples(self) -> Counter[Any]:
        pairs = zip(self.example_classes_, self.example_weights_.tolist(), strict=True)
        return Counter(label for label, weight in pairs if weight > 0)

    def _knows_worth(self) -> bool:
        """Whether descriptions of taught classes weigh beside unlabelled rows what they are worth beside examples."""
        # Nobody knows that worth in a space that is not whitened, unless examples have been tried.
        tried = self.prior_ != "cosine" or bool((self.practice_ or {}).get("examples"))
        return tried and not self._learns_as_before()

    def _weigh_examples(self) -> list[float]:
        """What each example adds: 1; those marked as wrong for a class share a weight against it."""
        against = float((self.practice_ or {}).get("wrong_weight", WRONG_WEIGHT))
        pairs = list(zip(self.example_classes_, (self.example_weights_ < 0).tolist(), strict=True))
        wrong = Counter(label for label, is_wrong in pairs if is_wrong)
        return [-against / wrong[label] if is_wrong else 1.0 for label, is_wrong in pairs]

    def _description_certainty(self, question: Question) -> Floats:
        """(rows,) how much surer than usual the process is of each signature's direction: a factor of n₀."""
        if self.prior_ == "cosine":
            return np.ones(question.Y.shape[0])
        kernel, inverse = self._signature_kernel(), self._signature_inverse()
        Y = to_numpy(question.Y).astype(np.float64)
        return fitting.description_certainty(kernel, Y, self._seen_signatures(), inverse, float(self.noise))

    def _signature_inverse(self) -> Floats:
        """(K + νI)⁻¹ (R, R)."""
        if "_kernel_inverse" not in vars(self):
            kernel, seen = self._signature_kernel(), self._seen_signatures()
            self._kernel_inverse = fitting.regularised_inverse(to_numpy(kernel(seen, seen)), float(self.noise))
        return self._kernel_inverse

    def _candidate_scorer(self, question: Question) -> Callable[[Array], Array]:
        if "_search_scores" not in vars(self):
            score = self._gallery_scorer(question)
            return lambda X: score(self._row_directions(X))
        crowding = float(self.crowding)

        def answer(X: Array) -> Array:
            plain, crowded = self._search_scores.parts(self, X, question, crowding != 0)
            return best_row_scores(plain if crowded is None else plain - crowding * crowded, question.rows)

        return answer

    def _gallery_rows(self, X: Array) -> Array:
        return self._row_directions(X)

    def _gallery_update(self, before: Any) -> Callable[[Array], Array] | None:
        if before.shrinkage_ == self.shrinkage_:
            return None
        ratio, unit = self._spectrum().ratio(before.shrinkage_, self.shrinkage_), self._blocks().to_unit_length
        return lambda rows: unit(rows * convert_like(ratio, rows))

    def _gallery_scorer(self, question: Question) -> Callable[[Array], Array]:
        directions = self._directions(question)
        crowded = self._crowding_of(directions)

        def answer(rows: Array) -> Array:
            scores = rows @ directions.T
            return best_row_scores(scores if crowded is None else scores - crowded, question.rows)

        return answer

    def _nameless_scorer(self, Y: Array) -> Callable[[Array], Array]:
        return scoring.make_nameless_scorer(self, Y, UNTAUGHT_WEIGHT)

    def ranking_map(self) -> scoring.DirectionMap:
        """Map samples and classes so that inner products are scores: any dot-product index can search them.

        Returns
        -------
        DirectionMap
            Maps into as many dimensions as there are features, plus one. Its `samples` are rows x̂ and a 1, its
            `classes` directions and what crowding adds.
        """
        check_is_fitted(self)
        return scoring.DirectionMap(copy.copy(self))

    def _check_explainable(self) -> None:
        """Class means always are."""

    @property
    def _compares_with_classes(self) -> bool:
        return bool(self.prior_ != "cosine")

    def _explainer(self, table: SignatureTable, by: str) -> scoring.ExplainedScores:
        return scoring.ExplainedScores(self, table, by)

    # Teaching: examples and unlabelled rows give a new model, this one never changes

    def add_examples(
        self, X: Array, y: Any, signatures: Any = None, *, wrong: Any = False, new_classes: bool = False
    ) -> Self:
        """Give a new model that has also learned from labelled rows. This one stays as it is.

        The classes may be seen, unseen or new, with or without a description. New ones join `classes_`;
        `seen_classes_` stays what `fit` saw.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The examples.
        y : array-like of shape (n,)
            Their classes.
        signatures : DataFrame, mapping or array-like, default=None
            Descriptions of new classes, as for `fit`. A new class without one is known by its examples alone.
        wrong : bool or array-like of shape (n,), default=False
            True for rows that are marked as not of their class in y: their mean counts against it.
        new_classes : bool, default=False
            A new name much like another one, by its case, its spaces or one letter, is refused with a question, since
            it may be a slip. True takes it as a new class.

        Returns
        -------
        ClassMeansClassifier
            The new model. Classes with examples are among its `classes_`, and stay unseen for calibration.
        """
        check_is_fitted(self)
        X = _inputs.check_features(self, X, dense_for=None)
        labels = teaching.check_example_labels(self, y, X.shape[0])
        wrong = teaching.check_wrong_mask(wrong, X.shape[0])
        check_flag("new_classes", new_classes)
        new = self._copy_for_teaching()
        table, new.undescribed_ = teaching.add_classes(self, signatures, labels, wrong, new_classes)
        new._set_table(table)
        rows = to_numpy(to_dense(self._row_directions(self._scale_rows(X)))).astype(np.float32)
        new.examples_ = np.concatenate([self.examples_, rows])
        new.example_weights_ = np.concatenate([self.example_weights_, np.where(wrong, -1.0, 1.0)])
        new.example_classes_ = [*self.example_classes_, *labels.tolist()]
        new._use_validation()
        return new

    def remove_examples(self, X: Array | None = None, y: Any = None) -> Self:
        """Give a new model without some of the examples. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d), default=None
            The examples to remove, as they were added. None removes all examples of the classes in y.
        y : array-like, default=None
            The class of each row in X, or, without X, the classes. None and no X removes all examples.

        Returns
        -------
        ClassMeansClassifier
            The new model. A class that had nothing but these examples is no longer a candidate.
        """
        check_is_fitted(self)
        keep = teaching.choose_kept_examples(self, X, y)
        new = self._copy_for_teaching()
        new.examples_, new.example_weights_ = self.examples_[keep], self.example_weights_[keep]
        new.example_classes_ = [label for label, kept in zip(self.example_classes_, keep, strict=True) if kept]
        teaching.drop_unknown_classes(new)
        new._use_validation()
        return new

    def adapt(
        self, X: Array, candidates: Labels | str | None = None, *, force: bool = False, balance: float | None = None
    ) -> Self:
        """Give a new model that has also learned from unlabelled rows. This one stays as it is.

        Each row counts for a class as far as the model believes that it is of that class. How much, and whether this
        helps at all, is what `zskl.selection` found on validation classes (`practice_`).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows whose classes nobody knows.
        candidates : {"unseen", "all"}, list of class names or None, default=None
            The classes that the rows may be of. None and "unseen" stand for the candidates without training rows,
            "all" for all candidates. Only classes without training rows take rows up.
        force : bool, default=False
            Whether to adapt even if nothing says that it helps.
        balance : float between 0 and 1, default=None
            How far to draw the masses of the classes together. Use 1 if you know that each candidate has about as many
            of the rows: this helps then, and harms otherwise. None leaves it to what validation classes said.

        Returns
        -------
        ClassMeansClassifier
            The new model. Its `adaptation_` says what changed, and whether the rounds came to rest.

        Raises
        ------
        NoClearGain
            A ValueError: validation classes, or these rows, do not promise a gain.
        """
        check_is_fitted(self)
        X, before = _inputs.check_features(self, X, dense_for=None), self._without_adaptation()
        new = before._adapt(X, candidates, force, balance)
        new._set_adapted_constant(teaching.keep_answered_share(before, new, X, candidates))
        return new

    def _adapt(
        self,
        X: Array,
        candidates: Labels | str | None,
        force: bool,
        balance: float | None,
        others: OtherModels | None = None,
    ) -> Self:
        table, mode = teaching.choose_adaptation_table(self, candidates)
        hand = self._rows_at_hand(X, table, mode, others)
        entry = teaching.find_adaptation_entry(self.practice_, mode, hand, X.shape[0], len(table.classes))
        # Entries of earlier versions know rows per candidate only.
        per_class = hand.per_class if entry is not None and "batches" in entry else X.shape[0] / len(table.classes)
        how = AdaptationSettings() if entry is None else AdaptationSettings.from_entry(entry, per_class)
        if entry is None:
            kappa, absent = self._adaptation_sharpness(mode, others), CAREFUL if self.prior_ == "cosine" else 0.0
            how = replace(how, kappa=kappa, crowding=float(self.crowding), proportion=absent)
        if balance is not None:
            if check_positive("balance", balance, zero_allowed=True) > 1:
                raise ValueError(f"balance is {balance!r}: expected a number from 0 to 1, or None")
            how = replace(how, balance=float(balance))
        if not force:
            teaching.check_adaptation_gain(entry, per_class, self.practice_ is not None, self._calibration_advice)
        new = self._copy_for_teaching()
        new._set_shrinkage(self.shrinkage_ if how.shrinkage is None else how.shrinkage)
        scaled = new._scale_rows(X)
        other = None if others is None else others.for_kappa(how.kappa, X, table)
        question = new._question(scaled, table)
        labels, moving = question.labels.tolist(), fitting.find_class_codes(self.seen_classes_, question.labels) < 0
        evidence, described = new._evidence(question, unlabelled=False), new._described_directions(question)
        own = evidence.seen | (evidence.weights == 0)
        if new._knows_worth():
            counts = new._count_examples()
            own[question.rows[[counts[label] > 0 for label in labels]]] = True
        weights = np.where(own, evidence.weights, how.weight)
        weighed, sums = convert_like(weights[:, None], described) * described, convert_like(evidence.sums, described)
        found = teaching.run_adaptation(
            new._row_directions(scaled),
            weighed,
            sums,
            question.rows,
            moving,
            how,
            other,
            new._crowded(scale_to_unit_length(weighed + sums)) if how.crowding else None,
            new._row_offset(described),
        )
        new.adapted_classes_ = [label for label, moves in zip(labels, moving, strict=True) if moves]
        new.adapted_sums_ = found.sums[moving]
        calibrated = (new.untaught_ or {}) if entry is None else entry
        new.adaptation_ = {
            "candidates": mode,
            "rows": int(X.shape[0]),
            "weight": how.weight,
            "shrinkage": new.shrinkage_,
            "crowding": how.crowding,
            "smoothing": how.smoothing,
            "calibration": calibrated["calibration"],
            "temperatures": calibrated["temperatures"],
            # Few classes that have moved need less of another constant than the many that validation classes had.
            "share": min(1.0, found.share(how, moving) / entry["share"]) if entry and entry.get("share") else 1.0,
            "expected_gain": None if entry is None else entry["gain"],
            "rounds": found.rounds,
            "turned": found.turned,
            "converged": found.turned < CONVERGED,
            "masses": {str(label): float(found.masses[k]) for k, label in enumerate(labels) if moving[k]},
        }
        new._use_validation()
        log.info("adapted %d classes to %d rows in %d rounds", int(moving.sum()), X.shape[0], found.rounds)
        return new

    def _adaptation_estimate(self, candidates: str, n: int) -> dict[str, Any] | None:
        """As if the rows were of all classes that have no training rows, and of each as many."""
        table, mode = teaching.choose_adaptation_table(self, candidates)
        c = len(table.classes)
        moving = int(np.sum(fitting.find_class_codes(self.seen_classes_, table.classes) < 0))
        hand = RowsAtHand(n * moving / c, float(moving), moving)
        return teaching.find_adaptation_entry(self.practice_, mode, hand, n, c)

    def _adaptation_sharpness(self, mode: str, others: OtherModels | None) -> float:
        """κ, where validation classes chose none."""
        if others is not None:
            return others.kappa
        if self.temperatures_ is None:
            return AdaptationSettings.kappa
        return teaching.SHARPER / self.temperatures_["unseen" if mode == "unseen" else "mixed"]

    def _rows_at_hand(self, X: Array, table: SignatureTable, mode: str, others: OtherModels | None) -> RowsAtHand:
        tried = ((self.practice_ or {}).get("unlabelled") or {}).get(mode) or [{}]
        kappa = float(tried[0].get("kappa", self._adaptation_sharpness(mode, others)))
        how = AdaptationSettings(
            kappa=kappa / teaching.SHARPER, crowding=float(self.crowding), shift=float(tried[0].get("shift", 0.0))
        )
        scaled = self._scale_rows(X)
        question = self._question(scaled, table)
        moving = fitting.find_class_codes(self.seen_classes_, question.labels) < 0
        described = self._described_directions(question)
        u = scale_to_unit_length(self._evidence(question, unlabelled=False).add_to(described))
        other = None if others is None else others.for_kappa(how.kappa, X, table)
        crowded = self._crowded(u) if how.crowding else None
        x = self._row_directions(scaled)
        logits = teaching.logits_of_rows(x, u, question.rows, moving, how, other, crowded)
        return RowsAtHand.from_logits(logits, moving)

    def _row_offset(self, like: Array) -> Array | None:
        """(d,) how far rows lie from descriptions on average, over the seen classes; None where both are centred."""
        if self.prior_ != "cosine" or not len(self.seen_classes_):
            return None
        described = to_numpy(self.feature_scaling_.apply(self.signature_table_.select(self.seen_classes_).matrix))
        unit = self._blocks().to_unit_length
        offset = unit(self.class_means_).mean(axis=0) - unit(described).mean(axis=0)
        return convert_like(offset, like)

    def _kept_adaptation(self) -> list[KeptAdaptation]:
        """What unlabelled rows have taught the model, for another one: a list, because a committee has several."""
        if self.adaptation_ is None:
            return []
        return [KeptAdaptation(list(self.adapted_classes_), self.adapted_sums_, self.adaptation_)]

    def _without_adaptation(self) -> Self:
        if self.adaptation_ is None:
            return self
        new = self._copy_for_teaching()
        new.adapted_classes_, new.adapted_sums_, new.adaptation_ = [], self.adapted_sums_[:0], None
        new._use_validation()
        return new

    def _set_adapted_constant(self, constant: float | None) -> None:
        if constant is not None and self.adaptation_ is not None:
            self.adaptation_ = {**self.adaptation_, "calibration": constant}
            self._use_validation()

    def _with_adaptation(self, kept: Sequence[KeptAdaptation]) -> Self:
        (one,) = kept
        new = self._copy_for_teaching()
        new.adapted_classes_, new.adapted_sums_, new.adaptation_ = list(one.classes), one.sums, one.record
        new._use_validation()
        return new

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array]:
        """Of a class with several signatures the direction that moves most counts."""
        question = self._question(scaled, table)
        now, described = self._directions(question), self._described_directions(question)
        then = self._evidence(question, more=1).add_to(described)
        return lambda X: best_row_scores(teaching.direction_changes(self._row_directions(X), now, then), question.rows)

    def _copy_for_teaching(self) -> Self:
        new = copy.copy(self)
        # Set once: every lesson starts from the untaught constants, not from those of the lesson before.
        if self.untaught_ is None:
            new.untaught_ = {
                "calibration": float(self.calibration_),
                "temperatures": self.temperatures_,
                "crowding": self.crowding_,
                "shrinkage": self.shrinkage_,
                "refined": True,
            }
        return new

    def _set_shrinkage(self, shrinkage: float) -> None:
        """Use another shrinkage: in the basis of the scatter it only weighs coordinates."""
        if shrinkage == self.shrinkage_:
            return
        ratio = self._spectrum().ratio(self.shrinkage_, shrinkage).astype(np.float32)
        unit = self._blocks().to_unit_length
        if self.whitening_.shape[1] == 1 < len(ratio):
            self.whitening_ = self.whitening_ * ratio[:, None]
        elif len(self._blocks()) == 1:
            self.whitening_ = self.whitening_ * ratio
        else:
            self.whitening_ = self.whitening_.copy()
            for at in self._blocks().columns:
                self.whitening_[at, : at.stop - at.start] *= ratio[at]
        self.regression_, self.class_means_ = self.regression_ * ratio, self.class_means_ * ratio
        self.kept_rows_ = fitting.to_half_precision(unit(self.kept_rows_.astype(np.float32) * ratio))
        self.examples_ = unit(self.examples_ * ratio)
        self.shrinkage_ = shrinkage
        self.__dict__.pop("_refined", None)

    def _use_validation(self) -> None:
        before = self.untaught_
        assert before is not None  # `_copy_for_teaching` has set it
        self.__dict__.pop("_refined", None)
        entry, share = self._validation_entry()
        entry = entry or before
        shrinkage, self.crowding_ = (
            float(before[name]) + share * (float(entry[name]) - float(before[name]))
            for name in ("shrinkage", "crowding")
        )
        self._set_shrinkage(shrinkage)
        self.calibration_, self.temperatures_ = teaching.interpolate_calibration(before, entry, share)

    def _validation_entry(self) -> tuple[dict[str, Any] | None, float]:
        """What validation classes say about a model taught like this, and the share of it that applies."""
        if self.adaptation_ is not None:
            return self.adaptation_, float(self.adaptation_.get("share", 1.0))
        seen = set(self.seen_classes_.tolist())
        counts = {label: count for label, count in self._count_examples().items() if label not in seen}
        if not counts:
            return None, 1.0
        unseen = [label for label in self.candidates_.tolist() if label not in seen]
        entry = teaching.nearest_example_entry(self.practice_, float(np.median(list(counts.values()))))
        return entry, len(counts) / len(unseen)

    # What `zskl.selection` calls

    def _few_shot_trial(
        self, scaled: Array, question: Question, own: NumPyArray, seen: NumPyArray
    ) -> FewShotTrial | None:
        if is_sparse_rows(scaled):  # trying things needs every x̂ as it is
            return None
        codes = fitting.signature_codes(self.seen_classes_, question)
        trained, offset = codes >= 0, self._row_offset(np.empty(0, np.float32))
        return FewShotTrial(
            x=to_numpy(self._row_directions(scaled)).astype(np.float32),
            own=own,
            seen=seen,
            described=to_numpy(self._described_directions(question)).astype(np.float32),
            certainty=self._description_certainty(question),
            means=np.where(trained[:, None], self.class_means_[codes], np.float32(0)),
            counts=np.where(trained, self.class_rows_[codes], 0.0),
            weight=float(self.description_weight_),
            rows=question.rows,
            kept=self.kept_rows_[:: max(1, len(self.kept_rows_) // TRIAL_KEPT_ROWS)].astype(np.float32),
            spectrum=self._spectrum(),
            shrinkage=self.shrinkage_,
            crowding=float(self.crowding),
            share=float(self.crowding_share),
            left_out=self._left_out_classes(),
            offset=None if offset is None else to_numpy(offset),
        )

    def _store_few_shot(self, found: dict[str, Any]) -> None:
        self.practice_ = found
        if self.untaught_ is not None:
            self.untaught_ = {**self.untaught_, "refined": True}

    def _accept_calibration(self) -> None:
        if self.untaught_ is None:
            return
        found = {"calibration": float(self.calibration_), "temperatures": self.temperatures_}
        self.untaught_ = {**self.untaught_, **found}
        if self.adaptation_ is not None and self.adaptation_["expected_gain"] is None:  # nobody has tried another
            self.adaptation_ = {**self.adaptation_, **found}
        self._use_validation()

    def _applies(self, d: int, p: int) -> bool:
        return self.prior in (AUTO, "zero") or p == d

    def _effective_settings(self) -> dict[str, Any]:
        settings = super()._effective_settings()
        if self.prior == "cosine":  # "auto" may be anything
            settings |= {"kernel": None, "noise": None, "shrinkage": None}
        if self.kernel != "gaussian" or self.prior == "cosine":
            settings["bandwidth"] = None
        return settings

    def _fit_together(
        self, settings: Sequence[Mapping[str, Any]], X: Array, y: Any, signatures: Any, visit: Visit
    ) -> None:
        # Quicker than clones, and nobody else has `self`.
        models = [copy.copy(self) for _ in settings]
        for model, setting in zip(models, settings, strict=True):
            model.__dict__.update(setting)
            model._check_parameters()
        first = models[0]
        training = first._prepare(X, y, signatures, StreamedRows, values=False)
        first._sums = first._sum_training(training, any(model.crowding > 0 for model in models))
        first._reset_teaching()
        first._fit_cache, first._search_scores = first._make_fit_cache(), SearchScores()
        own = {*first.get_params(deep=False), "prior_", "description_weight_"}
        shared = {name: value for name, value in vars(first).items() if name not in own}
        for model in models:
            model.__dict__.update(shared)
            model._weigh_tables()
            model._settle_prior(first._fit_cache)
        order = sorted(range(len(models)), key=lambda k: models[k]._search_order())
        # Models that differ in crowding alone are scored together.
        for _, places in groupby(order, key=lambda k: models[k]._search_order()[:-1]):
            alike = list(places)
            # A copy, not one of the models: a circle of references would outlive the fold.
            one = copy.copy(models[alike[0]])
            together = CrowdingScores(one, [float(models[place].crowding) for place in alike])
            for k, place in enumerate(alike):
                models[place]._member = together, k
                visit(place, models[place])

    def _redescribed(self, table: Any) -> Self:
        """This model of a search with other signatures. Sums and decomposition stay; only the kernel changes."""
        new = copy.copy(self)
        for name in LATER:
            new.__dict__.pop(name, None)
        new._describe(table)
        new._fit_cache = new._make_fit_cache().share_space(self._fit_cache)
        if "_search_scores" in vars(self):
            new._search_scores = SearchScores(self._search_scores._products)
        return new

    def _search_order(self) -> tuple[Any, ...]:
        """Settings that share the most work come after each other."""
        costly = self.prior_, float(self.shrinkage), self.kernel, float(self.bandwidth), float(self.noise)
        return (
            *costly,
            self._tables().weights,
            float(self.description_weight_),
            float(self.crowding_share),
            float(self.crowding),
        )
