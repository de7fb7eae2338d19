"""Records of what `zskl paper` measures beside evaluations: accuracy against a setting, and the course of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from zskl.experiments import record, typed_json
from zskl.experiments.record_parts import Setting


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """What both kinds hold. `setting` is what validation chose; `part` tells the kinds apart."""

    version: int = record.VERSION
    key: str
    dataset: str
    features: str = ""
    fingerprint: str = ""
    features_digest: str = ""
    method: str
    seed: int
    random_state: int | None = None
    device: str | None = None
    setting: Setting
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = typed_json.to_json(self)
        return found


@dataclass(frozen=True)
class Varied:
    """For each value of a setting the accuracy on every fold and on test rows; None where training diverged."""

    values: tuple[float, ...]
    validation: tuple[tuple[float, ...] | None, ...]
    test: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if not len(self.values) == len(self.validation) == len(self.test):
            raise ValueError(
                f"a curve has {len(self.values)} values, {len(self.validation)} validation and {len(self.test)} test "
                "accuracies: expected as many of each"
            )


@dataclass(frozen=True, kw_only=True)
class SensitivityRecord(_Measured):
    """A method from one seed, each of some settings varied in turn around the one that was chosen."""

    part: str = "sensitivity"
    curves: Mapping[str, Varied]

    def chosen(self, name: str) -> float:
        """The value of a setting that validation chose."""
        value = self.setting[name]
        assert isinstance(value, int | float)
        return float(value)


@dataclass(frozen=True)
class Phase:
    """Objective and accuracy of the rows of each side ("training", "held out") after each of some steps."""

    step: tuple[int, ...]
    rows: int
    objective: Mapping[str, tuple[float, ...]]
    accuracy: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class ConvergenceRecord(_Measured):
    """A method from one seed, watched while it trains on a fold ("validation") and on all training rows ("test")."""

    part: str = "convergence"
    epochs: int
    phases: Mapping[str, Phase]


CurveRecord: TypeAlias = SensitivityRecord | ConvergenceRecord
KINDS: Mapping[str, type[CurveRecord]] = {"sensitivity": SensitivityRecord, "convergence": ConvergenceRecord}


def from_json(line: object) -> CurveRecord:
    """The record that `json.loads` read from a line, of the kind that its `part` names."""
    found = record.current(line)
    kind = KINDS.get(str(found.get("part")))
    if kind is None:
        raise ValueError(f"`part` is {found.get('part')!r}: expected {' or '.join(KINDS)}")
    return typed_json.from_json(kind, found)
