"""Folds that hold whole classes out, the search over them, the calibration constant. It never sees a test row."""

from zskl.selection.calibration import calibrate
from zskl.selection.class_folds import Fold, draws, folds
from zskl.selection.search_results import AgainstDefault, Choice, Edge, Search
from zskl.selection.tuning import Tuned, refit, search, tune

__all__ = [
    "AgainstDefault",
    "Choice",
    "Edge",
    "Fold",
    "Search",
    "Tuned",
    "calibrate",
    "draws",
    "folds",
    "refit",
    "search",
    "tune",
]
