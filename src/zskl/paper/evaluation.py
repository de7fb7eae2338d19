"""The units of the evaluation: what there is to run for some of its parts, and how long that took. They are those of
`zskl run`, and two of its own: accuracy while one setting varies, and the course of training."""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from zskl import _files, engines, methods, protocols, selection
from zskl._arrays import convert_like, runs_on_gpu, to_numpy
from zskl._display import count_noun
from zskl.datasets import Dataset, xlsa17
from zskl.engines import Engine
from zskl.estimators import kernel_classifier
from zskl.experiments import run_folder, sweep, unit
from zskl.experiments.record import Record
from zskl.experiments.run_folder import RunFolder, StoredRecord
from zskl.experiments.sweep import DatasetSource, Failure, SweepTask
from zskl.experiments.unit import Report, Unit
from zskl.paper import results
from zskl.paper.results import ConvergenceRecord, CurveRecord, Problem, Results, SensitivityRecord, problem_of
from zskl.selection import Search
from zskl.training.objective import Objective
from zskl.training.solver import DivergenceError, Progress

TIMES = "times.json"


def read_times(*folders: Path) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for file in (folder / TIMES for folder in folders):
        try:
            entries = json.loads(file.read_text("utf-8")) if file.is_file() else []
        except ValueError:
            raise ValueError(
                f"{file} cannot be read: expected the wall times that zskl paper wrote; remove it"
            ) from None
        found |= {json.dumps(entry, sort_keys=True): entry for entry in entries}
    return sorted(found.values(), key=lambda entry: str(entry["finished"]))


Tested: TypeAlias = tuple[float | None, str | None]  # accuracy and packed answers; None where training diverged

# Sensitivity: accuracy while one setting varies and the others stay where validation put them

WIDE = (0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 16.0, 50.0, 200.0, 1000.0)
VALUES: Mapping[str, Mapping[str, Sequence[float]]] = {  # method → setting → what it is set to
    "gaussian-ort": {"sigma": (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0, 5.0, 10.0), "repulsion": WIDE},
    "cauchy-ort": {
        "sigma": (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 6.0, 15.0, 40.0),
        "repulsion": WIDE,
    },
    "polynomial-4": {"bias": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0), "repulsion": WIDE},
}


@dataclass(frozen=True)
class _CurveUnit:
    """One unit: a method from one seed, around the `setting` that validation chose."""

    method: str
    seed: int
    setting: Mapping[str, Any]
    device: str | None = None
    part: ClassVar[str]
    extent: ClassVar[str]  # the property that says what is run around the setting

    @property
    def name(self) -> str:
        return f"{self.method} seed {self.seed} {self.part}"

    def key(self, data: Dataset) -> str:
        about = {"part": self.part, "method": self.method, "seed": self.seed, "setting": dict(self.setting)}
        return run_folder.unit_key({**unit.data_identity(data), **about, self.extent: getattr(self, self.extent)})

    def _stamp(self, data: Dataset, state: int, clock: unit.Clock) -> dict[str, Any]:
        return {
            **unit.data_identity(data),
            "published_features": xlsa17.has_published_features(data),
            "key": self.key(data),
            "method": self.method,
            "seed": self.seed,
            "random_state": state,
            "device": self.device,
            "setting": dict(self.setting),
            "seconds": clock.seconds,
            "versions": run_folder.package_versions(),
            "finished": unit.utc_now(),
        }


@dataclass(frozen=True)
class SensitivityUnit(_CurveUnit):
    """Each value trained on the folds and on all training rows. Test rows are looked at after everything was chosen."""

    divisible: bool = True
    part: ClassVar[str] = "sensitivity"
    extent: ClassVar[str] = "values"

    @property
    def values(self) -> dict[str, list[float]]:
        """Setting → its values in rising order, the chosen one among them."""
        return {
            name: sorted({*map(float, values), float(self.setting[name])})
            for name, values in VALUES[self.method].items()
        }

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> SensitivityRecord:
        state = unit.unit_seed(data.name, self.method, self.seed)
        estimator = methods.build(self.method, {"random_state": state, "device": self.device})
        # The chosen setting comes up once for each name.
        settings = [{**self.setting, name: value} for name, values in self.values.items() for value in values]
        clock = unit.Clock()
        rows = data.parts["trainval"]
        search = selection.search(
            estimator,
            data.X[rows],
            data.y[rows],
            data.signatures,
            settings,
            selection.folds(data),
            engine,
            None if report is None else partial(report, "validation"),
        )
        clock.lap("validation")
        tested = _evaluate_settings(estimator, search.settings, data, engine)
        clock.lap("test")
        curves = {name: self._curve(name, values, search, tested) for name, values in self.values.items()}
        stamp = self._stamp(data, state, clock)
        return SensitivityRecord(**stamp, curves=curves, class_rows=unit.pack_class_rows(data))

    def _curve(
        self, name: str, values: Sequence[float], search: Search, tested: Sequence[Tested]
    ) -> results.SettingCurve:
        at = [search.settings.index({**self.setting, name: value}) for value in values]
        scores = [search.zsl[number] for number in at]
        folds = (tuple(row.tolist()) if np.isfinite(row).all() else None for row in scores)
        accuracies, answers = zip(*(tested[number] for number in at), strict=True)
        return results.SettingCurve(tuple(values), tuple(folds), accuracies, answers if any(answers) else None)


def _evaluate_settings(
    estimator: Any, settings: Sequence[Mapping[str, Any]], data: Dataset, engine: Engine | None
) -> list[Tested]:
    """Zero-shot accuracy on test rows of each setting fitted on all training rows, and which rows are right."""
    rows = data.parts["trainval"]
    if runs_on_gpu(data.X, estimator.device):
        fitted = kernel_classifier.fit_stack(estimator, settings, data.X[rows], data.y[rows], data.signatures)
        return [_evaluate_fitted(one, data) for one in fitted]
    found = dict(engines.each(_evaluate_one_setting, list(settings), (estimator, data), engine))
    return [found[place] for place in range(len(settings))]


def _evaluate_one_setting(shared: tuple[Any, Dataset], setting: Mapping[str, Any]) -> Tested:
    estimator, data = shared
    rows = data.parts["trainval"]
    try:
        fitted = kernel_classifier.fit_stack(estimator, [setting], data.X[rows], data.y[rows], data.signatures)[0]
    except DivergenceError:
        return None, None
    return _evaluate_fitted(fitted, data)


def _evaluate_fitted(model: Any, data: Dataset) -> Tested:
    if model.diverged_ is not None:
        return None, None
    prepared = protocols.prepare_model(model, data)
    result = protocols.score_zero_shot(prepared, data)
    return result.accuracy, unit.pack_result_answers(result, prepared, data).compact().unseen


# Convergence: training against validation rows, then all training against test rows

LOOKS_PER_RUN = 50  # along a run
EPOCHS = 10  # at least: a prefix of a run is a shorter run


@dataclass(frozen=True)
class ConvergenceUnit(_CurveUnit):
    """A run that goes on to `EPOCHS` where that is more than was chosen. Rows are watched; they never influence W."""

    divisible: bool = False
    part: ClassVar[str] = "convergence"
    extent: ClassVar[str] = "epochs"

    @property
    def epochs(self) -> int:
        return max(EPOCHS, int(self.setting.get("epochs", 0)))

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
            found[name] = _evaluate_while_training(methods.build(self.method, settings), data, sides, report)
            clock.lap(name)
        return ConvergenceRecord(**self._stamp(data, state, clock), epochs=self.epochs, phases=found)


def _evaluate_while_training(
    estimator: Any, data: Dataset, sides: Mapping[str, Any], report: Report | None
) -> results.Phase:
    """Trained on the first side, looked at on both: among the classes of a side its accuracy and objective."""
    rows = sides["training"]
    steps = estimator.epochs * (len(rows) // min(estimator.batch_size, len(rows)))
    every = max(1, steps // LOOKS_PER_RUN)
    objectives: dict[str, list[float]] = {name: [] for name in sides}
    measures: dict[str, _ObjectiveMeter] = {}

    def watch(progress: Progress) -> None:
        if report is not None:
            report("fit", progress.step, progress.steps)
        if progress.step % every and progress.step != progress.steps:
            return
        for name, mine in sides.items():
            if name not in measures:
                measures[name] = _ObjectiveMeter(estimator, data, mine, progress.projection)
            objectives[name].append(measures[name].objective(progress.projection))

    pairs = {name: (data.X[mine], data.y[mine]) for name, mine in sides.items()}
    estimator.fit(data.X[rows], data.y[rows], data.signatures, callback=watch, monitor=pairs, monitor_every=every)
    accuracy = estimator.history_.accuracy
    return results.Phase(
        step=tuple(accuracy["training"][0].tolist()),
        rows=len(rows),
        objective={name: tuple(values) for name, values in objectives.items()},
        accuracy={name: tuple(accuracy[name][1].tolist()) for name in sides},
    )


class _ObjectiveMeter:
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


Tell = Callable[[str], object]
Load = Callable[[DatasetSource], Dataset]
R = TypeVar("R", bound=StoredRecord)


class StageDisplay(sweep.SweepDisplay, Protocol):
    def finished(self, place: int) -> None: ...


Show = Callable[[Sequence[str], int], AbstractContextManager[StageDisplay]]  # names of units, how many were done before


@dataclass(frozen=True)
class Order:
    """A dataset may come from several sources. `device` is for the methods that gain from it; others run on the CPU."""

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
class Outcome:
    results: Results
    failures: list[str] = field(default_factory=list)
    ran: int = 0


def run_evaluation(order: Order, load: Load, show: Show, tell: Tell) -> Outcome:
    """Run what the folder `order.out` lacks, and collect. `load` opens a dataset, or says why it cannot."""
    with (
        run_folder.open_run_folder(order.out, Record.from_json) as runs,
        run_folder.open_run_folder(order.out / results.CURVES, results.curve_record_from_json) as curves,
    ):
        merged = results.merge_records(order.merge, runs, curves, order.compact)
        if order.merge:
            tell(f"{count_noun(merged, 'record')} merged into {order.out}")
        times = read_times(order.out, *(path for path in order.merge if path.is_dir()))
        before = len(times)
        problems, loaded = _plan_problems(order, load, [*runs.done.values(), *curves.done.values()], tell)
        outcome = Outcome(Results((), (), {}))

        run_stage = partial(
            _run_evaluation_stage, engine=order.engine, outcome=outcome, times=times, show=show, tell=tell
        )
        try:
            methods = results.needed_methods(order.parts, order.methods)
            once = [name for name in methods if len(unit.useful_seeds(name, order.seeds)) < order.seeds]
            if once and loaded:
                tell(f"{', '.join(once)}: run once, since every seed gives the same model")
            device = None if order.device == "cpu" else order.device
            there = [name for name in methods if device and name not in results.ON_CPU]
            here = [name for name in methods if name not in there]
            run_stage(f"methods on {device}", _evaluation_units(loaded, there, order.seeds, device), runs)
            run_stage("methods", _evaluation_units(loaded, here, order.seeds, None), runs)
            for make in (SensitivityUnit, ConvergenceUnit):
                if make.part in order.parts:
                    run_stage(make.part, _curve_units(make, order, loaded, runs, tell), curves)
        finally:
            if times and (len(times) > before or merged):
                text = json.dumps(times, indent=1) + "\n"
                _files.write_atomically(order.out / TIMES, text.encode())
        outcome.results = results.select_records(
            problems, order.methods, order.seeds, runs.done.values(), curves.done.values(), times
        )
        return outcome


def _run_evaluation_stage(
    name: str,
    pieces: Sequence[SweepTask[R]],
    folder: RunFolder[R],
    engine: Engine | None,
    outcome: Outcome,
    times: list[dict[str, Any]],
    show: Show,
    tell: Tell,
) -> None:
    """One sweep. Its wall time is added to `times`, unless nothing was left to do."""
    before = sum(piece.key in folder.done for piece in pieces)
    if before == len(pieces):
        return
    if before:
        tell(f"{name}: {before} of {len(pieces)} units were done before")
    start, ran = time.perf_counter(), -before
    device = pieces[0].unit.device
    try:
        with (
            show([piece.name for piece in pieces], before) as display,
            closing(sweep.run_sweep(pieces, engine, folder, display)) as outcomes,
        ):
            for place, found in outcomes:
                display.finished(place)
                ran += 1
                if isinstance(found, Failure):
                    outcome.failures.append(found.sentence)
    finally:
        outcome.ran += max(0, ran)
        alone = engine is None or engine.address is not None or device not in (None, "cpu")
        times.append(
            {
                "stage": name,
                "datasets": sorted({problem_of(piece.data).name for piece in pieces}),
                "units": max(0, ran),
                "seconds": round(time.perf_counter() - start, 1),
                "device": device or "cpu",
                "processes": 1 if alone or engine is None else engine.processes,
                "machine": _describe_machine(device),
                "finished": unit.utc_now(),
            }
        )


def _describe_machine(device: str | None) -> str:
    cores = f"{os.cpu_count()} cores"
    if device is None or device.startswith("cpu"):
        return cores
    import torch

    return f"{cores}, {torch.cuda.get_device_name(device)}"


def _plan_problems(
    order: Order, load: Load, there: Sequence[results.AnyRecord], tell: Tell
) -> tuple[list[Problem], list[tuple[DatasetSource, Dataset]]]:
    problems: dict[Problem, None] = {}
    loaded: list[tuple[DatasetSource, Dataset]] = []
    for source in order.sources:
        known = results.recorded_problems(there, source.name, source.features) or [Problem(source.name, missing=True)]
        try:
            data = None if order.offline else load(source)
        except (OSError, ValueError) as error:
            data = None
            instead = "skipped" if known[0].missing else "shown as far as it is recorded; nothing of it is run"
            tell(f"{source.name} cannot be read and is {instead}: {error}")
        if data is None:
            problems |= dict.fromkeys(known)
        elif problem_of(data) not in problems:
            problems[problem_of(data)] = None
            loaded.append((source, data))
    return list(problems), loaded


def make_unit(method: str, seed: int, device: str | None) -> Unit:
    return Unit(
        method, seed, {}, device, tune=True, calibrate=True, scoring="each", fixed_grid=results.published_grid(method)
    )


def _evaluation_units(
    loaded: Sequence[tuple[DatasetSource, Dataset]], methods: Sequence[str], seeds: int, device: str | None
) -> list[SweepTask[Record]]:
    """The first seed of all methods before the next, and of each seed the slowest methods first."""
    return [
        SweepTask(source, data, make_unit(method, seed, device))
        for seed in range(seeds)
        for method in results.sort_slowest_first(methods)
        if seed in unit.useful_seeds(method, seeds)
        for source, data in loaded
    ]


def _curve_units(
    make: type[SensitivityUnit] | type[ConvergenceUnit],
    order: Order,
    loaded: Sequence[tuple[DatasetSource, Dataset]],
    runs: RunFolder[Record],
    tell: Tell,
) -> list[SweepTask[CurveRecord]]:
    """Units around the setting that validation chose, by zero-shot accuracy, for the lowest seed."""
    pieces: list[SweepTask[CurveRecord]] = []
    for source, data in loaded:
        problem = problem_of(data)
        found = results.select_records([problem], order.methods, order.seeds, runs.done.values(), ()).runs
        for method in results.needed_methods((make.part,), order.methods):
            mine = found.get((problem, method))
            choice = mine[0].tune.choices.zsl if mine else None
            if choice is None:
                tell(f"{data.name} {method}: no {make.part} without a record of what validation chose")
                continue
            units = [make(method, seed, choice.setting, order.device) for seed in range(order.seeds)]
            pieces += [SweepTask(source, data, one) for one in units]
    return pieces
