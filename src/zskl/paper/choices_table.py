"""What validation chose for each method, what it scored there, and how long that took on what."""

from __future__ import annotations

from zskl.experiments import choice_notes
from zskl.experiments.compare import Comparison, Figure, Row
from zskl.experiments.record import Record
from zskl.experiments.record_parts import Choice
from zskl.paper.results import Output, Results, over_seeds

SCORINGS = {"zsl": "zero-shot accuracy", "gzsl": "calibrated H"}


def outputs(results: Results) -> list[Output]:
    """A table per dataset; settings are those of the lowest seed, figures means over seeds."""
    made = []
    for problem in results.measured:
        rows = []
        for method in results.methods:
            found = results.runs.get((problem, method))
            if not found:
                continue
            words = {f"by {name}": _spoken(found[0], scoring) for scoring, name in SCORINGS.items()}
            figures: dict[str, Figure] = {}
            for scoring, name in SCORINGS.items():
                scores = [_choice(record, scoring).score for record in found]
                score = over_seeds(100 * value for value in scores if value is not None)
                if score is not None:
                    figures[f"{name} there"] = score
            spent = over_seeds(time for record in found if (time := record.seconds.training) is not None)
            if spent is not None:
                figures["seconds"] = spent
            devices = sorted({record.device for record in found})
            labels = {"method": method, **words, "device": ", ".join(devices)}
            rows.append(Row(labels, len(found), figures))
        if rows:
            heads = ("method", *(f"by {name}" for name in SCORINGS.values()), "device")
            columns = (*(f"{name} there" for name in SCORINGS.values()), "seconds")
            note = (
                "Settings of the lowest seed; (at its bound) and (not extended): nothing beyond was tried; the scores "
                "are of validation classes, in per cent; seconds are for search, fits and calibration of one seed, on "
                "whatever else the machine was doing."
            )
            every = [record for method in results.methods for record in results.runs.get((problem, method), ())]
            luck = choice_notes.over_folds(every)
            table = Comparison(heads, columns, tuple(rows), (note, *([f"Figures that {luck}."] if luck else [])))
            made.append(Output("choices", f"choices-{problem.stem}", f"What validation chose on {problem.name}", table))
    return made


def _spoken(record: Record, scoring: str) -> str:
    choice = _choice(record, scoring)
    reasons = {edge.name: f" ({edge.why})" for edge in choice.edges or ()}
    return ", ".join(f"{name} {value}{reasons.get(name, '')}" for name, value in choice.setting.items())


def _choice(record: Record, scoring: str) -> Choice:
    return dict(record.tune.choices.items()).get(scoring, Choice())
