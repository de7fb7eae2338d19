"""The fit behind `zskl fit` on a dataset: tuned and calibrated as asked, and what is said of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zskl import methods, selection
from zskl._validation import check_option
from zskl.cli.bars import progress_display, reporter
from zskl.cli.heard import told_once
from zskl.cli.terminal import mention, note
from zskl.datasets import folder, images
from zskl.datasets.dataset import Dataset
from zskl.engines import Engine
from zskl.estimators.base import ZeroShotClassifier
from zskl.selection import Tuned
from zskl.selection.class_folds import TooFewRows
from zskl.selection.search_results import SCORINGS
from zskl.selection.tuning import format_score


@dataclass(frozen=True)
class Asked:
    """What to do besides fitting."""

    tune: bool
    scoring: str
    calibrate: bool
    required: bool  # or else default settings serve where the rows are too few to tune on


def asked(tune: bool | None, scoring: str | None, calibrate: bool, quick: bool) -> Asked:
    """The options, with their defaults; a quick method is tuned unless told otherwise."""
    tuned = quick if tune is None else tune
    if scoring is not None and not tuned:
        raise ValueError(
            f"--scoring {scoring} was given without --tune: it says what --tune chooses by; add --tune or leave it out"
        )
    scoring = scoring or ("gzsl" if quick else "zsl")
    check_option("scoring", scoring, SCORINGS)
    return Asked(tuned, scoring, calibrate, bool(tune or calibrate))


def fitted(
    model: ZeroShotClassifier, method: str, settings: Mapping[str, Any], data: Dataset, how: Asked
) -> tuple[ZeroShotClassifier, Tuned | None]:
    """The model fitted on the trainval rows, and the search if there was one; settings that were given stay."""
    training = (*data.samples("trainval"), data.signatures)
    with told_once(), progress_display() as progress:
        task = progress.add_task(f"{data.name} {method}", total=None)
        if how.tune:
            named = methods.find(method)
            try:
                found = selection.tune(
                    *(
                        model,
                        *training,
                        methods.drop_fixed_settings(named.grid, settings),
                        selection.folds(data),
                        how.scoring,
                    ),
                    report=lambda done, total: progress.update(task, completed=done, total=total),
                    extend=named.bounds,
                )
            except TooFewRows as error:
                if how.required:
                    raise
                note(f"fitted with the default settings, neither tuned nor calibrated: {error}")
            else:
                return found.model, found
        model.fit(*training, callback=reporter(progress, task))
        if how.calibrate:
            selection.calibrate(model, *training, selection.folds(data), Engine())
    return model, None


def provenance(model: ZeroShotClassifier, place: str, data: Dataset) -> None:
    """Note in the model how its rows were prepared and what made features of pictures."""
    prepared = folder.read_preparation(place)
    if prepared is not None:
        model.preparation_ = prepared.text()
    model.backbone_ = data.backbone or images.backbone_of_features(data.features)


def tell(model: ZeroShotClassifier, found: Tuned | None, scoring: str) -> None:
    """Say what was chosen and calibrated, what it promises, and where a better setting may lie."""
    for sentence in _said(model, found, scoring):
        mention(sentence)
    if found is not None and found.edges:
        note(f"{'; '.join(map(str, found.edges))}: the best may lie beyond")


def _said(model: ZeroShotClassifier, found: Tuned | None, scoring: str) -> Iterator[str]:
    """What was chosen and calibrated, and what it promises."""
    if found is not None:
        yield from _chosen(found, scoring)
    if model.temperatures_ is not None:
        written = ", ".join(f"{value:.3g} among {name}" for name, value in model.temperatures_.items())
        constant = f"{model.calibration_:.4g} is subtracted from the scores of seen classes"
        yield f"calibrated: {constant}; temperatures {written} candidates"
    yield from _practised(model)


def _chosen(found: Tuned, scoring: str) -> Iterator[str]:
    """The setting that a search chose, and its score beside that of the default."""
    chosen = ", ".join(f"{name}={value}" for name, value in found.best.items())
    yield f"chosen of {len(found.settings)} settings by {scoring} on validation classes: {chosen}"
    default = found.search.default
    beside = f"; of the default setting {format_score(found, default)}" if default is not None else ""
    yield f"its score there: {100 * found.score:.1f} ± {100 * found.spread:.1f} % over folds{beside}"
    if found.against_default is not None:
        yield str(found.against_default)


def _practised(model: ZeroShotClassifier) -> Iterator[str]:
    """What validation classes promise of rows that the model may learn from later."""
    found = getattr(model, "practice_", None) or {}
    examples = [f"{100 * one['zsl']:.1f} with {k}" for k, one in (found.get("examples") or {}).items()]
    if examples:
        yield f"zero-shot accuracy there with examples of each class (zskl teach): {', '.join(examples)}"
    for name, figure in (("unseen", "zero-shot accuracy"), ("all", "H")):
        gains = [
            f"{100 * one['gain']:+.1f} ± {100 * one['spread']:.1f} points with {one['per_class']:.3g} of a class"
            for one in (found.get("unlabelled") or {}).get(name) or ()
        ]
        if gains:
            yield f"gain there in {figure} from unlabelled rows of {name} classes (zskl adapt): {', '.join(gains)}"
