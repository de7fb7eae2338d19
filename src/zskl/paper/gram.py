"""The first entries of WᵀW, columns of W of unit length, without and with incoherence (appendix of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.experiments.record import Record
from zskl.paper.methods import PAIRS
from zskl.paper.results import Output, Results
from zskl.plots import GramDisplay, drawing
from zskl.plots.gram import AXIS


def outputs(results: Results) -> list[Output]:
    """For each dataset and kernel both variants, from the lowest seed that holds them."""
    made = []
    for problem in results.measured:
        for pair in PAIRS:
            first = {method: _first(results.runs.get((problem, method), ())) for method in pair}
            found = {method: one for method, one in first.items() if one is not None}
            if not found:
                continue
            title = f"WᵀW of the {pair[0].capitalize()} kernel on {problem.name}"
            displays = {method: GramDisplay(cells) for method, (_, cells) in found.items()}
            drawn = [
                (f"{method}: {display.mean_off_diagonal:.2f} on average off the diagonal", display)
                for method, display in displays.items()
            ]
            rows, seeds = [], sorted({seed for seed, _ in found.values()})
            for method, (_, cells) in found.items():
                for place, row in enumerate(cells, start=1):
                    figures = {str(k): Figure(value, digits=2) for k, value in enumerate(row, start=1)}
                    rows.append(Row({"method": method, AXIS: str(place)}, 1, figures))
            columns = tuple(str(k) for k in range(1, 1 + max(len(cells) for _, cells in found.values())))
            note = (
                f"Cosines between the first columns of W; seed {' and '.join(map(str, seeds))}. Blue is positive, "
                "orange negative, deeper is larger."
            )
            table = Comparison(("method", AXIS), columns, tuple(rows), (note,))
            name = f"gram-{pair[0]}-{problem.stem}"
            made.append(Output("gram", name, title, table, {name: drawing.panels(title, drawn)}))
    return made


def _first(found: Sequence[Record]) -> tuple[int, tuple[tuple[float, ...], ...]] | None:
    """Seed and matrix of the first record that holds one."""
    return next(((record.seed, record.gram) for record in found if record.gram), None)
