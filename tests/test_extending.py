"""A kernel and a baseline that are added as docs/extending.md says are covered by the tests that are there."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
OF_KERNELS = ("test_kernels.py", "training/test_objective.py", "training/test_cpu_step.py")
OF_BASELINES = ("baselines/test_all_baselines.py", "test_methods.py", "estimators/test_inputs.py")
WORDS = "laplacian or ((ridge or Ridge) and not page)"


def test_an_added_kernel_and_baseline_pass_the_checks_of_all_others():
    """In one process where the page has been followed, since another would collect these files again."""
    command = [sys.executable, "-m", "pytest", "-v", "-p", "extending", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["-k", WORDS, *(str(TESTS / file) for file in (*OF_KERNELS, *OF_BASELINES))]
    ended = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-5000:]
    passed = Counter(re.findall(r"^tests/(\S+?)::\S.* PASSED", ended.stdout, re.MULTILINE))
    assert sum(passed[file] for file in OF_KERNELS) > 100
    assert sum(passed[file] for file in OF_BASELINES) > 60
