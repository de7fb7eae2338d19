"""`zskl fit`: a model file from a dataset, tuned and calibrated as asked, or from a folder of shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zskl.cli import _options
from zskl.cli._progress import show_progress
from zskl.cli._terminal import mention, note
from zskl.cli._warnings import collect_messages

if TYPE_CHECKING:
    from zskl.datasets.dataset import Dataset
    from zskl.engines import Engine
    from zskl.estimators.base import ZeroShotClassifier
    from zskl.selection import Tuned

DEFAULT = "class-means"  # a search of its settings takes seconds, so `zskl fit` tunes it unless told otherwise


def fit(
    data: Annotated[
        str,
        typer.Argument(
            help="A dataset folder, the name of a dataset, or (with --labels) a folder of .parquet or .npy shards.",
            autocompletion=_options.complete_datasets,
        ),
    ],
    out: _options.ModelOut,
    method: Annotated[
        str, typer.Option(help="A method; see [b]zskl methods[/b].", autocompletion=_options.complete_methods)
    ] = DEFAULT,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the method, repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the training.")] = 0,
    tune: Annotated[
        bool | None,
        typer.Option(
            "--tune/--no-tune",
            help="Choose settings on validation classes, from the method's default grid. "
            f"Default: only for {DEFAULT}, where it takes seconds.",
        ),
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What --tune chooses by: zsl, unseen classes alone; or gzsl, seen and unseen together. "
            f"Default: gzsl for {DEFAULT}, zsl for others."
        ),
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Calibrate scores of seen classes, and probabilities (--tune does this too)."),
    ] = False,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN or DIR",
            help="Of shards: their column of labels, or a folder with a file of labels for each.",
        ),
    ] = None,
    engine: _options.EngineOption = None,
    address: _options.Address = None,
    workers: _options.Workers = None,
) -> None:
    """Train a method on the trainval rows of a dataset, or class means on shards, and write the model to a file.

    Example: [b]zskl fit birds -o birds.zskl[/b]

    Example: [b]zskl fit birds -o birds.zskl --method gaussian-ort --tune[/b]

    Example: [b]zskl fit shards --labels species --signatures classes.csv -o birds.zskl --engine dask[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.cli import _datasets

    runner = _options.make_engine(engine, address, workers)
    settings = dict(_options.parse_setting(text) for text in set_ or [])
    if labels is not None:
        given = {**settings, "random_state": seed, "device": device}
        fit_folder(data, labels, signatures, out, method, given, bool(tune or calibrate or scoring), runner)
        return
    if runner is not None:
        raise ValueError(
            "--engine, --address and --workers were given without --labels: they are for a folder of shards; add it, "
            "or leave them out"
        )
    task = _plan(tune, scoring, calibrate, quick=method.lower() == DEFAULT)
    _arrays.check_device(device)
    model = methods.build(method, {**settings, "random_state": seed, "device": device})
    _files.check_target(out)
    loaded = _datasets.load_dataset(data, root, features, signatures)
    model, found = _fit(model, method, settings, loaded, task)
    _keep_origin(model, data, loaded)
    model.save(out)
    _report(model, found, task.scoring)
    rows = len(loaded.parts["trainval"])
    mention(f"wrote {out}: {method} fitted on {rows} rows of {len(model.classes_)} classes of {loaded.name}")


@dataclass(frozen=True)
class _Task:
    """What to do besides fitting."""

    tune: bool
    scoring: str
    calibrate: bool
    required: bool  # or else default settings serve where the rows are too few to tune on


def _plan(tune: bool | None, scoring: str | None, calibrate: bool, quick: bool) -> _Task:
    """The options, with their defaults; a quick method is tuned unless told otherwise."""
    from zskl._validation import check_option
    from zskl.selection.search_results import SCORINGS

    tuned = quick if tune is None else tune
    if scoring is not None and not tuned:
        raise ValueError(
            f"--scoring {scoring} was given without --tune: it says what --tune chooses by; add --tune or leave it out"
        )
    scoring = scoring or ("gzsl" if quick else "zsl")
    check_option("scoring", scoring, SCORINGS)
    return _Task(tuned, scoring, calibrate, bool(tune or calibrate))


def _fit(
    model: ZeroShotClassifier, method: str, settings: Mapping[str, Any], data: Dataset, task: _Task
) -> tuple[ZeroShotClassifier, Tuned | None]:
    """The model fitted on the trainval rows, and the search if there was one; settings that were given stay."""
    from zskl import methods, selection
    from zskl.engines import Engine
    from zskl.selection.class_folds import TooFewRows

    training = (*data.samples("trainval"), data.signatures)
    with collect_messages(), show_progress(f"{data.name} {method}") as report:
        if task.tune:
            entry = methods.find(method)
            try:
                grid = methods.drop_fixed_settings(entry.grid, settings)
                folds = selection.folds(data)
                found = selection.tune(model, *training, grid, folds, task.scoring, report=report, extend=entry.bounds)
            except TooFewRows as error:
                if task.required:
                    raise
                note(f"fitted with the default settings, neither tuned nor calibrated: {error}")
            else:
                return found.model, found
        # In steps of a hundredth: to draw a bar takes longer than a step of training.
        model.fit(
            *training, callback=lambda now: None if now.step % max(1, now.steps // 100) else report(now.step, now.steps)
        )
        if task.calibrate:
            selection.calibrate(model, *training, selection.folds(data), Engine())
    return model, None


def _keep_origin(model: ZeroShotClassifier, place: str, data: Dataset) -> None:
    """Note in the model how its rows were prepared and what made features of pictures."""
    from zskl.datasets import folder, images

    prepared = folder.read_preparation(place)
    if prepared is not None:
        model.preparation_ = prepared.text()
    model.backbone_ = data.backbone or images.backbone_of_features(data.features)


def _report(model: ZeroShotClassifier, found: Tuned | None, scoring: str) -> None:
    """Say what was chosen and calibrated, what it promises, and where a better setting may lie."""
    for sentence in _describe_fit(model, found, scoring):
        mention(sentence)
    if found is not None and found.edges:
        note(f"{'; '.join(map(str, found.edges))}: the best may lie beyond")


def _describe_fit(model: ZeroShotClassifier, found: Tuned | None, scoring: str) -> Iterator[str]:
    """What was chosen and calibrated, and what it promises."""
    if found is not None:
        yield from _describe_search(found, scoring)
    if model.temperatures_ is not None:
        written = ", ".join(f"{value:.3g} among {name}" for name, value in model.temperatures_.items())
        constant = f"{model.calibration_:.4g} is subtracted from the scores of seen classes"
        yield f"calibrated: {constant}; temperatures {written} candidates"
    yield from _describe_practice(model)


def _describe_search(found: Tuned, scoring: str) -> Iterator[str]:
    """The setting that a search chose, and its score beside that of the default."""
    from zskl.selection.tuning import format_score

    chosen = ", ".join(f"{name}={value}" for name, value in found.best.items())
    yield f"chosen of {len(found.settings)} settings by {scoring} on validation classes: {chosen}"
    default = found.search.default
    beside = f"; of the default setting {format_score(found, default)}" if default is not None else ""
    yield f"its score there: {100 * found.score:.1f} ± {100 * found.spread:.1f} % over folds{beside}"
    if found.against_default is not None:
        yield str(found.against_default)


def _describe_practice(model: ZeroShotClassifier) -> Iterator[str]:
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


def fit_folder(
    folder: str,
    labels: str,
    signatures: str | None,
    out: Path,
    method: str,
    settings: dict[str, Any],
    chosen: bool,
    engine: Engine | None,
) -> None:
    """Class means of all rows of the shards; `chosen` says whether settings or a calibration were to be chosen."""
    from zskl import _files, methods
    from zskl.batch.fit import fit_shards
    from zskl.estimators.class_means import ClassMeansClassifier

    if method.lower() != ClassMeansClassifier.kind:
        raise ValueError(
            f"--method is {method!r}, and --labels is for a folder of shards: expected class-means, which learns from "
            "sums; make a dataset with zskl data make for other methods"
        )
    if chosen:
        raise ValueError(
            "--tune, --scoring and --calibrate need validation rows in memory: choose settings on a part of "
            "the rows, and pass them with --set"
        )
    if signatures is None:
        raise ValueError("--labels was given without --signatures: expected the table of the classes; add it")
    model: Any = methods.build(method, settings)
    _files.check_target(out)
    with collect_messages(), show_progress(f"shards of {folder}") as report:
        fitted = fit_shards(folder, labels, signatures, model, engine=engine, report=report)
    fitted.save(out)
    rows = int(fitted.class_rows_.sum())
    count = f"{rows} rows of {len(fitted.classes_)} classes"
    mention(f"wrote {out}: {method} fitted on {count}, neither tuned nor calibrated")
