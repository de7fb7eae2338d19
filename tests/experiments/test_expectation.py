"""What to expect on new classes: against slow twins, and without a look at test rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, selection
from zskl.experiments.expectation import Figure, expect_accuracy
from zskl.metrics import harmonic_mean, mean_per_class_accuracy

GRIDS = {
    "zero": {"kernel": ["gaussian", "linear"], "shrinkage": [0.1, 0.9], "crowding": [0.0, 0.3]},
    "identity": {"prior": ["identity"], "noise": [0.1, 1.0]},
}
NAMES = ["wing::a", "wing::b", "tail::a", "tail::b", "tail::c", "size", "hue", "song"]


@pytest.fixture(scope="module")
def data():
    made = datasets.make_synthetic(n_seen=12, n_unseen=3, n_features=8, n_attributes=8, noise=1.5)
    return replace(made, signatures=made.signatures.set_axis(NAMES, axis=1))


def folds_of(data):
    X, y = data.samples("trainval")
    for fold in selection.folds(data):
        held = np.unique(y[fold.val_unseen])
        seen = data.signatures.loc[np.unique(y[fold.train])]
        yield X, y, fold, seen, data.signatures.loc[held]


def accuracy(model, X, y, table):
    return mean_per_class_accuracy(y, model.predict(X, table))


@pytest.mark.parametrize("prior", GRIDS)
def test_figures_are_those_of_fits_by_hand(data, prior):
    """Each fold with the setting of the others; without a group, a fit on a table that lacks its columns."""
    found = expect_accuracy(data, GRIDS[prior], engine=None)
    assert [(one.name, one.attributes) for one in sorted(found.groups, key=lambda one: one.name)] == [
        *(("hue", 1), ("size", 1), ("song", 1)),
        *(("tail", 3), ("wing", 2)),
    ]
    losses = [one.loss.mean for one in found.groups]
    assert losses == sorted(losses, reverse=True)
    assert found.held_out == (4, 4, 4)
    assert found.chance == 0.25
    tail = next(one for one in found.groups if one.name == "tail")
    for number, (X, y, fold, seen, held) in enumerate(folds_of(data)):
        model = ClassMeansClassifier(**found.settings[number])
        rows = X[fold.train], y[fold.train]
        asked = X[fold.val_unseen], y[fold.val_unseen]
        model.fit(*rows, seen)
        assert_close(found.zero_shot.folds[number], accuracy(model, *asked, held), SUMS.double)
        without = [table.assign(**dict.fromkeys(NAMES[2:5], 0.0)) for table in (seen, held)]
        if prior == "zero":  # columns of zeros are no columns
            without = [table.drop(columns=NAMES[2:5]) for table in (seen, held)]
        model.fit(*rows, without[0])
        assert_close(tail.without.folds[number], accuracy(model, *asked, without[1]), SUMS.double)


def test_a_fold_judges_what_its_training_rows_chose(data):
    X, y = data.samples("trainval")
    found = expect_accuracy(data, GRIDS["zero"], engine=None)
    for number, fold in enumerate(selection.folds(data)):
        rows, labels = X[fold.train], y[fold.train]
        search = selection.search(
            ClassMeansClassifier(), rows, labels, data.signatures, GRIDS["zero"], with_default=True
        )
        assert found.settings[number] == search.pick("zsl").setting
        seen, table = data.signatures.loc[np.unique(labels)], data.signatures.loc[np.unique(y)]
        held = data.signatures.loc[np.unique(y[fold.val_unseen])]
        default = ClassMeansClassifier().fit(rows, labels, seen)
        assert_close(
            found.default.folds[number], accuracy(default, X[fold.val_unseen], y[fold.val_unseen], held), SUMS.double
        )
        choice = search.pick("gzsl")
        model = ClassMeansClassifier(**choice.setting).fit(rows, labels, seen)
        model.calibration_ = choice.calibration
        both = [accuracy(model, X[rows], y[rows], table) for rows in (fold.val_seen, fold.val_unseen)]
        assert_close(found.harmonic.folds[number], harmonic_mean(*both), SUMS.double)


def test_test_rows_and_unseen_classes_change_nothing(data):
    """Rows of both test parts, their labels and the signatures of unseen classes become noise: all figures stay."""
    draw = np.random.default_rng(0)
    X, y, table = data.X.copy(), data.y.copy(), data.signatures.astype(float)
    for part, labels in (("test_seen", data.seen_classes), ("test_unseen", data.unseen_classes)):
        rows = data.parts[part]
        X[rows] = draw.standard_normal((len(rows), X.shape[1]))
        y[rows] = draw.permutation(np.resize(labels, len(rows)))
    table.loc[data.unseen_classes] = draw.standard_normal((len(data.unseen_classes), table.shape[1]))
    other = replace(data, X=X, y=y, signatures=table)
    assert other.fingerprint != data.fingerprint
    assert expect_accuracy(other, GRIDS["zero"], engine=None) == expect_accuracy(data, GRIDS["zero"], engine=None)
    rows = data.parts["trainval"]
    X[rows] = draw.standard_normal((len(rows), X.shape[1]))
    assert expect_accuracy(replace(data, X=X), GRIDS["zero"], engine=None) != expect_accuracy(
        data, GRIDS["zero"], engine=None
    )


def test_an_attribute_that_carries_all_is_found():
    """Classes differ in features by one attribute alone: without it, only chance is left."""
    draw = np.random.default_rng(0)
    labels = np.repeat([f"c{k:02}" for k in range(40)], 20)
    angle = np.linspace(0.1, 3.0, 40)
    table = pd.DataFrame({"angle": angle, "noise": draw.standard_normal(40)}, index=sorted(set(labels)))
    features = np.stack([np.cos(np.repeat(angle, 20)), np.sin(np.repeat(angle, 20))], axis=1)
    X = features + 0.02 * draw.standard_normal(features.shape)
    unseen = np.isin(labels, ["c03", "c09"])
    parts = {"trainval": np.flatnonzero(~unseen)[::2], "test_seen": np.flatnonzero(~unseen)[1::2]}
    parts["test_unseen"] = np.flatnonzero(unseen)
    data = datasets.Dataset("angles", X.astype(np.float32), labels, table, parts)
    found = expect_accuracy(data, {"feature_scaling": ["l2"], "signature_scaling": ["center"]}, engine=None)
    assert found.groups[0].name == "angle"
    assert found.zero_shot.mean > 2.5 * found.chance
    assert found.groups[0].without.mean < 1.5 * found.chance
    assert found.groups[1].loss.mean < 0


def test_figure_has_mean_and_spread():
    figure = Figure((0.1, 0.3))
    assert (figure.mean, round(figure.spread, 6)) == (0.2, 0.141421)
    assert Figure((0.5,)).spread == 0.0


def test_a_class_may_have_one_attribute_alone(data):
    """Without it the class has no attribute at all. Signatures are centred, so a constant is as good as zeros."""
    table = data.signatures.copy()
    table.iloc[0] = 0.0
    table.loc[table.index[0], "song"] = 1.0
    found = expect_accuracy(replace(data, signatures=table), {"shrinkage": [0.5]}, engine=None)
    song = next(one for one in found.groups if one.name == "song")
    for number, (X, y, fold, _, held) in enumerate(folds_of(data)):
        lacking = table.assign(song=1.0)
        model = ClassMeansClassifier(**found.settings[number])
        model.fit(X[fold.train], y[fold.train], lacking.loc[np.unique(y[fold.train])])
        asked = X[fold.val_unseen], y[fold.val_unseen]
        assert_close(song.without.folds[number], accuracy(model, *asked, lacking.loc[held.index]), SUMS.double)


def test_blocks_of_features_are_kept():
    data = datasets.make_synthetic()
    d = data.X.shape[1]
    halves = replace(data, X=np.asarray(data.X) * np.repeat([1, 300], [d - 3, 3]), blocks={"a": d - 3, "b": 3})
    whole = replace(halves, blocks={"both": d})
    found = [expect_accuracy(one, grid={"shrinkage": (0.5, 0.7)}, engine=None).zero_shot for one in (halves, whole)]
    assert found[0] != found[1]


def test_a_whole_class_table_of_several_is_left_out_too():
    data = datasets.make_synthetic(noise=1.0)
    p = data.signatures.shape[1]
    both = replace(data, signature_blocks={"look": p - 4, "sound": 4})
    alone, found = (expect_accuracy(one, grid={"shrinkage": (0.5,)}, engine=None) for one in (data, both))
    tables = {one.name: one for one in found.groups if one.name.startswith("all of")}
    assert {name: one.attributes for name, one in tables.items()} == {"all of look": p - 4, "all of sound": 4}
    assert tables["all of look"].loss.mean > max(0, tables["all of sound"].loss.mean)
    assert not [one for one in alone.groups if one.name.startswith("all of")]
