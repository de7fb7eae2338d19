"""Explanations add up to differences of scores for every kernel and bilinear method, and say what a change would do."""

import csv
import json
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from typer.testing import CliRunner

import naive
import zskl
from tolerances import FORMULA, SUMS, assert_close
from zskl import ZeroShotKernelClassifier, datasets, kernels, methods
from zskl.baselines import BASELINES
from zskl.cli import app, main
from zskl.estimators import ranking
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.score_parts import EXPLAINED, NEAR, ScoreParts


@dataclass(frozen=True)
class Rational(kernels.Kernel):
    """k(D) = 1 / (1 + D)ᵃ: a kernel from outside, of which only value and slope are known."""

    name: ClassVar[str] = "rational of test_explain"
    power: float = 1.5

    def value(self, t):
        return (1 + t) ** -self.power

    def slope(self, t, value=None):
        return -self.power * (1 + t) ** (-self.power - 1)


@dataclass(frozen=True)
class Laplace(kernels.Kernel):
    """k(D) = exp(−√D), which has no value below 0."""

    name: ClassVar[str] = "laplace of test_explain"

    def value(self, t):
        return np.exp(-np.sqrt(t))

    def slope(self, t, value=None):
        return -np.exp(-np.sqrt(t)) / (2 * np.sqrt(t))


KERNELS = {
    "gaussian": {"kernel": "gaussian", "sigma": 0.7},
    "narrow gaussian": {"kernel": "gaussian", "sigma": 0.1},
    "cauchy": {"kernel": "cauchy", "sigma": 1.3},
    **{f"polynomial-{r}": {"kernel": "polynomial", "degree": r, "loss": "linear"} for r in (2, 4, 6)},
    "rational": {"kernel": Rational()},
}
BILINEAR = {
    **{name: (name, {}) for name in ("ale", "devise", "sje", "eszsl")},
    **{f"sae {way}": ("sae", {"direction": way}) for way in ("to-features", "to-signatures")},
}
ALL = {**{f"{name}, {flag}": (name, flag) for name in KERNELS for flag in (True, False)}, **BILINEAR}
SECANT = 64  # a quotient of two differences, each of which may be 1/64 of what is subtracted: that much is lost
CANNOT = [name for name in BASELINES if name not in ("ale", "devise", "sje", "eszsl", "sae")]


def fitted(name, toy, table=None):
    table = toy.table if table is None else table
    if name in BILINEAR:
        method, settings = BILINEAR[name]
        return methods.build(method, {"random_state": 0, **settings}).fit(toy.X, toy.y, table)
    if name in ALL:
        kernel, incoherence = ALL[name]
        settings = {**KERNELS[kernel], "incoherence": incoherence, "learning_rate": 1e-2}
        return toy.model(**settings).fit(toy.X, toy.y, table)
    return methods.build(name, {"random_state": 0}).fit(toy.X, toy.y, table)


def raw_difference(model, X, found, signatures=None):
    """score(label) − score(against) as `compatibility` has it."""
    scores = np.asarray(model.compatibility(X, signatures), dtype=np.float64)
    classes = (model.candidates_ if signatures is None else signatures.index.unique()).tolist()
    at = [(classes.index(one.label), classes.index(one.against)) for one in found]
    return np.array([scores[i, a] - scores[i, b] for i, (a, b) in enumerate(at)])


def sums(found):
    return np.array([one.contributions.sum() for one in found])


def scalar(kernel):
    """Value and slope of one number, by the twin's formulas where it has them."""
    if kernel.name not in naive.KERNELS:
        return kernel.value, kernel.slope
    formula, parameters = naive.KERNELS[kernel.name], kernel.parameters()
    return lambda t: formula.value(t, **parameters), lambda t: formula.slope(t, **parameters)


# Exactness -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_contributions_add_up_to_the_difference_of_scores(toy, name, dtype):
    model = fitted(name, toy)
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
    model = fitted(name, toy)
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
            expected = naive.explanation(lambda s: s, lambda s: 1.0, False, False, W, x, first, second)
        else:
            kernel = model.kernel_
            value, slope = scalar(kernel)
            expected = naive.explanation(value, slope, kernel.radial, model.incoherence_, W, x, first, second)
        assert_close(one.contributions, expected, SECANT * SUMS.double)


@pytest.mark.parametrize("name", [name for name in ALL if name not in BILINEAR])
def test_a_slope_in_place_of_the_secant_is_caught(toy, monkeypatch, name):
    model = fitted(name, toy)
    monkeypatch.setattr(ScoreParts, "_secant", lambda self, a, b, differences: self.kernel.slope(a))
    found = model.explain(toy.X)
    off = np.abs(sums(found) - raw_difference(model, toy.X, found))
    assert off.max() > 1e-3


def test_a_forgotten_term_is_caught(toy, monkeypatch):
    model = fitted("gaussian, True", toy)
    terms = ScoreParts._addends
    monkeypatch.setattr(ScoreParts, "_addends", lambda self, *given: terms(self, *given)[:1])
    found = model.explain(toy.X)
    assert np.abs(sums(found) - raw_difference(model, toy.X, found)).max() > 1e-3


# The secant ----------------------------------------------------------------------------------------------------------

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
        for one in fitted(name, toy).explain(toy.X_new, signatures=table, label="emu", against="rhea"):
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


# What is compared ----------------------------------------------------------------------------------------------------


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
        model = fitted(name, toy, table)
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


def test_calibration_is_told_apart(toy):
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


# What is told --------------------------------------------------------------------------------------------------------


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


def test_blocks_and_kinds_of_input_tell_the_same(toy, monkeypatch):
    model = toy.fitted()
    whole = model.explain(toy.X)
    frame = pd.DataFrame(toy.X)
    others = [model.explain(frame.to_numpy(dtype=object).astype(float).tolist())]
    with monkeypatch.context() as patch:
        patch.setattr(ranking, "BLOCK_BYTES", (300, 300))
        others.append(model.explain(toy.X))
    for other in others:
        assert [(one.label, one.against) for one in other] == [(one.label, one.against) for one in whole]
        for mine, theirs in zip(other, whole, strict=True):
            assert_close(mine.contributions, theirs.contributions, SECANT * SUMS.double)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors(toy, dtype):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: explanations of tensors")
    for name in ("gaussian, True", "polynomial-6, True", "sae to-features", "sae to-signatures"):
        model, X = fitted(name, toy), toy.X.astype(dtype)
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


def test_a_loaded_model_tells_the_same(toy, tmp_path):
    for name in ("cauchy, True", "eszsl", "sae to-signatures"):
        model = fitted(name, toy)
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


# Refusals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CANNOT)
def test_methods_that_cannot_be_explained_say_so(toy, name):
    table = toy.table - toy.table.min().min() + 0.1  # SSE wants no negative ones
    model = fitted(name, toy, table)
    kind = type(model).__name__
    with pytest.raises(ValueError, match=rf"^{kind} cannot be explained by attributes: .* ale, devise, eszsl, sae and"):
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
            "label 'cow' is not among the candidates: expected one of 'ant', 'cat', 'dog', 'emu', 'bee'",
        ),
        ({"against": 3}, "against 3 is not among the candidates"),
        ({"label": "cat", "candidates": ["emu", "bee"]}, "label 'cat' is not among the candidates"),
        ({"label": "cat", "against": "cat"}, "label and against are both 'cat': name two different classes"),
        ({"top": 0}, "top=0: expected an integer ≥ 1"),
        ({"candidates": ["yak"]}, "candidate 'yak' is not in the fitted table"),
    ],
)
def test_refusals(toy, arguments, words):
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


# Attribute space, gallery, nearest classes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gaussian, True", "polynomial-2, True", "eszsl"])
def test_attribute_space(toy, monkeypatch, name):
    model = fitted(name, toy)
    expected = [naive.project(model.projection_, x) for x in model.feature_scaling_.apply(toy.X)]
    assert_close(model.attribute_space(toy.X), expected, SUMS.double)
    assert model.attribute_space(toy.X.astype(np.float32)).dtype == np.float32
    assert model.attribute_space(toy.X.round().astype(int)).dtype == np.float64
    monkeypatch.setattr("zskl.estimators.projected_rows.BLOCK_BYTES", (200, 200))
    assert_close(model.attribute_space(toy.X), expected, SUMS.double)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_gallery_scores_as_compatibility_does(toy, name, dtype):
    table = pd.concat([toy.table, toy.table.loc[["cat"]] + 0.3])
    model, X = fitted(name, toy, table), toy.X.astype(dtype)
    gallery = model.gallery(X)
    assert len(gallery) == len(X)
    asked = [(), (None, ["emu", "cat"]), ({"new": [0.1, -0.5, 0.7, 0.2]},), (toy.table.iloc[:2],)]
    for question in asked:
        scores, expected = gallery.scores(*question), model.compatibility(X, *question)
        assert (scores.dtype, scores.shape) == (expected.dtype, expected.shape)
        assert_close(scores, expected, SUMS.of(dtype))


def test_a_gallery_keeps_the_model_it_was_made_of(toy):
    for name in ("gaussian, True", "dap"):
        model = fitted(name, toy)
        gallery, before = model.gallery(toy.X), model.compatibility(toy.X)
        model.fit(toy.X[::-1] + 1.0, toy.y, toy.table)
        assert not np.allclose(model.compatibility(toy.X), before, rtol=1e-3)
        assert_close(gallery.scores(), before, SUMS.double)


def test_a_gallery_does_not_project_again(toy, monkeypatch):
    model = toy.fitted()
    gallery = model.gallery(toy.X)
    monkeypatch.setattr(ScoreParts, "projected", lambda self, X: pytest.fail("projected again"))
    monkeypatch.setattr(ZeroShotClassifier, "_scaled", lambda self, X: pytest.fail("scaled again"))
    assert gallery.scores({"new": [0.1, -0.5, 0.7, 0.2]}).shape == (36, 1)


@pytest.mark.parametrize("small", [True, False])
def test_nearest_classes(toy, monkeypatch, small):
    if small:
        monkeypatch.setattr("zskl.estimators.nearest_classes.BLOCK_BYTES", (1, 1))
    table = pd.concat(
        [toy.table, toy.table.loc[["cat"]] * -1, toy.table.loc[["emu"]] + 0.2, toy.table.loc[["emu"]] - 1]
    )
    model = toy.model().fit(toy.X, toy.y, table)
    scaled = pd.DataFrame(model.signature_scaling_.apply(table.to_numpy()), index=table.index)
    found = model.nearest_classes(top=3)
    assert found.columns.tolist() == ["class", "nearest", "similarity"]
    assert found["class"].tolist() == [label for label in model.candidates_ for _ in range(3)]
    for label, rows in found.groupby("class"):
        expected = {
            other: max(
                naive.cosine(a, b) for a in scaled.loc[[label]].to_numpy() for b in scaled.loc[[other]].to_numpy()
            )
            for other in model.candidates_
            if other != label
        }
        best = sorted(expected, key=lambda other: -expected[other])[:3]
        assert rows["nearest"].tolist() == best
        assert_close(rows["similarity"], [expected[other] for other in best], SUMS.double)
    assert len(model.nearest_classes(top=99)) == 5 * 4
    few = model.nearest_classes(1, {"a": [1, 0, 0, 2], "b": [0, 1, 0, 0]})
    assert few[["class", "nearest"]].to_numpy().tolist() == [["a", "b"], ["b", "a"]]
    with pytest.raises(ValueError, match="the only candidate is 'cat'"):
        model.nearest_classes(candidates=["cat"])
    with pytest.raises(ValueError, match="top=0: expected an integer"):
        model.nearest_classes(0)


# Digits: what a segment says, and what happens without it -------------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


def without_a_segment(model, digits):
    """(contributions, change of score(digit) − score(other), ahead before, ahead after), each (pairs, rows), over all
    pairs of digits and all segments that the digit has and the other lacks: these are turned off in the description
    of the digit."""
    table, found = digits.signatures, []
    for digit in range(10):
        X = digits.X[digits.y == digit][:40].astype(np.float64)
        for other in range(10):
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


def fit_digits(digits, name, **settings):
    rows = digits.parts["trainval"]
    model = methods.build(name, {"random_state": 0, **settings})
    return model.fit(digits.X[rows], digits.y[rows], digits.signatures)


@pytest.mark.parametrize("name", ["gaussian", "cauchy", "eszsl"])
def test_a_segment_turned_off_moves_the_digit_as_it_spoke(digits, name):
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
def test_and_mostly_so_where_signatures_are_scaled(digits, name):
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


# Command line ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(digits, tmp_path_factory):
    """digits.zskl, rows.npy, named.csv with ids, new.csv with descriptions."""
    folder = tmp_path_factory.mktemp("explain")
    model = fit_digits(digits, "gaussian-ort")
    model.save(folder / "digits.zskl")
    fit_digits(digits, "dap").save(folder / "dap.zskl")
    X = digits.X[digits.parts["test_unseen"]][:30]
    np.save(folder / "rows.npy", X)
    pd.DataFrame(X, index=[f"n{k}" for k in range(30)]).to_csv(folder / "named.csv", index_label="id")
    digits.signatures.loc[[3, 4, 6]].to_csv(folder / "new.csv", index_label="class")
    return folder, model, X


def invoke(*arguments):
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_text_for_a_few_rows(files):
    folder, model, X = files
    code, out, note = invoke(folder / "digits.zskl", folder / "rows.npy", "--top", "2")
    expected = [f"row {k}: {one}" for k, one in enumerate(model.explain(X[:5], 2))]
    assert (code, out) == (0, "\n".join(expected) + "\n")
    assert "the first 5 rows" in note
    code, out, note = invoke(folder / "digits.zskl", folder / "named.csv", "--rows", "7", "--rows", "28-29")
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("id ")] == ["id n7", "id n28", "id n29"]
    assert note == ""


def test_a_table_of_all_rows(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "named.csv", "--signatures", folder / "new.csv", "--against", "4"]
    code, out, _ = invoke(*command, "-o", tmp_path / "out.csv")
    assert (code, out.strip()) == (0, f"wrote {tmp_path / 'out.csv'}: 150 lines")
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert (
        ",".join(lines[0])
        == "id,class,against,difference,calibration,rest,rank,attribute,contribution,value,value_against"
    )
    found = model.explain(X, candidates=[3, 4, 6], against=4)
    assert [line["class"] for line in lines[::5]] == [str(one.label) for one in found]
    assert {line["against"] for line in lines} == {"4"}
    first = [(line["attribute"], float(line["contribution"])) for line in lines[:5]]
    assert [name for name, _ in first] == [name for name, _ in found[0].top]
    np.testing.assert_allclose([value for _, value in first], [value for _, value in found[0].top], rtol=1e-5)


def test_lines_of_json(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "rows.npy", "--json", "--label", "6", "--candidates", "6"]
    code, out, _ = invoke(*command, "--candidates", "3", "--top", "3")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert len(records) == 30
    for row, (record, one) in enumerate(zip(records, model.explain(X, candidates=[6, 3], label=6), strict=True)):
        assert (record["row"], record["class"], record["against"], len(record["attributes"])) == (row, 6, 3, 3)
        told = sum(part["contribution"] for part in record["attributes"]) + record["rest"]
        assert_close([told, record["difference"]], [one.difference] * 2, 64 * SUMS.double)  # a sum of larger parts
    assert invoke(*command, "--candidates", "3", "--top", "3", "-o", tmp_path / "out.jsonl")[0] == 0
    assert (tmp_path / "out.jsonl").read_text("utf-8") == out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dap.zskl", "rows.npy"], "DAP cannot be explained by attributes"),
        (["no.zskl", "rows.npy"], "no model file at no.zskl"),
        (["digits.zskl", "no.npy"], "no.npy"),
        (["digits.zskl", "."], ". is a folder: expected a"),
        (["digits.zskl", "rows.npy", "--label", "cow"], "label 'cow' is not among the candidates"),
        (["digits.zskl", "rows.npy", "--label", "3", "--against", "3"], "label and against are both 3"),
        (["digits.zskl", "rows.npy", "--candidates", "3"], "the only candidate is 3"),
        (["digits.zskl", "rows.npy", "--rows", "3-x"], "rows '3-x': expected the number of a row"),
        (["digits.zskl", "rows.npy", "--rows", "9-3"], "rows '9-3': expected the number of a row"),
        (["digits.zskl", "rows.npy", "--rows", "30"], "row 30 was asked for, but rows.npy has 30 rows"),
        (["digits.zskl", "rows.npy", "--with-known"], "--with-known was given without --signatures"),
        (["digits.zskl", "rows.npy", "-o", "rows.npy"], "rows.npy"),
    ],
)
def test_wrong_turns_are_told_in_one_sentence(files, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(files[0])
    monkeypatch.setattr("sys.argv", ["zskl", "explain", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    assert told.count("error:") == 1


def test_help_has_an_example():
    code, out, _ = invoke("--help")
    assert code == 0
    assert "Example: zskl explain" in " ".join(out.split())
