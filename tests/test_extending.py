"""A kernel and a baseline that are added as docs/extending.md says are covered by the tests that are there."""

import re
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def run_tests(words, *files):
    """How many tests of the added class pass in a process where the page has been followed; all must."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "extending", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["-k", words, *(str(TESTS / file) for file in files)]
    ended = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-5000:]
    return int(re.search(r"(\d+) passed", ended.stdout)[1])


def test_an_added_kernel_passes_the_checks_of_every_kernel():
    files = "test_kernels.py", "training/test_objective.py", "training/test_cpu_step.py"
    assert run_tests("laplacian", *files) > 100


def test_an_added_baseline_passes_the_checks_of_every_baseline():
    files = "baselines/test_all_baselines.py", "test_methods.py", "estimators/test_inputs.py"
    assert run_tests("(ridge or Ridge) and not page", *files) > 60
