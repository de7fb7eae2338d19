"""Engines: every task exactly once, whatever dies; the same answers as in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from zskl import engines
from zskl.engines import Engine, each

LOKY = Engine(workers=2)
PATHS = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])  # where new processes find this module


@pytest.fixture(autouse=True)
def bounded():
    """No test here waits for ever, whatever an engine does. Processes started here heed Ctrl-C, also where this one was
    started deaf to it, as a shell's background job is."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    hearing = signal.signal(signal.SIGINT, signal.default_int_handler)

    def give_up(*_):
        raise TimeoutError("more than 150 seconds")

    usual = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(150)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, usual)
    signal.signal(signal.SIGINT, hearing)


THEIRS = pytest.mark.flaky(reruns=2, reruns_delay=2)  # a cluster of theirs that does not start or answer in time


def work(shared, task):
    """A unit: a sum that depends on shared arrays, leaving a trace of where it ran."""
    X, table, folder, pause = shared
    time.sleep(pause)
    (Path(folder) / f"{task}-{os.getpid()}").touch()
    return float((X[task % len(X)] * np.arange(X.shape[1])).sum() + table["weight"].iloc[task % len(table)])


def fails(shared, task):
    if task == 3:
        raise ArithmeticError(f"unit {task} has no answer")
    return task


def dies(shared, task):
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def threads(shared, task):
    from threadpoolctl import threadpool_info

    np.ones((4, 4)) @ np.ones((4, 4))
    return max(pool["num_threads"] for pool in threadpool_info())


def size_of_task(shared, task):
    return type(shared[0]).__name__, float(shared[0].sum())


def material(tmp_path, pause=0.0):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"weight": rng.normal(size=7)}, index=list("abcdefg"))
    return rng.normal(size=(40, 5000)), table, str(tmp_path), pause


def test_in_this_process_in_order_without_an_engine(tmp_path):
    told = []
    found = list(each(work, range(5), material(tmp_path), None, told.append))
    assert [place for place, _ in found] == told == [0, 1, 2, 3, 4]
    assert {path.name.split("-")[1] for path in tmp_path.iterdir()} == {str(os.getpid())}
    assert list(each(work, [], material(tmp_path))) == []


def run_and_kill(engine, tmp_path, tasks=12):
    """A sweep during which a worker is killed as soon as it has finished something; (found, told, killed)."""
    told, killed = [], []
    found = []
    for place, value in each(work, range(tasks), material(tmp_path, 0.15), engine, told.append):
        found.append((place, value))
        if not killed:
            worker = int(next(tmp_path.iterdir()).name.split("-")[1])
            assert worker != os.getpid()
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)
    return found, told, killed


def check_once(found, told, tmp_path):
    local = dict(each(work, range(len(found)), material(tmp_path)))
    assert sorted(place for place, _ in found) == list(range(len(local)))
    assert dict(found) == local
    assert set(told) == set(local)


def test_loky_survives_a_killed_worker(tmp_path):
    found, told, killed = run_and_kill(LOKY, tmp_path)
    assert killed
    check_once(found, told, tmp_path)


def test_loky_shares_arrays_through_a_file():
    shared = (np.ones((100, 100)), pd.DataFrame({"a": [1.0]}))
    assert dict(each(size_of_task, range(3), shared, LOKY)) == dict.fromkeys(range(3), ("memmap", 10000.0))


def test_workers_times_threads_is_at_most_the_cores():
    import joblib

    for _, found in each(threads, range(2), None, LOKY):
        assert found <= max(1, joblib.cpu_count() // 2)


@pytest.mark.parametrize("engine", [None, LOKY], ids=["here", "loky"])
def test_an_exception_keeps_its_type_and_message(engine):
    with pytest.raises(ArithmeticError, match=r"^unit 3 has no answer$"):
        list(each(fails, range(6), None, engine))


def test_a_task_that_kills_every_worker_ends_in_a_sentence(monkeypatch):
    monkeypatch.setattr(engines.engine, "DEATHS", 1)
    with pytest.raises(RuntimeError, match=r"died in a row without finishing a task.*more memory"):
        list(each(dies, range(3), None, LOKY))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "lokky"}, "did you mean 'loky'"),
        ({"name": "ray"}, "engine='ray': expected one of loky, dask"),
        ({"workers": 0}, "workers=0"),
        ({"address": "tcp://127.0.0.1:1"}, "expected engine 'dask'"),
        ({"name": "dask", "address": "tcp://127.0.0.1:1", "workers": 2}, "both given"),
    ],
)
def test_a_mistaken_engine_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Engine(**arguments)


def test_an_engine_that_is_not_installed_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'zskl\[dask\]'"):
        list(each(fails, range(2), None, Engine("dask", workers=2)))


INTERRUPTED = """
import sys, test_engines
from zskl.engines import Engine, each
try:
    shared = test_engines.material(sys.argv[1], 0.5)
    for place, value in each(test_engines.work, range(40), shared, Engine(sys.argv[2], workers=2)):
        print(place, flush=True)
except KeyboardInterrupt:
    sys.exit(130)
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] not in "ZX"
    except OSError:
        return False


def interrupt(tmp_path, engine):
    """Ctrl-C during a sweep: the exit code, seconds until the end, and workers that live on."""
    environment = {**os.environ, "PYTHONPATH": PATHS}
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), engine]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    process.stdout.readline()  # the sweep is on
    workers = {int(path.name.split("-")[1]) for path in tmp_path.iterdir()}
    os.killpg(process.pid, signal.SIGINT)
    began = time.monotonic()
    code = process.wait(timeout=30)
    process.stdout.close()
    took = time.monotonic() - began
    while any(map(alive, workers)) and time.monotonic() - began < 20:
        time.sleep(0.1)
    return code, took, [pid for pid in workers if alive(pid)]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for workers in /proc")
@pytest.mark.parametrize("name", ["loky", "dask"])
def test_an_interrupt_ends_promptly_and_leaves_no_worker(name, tmp_path):
    if name == "dask":
        pytest.importorskip("distributed", reason="Dask is not installed")
    code, took, left = interrupt(tmp_path, name)
    assert (code, left) == (130, [])
    assert took < 20


# Dask ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask():
    pytest.importorskip("distributed", reason="Dask is not installed")
    with engines.opened(Engine("dask", workers=2)) as engine:
        yield engine


@THEIRS
def test_dask_survives_a_killed_worker(dask, tmp_path):
    assert engines.slots(dask) == 2
    found, told, killed = run_and_kill(dask, tmp_path)
    assert killed
    check_once(found, told, tmp_path)


@THEIRS
def test_dask_keeps_exceptions_and_limits_threads(dask):
    with pytest.raises(ArithmeticError, match=r"^unit 3 has no answer$"):
        list(each(fails, range(6), None, dask))
    assert {found for _, found in each(threads, range(2), None, dask)} == {1}


@THEIRS
def test_dask_addresses_that_do_not_answer(monkeypatch):
    pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(engines.engine, "PATIENCE", 0.5)
    for address in ("tcp://127.0.0.1:1", "nonsense"):
        with pytest.raises(ConnectionError, match=f"no Dask scheduler answers at '{address}'.*dask scheduler"):
            list(each(fails, range(2), None, Engine("dask", address)))


@THEIRS
def test_a_dask_scheduler_without_workers_is_told(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    monkeypatch.setattr(engines.engine, "PATIENCE", 1.0)
    with distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        engine = Engine("dask", cluster.scheduler_address)
        with pytest.raises(ConnectionError, match=r"has no workers: start one with: dask worker tcp://127"):
            list(each(fails, range(2), None, engine))
