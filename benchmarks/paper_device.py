"""One call of a machine with a GPU: as many units of the paper's evaluation as fit into its time, in order of weight.

Run: python benchmarks/paper_device.py pack FOLDER --root DIR …        features without loss in two thirds of their size
     python benchmarks/paper_device.py run FOLDER OUT [--limit 370] [--lanes 3] [--cores 8] [--device cuda] [--tiny]
     [--done DIR …]

`run` unpacks the features, checks the fused kernels on the GPU in a process of its own (OUT/smoke.txt), and measures,
on CUB, five seeds of: the paper's kernels as printed, the way from the printed algorithm to today's, latem. On cores,
beside them: gfzsl, and further seeds of methods whose first seed is among the records. OUT/records.jsonl and
OUT/ablation.jsonl are written as units end. What the same files in the folders of --done hold is not measured again.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.io

import printed_ablation
from paper_seeds import Task, find_problems, plan, run_tasks, take_over
from zskl import datasets
from zskl.experiments import record, run_folder
from zskl.experiments.record import Record

FEATURES = ("resnet50", "efficientnet_lite2")
RADIAL = ("gaussian-ort-printed", "gaussian-printed", "cauchy-ort-printed", "cauchy-printed")
POLYNOMIAL = ("polynomial-2-printed", "polynomial-4-printed", "polynomial-6-printed")
SEEDED_ON_CORES = ("gaussian-ort", "gaussian", "cauchy-ort", "cauchy", "sje", "devise", "ale", "cmt", "cmt-star", "sse")
SEEDED_ON_GPU = ("polynomial-2", "polynomial-4", "polynomial-6", "gaussian-softmax", "cauchy-softmax", "cnzsl")
LOW = 3  # digits of a half that features of 16 bits with fewer digits leave empty
TINY = {"sigma": (0.8,), "repulsion": (1.0,), "bias": (1.0,), "learning_rate": (8e-4,), "epochs": (1,)}


def pack(folder: Path, roots: list[Path]) -> None:
    """Features that are numbers of 16 bits: exponents by bzip2, and the digits of what is not 0."""
    for name, features, root in find_problems(roots, FEATURES):
        data = datasets.load(name, root, features)
        half = np.ascontiguousarray(data.X.T.astype(np.float16))
        assert (half.T == data.X).all(), f"{features} needs more than 16 bits"
        here = folder / features / "data" / name
        here.mkdir(parents=True, exist_ok=True)
        for file in Path(root, "data", name).iterdir():
            if file.suffix == ".txt" or file.name.endswith("_splits.mat"):
                (here / file.name).write_bytes(file.read_bytes())
        original = scipy.io.loadmat(Path(root, "data", name, f"{features}.mat"))
        np.save(here / "labels.npy", original["labels"])
        found = half.view(np.uint16).ravel()
        mantissas = found[found > 0] & 1023
        raised = np.where(found > 0, 1 + (found >> 10), 0)
        bits = (mantissas[:, None] >> np.arange(LOW, 10, dtype=np.uint16)) & 1
        (here / f"{features}.json").write_text(json.dumps([list(half.shape), str(original["features"].dtype)]))
        (here / f"{features}.high").write_bytes(bz2.compress(raised.astype(np.uint8).tobytes()))
        (here / f"{features}.digits").write_bytes(np.packbits(bits.astype(np.uint8)).tobytes())
        (here / f"{features}.low").write_bytes(bz2.compress((mantissas & (2**LOW - 1)).astype(np.uint8).tobytes()))


def unpack(folder: Path, to: Path) -> None:
    def one(features: str) -> None:
        (here,) = (folder / features / "data").iterdir()
        there = to / features / "data" / here.name
        there.mkdir(parents=True, exist_ok=True)
        shape, kind = json.loads((here / f"{features}.json").read_text())
        with ThreadPoolExecutor(2) as pool:
            raised, low = pool.map(
                lambda part: np.frombuffer(bz2.decompress((here / f"{features}.{part}").read_bytes()), np.uint8),
                ("high", "low"),
            )
        bits = np.unpackbits(np.fromfile(here / f"{features}.digits", np.uint8), count=len(low) * (10 - LOW))
        mantissas = low.astype(np.uint16)
        for k in range(10 - LOW):
            mantissas |= bits[k :: 10 - LOW].astype(np.uint16) << (LOW + k)
        found = (np.maximum(raised, 1).astype(np.uint16) - 1) << 10
        found[raised > 0] |= mantissas
        half = found.view(np.float16).reshape(shape)
        labels = np.load(here / "labels.npy")
        scipy.io.savemat(there / f"{features}.mat", {"features": half.astype(kind), "labels": labels})
        for file in here.iterdir():
            if file.suffix == ".txt" or file.name.endswith("_splits.mat"):
                (there / file.name).write_bytes(file.read_bytes())

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, FEATURES))


def make_tasks(to: Path, device: str | None, seeds: int, tiny: bool) -> list[Task]:
    problems = {features: find_problems([to / features], [features]) for features in FEATURES}
    first, second = FEATURES
    both = [*problems[first], *problems[second]]
    ablation = {name: printed_ablation.tasks(mine, seeds, device) for name, mine in problems.items()}
    by_step = {
        name: sorted(tasks, key=lambda task: list(printed_ablation.STEPS).index(task.label))
        for name, tasks in ablation.items()
    }
    on_device = [
        *(task for mine in both for task in plan([mine], RADIAL, seeds, device)),
        *plan(problems[first], POLYNOMIAL, seeds, device),
        *by_step[first],
        *plan(problems[second], POLYNOMIAL, seeds, device),
        *by_step[second],
    ]
    lines = run_folder.read_records(printed_ablation.RECORDS.with_name("records.jsonl"), Record.from_json)
    firsts = {(line.dataset, line.features, line.method): line for line in lines if line.seed == 0}
    known = {(line.dataset, line.features, line.method, line.seed) for line in lines}

    def further(methods: tuple[str, ...], where: str | None) -> list[Task]:
        return [
            Task(name, features, root, take_over(firsts[name, features, method], seed, where))
            for method in methods
            for seed in range(1, seeds)
            for name, features, root in both
            if (name, features, method, seed) not in known and (name, features, method) in firsts
        ]

    on_device += further(SEEDED_ON_GPU, device)
    on_device += plan(problems[first], ["gaussian-ort-eq8"], seeds, device)
    # On a GPU, since all cores are taken.
    on_device += [replace(task, unit=replace(task.unit, device=device)) for task in plan(both, ["latem"], seeds, None)]
    found = [*on_device, *plan(both, ["gfzsl"], 1, None), *further(SEEDED_ON_CORES, None)]
    return [replace(task, unit=shrink(task)) for task in found] if tiny else found


def shrink(task: Task):  # type: ignore[no-untyped-def]
    """The unit with one value of each setting, and one epoch."""
    unit = task.unit
    grid = {name: TINY.get(name, tuple(values)[:1]) for name, values in (unit.fixed_grid or {}).items()}
    chosen = unit.chosen
    if chosen is not None:
        choices = {
            name: replace(one, setting={**one.setting, **({"epochs": 1} if "epochs" in one.setting else {})})
            for name, one in chosen.choices.items()
        }
        chosen = replace(chosen, choices=replace(chosen.choices, **choices))
    return replace(unit, fixed_grid=grid, chosen=chosen)


SMOKE = """
import torch
from zskl.training import _cuda, solver
torch.set_float32_matmul_precision("high")
torch.manual_seed(0)
K, n, d, p, C = 3, 10, 200, 70, 41
make = lambda *shape: torch.randn(shape, device="cuda")
X, U, Z, B, Y = make(n, d), make(K, n, p), make(K, d, C), make(K, n, C), make(C, p)
rows = [X[i][:, None] * U[:, i, None] + (Z * B[:, i, None]) @ Y for i in range(n)]
expected = 4 / n * sum(G * G for G in rows)
print("squares", float((_cuda.square_rows(X, U, Z, B, Y) - expected).abs().max() / expected.abs().max()))
W, V, G, S = make(K, d, p), make(K, d, p).abs(), make(K, d, p), make(K, d, p).abs()
rate = torch.tensor([0.1, 0.2, 0.3], device="cuda").reshape(-1, 1, 1)
w, v = W.clone(), V.clone()
_cuda.update_by_kernel(w, v, 0.9, 1e-6)(G.clone(), S, rate)
w0, v0 = W.clone(), V.clone()
solver._torch_update(w0, v0, 0.9, 1e-6)(G.clone(), S, rate)
print("update", float((w - w0).abs().max()), float((v - v0).abs().max()), torch.cuda.get_device_name())
"""


def share_gpu() -> bool:
    """Let kernels of several processes run side by side, by NVIDIA's service for it, where there is one that works."""
    if "CUDA_MPS_PIPE_DIRECTORY" in os.environ:
        return True
    tool = shutil.which("nvidia-cuda-mps-control")
    if tool is None:
        return False
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        os.environ[name] = tempfile.mkdtemp()
    trial = "import torch; a = torch.ones(64, 64, device='cuda'); assert (a @ a).sum() == 64**3"
    try:
        subprocess.run([tool, "-d"], check=True, timeout=15)
        subprocess.run([sys.executable, "-c", trial], check=True, timeout=40)
    except (OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run([tool], input=b"quit\n", check=False, timeout=10)
        del os.environ["CUDA_MPS_PIPE_DIRECTORY"], os.environ["CUDA_MPS_LOG_DIRECTORY"]
        return False
    return True


def read_done(folders: list[Path]) -> dict[tuple[str, str, str, str, int], Any]:
    """What earlier calls measured, by place; of the ablation only what was chosen."""
    found: dict[tuple[str, str, str, str, int], Any] = {}
    for folder in folders:
        for one in run_folder.read_records(folder / "records.jsonl", Record.from_json):
            found[one.dataset, one.features, one.method, "", one.seed] = one
        for line in printed_ablation.read(folder / "ablation.jsonl"):
            tune = record.from_json(record.Tuning, line["tune"])
            found["CUB", line["features"], "gaussian-ort", line["step"], line["seed"]] = SimpleNamespace(tune=tune)
    return found


def run(folder: Path, out: Path, chosen: argparse.Namespace) -> None:
    began = time.monotonic()
    os.environ.setdefault("ZSKL_CACHE", tempfile.mkdtemp())
    out.mkdir(parents=True, exist_ok=True)
    device = None if chosen.device == "cpu" else chosen.device
    to = folder / "unpacked"
    with ThreadPoolExecutor(1) as pool:
        shared = pool.submit(share_gpu) if device else None
        unpack(folder, to)
    print("processes share the GPU by MPS:", None if shared is None else shared.result(), file=sys.stderr)
    if device:
        with (out / "smoke.txt").open("w") as shown:
            subprocess.Popen([sys.executable, "-c", SMOKE], stdout=shown, stderr=subprocess.STDOUT)
    tasks, known = make_tasks(to, device, 2 if chosen.tiny else 5, chosen.tiny), read_done(chosen.done)
    done = [(task, known[place]) for task in tasks if (place := (*task.family, task.unit.seed)) in known]
    tasks = [task for task in tasks if (*task.family, task.unit.seed) not in known]
    print(f"{time.monotonic() - began:.1f} s: unpacked; {len(tasks)} units", file=sys.stderr)

    def keep(task: Task, found: Record) -> None:
        line = printed_ablation.line(task, found) if task.label else found.to_json()
        with (out / ("ablation.jsonl" if task.label else "records.jsonl")).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")

    run_tasks(
        tasks,
        keep,
        limit=chosen.limit - (time.monotonic() - began),
        lanes=chosen.lanes if device else 0,
        cores=chosen.cores,
        tf32=True,
        known=done,
        temperatures=False,
    )
    print(f"{time.monotonic() - began:.1f} s in all", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["pack", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--root", type=Path, action="append", default=[])
    parser.add_argument("--limit", type=float, default=370)
    parser.add_argument("--lanes", type=int, default=3)
    parser.add_argument("--done", type=Path, action="append", default=[])
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--tiny", action="store_true")
    chosen = parser.parse_args()
    if chosen.action == "pack":
        pack(chosen.folder, chosen.root)
    else:
        run(chosen.folder, chosen.out, chosen)


if __name__ == "__main__":
    main()
