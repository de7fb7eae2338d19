"""The figures that the paper printed."""

from __future__ import annotations

from zskl import methods
from zskl.paper import comparison_table, published
from zskl.paper import methods as paper_methods
from zskl.paper.accuracy_tables import printed_harmonic, printed_zero_shot


def test_published_tables_are_whole():
    for method in (*published.BASELINES, *published.KERNELS):
        for dataset in paper_methods.DATASETS:
            assert published.general(method, dataset) is not None
            assert (published.zero_shot(method, dataset) is None) == (method == "cmt-star")
    for method in paper_methods.PARTS["incoherence"]:
        assert all(published.incoherence(method, dataset) > 0 for dataset in paper_methods.DATASETS)
    assert published.zero_shot("gaussian-ort", "APY") == 45.3
    assert published.zero_shot("gaussian-softmax", "APY") is None
    assert "ResNet-101" in published.tables()["source"]
    assert set(methods.METHODS) - set(paper_methods.ALL) == {"class-means", "cosine", "eszsl-signs", "means-softmax"}


def test_exactly_two_printed_harmonic_means_are_misprints():
    assert published.misprints() == [("dap", "APY"), ("cmt", "CUB")]
    found = published.general("cmt", "CUB")
    assert (found.printed, round(found.harmonic, 1)) == (8.7, 12.9)
    assert printed_harmonic("cmt", "CUB").mark == "†"
    assert printed_harmonic("cmt-star", "CUB").mark == ""
    assert published.General(20.0, 60.0, 30.0).misprint is False  # and a planted one is found
    assert published.General(20.0, 60.0, 31.0).misprint is True


def test_wins_are_counted_as_in_the_paper():
    zero_shot = [comparison_table.printed_wins(name, printed_zero_shot) for name in published.KERNELS]
    general = [comparison_table.printed_wins(name, printed_harmonic) for name in published.KERNELS]
    assert zero_shot == ["4/5", "4/5", "3/5", "0/5", "4/5", "1/5", "4/5"]
    assert general == ["0/5", "1/5", "0/5", "0/5", "3/5", "0/5", "2/5"]
    assert comparison_table.printed_wins("ale", printed_zero_shot) == ""
