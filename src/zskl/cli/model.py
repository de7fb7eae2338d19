"""`zskl fit` and `zskl predict`: a model file from a dataset, predictions from a model file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zskl.cli import completion, options, startup
from zskl.cli.settings import setting
from zskl.cli.terminal import mention, note

if TYPE_CHECKING:
    from zskl.estimators.estimator import ZeroShotClassifier
    from zskl.selection import Tuned

DEFAULT = "class-means"  # a search of its settings takes seconds, so `zskl fit` tunes it unless told otherwise


def fit(
    data: Annotated[
        str,
        typer.Argument(
            help="A dataset folder, the name of a dataset, or (with --labels) a folder of .parquet or .npy shards.",
            autocompletion=completion.datasets,
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The model file to write.")],
    method: Annotated[
        str, typer.Option(help="A method; see [b]zskl methods[/b].", autocompletion=completion.methods)
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
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    root: options.Root = None,
    features: options.Features = None,
    signatures: options.Signatures = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN or DIR",
            help="Of shards: their column of labels, or a folder with a file of labels for each.",
        ),
    ] = None,
    engine: options.EngineOption = None,
    address: options.Address = None,
    workers: options.Workers = None,
) -> None:
    """Train a method on the trainval rows of a dataset, or class means on shards, and write the model to a file.

    Example: [b]zskl fit birds -o birds.zskl[/b]

    Example: [b]zskl fit birds -o birds.zskl --method gaussian-ort --tune[/b]

    Example: [b]zskl fit shards --labels species --signatures classes.csv -o birds.zskl --engine dask[/b]
    """
    from zskl import arrays, files, methods, selection
    from zskl.cli import named
    from zskl.cli.bars import progress_display, reporter
    from zskl.cli.heard import told_once
    from zskl.cli.shards import fit_folder
    from zskl.datasets.images import backbones
    from zskl.datasets.own import folder
    from zskl.engines import Engine
    from zskl.estimators import default_grid
    from zskl.parameters import one_of
    from zskl.selection.class_folds import TooFewRows
    from zskl.selection.search_results import SCORINGS

    startup.over()
    runner = named.engine_of(engine, address, workers)
    if labels is not None:
        settings = {**dict(setting(text) for text in set_ or []), "random_state": seed, "device": device}
        fit_folder(data, labels, signatures, out, method, settings, bool(tune or calibrate or scoring), runner)
        return
    if runner is not None:
        raise ValueError(
            "--engine, --address and --workers were given without --labels: they are for a folder of shards; add it, "
            "or leave them out"
        )
    quick = method.lower() == DEFAULT
    asked, tune = tune, quick if tune is None else tune
    if scoring is not None and not tune:
        raise ValueError(
            f"--scoring {scoring} was given without --tune: it says what --tune chooses by; add --tune or leave it out"
        )
    scoring = scoring or ("gzsl" if quick else "zsl")
    one_of("scoring", scoring, SCORINGS)
    arrays.check_device(device)
    settings = dict(setting(text) for text in set_ or [])
    model = methods.build(method, {**settings, "random_state": seed, "device": device})
    files.check_target(out)
    loaded = named.load_dataset(data, root, features, signatures)
    X, y = loaded.samples("trainval")
    found: selection.Tuned | None = None
    with told_once(), progress_display() as progress:
        task = progress.add_task(f"{loaded.name} {method}", total=None)
        if tune:
            named_method = methods.find(method)
            grid = default_grid.without(named_method.grid, settings)
            try:
                found = selection.tune(
                    *(model, X, y, loaded.signatures, grid, selection.folds(loaded), scoring),
                    report=lambda done, total: progress.update(task, completed=done, total=total),
                    extend=named_method.bounds,
                )
            except TooFewRows as error:
                if asked or calibrate:
                    raise
                note(f"fitted with the default settings, neither tuned nor calibrated: {error}")
        if found is not None:
            model = found.model
        else:
            model.fit(X, y, loaded.signatures, callback=reporter(progress, task))
            if calibrate:
                selection.calibrate(model, X, y, loaded.signatures, selection.folds(loaded), Engine())
    prepared = folder.preparation_of(data)
    if prepared is not None:
        model.preparation_ = prepared.text()
    model.backbone_ = loaded.backbone or backbones.implied(loaded.features)
    model.save(out)
    for sentence in _said(model, found, scoring):
        mention(sentence)
    if found is not None and found.edges:
        note(f"{'; '.join(map(str, found.edges))}: the best may lie beyond")
    mention(f"wrote {out}: {method} fitted on {len(y)} rows of {len(model.classes_)} classes of {loaded.name}")


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
    from zskl.selection.tuned_table import score

    chosen = ", ".join(f"{name}={value}" for name, value in found.best.items())
    yield f"chosen of {len(found.settings)} settings by {scoring} on validation classes: {chosen}"
    default = found.search.default
    beside = f"; of the default setting {score(found, default)}" if default is not None else ""
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


def predict(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    features: Annotated[
        Path,
        typer.Argument(help=f"A row per sample: {options.TABLES}; or a folder of .parquet or .npy."),
    ],
    signatures: options.ClassTable = None,
    with_known: options.WithKnown = False,
    candidates: options.Candidates = None,
    top: Annotated[int, typer.Option(min=1, help="How many classes per row, best first.")] = 5,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write probabilities in place of scores; needs a calibrated model.")
    ] = False,
    reject: Annotated[
        float | None,
        typer.Option(
            metavar="P", help='Answer "unknown" where the best probability is below P; needs a calibrated model.'
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE|DIR",
            help="The CSV file to write (default: the terminal). For a folder of features: the folder to write into.",
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda.")] = None,
    engine: options.EngineOption = None,
    address: options.Address = None,
    workers: options.Workers = None,
) -> None:
    """Predict the class of each row of a file, or of a folder of files. A class needs a description, not training.

    Example: [b]zskl predict birds.zskl new.csv --signatures new_classes.csv --top 3 -o predictions.csv[/b]

    Example: [b]zskl predict birds.zskl shards --out predictions --engine loky[/b], and again after an interruption
    """
    import csv

    from zskl import arrays, files, methods
    from zskl.batch import predict_file
    from zskl.batch import predict_folder as folder
    from zskl.cli import named
    from zskl.cli.heard import noted
    from zskl.cli.shards import predict_folder

    startup.over()
    options.check_known(with_known, signatures)
    arrays.check_device(device)
    runner = named.engine_of(engine, address, workers)
    asked = folder.Options(
        None if signatures is None else str(signatures),
        with_known,
        tuple(candidates) if candidates else None,
        top,
        probabilities,
        reject,
    )
    if features.is_dir():
        predict_folder(model, features, out, asked, device, runner)
        return
    if runner is not None:
        raise ValueError(
            f"{features} is not a folder: --engine, --address and --workers are for a folder of shards; leave them out"
        )
    if out is not None:
        files.check_target(out, model, features, signatures)
    with noted():
        lines = asked.predictor(methods.load(model, device)).lines(features)
        if out is None:
            csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
        else:
            mention(f"wrote {out}: {predict_file.write(out, lines)} rows")
