"""`zskl run`: train and evaluate."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.progress import Progress
from rich.table import Table

from zskl import arrays, datasets, experiment, methods, records
from zskl.cli import options
from zskl.cli.app import app, console, fail, progress_display, say
from zskl.solver import DivergenceError

FIGURES = ("zero-shot", "unseen", "seen", "H", "area")


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
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds: 0, 1, ...")] = 1,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    root: options.Root = None,
    features: options.Features = None,
    signatures: options.Signatures = None,
    folds: options.Folds = None,
    json_: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write a record per seed, a JSON line each, in place of what FILE held."
        ),
    ] = None,
) -> None:
    """Train and evaluate methods on datasets, by the zero-shot and the generalised protocol.

    Example: [b]zskl run digits --method gaussian-ort --method gaussian --set sigma=0.8 --seeds 3[/b]
    """
    arrays.check_device(device)
    settings = dict(setting(text) for text in set_ or [])
    names = list(dict.fromkeys(name.lower() for name in method or ["gaussian-ort"]))
    for name in names:
        methods.make(name, settings)  # a bad name or setting is refused before any work
    if json_ is not None:
        records.check_target(json_)
    loaded = [options.load_dataset(name, root, features, signatures, folds) for name in dict.fromkeys(dataset)]
    results: list[list[dict[str, Any]]] = [[] for _ in loaded]
    failures = []
    with progress_display() as progress:
        overall = progress.add_task("all", total=len(loaded) * len(names) * seeds)
        for data, done in zip(loaded, results, strict=True):
            for unit in [experiment.Unit(name, seed, settings, device) for name in names for seed in range(seeds)]:
                try:
                    done.append(_run_one(progress, data, unit))
                except DivergenceError as error:
                    failures.append(f"{data.name} {unit.method} seed {unit.seed}: {error}")
                progress.advance(overall)
                if json_ is not None:
                    records.write(json_, chain.from_iterable(results))  # what is finished stays, whatever comes
    for done in filter(None, results):
        _show(done)
    if json_ is not None:
        say(f"{sum(map(len, results))} record(s) written to {json_}")
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


def _run_one(progress: Progress, data: datasets.Dataset, unit: experiment.Unit) -> dict[str, Any]:
    task = progress.add_task(f"{data.name} {unit.method} seed {unit.seed}", total=None)
    record = experiment.run(unit, data, reporter(progress, task))
    progress.remove_task(task)
    return record


def reporter(progress: Progress, task: Any) -> Callable[[Any], None]:
    """A callback for `fit` that moves a bar in steps of a hundredth."""

    def report(state: Any) -> None:
        if state.step % max(1, state.steps // 100) == 0:
            progress.update(task, total=state.steps, completed=state.step)

    return report


def _show(results: list[dict[str, Any]]) -> None:
    """One row per method: per cent, mean over seeds, and ± the deviation where there are several."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for record in results:
        groups.setdefault(record["method"], []).append(record)
    table = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    table.add_column("method", no_wrap=True)
    for name in (*FIGURES, "fit s"):
        table.add_column(name, justify="right", no_wrap=True)
    for method, group in groups.items():
        figures = [[100 * record["zsl"]["accuracy"] for record in group]]
        figures += [[100 * record["gzsl"][key] for record in group] for key in ("unseen", "seen", "harmonic", "ausuc")]
        seconds = statistics.mean(record["seconds"]["fit"] for record in group)
        table.add_row(method, *map(_figure, figures), f"{seconds:.2f}")
    seeds = max(map(len, groups.values()))
    say(f"\n{results[0]['dataset']}: mean per-class top-1 accuracy in per cent, {seeds} seed(s)")
    console.print(table)
    left_out = sorted(
        {str(name) for record in results[:1] for key in ("zsl", "gzsl") for name in record[key]["left_out"]}
    )
    if left_out:
        say(f"left out of the means, having no test rows: {', '.join(left_out)}")


def _figure(values: list[float]) -> str:
    spread = f"±{statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"
