"""Figures in the style of scikit-learn's displays, drawn by matplotlib. A display holds the arrays that it draws:
`from_estimator` computes them, `from_records` reads them from what `zskl run` wrote. `plot(ax=None)` draws into your
axes or a new figure; then `ax_` and `figure_` are yours to change and save."""

from zskl.plots.comparison import ComparisonDisplay
from zskl.plots.projection import ConvergenceDisplay, GramDisplay
from zskl.plots.reliability import ReliabilityDisplay
from zskl.plots.seen_unseen_curve import SeenUnseenCurveDisplay
from zskl.plots.unseen_classes import ClassAccuracyDisplay, ConfusionDisplay
from zskl.plots.validation import SensitivityDisplay, ValidationGridDisplay, ValidationTestDisplay

__all__ = [
    "ClassAccuracyDisplay",
    "ComparisonDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "GramDisplay",
    "ReliabilityDisplay",
    "SeenUnseenCurveDisplay",
    "SensitivityDisplay",
    "ValidationGridDisplay",
    "ValidationTestDisplay",
]
