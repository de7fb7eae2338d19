"""The names of rows within a problem."""

import zskl
from answered import answered
from zskl.report import groups


def test_rows_that_differ_by_their_grid_alone_have_names_of_their_own():
    found = [answered("sae", tune={"scoring": "both", "grid": {"lam": grid}}) for grid in ([1.0], [1.0, 2.0])]
    found.append(answered("sae", tune={"scoring": "zsl", "grid": {"lam": [1.0]}}))
    (problem,) = groups.problems(found, zskl.compare(found))
    names = [case.name for case in problem.cases]
    assert len(set(names)) == 3
    assert ["grid" in name for name in names] == [True, True, False]
