"""Maps of a fitted kernel classifier for search by inner products; `ranking_map` has how they work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from zskl.arrays import Array
from zskl.estimators import ranking_map

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier


class SearchMaps:
    """Maps of samples and of classes whose inner products stand for scores: any dot-product index can search them."""

    def _model(self) -> ZeroShotKernelClassifier:
        return cast("ZeroShotKernelClassifier", self)  # the only class that inherits this one

    def feature_map(
        self,
        n_components: int = 256,
        *,
        X: Array | None = None,
        signatures: Any = None,
        candidates: Any = None,
        landmarks: int | None = None,
        random_state: int = 0,
    ) -> ranking_map.FeatureMap:
        """
        Map samples and classes so that inner products approximate scores.

        Landmarks are drawn from the candidate classes and, better, also from rows X. With at least as many components
        as candidates, all candidates are landmarks, and their scores are exact.

        Parameters
        ----------
        n_components : int, default=256
            At most so many dimensions.
        X : array-like of shape (n_samples, n_features), default=None
            Rows to draw landmarks from, such as those of `fit`.
        signatures : data frame, mapping or array, default=None
            Descriptions of the classes that you want to search; None takes those of `fit`.
        candidates : list of class names, default=None
            Which of these classes to search; None takes all of them.
        landmarks : int, default=None
            How many landmarks; None takes four for each component.
        random_state : int, default=0
            Seed of the draw.

        Returns
        -------
        FeatureMap
            Its `samples` and `classes` are the two maps, its `quality` says how well they do.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> maps = model.feature_map(n_components=8)
        >>> maps.samples([[1, 0]]).shape[1] == maps.classes().shape[1] <= 8
        True
        """
        return ranking_map.feature_map(self._model(), n_components, X, signatures, candidates, landmarks, random_state)

    def ranking_map(self, rows: bool = False) -> ranking_map.RankingMap:
        """
        Map samples and classes so that inner products order classes as the scores do, if not in their size.

        The order is exact with `incoherence=False`, else to first order.

        Parameters
        ----------
        rows : bool, default=False
            Whether inner products also order the rows of a class, as when you look for the rows that fit a
            description. That takes one more dimension.

        Returns
        -------
        RankingMap
            Maps into as many dimensions as there are attributes, plus one, or plus two with `rows`.

        Examples
        --------
        >>> from zskl import ZeroShotKernelClassifier
        >>> table = {"ant": [6, 0], "bee": [6, 2], "emu": [2, 2]}  # legs and wings
        >>> model = ZeroShotKernelClassifier(random_state=0).fit([[0, 1], [1, 1]], ["ant", "bee"], table)
        >>> model.ranking_map().samples([[1, 0]]).shape
        (1, 3)
        """
        return ranking_map.ranking_map(self._model(), rows)
