"""A gallery of rows serves the models that were made of its own, and what unlabelled rows taught can be handed on."""

import numpy as np
import pytest

from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets

NONE = {"calibration": 0.0, "temperatures": None, "crowding": 0.1, "weight": 3.0}


@pytest.fixture(scope="module")
def case():
    """A model whose shrinkage examples change, and rows."""
    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    model.practice_ = {"examples": {"1": {**NONE, "shrinkage": 0.9}}}
    return model, data.X, data.X[data.y == 3][:2]


def test_a_gallery_serves_a_taught_model(case, monkeypatch):
    model, X, threes = case
    taught = model.add_examples(threes, [3, 3])
    assert taught.shrinkage_ != model.shrinkage_
    monkeypatch.setattr("zskl.estimators.projected_rows.BLOCK_BYTES", (100_000, 100_000))  # several blocks
    gallery = model.gallery(X)
    assert_close(gallery.taught(taught).scores(), taught.compatibility(X), SUMS.single)
    assert_close(gallery.scores(), model.compatibility(X), SUMS.single)  # itself, it stays as it was
    removed = taught.remove_examples()
    assert_close(gallery.taught(removed).scores(), model.compatibility(X), SUMS.single)


def test_what_unlabelled_rows_taught_is_handed_on(case):
    model, X, threes = case
    adapted = model.adapt(X[::3], force=True)
    kept = adapted._kept_adaptation()
    assert_close(model._with_adaptation(kept).compatibility(X), adapted.compatibility(X), SUMS.single)
    both = model.add_examples(threes, [3, 3])._with_adaptation(kept)
    assert_close(both.compatibility(X), adapted.add_examples(threes, [3, 3]).compatibility(X), SUMS.single)
    without = kept[0].without(3)
    assert 3 not in without.classes
    assert len(without.sums) == len(without.classes) == len(kept[0].classes) - 1
    assert model._kept_adaptation() == []
    assert np.array_equal(kept[0].sums, adapted.adapted_sums_)
