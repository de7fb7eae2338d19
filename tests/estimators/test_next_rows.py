"""Which rows to label next: the least sure ones, or those that would change the model most, and no two alike."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from means_models import fitted, several, taught
from published_methods import make
from tolerances import SUMS, assert_close
from zskl import Committee, UncalibratedWarning, baselines, methods
from zskl.estimators import next_rows
from zskl.estimators.next_rows import apart, pick

WARM = {"seen": 0.02, "unseen": 0.03, "mixed": 0.025}


def calibrated(model):
    model.temperatures_ = dict(WARM)
    return model


def practised(model):
    """As validation classes say it: descriptions weigh more beside one example than beside many."""
    entry = {"shrinkage": model.shrinkage_, "crowding": model.crowding_, "calibration": 0.0, "temperatures": WARM}
    model.practice_ = {"examples": {str(k): {**entry, "weight": 6.0 / k} for k in (1, 3)}}
    return model


def directions(model):
    return model._directions(model._question(np.empty((0, 6)), model.signature_table_))


def slow_change(model, X, of_rows):
    """Teach each row as each class, one at a time, and see how far the directions of that class moved."""
    now, likely = directions(model), model.predict_proba(X, candidates=model.candidates_)
    found = np.zeros(len(X))
    for i, x in enumerate(X):
        for c, label in enumerate(model.candidates_.tolist()):
            then = directions(model.add_examples(x[None], [label]))
            found[i] += likely[i, c] * max(np.linalg.norm(then[row] - now[row]) for row in of_rows[c])
    return found


SORTS = {
    "gaussian": fitted,
    "linear": lambda toy: fitted(toy, kernel="linear"),
    "practised": lambda toy: practised(fitted(toy)),
    "taught": lambda toy: taught(practised(fitted(toy)), toy),
    "adapted": lambda toy: fitted(toy).adapt(toy.X_new, force=True),
    "several signatures": lambda toy: fitted(toy, several(toy)),
}


@pytest.mark.parametrize("sort", SORTS)
def test_expected_change_is_what_teaching_each_row_would_do(toy, sort):
    model, X = calibrated(SORTS[sort](toy)), np.concatenate([toy.X[:3], toy.X_new[:4]])
    rows, worth = model.label_next(X, len(X), "change", return_scores=True)
    expected = slow_change(model, X, model.signature_table_.padded_rows())
    assert expected.max() > 1.2 * expected.min()
    assert_close(worth, expected[rows], 64 * SUMS.single)  # examples are kept in single precision


def slow_picks(worth, near, n):
    """One row after the other, each time the best of all products anew."""
    taken = []
    for _ in range(n):
        left = [
            -1.0 if i in taken else worth[i] * np.prod([1 - max(0.0, near[i] @ near[j]) for j in taken])
            for i in range(len(worth))
        ]
        taken.append(int(np.argmax(left)))
    return taken


def test_rows_are_taken_one_after_the_other(toy):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(40, 4))
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    worth = rng.random(40)
    assert apart(worth, near, 12, 1.0).tolist() == slow_picks(worth, near, 12)
    assert apart(worth, near, 12, 0.0).tolist() == np.argsort(-worth)[:12].tolist()


def test_a_small_gap_between_the_best_two_comes_first(toy):
    model, X = toy.fitted(), np.concatenate([toy.X, toy.X_new])
    ordered = np.sort(model.compatibility(X), axis=1)
    gaps = ordered[:, -1] - ordered[:, -2]
    rows, worth = model.label_next(X, 6, diversity=0, return_scores=True)
    assert rows.tolist() == np.argsort(gaps)[:6].tolist()
    assert_close(worth, np.exp(-gaps[rows] / gaps.mean()), SUMS.double)
    model.calibration_ = 0.25  # the constant counts, as in predict
    few = model.label_next(X, 3, diversity=0)
    scores = np.sort(model.compatibility(X) - 0.25 * np.isin(model.candidates_, model.classes_), axis=1)
    assert few.tolist() == np.argsort(scores[:, -1] - scores[:, -2])[:3].tolist()
    asked = model.label_next(X, 3, candidates=["emu", "bee"], diversity=0)
    assert asked.tolist() == np.argsort(np.abs(np.subtract(*model.compatibility(X, candidates=["emu", "bee"]).T)))[
        :3].tolist()  # fmt: skip
    table = toy.table.loc[["emu", "bee"]]
    np.testing.assert_array_equal(model.label_next(X, 3, signatures=table, diversity=0), asked)


@pytest.mark.parametrize("strategy", ["margin", "change"])
def test_copies_of_a_row_are_asked_for_once(toy, strategy):
    model = calibrated(fitted(toy))
    first = int(model.label_next(toy.X_new, 1, strategy)[0])
    X = np.concatenate([toy.X_new[[first] * 8], np.delete(toy.X_new, first, axis=0)])
    rows = model.label_next(X, 6, strategy)
    assert np.sum(rows < 8) == 1
    assert np.sum(model.label_next(X, 6, strategy, diversity=0) < 8) == 6  # so it would be
    everything = model.label_next(X[:8], 8, strategy)  # where there is nothing else, copies have to do
    assert sorted(everything.tolist()) == list(range(8))


def test_only_the_most_worthwhile_of_many_are_compared(toy, monkeypatch):
    model = toy.fitted()
    expected = model.label_next(toy.X, 4)
    monkeypatch.setattr(next_rows, "AT_LEAST", 4)
    monkeypatch.setattr(next_rows, "COMPARED", 1)
    assert set(model.label_next(toy.X, 4)) == set(model.label_next(toy.X, 4, diversity=0))
    assert set(expected) != set(model.label_next(toy.X, 4))
    frame = pd.DataFrame(toy.X)
    monkeypatch.undo()
    np.testing.assert_array_equal(model.label_next(frame.to_numpy().tolist(), 4), expected)


@pytest.mark.parametrize("name", ["eszsl", "dap", "conse", "gaussian-ort"])
def test_a_method_that_cannot_be_taught_goes_by_the_margin_alone(toy, name):
    model = make(name).fit(toy.X, toy.y, toy.table - toy.table.min().min() + 0.1)
    assert len(set(model.label_next(toy.X_new, 5))) == 5
    with pytest.raises(ValueError, match=r"^strategy is 'change': \w+ does not learn from examples"):
        model.label_next(toy.X_new, 5, "change")


def test_a_committee_asks_by_its_own_probabilities_for_what_moves_its_class_means(toy):
    model = calibrated(
        Committee([("means", fitted(toy)), ("eszsl", baselines.ESZSL())], [1, 0.5]).fit(toy.X, toy.y, toy.table)
    )
    rows, worth = model.label_next(toy.X_new, 10, "change", return_scores=True)
    member = model.named_members_.means
    scaled = member._scaled(toy.X_new)
    moves = member._mover(scaled, member.signature_table_)(scaled)
    expected = (model.predict_proba(toy.X_new, candidates=model.candidates_) * moves).sum(axis=1)
    assert_close(worth, expected[rows], SUMS.double)
    alone = Committee([("eszsl", baselines.ESZSL())]).fit(toy.X, toy.y, toy.table)
    assert len(alone.label_next(toy.X_new, 3)) == 3
    with pytest.raises(ValueError, match=r"^strategy is 'change': Committee does not learn"):
        alone.label_next(toy.X_new, 3, "change")


def test_picks_tell_the_best_two_classes(toy):
    model = calibrated(fitted(toy))
    found = pick(model, toy.X_new, 4, "margin", diversity=0)
    best, scores = model.top_k(toy.X_new, 2, return_scores=True)
    np.testing.assert_array_equal(found.labels, best[found.rows])
    assert_close(found.scores, scores[found.rows], SUMS.double)
    likely = np.sort(model.predict_proba(toy.X_new, candidates=model.candidates_), axis=1)[:, :-3:-1]
    assert_close(found.probabilities, likely[found.rows], SUMS.double)
    assert pick(fitted(toy), toy.X_new, 4, "margin").probabilities is None


def test_an_uncalibrated_model_warns_where_probabilities_count(toy):
    model = fitted(toy)
    model.label_next(toy.X_new, 3)  # without a warning, which would be an error here
    with pytest.warns(UncalibratedWarning):
        model.label_next(toy.X_new, 3, "change")


def test_tensors_give_the_same_rows(toy):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: rows to label among tensors")
    model = calibrated(fitted(toy))
    for strategy in ("margin", "change"):
        found = model.label_next(torch.from_numpy(toy.X_new), 5, strategy)
        np.testing.assert_array_equal(found, model.label_next(toy.X_new, 5, strategy))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n": 0}, "n is 0: expected an integer ≥ 1"),
        ({"n": 11}, "n is 11: expected an integer from 1 to 10, the number of rows"),
        ({"strategy": "margins"}, r"strategy is 'margins': expected one of margin, change \(did you mean 'margin'\?\)"),
        ({"diversity": -1}, "diversity is -1: expected a finite number ≥ 0"),
        ({"candidates": ["cat"]}, "the only candidate is 'cat': a label tells classes apart, so name another"),
        ({"candidates": ["cow"]}, "candidate 'cow' is not in the fitted table"),
    ],
)
def test_refusals(toy, arguments, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        toy.fitted().label_next(toy.X_new, **{"n": 3, **arguments})
    with pytest.raises(NotFittedError):
        methods.build("eszsl").label_next(toy.X)
