"""The same fit on PyTorch tensors and NumPy arrays."""

import numpy as np
import pytest
from sklearn.base import clone

from fits import DATA, ONE_ROW, TRAINING, UNSEEN, described_twice, estimator, fitted
from tolerances import AFTER_FIT, FIT, assert_close, decided
from zskl import kernels
from zskl.training.objective import LOSSES
from zskl.training.solver import SECOND_MOMENTS


@pytest.mark.parametrize("second_moment", SECOND_MOMENTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", kernels.names())
def test_a_fit_on_tensors_equals_one_on_arrays(kernel, loss, second_moment):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: fits on tensors")
    X, y, table = TRAINING
    model = estimator(kernel, loss=loss, second_moment=second_moment)
    expected = clone(model).fit(X, y, table)
    found = model.fit(torch.tensor(X), y, table)
    assert isinstance(found.projection_, np.ndarray)
    assert_close(found.projection_, expected.projection_, FIT.single)
    assert_close(found.history_.objective, expected.history_.objective, AFTER_FIT.single)
    scores = found.compatibility(torch.tensor(DATA.X[UNSEEN]))
    assert isinstance(scores, torch.Tensor)
    assert_close(scores.numpy(), expected.compatibility(DATA.X[UNSEEN]), AFTER_FIT.single)
    with pytest.raises(AssertionError):  # another order of batches would be noticed
        assert_close(
            clone(model).set_params(random_state=1).fit(X, y, table).projection_, found.projection_, FIT.single
        )


def test_tensors_with_several_signatures_and_integer_labels():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: fits on tensors")
    X, y, table = described_twice()
    number = {label: k for k, label in enumerate(dict.fromkeys(table.index))}
    codes, renamed = np.array([number[label] for label in y]), table.rename(index=number)
    expected = estimator().fit(X, codes, renamed)
    found = estimator().fit(torch.tensor(X), torch.tensor(codes), renamed)
    assert_close(found.projection_, expected.projection_, FIT.single)
    clear = decided(expected.compatibility(X), AFTER_FIT.single)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(found.predict(torch.tensor(X))[clear], expected.predict(X)[clear])


@pytest.mark.parametrize("tensors", ["training", "monitor", "both"])
def test_a_monitor_may_hold_tensors_or_arrays(tensors):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: monitors on tensors")
    X, y, table = TRAINING
    watched = DATA.X[UNSEEN]
    expected = estimator().fit(X, y, table, monitor=(watched, DATA.y[UNSEEN])).history_.accuracy["monitor"]
    X = torch.tensor(X) if tensors != "monitor" else X
    watched = torch.tensor(watched) if tensors != "training" else watched
    found = estimator().fit(X, y, table, monitor=(watched, DATA.y[UNSEEN])).history_.accuracy["monitor"]
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=ONE_ROW)
    assert min(found[1]) > 0.5  # chance is 1/3


def test_double_precision_trains_in_single():
    X, y, table = TRAINING
    model = estimator().fit(X.astype(np.float64), y, table)
    assert model.projection_.dtype == np.float32
    assert_close(model.projection_, fitted().projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(model.projection_, fitted(random_state=1).projection_, FIT.single)
    assert model.compatibility(DATA.X[UNSEEN]).dtype == np.float32
    assert model.compatibility(DATA.X[UNSEEN].astype(np.float64)).dtype == np.float64
