"""What adapters to unlabelled rows share: keeping the rows, their nearest neighbours, Gaussian mixtures over them."""

import copy
from collections.abc import Callable
from typing import Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from zskl._arrays import Array
from zskl._validation import check_flag
from zskl.adapters._adapter import Adapter, Answer, Codes, Rows, Task, softmax_rows
from zskl.estimators import _class_means_adapt as teaching
from zskl.estimators import _inputs
from zskl.estimators.base import Labels

ROUNDS, INNER = 10, 5  # of the mixtures, and of their neighbours in each
SOFTNESS = 50.0  # what the logarithms of densities are divided by, in the authors' experiments
TINY = 1e-12
SAME_ROW = 1 - 1e-5  # the cosine of a row and itself, in single precision


class TransductiveAdapter(Adapter):
    """An adapter that learns from unlabelled rows: `adapt` keeps them, and each question is solved on them."""

    def adapt(
        self, X: Array, candidates: Labels | str | None = None, *, force: bool = False, balance: float | None = None
    ) -> Self:
        """Give a new model that solves each question together with these unlabelled rows. This one stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows whose classes nobody knows. They replace those of an adaptation before.
        candidates : {"unseen", "all"}, list of class names or None, default=None
            What the rows may be of: noted in `adaptation_`. As published, the rows are taken to be of the classes that
            a question asks for.
        force : bool, default=False
            Not used: the method never refuses.
        balance : None
            Not used by this method: expected to be None.

        Returns
        -------
        Adapter
            The new model.

        Examples
        --------
        >>> from zskl import adapters, datasets
        >>> data = datasets.make_synthetic(n_seen=30, noise=0.2)
        >>> model = adapters.ZLaP().fit(*data.samples("trainval"), data.signatures)
        >>> model.adapt(data.samples("test_unseen")[0]).adaptation_["candidates"]
        'unseen'
        """
        check_is_fitted(self)
        check_flag("force", force)
        if balance is not None:
            raise ValueError(f"balance is {balance!r}: {self.kind} has no such setting; leave it out")
        X = _inputs.check_features(self, X, dense_for=None)
        mode = teaching.choose_adaptation_table(self, candidates)[1]
        new = copy.copy(self)
        new.unlabelled_, new.adaptation_ = self._read_rows(X), {"candidates": mode, "rows": int(X.shape[0])}
        return new


class NeighbourGraph:
    """Unlabelled rows, or examples where there are none, and the nearest rows of each among these and the examples."""

    def __init__(self, task: Task, k: int) -> None:
        self.task, self.k = task, k
        self.rows = task.unlabelled if len(task.unlabelled) else task.x
        self._everyone = np.concatenate([self.rows, task.x])
        self.first = self._texts(self.rows)  # (n, c) log ŷ
        n = len(self.rows)
        places, cosines = nearest_rows(self.rows, self._everyone, k, skip_same=True) if n else (np.empty((0, 0)),) * 2
        owners = np.repeat(np.arange(n), places.shape[1])
        edges = np.maximum(cosines, 0).ravel() / (2 * k), (owners, places.ravel().astype(np.int64))
        one_way = csr_array(edges, shape=(n, len(self._everyone)), dtype=np.float32)
        self._among, self._given = one_way[:, :n] + one_way[:, :n].T, 2 * one_way[:, n:]

    def _texts(self, x: Rows) -> Rows:
        found: Rows = np.log(self.task.text_probabilities(x) + np.float32(TINY))
        return found

    def assign(self, logits: Rows, z: Rows) -> Rows:
        """z (n, c) after some rounds, in which neighbours pull each other."""
        pull = self._given @ self.task.targets
        for _ in range(INNER):
            z = softmax_rows(logits + self._among @ z + pull)
        return z

    def answer(self, z: Rows, formula: Callable[[Rows, Rows], Rows]) -> Answer:
        """The logarithm of z for the rows; for others a formula of x and log ŷ, and what their neighbours add."""
        every = np.concatenate([z, self.task.targets])

        def others(x: Rows) -> Rows:
            places, cosines = nearest_rows(x, self._everyone, self.k, skip_same=True)
            pull = np.einsum("nk,nkc->nc", np.maximum(cosines, 0) / self.k, every[places])
            found = formula(x, self._texts(x)) + pull
            # As logarithms of probabilities, so that both kinds of rows have one scale.
            return np.asarray(np.log(softmax_rows(found) + TINY), np.float32)

        return answer_known_rows(self.rows, np.log(z + np.float32(TINY)), others)


def log_density(x: Rows, means: Rows, variance: Rows) -> Rows:
    """(n, c) of Gaussians with means (c, d) and variances (c or 1, d), without determinants, softened."""
    inverse = 1 / variance
    found = x @ (means * inverse).T - 0.5 * ((x * x) @ inverse.T + (means * means * inverse).sum(axis=1))
    return np.asarray(found / SOFTNESS, np.float32)


def spread(x: Rows, z: Rows, means: Rows) -> Rows:
    """(c, d) Σ_i z_ic (x_i − μ_c)²."""
    found = z.T @ (x * x) - 2 * (z.T @ x) * means + z.sum(axis=0)[:, None] * means * means
    return np.asarray(np.maximum(found, 0), np.float32)


def nearest_rows(x: Rows, among: Rows, k: int, skip_same: bool) -> tuple[Codes, Rows]:
    """The k most similar rows (n, k) of `among` and their cosines, best first; without a row itself on demand."""
    k = min(k, len(among) - int(skip_same))
    if k < 1:
        return np.empty((len(x), 0), np.int64), np.empty((len(x), 0), np.float32)
    cosines = x @ among.T
    if skip_same:
        best = cosines.argmax(axis=1)
        same = np.flatnonzero(cosines[np.arange(len(x)), best] > SAME_ROW)
        cosines[same, best[same]] = -np.inf
    places = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    found = np.take_along_axis(cosines, places, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(found, order, axis=1)


def answer_known_rows(batch: Rows, scores: Rows, others: Answer) -> Answer:
    """Rows of the batch get the scores (n, c) that were worked out for it, others the scores of a formula."""

    def answer(x: Rows) -> Rows:
        found = others(x)
        places, cosines = nearest_rows(x, batch, 1, skip_same=False)
        same = np.flatnonzero(cosines[:, 0] > SAME_ROW)
        found[same] = scores[places[same, 0]]
        return found

    return answer
