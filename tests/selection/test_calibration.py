"""The calibration constant is the best of all constants, over all folds together."""

import numpy as np
import pytest

from small_search import FOLDS, ROWS_APART, TRAINING, by_hand, estimator
from textbook import slow_accuracies
from zskl import ClassMeansClassifier, Committee, baselines, datasets, metrics, protocols, selection
from zskl.methods import build, load


def test_calibrating_a_fitted_model_finds_the_constant_of_the_search(found):
    place = 0
    model = estimator(**found.settings[place]).fit(*TRAINING)
    selection.calibrate(model, *TRAINING, FOLDS)
    hand = [by_hand(found.settings[place], fold)[1:] for fold in FOLDS]
    reached = np.mean([metrics.harmonic_mean(*slow_accuracies(*one, model.calibration_)) for one in hand])
    assert reached == pytest.approx(found.gzsl[place].mean(), abs=ROWS_APART)  # equally good, if not the same
    assert found.raw[place].mean() < found.gzsl[place].mean() - ROWS_APART  # no constant would be noticed
    assert set(model.temperatures_) == {"seen", "unseen", "mixed"}
    again = load_after_save(model)
    assert again.temperatures_ == model.temperatures_
    assert again.calibration_ == model.calibration_


def load_after_save(model):
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.zskl")
        return load(Path(folder) / "m.zskl")


def test_calibration_lifts_the_harmonic_mean_on_digits():
    data = datasets.load("digits")
    rows = data.parts["trainval"]
    model = build("gaussian-ort", {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    selection.calibrate(model, data.X[rows], data.y[rows], data.signatures, selection.folds(data))
    raw, calibrated = protocols.gzsl(model, data), protocols.gzsl(model, data, calibration="model")
    assert calibrated.harmonic > raw.harmonic + 0.05
    assert calibrated.calibration == model.calibration_


def test_one_row_per_class_cannot_be_calibrated():
    """No row is left to tell how seen classes do: refused before any training, and the sentence says why."""
    X, y = np.random.default_rng(0).normal(size=(8, 4)), np.arange(8)
    model = estimator().fit(X, y, np.eye(8))
    for call in (
        lambda: selection.calibrate(model, X, y, np.eye(8)),
        lambda: selection.tune(estimator(), X, y, np.eye(8), {}, scoring="gzsl", engine=None),
    ):
        with pytest.raises(ValueError, match="every class has a single training row"):
            call()
    assert selection.tune(estimator(), X, y, np.eye(8), {}, engine=None).model.calibration_ == 0.0


@pytest.mark.parametrize("committee", [False, True])
def test_calibrating_a_taught_model_keeps_what_it_was_taught_in_the_constant(committee):
    """It ends where a model ends that was calibrated first; so does one that was adapted to unlabelled rows."""
    data = datasets.make_synthetic(n_seen=12, n_unseen=4, n_features=12, noise=1.2)
    training, (rows, labels) = (*data.samples("trainval"), data.signatures), data.samples("test_unseen")
    means = ClassMeansClassifier()
    model = Committee([("means", means), ("eszsl", baselines.ESZSL())]) if committee else means
    plain = model.fit(*training).add_examples(rows[:1], labels[:1])
    untried = plain.remove_examples().adapt(rows, force=True)
    first = selection.calibrate(model, *training).add_examples(rows[:1], labels[:1])
    then = selection.calibrate(plain, *training)
    assert (then.calibration_, then.temperatures_) == (first.calibration_, first.temperatures_)
    assert first.calibration_ != model.calibration_
    assert then.remove_examples().calibration_ == model.calibration_
    assert selection.calibrate(untried, *training).calibration_ == model.calibration_
