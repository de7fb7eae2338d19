"""ProKeR: kernel ridge regression of examples, held near descriptions."""

from typing import ClassVar

import numpy as np
from scipy.linalg import solve

from zskl.adapters._adapter import Adapter, Answer, Rows, Task
from zskl.baselines._baseline import baseline


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
