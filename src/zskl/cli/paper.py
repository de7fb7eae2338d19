"""`zskl paper`: the paper's tables and figures."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zskl.cli import completion, options, startup
from zskl.cli.signals import STOPS, told
from zskl.cli.terminal import fail, mention, note, say

if TYPE_CHECKING:
    from zskl.paper.tables import Written


class Part(StrEnum):
    """What of the evaluation."""

    zsl = "zsl"
    gzsl = "gzsl"
    incoherence = "incoherence"
    gram = "gram"
    sensitivity = "sensitivity"
    convergence = "convergence"
    all = "all"


def paper(
    part: Annotated[Part, typer.Argument(help="Which tables and figures.")],
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of the benchmarks, repeatable: a dataset is measured with the features of each."),
    ] = None,
    features: options.Features = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="A dataset, repeatable. Default: the five benchmarks.", autocompletion=completion.datasets),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or [b]baselines[/b], [b]kernels[/b] or [b]ours[/b]; repeatable. Default: all.",
            autocompletion=completion.methods,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 0, 1, ...")] = 5,
    device: Annotated[
        str | None, typer.Option(help="cpu or cuda, for methods that train there; all others run on the CPU.")
    ] = None,
    engine: options.EngineOption = None,
    address: options.Address = None,
    workers: options.Workers = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder for records, tables, figures and results.md; runs that are there are skipped.",
        ),
    ] = Path("paper"),
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR or FILE", help="Copy these records into --out first, repeatable; they count as done."
        ),
    ] = None,
    compact: Annotated[
        bool, typer.Option("--compact", help="Merge only what the tables and figures need of a record.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="From records alone: load no data, run nothing.")] = False,
    docs: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy results.md and the figures there as well.")
    ] = None,
    readme: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the leading methods between the marks of this file.")
    ] = None,
) -> None:
    """Measure the paper's tables and figures, and write them beside the published figures.

    Example: [b]zskl paper all --root xlsa17 --dataset CUB --seeds 3 --device cuda --out paper[/b]

    Example: [b]zskl paper all --offline --out paper[/b], the same from the records alone
    """
    from zskl import _arrays
    from zskl.cli import named
    from zskl.cli.bars import Display
    from zskl.datasets.xlsa17 import BENCHMARKS
    from zskl.engines import Engine
    from zskl.paper import published
    from zskl.paper import results as paper_methods
    from zskl.paper.run import Order, run_evaluation
    from zskl.paper.tables import write_paper

    startup.over()
    _arrays.check_device(device)
    names = {
        name.lower(): name.upper() if name.upper() in BENCHMARKS else name for name in dataset or published.DATASETS
    }
    sources = [source for name in names.values() for source in named.sources_of(name, root, features)]
    methods = paper_methods.choose_methods(method)
    parts = paper_methods.choose_parts(part.value)
    if not paper_methods.needed_methods(parts, methods):
        about = ", ".join(dict.fromkeys(name for one in parts for name in paper_methods.PARTS[one]))
        raise ValueError(f"{part.value} is about none of the methods {', '.join(methods)}: expected some of {about}")

    order = Order(
        parts,
        tuple(sources),
        methods,
        seeds,
        out,
        device,
        named.engine_of(engine, address, workers) or Engine(),
        tuple(merge or ()),
        compact,
        offline,
    )
    try:
        course = run_evaluation(order, named.load, Display, note)
    except STOPS as stop:
        how, code = told(stop)
        fail(f"{how}: what is finished is kept; the same command continues", code)
    if not course.results.runs:
        reason = "; ".join(course.failures) or "none of the datasets could be read, and nothing is recorded of them"
        fail(f"nothing to show: {reason}", 2)
    written = write_paper(course.results, parts, out, docs, readme)
    _tell(written, out, course.ran)
    if course.failures:
        fail(f"{len(course.failures)} unit(s) failed: {'; '.join(course.failures)}", 2)


def _tell(written: Written, out: Path, ran: int) -> None:
    """What was found, and where it is."""
    from zskl.paper.claims import NO, UNDECIDED, UNTESTED, YES, count_verdicts

    mention(f"{ran} unit(s) run; {len(written.files)} files in {out}: results.md, tables/, figures/")
    say("claims of the paper, in how many cases:")
    for claim, *numbers in count_verdicts(written.verdicts):
        told = ", ".join(f"{number} {word}" for number, word in zip(numbers, (YES, NO, UNDECIDED), strict=True))
        say(f"  {claim}: {told if any(numbers) else UNTESTED}")
