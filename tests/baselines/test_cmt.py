"""CMT*: novelty by hand, the threshold and its calibration, and damaged files."""

import numpy as np
import pytest

import zskl
from baseline_problems import DATA, NEW, TRAINING, UNSEEN
from tolerances import SUMS, assert_close
from zskl import datasets, metrics
from zskl.baselines import CMT, CMTStar
from zskl.baselines.cmt import best_threshold, hold_out_classes

# Cmt star


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("output_", np.ones((5, 6), dtype=np.float32), r"output_ has shape \(5, 6\), expected \(h, p\)"),
        ("hidden_", np.ones((11, 128), dtype=np.float32), "learned.hidden_ has shape"),
        ("threshold_", -1.0, "its threshold is -1.0"),
        ("threshold_", "high", "its threshold is 'high'"),
    ],
)
def test_damaged_model_files(name, value, sentence, tmp_path):
    model = CMTStar(random_state=0, epochs=1).fit(*TRAINING)
    setattr(model, name, value)
    model.save(tmp_path / "model.zskl")
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        zskl.load(tmp_path / "model.zskl")


def hand_made(threshold=4.0):
    """f(x) ≈ x in the plane; seen classes a (1, 0) and b (−1, 0) of spread 0.01, unseen c (0, 1) and d (0, −1)."""
    table = {"a": [1.0, 0.0], "b": [-1.0, 0.0], "c": [0.0, 1.0], "d": [0.0, -1.0]}
    X, y = np.array([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]]), np.array(["a", "a", "b", "b"])
    model = CMTStar(epochs=1, feature_scaling="none", signature_scaling="none", random_state=0).fit(X, y, table)
    small = 1e-3
    model.hidden_, model.output_ = np.eye(2, dtype="f") * small, np.eye(2, dtype="f") / small
    model.prototypes_, model.spreads_ = np.array([[1, 0], [-1, 0]], dtype="f"), np.full(2, 0.01, dtype="f")
    model.classifier_, model.intercepts_ = np.array([[0, 0], [3, -3]], dtype="f"), np.zeros(2, dtype="f")
    model.threshold_ = threshold
    return model


def test_outliers_by_hand():
    """The classifier of the seen classes goes by the second coordinate: a above, b below the axis."""
    model = hand_made()
    X = np.array([[1.05, 0.1], [1.05, -0.1], [-0.95, 0.15], [0.1, 0.8], [0.3, -0.5], [1.3, 0.1]])
    ranks = model.top_k(X, 4).tolist()
    assert ranks[0] == ["a", "b", "c", "d"]
    assert ranks[1] == ["b", "a", "d", "c"]  # near a, but the classifier decides
    assert ranks[2] == ["a", "b", "c", "d"]
    assert ranks[3] == ["c", "d", "a", "b"]
    assert ranks[4] == ["d", "c", "b", "a"]
    assert ranks[5] == ["c", "d", "a", "b"]  # 0.3 away, further than 0.2, from the nearest seen class
    assert hand_made(threshold=16.0).predict(X[5:]).tolist() == ["a"]
    assert model.predict(X, candidates=["c", "d"]).tolist() == ["c", "d", "c", "c", "d", "c"]
    assert model.predict(X, candidates=["a", "b"]).tolist() == ["a", "b", "a", "a", "b", "a"]
    assert model.predict(X[:4], candidates=["b", "c"]).tolist() == ["b", "b", "b", "c"]


def test_a_score_does_not_depend_on_the_other_candidates():
    model = CMTStar(random_state=0, epochs=4).fit(*TRAINING)
    scores = model.compatibility(DATA.X)
    for column, label in enumerate(model.candidates_):
        assert_close(model.compatibility(DATA.X, candidates=[label])[:, 0], scores[:, column], SUMS.single)
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 3


def test_calibration_moves_the_threshold():
    model = CMTStar(random_state=0, epochs=10).fit(*TRAINING)
    shares = []
    for constant in (-4.0, -1.0, 0.0, 1.0, 4.0):
        model.calibration_ = constant
        shares.append(np.isin(model.predict(DATA.X), model.seen_classes_).mean())
    assert shares[0] == 1
    assert shares[-1] == 0
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 3


def test_without_seen_candidates_it_is_cmt():
    settings = {"random_state": 0, "epochs": 5, "batch_size": 16}
    plain, starred = CMT(**settings).fit(*TRAINING), CMTStar(**settings).fit(*TRAINING)
    np.testing.assert_array_equal(plain.hidden_, starred.hidden_)
    answers = (one.predict(DATA.X[UNSEEN], candidates=NEW).tolist() for one in (plain, starred))
    assert next(answers) == next(answers)
    distances = 1 / starred.compatibility(DATA.X[UNSEEN], candidates=NEW) - 1
    assert_close(-distances, plain.compatibility(DATA.X[UNSEEN], candidates=NEW), SUMS.single)


def test_too_few_classes_to_hold_one_out():
    two = np.isin(TRAINING[1], np.unique(TRAINING[1])[:2])
    model = CMTStar(random_state=0, epochs=5).fit(TRAINING[0][two], TRAINING[1][two], DATA.signatures)
    answers = model.predict(TRAINING[0][two])
    assert np.isin(answers, model.seen_classes_).mean() == pytest.approx(0.95, abs=0.05)


def test_novelty_helps_if_seen_classes_attract_unseen_rows():
    data = datasets.make_synthetic(20, 8, 30, 64, 40, noise=0.5)  # fewer classes than attributes, as in the benchmarks
    rows = data.parts["trainval"]
    models = [one(random_state=0, epochs=20).fit(data.X[rows], data.y[rows], data.signatures) for one in (CMT, CMTStar)]
    plain, starred = (zskl.protocols.gzsl(model, data) for model in models)
    assert plain.unseen < 0.6 * zskl.protocols.zsl(models[0], data).accuracy
    assert starred.unseen > plain.unseen
    assert starred.harmonic > plain.harmonic


# Novelty
# The threshold of novelty against all others, and what is held out to choose it.


def test_the_best_threshold_against_all_of_them():
    rng = np.random.default_rng(2)
    seen = np.arange(60) < 25
    codes = np.concatenate([rng.integers(4, size=25), rng.integers(3, size=35)])
    novel = rng.gamma(2.0, size=60) + ~seen
    novel[10] = novel[40]  # equals on either side
    right = rng.random(60) < 0.7

    def harmonic(tau):
        accepted = right & np.where(seen, novel <= tau, novel > tau)
        seen_accuracy, unseen_accuracy = (
            np.mean([accepted[kind & (codes == c)].mean() for c in np.unique(codes[kind])]) for kind in (seen, ~seen)
        )
        return metrics.harmonic_mean(seen_accuracy, unseen_accuracy)

    found = harmonic(best_threshold(novel, right, codes, seen))
    assert found == pytest.approx(max(harmonic(tau) for tau in [0.0, *novel]), rel=1e-12)


def test_what_is_held_out_for_the_threshold():
    model = CMTStar(random_state=0)
    training = model._prepare(*TRAINING)
    trial = hold_out_classes(training, 5)
    held = sorted({row.tobytes() for row in trial.X} & {row.tobytes() for row in trial.inner.X})
    assert held == []
    assert len(trial.X) + len(trial.inner.X) == len(training.X)
    assert len(trial.Y) == 1
    assert len(trial.inner.sizes) == 7
    assert trial.inner.sizes.sum() == len(trial.inner.X)
    original = {row.tobytes(): int(code) for row, code in zip(training.X, training.codes, strict=True)}
    inner = {original[row.tobytes()] for row in trial.inner.X}
    for row, is_seen in zip(trial.X, trial.seen, strict=True):
        assert (original[row.tobytes()] in inner) == is_seen
    again = hold_out_classes(training, 5)
    np.testing.assert_array_equal(again.X, trial.X)
