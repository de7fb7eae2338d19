"""tune fits the best setting on all training rows, and no test row enters."""

import numpy as np
import pytest

from small_search import DATA, FOLDS, GRID, ROWS, TRAINING, estimator
from zskl import DivergenceError, ZeroShotKernelClassifier, datasets, selection
from zskl.selection import material


def test_the_next_best_setting_is_fitted_if_the_best_diverges_on_all_rows(found, monkeypatch):
    best = found.pick("zsl").setting
    fit = ZeroShotKernelClassifier.fit

    def failing(self, X, y, signatures=None, **more):
        if all(getattr(self, name) == value for name, value in best.items()) and len(y) == len(ROWS):
            raise DivergenceError(7, self.learning_rate)
        return fit(self, X, y, signatures, **more)

    monkeypatch.setattr(ZeroShotKernelClassifier, "fit", failing)
    model, choice = selection.refit(estimator(), found, "zsl", *TRAINING)
    assert choice.place == found.ranking("zsl")[1]
    assert model.sigma == choice.setting["sigma"]


@pytest.mark.parametrize("scoring", ["zsl", "gzsl"])
def test_tune_refits_the_best_on_all_training_rows(found, scoring):
    result = selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring=scoring, engine=None)
    scores = found.scores(scoring)
    np.testing.assert_array_equal(result.fold_scores[:-1], scores)
    assert result.settings[-1] == {name: estimator().get_params()[name] for name in GRID}  # the default, tried too
    best = int(np.argmax(scores.mean(axis=1)))
    assert result.best == found.settings[best]
    assert result.score == pytest.approx(scores[best].mean())
    assert result.spread == pytest.approx(scores[best].std(ddof=1))
    assert result.scores.max() == result.score
    alone = estimator(**result.best).fit(*TRAINING)
    np.testing.assert_array_equal(result.model.projection_, alone.projection_)
    assert result.model.calibration_ == result.calibration == found.constants[best]
    with pytest.raises(AttributeError):
        result.score = 1.0


def test_no_test_row_enters():
    """All test rows and labels replaced by noise: setting, constant, temperatures and model are bit-identical."""
    noise = np.random.default_rng(9)
    X, y = DATA.X.copy(), DATA.y.copy()
    for part, classes in (("test_seen", DATA.seen_classes), ("test_unseen", DATA.unseen_classes)):
        rows = DATA.parts[part]
        X[rows] = 1e3 * noise.normal(size=(len(rows), X.shape[1]))
        y[rows] = noise.permutation(np.resize(classes, len(rows)))
    other = datasets.Dataset("noise", X, y, DATA.signatures, dict(DATA.parts))
    results = []
    for data in (DATA, other):
        rows = data.parts["trainval"]
        results.append(
            selection.tune(
                *(estimator(), data.X[rows], data.y[rows], data.signatures, GRID, selection.folds(data)),
                scoring="gzsl",
                engine=None,
            )
        )
    one, two = results
    assert one.best == two.best
    assert one.calibration == two.calibration
    assert one.model.temperatures_ == two.model.temperatures_
    np.testing.assert_array_equal(one.fold_scores, two.fold_scores)
    np.testing.assert_array_equal(one.model.projection_, two.model.projection_)


def test_bad_arguments_of_tune_are_refused():
    with pytest.raises(ValueError, match=r"scoring is 'test'.*zsl, gzsl"):
        selection.tune(estimator(), *TRAINING, GRID, FOLDS, scoring="test")
    with pytest.raises(ValueError, match=r"names 'sigmas'.*did you mean 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigmas": [1]}, FOLDS)
    with pytest.raises(ValueError, match="no value for 'sigma'"):
        selection.tune(estimator(), *TRAINING, {"sigma": []}, FOLDS)
    with pytest.raises(ValueError, match="sigma is -1"):
        selection.tune(estimator(), *TRAINING, {"sigma": [1.0, -1]}, FOLDS)
    with pytest.raises(ValueError, match="expected mappings"):
        selection.tune(estimator(), *TRAINING, ["sigma"], FOLDS)
    with pytest.raises(ValueError, match="signatures is None: expected a table"):
        selection.tune(estimator(), *TRAINING[:2], None, GRID, FOLDS)
    with pytest.raises(ValueError, match="no signature for class"):
        selection.tune(estimator(), *TRAINING[:2], DATA.signatures.iloc[3:], GRID, FOLDS)
    with pytest.raises(ValueError, match="no val_seen rows"):
        selection.tune(*(estimator(), *TRAINING, {}, selection.folds(DATA, seen_share=0)), scoring="gzsl", engine=None)


@pytest.mark.parametrize("scoring", ["zsl", "gzsl"])
def test_rows_and_folds_are_checked_once_for_the_search(scoring, monkeypatch):
    checked = []
    checks = material.material
    for module in ("method_search", "tuned_model"):
        monkeypatch.setattr(f"zskl.selection.{module}.material", lambda *given: checked.append(1) or checks(*given))
    selection.tune(estimator(), *TRAINING, {"sigma": [1.0]}, FOLDS, scoring=scoring, engine=None)
    assert checked == [1]
