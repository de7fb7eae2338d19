"""Config → dataset → tune → fit → both protocols → record. The only conductor."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from zskl import methods, selection
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.estimators import default_grid
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.evidence import UNLABELLED
from zskl.experiments import evaluation, jsonl_log, model_summary
from zskl.experiments import record_parts as parts
from zskl.experiments.record import Record
from zskl.parameters import count, one_of
from zskl.selection import Choice, Search
from zskl.selection.material import check_seen
from zskl.selection.search_results import SCORINGS as SELECTED
from zskl.training.solver import Progress

log = logging.getLogger(__name__)
SCORINGS = (*SELECTED, "both")
REDEFINED: Mapping[str, Mapping[str, object]] = {"eszsl": {"targets": "zero-one"}}  # keys of older records lack it

Report: TypeAlias = Callable[[str, int, int], object]  # "search" or "fit", steps done, steps in all


@dataclass(frozen=True)
class Unit:
    """One run: a method with its settings, on one dataset, from one seed.

    tune        choose settings on folds of the training rows, from the method's default grid; `settings` stay fixed.
                The default setting is compared with them, and wins unless another is better beyond the spread of folds
    calibrate   choose the calibration constant and the temperatures on the folds
    scoring     what tuning chooses by: "zsl", "gzsl" (at the best constant) or "both", which chooses twice from one
                search; "gzsl" and "both" calibrate too. Default: "both" with `calibrate`, otherwise "zsl"
    shots       also score the model after so many examples of each unseen class, drawn by the seed; several numbers
    unlabelled  also score it after adaptation to unlabelled test rows: "unseen", "all", or both
    fixed_grid  for a protocol that must not change with our defaults: the one grid to search. The default setting is
                then not added, and the highest mean wins
    """

    method: str
    seed: int
    settings: Mapping[str, object] = field(default_factory=dict)
    device: str | None = None
    tune: bool = False
    calibrate: bool = False
    scoring: str | None = None
    shots: Sequence[int] = ()
    unlabelled: Sequence[str] = ()
    fixed_grid: Mapping[str, Sequence[Any]] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shots", tuple(sorted({count("shots", number) for number in self.shots})))
        for rows in self.unlabelled:
            one_of("unlabelled", rows, tuple(UNLABELLED))
        object.__setattr__(self, "unlabelled", tuple(rows for rows in UNLABELLED if rows in self.unlabelled))
        if self.shots:
            methods.check_able(self.method, "add_examples", "learn from examples")
        if self.unlabelled:
            methods.check_able(self.method, "adapt", "adapt to unlabelled rows")
        if not self.tune:
            if self.scoring is not None:
                raise ValueError(
                    f"scoring {self.scoring!r} was given without tune: it is what tuning chooses by; leave it out"
                )
            return
        scoring = self.scoring or ("both" if self.calibrate else "zsl")
        one_of("scoring", scoring, (*SCORINGS, "both"))
        object.__setattr__(self, "scoring", scoring)
        object.__setattr__(self, "calibrate", self.calibrate or scoring != "zsl")

    @property
    def grids(self) -> list[dict[str, list[Any]]]:
        """What tuning tries: mappings from a setting to its values."""
        if not self.tune:
            return []
        grid = methods.find(self.method).grid if self.fixed_grid is None else self.fixed_grid
        return default_grid.without(grid, self.settings)

    @property
    def compares_default(self) -> bool:
        """Whether tuning compares the default setting with the grid, and keeps it unless another is clearly better."""
        return self.tune and self.fixed_grid is None

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Setting → lowest and highest value to which tuning may extend the grid."""
        bounds = methods.find(self.method).bounds
        return {name: bounds[name] for grid in self.grids for name in grid if name in bounds}

    def key(self, data: Dataset) -> str:
        """What a finished unit is known by: all that decides its figures, but not where they were computed."""
        halved = self.compares_default and default_grid.trains(methods.find(self.method).grid)
        return jsonl_log.key_of(
            {
                **identity(data),
                "method": self.method,
                "seed": self.seed,
                "settings": {**({} if self.tune else REDEFINED.get(self.method.lower(), {})), **self.settings},
                "tune": self.tune,
                "calibrate": self.calibrate,
                "scoring": self.scoring,
                "grid": self.grids[0] if self.grids else None,
                **({"also": self.grids[1:]} if self.grids[1:] else {}),  # so that other units keep their keys
                **({"default": "compared"} if self.compares_default else {}),
                **({"halving": True} if halved else {}),
                **({"bounds": self.bounds} if self.bounds else {}),
                **({"shots": list(self.shots)} if self.shots else {}),
                **({"unlabelled": list(self.unlabelled)} if self.unlabelled else {}),
            }
        )

    @property
    def name(self) -> str:
        return f"{self.method} seed {self.seed}"

    @property
    def divisible(self) -> bool:
        """Whether there are fits inside that an engine could distribute."""
        return self.tune or self.calibrate

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> Record:
        """See the function `run`."""
        return run(self, data, report, engine)


def useful_seeds(method: str, seeds: int, shots: Sequence[int] = ()) -> range:
    """Of a method without randomness the first alone, unless the seed draws the examples that it is taught."""
    return range(seeds if methods.find(method).random or shots else min(seeds, 1))


def identity(data: Dataset) -> dict[str, str]:
    """What tells data apart, for keys."""
    return {
        "dataset": data.name,
        "features": data.features,
        "fingerprint": data.fingerprint,
        "features_digest": data.features_digest,
    }


def finished() -> str:
    """The present time in UTC, as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def seed_of(dataset: str, method: str, seed: int) -> int:
    """The random state of a unit (31 bits), from its names alone: adding a method or dataset changes no other."""
    digest = hashlib.sha256(f"{dataset}/{method}/{seed}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def run(unit: Unit, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> Record:
    """Choose where asked, fit on the trainval rows, evaluate both protocols, and return the record.

    The search and the fits of calibration go through `engine`."""
    state = seed_of(data.name, unit.method, unit.seed)
    estimator = methods.build(unit.method, {**unit.settings, "random_state": state, "device": unit.device})
    clock = Clock()
    model, calibrated, tuning = _fitted(unit, estimator, data, report, engine, clock)
    inductive = evaluation.results(model, calibrated, data)
    assert inductive.gzsl is not None
    probabilities = evaluation.probabilities(model, model if calibrated is None else calibrated, data)
    taught = evaluation.taught(model, calibrated, data, unit.shots, unit.seed)
    adapted = evaluation.adapted(model, calibrated, data, unit.unlabelled)
    summary = model_summary.of_model(model, data)
    clock.lap("evaluate")
    times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in clock.seconds.items())
    log.info("%s %s: %s", data.name, unit.name, times)
    return Record(
        key=unit.key(data),
        dataset=data.name,
        features=data.features,
        fingerprint=data.fingerprint,
        features_digest=data.features_digest,
        method=unit.method,
        seed=unit.seed,
        random_state=state,
        config=jsonl_log.plain(model._settings()),
        settings=jsonl_log.plain(unit.settings),
        tune=tuning,
        zsl=inductive.zsl,
        gzsl=inductive.gzsl,
        calibration=None if calibrated is None else float(calibrated.calibration_),
        gzsl_calibrated=inductive.gzsl_calibrated,
        taught=taught,
        adapted=adapted,
        probabilities=probabilities,
        incoherence=summary.incoherence,
        gram=summary.gram,
        gram_names=summary.gram_names,
        attributes=summary.attributes,
        convergence=summary.convergence,
        seconds=parts.Seconds(**clock.seconds),
        rows={name: len(part) for name, part in data.parts.items()},
        class_rows=evaluation.class_rows(data),
        versions=jsonl_log.versions(),
        finished=finished(),
    )


class Clock:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def _fitted(
    unit: Unit, estimator: ZeroShotClassifier, data: Dataset, report: Report | None, engine: Engine | None, clock: Clock
) -> tuple[ZeroShotClassifier, ZeroShotClassifier | None, parts.Tuning]:
    """The model of the plain figures, that of the calibrated figures (if asked for), and how they were chosen."""
    rows = data.parts["trainval"]
    X, y, table = data.X[rows], data.y[rows], data.signatures

    def fitting(state: Progress) -> None:
        if report is not None:
            report("fit", state.step, state.steps)

    def searching(done: int, tasks: int) -> None:
        if report is not None:
            report("search", done, tasks)

    if not unit.tune:
        estimator.fit(X, y, table, callback=fitting)
        clock.lap("fit")
        if not unit.calibrate:
            return estimator, None, parts.Tuning()
        selection.calibrate(estimator, X, y, table, selection.folds(data), engine)
        clock.lap("calibrate")
        return estimator, estimator, parts.Tuning()

    folds = selection.folds(data)
    if unit.scoring != "zsl":
        check_seen(folds)  # before the search is paid for
    search = selection.search(
        *(estimator, X, y, table, unit.grids, folds, engine, searching, unit.bounds),
        with_default=unit.compares_default,
        halving=None if unit.compares_default else False,
    )
    clock.lap("search")
    if len(search.diverged) == len(search.settings):
        raise ArithmeticError(f"all {len(search.settings)} settings of the grid diverged: fix a lower learning_rate")
    refits: dict[int, ZeroShotClassifier] = {}  # place → model: one fit where both scorings take the same setting
    models: dict[str, ZeroShotClassifier] = {}
    choices: dict[str, Choice] = {}
    for scoring in SELECTED if unit.scoring == "both" else (str(unit.scoring),):
        choices[scoring] = search.pick(scoring)
        if choices[scoring].place not in refits:  # the best may diverge on all rows: then its own next best is taken
            fitted, choices[scoring] = selection.refit(estimator, search, scoring, X, y, table, fitting, engine)
            refits[choices[scoring].place] = fitted
        models[scoring] = refits[choices[scoring].place]
    clock.lap("fit")
    plain, calibrated = next(iter(models.values())), list(models.values())[-1]
    return plain, calibrated if unit.calibrate else None, _choosing(unit, search, choices)


def _choosing(unit: Unit, search: Search, choices: Mapping[str, Choice]) -> parts.Tuning:
    """What was tried and what was chosen."""
    diverged = search.diverged.items()
    made = {
        scoring: parts.Choice(
            jsonl_log.plain(choice.setting),
            choice.score,
            choice.fold_scores,
            choice.spread,
            choice.calibration,
            {name: tuple(map(model_summary.short, figures)) for name, figures in choice.figures.items()},
            tuple(parts.Edge(edge.name, float(edge.value), edge.side, edge.bound) for edge in choice.edges),
            choice.against_default,
        )
        for scoring, choice in choices.items()
    }
    grids = [{name: tuple(values) for name, values in grid.items()} for grid in unit.grids]
    return parts.Tuning(
        scoring=unit.scoring,
        grid=grids[0],
        also=tuple(grids[1:]) or None,
        folds=len(search.folds),
        bounds=unit.bounds or None,
        settings=len(search.settings),
        extended=search.extended,
        table=model_summary.tried(search),
        diverged=tuple(parts.Diverged(jsonl_log.plain(search.settings[place]), step) for place, step in diverged),
        choices=parts.Choices(made.get("zsl"), made.get("gzsl")),
    )
