"""The settings of a kernel classifier: what is refused, and the kernel and objective they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zskl import kernels
from zskl.kernels import Kernel
from zskl.parameters import count, flag, one_of, positive
from zskl.training import solver, streaming
from zskl.training.initialisation import INITIALISATIONS
from zskl.training.objective import BALANCES, LOSSES, Objective

if TYPE_CHECKING:
    from zskl.estimators.kernel_classifier import ZeroShotKernelClassifier


def kernel(model: ZeroShotKernelClassifier) -> Kernel:
    """The Kernel object of a classifier, or the one that it names, with its parameters."""
    if isinstance(model.kernel, Kernel):
        return model.kernel
    return kernels.build(model.kernel, {"sigma": model.sigma, "degree": model.degree, "bias": model.bias})


def objective(model: ZeroShotKernelClassifier) -> Objective:
    """What a classifier minimises."""
    return Objective(
        kernel(model),
        loss=model.loss,
        balance=model.balance,
        incoherence=bool(model.incoherence),
        repulsion=float(model.repulsion),
        temperature=float(model.temperature),
        incoherence_weight=float(model.incoherence_weight),
    )


def check(model: ZeroShotKernelClassifier) -> None:
    """Refuse a setting out of range."""
    kernel(model)
    count("degree", model.degree)
    count("batch_size", model.batch_size)
    count("epochs", model.epochs)
    for name in ("sigma", "temperature", "learning_rate", "epsilon"):
        positive(name, getattr(model, name))
    for name in ("bias", "repulsion", "incoherence_weight", "decay", "smoothing"):
        positive(name, getattr(model, name), zero_allowed=True)
    if model.smoothing >= 1:
        raise ValueError(f"smoothing is {model.smoothing!r}: expected a number in [0, 1)")
    one_of("loss", model.loss, LOSSES)
    one_of("balance", model.balance, BALANCES)
    one_of("schedule", model.schedule, solver.SCHEDULES)
    one_of("second_moment", model.second_moment, solver.SECOND_MOMENTS)
    one_of("init", model.init, INITIALISATIONS)
    streaming.check(model.streaming)
    flag("incoherence", model.incoherence)
    flag("warm_start", model.warm_start)
