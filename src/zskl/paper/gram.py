"""The first entries of WᵀW, columns of W of unit length, without and with incoherence (appendix of the paper)."""

from __future__ import annotations

from collections.abc import Sequence

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.paper.methods import PAIRS
from zskl.paper.results import Output, Record, Results
from zskl.plots import GramDisplay, drawing
from zskl.plots.gram import AXIS


def outputs(results: Results) -> list[Output]:
    """For each dataset and kernel both variants, from the lowest seed that holds them."""
    made = []
    for problem in results.measured:
        for pair in PAIRS:
            found = {method: record for method in pair if (record := _first(results.runs.get((problem, method), ())))}
            if not found:
                continue
            title = f"WᵀW of the {pair[0].capitalize()} kernel on {problem.name}"
            displays = {method: GramDisplay(record["gram"]) for method, record in found.items()}
            drawn = [
                (f"{method}: {display.mean_off_diagonal:.2f} on average off the diagonal", display)
                for method, display in displays.items()
            ]
            rows, seeds = [], sorted({record["seed"] for record in found.values()})
            for method, record in found.items():
                for place, row in enumerate(record["gram"], start=1):
                    cells = {str(k): Figure(value, digits=2) for k, value in enumerate(row, start=1)}
                    rows.append(Row({"method": method, AXIS: str(place)}, 1, cells))
            columns = tuple(str(k) for k in range(1, 1 + max(len(record["gram"]) for record in found.values())))
            note = (
                f"Cosines between the first columns of W; seed {' and '.join(map(str, seeds))}. Blue is positive, "
                "orange negative, deeper is larger."
            )
            table = Comparison(("method", AXIS), columns, tuple(rows), (note,))
            name = f"gram-{pair[0]}-{problem.stem}"
            made.append(Output("gram", name, title, table, {name: drawing.panels(title, drawn)}))
    return made


def _first(found: Sequence[Record]) -> Record | None:
    return next((record for record in found if record.get("gram")), None)
