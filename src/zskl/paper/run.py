"""What there is to run for some parts of the evaluation, run by the sweep; then what was found."""

from __future__ import annotations

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
from zskl.experiments.sweep import Failure, Piece, Source, Work
from zskl.experiments.unit import Unit
from zskl.paper import collect, curve_records
from zskl.paper import methods as paper_methods
from zskl.paper.convergence_run import Watching
from zskl.paper.curve_records import CurveRecord
from zskl.paper.published import BASELINES
from zskl.paper.results import Identified, Problem, Results, problem_of_data
from zskl.paper.sensitivity_run import Varying

Tell = Callable[[str], object]
R = TypeVar("R", bound=Stored)


class Display(sweep.Watch, Protocol):
    """Of one stage; told also of each unit that is finished."""

    def finished(self, place: int) -> None: ...


Show = Callable[[Sequence[str], int], AbstractContextManager[Display]]  # names of units, how many were done before


@dataclass(frozen=True)
class Order:
    """What is wanted. `datasets` are names with the features asked for, if any; `device` is for kernel methods alone:
    the published ones run on the CPU, through the engine."""

    parts: tuple[str, ...]
    datasets: tuple[tuple[str, str | None], ...]
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


def conduct(order: Order, load: Callable[[str], tuple[Source, Dataset]], show: Show, tell: Tell) -> Course:
    """Run what the folder `order.out` lacks, and collect. `load` opens a dataset by its name, or says why it cannot."""
    with (
        run_folder.opened(order.out, Record.from_json) as runs,
        run_folder.opened(order.out / collect.CURVES, curve_records.from_json) as curves,
    ):
        merged = collect.merge(order.merge, runs, curves, order.compact)
        if order.merge:
            tell(f"{merged} record(s) merged into {order.out}")
        times = collect.read_times(order.out, *(path for path in order.merge if path.is_dir()))
        problems, loaded = _problems(order, load, [*runs.done.values(), *curves.done.values()], tell)
        course = Course(Results((), (), {}))
        conductor = _Conductor(order, course, times, show, tell)
        try:
            methods = paper_methods.needed(order.parts, order.methods)
            kernels = [name for name in methods if name not in BASELINES]
            others = [name for name in methods if name in BASELINES]
            once = [name for name in methods if len(unit.useful_seeds(name, order.seeds)) < order.seeds]
            if once and loaded:
                tell(f"{', '.join(once)}: run once, since every seed gives the same model")
            conductor.stage("kernel methods", _evaluations(loaded, kernels, order.seeds, order.device), runs)
            conductor.stage("published methods", _evaluations(loaded, others, order.seeds, None), runs)
            for part, make in (("sensitivity", Varying), ("convergence", Watching)):
                if part in order.parts:
                    conductor.stage(part, _around(part, make, order, loaded, runs, conductor.found, tell), curves)
        finally:
            if times and (conductor.timed or merged):
                collect.write_times(order.out, times)
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
                    "datasets": sorted({piece.data.name for piece in pieces}),
                    "units": max(0, ran),
                    "seconds": round(time.perf_counter() - start, 1),
                    "device": pieces[0].unit.device or "cpu",
                    "processes": self._processes(pieces),
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


def _problems(
    order: Order, load: Callable[[str], tuple[Source, Dataset]], there: Sequence[Identified], tell: Tell
) -> tuple[list[Problem], list[tuple[Source, Dataset]]]:
    """What tables have columns for; and of these what can be run."""
    problems: list[Problem] = []
    loaded: list[tuple[Source, Dataset]] = []
    for name, features in order.datasets:
        known = collect.recorded(there, name, features)
        if order.offline:
            problems += known or [Problem(name, missing=True)]
            continue
        try:
            source, data = load(name)
        except (OSError, ValueError) as error:
            if known:
                tell(
                    f"{name} cannot be read ({error}); its tables are made from what is recorded, nothing of it is run"
                )
            else:
                tell(f"{name} is skipped: {error}")
            problems += known or [Problem(name, missing=True)]
            continue
        loaded.append((source, data))
        problems.append(problem_of_data(data))
    return problems, loaded


def _evaluations(
    loaded: Sequence[tuple[Source, Dataset]], methods: Sequence[str], seeds: int, device: str | None
) -> list[Piece[Record]]:
    return [
        Piece(source, data, Unit(method, seed, {}, device, tune=True, calibrate=True))
        for source, data in loaded
        for method in methods
        for seed in unit.useful_seeds(method, seeds)
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
