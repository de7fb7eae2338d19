"""Tip-Adapter: a cache of examples beside descriptions."""

from typing import ClassVar

import numpy as np

from zskl.adapters._adapter import Adapter, Answer, Rows, Task
from zskl.baselines._baseline import baseline


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
