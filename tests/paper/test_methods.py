"""Methods of the evaluation by name and group."""

from __future__ import annotations

import pytest

from zskl.paper import methods as paper_methods
from zskl.paper import published


def test_groups_name_methods():
    assert paper_methods.chosen(["Baselines"]) == published.BASELINES
    assert paper_methods.chosen(["kernels", "sae"])[0] == "sae"
    assert paper_methods.chosen(None) == paper_methods.ALL
    with pytest.raises(ValueError, match="unknown method 'gausian'"):
        paper_methods.chosen(["gausian"])
    with pytest.raises(ValueError, match=r"'cosine' is not part of the paper's evaluation: expected .*; zskl"):
        paper_methods.chosen(["cosine"])
