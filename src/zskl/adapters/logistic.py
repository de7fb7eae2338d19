"""Logistic regression on examples and descriptions, beside the published methods."""

from typing import ClassVar

import numpy as np

from zskl._validation import check_flag
from zskl.adapters._adapter import Adapter, Answer, Rows, Task
from zskl.baselines._baseline import baseline
from zskl.baselines._linear_models import cross_entropy, log_sum_exp, minimise_ridge, rotate_rows

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
