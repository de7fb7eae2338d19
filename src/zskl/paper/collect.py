"""Records from folders and files, those of other folders merged in, and what of them a set of tables takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zskl import files as storage
from zskl.experiments import jsonl_log
from zskl.experiments.jsonl_log import Folder
from zskl.paper.methods import PARTS
from zskl.paper.results import Problem, Record, Results

CURVES = "curves"  # the folder of what is no evaluation, so that `zskl compare` and `zskl report` read the rest
TIMES = "times.json"
NEEDED = {"sensitivity": ("curves", "setting"), "convergence": ("phases", "setting", "epochs")}  # by part
DROPPED = {
    "curve",
    "per_class",
    "left_out",
    "coverage",
    "mistaken",
    "attributes",
    "convergence",
    "table",
    "probabilities",
}


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Records of both kinds, of a folder that this command or `zskl run --out` wrote, or of a .jsonl file."""
    files = [path] if not path.is_dir() else [path / jsonl_log.FILE, path / CURVES / jsonl_log.FILE]
    there = [file for file in files if file.is_file()]
    if not there:
        raise FileNotFoundError(
            f"no records at {path}: expected a folder that zskl paper --out or zskl run --out wrote, or a .jsonl file"
        )
    for file in there:
        for number, record in enumerate(jsonl_log.read(file), start=1):
            needed = {"key", "dataset", "method", "seed", *NEEDED.get(str(record.get("part")), ())}
            if not needed <= set(record):
                raise ValueError(f"{file}, line {number} is no record of a run: expected what zskl paper writes")
            yield record


def merge(paths: Iterable[Path], runs: Folder, curves: Folder, compact: bool = False) -> int:
    """Append what the folders do not hold, or hold otherwise; how many records that were."""
    count = 0
    for path in paths:
        for record in read(path):
            ready = slim(record) if compact else record
            target = curves if "part" in record else runs
            if target.done.get(str(record["key"])) != ready:
                target.append(ready)
                count += 1
    return count


def slim(value: Any) -> Any:
    """Without what no table or figure of the evaluation shows: curves, single classes, the scores of whole grids."""
    if not isinstance(value, Mapping):
        return value
    return {name: slim(one) for name, one in value.items() if name not in DROPPED}


def read_times(*folders: Path) -> list[dict[str, Any]]:
    """What stages took, in the order in which they ended; each once."""
    found: dict[str, dict[str, Any]] = {}
    for folder in folders:
        file = folder / TIMES
        try:
            entries = json.loads(file.read_text("utf-8")) if file.is_file() else []
        except ValueError:
            raise ValueError(
                f"{file} cannot be read: expected the wall times that zskl paper wrote; remove it"
            ) from None
        for entry in entries:
            found[json.dumps(entry, sort_keys=True)] = entry
    return sorted(found.values(), key=lambda entry: str(entry["finished"]))


def write_times(folder: Path, times: Sequence[Mapping[str, Any]]) -> None:
    storage.write_atomically(folder / TIMES, (json.dumps(list(times), indent=1) + "\n").encode())


def recorded(found: Iterable[Record], dataset: str, features: str | None = None) -> list[Problem]:
    """The problems of a dataset that there are records of, by features where these are named."""
    problems: dict[Problem, None] = {}
    for record in found:
        problem = problem_of(record)
        wanted = features is None or problem.features.lower() == features.lower().removesuffix(".mat")
        if problem.dataset.lower() == dataset.lower() and wanted:
            problems[problem] = None
    return list(problems)


def problem_of(record: Record) -> Problem:
    dataset, features, fingerprint, digest = (
        str(record.get(name) or "") for name in ("dataset", "features", "fingerprint", "features_digest")
    )
    return Problem(dataset, features, fingerprint, digest)


def select(
    problems: Sequence[Problem],
    methods: Sequence[str],
    seeds: int,
    runs: Iterable[Record],
    curves: Iterable[Record],
    times: Sequence[Mapping[str, Any]] = (),
) -> Results:
    """Of the runs those that chose by both scorings from the default grid; of several for one seed the last.

    Records of one method and problem that were made with another grid, or around another setting, than its last
    one are left out: they are of another experiment.
    """
    evaluations = [record for record in runs if _default(record)]
    others = list(curves)
    by_part = {
        part: _sorted(
            [record for record in others if record["part"] == part],
            problems,
            [method for method in PARTS[part] if method in methods],
            seeds,
            "setting",
        )
        for part in ("sensitivity", "convergence")
    }
    chosen = _sorted(evaluations, problems, methods, seeds, "grid")
    return Results(
        tuple(problems), tuple(methods), chosen, by_part["sensitivity"], by_part["convergence"], tuple(times)
    )


def _default(record: Record) -> bool:
    return record.get("tune", {}).get("scoring") == "both" and not record.get("settings")


def _sorted(
    found: Sequence[Record], problems: Sequence[Problem], methods: Sequence[str], seeds: int, alike: str
) -> dict[tuple[Problem, str], list[Record]]:
    groups: dict[tuple[Problem, str], dict[int, Record]] = {}
    wanted = set(problems)
    for record in found:
        problem, seed = problem_of(record), int(record["seed"])
        if problem in wanted and record["method"] in methods and seed < seeds:
            group = groups.setdefault((problem, str(record["method"])), {})
            for other in [s for s, one in group.items() if _trait(one, alike) != _trait(record, alike)]:
                del group[other]
            group[seed] = record
    order = [(problem, method) for problem in problems for method in methods]
    return {place: [groups[place][seed] for seed in sorted(groups[place])] for place in order if place in groups}


def _trait(record: Record, alike: str) -> Any:
    return record.get("tune", {}).get("grid") if alike == "grid" else record[alike]
