"""Engines: every task is done exactly once, even if a worker dies, with the same answers as in this process."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import held
from small_search import timeless
from tolerances import FIT, assert_close
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier, datasets, engines
from zskl.batch import predict
from zskl.engines import Engine, each
from zskl.experiments import run_folder, sweep
from zskl.experiments.record import Record
from zskl.experiments.sweep import DatasetSource, Failure, SweepTask
from zskl.experiments.unit import Unit

pytestmark = pytest.mark.xdist_group("engines")  # workers, once started, serve all tests here
LOKY = Engine(workers=2)


@pytest.fixture(autouse=True)
def bounded():
    """No test here waits for ever, even if an engine hangs."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_):
        raise TimeoutError("more than 600 seconds")

    usual = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(600)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, usual)


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("distributed", reason="Dask is not installed")
    with engines.opened(Engine("dask", workers=2)) as engine:
        yield engine


@pytest.fixture(scope="module")
def ray():
    pytest.importorskip("ray", reason="Ray is not installed")
    with engines.opened(Engine("ray", workers=2)) as engine:
        yield engine


@pytest.fixture(params=["loky", "dask", "ray"])
def engine(request):
    """Every engine with two workers; those of Dask and Ray serve all tests here."""
    return LOKY if request.param == "loky" else request.getfixturevalue(request.param)


def material(folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"weight": rng.normal(size=7)}, index=list("abcdefg"))
    return rng.normal(size=(40, 500)), table, str(folder)


def test_in_this_process_in_order_without_an_engine(tmp_path):
    (tmp_path / "go").touch()
    told = []
    found = list(each(held.work, range(5), material(tmp_path), None, told.append))
    assert [position for position, _ in found] == told == [0, 1, 2, 3, 4]
    assert held.pids(tmp_path) == [os.getpid()]
    assert list(each(held.work, [], material(tmp_path))) == []


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process")
def test_after_a_killed_worker_every_task_is_done_exactly_once(engine, tmp_path):
    assert engines.slots(engine) == 2
    told, found = [], []
    for position, value in each(held.work, range(6), material(tmp_path), engine, told.append):
        if not found:  # the first task waits
            held.wait_until(lambda: held.pids(tmp_path), "a worker has the first task")
            (worker,) = held.pids(tmp_path)
            assert worker != os.getpid()
            os.kill(worker, signal.SIGKILL)
            (tmp_path / "go").touch()
        found.append((position, value))
    assert len(held.pids(tmp_path)) > 1  # another worker got it
    here = dict(each(held.work, range(6), material(tmp_path)))
    assert sorted(position for position, _ in found) == list(here)
    assert dict(found) == here
    assert set(told) == set(here)


def test_a_task_that_is_done_before_its_turn_is_told_too():
    from zskl.engines import SubmittedTasks

    told = []
    handed = SubmittedTasks(range(6), 2, told.append)
    assert told == [0, 1]
    for position in (4, 5, 0):  # then the workers are lost
        handed.finish(position)
    assert told == [0, 1, 4, 5, 2]


def test_on_windows_workers_leave_ctrl_c_to_the_process_that_started_them(monkeypatch):
    monkeypatch.setattr(engines, "os", SimpleNamespace(name="nt"))
    before = signal.getsignal(signal.SIGINT)
    try:
        engines.watch_parent(1)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_loky_shares_arrays_through_a_file():
    shared = (np.ones((100, 100)), pd.DataFrame({"a": [1.0]}))
    assert dict(each(held.size_of_task, range(3), shared, LOKY)) == dict.fromkeys(range(3), ("memmap", 10000.0))


def test_workers_times_threads_is_at_most_the_cores(engine):
    import joblib

    most = 1 if engine.name == "dask" else max(1, joblib.cpu_count() // 2)
    assert all(found <= most for _, found in each(held.threads, range(2), None, engine))


def test_an_exception_keeps_its_type_and_message(engine):
    for runner in (None, engine):
        with pytest.raises(ArithmeticError, match=r"^unit 3 has no answer$"):
            list(each(held.fails, range(6), None, runner))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process")
def test_a_task_that_kills_every_worker_ends_with_a_clear_error(monkeypatch):
    monkeypatch.setattr(engines, "DEATHS", 0)
    with pytest.raises(RuntimeError, match=r"died in a row without finishing a task.*more memory"):
        list(each(held.dies, range(3), None, LOKY))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "lokky"}, "did you mean 'loky'"),
        ({"name": "spark"}, "engine is 'spark': expected one of loky, dask, ray"),
        ({"workers": 0}, "workers is 0"),
        ({"address": "tcp://127.0.0.1:1"}, "expected engine 'dask'"),
        ({"name": "dask", "address": "tcp://127.0.0.1:1", "workers": 2}, "leave one of the two out"),
    ],
)
def test_a_wrong_engine_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Engine(**arguments)


def test_an_engine_that_is_not_installed_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'zskl\[dask\]'"):
        list(each(held.fails, range(2), None, Engine("dask", workers=2)))


# What runs on them


@pytest.mark.parametrize("engine", ["loky", "dask"], indirect=True)  # importing all for Ray too takes seconds
def test_records_are_equal_on_every_engine(engine, tmp_path):
    digits, quick = datasets.load("digits"), {"epochs": 1}
    wild = {"learning_rate": 9.0, "incoherence_weight": 0.0, **quick}
    units = [Unit("gaussian", 0, quick), Unit("gaussian-ort", 0, quick, calibrate=True), Unit("polynomial-6", 0, wild)]
    pieces = [SweepTask(DatasetSource("digits"), digits, unit) for unit in units]
    here = dict(sweep.run_sweep(pieces))
    with run_folder.open_run_folder(tmp_path, Record.from_json) as folder:
        there = dict(sweep.run_sweep(pieces, engine, folder))
    assert [timeless(there[place]) for place in (0, 1)] == [timeless(here[place]) for place in (0, 1)]
    assert isinstance(here[2], Failure)
    assert there[2] == here[2]
    assert sorted(one["key"] for one in run_folder.read_log(tmp_path / "records.jsonl")) == sorted(
        piece.key for piece in pieces[:2]
    )


def test_sums_of_workers_are_merged(engine):
    digits, model = datasets.load("digits"), ClassMeansClassifier()
    X, y = digits.samples("trainval")
    parts = np.array_split(np.random.default_rng(0).permutation(len(y)), 4)
    found = [one for _, one in each(held.sums_of_rows, parts, (model, X, y), engine)]
    merged, whole = (
        model.fit_sums(sum(found[1:], found[0]), digits.signatures),
        ClassMeansClassifier(feature_scaling=model.feature_scaling_.name).fit(X, y, digits.signatures),
    )
    assert_close(merged.compatibility(X[:50]), whole.compatibility(X[:50]), FIT.single)


def test_shards_get_the_same_predictions_on_every_engine(engine, tmp_path):
    digits = datasets.load("digits")
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(digits.X, digits.y, digits.signatures)
    model.save(tmp_path / "model.zskl")
    (tmp_path / "shards").mkdir()
    for k in range(2):
        np.save(tmp_path / "shards" / f"{k}.npy", digits.X[k::2])
    np.save(tmp_path / "shards" / "bad.npy", digits.X[:, :3])
    found = dict(enumerate(predict.find_shards(tmp_path / "shards")))
    for out, runner in (("here", None), ("there", engine)):
        job = predict.plan_job(tmp_path / "model.zskl", tmp_path / out, predict.Options(top=2))
        with run_folder.open_log(tmp_path / out, predict.FILE) as folder:
            outcomes = dict(
                predict.predict_folder(job, found, runner, folder, lambda place: None, lambda place, state: None)
            )
        assert [outcomes[place] for place in range(2)] == [899, 898]
        assert "has 3 feature columns" in outcomes[2].sentence
        assert len(run_folder.read_log(tmp_path / out / predict.FILE)) == 2
    for k in range(2):
        assert (tmp_path / "there" / f"{k}.npy.csv").read_bytes() == (tmp_path / "here" / f"{k}.npy.csv").read_bytes()


# Addresses of Dask


def test_an_address_where_nobody_listens_is_refused_at_once(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("Dask was asked, and would go on trying"))
    with socket.socket() as silent:  # bound, but nobody listens
        silent.bind(("127.0.0.1", 0))
        for address in (f"tcp://127.0.0.1:{silent.getsockname()[1]}", "nonsense"):
            with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}'.*dask scheduler"):
                list(each(held.fails, range(2), None, Engine("dask", address)))


def test_a_dask_scheduler_without_workers_is_reported(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(engines, "FIRST_WORKER", 0.1)  # none ever comes
    with distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        engine = Engine("dask", cluster.scheduler_address)
        with pytest.raises(ConnectionError, match=r"has no workers: start one with: dask worker tcp://127"):
            list(each(held.fails, range(2), None, engine))


def test_data_are_sent_again_if_a_worker_dies_before_it_gets_them(dask, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    usual, asked = distributed.Client.scatter, []

    def scatter(self, *arguments, **named):
        asked.append(arguments)
        if len(asked) == 1:
            raise distributed.comm.CommClosedError("a worker has died")
        return usual(self, *arguments, **named)

    monkeypatch.setattr(distributed.Client, "scatter", scatter)
    assert dict(each(held.size_of_task, range(2), (np.ones(3),), dask)) == dict.fromkeys(range(2), ("ndarray", 3.0))
    assert len(asked) == 2


def test_threads_hear_their_own_remarks_and_leave_the_logger_as_it_was():
    logger = logging.getLogger(engines.LIBRARY)
    before, meet, found = logger.propagate, threading.Barrier(3), {}

    def work(_, task):
        meet.wait()
        logging.getLogger("zskl.selection").warning("task %d", task)
        meet.wait()

    def run(task):
        _, found[task] = engines.call_and_capture(work, None, task)

    threads = [threading.Thread(target=run, args=(task,)) for task in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {task: [one.text for one in said] for task, said in found.items()} == {k: [f"task {k}"] for k in range(3)}
    assert logger.propagate is before
