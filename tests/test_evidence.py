"""Examples and unlabelled rows in the protocols: what is drawn, what is scored, what is said, and what cannot leak."""

from dataclasses import replace

import numpy as np
import pytest

from teachable import Teachable
from zskl import ClassMeansClassifier, datasets, evidence, protocols
from zskl.baselines import ESZSL
from zskl.estimators.class_means.adaptation import AdaptationSettings

DATA = datasets.make_synthetic(8, 4, 10, 12, 6, noise=0.8)
UNSEEN = DATA.parts["test_unseen"]


def fitted(estimator=Teachable, data=DATA):
    return estimator().fit(*data.samples("trainval"), data.signatures)


def promised():
    """Class means of which validation classes promise a gain from unlabelled rows."""
    model = fitted(ClassMeansClassifier)
    said = {"gain": 0.1, "spread": 0.01, "least": 0.05, "per_class": 1.0, "calibration": 0.1, "temperatures": None}
    model.practice_ = {"unlabelled": {mode: [{**vars(AdaptationSettings()), **said}] for mode in evidence.UNLABELLED}}
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
    one, three = evidence.draw(DATA, 1, 0), evidence.draw(DATA, 3, 0)
    assert sorted(DATA.y[one]) == sorted(DATA.unseen_classes)
    assert set(one) < set(three) <= set(UNSEEN)
    assert [np.sum(DATA.y[three] == label) for label in DATA.unseen_classes] == [3] * 4
    np.testing.assert_array_equal(one, evidence.draw(DATA, 1, 0))
    assert any(set(one) != set(evidence.draw(DATA, 1, seed)) for seed in (1, 2))
    fewer = without(DATA, *UNSEEN[DATA.y[UNSEEN] == DATA.unseen_classes[0]][:5])  # another class's draw stays
    assert set(evidence.draw(fewer, 3, 0)) >= {row for row in three if DATA.y[row] != DATA.unseen_classes[0]}


def test_taught_rows_are_never_scored():
    model = fitted()
    drawn = evidence.draw(DATA, 2, 7)
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
    drawn = evidence.draw(few, 5, 0)
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
    for mode in evidence.UNLABELLED:
        one, two = (answers(evidence.give(model, data, unlabelled=mode)) for data in (DATA, other))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, answers(evidence.Given(model)))  # it did adapt
        assert protocols.zsl(model, DATA, unlabelled=mode) != protocols.zsl(model, other, unlabelled=mode)
    taught = [answers(evidence.give(model, data, shots=1)) for data in (DATA, other)]
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
def test_refusals(protocol, settings, words):
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
