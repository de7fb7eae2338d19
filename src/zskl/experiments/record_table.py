"""The table that a `Record` shows: what was run, how it was chosen, and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zskl.shown.table import Shown, percent

if TYPE_CHECKING:
    from zskl.experiments.record import Record


def of_record(record: Record) -> Shown:
    """Figures of both protocols, and what the model was."""
    rows = [*figures(record), *_given(record), ("settings", chosen(record)), *_times(record)]
    features = f" ({record.features})" if record.features else ""
    return Shown(f"{record.method} on {record.dataset}{features}, seed {record.seed}", ("", ""), rows)


def figures(record: Record) -> list[tuple[str, str]]:
    """(name, value) of each plain figure that there is."""
    found = [("zero-shot", record.zsl.accuracy), ("unseen", record.gzsl.unseen), ("seen", record.gzsl.seen)]
    found.append(("H", record.gzsl.harmonic))
    if record.gzsl_calibrated is not None:
        found.append(("calibrated H", record.gzsl_calibrated.harmonic))
    return [(name, percent(value)) for name, value in found if value is not None]


def chosen(record: Record, counted: bool = True) -> str:
    """Whether settings are tuned (and of how many, if `counted`) or default, and which were set by hand."""
    tuned = bool(record.tune.scoring)
    of = f" (best of {record.tune.settings})" if counted and tuned and record.tune.settings else ""
    own = ", ".join(f"{name}={value}" for name, value in record.settings.items())
    return f"{'tuned' if tuned else 'default'}{of}{f', with {own}' if own else ''}"


def _given(record: Record) -> list[tuple[str, str]]:
    rows = [
        (f"zero-shot, {one.shots} shot{'' if one.shots == 1 else 's'}", percent(one.zsl.accuracy))
        for one in record.taught or ()
    ]
    rows += [(f"zero-shot, unlabelled {one.unlabelled}", percent(one.zsl.accuracy)) for one in record.adapted or ()]
    return [row for row in rows if row[1]]


def _times(record: Record) -> list[tuple[str, str]]:
    seconds = record.seconds.training
    return [] if seconds is None else [("training", f"{seconds:.1f} s")]
