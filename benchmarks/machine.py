"""What a figure was measured on, and how records of measurements are kept: one JSON file per subject."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from zskl._files import write_atomically
from zskl.experiments import run_folder

RESULTS = Path(__file__).parent / "results"


def processor() -> str:
    """The processor's own name where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def describe() -> dict[str, Any]:
    found = {"processor": processor(), "cores": len(os.sched_getaffinity(0)), "system": platform.system()}
    versions = run_folder.package_versions()
    for package in ("numba", "scipy", "triton"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    try:
        import torch
    except ImportError:
        gpu = None
    else:
        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    load = os.getloadavg()[0]  # the runs of a benchmark itself count towards it
    return {**found, "gpu": gpu, "versions": versions, "date": datetime.now(UTC).date().isoformat(), "load": load}


def keep(name: str, figures: Any, folder: Path = RESULTS) -> Path:
    """Write the figures with the machine and versions to results/NAME.json, whole or not at all."""
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": describe(), "figures": figures}, indent=1, ensure_ascii=False)
    write_atomically(path, (text + "\n").encode())
    return path
