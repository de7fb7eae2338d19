"""Work that waits at a known point until a test lets it go on, so that no test depends on who is faster.

`held.started(folder, "run", ...)` is the command line with units and shards that wait: each leaves a file
PLACE-PID in the folder that ZSKL_TEST_HELD names, and goes on when that folder has a file `go`.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from zskl import experiment, shards

LIMIT = 300  # seconds; nothing but a fault takes as long, on a busy machine either
FOLDER = "ZSKL_TEST_HELD"
PATHS = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])  # where new processes find this module


def wait_until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {LIMIT} seconds: {what}")
        time.sleep(0.02)


def hold(folder, place):
    """Stay here until the test says go."""
    (Path(folder) / f"{place}-{os.getpid()}").touch()
    wait_until((Path(folder) / "go").exists, "the test says go")


def pids(folder):
    """Of those that wait or waited."""
    return sorted(int(path.name.rpartition("-")[2]) for path in Path(folder).glob("*-*"))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Unit(experiment.Unit):
    """Waits, but for the first two seeds."""

    def run(self, data, report=None, engine=None):
        if self.seed > 1:
            hold(os.environ[FOLDER], self.seed)
        return super().run(data, report, engine)


class Job(shards.Job):
    """Waits at shards whose names begin with "held"."""

    def predictor(self):
        return Predictor(super().predictor())


class Predictor:
    def __init__(self, usual):
        self.usual = usual

    def lines(self, path):
        for line in self.usual.lines(path):
            yield line  # the file of predictions has been begun
            if os.path.basename(path).startswith("held"):
                hold(os.environ[FOLDER], os.path.basename(path))


@contextmanager
def started(folder, *arguments, before="pass"):
    """The command line in a process of its own; `before` runs first there. Nothing of it outlives the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import held, signal; held.hear(); {before}; held.main()", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": PATHS, FOLDER: str(folder), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def hear():
    """Heed signals also where the tests run in the background or under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def main():
    experiment.Unit, shards.Job = Unit, Job
    from zskl.cli import main

    main()
