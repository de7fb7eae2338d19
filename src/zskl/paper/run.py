"""What there is to run for some parts of the evaluation, run by the sweep; then what was found."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.experiments import run_folder, sweep, unit
from zskl.experiments.record import Record
from zskl.experiments.run_folder import RunFolder, Stored
from zskl.experiments.source import Source
from zskl.experiments.sweep import Failure, Piece, Work
from zskl.experiments.unit import Unit
from zskl.paper import collect, curve_records, wall_times
from zskl.paper import methods as paper_methods
from zskl.paper.convergence_run import Watching
from zskl.paper.curve_records import CurveRecord
from zskl.paper.results import Identified, Problem, Results, problem_of_data
from zskl.paper.sensitivity_run import Varying

Tell = Callable[[str], object]
Load = Callable[[Source], Dataset]
R = TypeVar("R", bound=Stored)


class Display(sweep.Watch, Protocol):
    """Of one stage; told also of each unit that is finished."""

    def finished(self, place: int) -> None: ...


Show = Callable[[Sequence[str], int], AbstractContextManager[Display]]  # names of units, how many were done before


@dataclass(frozen=True)
class Order:
    """What is wanted. A dataset may come from several sources, with other features each. `device` is for the methods
    that train there: all others run on the CPU, through the engine."""

    parts: tuple[str, ...]
    sources: tuple[Source, ...]
    methods: tuple[str, ...]
    seeds: int
    out: Path
    device: str | None = None
    engine: Engine | None = None
    merge: tuple[Path, ...] = ()
    compact: bool = False
    offline: bool = False


@dataclass
class Course:
    """What a conducted order left: the results, sentences about units that failed, how many units were run."""

    results: Results
    failures: list[str] = field(default_factory=list)
    ran: int = 0


def conduct(order: Order, load: Load, show: Show, tell: Tell) -> Course:
    """Run what the folder `order.out` lacks, and collect. `load` opens a dataset, or says why it cannot."""
    with (
        run_folder.opened(order.out, Record.from_json) as runs,
        run_folder.opened(order.out / collect.CURVES, curve_records.from_json) as curves,
    ):
        merged = collect.merge(order.merge, runs, curves, order.compact)
        if order.merge:
            tell(f"{merged} record(s) merged into {order.out}")
        times = wall_times.read(order.out, *(path for path in order.merge if path.is_dir()))
        problems, loaded = _problems(order, load, [*runs.done.values(), *curves.done.values()], tell)
        course = Course(Results((), (), {}))
        conductor = _Conductor(order, course, times, show, tell)
        try:
            methods = paper_methods.needed(order.parts, order.methods)
            once = [name for name in methods if len(unit.useful_seeds(name, order.seeds)) < order.seeds]
            if once and loaded:
                tell(f"{', '.join(once)}: run once, since every seed gives the same model")
            device = None if order.device == "cpu" else order.device
            there = [name for name in methods if device and name not in paper_methods.ON_CPU]
            here = [name for name in methods if name not in there]
            conductor.stage(f"methods on {device}", _evaluations(loaded, there, order.seeds, device), runs)
            conductor.stage("methods", _evaluations(loaded, here, order.seeds, None), runs)
            for part, make in (("sensitivity", Varying), ("convergence", Watching)):
                if part in order.parts:
                    conductor.stage(part, _around(part, make, order, loaded, runs, conductor.found, tell), curves)
        finally:
            if times and (conductor.timed or merged):
                wall_times.write(order.out, times)
        course.results = conductor.found(problems, runs, curves)
        return course


class _Conductor:
    def __init__(self, order: Order, course: Course, times: list[dict[str, Any]], show: Show, tell: Tell) -> None:
        self.order, self.course, self.times, self.show, self.tell = order, course, times, show, tell
        self.timed = False

    def stage(self, name: str, pieces: Sequence[Piece[R]], folder: RunFolder[R]) -> None:
        """One sweep. Its wall time is kept, unless nothing was left to do."""
        before = sum(piece.key in folder.done for piece in pieces)
        if before == len(pieces):
            return
        if before:
            self.tell(f"{name}: {before} of {len(pieces)} units were done before")
        start, ran = time.perf_counter(), -before
        try:
            with (
                self.show([piece.name for piece in pieces], before) as display,
                closing(sweep.run(pieces, self.order.engine, folder, display)) as outcomes,
            ):
                for place, outcome in outcomes:
                    display.finished(place)
                    ran += 1
                    if isinstance(outcome, Failure):
                        self.course.failures.append(outcome.sentence)
        finally:
            self.course.ran += max(0, ran)
            self.timed = True
            self.times.append(
                {
                    "stage": name,
                    "datasets": sorted({problem_of_data(piece.data).name for piece in pieces}),
                    "units": max(0, ran),
                    "seconds": round(time.perf_counter() - start, 1),
                    "device": pieces[0].unit.device or "cpu",
                    "processes": self._processes(pieces),
                    "machine": _machine(pieces[0].unit.device),
                    "finished": unit.finished(),
                }
            )

    def _processes(self, pieces: Sequence[Piece[R]]) -> int:
        engine = self.order.engine
        alone = engine is None or engine.address is not None or pieces[0].unit.device not in (None, "cpu")
        return 1 if alone or engine is None else engine.processes

    def found(
        self, problems: Sequence[Problem], runs: RunFolder[Record], curves: RunFolder[CurveRecord] | None = None
    ) -> Results:
        others: Iterable[CurveRecord] = () if curves is None else curves.done.values()
        order = self.order
        return collect.select(problems, order.methods, order.seeds, runs.done.values(), others, self.times)


def _machine(device: str | None) -> str:
    """Its cores, and the GPU that was used."""
    cores = f"{os.cpu_count()} cores"
    if device is None or device.startswith("cpu"):
        return cores
    import torch

    return f"{cores}, {torch.cuda.get_device_name(device)}"


def _problems(
    order: Order, load: Load, there: Sequence[Identified], tell: Tell
) -> tuple[list[Problem], list[tuple[Source, Dataset]]]:
    """What there are tables of; and of these what can be run."""
    problems: dict[Problem, None] = {}
    loaded: list[tuple[Source, Dataset]] = []
    for source in order.sources:
        known = collect.recorded(there, source.name, source.features) or [Problem(source.name, missing=True)]
        try:
            data = None if order.offline else load(source)
        except (OSError, ValueError) as error:
            data = None
            instead = "skipped" if known[0].missing else "shown as far as it is recorded; nothing of it is run"
            tell(f"{source.name} cannot be read and is {instead}: {error}")
        if data is None:
            problems |= dict.fromkeys(known)
        elif problem_of_data(data) not in problems:
            problems[problem_of_data(data)] = None
            loaded.append((source, data))
    return list(problems), loaded


def unit_of(method: str, seed: int, device: str | None) -> Unit:
    """Settings by both scorings from the grid of the table, which is fixed: see `paper_methods.grid`."""
    return Unit(method, seed, {}, device, tune=True, calibrate=True, fixed_grid=paper_methods.grid(method))


def _evaluations(
    loaded: Sequence[tuple[Source, Dataset]], methods: Sequence[str], seeds: int, device: str | None
) -> list[Piece[Record]]:
    """The first seed of all methods before the next, and of each seed the slowest methods first."""
    return [
        Piece(source, data, unit_of(method, seed, device))
        for seed in range(seeds)
        for method in paper_methods.slowest_first(methods)
        if seed in unit.useful_seeds(method, seeds)
        for source, data in loaded
    ]


def _around(
    part: str,
    make: Callable[[str, int, Any, str | None], Work[CurveRecord]],
    order: Order,
    loaded: Sequence[tuple[Source, Dataset]],
    runs: RunFolder[Record],
    found: Callable[[Sequence[Problem], RunFolder[Record]], Results],
    tell: Tell,
) -> list[Piece[CurveRecord]]:
    """Units around the setting that validation chose, by zero-shot accuracy, for the lowest seed."""
    pieces: list[Piece[CurveRecord]] = []
    for source, data in loaded:
        problem = problem_of_data(data)
        results = found([problem], runs)
        for method in paper_methods.needed((part,), order.methods):
            mine = results.runs.get((problem, method))
            choice = mine[0].tune.choices.zsl if mine else None
            if choice is None:
                tell(f"{data.name} {method}: no {part} without a record of what validation chose")
                continue
            units = [make(method, seed, choice.setting, order.device) for seed in range(order.seeds)]
            pieces += [Piece(source, data, one) for one in units]
    return pieces
