"""`zskl run`, `compare`, `report` and `expect`: experiments and their records; `methods`, `datasets`: what there is."""

from __future__ import annotations

import io
import json
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from zskl._display import count_noun
from zskl.cli import _options
from zskl.cli._terminal import (
    STOPS,
    SweepDisplay,
    collect_messages,
    draw_comparison,
    fail,
    fail_on_stop,
    note,
    open_output,
    say,
    show_progress,
    show_table,
)

if TYPE_CHECKING:
    from zskl.engines import Engine
    from zskl.experiments.expectation import Figure
    from zskl.experiments.record import Record
    from zskl.experiments.sweep import SweepTask

FILE_WIDTH = 240  # characters of a table in a file
# Of the default methods, those that learn from examples and unlabelled rows.
TAUGHT = ("class-means",)
DEFAULT = (*TAUGHT, "gaussian-softmax", "gaussian-ort")


@_options.reads_text("signatures")
def run(
    dataset: Annotated[
        list[str],
        typer.Argument(
            help="Names of datasets, see [b]zskl datasets[/b], or folders of your own.",
            autocompletion=_options.complete_datasets,
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, repeatable; see [b]zskl methods[/b]. Default: class-means, gaussian-softmax and "
            "gaussian-ort; with --shots or --unlabelled class-means.",
            autocompletion=_options.complete_methods,
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        _options.more("--set", metavar="NAME=VALUE", help="A setting, repeatable; see [b]zskl methods NAME[/b]."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose settings on validation classes, from the method's default grid.")
    ] = False,
    defaults: Annotated[
        list[str] | None,
        _options.more(
            metavar="METHOD",
            help="Leave this method out of --tune, at its default settings; repeatable.",
            autocompletion=_options.complete_methods,
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate", help="Choose, on validation classes, what to subtract from scores of seen classes."
        ),
    ] = False,
    scoring: Annotated[
        str | None,
        _options.more(
            metavar="zsl|gzsl|both|each",
            help="What --tune chooses by; each: also by raw H. Default: both with --calibrate, otherwise zsl.",
        ),
    ] = None,
    shots: Annotated[
        list[int] | None,
        _options.more(
            min=1,
            metavar="K",
            help="Also score, for methods that can learn so, after K examples of each unseen class, which are not "
            "scored; repeatable.",
        ),
    ] = None,
    unlabelled: Annotated[
        list[str] | None,
        _options.more(
            metavar="unseen|all",
            help="Also score, for methods that can, after adaptation to the test rows without their labels, of unseen "
            "or of all classes; repeatable.",
        ),
    ] = None,
    none_of_these: Annotated[
        Path | None,
        _options.more(
            metavar="FILE",
            help="Features of rows that are none of the classes: say how well they are told.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 0, 1, ...")] = 1,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
    folds: _options.Folds = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Append a record per finished run to DIR/records.jsonl; runs that are there are skipped.",
        ),
    ] = None,
    json_: Annotated[
        Path | None,
        _options.more(
            "--json",
            metavar="FILE",
            help="Write a record per finished run, one JSON line each; replaces what FILE held.",
        ),
    ] = None,
    engine: _options.EngineOption = None,
    address: _options.Address = None,
    workers: _options.Workers = None,
) -> None:
    """Train and evaluate methods on datasets, by the zero-shot and the generalised protocol.

    Example: [b]zskl run digits --method gaussian-ort --method gaussian --set sigma=0.8 --seeds 3[/b]

    Example: [b]zskl run CUB AWA1 --tune --calibrate --seeds 5 --out runs[/b], and again after an interruption

    Example: [b]zskl run CUB --method eszsl --method gaussian --tune --defaults gaussian[/b]

    Example: [b]zskl run CUB --tune --calibrate --shots 1 --shots 5 --unlabelled unseen --unlabelled all[/b]
    """
    from zskl import _arrays, methods
    from zskl.engines import Engine
    from zskl.experiments import run_folder, sweep

    _arrays.check_device(device)
    settings = dict(_options.parse_setting(text) for text in set_ or [])
    names = list(dict.fromkeys(name.lower() for name in method or (TAUGHT if shots or unlabelled else DEFAULT)))
    for name in names:
        methods.build(name, settings)  # a bad name or setting is refused before any work
    if none_of_these is not None and not none_of_these.is_file():
        raise FileNotFoundError(f"no file at {none_of_these}: check the path of --none-of-these")
    none = None if none_of_these is None else str(none_of_these.resolve())
    plan = sweep.RunOptions(settings, device, tune, calibrate, scoring, shots or (), unlabelled or (), none)
    units, remarks = sweep.plan_units(plan, names, seeds, defaults or ())
    for remark in remarks:
        note(remark)
    runner = _options.make_engine(engine, address, workers) or (Engine() if tune or calibrate or none else None)
    if json_ is not None:
        run_folder.check_log_target(json_)
    pieces = []
    for name in dict.fromkeys(dataset):
        source = _options.find_dataset_source(name, root, features, signatures, folds)
        data = _options.load_source(source)
        pieces += [sweep.SweepTask(source, data, unit) for unit in units]
    run_pieces(pieces, runner, out, json_)


def run_pieces(pieces: list[SweepTask[Record]], engine: Engine | None, out: Path | None, json_: Path | None) -> None:
    """Run them; what is finished is kept, in the folder `out` and the file `json_`."""
    from zskl.experiments import run_folder, sweep
    from zskl.experiments.record import Record

    found: dict[int, Record] = {}
    failures = []
    with (
        run_folder.open_run_folder(out, Record.from_json) if out is not None else nullcontext() as folder,
        run_folder.replace_log(json_) if json_ is not None else nullcontext() as append,
    ):
        before = sum(piece.key in folder.done for piece in pieces) if folder is not None else 0
        if before:
            note(f"{before} of {len(pieces)} units were done before")
        try:
            # In this order: when it ends, workers stop, then the bars vanish, then messages are shown.
            with (
                collect_messages(),
                SweepDisplay([piece.name for piece in pieces], before) as display,
                closing(sweep.run_sweep(pieces, engine, folder, display)) as outcomes,
            ):
                for place, outcome in outcomes:
                    display.finished(place)
                    if isinstance(outcome, sweep.Failure):
                        failures.append(outcome.sentence)
                        continue
                    found[place] = outcome
                    if append is not None:
                        append(outcome.to_json())
        except STOPS as stop:
            if folder is None:
                fail_on_stop(stop, f": {len(found)} of {len(pieces)} done; with --out DIR you could continue it")
            folder.refresh()
            done = sum(piece.key in folder.done for piece in pieces)
            fail_on_stop(stop, f": {done} of {len(pieces)} done; the same command continues")
    results = [found[place] for place in sorted(found)]
    for data in dict.fromkeys(map(_identify_data, results)):
        show_results([record for record in results if _identify_data(record) == data])
    for target in filter(None, (json_, folder and folder.path)):
        note(f"{count_noun(len(results), 'record')} written to {target}")
    if failures:
        fail("; ".join(failures), 2)


def _identify_data(record: Record) -> tuple[object, ...]:
    """What must be equal for figures to be compared; two datasets may share a name."""
    return record.dataset, record.features, record.fingerprint, record.features_digest


def show_results(results: list[Record]) -> None:
    """The figures of one dataset, and what they mean."""
    from zskl.experiments import summary

    table = summary.run_table(results)
    say(f"\n{results[0].dataset}: per cent right, the mean over classes, with its 95 % interval below")
    bold = open_output().is_terminal and any(figure.best for row in table.rows for figure in row.figures.values())
    best = {"bold": "the highest, and what cannot be told apart from it"} if bold else {}
    for name, words in {**summary.column_legend(results, table.figures), **best}.items():
        say(f" {name:<13} {words}")
    show_table(draw_comparison(table, below=True))
    for sentence in table.notes:
        say(sentence, wrapped=True)
    for sentence in summary.summarise(results):
        say(sentence, wrapped=True)
    first = results[0]
    left_out = sorted({*(() if first.zsl.alone else first.zsl.left_out), *first.gzsl.left_out})
    if left_out:
        say(f"left out of the means, having no test rows: {', '.join(left_out)}")


def compare(
    runs: _options.Runs,
    format_: Annotated[
        Literal["table", "markdown", "csv", "latex"],
        typer.Option("--format", help="How to write the table; csv has plain numbers."),
    ] = "table",
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Sort by this column within each dataset, best first.")
    ] = None,
    differences: Annotated[
        bool, typer.Option("--differences", help="Show how far each figure is from the highest, with interval.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The file to write. Default: the terminal.")
    ] = None,
) -> None:
    """Compare what was run: mean over seeds with its 95 % interval, per dataset and method, the best in bold.

    Bold are the highest figure and all that are not clearly lower: the interval of their difference includes 0.

    Example: [b]zskl compare runs --sort H --format markdown[/b]

    Example: [b]zskl compare runs --differences[/b]
    """
    from zskl import _files
    from zskl.experiments import compare as source

    if out is not None:
        _files.check_target(out, *runs)
    table = source.compare(runs, sort, differences)
    for sentence in table.notes:
        note(sentence)
    if out is None and format_ == "table":
        for part in filter(None, table.split()):
            show_table(draw_comparison(part))
        return
    if format_ == "table":
        file = io.StringIO()
        Console(file=file, width=FILE_WIDTH, color_system=None).print(draw_comparison(table))
        text = "\n".join(line.rstrip() for line in file.getvalue().strip("\n").split("\n")) + "\n"
    else:
        text = table.to_text(format_)
    if out is None:
        typer.echo(text, nl=False)
        return
    _files.write_atomically(out, text.encode())
    note(f"wrote {out}: {count_noun(len(table.rows), 'row')}")


def report(
    runs: _options.Runs,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The HTML page to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="The title of the page.")] = "Zero-shot report",
) -> None:
    """Write what was run as one page that needs nothing else: tables, figures, their data and commands.

    Example: [b]zskl report runs -o report.html[/b]
    """
    from zskl import _files
    from zskl.experiments.run_folder import collect
    from zskl.report import page as source

    _files.check_target(out, *(file for path in runs for file in (path, *path.glob("*.jsonl"))))
    found = collect(runs)
    _files.write_atomically(out, source(found, title, [str(path) for path in runs]).encode())
    note(f"{count_noun(len(found), 'record')}, as a page to open in a browser: {out}")


@_options.reads_text("signatures")
def expect(
    data: _options.Data,
    top: Annotated[int, typer.Option(min=1, help="How many groups of attributes to show, largest loss first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as JSON in place of text.")] = False,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
    folds: _options.Folds = None,
) -> None:
    """Say what accuracy class means will reach on new classes, and which attributes carry it; no test row is read.

    Example: [b]zskl expect birds[/b]
    """
    from zskl import _arrays
    from zskl.experiments import expectation

    _arrays.check_device(device)
    loaded = _options.load_dataset(data, root, features, signatures, folds)
    with collect_messages(), show_progress(f"{loaded.name} validation classes") as report:
        found = expectation.expect_accuracy(loaded, report=report, device=device)
    if as_json:
        typer.echo(json.dumps({"dataset": loaded.name, **found.to_json()}, ensure_ascii=False))
        return
    if len(found.held_out) == 1:
        note("there is a single validation fold, so settings were chosen where they are judged: expect a little less")
    low, high, number = min(found.held_out), max(found.held_out), len(found.held_out)
    classes = str(low) if low == high else f"{low} to {high}"
    held_out = f"{number} fold{'s' if number > 1 else ''} of {classes} held-out classes"
    chance = f"chance {100 * found.chance:.1f} %"
    if found.note:
        note(found.note)
    say(f"{loaded.name}: expected zero-shot accuracy {_percent(found.zero_shot)} ({held_out}; {chance})")
    say(f"the default setting: {_percent(found.default)}; tuned − default {_points(found.zero_shot - found.default)}")
    if found.harmonic is not None:
        say(f"expected H, with trained classes among the candidates, calibrated: {_percent(found.harmonic)}")
    table = Table("without", "attributes", "zero-shot", "loss", box=box.SIMPLE)
    for column in table.columns[1:]:
        column.justify = "right"
    for group in found.groups[:top]:
        without = f"{100 * group.without.mean:.1f}"
        table.add_row(escape(group.name), str(group.attributes), without, _points(group.loss))
    show_table(table)
    if len(found.groups) > top:
        note(f"{len(found.groups) - top} more; --top shows them")


def _points(figure: Figure) -> str:
    return f"{100 * figure.mean:+.1f} ± {100 * figure.spread:.1f}"


def _percent(figure: Figure) -> str:
    return f"{100 * figure.mean:.1f} ± {100 * figure.spread:.1f} %"


def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One method: list all its settings and their values.", autocompletion=_options.complete_methods
        ),
    ] = None,
) -> None:
    """The methods by name, and what each sets other than the defaults; or all settings of one.

    Example: [b]zskl methods gaussian-ort[/b]
    """
    from zskl import methods

    if name is not None:
        entry = methods.find(name)
        settings = Table("setting", "value", "tried by --tune", "extended within", box=box.SIMPLE)
        for key, value in methods.build(name)._settings().items():
            tried, ends = methods.list_tried_values(entry.grid, key), entry.bounds.get(key, ())
            settings.add_row(key, str(value), ", ".join(map(str, tried)), " … ".join(f"{end:g}" for end in ends))
        show_table(settings)
        for part in methods.split_grid(entry.grid)[1:]:
            fewer = {key: values for key, values in part.items() if values != methods.split_grid(entry.grid)[0][key]}
            words = "; ".join(f"{key} {', '.join(map(str, values))}" for key, values in fewer.items())
            open_output().print(Text(f"also tried, with fewer values of the others: {words}"))
        return
    table = Table("method", "what it is", "sets", box=box.SIMPLE)
    for name, entry in methods.METHODS.items():
        table.add_row(name, entry.description, ", ".join(f"{key}={value}" for key, value in entry.overrides.items()))
    show_table(table)


def datasets() -> None:
    """The datasets by name.

    Example: [b]zskl datasets[/b]
    """
    from zskl import datasets

    table = Table("dataset", "what it is", box=box.SIMPLE)
    for name, description in datasets.names():
        table.add_row(name, description)
    show_table(table)
