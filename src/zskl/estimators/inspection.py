"""What a fitted estimator shows of itself: explanations, samples among the attributes, similar classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from zskl.arrays import Array, NumPyArray, like
from zskl.estimators import inputs, score_parts
from zskl.estimators.candidates import Question, as_in, choose
from zskl.estimators.explainer import ByAttributes, Explainer
from zskl.estimators.explanation import Explanation, explain
from zskl.estimators.nearest_classes import nearest_classes
from zskl.estimators.projected_rows import ProjectedRows, projected
from zskl.estimators.ranking import Labels
from zskl.estimators.raw_attributes import by_score_parts
from zskl.estimators.score_parts import ScoreParts
from zskl.parameters import count, listed
from zskl.scaling import Scaling
from zskl.signatures.table import SignatureTable

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier


class Inspection:
    """What a fitted estimator shows of itself. Methods whose score splits into attributes say how in `_score_parts`."""

    SPARSE: ClassVar[bool] = False  # whether the method takes sparse rows and signatures
    classes_: NumPyArray
    signature_scaling_: Scaling

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = self.SPARSE
        return tags

    def _model(self) -> ZeroShotClassifier:
        return cast("ZeroShotClassifier", self)  # the only class that inherits this one

    def _score_parts(self) -> ScoreParts | None:
        """How the score is made of a projection and attributes; None where it is not."""
        return None

    def _check_explainable(self) -> None:
        """Refuse a method that cannot be explained."""
        score_parts.of(self._model())

    def _explainer(self, table: SignatureTable) -> Explainer:
        """What splits differences of scores between the classes of a table."""
        return ByAttributes(self._model(), table)

    def _raw_explainer(self, table: SignatureTable) -> Explainer:
        """The same along attributes as they were written."""
        return by_score_parts(self._model(), table)

    def _gallery_rows(self, X: Array) -> Array | None:
        """What a gallery keeps of scaled rows (n, d), for methods without a projection; None: the rows themselves."""
        return None

    def _gallery_turner(self, before: Any) -> Callable[[Array], Array] | None:
        """What the model `before` it was taught keeps of rows → what this one does; None if that is the same."""
        return None

    def _gallery_answerer(self, question: Question) -> Callable[[Array], Array]:
        """What it keeps → scores (n, c)."""
        raise NotImplementedError

    def explain(
        self,
        X: inputs.Rows,
        top: int = 5,
        signatures: Any = None,
        candidates: Labels | None = None,
        *,
        label: Any = None,
        against: Any = None,
        calibrated: bool = True,
        raw: bool = False,
    ) -> list[Explanation]:
        """
        Say which attributes speak for the class of each row and against another class, and how much.

        The contributions of all attributes add up to the difference of the two raw scores. Class means with a Gaussian
        kernel have contributions of seen classes instead, and name what training rows, examples, unlabelled rows and
        crowding add (`terms`). Methods whose scores do not split raise a ValueError.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.
        top : int, default=5
            How many attributes an explanation shows.
        signatures : data frame, mapping or array, default=None
            Descriptions of the candidate classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to rank; None takes all of them.
        label : class name, default=None
            The class to explain; None takes the answer of `predict`.
        against : class name, default=None
            The class to compare it with; None takes the best of the others.
        calibrated : bool, default=True
            Whether the answer is calibrated, as in `predict`.
        raw : bool, default=False
            Whether contributions are those of attributes as you wrote them, in place of scaled ones: an attribute in
            which the two classes agree then adds nothing, and what centring and unit lengths add is one of the `terms`.
            Class means with a Gaussian kernel have contributions of attributes, too.

        Returns
        -------
        list of Explanation
            One for each row. Print it, or read its `contributions` and `top`.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> explanation = model.explain([[1, 1]], label="bee", against="ant")[0]
        >>> (explanation.label, explanation.against), [name for name, _ in explanation.top]
        (('bee', 'ant'), ['attribute 1', 'attribute 0'])
        """
        return explain(self._model(), X, top, signatures, candidates, label, against, calibrated, raw)

    def attribute_space(self, X: Array) -> Array:
        """
        Project rows into the space of attributes: P = Wᵀx of scaled rows.

        Scaled signatures lie in the same space, so a class is near its samples. SAE compares directions: its rows, or
        their projections, have unit length.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.

        Returns
        -------
        array of shape (n_samples, n_attributes)
            The projections, in the library and precision and on the device of X.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.attribute_space([[1, 0], [0, 1], [1, 1]]).shape
        (3, 2)
        """
        model = self._model()
        body = score_parts.of(model, "has no attribute space")
        X = inputs.sliceable(model, X, "attribute_space")
        return like(projected(model, body, X)[0], inputs.taken(model, X, slice(0, 1)))

    def gallery(self, X: Array) -> ProjectedRows:
        """
        Keep the projections of rows, to score them against ever new descriptions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows as an array, a tensor or a data frame.

        Returns
        -------
        ProjectedRows
            Its `scores(signatures)` equals `compatibility(X, signatures)` without another pass over X.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.gallery([[1, 0], [0, 1]]).scores({"owl": [2, 2]}).shape
        (2, 1)
        """
        return ProjectedRows(self._model(), X)

    def nearest_classes(self, top: int = 5, signatures: Any = None, candidates: Labels | None = None) -> pd.DataFrame:
        """
        List the classes that are described most alike.

        Parameters
        ----------
        top : int, default=5
            How many classes to list for each one.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to compare; None takes all of them.

        Returns
        -------
        DataFrame
            Columns class, nearest and similarity, most similar first. Similarity is the cosine of the signatures as
            the model scales them; of classes with several signatures, that of the best pair.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.nearest_classes(top=1)["nearest"].tolist()
        ['emu', 'emu', 'bee']
        """
        top = count("top", top)
        check_is_fitted(self)
        table = choose(self._model(), signatures, candidates)
        labels = as_in(self.classes_, table.classes)
        if len(labels) < 2:
            raise ValueError(f"the only candidate is {listed(labels)}: expected two or more; name another class")
        order, similarity = nearest_classes(self.signature_scaling_, table, np.arange(len(labels)), top)
        return pd.DataFrame(
            {
                "class": np.repeat(labels, order.shape[1]),
                "nearest": labels[order.ravel()],
                "similarity": similarity.ravel(),
            }
        )
