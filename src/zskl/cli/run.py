"""`zskl run`: train and evaluate."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress

from zskl import arrays, compare, methods, records, sweep
from zskl.cli import options
from zskl.cli.app import app, fail, say
from zskl.cli.compare import drawn, show
from zskl.cli.display import Display
from zskl.cli.signals import STOPS, told
from zskl.engines import Engine
from zskl.experiment import Unit
from zskl.sweep import Failure, Piece


class Scoring(StrEnum):
    """What --tune chooses by."""

    zsl = "zsl"
    gzsl = "gzsl"
    both = "both"


@app.command()
def run(
    dataset: Annotated[
        list[str], typer.Argument(help="Names of datasets, see [b]zskl datasets[/b], or folders of your own.")
    ],
    method: Annotated[
        list[str] | None, typer.Option(help="A method, repeatable; see [b]zskl methods[/b]. Default: gaussian-ort.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting, repeatable; see [b]zskl methods NAME[/b]."),
    ] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose settings on validation classes, by the method's default grid.")
    ] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Choose the constant taken off seen classes on validation classes.")
    ] = False,
    scoring: Annotated[
        Scoring | None, typer.Option(help="What --tune chooses by. Default: both with --calibrate, else zsl.")
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
            metavar="DIR", help="Append a record per finished unit to DIR/records.jsonl; what is there is not repeated."
        ),
    ] = None,
    json_: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write a record per seed, a JSON line each, in place of what FILE held."
        ),
    ] = None,
    engine: options.EngineOption = None,
    address: options.Address = None,
    workers: options.Workers = None,
) -> None:
    """Train and evaluate methods on datasets, by the zero-shot and the generalised protocol.

    Example: [b]zskl run digits --method gaussian-ort --method gaussian --set sigma=0.8 --seeds 3[/b]

    Example: [b]zskl run CUB AWA1 --tune --calibrate --seeds 5 --out runs[/b], and again after an interruption
    """
    arrays.check_device(device)
    settings = dict(setting(text) for text in set_ or [])
    names = list(dict.fromkeys(name.lower() for name in method or ["gaussian-ort"]))
    for name in names:
        methods.make(name, settings)  # a bad name or setting is refused before any work
    units = [
        Unit(name, seed, settings, device, tune, calibrate, scoring and scoring.value)
        for name in names
        for seed in range(seeds)
    ]
    runner = options.engine_of(engine, address, workers) or (Engine() if tune or calibrate else None)
    if json_ is not None:
        records.check_target(json_)
    pieces = []
    for name in dict.fromkeys(dataset):
        source = options.source_of(name, root, features, signatures, folds)
        data = options.load_dataset(name, root, features, signatures, folds)
        pieces += [Piece(source, data, unit) for unit in units]
    _sweep(pieces, runner, out, json_)


def _sweep(pieces: list[Piece], engine: Engine | None, out: Path | None, json_: Path | None) -> None:
    found: dict[int, dict[str, Any]] = {}
    failures = []
    with records.opened(out) if out is not None else nullcontext() as folder:
        before = sum(piece.key in folder.done for piece in pieces) if folder is not None else 0
        if before:
            say(f"{before} of {len(pieces)} units were done before")
        try:
            with Display([piece.name for piece in pieces], before) as display:
                for place, outcome in sweep.run(pieces, engine, folder, display):
                    display.finished(place)
                    if isinstance(outcome, Failure):
                        failures.append(outcome.sentence)
                        continue
                    found[place] = outcome
                    if json_ is not None:  # what is finished stays, whatever comes
                        records.write(json_, (found[place] for place in sorted(found)))
        except STOPS as stop:
            how, code = told(stop)
            if folder is None:
                fail(f"{how}: {len(found)} of {len(pieces)} done; with --out DIR it could be continued", code)
            folder.refresh()
            done = sum(piece.key in folder.done for piece in pieces)
            fail(f"{how}: {done} of {len(pieces)} done; the same command continues", code)
    results = [found[place] for place in sorted(found)]
    for name in dict.fromkeys(record["dataset"] for record in results):
        _show([record for record in results if record["dataset"] == name])
    for target in filter(None, (json_, folder and folder.path)):
        say(f"{len(results)} record(s) written to {target}")
    if failures:
        fail("; ".join(failures), 2)


def setting(text: str) -> tuple[str, Any]:
    """ "sigma=0.8" → ("sigma", 0.8); values are numbers, true, false, none or text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--set {text!r}: expected NAME=VALUE, for example --set sigma=0.8")
    if name in ("random_state", "device"):
        raise ValueError(f"--set {text!r}: use --{'seeds' if name == 'random_state' else 'device'} for that")
    constants = {"true": True, "false": False, "none": None}
    if value.lower() in constants:
        return name, constants[value.lower()]
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def reporter(progress: Progress, task: Any) -> Callable[[Any], None]:
    """A callback for `fit` that moves a bar in steps of a hundredth."""

    def report(state: Any) -> None:
        if state.step % max(1, state.steps // 100) == 0:
            progress.update(task, total=state.steps, completed=state.step)

    return report


def _show(results: list[dict[str, Any]]) -> None:
    """The figures of one dataset: per cent, mean over seeds, and ± the deviation where there are several."""
    table = compare.compare(results)
    seeds = max(row.seeds for row in table.rows)
    say(f"\n{results[0]['dataset']}: mean per-class top-1 accuracy in per cent, {seeds} seed(s)")
    show(drawn(table, without=("dataset", "seeds")))
    left_out = sorted(
        {str(name) for record in results[:1] for key in ("zsl", "gzsl") for name in record[key]["left_out"]}
    )
    if left_out:
        say(f"left out of the means, having no test rows: {', '.join(left_out)}")
