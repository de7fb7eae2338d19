"""The published figures: whole, and their misprints."""

from zskl import baselines, methods
from zskl.paper import published, results
from zskl.paper.tables import printed_harmonic


def test_published_tables_are_whole():
    for method in (*results.BASELINES, *results.KERNELS):
        for dataset in published.DATASETS:
            assert published.published_generalised(method, dataset) is not None
            assert (published.published_zero_shot(method, dataset) is None) == (method == "cmt-star")
    for method in results.PARTS["incoherence"]:
        assert all(published.published_incoherence(method, dataset) > 0 for dataset in published.DATASETS)
    assert published.published_zero_shot("gaussian-ort", "APY") == 45.3
    assert published.published_zero_shot("gaussian-softmax", "APY") is None
    assert "ResNet-101" in published.read_published()["source"]
    assert set(results.ALL) <= set(methods.METHODS)
    assert {name for name in methods.METHODS if name not in baselines.BASELINES} <= set(results.ALL)
    assert published.published_zero_shot("eszsl-signs", "CUB") == published.published_zero_shot("eszsl", "CUB")
    assert published.published_zero_shot("exem", "CUB") is None


def test_exactly_two_printed_harmonic_means_are_misprints():
    assert published.find_misprints() == [("dap", "APY"), ("cmt", "CUB")]
    found = published.published_generalised("cmt", "CUB")
    assert (found.printed, round(found.harmonic, 1)) == (8.7, 12.9)
    assert printed_harmonic("cmt", "CUB").mark == "†"
    assert printed_harmonic("cmt-star", "CUB").mark == ""
    assert published.PublishedAccuracies(20.0, 60.0, 30.0).misprint is False  # and a planted one is found
    assert published.PublishedAccuracies(20.0, 60.0, 31.0).misprint is True
