"""Records → the commands that make them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from zskl.experiments.record import Record


def run_commands(found: Sequence[Record], out: str | None = None) -> list[str]:
    """One `zskl run` per dataset and way of choosing, with all its methods; seeds count from 0."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in found:
        groups.setdefault((record.dataset, record.features, *_options(record)), []).append(record)
    lines = []
    for (dataset, features, *options), mine in groups.items():
        methods = list(dict.fromkeys(record.method for record in mine))
        seeds = 1 + max(record.seed for record in mine)
        words = ["zskl", "run", dataset, *(word for name in methods for word in ("--method", name)), *options]
        words += ["--seeds", str(seeds)] if seeds > 1 else []
        words += ["--features", features] if features else []
        lines.append(shlex.join([*words, *(["--out", out] if out else [])]))
    return lines


def report_command(runs: Sequence[str]) -> str:
    return shlex.join(["zskl", "report", *(runs or ["runs"]), "-o", "report.html"])


def compare_command(runs: Sequence[str]) -> str:
    return shlex.join(["zskl", "compare", *(runs or ["runs"])])


def _options(record: Record) -> list[str]:
    words = []
    for name, value in record.settings.items():
        words += ["--set", f"{name}={_value(value)}"]
    scoring, calibrated = record.tune.scoring, record.gzsl_calibrated is not None
    if scoring:
        words.append("--tune")
    if calibrated:
        words.append("--calibrate")
    implied = "both" if calibrated else "zsl"
    if scoring and scoring != implied:
        words += ["--scoring", scoring]
    for taught in record.taught or ():
        words += ["--shots", str(taught.shots)]
    for adapted in record.adapted or ():
        words += ["--unlabelled", adapted.unlabelled]
    return words


def _value(value: object) -> str:
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)
