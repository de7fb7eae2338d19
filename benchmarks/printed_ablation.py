"""From the paper's algorithm as printed to the `gaussian-ort` of today, one change after the other, on CUB.

Run: python benchmarks/printed_ablation.py OUT --root DIR … [--device cuda] [--seeds 5] [--limit 400] [--lanes 5]
[--tf32]; needs the data. Without --root it only prints the table of benchmarks/results/paper/ablation.jsonl.

Every step keeps the changes of the steps above it. Its numbers are chosen on the validation folds by the first seed;
the others are trained with them. Records are appended to OUT/ablation.jsonl, one line for each step, feature file and
seed; the same command goes on after an interruption.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paper_seeds import Task, find_problems, run_tasks
from zskl.experiments.record import Record
from zskl.experiments.unit import Unit

RECORDS = Path(__file__).parent / "results" / "paper" / "ablation.jsonl"
SIGMA, EPOCHS = (0.57, 0.8, 1.13), (5, 7, 10)
PRINTED_RATE = {"learning_rate": (3e-4, 8e-4, 2e-3)}
PAPER, MEAN = {"repulsion": (0.5, 1.0, 2.0)}, {"repulsion": (1.0, 3.0, 10.0)}
CONSTANT_RATE = {"learning_rate": (3e-4, 1e-3)}
CENTRED = {"feature_scaling": ("center-l2",), "signature_scaling": ("center-l2",)}
ROOTS = {"feature_scaling": ("center-l2", "sqrt-center-l2"), "signature_scaling": ("center-l2", "sqrt-center-l2")}
BOUNDS = {"sigma": (0.05, 20.0), "repulsion": (1e-3, 300.0)}
START = {"balance": "paper", "init": "uniform", "second_moment": "per_sample", "schedule": "inverse-epochs"}
STEPS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Sequence[Any]]]] = {  # what is set, and what is chosen
    "as printed": (START, {**PAPER, **PRINTED_RATE, **CENTRED, "epochs": EPOCHS}),
    "balance: mean": ({**START, "balance": "mean"}, {**MEAN, **PRINTED_RATE, **CENTRED, "epochs": EPOCHS}),
    "start: polarised": (
        {"second_moment": "per_sample", "schedule": "inverse-epochs"},
        {**MEAN, **PRINTED_RATE, **CENTRED, "epochs": EPOCHS},
    ),
    "second moment: of the batch": (
        {"schedule": "inverse-epochs"},
        {**MEAN, **PRINTED_RATE, **CENTRED, "epochs": EPOCHS},
    ),
    "rate: constant": ({}, {**MEAN, **CONSTANT_RATE, **CENTRED, "epochs": EPOCHS}),
    "scaling: also roots": ({}, {**MEAN, **CONSTANT_RATE, **ROOTS, "epochs": EPOCHS}),
    "epochs: 2 to 16": ({}, {**MEAN, **CONSTANT_RATE, **ROOTS, "epochs": (2, 4, 8, 16)}),
    "loss: softmax": (
        {"loss": "softmax"},
        {"temperature": (0.05, 0.1), "learning_rate": (1e-4, 3e-4), **ROOTS, "epochs": (2, 4, 8, 16)},
    ),
}


def tasks(problems: Sequence[tuple[str, str, str]], seeds: int, device: str | None) -> list[Task]:
    found = []
    for seed in range(seeds):
        for label, (settings, choices) in STEPS.items():
            grid = {"sigma": SIGMA, **choices}
            unit = Unit("gaussian-ort", seed, settings, device, tune=True, scoring="both", fixed_grid=grid)
            found += [Task(*problem, unit, label) for problem in problems]
    return found


def line(task: Task, record: Record) -> dict[str, Any]:
    calibrated = record.gzsl_calibrated
    return {
        "step": task.label,
        "features": task.features,
        "seed": task.unit.seed,
        "zero-shot": record.zsl.accuracy,
        "H": record.gzsl.harmonic,
        "calibrated H": None if calibrated is None else calibrated.harmonic,
        "tune": record.to_json()["tune"],
        "versions": dict(record.versions),
        "finished": record.finished,
    }


def table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Means over seeds in per cent, ± the standard deviation of one seed, and what each step brings in zero-shot."""
    found = []
    for features in dict.fromkeys(one["features"] for one in lines):
        found += [
            f"{features}:",
            "",
            "| step | seeds | zero-shot | change | H | calibrated H |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        before = None
        for step in STEPS:
            mine = [one for one in lines if one["features"] == features and one["step"] == step]
            if not mine:
                continue
            columns = [np.array([100 * one[name] for one in mine]) for name in ("zero-shot", "H", "calibrated H")]
            shown = [f"{values.mean():.1f} ± {values.std(ddof=1) if len(values) > 1 else 0:.1f}" for values in columns]
            change = "" if before is None else f"{columns[0].mean() - before:+.1f}"
            before = columns[0].mean()
            found.append(f"| {step} | {len(mine)} | {shown[0]} | {change} | {shown[1]} | {shown[2]} |")
        found.append("")
    return "\n".join(found)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in file.read_text("utf-8").splitlines()] if file.is_file() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--root", type=Path, action="append", default=[])
    parser.add_argument("--features", action="append", default=["efficientnet_lite2", "resnet50"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1e9)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--tf32", action="store_true")
    chosen = parser.parse_args()
    if not chosen.root or chosen.out is None:
        print(table(read(RECORDS)))
        return
    file = chosen.out / "ablation.jsonl"
    chosen.out.mkdir(parents=True, exist_ok=True)
    done = {(one["step"], one["features"], one["seed"]) for one in read(file)}
    problems = find_problems(chosen.root, chosen.features)
    # A first seed that is done already is made again where others are left: they need what it chose.
    planned = tasks(problems, chosen.seeds, chosen.device)
    wanted = {task.family for task in planned if (task.label, task.features, task.unit.seed) not in done}

    def keep(task: Task, record: Record) -> None:
        if (task.label, task.features, task.unit.seed) not in done:
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(line(task, record), ensure_ascii=False) + "\n")

    left = [task for task in planned if (task.label, task.features, task.unit.seed) not in done]
    again = [task for task in planned if task.unit.seed == 0 and task not in left and task.family in wanted]
    options = {"limit": chosen.limit, "tf32": chosen.tf32}
    run_tasks([*again, *left], keep, lanes=chosen.lanes if chosen.device else 0, cores=chosen.cores, **options)
    print(table(read(file)))


if __name__ == "__main__":
    main()
