"""Both protocols with a model that only has scores, against loops, with ties and planted faults."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from taught_models import Teachable
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, datasets, metrics, protocols
from zskl.baselines import ESZSL
from zskl.datasets import Dataset, make_synthetic
from zskl.estimators._class_means_adapt import AdaptationSettings

# Protocols


class Dot:
    """Ranks classes by x·y, the best description of a class counting, and remembers what it was handed."""

    def __init__(self, calibration=None, favoured=()):
        self.calls, self.favoured = [], favoured
        if calibration is not None:
            self.calibration_ = calibration

    def compatibility(self, X, signatures):
        self.calls.append((X, signatures))
        scores = X @ signatures.to_numpy().T  # (n, rows of the table)
        classes = list(dict.fromkeys(signatures.index))
        best = np.column_stack([scores[:, signatures.index == label].max(axis=1) for label in classes])
        return best + 3.0 * np.isin(classes, self.favoured)


class Fixed:
    def __init__(self, scores):
        self.scores = scores

    def compatibility(self, X, signatures):
        return self.scores


def interleaved():
    """Two descriptions of every class, not side by side, in an order that is not that of the labels."""
    data = make_synthetic(6, 3, 10, 8, 8, noise=1.0, descriptions=2, seed=3)
    order = np.concatenate([np.arange(17, -1, -2), np.arange(0, 18, 2)])
    rng = np.random.default_rng(0)
    features = data.signatures.groupby(level=0).mean().loc[data.y].to_numpy() + rng.standard_normal((90, 8))
    return Dataset("toy", features, data.y, data.signatures.iloc[order], data.parts)


def lonely():
    """A seen class (bee) and an unseen one (dog) without test rows."""
    y = np.array(["ant", "ant", "bee", "cat", "cat", "eel"])
    signatures = pd.DataFrame(np.eye(5), index=["dog", "cat", "bee", "ant", "eel"]).add_prefix("attribute ")
    X = signatures.loc[y].to_numpy()
    parts = {"trainval": [0, 2], "test_seen": [1], "test_unseen": [3, 4, 5]}
    return Dataset("lonely", X, y, signatures, parts)


def slow_answers(data, rows, candidates, constant=0.0):
    answers = []
    for row in rows:
        best, answer = -np.inf, None
        for label in candidates:
            descriptions = np.atleast_2d(data.signatures.loc[label].to_numpy())
            score = max(float(data.X[row] @ description) for description in descriptions)
            score -= constant if label in data.seen_classes else 0.0
            if score > best:
                best, answer = score, label
        answers.append(answer)
    return answers


def slow_mean(data, rows, answers):
    classes = sorted(set(data.y[rows]))
    return np.mean(
        [
            np.mean([a == label for a, row in zip(answers, rows, strict=True) if data.y[row] == label])
            for label in classes
        ]
    )


def test_zsl_equals_the_loop():
    data, model = interleaved(), Dot()
    result = protocols.zsl(model, data)
    rows = data.parts["test_unseen"]
    expected = slow_mean(data, rows, slow_answers(data, rows, data.unseen_classes))
    np.testing.assert_allclose(result.accuracy, expected, rtol=1e-12)
    assert 0.4 < result.accuracy < 1
    assert result.protocol == "zsl"
    assert list(result.per_class) == data.unseen_classes.tolist()
    np.testing.assert_allclose(np.mean(list(result.per_class.values())), expected, rtol=1e-12)
    assert result.harmonic is result.seen is result.unseen is result.ausuc is result.calibration is result.curve is None


@pytest.mark.parametrize("constant", [None, 0.0, 1.5, -2, np.float32(3.0), 1e9, -1e9])
def test_gzsl_equals_the_loop(constant):
    data = interleaved()
    result = protocols.gzsl(Dot(), data, calibration=constant)
    for part, found in (("test_seen", result.seen), ("test_unseen", result.unseen)):
        rows = data.parts[part]
        expected = slow_mean(data, rows, slow_answers(data, rows, data.class_names, float(constant or 0)))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert result.calibration == float(constant or 0)
    assert result.harmonic == metrics.harmonic_mean(result.seen, result.unseen)
    assert result.accuracy is None
    assert list(result.per_class) == data.class_names.tolist()


def test_gzsl_curve_belongs_to_the_predictions():
    data = interleaved()
    model = Dot(favoured=data.seen_classes)
    result = protocols.gzsl(model, data)
    assert result.ausuc == result.curve.area
    constant, harmonic = result.curve.best()
    best = protocols.gzsl(model, data, calibration=constant)
    np.testing.assert_allclose(best.harmonic, harmonic, rtol=1e-12)
    assert best.harmonic > result.harmonic
    assert best.ausuc == result.ausuc  # the area does not depend on the constant
    for k in range(len(result.curve.calibration)):
        point = protocols.gzsl(model, data, calibration=result.curve.calibration[k])
        np.testing.assert_allclose(
            (point.seen, point.unseen), (result.curve.seen[k], result.curve.unseen[k]), rtol=1e-12
        )


def test_the_model_is_handed_the_candidates_and_nothing_else():
    data, model = interleaved(), Dot()
    protocols.zsl(model, data)
    protocols.gzsl(model, data)
    (zsl_X, zsl_table), (gzsl_X, gzsl_table) = model.calls
    np.testing.assert_array_equal(zsl_X, data.X[data.parts["test_unseen"]])
    assert set(zsl_table.index) == set(data.unseen_classes)
    assert list(dict.fromkeys(zsl_table.index)) == data.unseen_classes.tolist()
    assert len(zsl_table) == 6  # both descriptions of the three
    assert len(gzsl_X) == len(data.parts["test_seen"]) + len(data.parts["test_unseen"])
    pd.testing.assert_frame_equal(gzsl_table, data.signatures)
    assert not set(map(tuple, gzsl_X)) & set(map(tuple, data.X[data.parts["trainval"]]))


def test_planted_fault_columns_in_another_order_are_caught():
    class Sorted(Dot):
        def compatibility(self, X, signatures):
            return super().compatibility(X, signatures.sort_index())

    data = interleaved()
    assert protocols.zsl(Sorted(), data).accuracy < protocols.zsl(Dot(), data).accuracy - 0.2


def test_calibration_of_the_model():
    data = interleaved()
    assert protocols.gzsl(Dot(calibration=1.5), data, "model") == protocols.gzsl(Dot(), data, 1.5)
    assert protocols.gzsl(Dot(calibration=1.5), data).calibration == 0  # used only when asked for
    with pytest.raises(ValueError, match="Dot has no calibration_: fit it first"):
        protocols.gzsl(Dot(), data, "model")
    with pytest.raises(ValueError, match="calibration is 'best': expected None"):
        protocols.gzsl(Dot(), data, "best")
    for constant, model in ((np.nan, Dot()), (np.inf, Dot()), ("model", Dot(calibration=np.nan))):
        with pytest.raises(ValueError, match=r"constant is (nan|inf)"):
            protocols.gzsl(model, data, constant)


def test_candidates_without_test_rows_are_named_and_not_averaged():
    data = lonely()
    zsl, gzsl = protocols.zsl(Dot(), data), protocols.gzsl(Dot(), data)
    assert zsl.accuracy == gzsl.unseen == gzsl.seen == 1
    assert zsl.left_out == ("dog",)
    assert list(zsl.per_class) == ["cat", "eel"]
    assert gzsl.left_out == ("dog", "bee")
    assert list(gzsl.per_class) == ["cat", "ant", "eel"]


def test_a_wrong_answer_may_be_a_class_without_test_rows():
    data = lonely()
    scores = np.zeros((3, 3))  # all tied: the first candidate, dog, is answered
    result = protocols.zsl(Fixed(scores), data)
    assert result.accuracy == 0
    scores[0, 1] = 1  # one of two rows of cat, none of eel: 1/2 and 0
    assert protocols.zsl(Fixed(scores), data).accuracy == 0.25


def test_ties_go_to_the_first_candidate():
    result = protocols.gzsl(Fixed(np.zeros((4, 5), dtype=np.float32)), lonely())
    assert result.seen == result.unseen == 0  # dog again
    result = protocols.gzsl(Fixed(np.zeros((4, 5))), lonely(), calibration=-1)
    assert result.per_class == {"cat": 0, "ant": 0, "eel": 0}  # bee comes before ant


def test_integers_as_scores_and_constants_are_no_trap():
    scores = np.array([[0, 0, 0, 2, 0], [0, 1, 0, 2, 0], [0, 1, 0, 2, 0], [0, 0, 0, 2, 1]])
    assert protocols.gzsl(Fixed(scores), lonely(), calibration=0.5).unseen == 0
    assert protocols.gzsl(Fixed(scores), lonely(), calibration=1.5).harmonic == 1


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (np.zeros((3, 2)), r"Fixed.compatibility gave shape \(3, 2\) for 3 rows and 3 classes"),
        (np.full((3, 3), np.nan), "Fixed.compatibility gave 9 scores that are NaN"),
    ],
)
def test_scores_that_cannot_be_ranked_are_refused(scores, sentence):
    with pytest.raises(ValueError, match=sentence):
        protocols.zsl(Fixed(scores), lonely())


@pytest.mark.parametrize(
    ("empty", "protocol"),
    [("test_unseen", protocols.zsl), ("test_unseen", protocols.gzsl), ("test_seen", protocols.gzsl)],
)
def test_an_empty_part_is_refused(empty, protocol):
    data = lonely()
    data = Dataset(data.name, data.X, data.y, data.signatures, dict(data.parts) | {empty: []})
    with pytest.raises(ValueError, match=f"dataset 'lonely' has no rows in '{empty}'"):
        protocol(Dot(), data)


def test_results_go_to_json_and_pickle():
    data = make_synthetic(3, 2, 5, 4, 4)
    integers = Dataset("numbered", data.X, data.codes, data.signatures.set_axis(range(5)), data.parts)
    for protocol in (protocols.zsl, protocols.gzsl):
        result = protocol(Dot(), integers)
        found = result.as_dict()
        assert json.loads(json.dumps(found)) == found
        assert all(isinstance(label, int) for label in result.per_class)
        assert pickle.loads(pickle.dumps(result)) == result
        assert "curve" not in found
        assert "curve" not in repr(result)
    assert set(protocols.zsl(Dot(), integers).as_dict()) == {"protocol", "accuracy", "per_class", "left_out"}
    gzsl = {"protocol", "unseen", "seen", "harmonic", "ausuc", "calibration", "per_class", "left_out"}
    assert set(found) == gzsl
    assert list(found["per_class"]) == ["0", "1", "2", "3", "4"]


def test_a_model_fitted_with_column_names_gets_them_again():
    """scikit-learn warns, and warnings are errors here, where names of fit are missing later."""
    plain = datasets.load("digits")
    named = datasets.Dataset(
        plain.name,
        plain.X,
        plain.y,
        plain.signatures,
        plain.parts,
        feature_names=tuple(f"pixel {k}" for k in range(64)),
    )
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*named.samples("trainval"), named.signatures)
    without = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(*plain.samples("trainval"), plain.signatures)
    for protocol, name in ((protocols.zsl, "accuracy"), (protocols.gzsl, "harmonic")):
        found, expected = (getattr(protocol(*pair), name) for pair in ((model, named), (without, plain)))
        assert found == pytest.approx(expected, abs=0.01)  # another layout, another rounding: a few rows of hundreds


# Evidence
# Examples and unlabelled rows in the protocols: what is drawn, what is scored, what is said, and what cannot leak.

DATA = datasets.make_synthetic(8, 4, 10, 12, 6, noise=0.8)
UNSEEN = DATA.parts["test_unseen"]


def fitted(estimator=Teachable, data=DATA):
    return estimator().fit(*data.samples("trainval"), data.signatures)


def promised():
    """Class means of which validation classes promise a gain from unlabelled rows."""
    model = fitted(ClassMeansClassifier)
    said = {"gain": 0.1, "spread": 0.01, "least": 0.05, "per_class": 1.0, "calibration": 0.1, "temperatures": None}
    model.practice_ = {"unlabelled": {mode: [{**vars(AdaptationSettings()), **said}] for mode in protocols.UNLABELLED}}
    return model


def without(data, *rows):
    """The data without these rows of "test_unseen"."""
    kept = np.setdiff1d(data.parts["test_unseen"], rows)
    return replace(data, parts={**data.parts, "test_unseen": kept})


def mean_accuracy(model, rows, candidates, constant=0.0):
    """Row by row, in the plainest way."""
    table = DATA.signatures.loc[candidates]
    scores = model.compatibility(DATA.X[rows], table) - constant * np.isin(candidates, DATA.seen_classes)
    right = [candidates[np.argmax(row)] == label for row, label in zip(scores, DATA.y[rows], strict=True)]
    return np.mean([np.mean(np.array(right)[DATA.y[rows] == label]) for label in np.unique(DATA.y[rows])])


def answers(given):
    return given.model.compatibility(DATA.X, DATA.signatures)


def test_examples_are_drawn_by_seed_and_more_shots_add_to_them():
    one, three = protocols.draw_examples(DATA, 1, 0), protocols.draw_examples(DATA, 3, 0)
    assert sorted(DATA.y[one]) == sorted(DATA.unseen_classes)
    assert set(one) < set(three) <= set(UNSEEN)
    assert [np.sum(DATA.y[three] == label) for label in DATA.unseen_classes] == [3] * 4
    np.testing.assert_array_equal(one, protocols.draw_examples(DATA, 1, 0))
    assert any(set(one) != set(protocols.draw_examples(DATA, 1, seed)) for seed in (1, 2))
    fewer = without(DATA, *UNSEEN[DATA.y[UNSEEN] == DATA.unseen_classes[0]][:5])  # another class's draw stays
    assert set(protocols.draw_examples(fewer, 3, 0)) >= {row for row in three if DATA.y[row] != DATA.unseen_classes[0]}


def test_taught_rows_are_never_scored():
    model = fitted()
    drawn = protocols.draw_examples(DATA, 2, 7)
    taught = model.add_examples(DATA.X[drawn], DATA.y[drawn])
    rest = np.setdiff1d(UNSEEN, drawn)
    found = protocols.zsl(model, DATA, shots=2, seed=7)
    assert (found.shots, found.unlabelled, found.short) == (2, None, ())
    assert found.accuracy == pytest.approx(mean_accuracy(taught, rest, DATA.unseen_classes), rel=1e-12)
    assert found.accuracy != mean_accuracy(taught, UNSEEN, DATA.unseen_classes)  # as if its examples were scored too
    assert not model.means_
    both = protocols.gzsl(model, DATA, "model", shots=2, seed=7)
    assert both.calibration == taught.calibration_ != model.calibration_
    assert both.unseen == pytest.approx(mean_accuracy(taught, rest, DATA.class_names, 0.25), rel=1e-12)
    assert both.seen == pytest.approx(mean_accuracy(taught, DATA.parts["test_seen"], DATA.class_names, 0.25), rel=1e-12)
    assert protocols.gzsl(model, DATA, shots=2, seed=7).calibration == 0


def test_a_class_with_few_rows_keeps_one_to_be_scored():
    first, second = (UNSEEN[DATA.y[UNSEEN] == label] for label in DATA.unseen_classes[:2])
    few = without(DATA, *first[2:], *second[1:])
    drawn = protocols.draw_examples(few, 5, 0)
    assert [np.sum(few.y[drawn] == label) for label in few.unseen_classes] == [1, 0, 5, 5]
    found = protocols.zsl(fitted(), few, shots=5)
    assert found.short == tuple(few.unseen_classes[:2])
    assert set(found.per_class) == set(few.unseen_classes)
    assert found.as_dict()["short"] == list(few.unseen_classes[:2])
    single = without(DATA, *(row for label in DATA.unseen_classes for row in UNSEEN[DATA.y[UNSEEN] == label][1:]))
    with pytest.raises(ValueError, match="has at most one test row, which is to be scored"):
        protocols.zsl(fitted(), single, shots=1)


def test_unlabelled_rows_are_those_that_are_scored():
    model = fitted()
    found = protocols.zsl(model, DATA, unlabelled="unseen")
    adapted = model.adapt(DATA.X[UNSEEN], "unseen")
    assert found.accuracy == pytest.approx(mean_accuracy(adapted, UNSEEN, DATA.unseen_classes), rel=1e-12)
    assert (found.shots, found.unlabelled, found.declined) == (0, "unseen", None)
    assert found.adaptation == {"candidates": "unseen", "rows": len(UNSEEN)}
    both = np.concatenate([DATA.parts["test_seen"], UNSEEN])
    adapted = model.adapt(DATA.X[both], "all")
    for result in (protocols.zsl(model, DATA, unlabelled="all"), protocols.gzsl(model, DATA, unlabelled="all")):
        assert result.adaptation == {"candidates": "all", "rows": len(both)}
        assert result.as_dict()["unlabelled"] == "all"
    assert result.unseen == pytest.approx(mean_accuracy(adapted, UNSEEN, DATA.class_names), rel=1e-12)
    assert not model.means_


@pytest.mark.parametrize("model", [fitted(), promised()], ids=lambda model: type(model).__name__)
def test_labels_of_unlabelled_rows_are_never_read(model):
    """Other labels, drawn at random: the adapted model gives the same scores, bit for bit."""
    rng = np.random.default_rng(0)
    noisy = DATA.y.copy()
    for part, classes in (("test_unseen", DATA.unseen_classes), ("test_seen", DATA.seen_classes)):
        rows = DATA.parts[part]
        noisy[rows] = rng.choice(classes, len(rows))
    other = replace(DATA, y=noisy)
    for mode in protocols.UNLABELLED:
        one, two = (answers(protocols.prepare_model(model, data, unlabelled=mode)) for data in (DATA, other))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, answers(protocols.PreparedModel(model)))  # it did adapt
        assert protocols.zsl(model, DATA, unlabelled=mode) != protocols.zsl(model, other, unlabelled=mode)
    taught = [answers(protocols.prepare_model(model, data, shots=1)) for data in (DATA, other)]
    assert not np.array_equal(*taught)  # shots do read theirs


def test_a_model_that_declines_is_scored_as_it_is(monkeypatch):
    monkeypatch.setattr(Teachable, "gain", False)
    model = fitted()
    found, plain = protocols.zsl(model, DATA, unlabelled="unseen"), protocols.zsl(model, DATA)
    assert found.declined.startswith("no clear gain on validation classes")
    assert (found.accuracy, found.adaptation) == (plain.accuracy, None)
    assert found.as_dict()["declined"] == found.declined
    assert plain.as_dict().keys() == {"protocol", "accuracy", "per_class", "left_out"}


def test_class_means_are_taught_and_adapt_and_decline_without_a_promise():
    model = promised()
    plain, taught = protocols.zsl(model, DATA), protocols.zsl(model, DATA, shots=5)
    assert taught.per_class != plain.per_class
    both = protocols.gzsl(model, DATA, "model", unlabelled="all")
    assert (both.declined, both.calibration, both.adaptation["candidates"]) == (None, 0.1, "all")
    declined = protocols.gzsl(fitted(ClassMeansClassifier), DATA, unlabelled="all")
    assert "unlabelled rows for each candidate would help this model" in declined.declined
    assert declined.harmonic == protocols.gzsl(model, DATA).harmonic


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"shots": 1, "unlabelled": "all"}, "shots is 1 and unlabelled is 'all': expected one of them"),
        ({"shots": -1}, "shots is -1: expected an integer ≥ 1"),
        ({"shots": 0.5}, "shots is 0.5: expected an integer ≥ 1"),
        ({"unlabelled": "unsen"}, r"unlabelled is 'unsen': expected one of unseen, all \(did you mean 'unseen'"),
    ],
)
@pytest.mark.parametrize("protocol", [protocols.zsl, protocols.gzsl])
def test_examples_and_unlabelled_rows_that_cannot_be_given_are_refused(protocol, settings, words):
    with pytest.raises(ValueError, match=words):
        protocol(fitted(), DATA, **settings)


def test_what_a_protocol_or_a_model_cannot_do_is_refused():
    with pytest.raises(ValueError, match=r"unlabelled is 'unseen': expected 'all' or None.* use 'all', or zsl"):
        protocols.gzsl(fitted(), DATA, unlabelled="unseen")
    plain = fitted(ESZSL)
    with pytest.raises(ValueError, match="ESZSL cannot learn from examples: expected a model with add_examples"):
        protocols.zsl(plain, DATA, shots=1)
    with pytest.raises(ValueError, match="ESZSL cannot adapt to unlabelled rows: expected a model with adapt"):
        protocols.gzsl(plain, DATA, unlabelled="all")
