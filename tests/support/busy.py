"""`make busy`: all tests several times in a row, each time in another order, while endless loops hold the processor.

A test that passes here does not depend on who is faster. The first failure ends the run and is shown.
Run it on its own: `python tests/support/busy.py --runs 3 --loops 8`; what follows `--` goes to pytest.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# It ends when its standard input does, so also when the process that started it is killed.
ENDLESS = """
import os, threading
threading.Thread(target=lambda: (os.read(0, 1), os._exit(0))).start()
while True:
    pass
"""


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """With that many endless loops beside."""
    started = [subprocess.Popen([sys.executable, "-c", ENDLESS], stdin=subprocess.PIPE) for _ in range(loops)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--loops", type=int, default=8)
    parser.add_argument("pytest", nargs="*", help="arguments of pytest")
    wanted = parser.parse_args()
    told = []
    with busy(wanted.loops):
        for run in range(1, wanted.runs + 1):
            environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": str(run)}
            command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", "-x", *wanted.pytest]
            began = time.monotonic()
            code = subprocess.run(command, env={**os.environ, **environment}, check=False).returncode
            told.append(f"run {run}: exit code {code} after {time.monotonic() - began:.0f} s, PYTHONHASHSEED={run}")
            sys.stdout.write(told[-1] + "\n")
            if code:
                break
    sys.stdout.write("\n".join([f"beside {wanted.loops} busy loops:", *told, ""]))
    sys.exit(code)


if __name__ == "__main__":
    main()
