"""The numerical tests under other arithmetic than this machine would choose: `make portable`.

Each variant is the same tests in processes of their own, told by environment variables to take other kernels of
OpenBLAS, NumPy and PyTorch, other numbers of threads, or no numba. A variant that this processor cannot run is named
with the reason. What runs is asked of the libraries themselves, never assumed from the variables.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
FOLDERS = ("baselines", "estimators", "selection", "signatures", "training")  # all of their tests are numerical
ELSEWHERE = ("paper", "serve")  # through processes, with numbers of the others
SAME = {"Prescott": "Katmai", "Zen": "Haswell"}  # kernels that OpenBLAS lists, and may share, under another name
NARROW = r"AVX512|X86_V4"  # what NumPy's builds call the sets of instructions: first AVX512, then AVX2 with its friends
NARROWEST = NARROW + r"|AVX2|FMA3|X86_V3"


@dataclass(frozen=True)
class Variant:
    core: str  # of OpenBLAS
    threads: int  # of OpenBLAS
    without: str = ""  # sets of instructions that NumPy must not use, as a regular expression
    numba: bool = True
    torch: str = ""  # the instructions of PyTorch's own loops; "": what it takes by itself

    @property
    def name(self) -> str:
        shown = f"{self.core} (listed as {SAME[self.core]})" if self.core in SAME else self.core
        parts = [f"OpenBLAS {shown}", f"{self.threads} thread{'s' * (self.threads > 1)}"]
        parts += {NARROW: ["NumPy without AVX512"], NARROWEST: ["NumPy without AVX2"]}.get(self.without, [])
        parts += [f"PyTorch {self.torch}"] * bool(self.torch) + ["no numba"] * (not self.numba)
        return ", ".join(parts)

    def environment(self) -> dict[str, str]:
        chosen = {"OPENBLAS_NUM_THREADS": str(self.threads), "OMP_NUM_THREADS": str(self.threads)}
        chosen["OPENBLAS_CORETYPE"] = self.core
        if self.without:
            chosen["NPY_DISABLE_CPU_FEATURES"] = ",".join(disabled(self.without))
        if self.torch:
            chosen["ATEN_CPU_CAPABILITY"] = self.torch
        return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *path()]), **chosen}


VARIANTS = [
    Variant("Prescott", 1, NARROWEST, numba=False, torch="default"),
    Variant("Nehalem", 2, NARROWEST, torch="avx2"),
    Variant("Haswell", 1, NARROW, numba=False),
    Variant("Haswell", 2),
    Variant("Zen", 1, NARROWEST),
    Variant("SkylakeX", 1),
    Variant("SkylakeX", 2, NARROW, numba=False),
]

PROBE = """
import importlib.util, json, sys
import numpy, scipy.linalg, threadpoolctl
for kind in ("float32", "float64"):
    A = numpy.random.default_rng(0).standard_normal((70, 70)).astype(kind)
    A @ A, A @ A.T, A @ A[0], A[0] @ A[0], numpy.linalg.solve(A, A[0]), scipy.linalg.svd(A), scipy.linalg.qr(A)
blas = [one for one in threadpoolctl.threadpool_info() if one["internal_api"] == "openblas"]
umath = numpy._core._multiarray_umath
json.dump({
    "cores": sorted({one["architecture"] for one in blas}),
    "threads": sorted({one["num_threads"] for one in blas}),
    "numpy": [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]],
    "torch": importlib.util.find_spec("torch") is not None,
    "numba": importlib.util.find_spec("numba") is not None,
}, sys.stdout)
"""


def path() -> list[str]:
    return [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]


def probe(environment: dict[str, str]) -> dict:
    """What the libraries say they use in such a process; raises OSError with the reason where it cannot run."""
    ended = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=False)
    if ended.returncode == -signal.SIGILL:
        raise OSError("this processor lacks the instructions")
    if ended.returncode:
        raise OSError(f"a first matrix product ended with {ended.returncode}: {ended.stderr.strip()[-200:]}")
    return json.loads(ended.stdout)


HERE = probe(dict(os.environ)) if __name__ == "__main__" else {}


def disabled(pattern: str) -> list[str]:
    return [name for name in HERE["numpy"] if re.match(pattern, name)]


def impossible(variant: Variant) -> str | None:
    """Why a variant would not be what its name says, or None."""
    if not HERE["cores"]:
        return "NumPy is not linked to OpenBLAS here"
    try:
        found = probe(variant.environment())
    except OSError as reason:
        return str(reason)
    if found["cores"] not in ([variant.core], [SAME.get(variant.core)]):
        return f"OpenBLAS took {', '.join(found['cores'])} instead: it has no such kernels, or not for this processor"
    if found["threads"] != [variant.threads]:
        return f"OpenBLAS took {found['threads']} threads"
    left = [name for name in found["numpy"] if variant.without and re.match(variant.without, name)]
    return f"NumPy still uses {', '.join(left)}" if left else None


def numerical_tests() -> list[Path]:
    """Folders, and files outside of them that use the table of tolerances."""
    files = [file for file in sorted(TESTS.rglob("test_*.py")) if "from tolerances import" in file.read_text("utf-8")]
    apart = [file for file in files if file.relative_to(TESTS).parts[0] not in FOLDERS + ELSEWHERE]
    return [TESTS / name for name in FOLDERS] + apart


def run(variant: Variant, arguments: list[str]) -> tuple[bool, str]:
    """(whether all passed, a line about it); what failed is printed."""
    command = [sys.executable, "-m", "pytest", *map(str, numerical_tests()), *arguments, "-p", "no:cacheprovider"]
    command += [] if variant.numba else ["-p", "without_numba"]
    start = time.monotonic()
    ended = subprocess.run(
        command, env=variant.environment(), cwd=TESTS.parent, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - start
    if ended.returncode:
        print(ended.stdout[-20000:], ended.stderr[-2000:], sep="\n")
    counted = re.findall(r"\d+ (?:passed|failed|skipped|errors?|xfailed)", (ended.stdout.splitlines() or [""])[-1])
    return ended.returncode == 0, f"{', '.join(counted) or f'ended with {ended.returncode}'} in {seconds:.0f} s"


def main(arguments: list[str]) -> int:
    cores, extras = (", ".join(HERE[name]) or "none" for name in ("cores", "numpy"))
    print(f"Chosen by itself: OpenBLAS {cores}; NumPy beyond its baseline: {extras}", flush=True)
    if not HERE["numba"]:
        print("numba is not installed (extra 'fast'): no variant has it")
    lines, good = [], True
    for variant in VARIANTS:
        reason = impossible(variant)
        passed, line = (True, f"not run: {reason}") if reason else run(variant, arguments)
        good = good and passed
        lines.append(f"{'  ' if reason else 'ok' if passed else 'NO'}  {variant.name}: {line}")
        print(lines[-1], flush=True)
    print("\nVariants:", *lines, sep="\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
