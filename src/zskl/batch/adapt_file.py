"""A fitted model adapted to the unlabelled rows of a file, and what that changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from zskl.batch.predict_file import PathLike
from zskl.batch.teach_file import calibration, unlabelled
from zskl.estimators.estimator import ZeroShotClassifier


@dataclass(frozen=True)
class Adaptation:
    """A model before and after; `changed` of the `rows` are answered otherwise now."""

    before: ZeroShotClassifier
    after: ZeroShotClassifier
    candidates: str
    rows: int
    changed: int

    def sentences(self) -> Iterator[str]:
        """What changed, a sentence each."""
        told: dict[str, Any] = getattr(self.after, "adaptation_", None) or {}
        masses = told.get("masses") or {}
        yield f"adapted to {self.rows} unlabelled rows, which may be of {self.candidates} classes"
        yield f"{self.changed} of these rows get another answer than before ({self.changed / self.rows:.0%})"
        if masses:
            least, most = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
            yield f"rows per class: from {masses[least]:.1f} for {least} to {masses[most]:.1f} for {most}"
        if "converged" in told:
            rest = "came to rest" if told["converged"] else "did not come to rest: check its answers"
            yield f"after {told['rounds']} rounds it {rest} (last turn {told['turned']:.2g})"
        yield from calibration(self.before, self.after)


def adapt(
    model: Any, features: PathLike, candidates: str = "unseen", force: bool = False, balance: float | None = None
) -> Adaptation:
    """Adapt a model to the rows of a file. `candidates` are the classes that they may be of: "unseen" or "all"."""
    X = unlabelled(model, features)
    after = model.adapt(X, candidates, force=force, balance=balance)
    seen = set(model.classes_.tolist())
    names = [label for label in model.candidates_.tolist() if candidates == "all" or label not in seen]
    answers = [one.predict(X, candidates=names) for one in (model, after)]
    return Adaptation(model, after, candidates, len(X), int(np.sum(answers[0] != answers[1])))
