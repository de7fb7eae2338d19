"""Units: what decides their seed and key, and the record of each way to choose."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from small_search import QUICK
from zskl import ZeroShotKernelClassifier, baselines, compare, datasets, methods, plots, protocols, selection
from zskl.cli import runs
from zskl.datasets import Dataset, make_synthetic
from zskl.estimators.kernel_classifier import STACKABLE
from zskl.experiments import expectation, run_folder, summary, unit
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit, unit_seed
from zskl.paper import results
from zskl.paper.evaluation import make_unit
from zskl.report import sections
from zskl.training.solver import DivergenceError

# Unit


def stages(record):
    """Those that took time."""
    return set(record.to_json()["seconds"])


def test_seeds_derive_from_names_alone():
    assert unit_seed("digits", "gaussian", 0) == 1619081162  # records of earlier runs rely on it
    assert len({unit_seed(d, m, s) for d in ("a", "b") for m in methods.METHODS for s in range(5)}) == 10 * len(
        methods.METHODS
    )
    assert all(0 <= unit_seed("x", "y", s) < 2**31 for s in range(100))


def test_a_key_names_what_decides_figures_and_not_the_device(digits):
    key = Unit("gaussian", 0, QUICK).key(digits)
    assert key == Unit("gaussian", 0, dict(QUICK), device="cpu").key(digits)
    assert len(key) == 64
    others = [
        Unit("gaussian-ort", 0, QUICK),
        Unit("gaussian", 1, QUICK),
        Unit("gaussian", 0),
        Unit("gaussian", 0, QUICK, tune=True),
        Unit("gaussian", 0, QUICK, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, scoring="gzsl"),
    ]
    assert len({key, *(unit.key(digits) for unit in others)}) == len(others) + 1


def test_records_from_before_a_default_changed_are_not_taken_for_new_ones(digits, monkeypatch):
    plain, tuned, other = (Unit("eszsl", 0, **how) for how in ({}, {"tune": True}, {"settings": {"targets": "signs"}}))
    for name, settings in unit.REDEFINED.items():
        assert methods.build(name).get_params().items() >= settings.items()
    now = [unit.key(digits) for unit in (plain, tuned, other)]
    assert now[0] == Unit("eszsl", 0, {"targets": "zero-one"}).key(digits)
    monkeypatch.setattr(unit, "REDEFINED", {})
    before = [unit.key(digits) for unit in (plain, tuned, other)]
    assert [old == new for old, new in zip(before, now, strict=True)] == [False, True, True]


def test_a_key_names_the_bounds_of_a_grid(digits, monkeypatch):
    unit = Unit("eszsl", 0, {"lam": 1.0}, tune=True)
    keys = {unit.key(digits)}
    for bounds in ({"gamma": (0.01, 1e3)}, {"gamma": (0.01, 1e4)}, {"gamma": (0.01, 1e4), "lam": (0.1, 5)}):
        changed = replace(methods.METHODS["eszsl"], bounds=bounds)
        monkeypatch.setattr(methods, "METHODS", {**methods.METHODS, "eszsl": changed})
        keys.add(unit.key(digits))
    assert len(keys) == 3  # what is fixed has no bounds
    assert unit.bounds == {"gamma": (0.01, 1e4)}
    assert Unit("eszsl", 0).bounds == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"scoring": "zsl"}, "without tune"), ({"tune": True, "scoring": "zls"}, "did you mean 'zsl'")],
)
def test_wrong_arguments_of_a_unit_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Unit("gaussian", 0, **arguments)


def test_record_without_tuning_has_no_choices(digits):
    record = Unit("gaussian", 0, QUICK).run(digits)
    assert stages(record) == {"fit", "evaluate"}
    assert not {"tune", "calibration", "gzsl_calibrated", "probabilities"} & set(record.to_json())
    assert len(record.gzsl.curve.seen) <= 200


def test_tuning_by_both_scorings_takes_one_search_and_two_choices(digits, small):
    record = Unit("gaussian", 0, tune=True, calibrate=True).run(digits)
    tune = record.tune
    assert (tune.scoring, tune.settings, tune.folds) == ("both", 5, 3)  # the default is compared too
    assert tune.grid == {"sigma": (0.5, 1.0), "epochs": (1, 2)}
    for choice in (tune.choices.zsl, tune.choices.gzsl):
        assert choice.score == pytest.approx(np.mean(choice.fold_scores), rel=1e-12)
        assert choice.spread == pytest.approx(np.std(choice.fold_scores, ddof=1), rel=1e-9)
    assert {record.config[name] for name in ("sigma", "epochs")} == set(tune.choices.zsl.setting.values())
    assert record.calibration == record.gzsl_calibrated.calibration
    assert record.gzsl_calibrated.harmonic > record.gzsl.harmonic
    assert stages(record) == {"search", "fit", "evaluate"}
    assert 0 <= record.probabilities.zsl.ece <= 1


def test_raw_h_is_that_of_the_setting_which_has_the_best_raw_h_on_the_folds(digits, small, monkeypatch):
    """From the same search; the planted fault would be to show the setting that zero-shot accuracy chose."""
    searched = []
    search = unit.selection.search
    monkeypatch.setattr(unit.selection, "search", lambda *a, **k: searched.append(search(*a, **k)) or searched[-1])
    record = Unit("gaussian", 0, tune=True, scoring="each").run(digits)
    (found,) = searched
    slow = [
        np.mean([2 * s * u / (s + u) if s + u else 0.0 for s, u in zip(*pair, strict=True)])
        for pair in zip(found.seen, found.unseen, strict=True)
    ]
    choice = record.tune.choices.harmonic
    assert choice.score == pytest.approx(slow[found.order("harmonic")[0]], rel=1e-12)
    assert dict(choice.setting) == {name: found.settings[found.order("harmonic")[0]][name] for name in choice.setting}
    state = unit_seed(digits.name, "gaussian", 0)
    model = methods.build("gaussian", {"random_state": state, **choice.setting}).fit(
        *digits.samples("trainval"), digits.signatures
    )
    assert record.gzsl_own.harmonic == protocols.gzsl(model, digits).harmonic
    assert record.plain_gzsl is record.gzsl_own
    both = Unit("gaussian", 0, tune=True, scoring="both").run(digits)
    assert (both.gzsl, both.zsl, both.gzsl_calibrated) == (record.gzsl, record.zsl, record.gzsl_calibrated)
    assert both.plain_gzsl is both.gzsl
    kept = Record.from_json(json.loads(json.dumps(record.to_json())))
    assert kept.gzsl_own.harmonic == record.gzsl_own.harmonic


def test_another_seed_may_take_over_what_one_chose(digits, small, monkeypatch):
    """Its models are those of the chosen settings from its own seed; nothing is searched again."""
    first = Unit("gaussian", 0, tune=True, scoring="each").run(digits)
    monkeypatch.setattr(unit.selection, "search", None)
    chosen = replace(first.tune, seed=0)
    piece = Unit("gaussian", 1, tune=True, scoring="each", chosen=chosen)
    record = piece.run(digits)
    choices = first.tune.choices
    state = unit_seed(digits.name, "gaussian", 1)
    for choice, found in ((choices.zsl, record.gzsl), (choices.harmonic, record.gzsl_own)):
        model = methods.build("gaussian", {"random_state": state, **choice.setting})
        model.fit(*digits.samples("trainval"), digits.signatures)
        assert found.harmonic == protocols.gzsl(model, digits).harmonic
    assert record.calibration == choices.gzsl.calibration == record.gzsl_calibrated.calibration
    assert record.tune == chosen
    assert stages(record) == {"fit", "evaluate"}
    assert Record.from_json(json.loads(json.dumps(record.to_json()))).tune.seed == 0
    alone = replace(piece, chosen=None)
    other = replace(chosen, choices=replace(choices, zsl=replace(choices.zsl, calibration=0.5)))
    assert len({one.key(digits) for one in (piece, alone, replace(piece, chosen=other))}) == 3
    assert first.key == replace(alone, seed=0).key(digits)


def test_one_run_trains_all_that_was_chosen(digits, small, monkeypatch):
    """As on a GPU, where settings that differ in numbers share a run: the same models as from runs of their own."""
    first = Unit("gaussian", 0, tune=True, scoring="each").run(digits)
    settings = ({"sigma": 0.7, "epochs": 2}, {"sigma": 1.3, "epochs": 1}, {"sigma": 0.7, "epochs": 1})
    pairs = zip(first.tune.choices.items(), settings, strict=True)
    choices = {name: replace(one, setting={**one.setting, **other}) for (name, one), other in pairs}
    chosen = replace(first.tune, choices=replace(first.tune.choices, **choices))
    piece = Unit("gaussian", 1, tune=True, scoring="each", chosen=chosen)
    alone = piece.run(digits)
    monkeypatch.setattr(ZeroShotKernelClassifier, "_free_settings", lambda self, X: ("epochs", *STACKABLE))
    together = piece.run(digits)
    assert together.incoherence == pytest.approx(alone.incoherence, rel=1e-4)
    for name in ("zsl", "gzsl", "gzsl_own", "gzsl_calibrated"):
        theirs, mine = getattr(alone, name), getattr(together, name)
        assert vars(mine) | {"curve": None} == vars(theirs) | {"curve": None}, name
    assert together.gzsl_own != together.gzsl


def test_one_scoring_is_one_model(digits, small):
    zsl = Unit("gaussian", 0, tune=True).run(digits)
    gzsl = Unit("gaussian", 0, tune=True, scoring="gzsl").run(digits)
    both = Unit("gaussian", 0, tune=True, scoring="both").run(digits)
    assert zsl.tune.choices.gzsl is None
    assert zsl.gzsl_calibrated is None
    assert both.zsl == zsl.zsl
    assert both.gzsl == zsl.gzsl
    assert both.gzsl_calibrated == gzsl.gzsl_calibrated
    assert gzsl.gzsl.ausuc == gzsl.gzsl_calibrated.ausuc


def test_settings_that_are_fixed_leave_the_grid(digits, small):
    record = Unit("gaussian", 0, {"sigma": 0.7}, tune=True).run(digits)
    assert record.tune.grid == {"epochs": (1, 2)}
    assert record.config["sigma"] == 0.7


def test_calibration_without_tuning(digits):
    record = Unit("gaussian", 0, QUICK, calibrate=True).run(digits)
    assert record.calibration > 0
    assert stages(record) == {"fit", "calibrate", "evaluate"}


# Unit refit
# Which setting is fitted on all training rows where the best one diverges on them.

SIGMAS = (0.5, 1.0, 2.0, 4.0)


@pytest.fixture
def ranked(monkeypatch):
    """Sets the score of each sigma by zsl and by gzsl, and which sigmas diverge on all training rows."""
    data = datasets.load("digits")
    method = methods.METHODS["gaussian"]
    changed = replace(method, grid={"sigma": SIGMAS}, bounds={})
    monkeypatch.setattr(methods, "METHODS", {**methods.METHODS, "gaussian": changed})
    search, fit = selection.search, ZeroShotKernelClassifier.fit
    fits = []

    def plan(zsl, gzsl, diverging):
        def scored(*arguments, with_default, halving):
            assert (with_default, halving) == (True, None)  # only sigma is tried: the default, 1.0, is in the grid
            found = search(*arguments)
            folds = np.ones((1, len(found.folds)))
            return replace(found, zsl=np.array(zsl)[:, None] * folds, gzsl=np.array(gzsl)[:, None] * folds)

        def failing(self, X, *rest, **more):
            if len(X) == len(data.parts["trainval"]):
                fits.append(self.sigma)
                if self.sigma in diverging:
                    raise DivergenceError(3, 0.1)
            return fit(self, X, *rest, **more)

        monkeypatch.setattr(selection, "search", scored)
        monkeypatch.setattr(ZeroShotKernelClassifier, "fit", failing)
        unit = Unit("gaussian", 0, {"epochs": 1, "batch_size": 200}, tune=True, calibrate=True)
        choices = unit.run(data).tune.choices
        return choices.zsl.setting["sigma"], choices.gzsl.setting["sigma"], fits

    return plan


def test_each_scoring_gets_its_own_next_best_where_the_best_diverges(ranked):
    zsl, gzsl, _ = ranked([0.9, 0.8, 0.1, 0.1], [0.9, 0.1, 0.8, 0.1], diverging={0.5})
    assert (zsl, gzsl) == (1.0, 2.0)


def test_a_setting_that_both_scorings_take_is_fitted_once(ranked):
    assert ranked([0.9, 0.8, 0.1, 0.1], [0.9, 0.1, 0.8, 0.1], diverging=set()) == (0.5, 0.5, [0.5])


def test_a_fallback_that_is_the_best_of_the_other_scoring_is_fitted_once(ranked):
    assert ranked([0.9, 0.8, 0.1, 0.1], [0.1, 0.9, 0.8, 0.1], diverging={0.5}) == (1.0, 1.0, [0.5, 1.0])


# Fixed grids
# The published table is a fixed protocol: its grids, its record keys and its choice by highest mean do not change.

RECORDS = Path(__file__).parents[2] / "benchmarks" / "results" / "paper" / "records.jsonl"


def has_todays_grid(record):
    bounds = make_unit(record.method, record.seed, None).bounds
    return record.tune.grid == results.published_grid(record.method) and (record.tune.bounds or {}) == bounds


def test_every_record_of_the_table_is_still_that_of_its_unit():
    records = list(run_folder.read_records(RECORDS, Record.from_json))
    assert len({(record.method, record.features) for record in records}) == 107  # some with several seeds
    # Their grids have changed since: of these the table shows earlier records until they are measured again.
    changed = {record.method for record in records if not has_todays_grid(record)}
    assert changed <= {*results.KERNELS, "latem", "cnzsl"}
    for record in filter(has_todays_grid, records):
        data = SimpleNamespace(
            name=record.dataset,
            features=record.features,
            fingerprint=record.fingerprint,
            features_digest=record.features_digest,
        )
        # Records of 0.2 have H of the setting that was chosen by zero-shot accuracy alone.
        unit = replace(make_unit(record.method, record.seed, None), scoring=record.tune.scoring)
        unit = replace(unit, chosen=None if record.tune.seed is None else record.tune)
        assert unit.key(data) == record.key, record.method
        assert record.tune.also is None
        assert not unit.compares_default  # nor is anything dropped after the first fold
        assert not any(name.endswith("batch_size") for name in record.tune.grid)  # the estimator's own, of 10


# One unseen class
# A single unseen class has no zero-shot figure, in Python, in records, in tables, on the page and in the terminal.

NONE = "no zero-shot figure, because class 6 is the only unseen class and every answer would be right"


@pytest.fixture(scope="module")
def data():
    found = make_synthetic(n_seen=6, n_unseen=1, samples_per_class=8, n_features=8, n_attributes=5)
    assert found.unseen_classes.tolist() == ["class 6"]
    return found


@pytest.fixture(scope="module")
def record(data):
    return Unit("class-means", 0, calibrate=True, shots=(1,), unlabelled=("unseen",)).run(data)


def test_a_single_unseen_class_has_no_zero_shot_figure(data):
    model = baselines.ESZSL().fit(*data.samples("trainval"), data.signatures)
    result = protocols.zsl(model, data)
    assert result.accuracy is None
    assert (result.per_class, result.mistaken, result.left_out, result.alone) == ({}, {}, ("class 6",), "class 6")
    assert repr(result) == f"Result('zsl', {NONE})"
    assert NONE in str(result)
    assert "%" not in str(result)
    assert result.as_dict()["accuracy"] is None
    general = protocols.gzsl(model, data)
    assert general.alone is None
    assert 0 <= general.unseen <= 1  # among all classes there is a choice
    with pytest.raises(ValueError, match=f"{NONE}: use 'gzsl'"):
        protocols.confidence(model, data, "zsl")
    for display in (plots.ClassAccuracyDisplay, plots.ConfusionDisplay):
        with pytest.raises(ValueError, match=f"{NONE}: expected two unseen classes or more"):
            display.from_estimator(model, data)


def test_tables_and_reports_say_why_the_figure_is_missing(record):
    assert record.zsl.accuracy is None
    assert record.zsl.alone == "class 6"
    assert record.probabilities.zsl is None
    assert record.probabilities.gzsl is not None
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert "zero-shot" not in str(record)
    table = compare([record])
    assert not [name for name in table.figures if name.startswith("zero-shot")]
    assert "H" in table.figures
    assert f"synthetic: {NONE}" in table.notes
    assert compare([record], differences=True).rows
    said = summary.summarise([record])
    assert said[0] == f"There is {NONE}; hold out two classes or more to get one."
    assert "zero-shot" not in summary.run_table([record]).figures
    (problem,) = sections.group_problems([record], table)
    assert NONE in " ".join(sections.summary_sentences([problem], table))
    assert next(one.name for one in sections.protocol_tables(table)) == "generalised"
    (case,) = problem.cases
    assert list(sections.class_accuracy_figure(problem, case)) == []
    assert [one.name for one in sections.confusion_figures(problem, case)] == ["confusion-all-p1"]
    with pytest.raises(ValueError, match="with two unseen classes or more"):
        plots.ClassAccuracyDisplay.from_records([record])


def test_the_terminal_says_why_the_figure_is_missing(record, capsys):
    runs.show_results([record])
    shown = " ".join(capsys.readouterr().out.split())
    assert NONE in shown
    assert "no test rows" not in shown
    assert "choosing among" not in shown.split("unseen, seen")[0]


def test_folds_that_hold_out_one_class(data):
    """A search goes on, since that fold says the same of every setting; what to expect cannot be said."""
    seen = data.seen_classes
    parts = dict(data.parts)
    for k in (0, 1):
        away = np.isin(data.y[parts["trainval"]], seen[k : k + 1 + k])  # one class, then two
        parts |= {f"fold{k + 1}_train": parts["trainval"][~away], f"fold{k + 1}_val": parts["trainval"][away]}
    folded = Dataset(data.name, data.X, data.y, data.signatures, parts)
    X, y = folded.samples("trainval")
    search = selection.search(baselines.ESZSL(), X, y, data.signatures, {"gamma": [0.1, 1e4]}, folds=folded)
    assert set(search.zsl[:, 0]) == {1.0}
    assert np.isfinite(search.pick("zsl").score)
    with pytest.raises(ValueError, match="fold 1 of synthetic holds out a single class"):
        expectation.expect_accuracy(folded)


def test_record_of_an_earlier_version_with_100_percent_is_corrected(record):
    """One candidate and 100 %: the figure is not read, and another dataset beside it keeps its own."""
    line = record.to_json()
    line["zsl"] = {"protocol": "zsl", "accuracy": 1.0, "per_class": {"class 6": 1.0}, "mistaken": {"class 6": []}}
    old = Record.from_json(line)
    assert old.zsl.accuracy is None
    two = make_synthetic(n_seen=6, n_unseen=2, samples_per_class=8, n_features=8, n_attributes=5)
    table = compare([old, Unit("eszsl", 0).run(two)])
    have = [row.labels["method"] for row in table.rows if "zero-shot" in row.figures]
    assert have == ["eszsl"]


def test_without_test_rows_of_seen_classes_there_is_zero_shot_alone(caplog):
    data = make_synthetic(n_seen=6, n_unseen=3)
    parts = {**data.parts, "test_seen": np.empty(0, np.int64)}
    bare = Dataset(data.name, data.X, data.y, data.signatures, parts)
    with caplog.at_level("WARNING", "zskl"):
        found = Unit("class-means", 0).run(bare)
    assert "zero-shot accuracy alone, without the generalised protocol" in caplog.text
    assert found.zsl.accuracy == Unit("class-means", 0).run(data).zsl.accuracy
    assert found.gzsl.harmonic is None
    assert found.gzsl.per_class == {}
    again = Record.from_json(json.loads(json.dumps(found.to_json())))
    assert "zero-shot" in str(compare([again]))


def test_a_unit_hands_the_blocks_of_the_data_over(caplog):
    data = datasets.make_synthetic()
    d, p = data.X.shape[1], data.signatures.shape[1]
    data = replace(data, blocks={"a": d - 2, "b": 2}, signature_blocks={"x": p - 1, "y": 1})
    plain = Unit("class-means", 0).run(data)
    assert plain.config["blocks"] == {"a": d - 2, "b": 2}
    assert not [line for line in caplog.messages if "knows no" in line]
    tuned = Unit("class-means", 0, settings={"kernel": "gaussian", "noise": 0.1, "prior": "zero"}, tune=True).run(data)
    assert len(tuned.tune.grid["signature_weights"]) == 3
    assert "signature_weights" in tuned.tune.choices.zsl.setting
    Record.from_json(json.loads(json.dumps(tuned.to_json())))
    Unit("eszsl", 0).run(data)
    assert "eszsl knows no blocks: it takes a and b side by side" in caplog.messages
