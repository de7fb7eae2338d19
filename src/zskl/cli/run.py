"""`zskl run`: train and evaluate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import completion, options, startup
from zskl.cli.settings import setting
from zskl.cli.terminal import mention

TAUGHT = ("class-means",)  # of the default methods those that learn from examples and unlabelled rows
DEFAULT = (*TAUGHT, "gaussian-softmax", "gaussian-ort")


def run(
    dataset: Annotated[
        list[str],
        typer.Argument(
            help="Names of datasets, see [b]zskl datasets[/b], or folders of your own.",
            autocompletion=completion.datasets,
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, repeatable; see [b]zskl methods[/b]. Default: class-means, gaussian-softmax and "
            "gaussian-ort; with --shots or --unlabelled class-means.",
            autocompletion=completion.methods,
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
            autocompletion=completion.methods,
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
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    root: options.Root = None,
    features: options.Features = None,
    signatures: options.Signatures = None,
    folds: options.Folds = None,
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
    engine: options.EngineOption = None,
    address: options.Address = None,
    workers: options.Workers = None,
) -> None:
    """Train and evaluate methods on datasets, by the zero-shot and the generalised protocol.

    Example: [b]zskl run digits --method gaussian-ort --method gaussian --set sigma=0.8 --seeds 3[/b]

    Example: [b]zskl run CUB AWA1 --tune --calibrate --seeds 5 --out runs[/b], and again after an interruption

    Example: [b]zskl run CUB --method eszsl --method gaussian --tune --defaults gaussian[/b]

    Example: [b]zskl run CUB --tune --calibrate --shots 1 --shots 5 --unlabelled unseen --unlabelled all[/b]
    """
    from zskl import _arrays, methods
    from zskl.cli import named
    from zskl.cli.sweeping import run_pieces
    from zskl.engines import Engine
    from zskl.experiments import run_folder, sweep
    from zskl.experiments.sweep import SweepTask

    startup.over()
    _arrays.check_device(device)
    settings = dict(setting(text) for text in set_ or [])
    names = list(dict.fromkeys(name.lower() for name in method or (TAUGHT if shots or unlabelled else DEFAULT)))
    for name in names:
        methods.build(name, settings)  # a bad name or setting is refused before any work
    plan = sweep.RunOptions(settings, device, tune, calibrate, scoring, shots or (), unlabelled or ())
    units, remarks = sweep.plan_units(plan, names, seeds, defaults or ())
    for remark in remarks:
        mention(remark)
    runner = named.engine_of(engine, address, workers) or (Engine() if tune or calibrate else None)
    if json_ is not None:
        run_folder.check_log_target(json_)
    pieces = []
    for name in dict.fromkeys(dataset):
        source = named.source_of(name, root, features, signatures, folds)
        data = named.load(source)
        pieces += [SweepTask(source, data, unit) for unit in units]
    run_pieces(pieces, runner, out, json_)
