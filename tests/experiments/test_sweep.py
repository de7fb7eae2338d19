"""Sweeps: nothing lost, nothing doubled, whatever ends them; the same records wherever units run."""

from __future__ import annotations

import re
from contextlib import closing
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from small_search import QUICK, outcomes, pieces, timeless
from zskl import datasets, engines
from zskl.cli import app
from zskl.engines import Engine
from zskl.experiments import run_folder, sweep
from zskl.experiments.record import Record
from zskl.experiments.sweep import DatasetSource, Failure, RunOptions, plan_units
from zskl.experiments.unit import Unit

# Sweep


def test_adding_a_method_shifts_no_other(digits):
    alone = outcomes(pieces(digits, [Unit("gaussian", 0, QUICK)]))
    more = outcomes(pieces(digits, [Unit("cauchy", 0, QUICK), Unit("gaussian", 0, QUICK)]))
    assert timeless(alone[0]) == timeless(more[1])


def test_a_unit_that_diverges_fails_alone(digits):
    wild = {"learning_rate": 9.0, "incoherence_weight": 0.0, **QUICK}
    found = outcomes(pieces(digits, [Unit("polynomial-6", 0, wild), Unit("gaussian", 0, QUICK)]))
    assert isinstance(found[0], Failure)
    assert "digits polynomial-6 seed 0: training diverged" in found[0].sentence
    assert found[1].method == "gaussian"


def test_what_is_done_is_not_repeated(digits, tmp_path, monkeypatch):
    units = [Unit("gaussian", seed, QUICK) for seed in range(2)]
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        first = outcomes(pieces(digits, units), None, folder)
    more = [*units, Unit("gaussian", 2, QUICK), Unit("gaussian-ort", 0, QUICK)]
    ran = []
    run = Unit.run
    monkeypatch.setattr(Unit, "run", lambda unit, *rest: ran.append(unit) or run(unit, *rest))
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        second = outcomes(pieces(digits, more), None, folder)
    assert ran == more[2:]
    assert [timeless(second[place]) for place in range(2)] == [timeless(first[place]) for place in range(2)]
    assert len(run_folder.read_log(tmp_path / "records.jsonl")) == 4


def test_other_data_is_other_work(digits, tmp_path):
    unit = Unit("gaussian", 0, QUICK)
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        outcomes(pieces(digits, [unit]), None, folder)
    shuffled = datasets.Dataset(
        digits.name, digits.X, digits.y, digits.signatures + 0.5, digits.parts, source="changed", checked=True
    )
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        outcomes(pieces(shuffled, [unit]), None, folder)
    found = run_folder.read_log(tmp_path / "records.jsonl")
    assert len({one["fingerprint"] for one in found}) == len(found) == 2


def test_a_worker_with_other_data_is_refused(digits):
    with pytest.raises(ValueError, match=r"differs on a worker.*give all machines the same files"):
        sweep._run_sweep_on_worker("sweep", (DatasetSource("digits"), "0" * 64, Unit("gaussian", 0, QUICK)))


def test_sources_travel_without_this_working_folder(digits, package, tmp_path, monkeypatch):
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(package)
    cub = DatasetSource("cub", ".")
    data = cub.load()
    away = cub.absolute(data)
    monkeypatch.chdir("/")
    assert away.features == data.features
    assert away.load().fingerprint == data.fingerprint
    assert DatasetSource("digits").absolute(digits) == DatasetSource("digits")


@pytest.mark.parametrize("place", ["here", "in the caller"])
def test_an_interrupt_between_two_results_ends_the_engine(digits, monkeypatch, place):
    """At once: a traceback that is still held would keep a generator that nobody closes, and its workers, alive."""
    closed = []

    def each(*_):
        try:
            yield from enumerate([Failure("first"), {"key": "second"}])
        finally:
            closed.append(True)

    class Folder:
        done: ClassVar = {}

        def append(self, record):
            raise KeyboardInterrupt

    monkeypatch.setattr(engines, "each", each)
    units = pieces(digits, [Unit("gaussian", seed, QUICK) for seed in range(2)])

    def interrupted():
        with closing(sweep.run_sweep(units, Engine(workers=2), Folder())) as outcomes:
            for _ in outcomes:
                if place == "in the caller":
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert closed


def test_few_units_share_their_search(digits, small, monkeypatch):
    """One unit and two workers: the search goes through the engine, and chooses as it does here."""
    used = []
    each = engines.each
    monkeypatch.setattr(engines, "each", lambda f, t, s=None, e=None, *rest: used.append(e) or each(f, t, s, None))
    unit = Unit("gaussian", 0, tune=True)
    there = outcomes(pieces(digits, [unit]), Engine(workers=2))[0]
    assert used[0] == Engine(workers=2)
    used.clear()
    assert timeless(outcomes(pieces(digits, [unit]))[0]) == timeless(there)
    assert set(used) == {None}


def run_digits(folder, seeds):
    """What the command line says."""
    options = ["--method", "gaussian", "--set", "epochs=1", "--seeds", str(seeds), "--out", str(folder)]
    result = CliRunner().invoke(app, ["run", "digits", *options])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_a_full_disk_is_a_sentence_and_the_same_command_continues(tmp_path):
    resource = pytest.importorskip("resource", reason="no limits on the size of files here")
    run_digits(tmp_path, 1)
    file = tmp_path / "records.jsonl"
    first = file.read_bytes()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(first) * 3 // 2, usual[1]))  # half of the second record has room
    try:
        with pytest.raises(OSError, match=r"cannot append to .*the same command continues"):
            run_digits(tmp_path, 3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert file.read_bytes() == first
    assert "1 of 3 units were done before" in run_digits(tmp_path, 3)
    assert len({one["key"] for one in run_folder.read_log(file)}) == len(run_folder.read_log(file)) == 3


def test_a_second_run_in_one_folder_is_refused(tmp_path):
    with (
        run_folder.open_log(tmp_path),
        pytest.raises(OSError, match=re.escape(f"another run is writing to {tmp_path}")),
        run_folder.open_log(tmp_path),
    ):
        pass
    with run_folder.open_log(tmp_path) as folder:
        assert folder.done == {}


# Run plan
# The units of one command: some methods tuned, others at defaults, and more given only to those that can learn.

NAMES = ["class-means", "eszsl", "gaussian-ort"]


def test_some_methods_are_tuned_and_others_stay_at_defaults():
    found, said = plan_units(RunOptions({}, tune=True, calibrate=True), NAMES, 2, ["Gaussian-Ort"])
    assert [(one.method, one.tune, one.calibrate, one.scoring, one.seed) for one in found] == [
        ("class-means", True, True, "both", 0),
        ("eszsl", True, True, "both", 0),
        ("gaussian-ort", False, True, None, 0),
        ("gaussian-ort", False, True, None, 1),
    ]
    assert said == [
        "class-means, eszsl: run once, since every seed gives the same model",
        "gaussian-ort: not tuned, at default settings",
    ]
    by_h, _ = plan_units(RunOptions({}, tune=True, scoring="gzsl"), NAMES, 1, ["gaussian-ort"])
    assert [one.calibrate for one in by_h] == [True] * 3  # what is chosen by H is calibrated, so the others are too


def test_examples_go_to_those_that_can_learn_from_them():
    found, said = plan_units(RunOptions({}, shots=(1, 5), unlabelled=("all",)), NAMES, 1)
    assert [(one.shots, one.unlabelled) for one in found] == [((1, 5), ("all",)), ((), ()), ((), ())]
    assert said == ["eszsl, gaussian-ort: scored without examples and unlabelled rows, from which they cannot learn"]
    with pytest.raises(ValueError, match="method 'eszsl' cannot learn from examples: expected one of class-means"):
        plan_units(RunOptions({}, shots=(1,)), NAMES[1:], 1)


def test_defaults_names_a_method_that_is_run_and_tuned():
    with pytest.raises(ValueError, match=r"--defaults gausian-ort \(did you mean 'gaussian-ort'\?\): expected one of"):
        plan_units(RunOptions({}, tune=True), NAMES, 1, ["gausian-ort"])
    with pytest.raises(ValueError, match="--defaults eszsl was given without --tune"):
        plan_units(RunOptions({}), NAMES, 1, ["eszsl"])
    with pytest.raises(ValueError, match="without tune"):
        plan_units(RunOptions({}, scoring="gzsl"), NAMES, 1)
