"""Sweeps: nothing lost, nothing doubled, whatever ends them; the same records wherever units run."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from test_engines import THEIRS, bounded  # noqa: F401 (bounded is a fixture for every test)
from zskl import ZeroShotKernelClassifier, datasets, engines, experiment, methods, records, shards, sweep
from zskl.engines import Engine
from zskl.experiment import Unit, seed_of
from zskl.sweep import Failure, Piece, Source

QUICK = {"epochs": 1}


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


@pytest.fixture
def small(monkeypatch):
    """Grids of two settings."""
    for name in ("gaussian", "gaussian-ort"):
        method = methods.METHODS[name]
        grid = {"sigma": (0.5, 1.0), "epochs": (1, 2)}
        changed = {**methods.METHODS, name: type(method)(method.estimator, method.description, method.overrides, grid)}
        monkeypatch.setattr(methods, "METHODS", changed)


def pieces(data, units, name="digits"):
    return [Piece(Source(name), data, unit) for unit in units]


def timeless(record):
    """What must be equal between engines, as it is after a round trip through JSON."""
    plain = json.loads(records.to_line(record))
    return {name: value for name, value in plain.items() if name not in ("seconds", "finished", "versions")}


def outcomes(*arguments):
    return dict(sweep.run(*arguments))


# Units ---------------------------------------------------------------------------------------------------------------


def test_seeds_derive_from_names_alone():
    assert seed_of("digits", "gaussian", 0) == 1619081162  # records of earlier runs rely on it
    assert len({seed_of(d, m, s) for d in ("a", "b") for m in methods.METHODS for s in range(5)}) == 10 * len(
        methods.METHODS
    )
    assert all(0 <= seed_of("x", "y", s) < 2**31 for s in range(100))


def test_adding_a_method_shifts_no_other(digits):
    alone = outcomes(pieces(digits, [Unit("gaussian", 0, QUICK)]))
    more = outcomes(pieces(digits, [Unit("cauchy", 0, QUICK), Unit("gaussian", 0, QUICK)]))
    assert timeless(alone[0]) == timeless(more[1])


def test_a_key_names_what_decides_figures_and_not_the_device(digits):
    key = Unit("gaussian", 0, QUICK).key(digits)
    assert key == Unit("gaussian", 0, dict(QUICK), device="cpu").key(digits)
    assert len(key) == 64
    others = [
        Unit("gaussian-ort", 0, QUICK),
        Unit("gaussian", 1, QUICK),
        Unit("gaussian", 0),
        Unit("gaussian", 0, QUICK, tune=True),
        Unit("gaussian", 0, QUICK, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, calibrate=True),
        Unit("gaussian", 0, QUICK, tune=True, scoring="gzsl"),
    ]
    assert len({key, *(unit.key(digits) for unit in others)}) == len(others) + 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"scoring": "zsl"}, "without tune"), ({"tune": True, "scoring": "zls"}, "did you mean 'zsl'")],
)
def test_a_mistaken_unit_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Unit("gaussian", 0, **arguments)


def test_without_choosing_the_record_is_plain(digits):
    record = experiment.run(Unit("gaussian", 0, QUICK), digits)
    assert set(record["seconds"]) == {"fit", "evaluate"}
    assert not {"tune", "calibration", "gzsl_calibrated", "probabilities"} & set(record)
    assert len(record["gzsl"]["curve"]["seen"]) == len(record["gzsl"]["curve"]["calibration"]) <= 200


def test_tuning_by_both_scorings_takes_one_search_and_two_choices(digits, small):
    record = experiment.run(Unit("gaussian", 0, tune=True, calibrate=True), digits)
    tune = record["tune"]
    assert (tune["scoring"], tune["settings"], tune["folds"]) == ("both", 4, 3)
    assert tune["grid"] == {"sigma": [0.5, 1.0], "epochs": [1, 2]}
    assert set(tune["choices"]) == {"zsl", "gzsl"}
    for choice in tune["choices"].values():
        assert choice["score"] == pytest.approx(np.mean(choice["fold_scores"]), rel=1e-12)
        assert choice["spread"] == pytest.approx(np.std(choice["fold_scores"], ddof=1), rel=1e-9)
    assert {record["config"][name] for name in ("sigma", "epochs")} == set(tune["choices"]["zsl"]["setting"].values())
    assert record["calibration"] == record["gzsl_calibrated"]["calibration"]
    assert record["gzsl_calibrated"]["harmonic"] > record["gzsl"]["harmonic"]
    assert set(record["seconds"]) == {"search", "fit", "evaluate"}
    assert 0 <= record["probabilities"]["zsl"]["ece"] <= 1


def test_one_scoring_is_one_model(digits, small):
    zsl = experiment.run(Unit("gaussian", 0, tune=True), digits)
    gzsl = experiment.run(Unit("gaussian", 0, tune=True, scoring="gzsl"), digits)
    both = experiment.run(Unit("gaussian", 0, tune=True, scoring="both"), digits)
    assert list(zsl["tune"]["choices"]) == ["zsl"]
    assert "gzsl_calibrated" not in zsl
    assert both["zsl"] == zsl["zsl"]
    assert both["gzsl"] == zsl["gzsl"]
    assert both["gzsl_calibrated"] == gzsl["gzsl_calibrated"]
    assert gzsl["gzsl"]["ausuc"] == gzsl["gzsl_calibrated"]["ausuc"]


def test_settings_that_are_fixed_leave_the_grid(digits, small):
    record = experiment.run(Unit("gaussian", 0, {"sigma": 0.7}, tune=True), digits)
    assert record["tune"]["grid"] == {"epochs": [1, 2]}
    assert record["config"]["sigma"] == 0.7


def test_calibration_without_tuning(digits):
    record = experiment.run(Unit("gaussian", 0, QUICK, calibrate=True), digits)
    assert record["calibration"] > 0
    assert set(record["seconds"]) == {"fit", "calibrate", "evaluate"}


def test_a_unit_that_diverges_fails_alone(digits):
    wild = {"learning_rate": 9.0, "incoherence_weight": 0.0, **QUICK}
    found = outcomes(pieces(digits, [Unit("polynomial-6", 0, wild), Unit("gaussian", 0, QUICK)]))
    assert isinstance(found[0], Failure)
    assert "digits polynomial-6 seed 0: training diverged" in found[0].sentence
    assert found[1]["method"] == "gaussian"


# Resuming ------------------------------------------------------------------------------------------------------------


def test_what_is_done_is_not_repeated(digits, tmp_path, monkeypatch):
    units = [Unit("gaussian", seed, QUICK) for seed in range(2)]
    with records.opened(tmp_path) as folder:
        first = outcomes(pieces(digits, units), None, folder)
    more = [*units, Unit("gaussian", 2, QUICK), Unit("gaussian-ort", 0, QUICK)]
    ran = []
    run = experiment.run
    monkeypatch.setattr(experiment, "run", lambda unit, *rest: ran.append(unit) or run(unit, *rest))
    with records.opened(tmp_path) as folder:
        second = outcomes(pieces(digits, more), None, folder)
    assert ran == more[2:]
    assert [timeless(second[place]) for place in range(2)] == [timeless(first[place]) for place in range(2)]
    assert len(records.read(tmp_path / "records.jsonl")) == 4


def test_other_data_is_other_work(digits, tmp_path):
    unit = Unit("gaussian", 0, QUICK)
    with records.opened(tmp_path) as folder:
        outcomes(pieces(digits, [unit]), None, folder)
    shuffled = datasets.Dataset(
        digits.name, digits.X, digits.y, digits.signatures + 0.5, digits.parts, source="changed", checked=True
    )
    with records.opened(tmp_path) as folder:
        outcomes(pieces(shuffled, [unit]), None, folder)
    found = records.read(tmp_path / "records.jsonl")
    assert len({one["fingerprint"] for one in found}) == len(found) == 2


def test_a_worker_with_other_data_is_refused(digits):
    with pytest.raises(ValueError, match=r"differs on a worker.*give all machines the same files"):
        sweep._work("sweep", (Source("digits"), "0" * 64, Unit("gaussian", 0, QUICK)))


def test_sources_travel_without_this_working_folder(digits, package, tmp_path, monkeypatch):
    monkeypatch.setenv("ZSKL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(package)
    cub = Source("cub", ".")
    data = cub.load()
    away = cub.absolute(data)
    monkeypatch.chdir("/")
    assert away.features == data.features
    assert away.load().fingerprint == data.fingerprint
    assert Source("digits").absolute(digits) == Source("digits")


# Where units run -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["loky", pytest.param("dask", marks=THEIRS)])
def engine(request):
    if request.param == "loky":
        yield Engine(workers=2)
        return
    pytest.importorskip("distributed", reason="Dask is not installed")
    with engines.opened(Engine(request.param, workers=2)) as ready:
        yield ready


def test_records_are_equal_on_every_engine(digits, engine, tmp_path):
    units = [Unit("gaussian", 0, QUICK), Unit("gaussian-ort", 0, QUICK, calibrate=True), Unit("cauchy", 1, QUICK)]
    wild = {"learning_rate": 9.0, "incoherence_weight": 0.0, **QUICK}
    units.append(Unit("polynomial-6", 0, wild))
    here = outcomes(pieces(digits, units))
    with records.opened(tmp_path) as folder:
        there = outcomes(pieces(digits, units), engine, folder)
    assert there.keys() == here.keys()
    for place in range(3):
        assert timeless(there[place]) == timeless(here[place])
    assert there[3] == here[3]
    assert len(records.read(tmp_path / "records.jsonl")) == 3


def test_shards_are_predicted_alike_on_every_engine(digits, engine, tmp_path):
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(digits.X, digits.y, digits.signatures)
    model.save(tmp_path / "model.zskl")
    (tmp_path / "shards").mkdir()
    for k in range(4):
        np.save(tmp_path / "shards" / f"{k}.npy", digits.X[k::4])
    np.save(tmp_path / "shards" / "bad.npy", digits.X[:, :3])
    found = dict(enumerate(shards.find(tmp_path / "shards")))
    for out, runner in (("here", None), ("there", engine)):
        job = shards.job(tmp_path / "model.zskl", tmp_path / out, shards.Options(top=2))
        with records.opened(tmp_path / out, shards.FILE) as folder:
            outcomes = dict(shards.run(job, found, runner, folder, lambda place: None, lambda place, state: None))
        assert [outcomes[place] for place in range(4)] == [450, 449, 449, 449]
        assert "has 3 feature columns" in outcomes[4].sentence
        assert len(records.read(tmp_path / out / shards.FILE)) == 4
    for k in range(4):
        assert (tmp_path / "there" / f"{k}.npy.csv").read_bytes() == (tmp_path / "here" / f"{k}.npy.csv").read_bytes()


WORKERS = {"loky": "popen_loky", "dask": "spawn_main"}  # in the command lines of their processes


def test_a_killed_worker_costs_no_unit_and_doubles_none(digits, engine, tmp_path):
    psutil = pytest.importorskip("psutil", reason="comes with Dask")
    units = [Unit(method, seed, {"epochs": 3}) for method in ("gaussian", "gaussian-ort") for seed in range(5)]
    here = outcomes(pieces(digits, units))
    there, killed = {}, []
    with records.opened(tmp_path) as folder:
        for place, record in sweep.run(pieces(digits, units), engine, folder):
            assert place not in there
            if not killed:
                children = psutil.Process().children(recursive=True)
                killed = [child.pid for child in children if WORKERS[engine.name] in " ".join(child.cmdline())][:1]
                for worker in killed:
                    os.kill(worker, signal.SIGKILL)
            there[place] = record
    assert killed
    assert {place: timeless(one) for place, one in there.items()} == {place: timeless(here[place]) for place in here}
    assert sorted(one["key"] for one in records.read(tmp_path / "records.jsonl")) == sorted(
        one["key"] for one in here.values()
    )


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


# Kills, interrupts, full disks ---------------------------------------------------------------------------------------


def command(folder, *more):
    sweeping = ["run", "digits", "--method", "gaussian", "--method", "gaussian-ort", "--seeds", "10"]
    return [sys.executable, "-m", "zskl", *sweeping, "--set", "epochs=2", "--out", str(folder), *more]


def start(folder, *more):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_COLOR": "1"}
    return subprocess.Popen(
        command(folder, *more),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lines(folder):
    file = Path(folder) / "records.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_for(folder, count, process):
    end = time.monotonic() + 60
    while lines(folder) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="kills a process group")
def test_kill_9_at_random_moments_loses_and_doubles_nothing(tmp_path):
    """Twenty units. Killed three times, each some units and some milliseconds after the last, here or in workers."""
    rng = random.Random(4)
    for moment, more in enumerate([(), ("--workers", "2"), ()]):
        process = start(tmp_path, *more)
        wait_for(tmp_path, lines(tmp_path) + rng.randint(1, 4), process)
        time.sleep(rng.uniform(0, 0.05))
        assert process.poll() is None, f"the sweep was over before kill {moment}"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert 0 < lines(tmp_path) < 20
    before = lines(tmp_path)
    with (tmp_path / "records.jsonl").open("ab") as file:
        file.write(b'{"key": "torn by a pow')  # what a power cut may leave, a kill does not
    process = start(tmp_path, "--workers", "2")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert f"{before} of 20 units were done before" in out
    found = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert len(found) == 20
    assert len({one["key"] for one in found}) == 20
    assert sorted((one["method"], one["seed"]) for one in found) == [
        (method, seed) for method in ("gaussian", "gaussian-ort") for seed in range(10)
    ]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="interrupts a process group")
def test_an_interrupt_says_how_to_go_on(tmp_path):
    process = start(tmp_path, "--workers", "2")
    wait_for(tmp_path, 2, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"interrupted: {lines(tmp_path)} of 20 done; the same command continues" in err
    assert "Traceback" not in err
    assert "Warning" not in err


def test_a_full_disk_is_a_sentence_and_the_same_command_continues(tmp_path):
    process = start(tmp_path)
    wait_for(tmp_path, 1, process)
    size = (tmp_path / "records.jsonl").stat().st_size
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    room = int(3.5 * size)
    done = subprocess.run(
        command(tmp_path),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        check=False,
    )
    assert done.returncode == 2
    assert "cannot append to" in done.stderr
    assert "the same command continues" in done.stderr
    assert "Traceback" not in done.stderr
    content = (tmp_path / "records.jsonl").read_bytes()
    assert content.endswith(b"\n")
    assert 1 <= len(records.read(tmp_path / "records.jsonl")) < 20


def test_a_second_run_in_one_folder_is_refused(tmp_path):
    pytest.importorskip("fcntl", reason="no locks on this system")
    with (
        records.opened(tmp_path),
        pytest.raises(OSError, match=f"another run is writing to {tmp_path}"),
        records.opened(tmp_path),
    ):
        pass
    with records.opened(tmp_path) as folder:
        assert folder.done == {}
