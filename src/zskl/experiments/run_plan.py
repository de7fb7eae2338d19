"""The units that one command asks for: which methods are tuned, which stay at defaults, which are given more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zskl import methods
from zskl.experiments.unit import Unit, useful_seeds
from zskl.parameters import did_you_mean


@dataclass(frozen=True)
class Plan:
    """What holds for all methods; see `Unit`."""

    settings: Mapping[str, object]
    device: str | None = None
    tune: bool = False
    calibrate: bool = False
    scoring: str | None = None
    shots: Sequence[int] = ()
    unlabelled: Sequence[str] = ()


def units(plan: Plan, names: Sequence[str], seeds: int, defaults: Sequence[str] = ()) -> tuple[list[Unit], list[str]]:
    """A unit for each method and useful seed, and a sentence on whatever is not as asked for all of them."""
    untuned = {name.lower() for name in defaults}
    for name in sorted(untuned - set(names)):
        raise ValueError(
            f"--defaults {name}{did_you_mean(name, names)}: expected one of the methods that are run, "
            f"{', '.join(names)}; add --method {name}"
        )
    if untuned and not plan.tune:
        raise ValueError(f"--defaults {next(iter(defaults))} was given without --tune: leave it out, or add --tune")
    taught = _able(names, "add_examples", "learn from examples", bool(plan.shots))
    adapted = _able(names, "adapt", "adapt to unlabelled rows", bool(plan.unlabelled))
    found, once = [], []
    for name in names:
        shots = plan.shots if name in taught else ()
        unlabelled = plan.unlabelled if name in adapted else ()
        tune = plan.tune and name not in untuned
        scoring = plan.scoring if tune or not untuned else None
        calibrate = plan.calibrate or (plan.tune and not tune and plan.scoring in ("gzsl", "both"))
        mine = useful_seeds(name, seeds, shots)
        found += [
            Unit(name, seed, plan.settings, plan.device, tune, calibrate, scoring, shots, unlabelled) for seed in mine
        ]
        once += [name] if len(mine) < seeds else []
    remarks = [f"{', '.join(once)}: run once, since every seed gives the same model"] if once else []
    if untuned:
        one = ", with one seed" if seeds == 1 else ""
        how = "" if plan.settings else ", at default settings"
        remarks.append(f"{', '.join(name for name in names if name in untuned)}: not tuned{how}{one}")
    without: dict[str, list[str]] = {}
    for asked, able, words in ((plan.shots, taught, "examples"), (plan.unlabelled, adapted, "unlabelled rows")):
        unable = [name for name in names if name not in able]
        if asked and unable:
            without.setdefault(", ".join(unable), []).append(words)
    for who, what in without.items():
        them = "they" if "," in who else "it"
        remarks.append(f"{who}: scored without {' and '.join(what)}, from which {them} cannot learn")
    return found, remarks


def _able(names: Sequence[str], ability: str, words: str, asked: bool) -> set[str]:
    """Those of the methods that can; refused where it is asked for and none can."""
    found = {name for name in names if hasattr(methods.find(name).estimator, ability)}
    if asked and not found:
        methods.check_able(names[0], ability, words)
    return found
