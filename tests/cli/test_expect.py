"""`zskl expect`: the figures as text and as JSON."""

import json
from dataclasses import replace

import pytest

import command
import user_files
from command import invoke
from user_files import MAKE
from zskl import datasets, methods
from zskl.experiments.expectation import expect_accuracy

GRID = {"shrinkage": (0.1, 0.6)}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two settings, and no processes for so little."""
    monkeypatch.setitem(methods.METHODS, "class-means", replace(methods.METHODS["class-means"], grid=GRID, bounds={}))
    monkeypatch.setattr("zskl.selection.calibration.Engine", lambda *names: None)


def test_what_to_expect(here):
    invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
    twin = expect_accuracy(datasets.load("birds"), GRID, engine=None)
    code, out = invoke("expect", "birds", "--top", "2")
    assert code == 0
    figure = f"{100 * twin.zero_shot.mean:.1f} ± {100 * twin.zero_shot.spread:.1f} %"
    assert f"birds: expected zero-shot accuracy {figure} (3 folds of 2 to 3 held-out classes; chance" in out
    assert f"{100 * twin.harmonic.mean:.1f} ± {100 * twin.harmonic.spread:.1f} %" in out
    assert f"{100 * twin.groups[0].loss.mean:+.1f}" in out
    assert "3 more; --top shows them" in out
    code, out = invoke("expect", "birds", "--json")
    assert json.loads(out) == {"dataset": "birds", **json.loads(json.dumps(twin.to_json()))}


def test_too_few_classes_are_a_sentence(here):
    user_files.write_birds(here, ["ant", "bee", "cat", "dog"])
    invoke(*MAKE, "--unseen", "dog")
    done = command.zskl("expect", "birds")
    assert done.returncode == 2
    assert "of 3 class(es)" in done.stderr
    assert "Traceback" not in done.stderr
