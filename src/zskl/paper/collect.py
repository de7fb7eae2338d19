"""Records from folders and files, those of other folders merged in, and what of them a set of tables takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from zskl.experiments import jsonl_log, run_folder
from zskl.experiments.answers import Answers
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Generalised, Probabilities
from zskl.experiments.run_folder import RunFolder
from zskl.paper import curve_records
from zskl.paper.curve_records import ConvergenceRecord, CurveRecord, SensitivityRecord
from zskl.paper.methods import PARTS
from zskl.paper.results import Identified, Problem, Results, problem_of

CURVES = "curves"  # the folder of what is not an evaluation, so that `zskl compare` and `zskl report` read the rest


class Run(Identified, Protocol):
    """A record of any kind, as far as it says what was run."""

    @property
    def method(self) -> str: ...

    @property
    def seed(self) -> int: ...


R = TypeVar("R", bound=Run)


def read(path: Path) -> Iterator[Record | CurveRecord]:
    """Records of both kinds, of a folder that this command or `zskl run --out` wrote, or of a .jsonl file."""
    files = [path] if not path.is_dir() else [path / jsonl_log.FILE, path / CURVES / jsonl_log.FILE]
    there = [file for file in files if file.is_file()]
    if not there:
        raise FileNotFoundError(
            f"no records at {path}: expected a folder that zskl paper --out or zskl run --out wrote, or a .jsonl file"
        )
    for file in there:
        yield from run_folder.read(file, _either)


def _either(line: object) -> Record | CurveRecord:
    """An evaluation, or a curve, which has a `part`."""
    curve = isinstance(line, Mapping) and "part" in line
    record = curve_records.from_json(line) if curve else Record.from_json(line)
    if not record.key:
        raise ValueError("`key` is missing: expected what zskl paper or zskl run writes")
    return record


def merge(paths: Iterable[Path], runs: RunFolder[Record], curves: RunFolder[CurveRecord], compact: bool = False) -> int:
    """Append what the folders do not hold, or hold otherwise; how many records that were."""
    count = 0
    for path in paths:
        for record in read(path):
            if isinstance(record, Record):
                count += _add(slim(record) if compact else record, runs)
            else:
                count += _add(record, curves)
    return count


S = TypeVar("S", bound=run_folder.Stored)


def _add(record: S, folder: RunFolder[S]) -> bool:
    if folder.done.get(record.key) == record:
        return False
    folder.append(record)
    return True


def slim(record: Record) -> Record:
    """Without what no table or figure of the evaluation shows: curves, single classes, the scores of whole grids.

    Of the answers remains which are right.
    """
    return replace(
        record,
        zsl=replace(record.zsl, per_class={}, left_out=(), mistaken={}, answers=_compact(record.zsl.answers)),
        gzsl=_slim(record.gzsl),
        gzsl_calibrated=None if record.gzsl_calibrated is None else _slim(record.gzsl_calibrated),
        tune=replace(record.tune, table=None),
        probabilities=Probabilities(),
        attributes=None,
        convergence=None,
    )


def _slim(part: Generalised) -> Generalised:
    return replace(part, per_class={}, left_out=(), curve=None, answers=_compact(part.answers))


def _compact(found: Answers | None) -> Answers | None:
    return None if found is None else found.compact()


def recorded(found: Iterable[Identified], dataset: str, features: str | None = None) -> list[Problem]:
    """The problems of a dataset that there are records of, by features where these are named."""
    problems: dict[Problem, None] = {}
    for problem in map(problem_of, found):
        wanted = features is None or problem.features.lower() == features.lower().removesuffix(".mat")
        if problem.dataset.lower() == dataset.lower() and wanted:
            problems[problem] = None
    return list(problems)


def select(
    problems: Sequence[Problem],
    methods: Sequence[str],
    seeds: int,
    runs: Iterable[Record],
    curves: Iterable[CurveRecord],
    times: Sequence[Mapping[str, Any]] = (),
) -> Results:
    """Of the runs those that chose the highest mean by both scorings from a whole grid; of several per seed the last.

    Records of one method and problem that were made with another grid, or around another setting, than its last
    one are left out: they are of another experiment.
    """
    plain = [record for record in runs if record.tune.scoring == "both" and not record.settings]
    evaluations = [record for record in plain if not _compares_default(record)]
    others = list(curves)
    varied = [record for record in others if isinstance(record, SensitivityRecord)]
    watched = [record for record in others if isinstance(record, ConvergenceRecord)]

    def about(part: str) -> list[str]:
        return [method for method in PARTS[part] if method in methods]

    return Results(
        tuple(problems),
        tuple(methods),
        _sorted(evaluations, problems, methods, seeds, lambda record: (record.tune.grid, record.tune.bounds)),
        _sorted(varied, problems, about("sensitivity"), seeds, lambda record: record.setting),
        _sorted(watched, problems, about("convergence"), seeds, lambda record: record.setting),
        tuple(times),
    )


def _compares_default(record: Record) -> bool:
    """Whether settings had to be better than the default by more than the spread of folds: another protocol."""
    return any(choice.against_default is not None for _, choice in record.tune.choices.items())


def _sorted(
    found: Sequence[R], problems: Sequence[Problem], methods: Sequence[str], seeds: int, trait: Callable[[R], object]
) -> dict[tuple[Problem, str], list[R]]:
    """By problem and method, then by seed; a record with another `trait` than the last one of its group is left out."""
    groups: dict[tuple[Problem, str], dict[int, R]] = {}
    wanted = set(problems)
    for record in found:
        problem = problem_of(record)
        if problem in wanted and record.method in methods and record.seed < seeds:
            group = groups.setdefault((problem, record.method), {})
            for other in [seed for seed, one in group.items() if trait(one) != trait(record)]:
                del group[other]
            group[record.seed] = record
    order = [(problem, method) for problem in problems for method in methods]
    return {place: [groups[place][seed] for seed in sorted(groups[place])] for place in order if place in groups}
