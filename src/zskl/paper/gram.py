"""The first entries of WᵀW, columns of W of unit length, without and with incoherence (appendix of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from zskl.experiments.compare import Comparison, Figure, Row
from zskl.experiments.record import Record
from zskl.paper.methods import PAIRS
from zskl.paper.pictures import panels
from zskl.paper.results import Output, Results
from zskl.report.matrix import matrix

AXIS = "column of W"
Cells: TypeAlias = tuple[tuple[float, ...], ...]


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
            drawn = [
                (f"{method}: {_off(cells):.2f} on average off the diagonal", _drawn(method, cells))
                for method, (_, cells) in found.items()
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
            made.append(Output("gram", name, title, table, {name: panels(title, drawn)}))
    return made


def _first(found: Sequence[Record]) -> tuple[int, Cells] | None:
    """Seed and matrix of the first record that holds one."""
    return next(((record.seed, record.gram) for record in found if record.gram), None)


def _off(cells: Cells) -> float:
    """The mean size of what is off the diagonal."""
    sizes = [abs(value) for i, row in enumerate(cells) for j, value in enumerate(row) if i != j]
    return sum(sizes) / max(1, len(sizes))


def _drawn(method: str, cells: Cells) -> str:
    names = [str(k + 1) for k in range(len(cells))]
    said = f"Cosines between columns of W, {_off(cells):.2f} on average off the diagonal, in size"
    return matrix(f"WᵀW of {method}", said, cells, names, names, (AXIS, AXIS), (0.0, 1.0), digits=2)
