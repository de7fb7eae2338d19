"""Class-disjoint folds, the search over them, the calibration constant. Is never handed a test row."""

from zskl.selection.folding import Fold, folds
from zskl.selection.searching import SCORINGS, Choice, Search, check_seen, search
from zskl.selection.tuning import Tuned, calibrate, refit, tune

__all__ = [
    "SCORINGS",
    "Choice",
    "Fold",
    "Search",
    "Tuned",
    "calibrate",
    "check_seen",
    "folds",
    "refit",
    "search",
    "tune",
]
