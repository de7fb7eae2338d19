"""Explanations: which classes are compared, what is told, what is refused."""

import copy
import gc
import tracemalloc
import weakref
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import textbook
import zskl
from baseline_problems import TRAINED
from fits import ALL, BILINEAR, SECANT, Rational, fit_digits, fit_explained, raw_difference, sums
from slow_walk import WALKED, ask, walk_descriptions
from tolerances import FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, datasets, kernels, methods
from zskl.estimators import _candidates
from zskl.estimators import explanation as explaining
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import (
    EXPLAINED,
    NEAR,
    DescriptionPath,
    Evidence,
    Explanation,
    ScoreParts,
    has_names,
    round_to_sum,
)

# Explanation ----------------------------------------------------------------------------------------------------------

CANNOT = [name for name in TRAINED if name not in ("ale", "devise", "sje", "eszsl", "sae")]


def test_the_predicted_class_against_the_runner_up(toy):
    model = toy.fitted()
    found, two = model.explain(toy.X_new), model.top_k(toy.X_new, 2)
    assert [(one.label, one.against) for one in found] == [tuple(row) for row in two.tolist()]
    assert [one.label for one in found] == model.predict(toy.X_new).tolist()
    few = model.explain(toy.X_new, candidates=["bee", "emu"])
    assert [one.label for one in few] == model.predict(toy.X_new, candidates=["bee", "emu"]).tolist()
    assert {one.label for one in few} | {one.against for one in few} == {"bee", "emu"}


def test_named_classes(toy):
    model = toy.fitted()
    scores = pd.DataFrame(model.compatibility(toy.X_new), columns=model.candidates_)
    both = model.explain(toy.X_new, label="bee", against="cat")
    assert {(one.label, one.against) for one in both} == {("bee", "cat")}
    assert_close(sums(both), scores["bee"] - scores["cat"], SUMS.double)
    np.testing.assert_array_equal(both[0].values, toy.table.loc["bee"])
    np.testing.assert_array_equal(both[0].values_against, toy.table.loc["cat"])
    back = model.explain(toy.X_new, label="cat", against="bee")
    assert_close(back[0].contributions, -both[0].contributions, SECANT * SUMS.double)
    of_others = scores.drop(columns="bee").idxmax(axis=1).tolist()
    assert [one.against for one in model.explain(toy.X_new, label="bee")] == of_others
    assert [one.label for one in model.explain(toy.X_new, against="bee")] == of_others


def test_of_several_signatures_the_best_is_explained(toy):
    rng = np.random.default_rng(0)
    table = pd.concat([toy.table, toy.table + rng.normal(size=toy.table.shape), toy.table.loc[["ant"]] + 0.5])
    for name in ("gaussian, True", "polynomial-4, True", "eszsl"):
        model = fit_explained(name, toy, table)
        found = model.explain(toy.X)
        allowed = SUMS.double * np.abs(model.compatibility(toy.X)).max()
        assert np.abs(sums(found) - raw_difference(model, toy.X, found)).max() <= allowed
        chosen = set()
        for x, one in zip(toy.X, found, strict=True):
            rows = table.loc[[one.label]]
            names = [f"{one.label} {k}" for k in range(len(rows))]
            best = int(model.compatibility(x[None], rows.to_numpy(), names).argmax())
            np.testing.assert_array_equal(one.values, rows.iloc[best])
            chosen.add(best)
        assert len(chosen) > 1


def test_calibration_is_reported_apart(toy):
    model = toy.fitted()
    model.calibration_ = 0.25
    found = model.explain(toy.X_new, label="cat", against="emu")
    assert {one.calibration for one in found} == {-0.25}
    assert {one.calibration for one in model.explain(toy.X_new, label="emu", against="cat")} == {0.25}
    assert {one.calibration for one in model.explain(toy.X_new, label="emu", against="bee")} == {0.0}
    assert {one.calibration for one in model.explain(toy.X_new, calibrated=False)} == {0.0}
    assert {one.calibration for one in model.explain(toy.X_new, candidates=["cat", "dog"])} == {0.0}
    assert_close(sums(found), [one.difference for one in found], SUMS.double)  # the raw difference
    for calibrated in (True, False):
        labels = [one.label for one in model.explain(toy.X, calibrated=calibrated)]
        assert labels == model.predict(toy.X, calibrated=calibrated).tolist()
    moved = [one for one in model.explain(toy.X) if one.difference < 0]
    assert moved
    assert all(one.difference + one.calibration >= 0 for one in moved)


def test_top_and_rest(toy):
    (one,) = toy.fitted().explain(toy.X_new[:1], top=2, label="emu", against="cat")
    order = np.argsort(-np.abs(one.contributions))
    assert one.top == [(toy.table.columns[m], float(one.contributions[m])) for m in order[:2]]
    assert abs(one.rest + sum(value for _, value in one.top) - one.difference) <= SUMS.double
    (whole,) = toy.fitted().explain(toy.X_new[:1], top=99)
    assert (len(whole.top), whole.rest, "everything else" in str(whole)) == (4, 0.0, False)
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 1.0  # a row of the model's own table
    assert "calibration +0.25" in str(type(one)(**{**vars(one), "calibration": 0.25}))


def explanation(contributions, **how):
    """Of as many attributes as there are contributions: nothing is computed."""
    n = len(contributions)
    names = ("horns", "wings", "size", "stripes", "tail")[:n]
    given = {"values": np.array([1.0, 0.0, 2.5, 1, 1])[:n], "values_against": np.array([0.0, 1.0, 3.5, 1, 0])[:n]}
    given |= {"difference": float(sum(contributions)), "calibration": 0.0, "label": "yak", "against": "bat"} | how
    return Explanation(contributions=np.array(contributions), attributes=names, **given)


def test_text_says_what_is_for_and_against_and_everything_else():
    terms = {"training rows": -0.04, "crowding": 0.01}
    rows = (Evidence("yak", "training rows", 12.0, -0.06), Evidence("bat", "training rows", 1.0, 0.02))
    one = explanation(
        [0.3, 0.11, -0.05, 0.0, 0.002], difference=0.332, terms=terms, evidence=rows, shown=3, calibration=-0.2
    )
    assert str(one).split("\n") == [
        "yak rather than bat: +0.332, calibration -0.200",
        "  for it           horns +0.300 (1 against 0); no wings +0.110 (0 against 1)",
        "  against it       less size -0.050 (2.5 against 3.5)",
        "  everything else  -0.028: 2 other attributes +0.002; 12 training rows of yak -0.060; "
        "1 training row of bat +0.020; crowding +0.010",
    ]
    assert "everything else" not in str(explanation([0.3, 0.1]))
    assert "for it" not in str(explanation([-0.3, -0.1]))
    assert str(explanation([0.2], note="as it is")).endswith("(as it is)")


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=12))
def test_printed_numbers_add_up(values):
    printed = round_to_sum(values, sum(values))
    places = max(len(one.partition(".")[2]) for one in printed)
    assert round(sum(map(float, printed)), places) == pytest.approx(round(sum(values), places), abs=1e-9)
    moved = [abs(float(one) - value) for one, value in zip(printed, values, strict=True)]
    assert max(moved) <= 1.01 * 10.0**-places  # at most one unit of the last digit


def test_a_sum_of_numbers_rounded_one_by_one_is_caught():
    """The planted fault: each number rounded by itself."""
    values = [0.3334, 0.3334, 0.3332]
    assert round(sum(round(one, 3) for one in values), 3) != 1.0
    assert sum(map(float, round_to_sum(values, 1.0))) == pytest.approx(1.0, abs=1e-12)


def test_attributes_without_names(toy):
    model = toy.model().fit(toy.X, toy.y, dict(zip(toy.table.index, toy.table.to_numpy(), strict=True)))
    (one,) = model.explain(toy.X[:1])
    assert one.attributes == ("attribute 0", "attribute 1", "attribute 2", "attribute 3")


def test_explanations_are_the_same_in_blocks_and_for_every_kind_of_input(toy, monkeypatch):
    model = toy.fitted()
    whole = model.explain(toy.X)
    frame = pd.DataFrame(toy.X)
    others = [model.explain(frame.to_numpy(dtype=object).astype(float).tolist())]
    with monkeypatch.context() as patch:
        patch.setattr(_candidates, "BLOCK_BYTES", (300, 300))
        others.append(model.explain(toy.X))
    for other in others:
        assert [(one.label, one.against) for one in other] == [(one.label, one.against) for one in whole]
        for mine, theirs in zip(other, whole, strict=True):
            assert_close(mine.contributions, theirs.contributions, SECANT * SUMS.double)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors(toy, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: explanations of tensors")
    for name in ("gaussian, True", "polynomial-6, True", "sae to-features", "sae to-signatures"):
        model, X = fit_explained(name, toy), toy.X.astype(dtype)
        tensor = torch.from_numpy(X)
        for mine, theirs in zip(model.explain(tensor), model.explain(X), strict=True):
            assert (mine.label, mine.against) == (theirs.label, theirs.against)
            assert_close(mine.contributions, theirs.contributions, SECANT * SUMS.of(dtype))
        space = model.attribute_space(tensor)
        assert isinstance(space, torch.Tensor)
        assert space.dtype == tensor.dtype
        assert_close(space.numpy(), model.attribute_space(X), SUMS.of(dtype))
        scores = model.gallery(tensor).scores()
        assert isinstance(scores, torch.Tensor)
        assert scores.dtype == tensor.dtype
        assert_close(scores.numpy(), model.compatibility(X), SUMS.of(dtype))


def test_a_loaded_model_gives_the_same_explanations(toy, tmp_path):
    for name in ("cauchy, True", "eszsl", "sae to-signatures"):
        model = fit_explained(name, toy)
        model.save(tmp_path / "m.zskl")
        for mine, theirs in zip(zskl.load(tmp_path / "m.zskl").explain(toy.X), model.explain(toy.X), strict=True):
            assert str(mine) == str(theirs)
            np.testing.assert_array_equal(mine.contributions, theirs.contributions)


def test_many_rows_take_no_array_of_rows_by_attributes_twice():
    data = datasets.make_synthetic(n_features=32, n_attributes=200, samples_per_class=60)
    rows = data.parts["trainval"]
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(data.X[rows], data.y[rows], data.signatures)
    X = np.concatenate([data.X, data.X])[:2000]
    tracemalloc.start()
    found = model.explain(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == len(X) > 1000
    assert peak < 100e6 < len(X) * 200 * 200 * 8


@pytest.mark.parametrize("name", CANNOT)
def test_methods_that_cannot_be_explained_say_so(toy, name):
    table = toy.table - toy.table.min().min() + 0.1  # SSE wants no negative ones
    model = fit_explained(name, toy, table)
    kind = type(model).__name__
    with pytest.raises(ValueError, match=rf"^{kind} cannot be explained by attributes: .* ale, cosine, devise, es"):
        model.explain(toy.X)
    with pytest.raises(ValueError, match=rf"^{kind} has no attribute space: "):
        model.attribute_space(toy.X)
    np.testing.assert_array_equal(model.gallery(toy.X).scores(), model.compatibility(toy.X))
    assert len(model.nearest_classes(2)) == 10


def test_the_refusal_names_all_methods_that_can():
    can = {
        name
        for name, method in methods.METHODS.items()
        if method.estimator._score_parts is not ZeroShotClassifier._score_parts
        and method.estimator is not ZeroShotKernelClassifier
    }
    told = EXPLAINED.removeprefix("the kernel methods, ").replace(" and ", ", ").split(", ")
    assert told == sorted(can)
    assert ZeroShotKernelClassifier._score_parts is not ZeroShotClassifier._score_parts


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"candidates": ["cat"]}, "the only candidate is 'cat': an explanation compares two classes"),
        (
            {"label": "cow"},
            "label 'cow' is not among the candidates: expected one of 'ant', 'bee', 'cat', 'dog', 'emu'",
        ),
        ({"against": 3}, "against 3 is not among the candidates"),
        ({"label": "cat", "candidates": ["emu", "bee"]}, "label 'cat' is not among the candidates"),
        ({"label": "cat", "against": "cat"}, "label and against are both 'cat': name two different classes"),
        ({"top": 0}, "top is 0: expected an integer ≥ 1"),
        ({"candidates": ["yak"]}, "candidate 'yak' is not in the fitted table"),
    ],
)
def test_bad_arguments_of_explain_are_refused(toy, arguments, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        toy.fitted().explain(toy.X, **arguments)


def test_an_unfitted_model_and_wrong_rows(toy):
    for call in ("explain", "attribute_space", "gallery"):
        with pytest.raises(NotFittedError):
            getattr(toy.model(), call)(toy.X)
        with pytest.raises(ValueError, match="5 features"):
            getattr(toy.fitted(), call)(toy.X[:, :5])
        with pytest.raises(ValueError, match="NaN"):
            getattr(toy.fitted(), call)(np.where(np.eye(len(toy.X), 6) == 1, np.nan, toy.X))
    with pytest.raises(NotFittedError):
        toy.model().nearest_classes()


# Explained digits -----------------------------------------------------------------------------------------------------
# Explanations of digits: what a segment says, and what happens without it.


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def without_a_segment(model, digits, by):
    """(contributions, change of score(digit) − score(other), ahead before, ahead after), each (pairs, rows), over half
    of the pairs of digits and all segments that the digit has and the other lacks: these are turned off in the
    description of the digit."""
    table, found = digits.signatures, []
    for digit in range(10):
        X = digits.X[digits.y == digit][:40].astype(np.float64)
        for other in range(digit % 2, 10, 2):
            own = [segment for segment in table.columns if table.loc[digit, segment] > table.loc[other, segment]]
            if not own:
                continue
            parts = np.array([one.contributions for one in model.explain(X, label=digit, against=other, by=by)])
            before = np.subtract(*model.compatibility(X, table, [digit, other]).T)
            for segment in own:
                changed = table.copy()
                changed.loc[digit, segment] = 0
                if not changed.loc[digit].any():
                    continue
                after = np.subtract(*model.compatibility(X, changed, [digit, other]).T)
                found.append((parts[:, table.columns.get_loc(segment)], after - before, before > 0, after > 0))
    return tuple(np.array(column) for column in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["gaussian", "cauchy", "eszsl"])
def test_turning_off_a_segment_moves_the_score_as_its_contribution_says(digits, name):
    """With signatures as they are, turning off a segment that the other digit lacks makes the two agree there, and
    nothing else changes: a digit falls by a segment that spoke for it, and rises by one that spoke against it."""
    model = fit_digits(digits, name, signature_scaling="none")
    spoke, change, before, after = without_a_segment(model, digits, "scaled")
    assert (spoke > 1e-6).any()
    assert (spoke < -1e-6).any()
    clear = np.abs(spoke) > 1e-9
    np.testing.assert_array_equal(np.sign(change[clear]), -np.sign(spoke[clear]))
    assert not (after & ~before)[spoke > 0].any()
    assert not (before & ~after)[spoke < 0].any()
    assert (before & ~after).any()
    assert (after & ~before).any()
    if name == "eszsl":  # a bilinear score loses just that
        assert_close(change, -spoke, SUMS.double)


@pytest.mark.parametrize("by", ["attributes", "scaled"])
@pytest.mark.parametrize("name", ["gaussian-ort", "gaussian", "cauchy-ort", "polynomial-2", "eszsl", "ale"])
def test_turning_off_a_segment_mostly_moves_scaled_digits_too(digits, name, by):
    """Centred signatures of unit length change in all attributes when one does, so the sign is right for most rows."""
    spoke, change, before, after = without_a_segment(fit_digits(digits, name), digits, by)
    assert (np.sign(change) == -np.sign(spoke)).mean() > 0.85
    assert np.corrcoef(spoke.ravel(), change.ravel())[0, 1] < -0.7
    strong = np.abs(spoke) > np.quantile(np.abs(spoke), 0.75)
    assert (before & ~after)[strong & (spoke > 0)].sum() > 10 * (after & ~before)[strong & (spoke > 0)].sum()


def test_the_ranking_of_fours_among_all_digits(digits):
    """Handwritten fours are taken for ones: `middle` speaks against 4, `upper left` for it."""
    model = fit_digits(digits, "gaussian-ort")
    X = digits.X[digits.y == 4]

    def mean_place(table):
        return (model.top_k(X, 10, table) == 4).argmax(axis=1).mean()

    spoke = pd.Series(
        np.mean([one.contributions for one in model.explain(X, label=4, against=1)], axis=0), digits.signatures.columns
    )
    assert spoke["middle"] < -0.1
    assert spoke["upper left"] > 0.05
    changed = {segment: digits.signatures.copy() for segment in ("middle", "upper left")}
    for segment, table in changed.items():
        table.loc[4, segment] = 0
    before = mean_place(digits.signatures)
    assert mean_place(changed["middle"]) < before - 0.5
    assert mean_place(changed["upper left"]) > before + 0.5


# Attributes as they were written --------------------------------------------------------------------------------------
# What both classes share adds nothing, the sums hold all the same, and each part is that of a slow walk in small steps.

SCALINGS = ("none", "center-l2", "sqrt-center-l2", "l2-center-l2", "standardize-l2", "standardize", "unit-center-l2")


def marked(toy):
    """A table of 0, 1 and 2, in which classes agree in some attributes."""
    rows = {"dog": [2, 1, 0, 1], "emu": [2, 0, 1, 0], "ant": [0, 2, 0, 0], "cat": [1, 1, 0, 2], "bee": [0, 2, 1, 1]}
    return pd.DataFrame(rows, index=toy.table.columns, dtype=float).T


def check_walk(model, X):
    found = model.explain(X)
    for x, one, difference in zip(X, found, raw_difference(model, X, found), strict=True):
        walked = walk_descriptions(model, one, ask(model, x))
        assert np.abs(one.contributions - walked).max() <= WALKED * max(np.abs(walked).max(), 1e-3)
        assert abs(one.contributions.sum() - difference) <= SECANT * SUMS.double * max(1.0, abs(difference))
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)
        assert (one.terms, one.likeness, one.by) == ({}, None, "attributes")
    return found


@pytest.mark.parametrize("name", ALL)
def test_parts_of_attributes_match_a_slow_walk_for_every_score(toy, name):
    check_walk(fit_explained(name, toy, marked(toy)), np.concatenate([toy.X[:2], toy.X_new[:2]]))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_parts_of_attributes_match_a_slow_walk_for_every_scaling(toy, scaling):
    table = marked(toy).add([0.0, 0.0, 0.0, 0.5])
    for name in ("eszsl", "gaussian-ort"):
        model = methods.build(name, {"random_state": 0, "signature_scaling": scaling}).fit(toy.X, toy.y, table)
        check_walk(model, np.concatenate([toy.X[:1], toy.X_new[:1]]))


@pytest.mark.parametrize("name", ["gaussian, True", "sae to-features"])
def test_a_walk_that_forgets_the_lengths_is_caught(toy, monkeypatch, name):
    """The planted fault: slopes as if descriptions were not scaled to unit length. What is missing is then shared out
    in proportion, so only the walk tells."""
    model = fit_explained(name, toy, marked(toy))
    points = DescriptionPath.points
    monkeypatch.setattr(DescriptionPath, "points", lambda self, *given: (points(self, *given)[0], lambda found: found))
    with pytest.raises(AssertionError):
        check_walk(model, toy.X)


def test_an_attribute_in_which_two_classes_agree_is_never_named(toy):
    table = marked(toy)
    model, X = fit_explained("gaussian, True", toy, table), np.concatenate([toy.X, toy.X_new])

    def leads(**how):
        return [one for one in model.explain(X, **how) if one.values[one.order[0]] == one.values_against[one.order[0]]]

    assert leads(by="scaled")  # so it is with scaled attributes
    assert not leads()
    for one in model.explain(X, top=99):
        assert "in both" not in str(one)
        assert one.others == np.sum(one.values == one.values_against)


def test_a_description_that_is_just_the_mean_of_all(toy):
    """It has no direction, so the score jumps where the walk leaves it; parts add up all the same."""
    table = marked(toy)
    model = fit_explained("eszsl", toy, table)
    middle = pd.concat([table, pd.DataFrame([model.signature_scaling_.mean], ["mid"], table.columns)])
    for one in model.explain(toy.X_new[:3], signatures=middle, label="mid", against="emu"):
        assert np.isfinite(one.contributions).all()
        assert abs(one.contributions.sum() - one.difference) <= SUMS.double


def test_raw_warns_and_stands_for_a_form(toy):
    model = toy.fitted()
    for raw, by in ((True, "attributes"), (False, "scaled")):
        with pytest.warns(FutureWarning, match=rf"^raw={raw} of explain goes with 0.4: use by='{by}'") as told:
            (found,) = model.explain(toy.X[:1], raw=raw)
        assert told[0].filename == __file__
        (wanted,) = model.explain(toy.X[:1], by=by)
        assert (found.by, str(found)) == (by, str(wanted))
    with pytest.raises(ValueError, match=r"^raw is 'yes': expected True or False"):
        model.explain(toy.X, raw="yes")
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match=r"^raw is True and by is 'scaled'"):
        model.explain(toy.X, raw=True, by="scaled")


def test_forms_that_are_refused(toy):
    with pytest.raises(ValueError, match=r"^by is 'class': expected"):
        toy.fitted().explain(toy.X, by="class")
    with pytest.raises(ValueError, match=r"^by is 'classes': ZeroShotKernelClassifier does not compare a class with"):
        toy.fitted().explain(toy.X, by="classes")


@pytest.mark.parametrize(
    ("names", "say"),
    [
        (None, False),
        (["0", "1"], False),
        (["w0", "w1"], False),
        (["attribute 1", "attribute 2"], False),
        (["dim_7", "Unnamed: 3"], False),
        (["legs", "w1"], True),
        (["size", "2"], True),
    ],
)
def test_columns_without_names_are_told_from_others(names, say):
    assert has_names(names) is say


# What is kept from row to row -----------------------------------------------------------------------------------------


def count_scorers(monkeypatch):
    made = []
    kind = explaining.CandidateScorer
    monkeypatch.setattr(explaining, "CandidateScorer", lambda *given: [made.append(given[2]), kind(*given)][1])
    return made


def test_candidates_are_prepared_with_the_first_row_only(toy, monkeypatch):
    made, model = count_scorers(monkeypatch), toy.fitted()
    found = [model.explain(toy.X[k : k + 1])[0] for k in range(5)]
    assert made == [None]
    assert [str(one) for one in found] == [str(model.explain(toy.X)[k]) for k in range(5)]
    model.explain(toy.X, candidates=["bee", "emu"])
    model.explain(toy.X, candidates=["bee", "emu"], label="bee")
    model.explain(toy.X)
    assert made == [None, ["bee", "emu"]]
    model.explain(toy.X, signatures=toy.table)  # may change behind our back
    model.explain(toy.X, signatures=toy.table)
    assert len(made) == 4


def test_what_has_changed_is_prepared_again(toy):
    model = toy.fitted()
    before = model.explain(toy.X, label="cat", against="emu")[0]
    model.calibration_ = 0.25
    assert model.explain(toy.X, label="cat", against="emu")[0].calibration == before.calibration - 0.25
    other = toy.model(kernel="cauchy").fit(toy.X[::-1], toy.y[::-1], toy.table)
    wanted = str(other.explain(toy.X)[0])
    model.set_params(kernel="cauchy").fit(toy.X[::-1], toy.y[::-1], toy.table)
    assert str(model.explain(toy.X)[0]) == wanted


def test_what_is_prepared_is_neither_copied_nor_kept_for_ever(toy):
    model = toy.fitted()
    for k in range(9):
        model.explain(toy.X[:1], candidates=["bee", "emu", "cat"][: 2 + k % 2], label="bee", calibrated=k % 3 == 0)
    assert len(vars(model)["_explainers"][1]) == 4
    assert "_explainers" not in vars(copy.copy(model))
    gone = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert gone() is None  # no circle that only the collector finds
    finally:
        gc.enable()


# Score parts ----------------------------------------------------------------------------------------------------------
# Contributions of attributes add up to the difference of two scores, for every kernel and bilinear method.


@dataclass(frozen=True)
class Laplace(kernels.Kernel):
    """k(D) = exp(−√D), which has no value below 0."""

    name: ClassVar[str] = "laplace of test_explain"

    def value(self, t):
        return np.exp(-np.sqrt(t))

    def slope(self, t, value=None):
        return -np.exp(-np.sqrt(t)) / (2 * np.sqrt(t))


def scalar(kernel):
    """Value and slope of one number, by the twin's formulas where it has them."""
    if kernel.name not in textbook.KERNELS:
        return kernel.value, kernel.slope
    formula, parameters = textbook.KERNELS[kernel.name], kernel.parameters()
    return lambda t: formula.value(t, **parameters), lambda t: formula.slope(t, **parameters)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("by", "dtype"), [("scaled", "float64"), ("scaled", "float32"), (None, "float64")])
def test_contributions_add_up_to_the_difference_of_scores(toy, name, by, dtype):
    model = fit_explained(name, toy)
    X = np.concatenate([toy.X, toy.X_new]).astype(dtype)
    found = model.explain(X, by=by)
    expected = raw_difference(model, X, found)
    assert np.abs(expected).max() > 1e-3  # there is something to explain
    allowed = SUMS.of(dtype) * np.abs(model.compatibility(X)).max()  # a difference carries the rounding of its scores
    assert np.abs(sums(found) - expected).max() <= allowed
    assert np.abs([one.difference for one in found] - expected).max() <= allowed
    within = SUMS.double * np.abs(model.compatibility(X)).max()  # explanations themselves are in float64
    assert np.abs(sums(found) - [one.difference for one in found]).max() <= within


@pytest.mark.parametrize("name", ALL)
def test_contributions_are_those_of_the_obvious_loop(toy, name):
    model = fit_explained(name, toy)
    X = toy.X_new[:4]
    rows = model.feature_scaling_.apply(X)
    table = pd.DataFrame(model.signature_scaling_.apply(toy.table.to_numpy()), index=toy.table.index)
    W = model.projection_.astype(np.float64)
    if name.startswith("sae"):
        lengths = {"sae to-features": lambda x, y: np.linalg.norm(x) * np.linalg.norm(W @ y)}
        length = lengths.get(name, lambda x, y: np.linalg.norm(W.T @ x) * np.linalg.norm(y))
    for x, one in zip(rows, model.explain(X, by="scaled"), strict=True):
        first, second = table.loc[one.label].to_numpy(), table.loc[one.against].to_numpy()
        if name.startswith("sae"):
            expected = W.T @ x * (first / length(x, first) - second / length(x, second))
        elif name in BILINEAR:
            expected = textbook.explanation(lambda s: s, lambda s: 1.0, False, False, W, x, first, second)
        else:
            kernel = model.kernel_
            value, slope = scalar(kernel)
            expected = textbook.explanation(value, slope, kernel.radial, model.incoherence_, W, x, first, second)
        assert_close(one.contributions, expected, SECANT * SUMS.double)


@pytest.mark.parametrize("name", [name for name in ALL if name not in BILINEAR])
def test_a_slope_in_place_of_the_secant_is_caught(toy, monkeypatch, name):
    model = fit_explained(name, toy)
    monkeypatch.setattr(ScoreParts, "_secant", lambda self, a, b, differences: self.kernel.slope(a))
    found = model.explain(toy.X, by="scaled")
    off = np.abs(sums(found) - raw_difference(model, toy.X, found))
    assert off.max() > 1e-3


def test_a_forgotten_term_is_caught(toy, monkeypatch):
    model = fit_explained("gaussian, True", toy)
    terms = ScoreParts._addends
    monkeypatch.setattr(ScoreParts, "_addends", lambda self, *given: terms(self, *given)[:1])
    found = model.explain(toy.X, by="scaled")
    assert np.abs(sums(found) - raw_difference(model, toy.X, found)).max() > 1e-3


EQUALLY_FAR = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])  # from (1, 1), and as long


def parts(score, x, first, second):
    """(contributions, score(first) − score(second)) of one row."""
    x, W = np.atleast_2d(x), score.W
    P, norms = x @ W, (x * x).sum(axis=1, keepdims=True)
    (a, b) = ((y, y @ W.T @ W) for y in (first, second))
    difference = score.pair_scores(P, norms, *a) - score.pair_scores(P, norms, *b)
    return score.contributions(P, norms, a, b)[0], float(difference[0])


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.7), kernels.Cauchy(1.3), kernels.Polynomial(4), Rational()])
@pytest.mark.parametrize("nudge", [0.0, *(10.0**-k for k in range(3, 18))])
def test_near_equal_distances_take_the_slope(kernel, nudge):
    score, x = ScoreParts(np.eye(2), kernel, incoherence=True), np.array([1.0, 1.0 + nudge])
    found, difference = parts(score, x, *EQUALLY_FAR)
    exactly, _ = parts(score, np.array([1.0, 1.0]), *EQUALLY_FAR)
    assert abs(exactly[0]) > 0.1  # attributes cancel, they are not nothing
    assert abs(exactly.sum()) <= FORMULA.double * abs(exactly).max()
    assert_close(
        found, exactly, 4 * nudge + FORMULA.double / NEAR
    )  # above NEAR the secant is a quotient of differences
    assert abs(found.sum() - difference) <= FORMULA.double * abs(found).max()


def test_a_class_under_two_names_has_no_difference(toy):
    table = pd.concat([toy.table, toy.table.loc[["emu"]].set_axis(["rhea"])])
    for name in ("gaussian, True", "polynomial-4, True", "eszsl"):
        for one in fit_explained(name, toy).explain(
            toy.X_new, signatures=table, label="emu", against="rhea", by="scaled"
        ):
            assert (one.difference, one.contributions.tolist()) == (0.0, [0.0] * 4)


@pytest.mark.parametrize("kernel", [kernels.Gaussian(0.05), kernels.Cauchy(1.0), Rational(), Laplace()])
def test_a_distance_of_zero_that_rounding_makes_negative(kernel):
    rng = np.random.default_rng(3)
    below = 0
    for _ in range(50):
        W, first, second = rng.normal(size=(7, 3)), rng.normal(size=(1, 3)), rng.normal(size=(1, 3))
        x = (W @ first[0])[None]  # so that D2 of the first class is 0
        below += bool((x * x).sum() + (first * (first @ W.T @ W - 2 * x @ W)).sum() < 0)
        found, difference = parts(ScoreParts(W, kernel, incoherence=True), x, first, second)
        assert difference > 0.5
        assert abs(found.sum() - difference) <= SUMS.double * np.abs(found).max()
    assert below > 0  # some were


numbers = st.floats(-3, 3, allow_subnormal=False)
vectors = st.lists(numbers, min_size=3, max_size=3).map(lambda values: np.array([values]))


@given(
    x=vectors,
    y=vectors,
    step=vectors,
    size=st.sampled_from([1.0, 1e-4, 1e-8, 1e-12, 0.0]),
    kernel=st.sampled_from(
        [kernels.Gaussian(0.3), kernels.Gaussian(30.0), kernels.Cauchy(2.0), kernels.Polynomial(6), Rational(3.0)]
    ),
)
def test_sums_hold_and_no_contribution_blows_up(x, y, step, size, kernel):
    second = y + size * step
    found, difference = parts(ScoreParts(np.diag([1.0, 0.5, 2.0]), kernel, incoherence=True), x, y, second)
    scale = max(1.0, abs(kernel.value(np.float64(30.0))) if not kernel.radial else 1.0)
    assert abs(found.sum() - difference) <= SUMS.double * max(scale, np.abs(found).max())
    if kernel.radial:  # a secant is a slope somewhere, and none is steeper than at 0
        steepest = abs(kernel.slope(np.float64(0.0)))
        assert np.abs(found).max() <= steepest * 200 * size * np.abs(step).max() * (1 + 1e-6) + 1e-12
