"""Accuracy while one setting varies and the others stay where validation put them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl import engines, methods, protocols, selection
from zskl.arrays import on_gpu
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.estimators import kernel_classifier
from zskl.experiments import jsonl_log, unit
from zskl.experiments.unit import Report
from zskl.paper.curve_records import SensitivityRecord, Varied
from zskl.selection import Search
from zskl.training.solver import DivergenceError

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
        return jsonl_log.key_of({**unit.identity(data), **about, "setting": dict(self.setting), "values": self.values})

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> SensitivityRecord:
        state = unit.seed_of(data.name, self.method, self.seed)
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
        tested = _tested(estimator, search.settings, data, engine)
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
            versions=jsonl_log.versions(),
            finished=unit.finished(),
        )

    def _curve(self, name: str, values: Sequence[float], search: Search, tested: Sequence[float | None]) -> Varied:
        """Values, accuracies of each on every fold, and on test rows; None where training diverged."""
        place = {_frozen(setting): number for number, setting in enumerate(search.settings)}
        at = [place[_frozen({**self.setting, name: value})] for value in values]
        scores = [search.zsl[number] for number in at]
        folds = (tuple(row.tolist()) if np.isfinite(row).all() else None for row in scores)
        return Varied(tuple(values), tuple(folds), tuple(tested[number] for number in at))


def _frozen(setting: Mapping[str, Any]) -> str:
    return repr(sorted(setting.items()))


def _tested(
    estimator: Any, settings: Sequence[Mapping[str, Any]], data: Dataset, engine: Engine | None
) -> list[float | None]:
    """Zero-shot accuracy on test rows of each setting fitted on all training rows; None where it diverged."""
    rows = data.parts["trainval"]
    if on_gpu(data.X, estimator.device):
        fitted = kernel_classifier.fit_stack(estimator, settings, data.X[rows], data.y[rows], data.signatures)
        return [None if one.diverged_ is not None else protocols.zsl(one, data).accuracy for one in fitted]
    found = sorted(engines.each(_one, list(settings), (estimator, data), engine), key=lambda pair: pair[0])
    return [accuracy for _, accuracy in found]


def _one(shared: tuple[Any, Dataset], setting: Mapping[str, Any]) -> float | None:
    estimator, data = shared
    rows = data.parts["trainval"]
    try:
        fitted = kernel_classifier.fit_stack(estimator, [setting], data.X[rows], data.y[rows], data.signatures)[0]
    except DivergenceError:
        return None
    return None if fitted.diverged_ is not None else protocols.zsl(fitted, data).accuracy
