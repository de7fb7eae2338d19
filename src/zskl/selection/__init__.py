"""Class-disjoint folds, the search over them, the calibration constant. Is never handed a test row."""

from zskl.selection.class_folds import Fold, folds
from zskl.selection.grid_search import Choice, Search, search
from zskl.selection.refit import Tuned, calibrate, refit, tune

__all__ = [
    "Choice",
    "Fold",
    "Search",
    "Tuned",
    "calibrate",
    "folds",
    "refit",
    "search",
    "tune",
]
