"""Explanations: which classes are compared, what is told, what is refused."""

import tracemalloc
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
from tolerances import FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, datasets, kernels, methods
from zskl.estimators import _candidates
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import EXPLAINED, NEAR, SCALING, ScoreParts

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


def test_top_rest_and_text(toy):
    (one,) = toy.fitted().explain(toy.X_new[:1], top=2, label="emu", against="cat")
    order = np.argsort(-np.abs(one.contributions))
    assert one.top == [(toy.table.columns[m], float(one.contributions[m])) for m in order[:2]]
    assert abs(one.rest + sum(value for _, value in one.top) - one.difference) <= SUMS.double
    lines = str(one).split("\n")
    assert lines[0] == f"emu against cat: {one.difference:+.4g}"
    assert [line.split()[0] for line in lines[1:3]] == [name for name, _ in one.top]
    assert lines[3] == f"  2 more: {one.rest:+.4g}"
    (whole,) = toy.fitted().explain(toy.X_new[:1], top=99)
    assert (len(whole.top), whole.rest, "more" in str(whole)) == (4, 0.0, False)
    with pytest.raises(ValueError, match="read-only"):
        one.values[0] = 1.0  # a row of the model's own table
    assert "calibration +0.25" in str(type(one)(**{**vars(one), "calibration": 0.25}))


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


def without_a_segment(model, digits):
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
            parts = np.array([one.contributions for one in model.explain(X, label=digit, against=other)])
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
    spoke, change, before, after = without_a_segment(model, digits)
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


@pytest.mark.parametrize("name", ["gaussian-ort", "gaussian", "cauchy-ort", "polynomial-2", "eszsl", "ale"])
def test_turning_off_a_segment_mostly_moves_scaled_digits_too(digits, name):
    """Centred signatures of unit length change in all attributes when one does, so the sign is right for most rows."""
    spoke, change, before, after = without_a_segment(fit_digits(digits, name), digits)
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


# Raw attributes -------------------------------------------------------------------------------------------------------
# Explanations along raw attributes: what both classes share adds nothing, and the sums hold all the same.

SCALINGS = ("none", "center-l2", "sqrt-center-l2", "l2-center-l2", "standardize-l2", "standardize")


def marked(toy):
    """A table of 0, 1 and 2, in which classes agree in some attributes."""
    rows = {"dog": [2, 1, 0, 1], "emu": [2, 0, 1, 0], "ant": [0, 2, 0, 0], "cat": [1, 1, 0, 2], "bee": [0, 2, 1, 1]}
    return pd.DataFrame(rows, index=toy.table.columns, dtype=float).T


def by_hand(scaling, row):
    """(y, v, a): a scaled signature, the values it is made of, and what they were multiplied by."""
    y, v, a = row.copy(), row.copy(), 1.0
    for step in scaling.steps:
        if step == "sqrt":
            y, v, a = np.sqrt(y), np.sqrt(v), np.sqrt(a)
        elif step == "l2":
            y, a = y / np.linalg.norm(y), a / np.linalg.norm(y)
        else:
            y = y - scaling.mean
        if step == "standardize":
            y, v = y / scaling.deviation, v / scaling.deviation
    return y, v, a


def slow_parts(model, x, first, second):
    """What each attribute adds, by loops over the formulas of docs/explain.md."""
    W = model.projection_.astype(float)
    (a, v, length_a), (b, w, length_b) = (by_hand(model.signature_scaling_, row) for row in (first, second))
    for scaled, row in ((a, first), (b, second)):
        assert_close(scaled, model.signature_scaling_.apply(row[None])[0], SUMS.double)
    P, G = W.T @ x, W.T @ W
    if getattr(model, "direction_", None) == "to-features":  # a cosine in feature space
        P = P / np.linalg.norm(x)
        length_a, length_b = length_a / np.linalg.norm(W @ a), length_b / np.linalg.norm(W @ b)
    elif hasattr(model, "direction_"):
        P = P / np.linalg.norm(P)
        length_a, length_b = length_a / np.linalg.norm(a), length_b / np.linalg.norm(b)
    found = []
    for m in range(len(a)):
        slope = P[m]
        if hasattr(model, "kernel_"):
            k = model.kernel_.value
            if not model.kernel_.radial:
                s, t = P @ a, P @ b
                slope = P[m] * (k(s) - k(t)) / (s - t)
            else:
                s, t = np.sum((P - a) ** 2), np.sum((P - b) ** 2)
                slope = (a[m] + b[m] - 2 * P[m]) * (k(s) - k(t)) / (s - t)
                if model.incoherence_:
                    s, t = np.sum((x - W @ a) ** 2), np.sum((x - W @ b) ** 2)
                    slope += (G[m] @ (a + b) - 2 * P[m]) * (k(s) - k(t)) / (s - t)
        found.append(0.5 * (length_a + length_b) * (v[m] - w[m]) * slope)
    return np.array(found)


def check(model, X, table):
    """Parts as the slow loops have them, and a sum that is the difference of scores."""
    found = model.explain(X, raw=True)
    rows = model.feature_scaling_.apply(X)
    allowed = SECANT * SUMS.double * max(1.0, np.abs(model.compatibility(X)).max())
    for x, one, difference in zip(rows, found, raw_difference(model, X, found), strict=True):
        expected = slow_parts(model, x, table.loc[one.label].to_numpy(), table.loc[one.against].to_numpy())
        assert np.abs(one.contributions - expected).max() <= allowed
        assert abs(one.contributions.sum() + one.offset - difference) <= allowed
        assert set(one.terms) <= {SCALING}
        np.testing.assert_array_equal(one.contributions[one.values == one.values_against], 0.0)
        assert one.likeness is None
    return found


@pytest.mark.parametrize("name", ALL)
def test_raw_contributions_match_slow_loops_for_every_score(toy, name):
    table = marked(toy)
    model = fit_explained(name, toy, table)
    check(model, np.concatenate([toy.X[:4], toy.X_new[:4]]), table)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_raw_contributions_match_slow_loops_for_every_scaling(toy, scaling):
    table = marked(toy).add([0.0, 0.0, 0.0, 0.5])
    for name in ("eszsl", "gaussian-ort"):
        model = methods.build(name, {"random_state": 0, "signature_scaling": scaling}).fit(toy.X, toy.y, table)
        found = check(model, np.concatenate([toy.X[:4], toy.X_new[:2]]), table)
        assert any(SCALING in one.terms for one in found) == (scaling not in ("none", "standardize"))


def test_an_attribute_absent_in_both_classes_is_never_the_strongest(toy):
    table = marked(toy)
    model, X = fit_explained("gaussian, True", toy, table), np.concatenate([toy.X, toy.X_new])

    def leads(**how):
        return [one for one in model.explain(X, **how) if one.values[one.order[0]] == one.values_against[one.order[0]]]

    assert leads()  # so it is with scaled attributes
    assert not leads(raw=True)
    for one in model.explain(X, raw=True, top=99):
        assert "in both" not in str(one)
        assert one.others == np.sum(one.values == one.values_against)


def test_a_rest_that_is_forgotten_is_caught(toy):
    """The planted fault: parts alone, without what centring adds."""
    table = marked(toy)
    found = fit_explained("eszsl", toy, table).explain(toy.X, raw=True)
    assert max(abs(one.contributions.sum() - one.difference) for one in found) > 1e-3


def test_raw_explanations_that_are_refused(toy):
    with pytest.raises(ValueError, match=r"^raw is 'yes': expected True or False"):
        toy.fitted().explain(toy.X, raw="yes")
    model = methods.build("eszsl", {"signature_scaling": "center-sqrt"}).fit(toy.X, toy.y, toy.table)
    with pytest.raises(ValueError, match=r"^signatures are scaled by 'center-sqrt', a square root of centred values"):
        model.explain(toy.X, raw=True)


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
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contributions_add_up_to_the_difference_of_scores(toy, name, dtype):
    model = fit_explained(name, toy)
    X = np.concatenate([toy.X, toy.X_new]).astype(dtype)
    found = model.explain(X)
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
    for x, one in zip(rows, model.explain(X), strict=True):
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
    found = model.explain(toy.X)
    off = np.abs(sums(found) - raw_difference(model, toy.X, found))
    assert off.max() > 1e-3


def test_a_forgotten_term_is_caught(toy, monkeypatch):
    model = fit_explained("gaussian, True", toy)
    terms = ScoreParts._addends
    monkeypatch.setattr(ScoreParts, "_addends", lambda self, *given: terms(self, *given)[:1])
    found = model.explain(toy.X)
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
        for one in fit_explained(name, toy).explain(toy.X_new, signatures=table, label="emu", against="rhea"):
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
