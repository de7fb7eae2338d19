"""How long the table took: by kind of work, and on the clock."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from zskl import _files as storage
from zskl import engines, methods, protocols, selection
from zskl._arrays import convert_like, runs_on_gpu, to_numpy
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.estimators import kernel_classifier
from zskl.experiments import run_folder, sweep, unit
from zskl.experiments.record import Record
from zskl.experiments.run_folder import RunFolder, StoredRecord
from zskl.experiments.sweep import DatasetSource, Failure, SweepTask, SweepUnit
from zskl.experiments.unit import Report, Unit
from zskl.paper import results as resultss
from zskl.paper.results import (
    ConvergenceRecord,
    CurveRecord,
    Identified,
    Phase,
    Problem,
    Results,
    SensitivityRecord,
    Varied,
    problem_of_data,
)
from zskl.selection import Search
from zskl.training.objective import Objective
from zskl.training.solver import DivergenceError, Progress

# Wall times -----------------------------------------------------------------------------------------------------------

TIMES = "times.json"
EXTRAPOLATED = "two_cores.json"  # written by benchmarks/two_cores.py


def read_times(*folders: Path) -> list[dict[str, Any]]:
    """What stages took, in the order in which they ended; each once."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        file = folder / TIMES
        try:
            entries = json.loads(file.read_text("utf-8")) if file.is_file() else []
        except ValueError:
            raise ValueError(
                f"{file} cannot be read: expected the wall times that zskl paper wrote; remove it"
            ) from None
        for entry in entries:
            found[json.dumps(entry, sort_keys=True)] = entry
    return sorted(found.values(), key=lambda entry: str(entry["finished"]))


def write_times(folder: Path, times: Sequence[Mapping[str, Any]]) -> None:
    """The file that `read` reads."""
    storage.write_atomically(folder / TIMES, (json.dumps(list(times), indent=1) + "\n").encode())


def elapsed_seconds(times: Sequence[Mapping[str, Any]]) -> float:
    """Seconds during which at least one of the stages ran: they may run beside each other, or on different days."""
    spans = sorted((_end_time(one) - float(one["seconds"]), _end_time(one)) for one in times)
    spent, last = 0.0, float("-inf")
    for start, end in spans:
        spent += max(0.0, end - max(start, last))
        last = max(last, end)
    return spent


def _end_time(one: Mapping[str, Any]) -> float:
    return datetime.strptime(one["finished"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def read_extrapolated(folder: Path) -> list[str]:
    """What `benchmarks/two_cores.py` found, if it was run, as a part of the page."""
    file = folder / EXTRAPOLATED
    if not file.is_file():
        return []
    found = json.loads(file.read_text("utf-8"))
    rows, missing = found["rows"], found.get("missing")
    if not rows:
        return []
    what = f"all but {', '.join(missing)}" if missing else "all of it"
    hours = sum(row["hours on two cores"] for row in rows)
    lines = [" | ".join(map(str, row)) for row in (rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows))]
    said = (
        f"On two cores ({found['processor']}) {what} would take {hours:.1f} hours: extrapolated from one method "
        f"of each family, run on {found['dataset']}.\n"
    )
    return [said, "".join(f"| {line} |\n" for line in lines)]


def times_section(times: Sequence[Mapping[str, Any]]) -> list[str]:
    """A part of the page."""
    if not times:
        return []
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in times:
        kinds.setdefault((one["stage"], one.get("machine") or one["device"]), []).append(one)
    lines = ["| stage | on | units | commands | seconds of all commands |", "| --- | --- | ---: | ---: | ---: |"]
    for (stage, machine), mine in kinds.items():
        units, seconds = sum(one["units"] for one in mine), sum(one["seconds"] for one in mine)
        lines.append(f"| {stage} | {machine} | {units} | {len(mine)} | {seconds:.0f} |")
    machines: dict[str, list[Mapping[str, Any]]] = {}
    for (_, machine), mine in kinds.items():
        machines.setdefault(machine, []).extend(mine)
    spent = ", ".join(f"{elapsed_seconds(mine) / 60:.0f} minutes on {machine}" for machine, mine in machines.items())
    said = f"Commands ran beside each other. On the clock all of it took {spent}.\n"
    return ["## Times\n", said, "\n".join(lines) + "\n"]


# Sensitivity run ------------------------------------------------------------------------------------------------------
# Accuracy while one setting varies and the others stay where validation put them.

WIDE = (0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0, 200.0, 1000.0)
VALUES: Mapping[str, Mapping[str, Sequence[float]]] = {  # method → setting → what it is set to
    "gaussian-ort": {
        "sigma": (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0, 5.0, 10.0),
        "repulsion": WIDE,
    },
    "cauchy-ort": {
        "sigma": (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 6.0, 15.0, 40.0),
        "repulsion": WIDE,
    },
    "polynomial-4": {
        "bias": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0),
        "repulsion": WIDE,
    },
}


@dataclass(frozen=True)
class Varying:
    """One unit: a method from one seed, each of some settings varied in turn around the `setting` that was chosen.

    Each value is trained on the folds, for validation, and on all training rows, for test. Test accuracies are looked
    at here alone, after everything was chosen.
    """

    method: str
    seed: int
    setting: Mapping[str, Any]
    device: str | None = None
    divisible: bool = True

    @property
    def name(self) -> str:
        return f"{self.method} seed {self.seed} sensitivity"

    @property
    def values(self) -> dict[str, list[float]]:
        """Setting → its values in rising order, the chosen one among them."""
        return {
            name: sorted({*map(float, values), float(self.setting[name])})
            for name, values in VALUES[self.method].items()
        }

    def key(self, data: Dataset) -> str:
        about = {"part": "sensitivity", "method": self.method, "seed": self.seed}
        return run_folder.unit_key(
            {**unit.data_identity(data), **about, "setting": dict(self.setting), "values": self.values}
        )

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> SensitivityRecord:
        state = unit.unit_seed(data.name, self.method, self.seed)
        estimator = methods.build(self.method, {"random_state": state, "device": self.device})
        settings = [
            {**self.setting, name: value} for name, values in self.values.items() for value in values
        ]  # the chosen one comes up once for each name
        clock = unit.Clock()
        rows = data.parts["trainval"]

        def searching(done: int, tasks: int) -> None:
            if report is not None:
                report("validation", done, tasks)

        folds = selection.folds(data)
        search = selection.search(
            estimator, data.X[rows], data.y[rows], data.signatures, settings, folds, engine, searching
        )
        clock.lap("validation")
        tested = _test_settings(estimator, search.settings, data, engine)
        clock.lap("test")
        return SensitivityRecord(
            key=self.key(data),
            dataset=data.name,
            features=data.features,
            fingerprint=data.fingerprint,
            features_digest=data.features_digest,
            method=self.method,
            seed=self.seed,
            random_state=state,
            device=self.device,
            setting=dict(self.setting),
            curves={name: self._curve(name, values, search, tested) for name, values in self.values.items()},
            seconds=clock.seconds,
            versions=run_folder.package_versions(),
            finished=unit.utc_now(),
        )

    def _curve(self, name: str, values: Sequence[float], search: Search, tested: Sequence[float | None]) -> Varied:
        """Values, accuracies of each on every fold, and on test rows; None where training diverged."""
        place = {_freeze_setting(setting): number for number, setting in enumerate(search.settings)}
        at = [place[_freeze_setting({**self.setting, name: value})] for value in values]
        scores = [search.zsl[number] for number in at]
        folds = (tuple(row.tolist()) if np.isfinite(row).all() else None for row in scores)
        return Varied(tuple(values), tuple(folds), tuple(tested[number] for number in at))


def _freeze_setting(setting: Mapping[str, Any]) -> str:
    return repr(sorted(setting.items()))


def _test_settings(
    estimator: Any, settings: Sequence[Mapping[str, Any]], data: Dataset, engine: Engine | None
) -> list[float | None]:
    """Zero-shot accuracy on test rows of each setting fitted on all training rows; None where it diverged."""
    rows = data.parts["trainval"]
    if runs_on_gpu(data.X, estimator.device):
        fitted = kernel_classifier.fit_stack(estimator, settings, data.X[rows], data.y[rows], data.signatures)
        return [None if one.diverged_ is not None else protocols.zsl(one, data).accuracy for one in fitted]
    found = sorted(engines.each(_test_one, list(settings), (estimator, data), engine), key=lambda pair: pair[0])
    return [accuracy for _, accuracy in found]


def _test_one(shared: tuple[Any, Dataset], setting: Mapping[str, Any]) -> float | None:
    estimator, data = shared
    rows = data.parts["trainval"]
    try:
        fitted = kernel_classifier.fit_stack(estimator, [setting], data.X[rows], data.y[rows], data.signatures)[0]
    except DivergenceError:
        return None
    return None if fitted.diverged_ is not None else protocols.zsl(fitted, data).accuracy


# Convergence run ------------------------------------------------------------------------------------------------------
# Objective and accuracy along a run: training against validation rows, then all training against test rows.

LOOKS_PER_RUN = 50  # along a run
EPOCHS = 10  # at least: a prefix of a run is a shorter run


@dataclass(frozen=True)
class Watching:
    """One unit: a kernel method from one seed at the `setting` that was chosen, run on to `EPOCHS` where that is more.

    Rows are watched; they never influence W.
    """

    method: str
    seed: int
    setting: Mapping[str, Any]
    device: str | None = None
    divisible: bool = False

    @property
    def name(self) -> str:
        return f"{self.method} seed {self.seed} convergence"

    @property
    def epochs(self) -> int:
        return max(EPOCHS, int(self.setting.get("epochs", 0)))

    def key(self, data: Dataset) -> str:
        about = {"part": "convergence", "method": self.method, "seed": self.seed, "epochs": self.epochs}
        return run_folder.unit_key({**unit.data_identity(data), **about, "setting": dict(self.setting)})

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> ConvergenceRecord:
        state = unit.unit_seed(data.name, self.method, self.seed)
        settings = {**self.setting, "epochs": self.epochs, "random_state": state, "device": self.device}
        trainval, fold = data.parts["trainval"], selection.folds(data)[0]
        phases = {
            "validation": {"training": trainval[fold.train], "held out": trainval[fold.val_unseen]},
            "test": {"training": trainval, "held out": data.parts["test_unseen"]},
        }
        clock = unit.Clock()
        found = {}
        for name, sides in phases.items():
            found[name] = _train_watched(methods.build(self.method, settings), data, sides, report)
            clock.lap(name)
        return ConvergenceRecord(
            key=self.key(data),
            dataset=data.name,
            features=data.features,
            fingerprint=data.fingerprint,
            features_digest=data.features_digest,
            method=self.method,
            seed=self.seed,
            random_state=state,
            device=self.device,
            setting=dict(self.setting),
            epochs=self.epochs,
            phases=found,
            seconds=clock.seconds,
            versions=run_folder.package_versions(),
            finished=unit.utc_now(),
        )


def _train_watched(estimator: Any, data: Dataset, sides: Mapping[str, Any], report: Report | None) -> Phase:
    """Trained on the first side, looked at on both: among the classes of a side its accuracy and objective."""
    rows = sides["training"]
    steps = estimator.epochs * (len(rows) // min(estimator.batch_size, len(rows)))
    every = max(1, steps // LOOKS_PER_RUN)
    objectives: dict[str, list[float]] = {name: [] for name in sides}
    measures: dict[str, _Measure] = {}

    def look(progress: Progress) -> None:
        if report is not None:
            report("fit", progress.step, progress.steps)
        if progress.step % every and progress.step != progress.steps:
            return
        for name, mine in sides.items():
            if name not in measures:
                measures[name] = _Measure(estimator, data, mine, progress.projection)
            objectives[name].append(measures[name].objective(progress.projection))

    pairs = {name: (data.X[mine], data.y[mine]) for name, mine in sides.items()}
    estimator.fit(data.X[rows], data.y[rows], data.signatures, callback=look, monitor=pairs, monitor_every=every)
    accuracy = estimator.history_.accuracy
    return Phase(
        step=tuple(accuracy["training"][0].tolist()),
        rows=len(rows),
        objective={name: tuple(values) for name, values in objectives.items()},
        accuracy={name: tuple(accuracy[name][1].tolist()) for name in sides},
    )


class _Measure:
    """The objective of rows among their own classes, each class by the mean of its signatures."""

    def __init__(self, estimator: Any, data: Dataset, rows: Any, place: Any) -> None:
        classes, codes = np.unique(data.y[rows], return_inverse=True)
        table = data.signatures.groupby(level=0).mean().loc[classes].to_numpy(dtype=np.float32)
        self.X = convert_like(estimator.feature_scaling_.apply(data.X[rows]), place)
        self.Y = convert_like(estimator.signature_scaling_.apply(table), place)
        self.codes = convert_like(codes, place, "int64")
        self.sizes = convert_like(np.bincount(codes), place)
        names = ("loss", "balance", "repulsion", "temperature", "incoherence_weight")
        self.formula = Objective(
            estimator._kernel(),
            incoherence=bool(estimator.incoherence),
            **{name: getattr(estimator, name) for name in names},
        )

    def objective(self, W: Any) -> float:
        found = self.formula.evaluate(W, self.X, self.Y, self.codes, self.sizes).objective
        return float(f"{float(to_numpy(found)[0]):.6g}")


# Run ------------------------------------------------------------------------------------------------------------------
# What there is to run for some parts of the evaluation, run by the sweep; then what was found.

Tell = Callable[[str], object]
Load = Callable[[DatasetSource], Dataset]
R = TypeVar("R", bound=StoredRecord)


class Display(sweep.SweepDisplay, Protocol):
    """Of one stage; told also of each unit that is finished."""

    def finished(self, place: int) -> None: ...


Show = Callable[[Sequence[str], int], AbstractContextManager[Display]]  # names of units, how many were done before


@dataclass(frozen=True)
class Order:
    """What is wanted. A dataset may come from several sources, with other features each. `device` is for the methods
    that train there: all others run on the CPU, through the engine."""

    parts: tuple[str, ...]
    sources: tuple[DatasetSource, ...]
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


def run_evaluation(order: Order, load: Load, show: Show, tell: Tell) -> Course:
    """Run what the folder `order.out` lacks, and collect. `load` opens a dataset, or says why it cannot."""
    with (
        run_folder.open_run_folder(order.out, Record.from_json) as runs,
        run_folder.open_run_folder(order.out / resultss.CURVES, resultss.curve_record_from_json) as curves,
    ):
        merged = resultss.merge_records(order.merge, runs, curves, order.compact)
        if order.merge:
            tell(f"{merged} record(s) merged into {order.out}")
        times = read_times(order.out, *(path for path in order.merge if path.is_dir()))
        problems, loaded = _plan_problems(order, load, [*runs.done.values(), *curves.done.values()], tell)
        course = Course(Results((), (), {}))
        conductor = _Conductor(order, course, times, show, tell)
        try:
            methods = resultss.needed_methods(order.parts, order.methods)
            once = [name for name in methods if len(unit.useful_seeds(name, order.seeds)) < order.seeds]
            if once and loaded:
                tell(f"{', '.join(once)}: run once, since every seed gives the same model")
            device = None if order.device == "cpu" else order.device
            there = [name for name in methods if device and name not in resultss.ON_CPU]
            here = [name for name in methods if name not in there]
            conductor.stage(f"methods on {device}", _evaluation_units(loaded, there, order.seeds, device), runs)
            conductor.stage("methods", _evaluation_units(loaded, here, order.seeds, None), runs)
            for part, make in (("sensitivity", Varying), ("convergence", Watching)):
                if part in order.parts:
                    conductor.stage(part, _curve_units(part, make, order, loaded, runs, conductor.found, tell), curves)
        finally:
            if times and (conductor.timed or merged):
                write_times(order.out, times)
        course.results = conductor.found(problems, runs, curves)
        return course


class _Conductor:
    def __init__(self, order: Order, course: Course, times: list[dict[str, Any]], show: Show, tell: Tell) -> None:
        self.order, self.course, self.times, self.show, self.tell = order, course, times, show, tell
        self.timed = False

    def stage(self, name: str, pieces: Sequence[SweepTask[R]], folder: RunFolder[R]) -> None:
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
                closing(sweep.run_sweep(pieces, self.order.engine, folder, display)) as outcomes,
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
                    "machine": _describe_machine(pieces[0].unit.device),
                    "finished": unit.utc_now(),
                }
            )

    def _processes(self, pieces: Sequence[SweepTask[R]]) -> int:
        engine = self.order.engine
        alone = engine is None or engine.address is not None or pieces[0].unit.device not in (None, "cpu")
        return 1 if alone or engine is None else engine.processes

    def found(
        self, problems: Sequence[Problem], runs: RunFolder[Record], curves: RunFolder[CurveRecord] | None = None
    ) -> Results:
        others: Iterable[CurveRecord] = () if curves is None else curves.done.values()
        order = self.order
        return resultss.select_records(problems, order.methods, order.seeds, runs.done.values(), others, self.times)


def _describe_machine(device: str | None) -> str:
    """Its cores, and the GPU that was used."""
    cores = f"{os.cpu_count()} cores"
    if device is None or device.startswith("cpu"):
        return cores
    import torch

    return f"{cores}, {torch.cuda.get_device_name(device)}"


def _plan_problems(
    order: Order, load: Load, there: Sequence[Identified], tell: Tell
) -> tuple[list[Problem], list[tuple[DatasetSource, Dataset]]]:
    """What there are tables of; and of these what can be run."""
    problems: dict[Problem, None] = {}
    loaded: list[tuple[DatasetSource, Dataset]] = []
    for source in order.sources:
        known = resultss.recorded_problems(there, source.name, source.features) or [Problem(source.name, missing=True)]
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


def make_unit(method: str, seed: int, device: str | None) -> Unit:
    """Settings by both scorings from the grid of the table, which is fixed: see `paper_methods.grid`."""
    return Unit(method, seed, {}, device, tune=True, calibrate=True, fixed_grid=resultss.published_grid(method))


def _evaluation_units(
    loaded: Sequence[tuple[DatasetSource, Dataset]], methods: Sequence[str], seeds: int, device: str | None
) -> list[SweepTask[Record]]:
    """The first seed of all methods before the next, and of each seed the slowest methods first."""
    return [
        SweepTask(source, data, make_unit(method, seed, device))
        for seed in range(seeds)
        for method in resultss.sort_slowest_first(methods)
        if seed in unit.useful_seeds(method, seeds)
        for source, data in loaded
    ]


def _curve_units(
    part: str,
    make: Callable[[str, int, Any, str | None], SweepUnit[CurveRecord]],
    order: Order,
    loaded: Sequence[tuple[DatasetSource, Dataset]],
    runs: RunFolder[Record],
    found: Callable[[Sequence[Problem], RunFolder[Record]], Results],
    tell: Tell,
) -> list[SweepTask[CurveRecord]]:
    """Units around the setting that validation chose, by zero-shot accuracy, for the lowest seed."""
    pieces: list[SweepTask[CurveRecord]] = []
    for source, data in loaded:
        problem = problem_of_data(data)
        results = found([problem], runs)
        for method in resultss.needed_methods((part,), order.methods):
            mine = results.runs.get((problem, method))
            choice = mine[0].tune.choices.zsl if mine else None
            if choice is None:
                tell(f"{data.name} {method}: no {part} without a record of what validation chose")
                continue
            units = [make(method, seed, choice.setting, order.device) for seed in range(order.seeds)]
            pieces += [SweepTask(source, data, one) for one in units]
    return pieces
