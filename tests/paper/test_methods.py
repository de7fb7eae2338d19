"""Methods of the evaluation by name, group and family."""

from __future__ import annotations

import pytest

from zskl.paper import methods as paper_methods
from zskl.paper import published


def test_groups_name_methods():
    assert set(published.BASELINES) <= set(paper_methods.chosen(["Baselines"]))
    assert paper_methods.chosen(["kernels", "sae"])[0] == "sae"
    assert paper_methods.chosen(["ours"]) == ("gaussian-softmax", "cauchy-softmax", "class-means", "means-softmax")
    assert paper_methods.chosen(None) == paper_methods.ALL
    with pytest.raises(ValueError, match="unknown method 'gausian'"):
        paper_methods.chosen(["gausian"])
    with pytest.raises(ValueError, match=r"'cosine' is not part of the paper's evaluation: expected .*; zskl"):
        paper_methods.chosen(["cosine"])


def test_each_method_has_one_family_and_a_place_in_the_queue():
    assert [name for mine in paper_methods.FAMILIES.values() for name in mine] == list(paper_methods.ALL)
    assert all(name in paper_methods.FAMILIES[paper_methods.family(name)] for name in paper_methods.ALL)
    queue = paper_methods.slowest_first(paper_methods.ALL)
    assert sorted(queue) == sorted(paper_methods.ALL)
    assert queue.index("cmt") < queue.index("ale") < queue.index("eszsl")
