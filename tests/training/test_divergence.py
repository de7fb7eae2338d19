"""A run that has left for infinity is told from one that learns, also where the loss itself stays bounded."""

import numpy as np
import pytest

from tolerances import FIT, assert_close
from zskl import DivergenceError, ZeroShotKernelClassifier, datasets
from zskl.estimators.kernel_classifier import fit_stack

DATA = datasets.load("digits")
ROWS = DATA.parts["trainval"]
TRAINING = DATA.X[ROWS], DATA.y[ROWS], DATA.signatures


@pytest.mark.parametrize("loss", ["squared", "linear", "softmax"])
@pytest.mark.parametrize("kernel", ["gaussian", "cauchy"])
def test_a_bounded_loss_cannot_hide_a_projection_that_ran_away(kernel, loss):
    with pytest.raises(
        DivergenceError, match=r"diverged at step \d+.*lower learning_rate \(now 1000\), or widen"
    ) as caught:
        ZeroShotKernelClassifier(kernel, loss=loss, learning_rate=1e3, epochs=1, random_state=0).fit(*TRAINING)
    assert caught.value.step < 100


@pytest.mark.parametrize("loss", ["squared", "linear", "softmax"])
def test_a_kernel_that_has_vanished_everywhere_is_reported(loss):
    with pytest.raises(DivergenceError, match="widen the kernel"):
        ZeroShotKernelClassifier(sigma=0.01, loss=loss, epochs=1, random_state=0).fit(*TRAINING)


def test_in_a_stack_only_the_member_that_ran_away_is_marked():
    stacked = fit_stack(ZeroShotKernelClassifier(epochs=1, random_state=0), [{}, {"learning_rate": 1e5}], *TRAINING)
    assert stacked[0].diverged_ is None
    assert stacked[1].diverged_ is not None
    alone = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*TRAINING)
    assert_close(stacked[0].projection_, alone.projection_, FIT.single)
    with pytest.raises(AssertionError):
        assert_close(stacked[0].projection_, alone.set_params(random_state=1).fit(*TRAINING).projection_, FIT.single)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_features_of_any_size_are_no_divergence(scale):
    """Unscaled features make W large or small from the start: only growth beyond that counts."""
    model = ZeroShotKernelClassifier(
        "polynomial", degree=1, loss="squared", feature_scaling="none", epochs=1, incoherence_weight=0, random_state=0
    )
    X = (DATA.X[ROWS] - DATA.X[ROWS].mean(axis=0)) * np.float32(scale / 16)
    assert model.fit(X, *TRAINING[1:]).diverged_ is None
