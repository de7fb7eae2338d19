"""Config → dataset → tune → fit → both protocols → record. The only conductor."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from zskl import methods, protocols, selection
from zskl.datasets import Dataset
from zskl.engines import Engine
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.experiments import jsonl_log, model_summary
from zskl.parameters import one_of
from zskl.selection import Choice, Search
from zskl.selection.grid_search import SCORINGS, check_seen

CURVE_POINTS = 200  # of a seen–unseen curve in a record

Report: TypeAlias = Callable[[str, int, int], object]  # "search" or "fit", steps done, steps in all


@dataclass(frozen=True)
class Unit:
    """One run: a method with its settings, on one dataset, from one seed.

    tune        choose settings on folds of the training rows, by the method's default grid less what `settings` fix
    calibrate   choose the calibration constant and the temperatures on the folds
    scoring     what tuning chooses by: "zsl", "gzsl" (at the best constant) or "both", which chooses twice from one
                search; "gzsl" and "both" calibrate too. Default: "both" with `calibrate`, else "zsl"
    """

    method: str
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    device: str | None = None
    tune: bool = False
    calibrate: bool = False
    scoring: str | None = None

    def __post_init__(self) -> None:
        if not self.tune:
            if self.scoring is not None:
                raise ValueError(f"scoring {self.scoring!r} was given without tune: it says what tuning chooses by")
            return
        scoring = self.scoring or ("both" if self.calibrate else "zsl")
        one_of("scoring", scoring, (*SCORINGS, "both"))
        object.__setattr__(self, "scoring", scoring)
        object.__setattr__(self, "calibrate", self.calibrate or scoring != "zsl")

    @property
    def grid(self) -> dict[str, list[Any]] | None:
        """Setting → values that tuning tries."""
        if not self.tune:
            return None
        grid = methods.find(self.method).grid
        return {name: list(values) for name, values in grid.items() if name not in self.settings}

    def key(self, data: Dataset) -> str:
        """What a finished unit is known by: all that decides its figures, but not where they are computed."""
        return jsonl_log.key_of(
            {
                **identity(data),
                "method": self.method,
                "seed": self.seed,
                "settings": dict(self.settings),
                "tune": self.tune,
                "calibrate": self.calibrate,
                "scoring": self.scoring,
                "grid": self.grid,
            }
        )

    @property
    def name(self) -> str:
        return f"{self.method} seed {self.seed}"

    @property
    def divisible(self) -> bool:
        """Whether there are fits inside that an engine could share out."""
        return self.tune or self.calibrate

    def run(self, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> dict[str, Any]:
        """See the function `run`."""
        return run(self, data, report, engine)


def identity(data: Dataset) -> dict[str, str]:
    """What tells data apart, for keys and records."""
    return {
        "dataset": data.name,
        "features": data.features,
        "fingerprint": data.fingerprint,
        "features_digest": data.features_digest,
    }


def stamp() -> dict[str, Any]:
    """With what, and when a record was made."""
    return {"versions": jsonl_log.versions(), "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def seed_of(dataset: str, method: str, seed: int) -> int:
    """The random state of a unit, of 31 bits, from its names: another method or dataset shifts nobody's."""
    digest = hashlib.sha256(f"{dataset}/{method}/{seed}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def run(unit: Unit, data: Dataset, report: Report | None = None, engine: Engine | None = None) -> dict[str, Any]:
    """Choose where asked, fit on the trainval rows, evaluate both protocols, and return the record.

    The search and the fits of calibration go through `engine`.
    """
    state = seed_of(data.name, unit.method, unit.seed)
    estimator = methods.build(unit.method, {**unit.settings, "random_state": state, "device": unit.device})
    clock = Clock()
    model, calibrated, chosen = _fitted(unit, estimator, data, report, engine, clock)
    found: dict[str, Any] = {"zsl": _zero_shot(model, data), "gzsl": _general(model, data, None)}
    if calibrated is not None:
        found["calibration"] = calibrated.calibration_
        found["gzsl_calibrated"] = _general(calibrated, data, "model")
    if model.temperatures_ is not None:
        asked = {"zsl": model, "gzsl": calibrated or model}
        found["probabilities"] = {name: protocols.confidence(one, data, name).as_dict() for name, one in asked.items()}
    found.update(model_summary.of_model(model, data))
    clock.lap("evaluate")
    return {
        "key": unit.key(data),
        **identity(data),
        "method": unit.method,
        "seed": unit.seed,
        "random_state": state,
        "config": model.get_params(deep=False),
        "settings": dict(unit.settings),
        **({"tune": chosen} if unit.tune else {}),
        **found,
        "seconds": clock.seconds,
        "rows": {name: len(part) for name, part in data.parts.items()},
        **stamp(),
    }


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
    unit: Unit, estimator: Any, data: Dataset, report: Report | None, engine: Engine | None, clock: Clock
) -> tuple[ZeroShotClassifier, ZeroShotClassifier | None, dict[str, Any]]:
    """The model of the plain figures, the one of the calibrated ones where asked for, and how they were chosen."""
    rows = data.parts["trainval"]
    X, y, table = data.X[rows], data.y[rows], data.signatures

    def fitting(state: Any) -> None:
        if report is not None:
            report("fit", state.step, state.steps)

    def searching(done: int, tasks: int) -> None:
        if report is not None:
            report("search", done, tasks)

    if not unit.tune:
        estimator.fit(X, y, table, callback=fitting)
        clock.lap("fit")
        if not unit.calibrate:
            return estimator, None, {}
        selection.calibrate(estimator, X, y, table, selection.folds(data), engine)
        clock.lap("calibrate")
        return estimator, estimator, {}

    folds = selection.folds(data)
    if unit.scoring != "zsl":
        check_seen(folds)  # before the search is paid for
    search = selection.search(estimator, X, y, table, unit.grid or {}, folds, engine, searching)
    clock.lap("search")
    if len(search.diverged) == len(search.settings):
        raise ArithmeticError(f"all {len(search.settings)} settings of the grid diverged: fix a lower learning_rate")
    refits: dict[int, tuple[Any, Choice]] = {}  # one fit where both scorings choose the same
    models: dict[str, ZeroShotClassifier] = {}
    choices: dict[str, Choice] = {}
    for scoring in SCORINGS if unit.scoring == "both" else (str(unit.scoring),):
        best = search.pick(scoring).place
        if best not in refits:
            refits[best] = selection.refit(estimator, search, scoring, X, y, table, fitting, engine)
        models[scoring], taken = refits[best]
        choices[scoring] = search.pick(scoring, taken.place)
    clock.lap("fit")
    plain, calibrated = next(iter(models.values())), list(models.values())[-1]
    return plain, calibrated if unit.calibrate else None, _choosing(unit, search, choices)


def _choosing(unit: Unit, search: Search, choices: Mapping[str, Choice]) -> dict[str, Any]:
    """What was tried and what was chosen, for the record."""
    return {
        "scoring": unit.scoring,
        "grid": unit.grid,
        "folds": len(search.folds),
        "settings": len(search.settings),
        "table": model_summary.tried(search),
        "diverged": [{"setting": search.settings[place], "step": step} for place, step in search.diverged.items()],
        "choices": {
            scoring: {
                "setting": choice.setting,
                "score": choice.score,
                "fold_scores": choice.fold_scores,
                "spread": choice.spread,
                "calibration": choice.calibration,
            }
            for scoring, choice in choices.items()
        },
    }


def _zero_shot(model: Any, data: Dataset) -> dict[str, Any]:
    """The zero-shot result with its mistakes."""
    result = protocols.zsl(model, data)
    return {**result.as_dict(), "mistaken": model_summary.mistakes(result)}


def _general(model: Any, data: Dataset, calibration: str | None) -> dict[str, Any]:
    """The generalised result with its curve, thinned; the area is that of the whole curve."""
    result = protocols.gzsl(model, data, calibration=calibration)
    assert result.curve is not None
    curve = result.curve.thinned(CURVE_POINTS)
    figures = {name: _rounded(getattr(curve, name)) for name in ("calibration", "seen", "unseen")}
    return {**result.as_dict(), "curve": figures}


def _rounded(values: Any) -> Sequence[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]
