"""`zskl paper`: the paper's tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from zskl._display import count_noun
from zskl.cli import _options
from zskl.cli._terminal import STOPS, SweepDisplay, fail, fail_on_stop, note, say

if TYPE_CHECKING:
    from zskl.experiments.sweep import DatasetSource

Part = Literal["zsl", "gzsl", "incoherence", "gram", "sensitivity", "convergence", "all"]


def paper(
    part: Annotated[Part, typer.Argument(help="Which tables and figures.")],
    root: Annotated[
        list[Path] | None,
        typer.Option(help="A folder of the benchmarks, repeatable: a dataset is measured with the features of each."),
    ] = None,
    features: _options.Features = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            help="A dataset, repeatable. Default: the five benchmarks.", autocompletion=_options.complete_datasets
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or [b]baselines[/b], [b]printed[/b], [b]kernels[/b] or [b]ours[/b]; repeatable. "
            "Default: all.",
            autocompletion=_options.complete_methods,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 0, 1, ...")] = 5,
    device: Annotated[
        str | None, _options.about_machine(help="cpu or cuda, for methods that train there; all others run on the CPU.")
    ] = None,
    engine: _options.EngineOption = None,
    address: _options.Address = None,
    workers: _options.Workers = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder for records, tables, figures and results.md; runs that are there are skipped.",
        ),
    ] = Path("paper"),
    merge: Annotated[
        list[Path] | None,
        _options.more(
            metavar="DIR or FILE", help="Copy these records into --out first, repeatable; they count as done."
        ),
    ] = None,
    compact: Annotated[
        bool, _options.more("--compact", help="Merge only what the tables and figures need of a record.")
    ] = False,
    offline: Annotated[bool, _options.more("--offline", help="From records alone: load no data, run nothing.")] = False,
    docs: Annotated[
        Path | None, _options.more(metavar="DIR", help="Copy results.md and the figures there as well.")
    ] = None,
    readme: Annotated[
        Path | None, _options.more(metavar="FILE", help="Write the leading methods between the marks of this file.")
    ] = None,
) -> None:
    """Measure the paper's tables and figures, and write them beside the published figures.

    Example: [b]zskl paper all --root xlsa17 --dataset CUB --seeds 3 --device cuda --out paper[/b]

    Example: [b]zskl paper all --offline --out paper[/b], the same from the records alone
    """
    from zskl import _arrays
    from zskl.datasets.xlsa17 import BENCHMARKS
    from zskl.engines import Engine
    from zskl.paper import claims
    from zskl.paper import results as paper_methods
    from zskl.paper.evaluation import Order, run_evaluation
    from zskl.paper.pages import PAPER_PAGE, write_paper

    _arrays.check_device(device)
    names = {
        name.lower(): name.upper() if name.upper() in BENCHMARKS else name for name in dataset or paper_methods.DATASETS
    }
    sources = [source for name in names.values() for source in _find_sources(name, root, features)]
    methods = paper_methods.choose_methods(method)
    parts = tuple(paper_methods.PARTS) if part == "all" else (part,)
    if not paper_methods.needed_methods(parts, methods):
        about = ", ".join(dict.fromkeys(name for one in parts for name in paper_methods.PARTS[one]))
        raise ValueError(f"{part} is about none of the methods {', '.join(methods)}: expected some of {about}")
    runner = _options.make_engine(engine, address, workers) or Engine()
    order = Order(parts, tuple(sources), methods, seeds, out, device, runner, tuple(merge or ()), compact, offline)
    try:
        course = run_evaluation(order, _options.load_source, SweepDisplay, note)
    except STOPS as stop:
        fail_on_stop(stop, ": what is finished is kept; the same command continues")
    if not course.results.runs:
        reason = "; ".join(course.failures) or "none of the datasets could be read, and nothing is recorded of them"
        fail(f"nothing to show: {reason}", 2)
    files, verdicts = write_paper(course.results, parts, out, docs, readme)
    ran = count_noun(course.ran, "unit")
    note(f"{ran} run; {len(files)} files in {out}: {PAPER_PAGE}.html, results.md, tables/, figures/")
    say("claims of the paper, in how many cases:")
    for claim, *numbers in claims.count_verdicts(verdicts):
        words = zip(numbers, (claims.YES, claims.NO, claims.UNDECIDED), strict=True)
        told = ", ".join(f"{number} {word}" for number, word in words)
        say(f"  {claim}: {told if any(numbers) else claims.UNTESTED}")
    if course.failures:
        fail(f"{count_noun(len(course.failures), 'unit')} failed: {'; '.join(course.failures)}", 2)


def _find_sources(name: str, roots: list[Path] | None, features: list[str] | None) -> "list[DatasetSource]":
    """One for each of the features that are asked for, from the first root that has them ("A+B" from all roots); else
    one for each root that has the dataset. Where none has it there is one all the same, and loading it says what is
    missing."""
    from zskl.datasets.fetch import SPLITS
    from zskl.datasets.xlsa17 import BESIDE, find_folders, is_benchmark_name
    from zskl.experiments.sweep import DatasetSource

    if not is_benchmark_name(name):
        return [_options.find_dataset_source(name, None, features)]
    asked = _options.list_features(name, features or [])
    if not roots:
        return [DatasetSource(name, None, one) for one in asked] or [DatasetSource(name)]

    def there(root: Path, file: str) -> bool:
        try:
            return (find_folders(name, root)[0] / file).is_file()
        except FileNotFoundError:
            return False

    found = []
    for one in asked:
        if BESIDE in one:
            found.append(DatasetSource(name, tuple(map(str, roots)), one))
            continue
        root = next((root for root in roots if there(root, f"{one.removesuffix('.mat')}.mat")), roots[0])
        found.append(DatasetSource(name, str(root), one))
    return (
        found
        or [DatasetSource(name, str(root)) for root in roots if there(root, SPLITS)]
        or [DatasetSource(name, str(roots[0]))]
    )
