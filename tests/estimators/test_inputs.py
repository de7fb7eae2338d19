"""Arrays as they come: precision, layout, lists, data frames."""

import numpy as np
import pandas as pd
import pytest

from tolerances import AFTER_FIT, FIT, SUMS, assert_close


@pytest.mark.parametrize("kernel", ["gaussian", "cauchy", "polynomial"])
def test_scores_have_the_precision_of_the_input_and_agree(toy, kernel):
    model = toy.fitted(kernel)
    single, double = (model.compatibility(toy.X_new.astype(dtype)) for dtype in (np.float32, np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    assert_close(single, double, SUMS.single)
    again = toy.model(kernel).fit(toy.X.astype(np.float32), toy.y, toy.table)
    assert again.projection_.dtype == model.projection_.dtype == np.float32
    assert_close(again.compatibility(toy.X_new), double, AFTER_FIT.single)


def test_integers_and_lists_of_numbers(toy):
    X = (10 * toy.X).astype(int)
    expected = toy.model().fit(X.astype(float), toy.y, toy.table).compatibility(X.astype(float))
    for form in (X, X.astype(np.int8), X.tolist()):
        scores = toy.model().fit(form, toy.y, toy.table).compatibility(form)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, expected)


def read_only(X, folder):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


LAYOUTS = {
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "read-only": read_only,
    "memory-mapped": memory_mapped,
    "every second row of a larger array": lambda X, folder: np.repeat(X, 2, axis=0)[::2],
    "columns of a larger array": lambda X, folder: np.hstack([X, X])[:, : X.shape[1]],
    "reversed twice": lambda X, folder: X[::-1].copy()[::-1],
    "big-endian": lambda X, folder: X.astype(X.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layout_in_memory_does_not_matter(toy, layout, dtype, tmp_path):
    X = toy.X.astype(dtype)
    expected = toy.model().fit(X, toy.y, toy.table)
    other = LAYOUTS[layout](X, tmp_path)
    model = toy.model().fit(other, toy.y, toy.table)
    assert_close(model.projection_, expected.projection_, FIT.single)
    scores = model.compatibility(other)
    assert type(scores) is np.ndarray
    assert_close(scores, expected.compatibility(X), AFTER_FIT.single)


def test_one_row_at_a_time(toy):
    model = toy.fitted()
    rows = np.vstack([model.compatibility(row[None]) for row in toy.X_new])
    assert_close(rows, model.compatibility(toy.X_new), SUMS.double)


def test_feature_names(toy):
    names = list("uvwxyz")
    frame = pd.DataFrame(toy.X, columns=names)
    model = toy.model().fit(frame, toy.y, toy.table)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 6
    assert_close(model.compatibility(frame), toy.fitted().compatibility(toy.X), AFTER_FIT.single)
    np.testing.assert_array_equal(model.predict(frame[names[::-1]]), model.predict(frame))  # matched by name
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.set_axis([*names[1:], "new"], axis=1))
    model.fit(toy.X, toy.y, toy.table)
    assert not hasattr(model, "feature_names_in_")
