"""Which folders are replaced, and when."""

import os
import stat

import pytest

from own_files import make
from zskl import datasets
from zskl.datasets.own.new_folder import new_folder


def test_an_existing_folder_is_replaced_only_by_force_and_only_if_it_is_a_dataset(here):
    first = make(seed=0).fingerprint
    with pytest.raises(ValueError, match="birds is there already"):
        make(seed=1)
    assert datasets.load("birds").fingerprint == first
    assert make(seed=1, force=True).fingerprint != first
    (here / "diary").mkdir()
    (here / "diary/notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="diary is not a dataset folder"):
        make("diary", force=True)
    assert (here / "diary/notes.txt").read_text() == "mine"
    assert sorted(os.listdir(here)) == ["birds", "diary", "features.csv", "traits.csv"]
    assert make("new/deep/birds").name == "birds"


def test_a_replacement_that_fails_keeps_the_old(here):
    first = make().fingerprint
    (here / "traits.csv").write_text("class,t0\nant,1\n")
    with pytest.raises(ValueError, match="no row for the class"):
        make(force=True)
    assert datasets.load("birds").fingerprint == first
    with pytest.raises(RuntimeError), new_folder("birds", force=True):
        raise RuntimeError
    assert datasets.load("birds").fingerprint == first
    assert stat.S_IMODE((here / "birds").stat().st_mode) == 0o777 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
