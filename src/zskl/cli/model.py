"""`zskl fit` and `zskl predict`: a model file from a dataset, predictions from a model file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from zskl.cli import completion, options, startup
from zskl.cli.settings import setting
from zskl.cli.terminal import mention

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
    from zskl import _arrays, _files, methods
    from zskl.cli import fitting, named
    from zskl.cli.shards import fit_folder

    startup.over()
    runner = named.engine_of(engine, address, workers)
    settings = dict(setting(text) for text in set_ or [])
    if labels is not None:
        given = {**settings, "random_state": seed, "device": device}
        fit_folder(data, labels, signatures, out, method, given, bool(tune or calibrate or scoring), runner)
        return
    if runner is not None:
        raise ValueError(
            "--engine, --address and --workers were given without --labels: they are for a folder of shards; add it, "
            "or leave them out"
        )
    how = fitting.asked(tune, scoring, calibrate, quick=method.lower() == DEFAULT)
    _arrays.check_device(device)
    model = methods.build(method, {**settings, "random_state": seed, "device": device})
    _files.check_target(out)
    loaded = named.load_dataset(data, root, features, signatures)
    model, found = fitting.fitted(model, method, settings, loaded, how)
    fitting.provenance(model, data, loaded)
    model.save(out)
    fitting.tell(model, found, how.scoring)
    rows = len(loaded.parts["trainval"])
    mention(f"wrote {out}: {method} fitted on {rows} rows of {len(model.classes_)} classes of {loaded.name}")


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

    from zskl import _arrays, _files, methods
    from zskl.batch import predict
    from zskl.batch import predict as folder
    from zskl.cli import named
    from zskl.cli.heard import noted
    from zskl.cli.shards import predict_folder

    startup.over()
    options.check_known(with_known, signatures)
    _arrays.check_device(device)
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
        _files.check_target(out, model, features, signatures)
    with noted():
        lines = asked.predictor(methods.load(model, device)).lines(features)
        if out is None:
            csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
        else:
            mention(f"wrote {out}: {predict.write_predictions(out, lines)} rows")
