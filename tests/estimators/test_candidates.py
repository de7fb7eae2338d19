"""Candidate classes: which columns there are, in which order, described by what."""

import numpy as np
import pandas as pd
import pytest

from tolerances import SUMS, assert_close
from toy import CANDIDATES


def test_columns_follow_candidates(toy):
    model = toy.fitted()
    scores = model.compatibility(toy.X_new)
    assert scores.shape == (len(toy.X_new), 5)
    for column, label in enumerate(model.candidates_):
        alone = model.compatibility(toy.X_new, candidates=[label])
        assert_close(alone, scores[:, [column]], SUMS.double)
    assert model.predict(toy.X_new).tolist() == [CANDIDATES[best] for best in scores.argmax(axis=1)]


@pytest.mark.parametrize(
    "chosen", [["emu", "bee"], ["bee", "emu"], ["dog", "ant", "cat"], ["bee", "dog"], ["emu"], CANDIDATES[::-1]]
)
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Index, pd.Series, lambda c: np.array(c, dtype=object)])
def test_a_choice_of_candidates_selects_and_orders_columns(toy, chosen, form):
    model = toy.fitted()
    columns = [CANDIDATES.index(label) for label in chosen]
    scores = model.compatibility(toy.X_new)[:, columns]
    assert_close(model.compatibility(toy.X_new, candidates=form(chosen)), scores, SUMS.double)
    expected = [chosen[best] for best in scores.argmax(axis=1)]
    assert model.predict(toy.X_new, candidates=form(chosen)).tolist() == expected
    assert model.top_k(toy.X_new, 1, candidates=form(chosen))[:, 0].tolist() == expected


def test_candidates_default_to_the_classes_of_a_table_at_predict_time(toy):
    model = toy.fitted()
    unseen = toy.table.loc[["emu", "bee"]]
    assert_close(
        model.compatibility(toy.X_new, unseen), model.compatibility(toy.X_new, candidates=["emu", "bee"]), SUMS.double
    )
    assert set(model.predict(toy.X_new, unseen)) <= {"emu", "bee"}


def test_classes_unknown_at_training(toy):
    blind = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]
    unseen = toy.table.loc[["emu", "bee"]]
    assert blind.predict(toy.X_new, unseen).tolist() == toy.fitted().predict(toy.X_new, unseen).tolist()
    assert blind.predict(toy.X_new, unseen, candidates=["bee"]).tolist() == ["bee"] * len(toy.X_new)
    assert blind.candidates_.tolist() == ["ant", "cat", "dog"]  # a prediction changes nothing


def test_a_table_at_predict_time_redescribes_seen_classes(toy):
    model = toy.fitted()
    swapped = toy.table.rename(index={"ant": "cat", "cat": "ant"})
    assert_close(
        model.compatibility(toy.X, swapped, candidates=["ant", "cat"]),
        model.compatibility(toy.X, candidates=["cat", "ant"]),
        SUMS.double,
    )


def test_an_array_at_predict_time_takes_its_names_from_candidates(toy):
    model = toy.fitted()
    rows = toy.table.loc[["bee", "cat"]].to_numpy()
    np.testing.assert_array_equal(
        model.compatibility(toy.X, rows, candidates=["bee", "cat"]),
        model.compatibility(toy.X, toy.table, candidates=["bee", "cat"]),
    )
    assert set(model.predict(toy.X, rows, candidates=["x", "y"])) <= {"x", "y"}
    with pytest.raises(ValueError, match="array of 2 rows without class names: pass candidates="):
        model.predict(toy.X, rows)


def test_signature_means_of_seen_classes_ignore_what_else_is_described(toy):
    narrow = toy.model().fit(toy.X, toy.y, toy.table.loc[["ant", "cat", "dog"]])
    np.testing.assert_array_equal(toy.fitted().projection_, narrow.projection_)
    everything = toy.fitted(signature_mean="all")
    assert not np.array_equal(everything.projection_, narrow.projection_)
    assert_close(everything.signature_scaling_.mean, toy.table.to_numpy().mean(axis=0), SUMS.double)


def test_a_candidate_named_twice_is_refused(toy):
    with pytest.raises(ValueError, match="names a class twice"):
        toy.fitted().compatibility(toy.X, candidates=["cat", "dog", "cat"])
