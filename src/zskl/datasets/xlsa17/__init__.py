"""The five benchmarks in the layout of the public xlsa17 package."""

from zskl.datasets.xlsa17.benchmarks import BENCHMARKS, Splits, load, read_folder, read_splits

__all__ = ["BENCHMARKS", "Splits", "load", "read_folder", "read_splits"]
