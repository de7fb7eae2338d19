"""Measures units of the evaluation in pieces: many processes at once on a GPU and on cores, within a time limit.

Run: python benchmarks/paper_seeds.py OUT --root DIR … [--method NAME …] [--seeds 5] [--limit 400] [--lanes 5]
[--cores 10] [--workers 1] [--tf32] [--no-temperatures] [--done FILE …]; needs the data. METHOD may be a group of
`zskl paper`, such as printed.

The first seed of a method searches its grid on the folds. The others take over its settings and constants and are only
trained, because a search for each of them would take an hour of a GPU: their spread is that of start and batches.
With --scalings-of FILE scalings are not searched again, but those that the records of FILE chose.
With --like FILE the others take over what the first seed chose in the records of FILE, whatever its grid was.
Records are appended to OUT/records.jsonl as they come. After any interruption, or when the limit has passed, the same
command goes on; --done names further files of records that need not be measured again. `zskl paper all --offline
--merge OUT --compact` makes the tables.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import connection
from pathlib import Path
from typing import Any

from zskl import datasets
from zskl.engines import Engine
from zskl.experiments import run_folder
from zskl.experiments.record import Record, Tuning
from zskl.experiments.unit import Unit, useful_seeds
from zskl.paper import results
from zskl.paper.evaluation import make_unit
from zskl.selection import tuning
from zskl.training import _cuda

HOPELESS = 3  # failures without a success after which the rest is left


@dataclass(frozen=True)
class Task:
    """A unit on a dataset of a folder; a further seed waits for what the first one chose."""

    name: str
    features: str
    root: str
    unit: Unit
    label: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.features} {self.unit.name} {self.label}".strip()

    @property
    def family(self) -> tuple[str, str, str, str]:
        return self.name, self.features, self.unit.method, self.label


@dataclass
class Progress:
    """What is left, what runs, and what the first seeds chose."""

    left: list[Task]
    chosen: dict[tuple[str, str, str, str], Tuning] = field(default_factory=dict)
    failed: set[tuple[str, str, str, str]] = field(default_factory=set)

    def next(self, on_device: bool) -> Task | None:
        for place, task in enumerate(self.left):
            ready = task.unit.seed == 0 or task.unit.chosen is not None or task.family in self.chosen
            if bool(task.unit.device) is not on_device or not ready:
                continue
            del self.left[place]
            if task.unit.seed == 0 or task.unit.chosen is not None:
                return task
            return replace(task, unit=replace(task.unit, chosen=replace(self.chosen[task.family], seed=0)))
        return None

    def finish(self, task: Task, record: Record | None) -> None:
        if task.unit.seed == 0 and record is not None:
            self.chosen[task.family] = record.tune
        if task.unit.seed == 0 and record is None:
            self.left = [one for one in self.left if one.family != task.family]


def keep_constant(model: Any, *others: Any, **options: Any) -> Any:
    """In the place of `selection.calibrate`: without temperatures, which take two fits in three and no table shows."""
    model.calibration_ = float(others[5] or 0.0)
    return model


def work(pipe: Any, tf32: bool, plain: bool, temperatures: bool, workers: int) -> None:
    """Run the tasks that come through a pipe, one after the other, until None comes."""
    logging.basicConfig(format="         %(processName)s: %(message)s")
    logging.getLogger("zskl.selection").setLevel(logging.INFO)  # how long each search takes
    loaded: dict[tuple[str, str, str], Any] = {}
    if tf32:
        import torch

        torch.set_float32_matmul_precision("high")
    if plain:
        _cuda._has_tensor_cores = lambda W: False
    if not temperatures:
        tuning.calibrate = keep_constant
    while (task := pipe.recv()) is not None:
        try:
            place = task.name, task.root, task.features
            if place not in loaded:
                loaded[place] = datasets.load(task.name, task.root, task.features)
            engine = Engine(workers=workers) if workers > 1 and task.unit.chosen is None else None
            pipe.send(results.slim_record(task.unit.run(loaded[place], engine=engine)))
        except Exception:  # one unit that fails must not end the others
            pipe.send(traceback.format_exc())


def run_tasks(
    tasks: Iterable[Task],
    keep: Callable[[Task, Record], object],
    *,
    limit: float,
    lanes: int,
    cores: int,
    tf32: bool,
    known: Iterable[tuple[Task, Record]] = (),
    temperatures: bool = True,
    workers: int = 1,
) -> int:
    """Run tasks in their order, as far as the limit allows; how many ended. Says on stderr what ended and how."""
    progress, ended, stop = Progress(list(tasks)), 0, time.monotonic() + limit
    for task, record in known:
        progress.finish(task, record)
    context = multiprocessing.get_context("spawn")
    processes: dict[Any, Any] = {}

    def start(on_device: bool, plain: bool = False) -> tuple[Any, bool]:
        mine, theirs = context.Pipe()
        options = theirs, tf32 and on_device, plain, temperatures, 1 if on_device else workers
        # A daemon may have no processes of its own.
        processes[mine] = context.Process(target=work, args=options, daemon=on_device or workers == 1)
        processes[mine].start()
        theirs.close()
        return mine, on_device

    lines = [start(number < lanes) for number in range(lanes + cores)]
    running: dict[Any, tuple[Task, float]] = {}
    again: set[str] = set()
    failures = 0
    while time.monotonic() < stop:
        for pipe, on_device in lines:
            if pipe not in running and (task := progress.next(on_device)) is not None:
                pipe.send(task)
                running[pipe] = task, time.monotonic()
        if not running:
            break
        for pipe in connection.wait(list(running), timeout=1.0):
            task, began = running.pop(pipe)
            try:
                found = pipe.recv()
            except EOFError:
                found = "the process has ended"
            record = found if isinstance(found, Record) else None
            words = "done" if record is not None else str(found).strip()
            took = time.monotonic() - began
            print(f"{took:6.1f} s  {task.title} {words}", file=sys.stderr)
            if record is None and task.unit.device and task.title not in again:
                # After an error a process may have lost its GPU: another one tries once more, by plain kernels.
                again.add(task.title)
                lines[lines.index((pipe, True))] = start(True, plain=True)
                progress.left.insert(0, task)
                processes.pop(pipe).terminate()
                continue
            progress.finish(task, record)
            failures += record is None
            if record is not None:
                keep(task, record)
                ended += 1
        if failures >= HOPELESS and not ended:  # something is missing here: time on this machine is dear
            break
    left = len(progress.left) + len(running)
    print(f"{ended} units ended, {left} are left", file=sys.stderr)
    for process in processes.values():
        process.terminate()
    return ended


def take_over(first: Record, seed: int, device: str | None) -> Unit:
    """The unit of another seed with what the first one chose, by the same grid."""
    chosen, method = replace(first.tune, seed=0), first.method
    settings = {"tune": True, "calibrate": True, "scoring": first.tune.scoring, "fixed_grid": first.tune.grid}
    return Unit(method, seed, {}, device, chosen=chosen, **settings)


def plan(problems: Sequence[tuple[str, str, str]], names: Sequence[str], seeds: int, device: str | None) -> list[Task]:
    """The methods in the order given: of each the first seed on all data, then the others."""
    there = [name for name in names if device and name not in results.ON_CPU]
    return [
        Task(name, features, root, make_unit(method, seed, device if method in there else None))
        for method in names
        for seed in useful_seeds(method, seeds)
        for name, features, root in problems
    ]


def find_problems(roots: Iterable[Path], wanted: Sequence[str]) -> list[tuple[str, str, str]]:
    """(dataset, features, root) of every feature file, as far as the features are wanted; all without names."""
    found = []
    for root in roots:
        folder = root / "data" if (root / "data").is_dir() else root
        for file in sorted(folder.glob("*/*.mat")):
            if not file.stem.endswith("_splits") and (not wanted or file.stem in wanted):
                found.append((file.parent.name, file.stem, str(root)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--features", action="append", default=[])
    parser.add_argument("--method", action="append", default=[])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1e9)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--cores", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1, help="processes of each of the cores' searches")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--no-temperatures", action="store_true", help="leave out what no table shows")
    parser.add_argument("--done", type=Path, action="append", default=[])
    parser.add_argument("--like", type=Path)
    parser.add_argument("--scalings-of", type=Path)
    chosen = parser.parse_args()
    names = list(dict.fromkeys(one for name in chosen.method or ["printed"] for one in results.choose_methods([name])))
    device = None if chosen.device == "cpu" else chosen.device
    tasks = plan(find_problems(chosen.root, chosen.features), names, chosen.seeds, device)
    tasks.sort(key=lambda task: task.unit.seed > 0)  # searches first: what follows from them can be trained anywhere
    file = chosen.out / run_folder.FILE
    chosen.out.mkdir(parents=True, exist_ok=True)
    done = [
        record
        for one in (*chosen.done, file)
        if one.is_file()
        for record in run_folder.read_records(one, Record.from_json)
    ]
    places = {
        (record.dataset, record.features, record.method, record.seed): record for record in done if is_current(record)
    }

    if chosen.scalings_of is not None:
        tasks = [keep_scalings(task, read_firsts(chosen.scalings_of)) for task in tasks]
    if chosen.like is not None:
        firsts = read_firsts(chosen.like)
        tasks = [
            replace(task, unit=take_over(firsts[task.family[:3]], task.unit.seed, task.unit.device))
            for task in tasks
            if task.unit.seed and task.family[:3] in firsts
        ]
        there = {(record.dataset, record.features, record.method, record.seed): record for record in done}
        places = {key: record for key, record in there.items() if key[3]}

    def place(task: Task) -> tuple[str, str, str, int]:
        return task.name, task.features, task.unit.method, task.unit.seed

    def keep(task: Task, record: Record) -> None:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record.to_json(), ensure_ascii=False) + "\n")

    run_tasks(
        [task for task in tasks if place(task) not in places],
        keep,
        limit=chosen.limit,
        lanes=chosen.lanes if device else 0,
        cores=chosen.cores,
        tf32=chosen.tf32,
        temperatures=not chosen.no_temperatures,
        workers=chosen.workers,
        known=[(task, places[place(task)]) for task in tasks if place(task) in places],
    )


def read_firsts(file: Path) -> dict[tuple[str, str, str], Record]:
    """The record of the first seed of each (dataset, features, method)."""
    lines = run_folder.read_records(file, Record.from_json)
    return {(one.dataset, one.features, one.method): one for one in lines if one.seed == 0}


def keep_scalings(task: Task, firsts: dict[tuple[str, str, str], Record]) -> Task:
    """The task with the scalings that an earlier search chose, where there was one."""
    first = firsts.get(task.family[:3])
    if first is None:
        return task
    grid = dict(results.published_grid(task.unit.method))
    choices = (choice.setting for _, choice in first.tune.choices.items())
    settings = list(choices)
    for name in grid:
        if name.endswith("_scaling"):
            grid[name] = tuple(dict.fromkeys(str(setting[name]) for setting in settings))
    return replace(task, unit=replace(task.unit, fixed_grid=grid))


def is_current(record: Record) -> bool:
    """Whether a record is of today's protocol: grid, bounds and what was chosen by."""
    unit = make_unit(record.method, record.seed, None) if record.method in results.ALL else None
    return unit is not None and (
        (record.tune.scoring, record.tune.grid, record.tune.bounds or {})
        == (unit.scoring, results.published_grid(record.method), unit.bounds)
    )


if __name__ == "__main__":
    main()
