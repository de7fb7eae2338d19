"""What a fitted estimator asks for: the rows whose labels would help it most."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from zskl.arrays import Array
from zskl.estimators import inputs
from zskl.estimators.next_rows import pick
from zskl.estimators.ranking import Labels
from zskl.scaling import Scaling
from zskl.signatures.table import SignatureTable

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier


class Labelling:
    """What a fitted estimator asks for. Methods that can be taught say in `_mover` what a label would change."""

    def _mover(self, scaled: Array, table: SignatureTable) -> Callable[[Array], Array] | None:
        """Scaled rows (n, d) → how far each candidate of the table would move if a row were of it (n, c).

        `scaled` says where rows lie. None for methods that do not learn from examples.
        """
        return None

    def _row_directions(self, scaled: Array) -> Array:
        """Scaled rows as unit vectors whose products say how near rows are."""
        return Scaling(("l2",)).apply(scaled)

    def label_next(
        self,
        X: inputs.Rows,
        n: int = 10,
        strategy: str = "margin",
        signatures: Any = None,
        candidates: Labels | None = None,
        *,
        diversity: float = 1.0,
        return_scores: bool = False,
    ) -> Any:
        """
        Name the unlabelled rows whose labels would help the model most.

        Label these rows, hand them to `add_examples`, and ask again. "margin" takes the rows that the model is least
        sure of: the gap between its best two scores is small. "change" takes those that it would learn most from: how
        far the label would move the direction of a class, for each class it may be, times the model's own probability
        of that class, summed. So "change" is only for models that learn from examples: `ClassMeansClassifier`, and
        `Committee` with one. It needs a calibrated model; otherwise an `UncalibratedWarning` says so.

        The n rows are not n copies of one: they are taken one by one, and after each, every other row loses worth as
        far as it is near. (1 − cosine)^diversity remains, or all where the cosine of the two rows, as the model scales
        them, is below 0. Of many rows the 20·n most worthwhile are compared, or 1000 if that is more.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows whose classes nobody knows, as an array, a tensor or a data frame.
        n : int, default=10
            How many rows to name.
        strategy : {"margin", "change"}, default="margin"
            What makes a row worth a label: a small gap between the best two scores, or an expected change of the model.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes that the rows may be of; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes the rows may be of; None takes all of them.
        diversity : float, default=1.0
            How much the nearness of rows counts; 0 takes the most worthwhile rows, however alike.
        return_scores : bool, default=False
            Whether to return what each row is worth, too.

        Returns
        -------
        ndarray of shape (n,), or a pair of such arrays
            Numbers of rows in X, in the order in which to ask. With `return_scores` also what each is worth by itself:
            exp(−gap / mean gap of all rows) for "margin", the expected change for "change".

        Examples
        --------
        >>> from zskl import ClassMeansClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ClassMeansClassifier().fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.label_next([[0, 1], [1, 1], [0.4, 1]], n=1, candidates=["ant", "bee"]).tolist()
        [2]
        """
        model = cast("ZeroShotClassifier", self)  # the only class that inherits this one
        found = pick(model, X, n, strategy, signatures, candidates, diversity)
        return (found.rows, found.worth) if return_scores else found.rows
