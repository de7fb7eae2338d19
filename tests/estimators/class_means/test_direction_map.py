"""Inner products of the maps of class means are their scores."""

import numpy as np
import pytest

from means_models import SORTS
from tolerances import SUMS, assert_close
from zskl.estimators.candidates import best_of_rows


@pytest.mark.parametrize("sort", SORTS)
def test_inner_products_are_scores(toy, sort):
    model = SORTS[sort](toy)
    X, maps = np.concatenate([toy.X, toy.X_new]), model.ranking_map()
    found = maps.samples(X) @ maps.classes(dtype="float64").T
    assert found.shape[1] == len(maps.labels())
    expected = model.compatibility(X)
    assert_close(best_of_rows(found, model.signature_table_.padded_rows()), expected, SUMS.double)
    quality = maps.quality(X, k=2)
    assert (quality.error < SUMS.double, quality.recall) == (True, 1.0)
    assert maps.samples(X.astype(np.float32)).dtype == maps.classes().dtype == np.float32


def test_calibration_can_be_part_of_the_map(toy):
    model = SORTS["gaussian"](toy)
    model.calibration_ = 0.2
    maps = model.ranking_map()
    scores = maps.samples(toy.X) @ maps.classes(calibrated=True).T
    assert maps.labels()[scores.argmax(axis=1)].tolist() == model.predict(toy.X).tolist()
    told = model.compatibility(toy.X) - 0.2 * np.isin(model.candidates_, model.classes_)
    assert_close(scores, told, SUMS.single)
