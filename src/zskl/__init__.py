"""Zero-shot kernel learning: recognise classes nobody has trained on, from a description of them."""

from zskl import baselines, datasets, export, kernels, methods, metrics, protocols, selection
from zskl.datasets import Dataset
from zskl.estimator import UncalibratedWarning, ZeroShotClassifier
from zskl.methods import load
from zskl.model import ZeroShotKernelClassifier
from zskl.protocols import Result
from zskl.solver import DivergenceError
from zskl.version import __version__

__all__ = [
    "Dataset",
    "DivergenceError",
    "Result",
    "UncalibratedWarning",
    "ZeroShotClassifier",
    "ZeroShotKernelClassifier",
    "__version__",
    "baselines",
    "datasets",
    "export",
    "kernels",
    "load",
    "methods",
    "metrics",
    "protocols",
    "selection",
]
