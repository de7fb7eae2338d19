"""What a fitted model shows of itself: attribute space, kept projections, nearest classes."""

import numpy as np
import pandas as pd
import pytest

import naive
from explained import ALL, fitted
from means_models import SORTS
from tolerances import SUMS, assert_close
from zskl.estimators.estimator import ZeroShotClassifier
from zskl.estimators.score_parts import ScoreParts


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
    with pytest.raises(ValueError, match="top is 0: expected an integer"):
        model.nearest_classes(0)


@pytest.mark.parametrize("sort", ["gaussian", "linear, several signatures", "gaussian identity", "gaussian, taught"])
def test_a_gallery_of_class_means_keeps_directions(toy, sort):
    model = SORTS[sort](toy)
    for X in (toy.X, toy.X.astype(np.float32)):
        gallery = model.gallery(X)
        assert (len(gallery), gallery._X.shape[0]) == (len(X), 1)  # the rows themselves are not kept
        expected = model.compatibility(X)
        assert_close(gallery.scores(), expected, SUMS.of(X.dtype))
        assert gallery.scores().dtype == expected.dtype
        new = model.signature_table_.matrix[:2] + 0.3
        assert_close(gallery.scores(new, ["cow", "ant"]), model.compatibility(X, new, ["cow", "ant"]), SUMS.of(X.dtype))
    with pytest.raises(ValueError, match=r"^ClassMeansClassifier has no attribute space: "):
        model.attribute_space(toy.X)
