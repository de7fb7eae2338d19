"""`zskl predict`: predictions from a model file, for a file or for each shard of a folder."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zskl.cli import _options
from zskl.cli._progress import SweepDisplay
from zskl.cli._signals import STOPS, describe_stop
from zskl.cli._terminal import complain, fail, mention
from zskl.cli._warnings import collect_warnings

if TYPE_CHECKING:
    from zskl.batch.predict import Options
    from zskl.engines import Engine


def predict(
    model: _options.ModelFile,
    features: Annotated[
        Path, typer.Argument(help=f"A row per sample: {_options.TABLES}; or a folder of .parquet or .npy.")
    ],
    signatures: _options.ClassTable = None,
    with_known: _options.WithKnown = False,
    candidates: _options.Candidates = None,
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
    device: _options.Device = None,
    engine: _options.EngineOption = None,
    address: _options.Address = None,
    workers: _options.Workers = None,
) -> None:
    """Predict the class of each row of a file, or of a folder of files. A class needs a description, not training.

    Example: [b]zskl predict birds.zskl new.csv --signatures new_classes.csv --top 3 -o predictions.csv[/b]

    Example: [b]zskl predict birds.zskl shards --out predictions --engine loky[/b], and again after an interruption
    """
    import csv

    from zskl import _arrays, _files, methods
    from zskl.batch import predict
    from zskl.batch import predict as folder

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    runner = _options.make_engine(engine, address, workers)
    asked = folder.Options(
        None if signatures is None else str(signatures),
        with_known,
        tuple(candidates) if candidates else None,
        top,
        probabilities,
        reject,
    )
    if features.is_dir():
        _predict_folder(model, features, out, asked, device, runner)
        return
    if runner is not None:
        raise ValueError(
            f"{features} is not a folder: --engine, --address and --workers are for a folder of shards; leave them out"
        )
    if out is not None:
        _files.check_target(out, model, features, signatures)
    with collect_warnings():
        lines = asked.predictor(methods.load(model, device)).lines(features)
        if out is None:
            csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
        else:
            mention(f"wrote {out}: {predict.write_predictions(out, lines)} rows")


def _predict_folder(
    model: Path, folder: Path, out: Path | None, options: Options, device: str | None, engine: Engine | None
) -> None:
    """A file of predictions for each shard in `folder`, in the folder `out`."""
    from zskl._arrays import runs_on_gpu
    from zskl.batch import predict as folder_batch
    from zskl.experiments import run_folder
    from zskl.experiments.sweep import Failure

    if out is None:
        raise ValueError(
            f"{folder} is a folder: expected --out DIR, the folder for a file of predictions for each shard; add it"
        )
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file: expected a folder, since {folder} is one; name another")
    job, found = folder_batch.plan_job(model, out, options, device), folder_batch.find_shards(folder)
    with run_folder.open_log(out, folder_batch.FILE) as folder_of_records:
        reasons = folder_batch.reasons_to_run(job, found, folder_of_records)
        left = {place: found[place] for place in reasons}
        before, failures, rows = len(found) - len(left), 0, 0
        if before:
            mention(f"{before} of {len(found)} shards were done before")
        for reason, number in Counter(filter(None, reasons.values())).items():
            mention(f"{number} of {len(found)} shards are done again: {reason}")
        try:
            with SweepDisplay([shard.name for shard in found], before, "all shards") as display:
                here = engine is None or runs_on_gpu(None, device)  # processes would each load the model onto the GPU
                for place in set(range(len(found))) - set(left):
                    display.finished(place)
                runner = None if here else engine
                run = folder_batch.predict_folder(
                    job, left, runner, folder_of_records, display.started, display.describe
                )
                with closing(run) as outcomes:
                    for place, outcome in outcomes:
                        display.finished(place)
                        if isinstance(outcome, Failure):
                            failures += 1
                            complain(outcome.sentence)
                        else:
                            rows += outcome
        except STOPS as stop:
            how, code = describe_stop(stop)
            done = len(found) - len(folder_batch.reasons_to_run(job, found, folder_of_records))
            fail(f"{how}: {done} of {len(found)} shards done; the same command continues", code)
    mention(f"wrote {rows} rows of {len(left) - failures} shard(s) to {out}")
    if failures:
        fail(f"{failures} of {len(found)} shards failed: mend them, then run the same command again", 2)
