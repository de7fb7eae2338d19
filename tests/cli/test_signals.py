"""Runs that are ended from outside: no worker stays, nothing is lost or doubled, the same command continues.

Some of four units or shards are finished and every worker is at work on another when the signal comes.
"""

import importlib.util
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import held
from zskl import ZeroShotKernelClassifier, datasets
from zskl.cli import app

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for workers in /proc")
NEEDS_DASK = pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="Dask is not installed")
LOKY, DASK = ["--workers", "2"], ["--engine", "dask", "--workers", "2"]
ONE = ["--engine", "dask", "--workers", "1"]  # of the ends of a cluster only Ctrl-C comes to every worker
NAMES = ["a", "b", "held-c", "held-d"]
RECORDS = {"run": "records.jsonl", "predict": "predictions.jsonl"}
TERM, HUP, KILL, INT = (getattr(signal, f"SIG{name}", None) for name in ("TERM", "HUP", "KILL", "INT"))


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """The arguments of both commands, each with four pieces of work; files are in the working folder."""
    monkeypatch.chdir(tmp_path)
    digits = datasets.load("digits")
    model = ZeroShotKernelClassifier(epochs=1, random_state=0).fit(digits.X[:200], digits.y[:200], digits.signatures)
    model.save("model.zskl")
    for folder in ("held", "shards"):
        Path(folder).mkdir()
    for name in NAMES:
        np.save(f"shards/{name}.npy", digits.X[:20])
    run = ["run", "digits", "--method", "gaussian", "--seeds", "4", "--set", "epochs=1", "--out", "out"]
    return {"run": run, "predict": ["predict", "model.zskl", "shards", "--out", "out"]}


def recorded(command):
    """Whole lines of what is finished."""
    file = Path("out", RECORDS[command])
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def ended(process, command, working, how):
    """Its standard error, when it and all that hold its streams open are gone; `how` comes at the known point."""
    held.wait_until(
        lambda: process.poll() is not None or (recorded(command) and len(held.pids("held")) == working),
        "something is done and every worker is at work",
    )
    workers = held.pids("held")
    assert process.poll() is None, process.communicate()
    (os.killpg if how == INT else os.kill)(process.pid, how)  # Ctrl-C goes to all processes of a terminal
    _, errors = process.communicate(timeout=held.LIMIT)
    held.wait_until(lambda: not any(map(held.alive, workers)), "the workers end")
    assert not Path("held", "go").exists()
    return errors


def go_on(command, arguments):
    """The same command, in this process, does what is left."""
    Path("held", "go").touch()
    done = recorded(command)
    kept = {path: path.stat().st_mtime_ns for one in done if (path := Path("out", f"{one.get('shard')}.csv")).exists()}
    if command == "run":  # what a power cut may leave; a signal does not
        with Path("out", RECORDS[command]).open("ab") as file:
            file.write(b'{"key": "torn by a pow')
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"{len(done)} of 4" in result.output
    keys = [one["key"] for one in recorded(command)]
    assert len(set(keys)) == len(keys) == 4
    assert recorded(command)[: len(done)] == done
    if command == "predict":
        assert len(kept) == len(done)
        assert {path: path.stat().st_mtime_ns for path in kept} == kept
        assert len({path.read_text() for path in Path("out").glob("*.csv")}) == 1  # all shards hold the same rows
        assert sorted(os.listdir("out")) == [*(f"{name}.npy.csv" for name in NAMES), "predictions.jsonl"]


@pytest.mark.parametrize(  # each signal with each command and with each engine, if not all three
    ("command", "engine", "how"),
    [
        ("run", LOKY, TERM),
        ("run", LOKY, KILL),
        ("predict", LOKY, INT),
        ("predict", [], HUP),
        pytest.param("run", ONE, HUP, marks=NEEDS_DASK),
        pytest.param("run", DASK, INT, marks=NEEDS_DASK),
        pytest.param("predict", ONE, TERM, marks=NEEDS_DASK),
        pytest.param("predict", ONE, KILL, marks=NEEDS_DASK),
    ],
    ids=["run-loky-term", "run-loky-kill", "predict-loky-int", "predict-here-hup", "run-dask-hup",
         "run-dask-int", "predict-dask-term", "predict-dask-kill"],
)  # fmt: skip
def test_ended_command_leaves_no_worker_and_continues(commands, command, engine, how):
    with held.started("held", *commands[command], *engine) as process:
        errors = ended(process, command, int(engine[-1]) if engine else 1, how)
    if how == KILL:
        assert process.returncode == -KILL
    else:
        word = "interrupted" if how == INT else f"ended by {how.name}"
        assert process.returncode == 128 + how
        done = f"{len(recorded(command))} of 4 {'shards ' if command == 'predict' else ''}done"
        assert f"{word}: {done}; the same command continues" in errors
        assert "Traceback" not in errors
        assert "Warning" not in errors
    go_on(command, commands[command])


def test_nohup_survives_a_closed_terminal(commands):
    """Units run in this process here, one after the other: one is being worked on."""
    with held.started("held", *commands["run"], before="signal.signal(signal.SIGHUP, signal.SIG_IGN)") as process:
        held.wait_until(lambda: process.poll() is not None or held.pids("held"), "a unit is being worked on")
        os.kill(process.pid, HUP)
        assert "ended by SIGTERM: 2 of 4 done" in ended(process, "run", 1, TERM)
