"""Runs one experiment: configuration → dataset → tuning → fit → both protocols → record."""

import copy
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from zskl import methods, metrics, protocols, selection
from zskl._arrays import to_numpy
from zskl._files import file_digest
from zskl._validation import check_count, check_option
from zskl.datasets import Dataset, tables, xlsa17
from zskl.decisions import Decider, area_under_curve, measure_known
from zskl.engines import Engine
from zskl.estimators._candidates import CandidateScorer
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.experiments import record
from zskl.experiments.record import Record
from zskl.experiments.run_folder import package_versions, to_plain_json, unit_key
from zskl.protocols import UNLABELLED, PreparedModel, Result, prepare_model
from zskl.selection import Choice, Search
from zskl.selection.class_folds import check_seen
from zskl.selection.search_results import CRITERIA, RAW, SCORINGS
from zskl.training.solver import Progress

log = logging.getLogger(__name__)
CHOSEN_BY = {"both": SCORINGS, "each": CRITERIA}  # several choices from one search
GRAM = 10  # rows and columns of WᵀW
POINTS = 200  # of a course of training, and of a seen–unseen curve
NEAREST = 3  # attributes of a class
REDEFINED: Mapping[str, Mapping[str, object]] = {"eszsl": {"targets": "zero-one"}}  # keys of older records lack it

Report: TypeAlias = Callable[[str, int, int], object]  # "search" or "fit", steps done, steps in all


@dataclass(frozen=True)
class Unit:
    """One run: a method with its settings, on one dataset, from one seed.

    tune        choose settings on folds of the training rows, from the method's default grid; `settings` stay fixed.
                The default setting is compared with them, and wins unless another is better beyond the spread of folds
    calibrate   choose the calibration constant and the temperatures on the folds
    scoring     what tuning chooses by: "zsl", "gzsl" (at the best constant), "both", which chooses twice from one
                search, or "each", which also chooses for H without a constant; all but "zsl" calibrate too. Default:
                "both" with `calibrate`, otherwise "zsl"
    shots       also score the model after so many examples of each unseen class, drawn by the seed; several numbers
    unlabelled  also score it after adaptation to unlabelled test rows: "unseen", "all", or both
    fixed_grid  for a protocol that must not change with our defaults: the one grid to search. The default setting is
                then not added, and the highest mean wins
    chosen      what another seed chose: its settings and constants are taken over, and nothing is searched
    none_of_these   a features file of rows that are of none of the classes: how well the calibrated model tells them
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
    chosen: record.Tuning | None = None
    none_of_these: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "calibrate", self.calibrate or self.none_of_these is not None)
        object.__setattr__(self, "shots", tuple(sorted({check_count("shots", number) for number in self.shots})))
        for rows in self.unlabelled:
            check_option("unlabelled", rows, tuple(UNLABELLED))
        object.__setattr__(self, "unlabelled", tuple(rows for rows in UNLABELLED if rows in self.unlabelled))
        if self.shots:
            methods.check_ability(self.method, "add_examples", "learn from examples")
        if self.unlabelled:
            methods.check_ability(self.method, "adapt", "adapt to unlabelled rows")
        if not self.tune:
            if self.scoring is not None:
                raise ValueError(
                    f"scoring {self.scoring!r} was given without tune: it is what tuning chooses by; leave it out"
                )
            return
        scoring = self.scoring or ("both" if self.calibrate else "zsl")
        check_option("scoring", scoring, (*SCORINGS, *CHOSEN_BY))
        object.__setattr__(self, "scoring", scoring)
        object.__setattr__(self, "calibrate", self.calibrate or scoring != "zsl")

    @property
    def grids(self) -> list[dict[str, list[Any]]]:
        """What tuning tries: mappings from a setting to its values."""
        if not self.tune:
            return []
        grid = methods.find(self.method).grid if self.fixed_grid is None else self.fixed_grid
        return methods.drop_fixed_settings(grid, self.settings)

    @property
    def compares_default(self) -> bool:
        """Whether tuning compares the default setting with the grid, and keeps it unless another is clearly better."""
        return self.tune and self.fixed_grid is None

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Setting → lowest and highest value to which tuning may extend the grid."""
        method = methods.find(self.method)
        fixed = self.fixed_grid is not None and method.estimator is ClassMeansClassifier
        bounds = methods.MEMBER_MEANS_BOUNDS if fixed else method.bounds
        return {name: bounds[name] for grid in self.grids for name in grid if name in bounds}

    def key(self, data: Dataset) -> str:
        """What a finished unit is known by: all that decides its figures, but not where they were computed."""
        halved = self.compares_default and methods.trains_kernel(methods.find(self.method).grid)
        choices = () if self.chosen is None else self.chosen.choices.items()
        chosen = {scoring: [dict(one.setting), one.calibration] for scoring, one in choices}
        return unit_key(
            {
                **data_identity(data),
                "method": self.method,
                "seed": self.seed,
                "settings": {**({} if self.tune else REDEFINED.get(self.method.lower(), {})), **self.settings},
                "tune": self.tune,
                "calibrate": self.calibrate,
                "scoring": self.scoring,
                "grid": self.grids[0] if self.grids else None,
                # Later additions are left out where they are not used, so that finished units keep their keys.
                **({"also": self.grids[1:]} if self.grids[1:] else {}),
                **({"default": "compared"} if self.compares_default else {}),
                **({"halving": True} if halved else {}),
                **({"bounds": self.bounds} if self.bounds else {}),
                **({"shots": list(self.shots)} if self.shots else {}),
                **({"unlabelled": list(self.unlabelled)} if self.unlabelled else {}),
                **({"chosen": chosen} if self.chosen else {}),
                **({"none_of_these": file_digest(self.none_of_these)} if self.none_of_these else {}),
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
        """Choose where asked, through `engine`, fit on the trainval rows, evaluate both protocols: the record."""
        state = unit_seed(data.name, self.method, self.seed)
        estimator = methods.build(self.method, {**self.settings, "random_state": state, "device": self.device})
        methods.set_blocks(estimator, data.blocks, data.signature_blocks)
        clock = Clock()
        model, calibrated, own, tuning = _fit_models(self, estimator, data, report, engine, clock)
        if not len(data.parts["test_seen"]):
            log.warning(
                "%s has no test rows of seen classes: zero-shot accuracy alone, without the generalised protocol; "
                "two rows of a class give it some",
                data.name,
            )
        zsl, gzsl, gzsl_calibrated, _ = evaluate_unit(model, calibrated, data)
        decided = None if calibrated is None else evaluate_decisions(calibrated, data, self.none_of_these)
        probabilities = evaluate_probabilities(model, model if calibrated is None else calibrated, data)
        taught = [record.TaughtResults(k, *evaluate_unit(model, calibrated, data, k, self.seed)) for k in self.shots]
        after = {rows: evaluate_unit(model, calibrated, data, unlabelled=rows) for rows in self.unlabelled}
        adapted = [record.AdaptedResults(rows, *results[:3]) for rows, results in after.items()]
        summary = summarise_model(model, data)
        clock.lap("evaluate")
        times = ", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in clock.seconds.items())
        log.info("%s %s: %s", data.name, self.name, times)
        return Record(
            key=self.key(data),
            **data_identity(data),
            published_features=xlsa17.has_published_features(data),
            method=self.method,
            seed=self.seed,
            random_state=state,
            config=to_plain_json(model._settings()),
            settings=to_plain_json(self.settings),
            tune=tuning,
            zsl=zsl,
            gzsl=gzsl,
            calibration=None if calibrated is None else float(calibrated.calibration_),
            gzsl_calibrated=gzsl_calibrated,
            gzsl_own=None if own is None else evaluate_generalised(prepare_model(own, data), data, None),
            taught=tuple(taught) or None,
            adapted=tuple(adapted) or None,
            probabilities=probabilities,
            decided=decided,
            **summary,
            seconds=record.Seconds(**clock.seconds),
            rows={name: len(part) for name, part in data.parts.items()},
            class_rows=pack_class_rows(data),
            versions=package_versions(),
            finished=utc_now(),
        )


def useful_seeds(method: str, seeds: int, shots: Sequence[int] = ()) -> range:
    """Of a method without randomness the first alone, unless the seed draws the examples that it is taught."""
    return range(seeds if methods.find(method).random or shots else min(seeds, 1))


def data_identity(data: Dataset) -> dict[str, Any]:
    """What tells data apart, for keys."""
    fields = ("features", "fingerprint", "features_digest")
    return {"dataset": data.name, **{name: getattr(data, name) for name in fields}}


def utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def unit_seed(dataset: str, method: str, seed: int) -> int:
    """The random state of a unit (31 bits), from its names alone: adding a method or dataset changes no other."""
    digest = hashlib.sha256(f"{dataset}/{method}/{seed}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


class Clock:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def _fit_models(
    unit: Unit, estimator: ZeroShotClassifier, data: Dataset, report: Report | None, engine: Engine | None, clock: Clock
) -> tuple[ZeroShotClassifier, ZeroShotClassifier | None, ZeroShotClassifier | None, record.Tuning]:
    """The models of the plain figures, of the calibrated ones and of H (as asked for), and how they were chosen."""
    rows = data.parts["trainval"]
    X, y, table = data.X[rows], data.y[rows], data.signatures

    def report_fit(state: Progress) -> None:
        if report is not None:
            report("fit", state.step, state.steps)

    few_shot = bool(unit.shots or unit.unlabelled)
    if not unit.tune:
        estimator.fit(X, y, table, callback=report_fit)
        clock.lap("fit")
        if not unit.calibrate:
            return estimator, None, None, record.Tuning()
        selection.calibrate(estimator, X, y, table, selection.folds(data), engine, few_shot=few_shot)
        clock.lap("calibrate")
        return estimator, estimator, None, record.Tuning()

    if unit.chosen is not None:
        models = _fit_chosen(unit.chosen, estimator, X, y, table, report_fit)
        clock.lap("fit")
        return models["zsl"], models.get("gzsl"), models.get(RAW), unit.chosen
    # Class means draw classes from one fit, except in fixed tables.
    drawn = unit.fixed_grid is None and methods.find(unit.method).estimator is ClassMeansClassifier
    folds = None if drawn else selection.folds(data)
    if unit.scoring != "zsl" and folds is not None:
        check_seen(folds)  # before the search is paid for
    grids = methods.add_table_weights(unit.grids, estimator)
    told = None if report is None else partial(report, "search")
    search = selection.search(
        *(estimator, X, y, table, grids, folds, engine, told, unit.bounds),
        with_default=unit.compares_default,
        halving=None if unit.compares_default else False,
    )
    clock.lap("search")
    if len(search.diverged) == len(search.settings):
        raise ArithmeticError(f"all {len(search.settings)} settings of the grid diverged: fix a lower learning_rate")
    refits: dict[int, ZeroShotClassifier] = {}  # place → model: one fit where both scorings take the same setting
    models = {}
    choices: dict[str, Choice] = {}
    for scoring in CHOSEN_BY.get(str(unit.scoring), (str(unit.scoring),)):
        choices[scoring] = search.pick(scoring)
        # The best may diverge on all rows: then its own next best is taken.
        if choices[scoring].place not in refits:
            fitted, choices[scoring] = selection.refit(
                estimator, search, scoring, X, y, table, report_fit, engine, few_shot
            )
            refits[choices[scoring].place] = fitted
        models[scoring] = refits[choices[scoring].place]
    clock.lap("fit")
    plain = next(iter(models.values()))
    calibrated = models.get("gzsl", plain) if unit.calibrate else None
    return plain, calibrated, models.get(RAW), _describe_tuning(unit, grids, search, choices)


def _fit_chosen(
    chosen: record.Tuning, estimator: ZeroShotClassifier, X: Any, y: Any, table: Any, callback: Any
) -> dict[str, ZeroShotClassifier]:
    """By what each was chosen: one model for each setting, with the constant of its choice."""
    free = estimator._free_settings(X)
    groups: dict[str, list[dict[str, Any]]] = {}  # one run serves settings that differ in free ones alone
    for _, choice in chosen.choices.items():
        setting = dict(choice.setting)
        group = groups.setdefault(repr(sorted((n, v) for n, v in setting.items() if n not in free)), [])
        if setting not in group:
            group.append(setting)
    fitted: dict[str, ZeroShotClassifier] = {}
    for group in groups.values():
        fitted |= _fit_group(estimator, group, X, y, table, callback)
    models: dict[str, ZeroShotClassifier] = {}
    for scoring, choice in chosen.choices.items():
        model = fitted[repr(sorted(choice.setting.items()))]
        if model not in models.values():
            model.calibration_ = float(choice.calibration or 0.0)
        models[scoring] = model
    return models


def _fit_group(
    estimator: ZeroShotClassifier, settings: Sequence[dict[str, Any]], X: Any, y: Any, table: Any, callback: Any
) -> dict[str, ZeroShotClassifier]:
    keys = [repr(sorted(setting.items())) for setting in settings]
    if len(settings) == 1:
        return {keys[0]: clone(estimator).set_params(**settings[0]).fit(X, y, table, callback=callback)}
    found: dict[str, ZeroShotClassifier] = {}

    def visit(place: int, model: Any) -> None:
        if isinstance(model, Exception):
            raise model
        model.__dict__.pop("_member", None)  # scores of the stack while it trains
        found[keys[place]] = copy.deepcopy(model)  # what it has learned may go on changing

    estimator._fit_together(settings, X, y, table, visit)
    for model in found.values():
        if hasattr(model, "projection_"):
            model.projection_ = to_numpy(model.projection_)
    return found


def _describe_tuning(
    unit: Unit, grids: Sequence[Mapping[str, Any]], search: Search, choices: Mapping[str, Choice]
) -> record.Tuning:
    diverged = ((to_plain_json(search.settings[place]), step) for place, step in search.diverged.items())
    chosen = {
        scoring: record.Choice(
            to_plain_json(choice.setting),
            choice.score,
            choice.fold_scores,
            choice.spread,
            choice.calibration,
            {name: tuple(map(round_figure, figures)) for name, figures in choice.figures.items()},
            tuple(record.Edge(edge.name, float(edge.value), edge.side, edge.bound) for edge in choice.edges),
            choice.against_default,
        )
        for scoring, choice in choices.items()
    }
    tried = [{name: tuple(values) for name, values in grid.items()} for grid in grids]
    return record.Tuning(
        scoring=unit.scoring,
        grid=tried[0],
        also=tuple(tried[1:]) or None,
        folds=len(search.folds),
        bounds=unit.bounds or None,
        settings=len(search.settings),
        extended=search.extended,
        table=tried_settings(search),
        diverged=tuple(record.DivergedSetting(*one) for one in diverged),
        choices=record.Choices(*(chosen.get(scoring) for scoring in CRITERIA)),
    )


def evaluate_unit(
    plain: ZeroShotClassifier,
    calibrated: ZeroShotClassifier | None,
    data: Dataset,
    shots: int = 0,
    seed: int = 0,
    unlabelled: str | None = None,
) -> tuple[record.ZeroShot, Any, record.Generalised | None, tuple[str, ...]]:
    """The results of zsl, gzsl and calibrated gzsl, and the classes with fewer examples than were asked for."""
    prepared = prepare_model(plain, data, shots, seed, unlabelled)
    result = protocols.score_zero_shot(prepared, data)
    fields = _shared_fields(result, prepared, data)
    zsl = record.ZeroShot(accuracy=result.accuracy, mistaken=frequent_mistakes(result), **fields)
    # There is no generalised result then: it would be known which rows are of unseen classes.
    if unlabelled == "unseen":
        return zsl, None, None, ()
    after = None
    if calibrated is not None:
        again = prepared if calibrated is plain else prepare_model(calibrated, data, shots, seed, unlabelled)
        after = evaluate_generalised(again, data, "model")
    return zsl, evaluate_generalised(prepared, data, None), after, tuple(map(str, prepared.short))


def evaluate_generalised(prepared: PreparedModel, data: Dataset, calibration: str | None) -> record.Generalised:
    """The generalised result with its curve, thinned; the area is that of the whole curve. Empty without seen rows."""
    if not len(data.parts["test_seen"]):
        return record.Generalised()
    result = protocols.score_generalised(prepared, data, calibration=calibration)
    assert result.curve is not None
    curve = result.curve.thinned(POINTS)
    lines = (curve.calibration, curve.seen, curve.unseen)
    figures = {name: getattr(result, name) for name in ("unseen", "seen", "harmonic", "ausuc", "calibration")}
    return record.Generalised(
        **figures,
        curve=record.SeenUnseenCurve(*(tuple(float(f"{value:.6g}") for value in line.tolist()) for line in lines)),
        **_shared_fields(result, prepared, data),
    )


def _shared_fields(result: Result, prepared: PreparedModel, data: Dataset) -> dict[str, Any]:
    return {
        "per_class": {str(label): value for label, value in result.per_class.items()},
        "left_out": tuple(map(str, result.left_out)),
        "declined": result.declined,
        "adaptation": None if result.adaptation is None else to_plain_json(result.adaptation),
        "answers": pack_result_answers(result, prepared, data),
    }


def pack_result_answers(result: Result, prepared: PreparedModel, data: Dataset) -> record.Answers:
    """What each row was answered; with what the area needs, of a model that was given nothing and is not calibrated."""
    scored = result.scored
    assert scored is not None
    place = np.full(len(data.y), -1)
    place[scored.rows] = np.arange(len(scored.rows))
    names = pd.Index([*result.per_class, *result.left_out])
    codes = np.where(scored.answers == data.y[scored.rows], 0, 1 + names.get_indexer(pd.Index(scored.answers)))

    def packed(part: str, values: NDArray[np.int64]) -> str:
        # A row that is not scored has place -1, and so the value behind the last.
        return record.pack_answers(np.append(values, 1)[place[rows_by_class(data, part)]])

    unseen = packed("test_unseen", codes)
    examples = record.pack_answers(place[rows_by_class(data, "test_unseen")] < 0) if len(prepared.examples) else None
    if scored.gaps is None or scored.right is None:
        return record.Answers(unseen, examples=examples)
    seen = packed("test_seen", codes)
    if result.calibration or prepared.shots or prepared.unlabelled:
        return record.Answers(unseen, seen, examples=examples)
    found = record.gap_levels(scored.gaps, scored.right)
    return record.Answers(unseen, seen, packed("test_unseen", found), packed("test_seen", found))


def pack_class_rows(data: Dataset) -> record.ClassRows:
    counts = (np.bincount(data.codes[data.parts[part]]) for part in ("test_unseen", "test_seen"))
    return record.ClassRows(*(record.pack_answers(count[count > 0]) for count in counts))


def rows_by_class(data: Dataset, part: str) -> NDArray[np.int64]:
    rows = data.parts[part]
    return rows[np.argsort(data.codes[rows], kind="stable")]


def evaluate_probabilities(
    plain: ZeroShotClassifier, calibrated: ZeroShotClassifier, data: Dataset
) -> record.Probabilities:
    """How far probabilities can be trusted; all None where the model has no temperatures."""
    if plain.temperatures_ is None:
        return record.Probabilities()
    models = ({"gzsl": calibrated} if len(data.parts["test_seen"]) else {}) | (
        {"zsl": plain} if len(data.unseen_classes) > 1 else {}
    )
    found = {name: vars(protocols.confidence(model, data, name)) for name, model in models.items()}
    return record.Probabilities(**{name: record.Confidence(**one) for name, one in found.items()})


def evaluate_decisions(model: ZeroShotClassifier, data: Dataset, none: str | None) -> record.Decided | None:
    """What the thresholds do on test rows; None where the model has none."""
    if model.decisions_ is None:
        return None
    scorer = CandidateScorer(model, data.signatures, calibrated=True)
    decider = Decider(model, scorer.labels, scorer.seen, coverage=0.9, reject=0.05, risk=0.1)

    def score(X: Any) -> NDArray[Any]:
        return np.concatenate([to_numpy(one) for _, one in scorer.blocks(X)])

    coverage, size, alarms = {}, {}, {}
    known, plain, nodes, truth = [], [], [], []
    for side in ("seen", "unseen"):
        rows = data.parts[f"test_{side}"]
        if not len(rows):
            continue
        scores, y = score(data.X[rows]), data.y[rows]
        members = decider.members(scores)
        own = pd.Index(scorer.labels).get_indexer(pd.Index(y))
        coverage[side] = float(members[np.arange(len(y)), own].mean())
        size[side] = float(np.median(members.sum(axis=1)))
        alarms[side] = float(decider.unknown(scores).mean())
        known.append(measure_known(scores, decider.decisions.lead))
        plain += scorer.labels[scores.argmax(axis=1)].tolist()
        nodes += decider.nodes(scores).tolist()
        truth += y.tolist()
    levels = None
    if model.hierarchy_ is not None:
        table = model.hierarchy_.report(truth, nodes, scorer.labels)
        table.insert(0, "plain accuracy", model.hierarchy_.report(truth, plain, scorer.labels)["accuracy"])
        levels = {
            str(name): {str(key): None if np.isnan(value) else round_figure(value) for key, value in row.items()}
            for name, row in table.to_dict("index").items()
        }
    caught = auroc = None
    if none is not None:
        X = np.concatenate([block.X for block in tables.open_features(none).blocks()])
        if X.shape[1] != data.X.shape[1]:
            raise ValueError(f"{none} has {X.shape[1]} features, {data.name} {data.X.shape[1]}: expected as many")
        scores = score(X)
        caught = float(decider.unknown(scores).mean())
        auroc = area_under_curve(np.concatenate(known), measure_known(scores, decider.decisions.lead))
    return record.Decided(coverage, size, alarms, caught, auroc, levels)


def summarise_model(model: ZeroShotClassifier, data: Dataset) -> dict[str, Any]:
    """The fields of a record that show the model itself, as far as it has what they show."""
    projection, history = getattr(model, "projection_", None), getattr(model, "history_", None)
    found: dict[str, Any] = {}
    if history is not None and len(history.objective):
        found["convergence"] = thin_objective(history.objective)
    if projection is not None:
        found |= {"incoherence": metrics.incoherence(projection), "gram": gram_entries(projection)}
        if projection.shape[1] == len(data.attribute_names):
            found["gram_names"] = tuple(data.attribute_names[:GRAM])
            found["attributes"] = strongest_attributes(model, data)
    return found


def gram_entries(W: NDArray[np.floating]) -> tuple[tuple[float, ...], ...]:
    """The first entries of ŴᵀŴ, Ŵ being W (d, p) with columns of unit length."""
    first = np.asarray(W, np.float64)[:, :GRAM]
    length = np.linalg.norm(first, axis=0)
    unit = first / np.where(length > 0, length, 1.0)
    return tuple(tuple(round_figure(value) for value in row) for row in (unit.T @ unit).tolist())


def thin_objective(objective: NDArray[np.floating]) -> record.ObjectiveCurve:
    """The objective of mini-batches (steps,) as means of at most POINTS blocks, under each block's last step."""
    values = np.asarray(objective, np.float64)
    blocks = np.array_split(values, min(POINTS, len(values)))
    means = [float(block.mean()) for block in blocks]
    steps = np.cumsum([len(block) for block in blocks]).tolist()
    finite = [(step, round_figure(mean)) for step, mean in zip(steps, means, strict=True) if np.isfinite(mean)]
    return record.ObjectiveCurve(tuple(step for step, _ in finite), tuple(mean for _, mean in finite))


def strongest_attributes(model: ZeroShotClassifier, data: Dataset) -> record.Shares:
    """Unseen class → attributes of the largest entries of the mean Wᵀx of its test rows, as shares of its length."""
    rows = data.parts["test_unseen"]
    landed = to_numpy(model.feature_scaling_.apply(data.X[rows])) @ np.asarray(model.projection_)  # (n, p)
    labels = data.y[rows]
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for label in data.unseen_classes.tolist():
        mine = landed[labels == label]
        if not len(mine):
            continue
        mean = mine.mean(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(mean)) or 1.0
        places = np.argsort(-mean, kind="stable")[:NEAREST].tolist()
        found[str(label)] = tuple((str(data.attribute_names[k]), round_figure(mean[k] / length)) for k in places)
    return found


def tried_settings(search: Search) -> record.TriedSettings:
    """Every setting as a row of its values and its mean "zsl" and "gzsl" over folds, None where it diverged."""
    names = tuple(dict.fromkeys(name for setting in search.settings for name in setting))
    means = np.stack([search.zsl.mean(axis=1), search.gzsl.mean(axis=1)], axis=1).tolist()
    scores = [tuple(round_figure(mean) if np.isfinite(mean) else None for mean in pair) for pair in means]
    rows = zip(search.settings, scores, strict=True)
    return record.TriedSettings(names, tuple((*(setting.get(name) for name in names), *pair) for setting, pair in rows))


def frequent_mistakes(result: Result) -> record.Shares:
    """Class → its most frequent wrong answers, each with its share of the rows of the class."""
    found = result.mistaken.items()
    return {str(true): tuple((str(answer), round_figure(share)) for answer, share in wrong) for true, wrong in found}


def round_figure(value: float) -> float:
    return float(f"{value:.4g}")
