"""Adapters that learn from labelled examples: Tip-Adapter, GDA, CLAP, ProKeR, and logistic regression beside them."""

from typing import ClassVar

import numpy as np
from scipy.linalg import solve

from zskl._validation import check_flag
from zskl.adapters._adapter import Adapter, Answer, Rows, Task, softmax_rows
from zskl.baselines._baseline import baseline
from zskl.baselines._linear_models import cross_entropy, log_sum_exp, minimise_ridge, rotate_rows
from zskl.estimators._blocks import scale_to_unit_length


@baseline
class TipAdapter(Adapter):
    """Tip-Adapter: each example adds to the score of its class, the more the nearer it is.

    Nothing is trained::

        score(x, c) = scale · x·t_c + α Σ_{examples i of c} exp(−β (1 − x·x_i))

    x and t_c are unit vectors of one space, t_c that of the description.

    Parameters
    ----------
    alpha : float, default=1.0
        What examples count beside descriptions: α ≥ 0.
    beta : float, default=5.5
        How quickly an example counts less with its distance: β > 0.

    References
    ----------
    .. [1] R. Zhang, W. Zhang, R. Fang, P. Gao, K. Li, J. Dai, Y. Qiao and H. Li, "Tip-Adapter: training-free adaption
       of CLIP for few-shot classification", ECCV 2022.
    """

    kind: ClassVar[str] = "tip-adapter"
    SUMMARY: ClassVar[str] = "A cache of examples beside descriptions"
    TRIED: ClassVar = {"alpha": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0), "beta": (1.0, 3.0, 5.5, 10.0, 20.0)}
    FROM_ZERO: ClassVar = ("alpha",)

    alpha: float = 1.0
    beta: float = 5.5

    def _answer(self, task: Task) -> Answer:
        def answer(x: Rows) -> Rows:
            near = np.exp(np.float32(self.beta) * (x @ task.x.T - 1))
            return np.asarray(task.text_scores(x) + np.float32(self.alpha) * (near @ task.targets))

        return answer


@baseline
class GDA(Adapter):
    """GDA: a Gaussian for each class, all of one covariance, beside the scores of descriptions.

    In closed form::

        score(x, c) = scale · x·t_c + α (x·P μ_c − ½ μ_c·P μ_c),   P = d (AᵀA + tr(AᵀA)/(m − 1) I)⁻¹

    μ_c is the mean of the examples of c, A (m, d) holds the examples minus the means of their classes. With one example
    of each class A is zero; then P is a multiple of the identity, from the spread of all examples. A class without
    examples gets the mean of the Gaussian terms of the others.

    Parameters
    ----------
    alpha : float, default=0.1
        What the Gaussians count beside descriptions: α ≥ 0. The paper chooses it on validation rows of the classes
        themselves. 0.1 makes both terms about as large for CLIP.

    References
    ----------
    .. [1] Z. Wang, J. Liang, L. Sheng, R. He, Z. Wang and T. Tan, "A hard-to-beat baseline for training-free CLIP-based
       adaptation", ICLR 2024.
    """

    kind: ClassVar[str] = "gda"
    SUMMARY: ClassVar[str] = "Gaussians of examples beside descriptions"
    TRIED: ClassVar = {"alpha": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)}
    FROM_ZERO: ClassVar = ("alpha",)

    alpha: float = 0.1

    def _answer(self, task: Task) -> Answer:
        taught = task.counts > 0
        if not taught.any():
            return task.text_scores
        means = task.means[taught]
        weights = np.zeros_like(task.means)
        weights[taught] = weigh_means(task.x - task.means[task.own], task.x, means)
        bias = -0.5 * (weights * task.means).sum(axis=1)

        def answer(x: Rows) -> Rows:
            found = x @ weights.T + bias
            found[:, ~taught] = found[:, taught].mean(axis=1, keepdims=True)
            return np.asarray(task.text_scores(x) + np.float32(self.alpha) * found)

        return answer


def weigh_means(centred: Rows, x: Rows, means: Rows) -> Rows:
    """P μ (c, d), by the smaller of the two systems."""
    m, d = x.shape
    A = centred.astype(np.float64)
    total = float((A * A).sum())
    # Rounding leaves crumbs where every example is the mean of its class.
    if total <= 1e-9 * m:
        spread = float(((x - x.mean(axis=0)) ** 2).sum()) / max(m - 1, 1)
        return np.asarray(d / max(spread, 1e-6) * means, np.float32)
    ridge, M = total / max(m - 1, 1), means.astype(np.float64)
    if m < d:
        inner = solve(A @ A.T + ridge * np.eye(m), A @ M.T, assume_a="pos")
        found = (M - inner.T @ A) / ridge
    else:
        found = solve(A.T @ A + ridge * np.eye(d), M.T, assume_a="pos").T
    return np.asarray(d * found, np.float32)


MOMENTUM = 0.9


@baseline
class CLAP(Adapter):
    """CLAP: class-adaptive linear probe, pulled towards descriptions as far as these fit the examples.

    Gradient descent on all examples, from w_c = t_c::

        min (1/m) Σ_i CE(softmax(scale · x_i·w/‖w‖), l_i) + (1/C) Σ_c λ_c ‖w_c − t_c‖²
        λ_c = mean of p(c | x_i) over the examples i of c, by the descriptions alone;   score = scale · x·w_c/‖w_c‖

    The paper chooses nothing on validation rows, nor is anything chosen here.

    Parameters
    ----------
    learning_rate : float, default=0.1
        Length of the first step; it falls along half a cosine, with momentum 0.9.
    steps : int, default=300
        How many.

    Notes
    -----
    Differs from the paper: each step takes all examples, without augmentations of pictures, so nothing is drawn. A
    class without examples keeps λ_c = 1.

    References
    ----------
    .. [1] J. Silva-Rodríguez, S. Hajimiri, I. Ben Ayed and J. Dolz, "A closer look at the few-shot adaptation of large
       vision-language models", CVPR 2024.
    """

    kind: ClassVar[str] = "clap"
    SUMMARY: ClassVar[str] = "A linear probe held near descriptions"
    TRIED: ClassVar = {"scale": (25.0, 50.0, 100.0)}

    learning_rate: float = 0.1
    steps: int = 300

    def _answer(self, task: Task) -> Answer:
        if not len(task.x):
            return task.text_scores
        start = np.where(task.described[:, None], task.texts, scale_to_unit_length(task.means))
        change = scale_to_unit_length(self._train(task, start)) - start
        scale = np.float32(task.scale)
        # With several descriptions of a class the best one stays the best one.
        return lambda x: task.text_scores(x) + scale * (x @ change.T)

    def _train(self, task: Task, start: Rows) -> Rows:
        own = np.arange(len(task.x)), task.own
        fit = np.bincount(task.own, weights=task.text_probabilities(task.x)[own], minlength=task.classes)
        hold = np.where(task.counts > 0, fit / np.maximum(task.counts, 1), 1.0)[:, None]
        pull = (2 / task.classes * hold).astype(np.float32)
        w, velocity = start.copy(), np.zeros_like(start)
        for step in range(self.steps):
            length = np.linalg.norm(w, axis=1, keepdims=True)
            u = w / length
            q = softmax_rows(task.scale * (task.x @ u.T)) - task.targets
            towards = np.float32(task.scale / len(task.x)) * (q.T @ task.x)
            slope = (towards - (towards * u).sum(axis=1, keepdims=True) * u) / length + pull * (w - start)
            velocity = np.float32(MOMENTUM) * velocity + slope
            rate = 0.5 * self.learning_rate * (1 + np.cos(np.pi * step / self.steps))
            w = w - np.float32(rate) * velocity
        return w


@baseline
class ProKeR(Adapter):
    """ProKeR: proximal kernel ridge regression, which examples pull away from what descriptions say.

    In closed form::

        score(x) = p(x) + k(x, S) (K + λI)⁻¹ (L − p(S)),   k(x, z) = exp(−β ‖x − z‖²),   p = softmax(scale · x·t)

    S are the examples, K = k(S, S), and L (m, c) has a 1 in the column of the class of each.

    Parameters
    ----------
    beta : float, default=1.0
        Width of the kernel: β > 0.
    lam : float, default=0.1
        Ridge λ > 0: how strongly the scores are held near those of descriptions.

    Notes
    -----
    p are probabilities, so that they and the labels have one scale. The paper chooses β and λ on validation rows of the
    classes themselves; the defaults here are ours.

    References
    ----------
    .. [1] Y. Bendou, A. Ouasfi, V. Gripon and A. Boukhayma, "ProKeR: a kernel perspective on few-shot adaptation of
       large vision-language models", CVPR 2025.
    """

    kind: ClassVar[str] = "proker"
    SUMMARY: ClassVar[str] = "Kernel ridge regression of examples towards descriptions"
    TRIED: ClassVar = {"beta": (0.3, 1.0, 3.0, 10.0), "lam": (0.03, 0.1, 0.3, 1.0, 3.0), "scale": (25.0, 50.0, 100.0)}

    beta: float = 1.0
    lam: float = 0.1

    def _answer(self, task: Task) -> Answer:
        if not len(task.x):
            return task.text_scores
        rest = (task.targets - task.text_probabilities(task.x)).astype(np.float64)
        K = self._kernel(task.x, task.x).astype(np.float64)
        weights = solve(K + self.lam * np.eye(len(K)), rest, assume_a="pos").astype(np.float32)
        return lambda x: task.text_probabilities(x) + self._kernel(x, task.x) @ weights

    def _kernel(self, a: Rows, b: Rows) -> Rows:
        found: Rows = np.exp(np.float32(2 * self.beta) * (a @ b.T - 1))
        return found


PRECISION = 1e-4  # of the gradient


@baseline
class Logistic(Adapter):
    """Logistic regression on the examples, where each description is one more row of its class.

    With a ridge ‖W‖²/2. Without any example the scores are those of descriptions::

        score(x, c) = log p(c | x)

    Parameters
    ----------
    C : float, default=10.0
        Inverse of the ridge's weight: C > 0.
    descriptions : bool, default=True
        Whether descriptions are rows. Without them a class that has no examples comes last.
    """

    kind: ClassVar[str] = "logistic"
    SUMMARY: ClassVar[str] = "Logistic regression on examples and descriptions"
    TRIED: ClassVar = {"C": (0.1, 1.0, 10.0, 100.0), "descriptions": (True, False)}

    C: float = 10.0
    descriptions: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("descriptions", self.descriptions)

    def _answer(self, task: Task) -> Answer:
        if not len(task.x):
            return task.text_scores
        rows, targets = task.x, task.targets
        if self.descriptions:
            rows = np.concatenate([rows, task.texts[task.described]])
            targets = np.concatenate([targets, np.eye(task.classes, dtype=np.float32)[task.described]])
        found = rotate_rows(rows)
        ridge, curvature = 1 / (self.C * found.mass), 1 / task.classes
        W, b = minimise_ridge(found, cross_entropy(targets), task.classes, ridge, curvature, tolerance=PRECISION)

        def answer(x: Rows) -> Rows:
            logits = x @ W + b
            return np.asarray(logits - log_sum_exp(logits)[:, None], np.float32)

        return answer
