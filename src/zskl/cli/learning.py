"""`zskl fit`, `teach`, `adapt` and `label-next`: what a model learns, at first and later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from zskl.cli import _options
from zskl.cli._terminal import collect_messages, fail, note, show_progress, show_table

if TYPE_CHECKING:
    from zskl.datasets.dataset import Dataset
    from zskl.engines import Engine
    from zskl.estimators.base import ZeroShotClassifier
    from zskl.selection import Tuned

DEFAULT = "class-means"  # a search of its settings takes seconds, so `zskl fit` tunes it unless told otherwise


@_options.reads_text("signatures")
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
    seed: Annotated[int, _options.more(min=0, help="Seed of the training.")] = 0,
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
        _options.more(
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
        _options.about_files(
            metavar="COLUMN or DIR",
            help="Of shards: their column of labels, or a folder with a file of labels for each.",
        ),
    ] = None,
    missing: _options.Missing = None,
    categories: _options.Categories = None,
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
    from zskl._validation import check_option
    from zskl.datasets import folder, images
    from zskl.estimators._class_means_fit import LEAST_AGREEING
    from zskl.selection.search_results import SCORINGS
    from zskl.texts import remember_encoder

    runner = _options.make_engine(engine, address, workers)
    settings = dict(_options.parse_setting(text) for text in set_ or [])
    if labels is not None:
        given = {**settings, "random_state": seed, "device": device}
        searched = bool(tune or calibrate or scoring)
        fit_folder(data, labels, signatures, out, method, given, searched, runner, missing, categories)
        return
    if runner is not None or missing or categories:
        raise ValueError(
            "--engine, --address, --workers, --missing and --categories were given without --labels: they are for a "
            "folder of shards and its class table; add it, or leave them out (zskl data make takes the last two)"
        )
    quick = method.lower() == DEFAULT
    tuned = quick if tune is None else tune
    if scoring is not None and not tuned:
        raise ValueError(
            f"--scoring {scoring} was given without --tune: it says what --tune chooses by; add --tune or leave it out"
        )
    scoring = scoring or ("gzsl" if quick else "zsl")
    check_option("scoring", scoring, SCORINGS)
    _arrays.check_device(device)
    model = methods.build(method, {**settings, "random_state": seed, "device": device})
    _files.check_target(out)
    loaded = _options.load_dataset(data, root, features, signatures)
    methods.set_blocks(model, loaded.blocks, loaded.signature_blocks)
    source = folder.read_text_source(data)
    if source is not None and quick and len(loaded.seen_classes) <= LEAST_AGREEING:  # see EncodedClassifier
        model.set_params(prior=settings.get("prior", "cosine"))
    model, found = _fit(model, method, settings, loaded, scoring if tuned else None, calibrate, bool(tune or calibrate))
    prepared = folder.read_preparation(data)
    if prepared is not None:
        model.preparation_ = prepared.text()
    if source is not None:
        remember_encoder(model, source, loaded.X, loaded.y)
    model.backbone_ = loaded.backbone or images.backbone_of_features(loaded.features)
    model.save(out)
    _report_fit(model, found, scoring)
    rows = len(loaded.parts["trainval"])
    note(f"wrote {out}: {method} fitted on {rows} rows of {len(model.seen_classes_)} classes of {loaded.name}")


def _fit(
    model: ZeroShotClassifier,
    method: str,
    settings: Mapping[str, Any],
    data: Dataset,
    scoring: str | None,
    calibrate: bool,
    required: bool,
) -> tuple[ZeroShotClassifier, Tuned | None]:
    """The fitted model, and the search if there is a `scoring`; settings that were given stay. Unless tuning is
    `required`, default settings serve where the rows are too few for it."""
    from zskl import methods, selection
    from zskl.engines import Engine
    from zskl.selection.class_folds import TooFewRows

    training = (*data.samples("trainval"), data.signatures)
    with collect_messages(), show_progress(f"{data.name} {method}") as report:
        if scoring is not None:
            entry = methods.find(method)
            try:
                grid = methods.add_table_weights(methods.drop_fixed_settings(entry.grid, settings), model)
                folds = selection.folds(data)
                found = selection.tune(model, *training, grid, folds, scoring, report=report, extend=entry.bounds)
            except TooFewRows as error:
                if required:
                    raise
                note(f"fitted with the default settings, neither tuned nor calibrated: {error}")
            else:
                return found.model, found
        # In steps of a hundredth: to draw a bar takes longer than a step of training.
        model.fit(
            *training, callback=lambda now: None if now.step % max(1, now.steps // 100) else report(now.step, now.steps)
        )
        if calibrate:
            selection.calibrate(model, *training, selection.folds(data), Engine())
    return model, None


def _report_fit(model: ZeroShotClassifier, found: Tuned | None, scoring: str) -> None:
    """Say what was chosen and calibrated, what it promises, and where a better setting may lie."""
    from zskl.selection.tuning import format_cosine_score, format_tuned_score

    if found is not None:
        chosen = ", ".join(f"{name}={value}" for name, value in found.best.items())
        note(f"chosen of {len(found.settings)} settings by {scoring} on validation classes: {chosen}")
        default = found.search.default
        beside = f"; of the default setting {format_tuned_score(found, default)}" if default is not None else ""
        note(f"its score there: {100 * found.score:.1f} ± {100 * found.spread:.1f} % over folds{beside}")
        if found.against_default is not None:
            note(str(found.against_default))
        if (cosine := format_cosine_score(found)) is not None:
            note(f"plain cosine between rows and descriptions scores {cosine} there")
    for text in model._tell_automatic():
        note(text)
    if model.temperatures_ is not None:
        written = ", ".join(f"{value:.3g} among {name}" for name, value in model.temperatures_.items())
        constant = f"{model.calibration_:.4g} is subtracted from the scores of seen classes"
        note(f"calibrated: {constant}; temperatures {written} candidates")
    # What validation classes promise of rows that the model may learn from later.
    practice = getattr(model, "practice_", None) or {}
    examples = [f"{100 * one['zsl']:.1f} with {k}" for k, one in (practice.get("examples") or {}).items()]
    if examples:
        note(f"zero-shot accuracy there with examples of each class (zskl teach): {', '.join(examples)}")
    for name, figure in (("unseen", "zero-shot accuracy"), ("all", "H")):
        tried = (practice.get("unlabelled") or {}).get(name)
        if tried:
            best = max(tried, key=lambda one: float(one["gain"] - one["spread"]))
            gain = f"{100 * best['gain']:+.1f} ± {100 * best['spread']:.1f} points over the batches that were tried"
            note(f"gain there in {figure} from unlabelled rows of {name} classes (zskl adapt): {gain}")
    if found is not None and found.edges:
        note(f"{'; '.join(map(str, found.edges))}: the best may lie beyond")


def fit_folder(
    folder: str,
    labels: str,
    signatures: str | None,
    out: Path,
    method: str,
    settings: dict[str, Any],
    chosen: bool,
    engine: Engine | None,
    missing: str | None = None,
    categories: str | None = None,
) -> None:
    """Class means of all rows of the shards; `chosen` says whether settings or a calibration were to be chosen."""
    from zskl import _files, methods
    from zskl.batch.fit import fit_shards
    from zskl.datasets import tables
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
        table = tables.read_signatures(signatures, missing=missing, categories=categories)
        fitted = fit_shards(folder, labels, table, model, engine=engine, report=report)
    fitted.save(out)
    rows = int(fitted.class_rows_.sum())
    count = f"{rows} rows of {len(fitted.seen_classes_)} classes"
    note(f"wrote {out}: {method} fitted on {count}, neither tuned nor calibrated")


@_options.reads_text("features", "labels", "signatures")
def teach(
    model: _options.UnchangedModel,
    out: _options.ModelOut,
    features: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"The examples, a row each: {_options.TABLES}.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="FILE|COLUMN", help="Their classes: a column of the features, or a file, also .txt."),
    ] = None,
    signatures: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Descriptions of new classes, a row each, the column 'class' naming it."),
    ] = None,
    wrong: Annotated[
        bool, typer.Option("--wrong", help="The rows are not of these classes: they count against them.")
    ] = False,
    new_classes: Annotated[
        bool,
        _options.more("--new-classes", help="Take names that are much like known ones as new classes, without asking."),
    ] = False,
    remove: Annotated[
        bool,
        _options.more(
            "--remove",
            help="Remove these examples. Without --features: all of the classes in --labels; without both: all.",
        ),
    ] = False,
    device: _options.Device = None,
) -> None:
    """Give a model labelled examples of any classes, known or new, and write the new model. Nothing is trained again.

    Example: [b]zskl teach birds.zskl --features new.csv --labels species -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach

    if remove and (wrong or new_classes or signatures is not None):
        raise ValueError(
            "--remove was given with --wrong, --new-classes or --signatures: these are for new examples; leave them out"
        )
    if not remove and (features is None or labels is None):
        raise ValueError("--features or --labels is missing: expected the examples and the class of each; give both")
    _arrays.check_device(device)
    _files.check_target(out, model, features, signatures, labels if labels and Path(labels).exists() else None)
    fitted = methods.load(model, device)
    teach.check_teaching_ability(fitted, model, "add_examples")
    if remove:
        change = teach.remove_examples(fitted, features, labels)
    else:
        assert features is not None
        assert labels is not None
        change = teach.teach_from_file(fitted, features, labels, signatures, wrong, new_classes)
    change.after.save(out)
    for sentence in change.sentences():
        note(sentence)
    note(f"wrote {out}")


@_options.reads_text("features")
def adapt(
    model: _options.UnchangedModel,
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {_options.TABLES}.")],
    out: _options.ModelOut,
    candidates: Annotated[
        Literal["unseen", "all"],
        typer.Option(help="What the rows may be of: unseen classes, or all classes of the model."),
    ] = "unseen",
    balance: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="1 if you know that each class has about as many of the rows; 0 if not."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Adapt even if nothing says that it helps.")] = False,
    device: _options.Device = None,
) -> None:
    """Let a model learn from rows whose classes nobody knows, and write the new model.

    Exit code 1 if validation classes promise no gain: then nothing is written.

    Example: [b]zskl adapt birds.zskl new.csv -o adapted.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import teach
    from zskl.estimators._class_means_adapt import NoClearGain

    _arrays.check_device(device)
    _files.check_target(out, model, features)
    fitted = methods.load(model, device)
    teach.check_teaching_ability(fitted, model, "adapt")
    try:
        found = teach.adapt_to_file(fitted, features, candidates, force, balance)
    except NoClearGain as refusal:
        fail(f"{refusal}; nothing was written", 1)
    found.after.save(out)
    for sentence in found.sentences():
        note(sentence)
    note(f"wrote {out}")


@_options.reads_text("features", "signatures")
def label_next(
    model: _options.ModelFile,
    features: Annotated[Path, typer.Argument(help=f"Unlabelled rows: {_options.TABLES}.")],
    n: Annotated[int, typer.Option("-n", "--rows", metavar="N", min=1, help="How many rows to name.")] = 10,
    strategy: Annotated[
        Literal["margin", "change"],
        typer.Option(
            help="margin: rows where the best two classes are close; change: rows whose label would move the classes "
            "most, for models that learn from examples."
        ),
    ] = "margin",
    diversity: Annotated[
        float, _options.more(min=0, help="How much it counts that rows differ from each other; 0: not at all.")
    ] = 1.0,
    signatures: _options.ClassTable = None,
    with_known: _options.WithKnown = False,
    candidates: _options.Candidates = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="A CSV file to write too, with a column for your labels."),
    ] = None,
    device: _options.Device = None,
) -> None:
    """Name the rows whose labels would help a model most, in the order in which to ask.

    Fill in the column "label" of the file, and hand it to [b]zskl teach[/b] as --labels; rows are found by their id.

    Example: [b]zskl label-next birds.zskl new.csv -n 10 -o ask.csv[/b]

    Example: [b]zskl teach birds.zskl --features new.csv --labels ask.csv -o taught.zskl[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import predict, teach

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    if out is not None:
        _files.check_target(out, model, features, signatures)
    found = teach.choose_rows_to_label(
        methods.load(model, device),
        features,
        n,
        strategy,
        signatures=signatures,
        with_known=with_known,
        candidates=candidates or None,
        diversity=diversity,
    )
    if out is not None:
        written = predict.write_predictions(out, found.table())
    picture = Table(box=box.SIMPLE, collapse_padding=True, pad_edge=False)
    for name in (found.named_by, "best", found.value, "second", found.value, "why"):
        picture.add_column(name, justify="right" if name == found.value else "left")
    for one in found.rows:
        pairs = zip(one.guesses, one.values, strict=True)
        cells = [str(one.row), *(str(cell) for pair in pairs for cell in pair), one.why]
        picture.add_row(*map(escape, cells))
    show_table(picture)
    if out is not None:
        note(f"wrote {out}: {written} rows")
