"""Batches and settings that the tests of a training step share."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import textbook
from zskl import kernels
from zskl.training.objective import BALANCES, LOSSES, Objective

SHAPES = {"C<p": (3, 5), "C=p": (4, 4), "C>p": (7, 4)}  # (C, p): either algebraic form, and the border
VARIANTS = [  # the softmax has no balance, whatever is set, and the polynomial kernel no incoherence
    (kernel, loss, balance, incoherence, shape)
    for kernel, loss, balance in itertools.product(textbook.KERNELS, LOSSES, BALANCES)
    for incoherence, shape in itertools.product((True, False), ("C<p", "C>p"))
    if (loss != "softmax" or balance == "sizes") and (kernels.get(kernel).radial or incoherence)
    if balance != "paper" or shape == "C<p"  # its weights differ from those of "sizes" in one number alone
]
REPULSION, TEMPERATURE, ALPHA = (0.5, 1.0, 3.0), (0.3, 0.5, 1.1), (0.2, 1.0, 2.0)  # of the members of a stack


@dataclass(frozen=True)
class Batch:
    """Rows, signatures, codes and class sizes in float64, and a stack of three projections."""

    X: Any
    Y: Any
    codes: Any
    sizes: Any
    W: Any

    @property
    def data(self):
        return self.X, self.Y, self.codes, self.sizes


def make_batch(shape, n=6, d=6, seed=0):
    C, p = SHAPES[shape]
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((C, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    codes = rng.integers(0, C, size=n)
    sizes = np.array([3.0, 5.0, 2.0, 7.0, 4.0, 6.0, 1.0])[:C]
    return Batch(X, Y, codes, sizes, 0.6 * rng.standard_normal((3, d, p)))


def settings_of(kernel, loss, balance, incoherence):
    """Three settings that differ in every number that a stack may differ in."""
    numbers = zip(textbook.KERNELS[kernel].settings, REPULSION, TEMPERATURE, ALPHA, strict=True)
    return [textbook.Setting(kernel, own, loss, balance, incoherence, *others) for own, *others in numbers]


def lone(setting):
    return Objective(
        kernels.build(setting.kernel, setting.parameters),
        setting.loss,
        setting.balance,
        setting.incoherence,
        setting.repulsion,
        setting.temperature,
        setting.incoherence_weight,
    )


def stacked(settings, column=lambda values: np.array(values, dtype=np.float64).reshape(-1, 1, 1)):
    first = lone(settings[0])
    return replace(
        first,
        kernel=kernels.stack([lone(setting).kernel for setting in settings], column),
        repulsion=column([setting.repulsion for setting in settings]),
        temperature=column([setting.temperature for setting in settings]),
        incoherence_weight=column([setting.incoherence_weight for setting in settings]),
    )
