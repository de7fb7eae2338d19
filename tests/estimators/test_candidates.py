"""Candidate classes: which columns there are, in which order, described by what."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zskl
from baseline_problems import TRAINED
from baseline_problems import make as make_baseline_problems
from taught_models import fitted as fitted_means_models
from taught_models import several, taught
from tolerances import FORMULA, SUMS, assert_close
from toy import CANDIDATES
from zskl import (
    ClassMeansClassifier,
    Committee,
    NoSignaturesWarning,
    UncalibratedWarning,
    ZeroShotKernelClassifier,
    baselines,
    methods,
)
from zskl.estimators import _candidates
from zskl.estimators._candidates import UncalibratedWarning as UncalibratedWarning_candidates
from zskl.estimators._candidates import pick_diverse_rows, pick_rows, top_columns
from zskl.training.objective import Objective


def test_columns_follow_candidates(toy):
    model = toy.fitted()
    scores = model.compatibility(toy.X_new)
    assert scores.shape == (len(toy.X_new), 5)
    for column, label in enumerate(model.candidates_):
        alone = model.compatibility(toy.X_new, candidates=[label])
        assert_close(alone, scores[:, [column]], SUMS.double)
    assert model.predict(toy.X_new).tolist() == [CANDIDATES[best] for best in scores.argmax(axis=1)]


@pytest.mark.parametrize(
    "chosen", [["emu", "bee"], ["bee", "emu"], ["dog", "ant", "cat"], ["bee", "dog"], ["emu"], CANDIDATES[::-1]]
)
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Index, pd.Series, lambda c: np.array(c, dtype=object)])
def test_a_choice_of_candidates_selects_and_orders_columns(toy, chosen, form):
    model = toy.fitted()
    columns = [CANDIDATES.index(label) for label in chosen]
    scores = model.compatibility(toy.X_new)[:, columns]
    assert_close(model.compatibility(toy.X_new, candidates=form(chosen)), scores, SUMS.double)
    expected = [chosen[best] for best in scores.argmax(axis=1)]
    assert model.predict(toy.X_new, candidates=form(chosen)).tolist() == expected
    assert model.top_k(toy.X_new, 1, candidates=form(chosen))[:, 0].tolist() == expected


def test_candidates_default_to_the_classes_of_a_table_at_predict_time(toy):
    model = toy.fitted()
    unseen = toy.table.loc[["emu", "bee"]]
    assert_close(
        model.compatibility(toy.X_new, unseen), model.compatibility(toy.X_new, candidates=["emu", "bee"]), SUMS.double
    )
    assert set(model.predict(toy.X_new, unseen)) <= {"emu", "bee"}


def test_classes_unknown_at_training(toy):
    blind = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]
    unseen = toy.table.loc[["emu", "bee"]]
    assert blind.predict(toy.X_new, unseen).tolist() == toy.fitted().predict(toy.X_new, unseen).tolist()
    assert blind.predict(toy.X_new, unseen, candidates=["bee"]).tolist() == ["bee"] * len(toy.X_new)
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]  # a prediction changes nothing


def test_a_table_at_predict_time_redescribes_seen_classes(toy):
    model = toy.fitted()
    swapped = toy.table.rename(index={"ant": "cat", "cat": "ant"})
    assert_close(
        model.compatibility(toy.X, swapped, candidates=["ant", "cat"]),
        model.compatibility(toy.X, candidates=["cat", "ant"]),
        SUMS.double,
    )


def test_an_array_at_predict_time_takes_its_names_from_candidates(toy):
    model = toy.fitted()
    rows = toy.table.loc[["bee", "cat"]].to_numpy()
    np.testing.assert_array_equal(
        model.compatibility(toy.X, rows, candidates=["bee", "cat"]),
        model.compatibility(toy.X, toy.table, candidates=["bee", "cat"]),
    )
    assert set(model.predict(toy.X, rows, candidates=["x", "y"])) <= {"x", "y"}
    with pytest.raises(ValueError, match="array of 2 rows without class names: pass candidates="):
        model.predict(toy.X, rows)


def test_signature_means_of_seen_classes_ignore_what_else_is_described(toy):
    narrow = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    np.testing.assert_array_equal(toy.fitted().projection_, narrow.projection_)
    everything = toy.fitted(signature_mean="all")
    assert not np.array_equal(everything.projection_, narrow.projection_)
    assert_close(everything.signature_scaling_.mean, toy.table.to_numpy().mean(axis=0), SUMS.double)


def test_a_candidate_named_twice_is_refused(toy):
    with pytest.raises(ValueError, match="names a class twice"):
        toy.fitted().compatibility(toy.X, candidates=["cat", "dog", "cat"])


# No signatures
# A model that was fitted without signatures says so, and warns once where only a description could help.

NEW = {"emu": [1.0, 1.0, 0.0]}  # as many attributes as there are one-hot columns


def fitted(toy, model=None):
    return (model or baselines.ESZSL()).fit(toy.X, toy.y)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, toy: model.predict(toy.X, NEW),
        lambda model, toy: model.decision_function(toy.X, NEW),
        lambda model, toy: list(model.iter_compatibility(toy.X, NEW)),
        lambda model, toy: model.score(toy.X, toy.y, signatures=NEW),
        lambda model, toy: model.score(toy.X_new, toy.y_new),  # labels that the model cannot answer
    ],
)
def test_an_undescribed_class_is_warned_of_once(toy, ask):
    model = fitted(toy)
    with pytest.warns(NoSignaturesWarning, match=r"ESZSL was fitted without signatures.*'emu'.*model__signatures"):
        ask(model, toy)
    ask(model, toy)  # said already: a second warning would be an error here
    with pytest.warns(NoSignaturesWarning):
        ask(fitted(toy, model), toy)  # fitted again


def test_the_warning_points_at_the_line_that_asked(toy):
    with pytest.warns(NoSignaturesWarning) as caught:
        fitted(toy).predict(toy.X, NEW)
    assert [one.filename for one in caught] == [__file__]


def test_a_forgotten_table_in_a_pipeline(toy):
    """As it happened: nothing was said, and unseen rows were all wrong."""
    pipeline = make_pipeline(StandardScaler(), baselines.ESZSL()).fit(toy.X, toy.y)
    with pytest.warns(NoSignaturesWarning, match="'bee', 'emu'"):
        assert pipeline.score(toy.X_new, toy.y_new) == 0
    for arguments in ({"signatures": toy.table}, {"candidates": ["emu"]}):
        with pytest.raises(ValueError, match=r"fitted without signatures: pass signatures to fit \(model__signatures"):
            pipeline.predict(toy.X_new, **arguments)


def test_the_classes_of_the_rows_need_no_description(toy):
    model = fitted(toy)
    assert model.score(toy.X, toy.y) > 0.5
    model.predict(toy.X, candidates=["dog", "ant"])
    model.decision_function(toy.X, dict(zip(["ant", "cat", "dog"], np.eye(3), strict=True)))
    described = baselines.ESZSL().fit(toy.X, toy.y, toy.table)
    described.predict(toy.X, toy.table.loc[["emu"]])
    described.score(toy.X, ["wolf"] * len(toy.X))  # not there, whatever a description says
    taught = fitted(toy, ClassMeansClassifier()).add_examples(toy.X[:2], ["cow", "cow"])
    taught.score(toy.X_new, ["cow"] * len(toy.X_new))  # known by examples


@pytest.mark.parametrize("model", [ClassMeansClassifier(), Committee([("means", ClassMeansClassifier())])])
def test_examples_with_a_description(toy, model):
    with pytest.warns(NoSignaturesWarning, match="'emu'"):
        fitted(toy, model).add_examples(toy.X[:2], ["emu", "emu"], NEW)


def test_repr_says_that_the_model_has_no_signatures(toy, tmp_path):
    words = "  # fitted without signatures: knows only the classes in y"
    model = fitted(toy, baselines.ESZSL(gamma=3.0))
    assert repr(model) == f"ESZSL(gamma=3.0){words}"
    assert repr(eval(repr(model), vars(baselines))) == repr(clone(model)) == "ESZSL(gamma=3.0)"
    assert "fitted without signatures" in model._repr_html_()
    assert "eszsl" in make_pipeline(model)._repr_html_().lower()
    model.save(tmp_path / "a.zskl")
    loaded = zskl.load(tmp_path / "a.zskl")
    assert repr(loaded) == repr(model)
    assert loaded.get_params() == model.get_params()
    assert not loaded.described_
    described = model.fit(toy.X, toy.y, toy.table)
    assert repr(described) == "ESZSL(gamma=3.0)"
    assert described.described_


def test_long_settings_are_broken_into_lines_as_scikit_learn_does():
    long = baselines.ESZSL(3.0, 2.0, "signs", feature_scaling="standardize-l2", signature_scaling="standardize-l2")
    for shown in (repr(long), repr(make_pipeline(long))):
        assert max(map(len, shown.splitlines())) <= 80


def test_a_cosine_describes_classes_by_their_rows(toy):
    model = baselines.Cosine().fit(toy.X, toy.y)
    assert repr(model) == "Cosine()"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(toy.X, {"emu": toy.X_new[0]})


# Next rows
# Which rows to label next: the least sure ones, or those that would change the model most, and no two alike.

WARM = {"seen": 0.02, "unseen": 0.03, "mixed": 0.025}


def calibrated(model):
    model.temperatures_ = dict(WARM)
    return model


def practised(model):
    """As validation classes say it: descriptions weigh more beside one example than beside many."""
    entry = {"shrinkage": model.shrinkage_, "crowding": model.crowding_, "calibration": 0.0, "temperatures": WARM}
    model.practice_ = {"examples": {str(k): {**entry, "weight": 6.0 / k} for k in (1, 3)}}
    return model


def directions(model):
    return model._directions(model._question(np.empty((0, 6)), model.signature_table_))


def slow_change(model, X, of_rows):
    """Teach each row as each class, one at a time, and see how far the directions of that class moved."""
    now, likely = directions(model), model.predict_proba(X, candidates=model.candidates_)
    found = np.zeros(len(X))
    for i, x in enumerate(X):
        for c, label in enumerate(model.candidates_.tolist()):
            then = directions(model.add_examples(x[None], [label]))
            found[i] += likely[i, c] * max(np.linalg.norm(then[row] - now[row]) for row in of_rows[c])
    return found


SORTS = {
    "gaussian": fitted_means_models,
    "linear": lambda toy: fitted_means_models(toy, kernel="linear"),
    "practised": lambda toy: practised(fitted_means_models(toy)),
    "taught": lambda toy: taught(practised(fitted_means_models(toy)), toy),
    "adapted": lambda toy: fitted_means_models(toy).adapt(toy.X_new, force=True),
    "several signatures": lambda toy: fitted_means_models(toy, several(toy)),
}


@pytest.mark.parametrize("sort", SORTS)
def test_expected_change_is_what_teaching_each_row_would_do(toy, sort):
    model, X = calibrated(SORTS[sort](toy)), np.concatenate([toy.X[:3], toy.X_new[:4]])
    rows, worth = model.label_next(X, len(X), "change", return_scores=True)
    expected = slow_change(model, X, model.signature_table_.padded_rows())
    assert expected.max() > 1.2 * expected.min()
    assert_close(worth, expected[rows], 64 * SUMS.single)  # examples are kept in single precision


def slow_picks(worth, near, n):
    """One row after the other, each time the best of all products anew."""
    taken = []
    for _ in range(n):
        left = [
            -1.0 if i in taken else worth[i] * np.prod([1 - max(0.0, near[i] @ near[j]) for j in taken])
            for i in range(len(worth))
        ]
        taken.append(int(np.argmax(left)))
    return taken


def test_rows_are_taken_one_after_the_other(toy):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(40, 4))
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    worth = rng.random(40)
    assert pick_diverse_rows(worth, near, 12, 1.0).tolist() == slow_picks(worth, near, 12)
    assert pick_diverse_rows(worth, near, 12, 0.0).tolist() == np.argsort(-worth)[:12].tolist()


def test_a_small_gap_between_the_best_two_comes_first(toy):
    model, X = toy.fitted(), np.concatenate([toy.X, toy.X_new])
    ordered = np.sort(model.compatibility(X), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2]
    rows, worth = model.label_next(X, 6, diversity=0, return_scores=True)
    assert rows.tolist() == np.argsort(gaps)[:6].tolist()
    assert_close(worth, np.exp(-gaps[rows] / gaps.mean()), SUMS.double)
    model.calibration_ = 0.25  # the constant counts, as in predict
    few = model.label_next(X, 3, diversity=0)
    scores = np.sort(model.compatibility(X) - 0.25 * np.isin(model.candidates_, model.seen_classes_), axis=1)
    assert few.tolist() == np.argsort(scores[:, -1] - scores[:, -2])[:3].tolist()
    asked = model.label_next(X, 3, candidates=["emu", "bee"], diversity=0)
    assert asked.tolist() == np.argsort(np.abs(np.subtract(*model.compatibility(X, candidates=["emu", "bee"]).T)))[
        :3].tolist()  # fmt: skip
    table = toy.table.loc[["emu", "bee"]]
    np.testing.assert_array_equal(model.label_next(X, 3, signatures=table, diversity=0), asked)


@pytest.mark.parametrize("strategy", ["margin", "change"])
def test_copies_of_a_row_are_asked_for_once(toy, strategy):
    model = calibrated(fitted_means_models(toy))
    first = int(model.label_next(toy.X_new, 1, strategy)[0])
    X = np.concatenate([toy.X_new[[first] * 8], np.delete(toy.X_new, first, axis=0)])
    rows = model.label_next(X, 6, strategy)
    assert np.sum(rows < 8) == 1
    assert np.sum(model.label_next(X, 6, strategy, diversity=0) < 8) == 6  # so it would be
    everything = model.label_next(X[:8], 8, strategy)  # where there is nothing else, copies have to do
    assert sorted(everything.tolist()) == list(range(8))


def test_only_the_most_worthwhile_of_many_are_compared(toy, monkeypatch):
    model = toy.fitted()
    expected = model.label_next(toy.X, 4)
    monkeypatch.setattr(_candidates, "LEAST_COMPARED", 4)
    monkeypatch.setattr(_candidates, "COMPARED", 1)
    assert set(model.label_next(toy.X, 4)) == set(model.label_next(toy.X, 4, diversity=0))
    assert set(expected) != set(model.label_next(toy.X, 4))
    frame = pd.DataFrame(toy.X)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.label_next(frame.to_numpy().tolist(), 4), expected)


@pytest.mark.parametrize("name", ["eszsl", "dap", "conse", "gaussian-ort"])
def test_a_method_that_cannot_be_taught_goes_by_the_margin_alone(toy, name):
    model = make_baseline_problems(name).fit(toy.X, toy.y, toy.table - toy.table.min().min() + 0.1)
    assert len(set(model.label_next(toy.X_new, 5))) == 5
    with pytest.raises(ValueError, match=r"^strategy is 'change': \w+ does not learn from examples"):
        model.label_next(toy.X_new, 5, "change")


def test_a_committee_asks_by_its_own_probabilities_for_what_moves_its_class_means(toy):
    model = calibrated(
        Committee([("means", fitted_means_models(toy)), ("eszsl", baselines.ESZSL())], [1, 0.5]).fit(
            toy.X, toy.y, toy.table
        )
    )
    rows, worth = model.label_next(toy.X_new, 10, "change", return_scores=True)
    member = model.named_members_.means
    scaled = member._scale_rows(toy.X_new)
    moves = member._mover(scaled, member.signature_table_)(scaled)
    expected = (model.predict_proba(toy.X_new, candidates=model.candidates_) * moves).sum(axis=1)
    assert_close(worth, expected[rows], SUMS.double)
    alone = Committee([("eszsl", baselines.ESZSL())]).fit(toy.X, toy.y, toy.table)
    assert len(alone.label_next(toy.X_new, 3)) == 3
    with pytest.raises(ValueError, match=r"^strategy is 'change': Committee does not learn"):
        alone.label_next(toy.X_new, 3, "change")


def test_picks_name_the_best_two_classes(toy):
    model = calibrated(fitted_means_models(toy))
    found = pick_rows(model, toy.X_new, 4, "margin", diversity=0)
    best, scores = model.top_k(toy.X_new, 2, return_scores=True)
    np.testing.assert_array_equal(found.labels, best[found.rows])
    assert_close(found.scores, scores[found.rows], SUMS.double)
    likely = np.sort(model.predict_proba(toy.X_new, candidates=model.candidates_), axis=1)[:, :-3:-1]
    assert_close(found.probabilities, likely[found.rows], SUMS.double)
    assert pick_rows(fitted_means_models(toy), toy.X_new, 4, "margin").probabilities is None


def test_an_uncalibrated_model_warns_where_probabilities_count(toy):
    model = fitted_means_models(toy)
    model.label_next(toy.X_new, 3)  # without a warning, which would be an error here
    with pytest.warns(UncalibratedWarning):
        model.label_next(toy.X_new, 3, "change")


def test_tensors_give_the_same_rows(toy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: rows to label among tensors")
    model = calibrated(fitted_means_models(toy))
    for strategy in ("margin", "change"):
        found = model.label_next(torch.from_numpy(toy.X_new), 5, strategy)
        np.testing.assert_array_equal(found, model.label_next(toy.X_new, 5, strategy))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 0}, "n is 0: expected an integer ≥ 1"),
        ({"n": 11}, "n is 11: expected an integer from 1 to 10, the number of rows"),
        ({"strategy": "margins"}, r"strategy is 'margins': expected one of margin, change \(did you mean 'margin'\?\)"),
        ({"diversity": -1}, "diversity is -1: expected a finite number ≥ 0"),
        ({"candidates": ["cat"]}, "the only candidate is 'cat': a label tells classes apart, so name another"),
        ({"candidates": ["cow"]}, "candidate 'cow' is not in the fitted table"),
    ],
)
def test_bad_arguments_of_label_next_are_refused(toy, arguments, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        toy.fitted().label_next(toy.X_new, **{"n": 3, **arguments})
    with pytest.raises(NotFittedError):
        methods.build("eszsl").label_next(toy.X)


# Ranking
# Rows ranked block by block: the answers of one block, ties as a stable sort breaks them, `out` filled in place.

CALLS = {
    "compatibility": lambda model, X: model.compatibility(X),
    "predict": lambda model, X: model.predict(X),
    "reject": lambda model, X: model.predict(X, min_probability=0.3),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "top_k": lambda model, X: model.top_k(X, 3),
    "scores of top_k": lambda model, X: model.top_k(X, 3, return_scores=True)[1],
    "decision_function": lambda model, X: model.decision_function(X),
}
METHODS = ["kernel", *TRAINED]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_candidates, "BLOCK_BYTES", (300, 300))


def in_blocks(monkeypatch, call, *arguments):
    with monkeypatch.context() as patch:
        patch.setattr(_candidates, "BLOCK_BYTES", (300, 300))
        return call(*arguments)


def make(name):
    if name == "kernel":
        return ZeroShotKernelClassifier(epochs=2, random_state=0)
    return baselines.BASELINES[name](random_state=0)


@pytest.fixture(scope="module")
def fitted_toy():
    """name → a fitted model with two unseen classes, calibrated by hand, one seen class with two signatures."""
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(8, 4)), index=[*"abcdef", "y", "z"])
    y = np.repeat([*"abcdef"], 12)
    X = table.loc[y].to_numpy() @ rng.normal(size=(4, 6)) + 0.3 * rng.normal(size=(len(y), 6))
    table = pd.concat([table, table.loc[["b"]] + 0.1])
    known = {}

    def of(name):
        if name not in known:
            known[name] = make(name).fit(X, y, table)
            known[name].calibration_ = 0.05
            known[name].temperatures_ = {"seen": 0.5, "unseen": 0.6, "mixed": 0.7}
        return known[name], X

    return of


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("call", CALLS)
def test_blocks_give_what_one_block_gives(fitted_toy, monkeypatch, name, call):
    model, X = fitted_toy(name)
    whole = CALLS[call](model, X)
    parts = in_blocks(monkeypatch, CALLS[call], model, X)
    assert parts.dtype == whole.dtype
    check(model, X, parts, whole)
    if name == "kernel":
        with pytest.raises(AssertionError):  # blocks in another order
            check(model, X, np.roll(parts, 10, axis=0), whole)


def check(model, X, parts, whole):
    """The same numbers; or labels that score the same, for where classes tie, rounding may choose between them."""
    if whole.dtype.kind == "f":
        assert_close(parts, whole, SUMS.double)
        return
    ranked = np.column_stack([model.compatibility(X), np.zeros(len(X))])  # the last for rows without an answer
    place = {label: k for k, label in enumerate(model.candidates_.tolist())}
    found, expected = (
        np.array([place.get(label, len(place)) for label in labels.ravel().tolist()]).reshape(len(X), -1)
        for labels in (parts, whole)
    )
    np.testing.assert_array_equal(found == len(place), expected == len(place))
    found, expected = (np.take_along_axis(ranked, labels, axis=1) for labels in (found, expected))
    assert_close(found, expected, SUMS.double)


@pytest.mark.parametrize("call", CALLS)
def test_tensors_in_blocks(fitted_toy, monkeypatch, call):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: blocks of tensors")
    model, X = fitted_toy("kernel")
    tensor = torch.from_numpy(X)
    whole, parts = CALLS[call](model, tensor), in_blocks(monkeypatch, CALLS[call], model, tensor)
    assert type(whole) is type(parts)
    assert whole.dtype == parts.dtype
    check(model, X, np.asarray(parts), np.asarray(whole))


def test_what_candidates_alone_decide_is_worked_out_once(fitted_toy, monkeypatch, small_blocks):
    model, X = fitted_toy("kernel")
    counted = {"scorer": 0, "blocks": 0}
    usual = Objective.scorer

    def scorer(self, W, Y):
        counted["scorer"] += 1
        scores = usual(self, W, Y)

        def of_block(X):
            counted["blocks"] += 1
            return scores(X)

        return of_block

    monkeypatch.setattr(Objective, "scorer", scorer)
    model.predict(X)
    assert counted["scorer"] == 1
    assert counted["blocks"] > 10


def test_a_warning_of_uncalibrated_probabilities_comes_once(fitted_toy, small_blocks):
    model, X = fitted_toy("eszsl")
    known, model.temperatures_ = model.temperatures_, None
    try:
        with pytest.warns(UncalibratedWarning_candidates) as caught:
            model.predict_proba(X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    finally:
        model.temperatures_ = known


@pytest.mark.parametrize("kind", ["uint8", "int64", "float16", "float32", "float64", ">f4"])
def test_numbers_of_any_kind_are_read_from_a_file_by_blocks(fitted_toy, monkeypatch, tmp_path, kind):
    model, X = fitted_toy("kernel")
    array = (20 * np.abs(X)).astype(kind)
    np.save(tmp_path / "X.npy", array)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = model.compatibility(array)
    found = in_blocks(monkeypatch, model.compatibility, mapped)
    assert found.dtype == expected.dtype == (np.float32 if kind in ("float16", "float32") else np.float64)
    assert_close(found, expected, SUMS.of(expected.dtype))


def test_data_frames_keep_their_names(fitted_toy, small_blocks):
    _, X = fitted_toy("kernel")
    frame = pd.DataFrame(X, columns=[*"uvwxyz"])
    y = np.repeat([*"abcdef"], 12)
    model = make("kernel").fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame), make("kernel").fit(X, y).predict(X))
    np.testing.assert_array_equal(model.predict(frame[[*"zyxwvu"]]), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.set_axis([*"zyxwvt"], axis=1))


def test_a_bad_value_in_a_later_block_is_reported_with_its_row(fitted_toy, small_blocks):
    model, X = fitted_toy("kernel")
    X = X.copy()
    X[40, 2], X[50, 1], X[60, 2] = np.nan, np.inf, np.nan
    for call in CALLS.values():
        with pytest.raises(ValueError, match=r"infinity \(inf\) in column 1, 2, first at row 50 \(3 such value"):
            call(model, X)


# `out` and iter_compatibility


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_out_takes_the_scores(fitted_toy, small_blocks, tmp_path, kind):
    model, X = fitted_toy("kernel")
    expected = model.compatibility(X, candidates=["a", "z"])
    out = np.lib.format.open_memmap(tmp_path / "scores.npy", mode="w+", dtype=kind, shape=(len(X), 2))
    assert model.compatibility(X, candidates=["a", "z"], out=out) is out
    out.flush()
    assert_close(np.load(tmp_path / "scores.npy"), expected, FORMULA.single)
    whole = np.empty((len(X), 2))
    _candidates.BLOCK_BYTES = (1 << 30, 1 << 30)  # a single block goes there too
    model.compatibility(X, candidates=["a", "z"], out=whole)
    assert_close(whole, expected, SUMS.double)


def test_out_between_libraries(fitted_toy, small_blocks):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: out as a tensor")
    model, X = fitted_toy("kernel")
    expected = model.compatibility(X)
    tensor, array = torch.empty(expected.shape), np.empty(expected.shape)
    assert model.compatibility(X, out=tensor) is tensor
    assert model.compatibility(torch.from_numpy(X), out=array) is array
    assert_close(tensor.numpy(), expected, FORMULA.single)
    assert_close(array, expected, SUMS.double)
    with pytest.raises(ValueError, match=r"out holds torch\.int64"):
        model.compatibility(X, out=torch.empty(expected.shape, dtype=torch.int64))


def read_only(shape):
    array = np.empty(shape)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (lambda n, c: np.empty((n, c + 1)), r"out has shape \(72, 9\): expected \(72, 8\)"),
        (lambda n, c: np.empty(n), r"out has shape \(72,\)"),
        (lambda n, c: np.empty((n, c), dtype=int), "out holds int64: expected floating-point"),
        (lambda n, c: read_only((n, c)), "out is read-only: expected a writable one; open a memory-mapped file with"),
        (lambda n, c: [[0.0] * c] * n, "out is a list: expected a NumPy array"),
    ],
)
def test_an_out_that_cannot_take_the_scores_is_refused(fitted_toy, out, words):
    model, X = fitted_toy("kernel")
    with pytest.raises(ValueError, match=words):
        model.compatibility(X, out=out(72, 8))


def test_an_out_that_overlaps_the_input_is_refused(fitted_toy):
    model, _ = fitted_toy("kernel")
    both = np.zeros((72, 14))
    with pytest.raises(ValueError, match="out shares memory with X"):
        model.compatibility(both[:, :6], out=both[:, 5:13])
    model.compatibility(both[:, :6], out=both[:, 6:])  # beside each other, not over


def test_a_tensor_that_overlaps_the_input_is_refused(fitted_toy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: tensors")
    model, _ = fitted_toy("kernel")
    both = torch.zeros((72, 14))
    with pytest.raises(ValueError, match="out shares memory with X"):
        model.compatibility(both[:, :6], out=both[:, 5:13])


@pytest.mark.parametrize("block_rows", [None, 1, 7, 1000])
def test_blocks_of_scores_cover_all_rows_in_order(fitted_toy, block_rows):
    model, X = fitted_toy("kernel")
    blocks = list(model.iter_compatibility(X, candidates=["z", "a"], block_rows=block_rows))
    assert [row for rows, _ in blocks for row in range(len(X))[rows]] == list(range(len(X)))
    if block_rows:
        assert {len(scores) for _, scores in blocks[:-1]} <= {block_rows}
    joined = np.concatenate([scores for _, scores in blocks])
    assert_close(joined, model.compatibility(X, candidates=["z", "a"]), SUMS.double)


def test_blocks_of_scores_refuse_before_the_first(fitted_toy):
    model, X = fitted_toy("kernel")
    with pytest.raises(ValueError, match="block_rows"):
        model.iter_compatibility(X, block_rows=0)
    with pytest.raises(ValueError, match="candidate 'nobody' is not in the fitted table"):
        model.iter_compatibility(X, candidates=["nobody"])


# The k best


def by_a_whole_sort(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@pytest.mark.parametrize("k", [1, 2, 5, 13, 40])
@pytest.mark.parametrize("levels", [2, 5, 30, 10**6])
@pytest.mark.parametrize("missing", [0, 0.02, 0.97])
def test_the_k_best_are_those_of_a_whole_stable_sort(k, levels, missing):
    rng = np.random.default_rng(k)
    scores = (rng.integers(levels, size=(300, 40)) / levels).astype(np.float32)
    scores[rng.random(scores.shape) < missing] = np.nan
    scores[::7] = 0.25  # all equal
    scores[1::7, 3] = -np.inf
    for found, expected in zip(top_columns(scores, k), by_a_whole_sort(scores, k), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_partition_alone_would_break_ties_otherwise():
    """The planted fault: without the look at equal scores the test above would fail."""
    scores = (np.random.default_rng(0).integers(5, size=(300, 40)) / 5).astype(np.float32)
    some = np.sort(np.argpartition(-scores, 4, axis=1)[:, :5], axis=1)
    values = np.take_along_axis(-scores, some, axis=1)
    order = np.take_along_axis(some, np.argsort(values, axis=1, kind="stable"), axis=1)
    assert (order != by_a_whole_sort(scores, 5)[0]).any()
