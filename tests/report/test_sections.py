"""What a record keeps of a model for the report, compact."""

import numpy as np
import pytest

import zskl
from records import answered
from zskl import datasets, methods, protocols
from zskl.experiments import unit
from zskl.experiments.record import Record, TriedSettings
from zskl.experiments.unit import Unit
from zskl.report import sections
from zskl.selection.grid_search import expand_grid


def test_objective_is_thinned_to_means():
    course = unit.thin_objective(np.arange(1000.0))
    assert course.step[:2] == (5, 10)
    assert course.objective[:2] == (2.0, 7.0)
    assert (len(course.step), course.step[-1]) == (200, 1000)
    assert unit.thin_objective(np.array([1.0, np.inf])).objective == (1.0,)


def test_gram_matrix_allows_a_column_of_zeros():
    assert unit.gram_entries(np.array([[3.0, 0.0], [4.0, 0.0]])) == ((1.0, 0.0), (0.0, 0.0))


def test_results_keep_their_mistakes_out_of_plain_records():
    result = protocols.Result("zsl", mistaken={3: ((4, 0.5),)})
    assert "mistaken" not in result.as_dict()
    assert unit.frequent_mistakes(result) == {"3": (("4", 0.5),)}


def test_the_grid_is_recorded_with_gaps():
    class Search:
        settings = tuple(expand_grid({"sigma": [0.5, 1.0]}, methods.build("gaussian")))
        zsl = np.array([[0.5, 0.7], [-np.inf, -np.inf]])
        gzsl = zsl / 2

    assert unit.tried_settings(Search) == TriedSettings(("sigma",), ((0.5, 0.6, 0.3), (1.0, None, None)))


# The confusion of the generalised protocol, from the answers in a record.


def test_the_generalised_confusion_is_that_of_predictions():
    """Twice: from the packed answers of a record, and from the predictions of such a model, counted one by one."""
    data = datasets.load("digits")
    line = Unit("eszsl", 0, {}).run(data).to_json()
    found = sections.read_generalised_answers(Record.from_json(line))
    model = methods.build("eszsl", {}).fit(*data.samples("trainval"), data.signatures)
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    answers = model.predict(data.X[rows])
    assert sum(name.startswith("○") for name in found.classes) == 3
    for i, name in enumerate(found.classes):
        mine = answers[data.y[rows] == int(name.strip("○ "))]
        for j, other in enumerate(found.answers):
            share = sum(answer == int(other.strip("○ ")) for answer in mine) / len(mine)
            assert found.shares[i, j] == pytest.approx(share, abs=2 / len(mine))  # a tie may fall either way
    del line["class_rows"]
    assert sections.read_generalised_answers(Record.from_json(line)) is None


# The names of rows within a problem.


def test_rows_that_differ_only_by_grid_have_different_names():
    found = [answered("sae", tune={"scoring": "both", "grid": {"lam": grid}}) for grid in ([1.0], [1.0, 2.0])]
    found.append(answered("sae", tune={"scoring": "zsl", "grid": {"lam": [1.0]}}))
    (problem,) = sections.group_problems(found, zskl.compare(found))
    names = [case.name for case in problem.cases]
    assert len(set(names)) == 3
    assert ["grid" in name for name in names] == [True, True, False]
