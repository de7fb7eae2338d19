"""docs/performance.md from the records in benchmarks/results/: python benchmarks/performance.py. Measures nothing."""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

from pathlib import Path

import before_after_parts
import halving_parts
import million_parts
import search_parts
import serve_parts
import training_parts
import use_parts
from growth import figure
from machine import RESULTS
from page_tables import load
from zskl._files import write_atomically

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
FIGURES = {"growth": "growth.svg", "growth_means": "growth-means.svg"}

PARTS = {
    "before_after": before_after_parts.waiting,
    "cpu": training_parts.on_cpu,
    "gpu": training_parts.on_gpu,
    "search": training_parts.searching,
    "means_search": search_parts.means,
    "halved_search": halving_parts.searching,
    "halved_search_device": halving_parts.over_seeds,
    "halving_replay": halving_parts.replaying,
    "fast_paths": training_parts.accuracy,
    "growth": training_parts.growing,
    "growth_means": training_parts.growing_means,
    "memory": use_parts.memory,
    "fit_memory": million_parts.fit_memory,
    "million_fit": million_parts.fitting,
    "million_predict": million_parts.predicting,
    "nystrom": use_parts.maps,
    "million_classes": million_parts.searching_classes,
    "serve": serve_parts.serving,
    "serve_profile": serve_parts.profile,
    "startup": use_parts.starting,
    "profile_left": before_after_parts.left,
}
HEAD = """# Performance

Made by `python benchmarks/performance.py` from the records of `make bench`, `benchmarks/search.py`,
`benchmarks/fast_paths.py`, `benchmarks/serve_load.py`, `benchmarks/startup.py` and others, named below, in `benchmarks/results/`; not edited by hand. Ratios were measured in one run each: machines differ, and
are seldom quiet. More than memory holds: [large data](large.md); many classes: the maps in [math](math.md); many cores:
[scaling](scaling.md).
"""


def page(folder: Path = RESULTS) -> str:
    """The whole page; a part without a record says how to make one."""
    blocks = [HEAD]
    for name, part in PARTS.items():
        record = load(name, folder)
        blocks += part(record) if record else [f"## {name}\n", f"Not measured: no `benchmarks/results/{name}.json`.\n"]
    return "\n".join(blocks)


def main() -> None:
    write_atomically(PAGE, page().encode())
    for name, drawn in FIGURES.items():
        record = load(name)
        if record:
            write_atomically(PAGE.parent / "figures" / drawn, figure(record["figures"]).encode())


if __name__ == "__main__":
    main()
