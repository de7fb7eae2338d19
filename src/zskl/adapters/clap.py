"""CLAP: a linear probe on examples, held near descriptions."""

from typing import ClassVar

import numpy as np

from zskl.adapters._adapter import Adapter, Answer, Rows, Task, softmax_rows
from zskl.baselines._baseline import baseline
from zskl.estimators._blocks import scale_to_unit_length

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
