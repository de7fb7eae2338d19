"""Datasets by name."""

import pytest

from zskl import datasets
from zskl.datasets import digits, make_synthetic


def test_load_by_name():
    assert datasets.load("Digits").fingerprint == digits.load().fingerprint
    assert datasets.load("SYNTHETIC").fingerprint == make_synthetic().fingerprint
    assert [name for name, _ in datasets.names()] == ["letters", "digits", "synthetic", *datasets.xlsa17.BENCHMARKS]
    assert all(description and "\n" not in description for _, description in datasets.names())


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'digts' \(did you mean 'digits'\?\).*letters, digits, synthetic"):
        datasets.load("digts")


@pytest.mark.parametrize("name", ["digits", "synthetic"])
@pytest.mark.parametrize("argument", ["root", "features", "signatures", "folds"])
def test_bundled_datasets_take_no_files(name, argument):
    with pytest.raises(ValueError, match=f"{argument} is 'somewhere', but the bundled dataset '{name}' takes none"):
        datasets.load(name, **{argument: "somewhere"})
