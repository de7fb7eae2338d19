"""Work that waits at a known point until a test lets it go on, so that no test depends on who is faster.

Workers import this file to find their tasks, so it imports little.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

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
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def stopped(pid):
    """Whether a signal stopped it, which happens some time after that was sent. True where there is no /proc to ask."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "TZX"
    except OSError:
        return True


@contextmanager
def started(folder, *arguments, before="pass"):
    """The command line in a process of its own, where work waits (see held_command); `before` runs first there.
    Nothing of it outlives the block."""
    script = f"import held_command, signal; held_command.hear(); {before}; held_command.main()"
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": PATHS, FOLDER: str(folder), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        except BaseException:
            process.send_signal(signal.SIGABRT)  # it says where each of its threads is
            process.wait()
            raise
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if not process.stderr.closed:
                sys.stderr.write(process.stderr.read())


# Tasks for engines


def work(shared, task):
    """A sum that depends on shared arrays; the first task waits until the test says go."""
    X, table, folder = shared
    if task == 0:
        hold(folder, task)
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


def sums_of_rows(shared, rows):
    model, X, y = shared
    return model.sums(X[rows], y[rows])


def size_of_task(shared, task):
    return type(shared[0]).__name__, float(shared[0].sum())
