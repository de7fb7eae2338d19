"""`zskl run`: train and evaluate."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zskl.cli import _options
from zskl.cli._progress import SweepDisplay
from zskl.cli._signals import STOPS, describe_stop
from zskl.cli._tables import draw_comparison, show_table
from zskl.cli._terminal import fail, mention, open_output, say
from zskl.cli._warnings import collect_messages

if TYPE_CHECKING:
    from zskl.engines import Engine
    from zskl.experiments.record import Record
    from zskl.experiments.sweep import SweepTask

# Of the default methods, those that learn from examples and unlabelled rows.
TAUGHT = ("class-means",)
DEFAULT = (*TAUGHT, "gaussian-softmax", "gaussian-ort")


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
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, repeatable; see [b]zskl methods NAME[/b]."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose settings on validation classes, from the method's default grid.")
    ] = False,
    defaults: Annotated[
        list[str] | None,
        typer.Option(
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
        typer.Option(
            metavar="zsl|gzsl|both", help="What --tune chooses by. Default: both with --calibrate, otherwise zsl."
        ),
    ] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            metavar="K",
            help="Also score, for methods that can learn so, after K examples of each unseen class, which are not "
            "scored; repeatable.",
        ),
    ] = None,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            metavar="unseen|all",
            help="Also score, for methods that can, after adaptation to the test rows without their labels, of unseen "
            "or of all classes; repeatable.",
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
        typer.Option(
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
    from zskl.cli import _datasets
    from zskl.engines import Engine
    from zskl.experiments import run_folder, sweep
    from zskl.experiments.sweep import SweepTask

    _arrays.check_device(device)
    settings = dict(_options.parse_setting(text) for text in set_ or [])
    names = list(dict.fromkeys(name.lower() for name in method or (TAUGHT if shots or unlabelled else DEFAULT)))
    for name in names:
        methods.build(name, settings)  # a bad name or setting is refused before any work
    plan = sweep.RunOptions(settings, device, tune, calibrate, scoring, shots or (), unlabelled or ())
    units, remarks = sweep.plan_units(plan, names, seeds, defaults or ())
    for remark in remarks:
        mention(remark)
    runner = _options.make_engine(engine, address, workers) or (Engine() if tune or calibrate else None)
    if json_ is not None:
        run_folder.check_log_target(json_)
    pieces = []
    for name in dict.fromkeys(dataset):
        source = _datasets.find_source(name, root, features, signatures, folds)
        data = _datasets.load_source(source)
        pieces += [SweepTask(source, data, unit) for unit in units]
    run_pieces(pieces, runner, out, json_)


def run_pieces(pieces: list[SweepTask[Record]], engine: Engine | None, out: Path | None, json_: Path | None) -> None:
    """Run them; what is finished is kept, in the folder `out` and the file `json_`."""
    from zskl.experiments import run_folder, sweep
    from zskl.experiments import run_folder as run_folders
    from zskl.experiments.record import Record

    found: dict[int, Record] = {}
    failures = []
    with (
        run_folder.open_run_folder(out, Record.from_json) if out is not None else nullcontext() as folder,
        run_folders.replace_log(json_) if json_ is not None else nullcontext() as append,
    ):
        before = sum(piece.key in folder.done for piece in pieces) if folder is not None else 0
        if before:
            mention(f"{before} of {len(pieces)} units were done before")
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
            how, code = describe_stop(stop)
            if folder is None:
                fail(f"{how}: {len(found)} of {len(pieces)} done; with --out DIR you could continue it", code)
            folder.refresh()
            done = sum(piece.key in folder.done for piece in pieces)
            fail(f"{how}: {done} of {len(pieces)} done; the same command continues", code)
    results = [found[place] for place in sorted(found)]
    for data in dict.fromkeys(map(_identify_data, results)):
        show_results([record for record in results if _identify_data(record) == data])
    for target in filter(None, (json_, folder and folder.path)):
        mention(f"{len(results)} record{'' if len(results) == 1 else 's'} written to {target}")
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
        say(f"{sentence}\n", wrapped=True)
    for sentence in summary.summarise(results):
        mention(sentence, wrapped=True)
    first = results[0]
    left_out = sorted({*(() if first.zsl.alone else first.zsl.left_out), *first.gzsl.left_out})
    if left_out:
        say(f"left out of the means, having no test rows: {', '.join(left_out)}")
