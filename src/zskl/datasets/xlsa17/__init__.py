"""The five benchmarks in the layout of the public xlsa17 package."""

from zskl.datasets.xlsa17.benchmarks import BENCHMARKS, load, read_folder
from zskl.datasets.xlsa17.features import DEFAULT_FEATURES
from zskl.datasets.xlsa17.splits import Splits, read_splits

__all__ = ["BENCHMARKS", "DEFAULT_FEATURES", "Splits", "load", "read_folder", "read_splits"]
