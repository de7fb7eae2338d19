"""Explanations: which classes are compared, what is told, what is refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import zskl
from explained import SECANT, fitted, raw_difference, sums
from published_methods import TRAINED
from tolerances import SUMS, assert_close
from zskl import ZeroShotKernelClassifier, datasets, methods
from zskl.estimators import panel
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.score_parts import EXPLAINED

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
        patch.setattr(panel, "BLOCK_BYTES", (300, 300))
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


@pytest.mark.parametrize("name", CANNOT)
def test_methods_that_cannot_be_explained_say_so(toy, name):
    table = toy.table - toy.table.min().min() + 0.1  # SSE wants no negative ones
    model = fitted(name, toy, table)
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
            "label 'cow' is not among the candidates: expected one of 'ant', 'cat', 'dog', 'emu', 'bee'",
        ),
        ({"against": 3}, "against 3 is not among the candidates"),
        ({"label": "cat", "candidates": ["emu", "bee"]}, "label 'cat' is not among the candidates"),
        ({"label": "cat", "against": "cat"}, "label and against are both 'cat': name two different classes"),
        ({"top": 0}, "top is 0: expected an integer ≥ 1"),
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
