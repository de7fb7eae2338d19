"""Do validation scores rank settings as the test classes would? Every setting of a method's default grid, both ways.

Run: python benchmarks/validation.py [--dataset CUB] [--method gaussian-ort ...] [--device cuda] [--figure FILE.svg]
     [--json FILE]; needs the data. Test rows are looked at here and nowhere else: to report, not to choose.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import pearsonr, spearmanr

from zskl import DivergenceError, datasets, methods, protocols, selection
from zskl.engines import Engine
from zskl.plots import ValidationTestDisplay
from zskl.plots._base import draw_panels
from zskl.selection.grid_search import group_settings

PANELS = (("zsl", "zero-shot accuracy"), ("gzsl", "calibrated H"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="CUB")
    parser.add_argument("--root")
    parser.add_argument("--features")
    parser.add_argument("--device")
    parser.add_argument("--method", nargs="+", default=["gaussian-ort", "gaussian", "gaussian-softmax"])
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    data = datasets.load(chosen.dataset, chosen.root, chosen.features)
    table = Table(title=f"{chosen.dataset} {data.features}: validation against test over the default grid")
    for name in ("method", "figure", "settings", "Pearson", "Spearman", "test at the choice", "best on test"):
        table.add_column(name)
    points: dict[str, dict[str, list[list[float]]]] = {}
    for method in chosen.method:
        found, tested = both(data, method, chosen.device)
        points[method] = {}
        for scoring, title in PANELS:
            validation = found.scores(scoring).mean(axis=1)
            whole = np.isfinite(validation) & np.isfinite(tested[scoring])
            x, y = validation[whole], tested[scoring][whole]
            points[method][scoring] = [x.tolist(), y.tolist()]
            table.add_row(
                *(method, title, str(whole.sum()), f"{pearsonr(x, y)[0]:.2f}", f"{spearmanr(x, y)[0]:.2f}"),
                *(f"{100 * y[np.argmax(x)]:.1f}", f"{100 * y.max():.1f}"),
            )
    Console(width=110).print(table)
    if chosen.json:
        chosen.json.write_text(json.dumps(points))
    if chosen.figure:
        chosen.figure.write_text(figure(points, f"{chosen.dataset}, {data.features}"), encoding="utf-8")


def both(
    data: Any, method: str, device: str | None, grid: Any = None
) -> tuple[selection.Search, dict[str, np.ndarray]]:
    """The search, and for each of its settings the test figures of a model fitted on all training rows."""
    estimator = methods.build(method, {"random_state": 0, "device": device})
    rows = data.parts["trainval"]
    X, y = data.X[rows], data.y[rows]
    engine = None if device else Engine()
    grid = methods.find(method).grid if grid is None else grid
    found = selection.search(estimator, X, y, data.signatures, grid, selection.folds(data), engine)
    tested = {scoring: np.full(len(found.settings), -np.inf) for scoring, _ in PANELS}
    for places in group_settings(found.settings, estimator._free_settings(X)):

        def visit(index: int, model: Any, places: Sequence[int] = places) -> None:
            place = places[index]
            if isinstance(model, DivergenceError):
                tested["zsl"][place] = tested["gzsl"][place] = -np.inf
                return
            tested["zsl"][place] = protocols.zsl(model, data).accuracy
            tested["gzsl"][place] = protocols.gzsl(model, data, found.constants[place]).harmonic

        estimator._fit_together([found.settings[place] for place in places], X, y, data.signatures, visit)
    return found, tested


def figure(points: dict[str, dict[str, list[list[float]]]], title: str) -> str:
    """Two panels of dots, validation across, test upwards, both in per cent."""
    parts = []
    for scoring, name in PANELS:
        validation, test = ([points[method][scoring][side] for method in points] for side in (0, 1))
        parts.append((name, ValidationTestDisplay(validation, test, names=list(points), figure=name)))
    return draw_panels(f"{title}: every setting of the default grids", parts).svg


if __name__ == "__main__":
    main()
