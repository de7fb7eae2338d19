"""Objective and accuracy along a run: training against validation rows, then all training against test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl import methods, selection
from zskl.arrays import like, to_numpy
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.experiments import jsonl_log, unit
from zskl.experiments.unit import Report
from zskl.paper.curve_records import ConvergenceRecord, Phase
from zskl.training.objective import Objective
from zskl.training.solver import Progress

LOOKS = 50  # along a run
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
        return jsonl_log.key_of({**unit.identity(data), **about, "setting": dict(self.setting)})

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> ConvergenceRecord:
        state = unit.seed_of(data.name, self.method, self.seed)
        settings = {**self.setting, "epochs": self.epochs, "random_state": state, "device": self.device}
        trainval, fold = data.parts["trainval"], selection.folds(data)[0]
        phases = {
            "validation": {"training": trainval[fold.train], "held out": trainval[fold.val_unseen]},
            "test": {"training": trainval, "held out": data.parts["test_unseen"]},
        }
        clock = unit.Clock()
        found = {}
        for name, sides in phases.items():
            found[name] = _watched(methods.build(self.method, settings), data, sides, report)
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
            versions=jsonl_log.versions(),
            finished=unit.finished(),
        )


def _watched(estimator: Any, data: Dataset, sides: Mapping[str, Any], report: Report | None) -> Phase:
    """Trained on the first side, looked at on both: among the classes of a side its accuracy and objective."""
    rows = sides["training"]
    steps = estimator.epochs * (len(rows) // min(estimator.batch_size, len(rows)))
    every = max(1, steps // LOOKS)
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
        self.X = like(estimator.feature_scaling_.apply(data.X[rows]), place)
        self.Y = like(estimator.signature_scaling_.apply(table), place)
        self.codes = like(codes, place, "int64")
        self.sizes = like(np.bincount(codes), place)
        names = ("loss", "balance", "repulsion", "temperature", "incoherence_weight")
        self.formula = Objective(
            estimator._kernel(),
            incoherence=bool(estimator.incoherence),
            **{name: getattr(estimator, name) for name in names},
        )

    def objective(self, W: Any) -> float:
        found = self.formula.evaluate(W, self.X, self.Y, self.codes, self.sizes).objective
        return float(f"{float(to_numpy(found)[0]):.6g}")
