"""What a record keeps of a model for the report, compact."""

import numpy as np

from zskl import methods, protocols
from zskl.experiments import model_summary
from zskl.experiments.record_parts import Tried
from zskl.selection.grid import expand


def test_a_course_is_thinned_to_means():
    course = model_summary.course(np.arange(1000.0))
    assert course.step[:2] == (5, 10)
    assert course.objective[:2] == (2.0, 7.0)
    assert (len(course.step), course.step[-1]) == (200, 1000)
    assert model_summary.course(np.array([1.0, np.inf])).objective == (1.0,)


def test_the_gram_matrix_bears_a_column_of_zeros():
    assert model_summary.gram(np.array([[3.0, 0.0], [4.0, 0.0]])) == ((1.0, 0.0), (0.0, 0.0))


def test_results_keep_their_mistakes_out_of_plain_records():
    result = protocols.Result("zsl", mistaken={3: ((4, 0.5),)})
    assert "mistaken" not in result.as_dict()
    assert model_summary.mistakes(result) == {"3": (("4", 0.5),)}


def test_the_grid_is_recorded_with_gaps():
    class Search:
        settings = tuple(expand({"sigma": [0.5, 1.0]}, methods.build("gaussian")))
        zsl = np.array([[0.5, 0.7], [-np.inf, -np.inf]])
        gzsl = zsl / 2

    assert model_summary.tried(Search) == Tried(("sigma",), ((0.5, 0.6, 0.3), (1.0, None, None)))
