"""`zskl fit` and `zskl predict` on a folder of shards."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from zskl import _files as files
from zskl import methods
from zskl._arrays import runs_on_gpu
from zskl.batch import predict
from zskl.batch.fit import fit_shards
from zskl.cli.bars import Display, progress_display
from zskl.cli.heard import told_once
from zskl.cli.signals import STOPS, told
from zskl.cli.terminal import complain, fail, mention
from zskl.engines import Engine
from zskl.estimators.class_means import ClassMeansClassifier
from zskl.experiments import run_folder


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
    files.check_target(out)
    with told_once(), progress_display() as progress:
        task = progress.add_task(f"shards of {folder}", total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        fitted = fit_shards(folder, labels, signatures, model, engine=engine, report=report)
    fitted.save(out)
    rows = int(fitted.class_rows_.sum())
    count = f"{rows} rows of {len(fitted.classes_)} classes"
    mention(f"wrote {out}: {method} fitted on {count}, neither tuned nor calibrated")


def predict_folder(
    model: Path,
    folder: Path,
    out: Path | None,
    options: predict.Options,
    device: str | None,
    engine: Engine | None,
) -> None:
    """A file of predictions for each shard in `folder`, in the folder `out`."""
    if out is None:
        raise ValueError(
            f"{folder} is a folder: expected --out DIR, the folder for a file of predictions for each shard; add it"
        )
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file: expected a folder, since {folder} is one; name another")
    job, found = predict.plan_job(model, out, options, device), predict.find_shards(folder)
    with run_folder.open_log(out, predict.FILE) as folder_of_records:
        reasons = predict.reasons_to_run(job, found, folder_of_records)
        left = {place: found[place] for place in reasons}
        before, failures, rows = len(found) - len(left), 0, 0
        if before:
            mention(f"{before} of {len(found)} shards were done before")
        for reason, number in Counter(filter(None, reasons.values())).items():
            mention(f"{number} of {len(found)} shards are done again: {reason}")
        try:
            with Display([shard.name for shard in found], before, "all shards") as display:
                here = engine is None or runs_on_gpu(None, device)
                for place in set(range(len(found))) - set(left):
                    display.finished(place)
                runner = None if here else engine
                run = predict.predict_folder(job, left, runner, folder_of_records, display.started, display.told)
                with closing(run) as outcomes:
                    for place, outcome in outcomes:
                        display.finished(place)
                        if isinstance(outcome, predict.Failure):
                            failures += 1
                            complain(outcome.sentence)
                        else:
                            rows += outcome
        except STOPS as stop:
            how, code = told(stop)
            done = len(found) - len(predict.reasons_to_run(job, found, folder_of_records))
            fail(f"{how}: {done} of {len(found)} shards done; the same command continues", code)
    mention(f"wrote {rows} rows of {len(left) - failures} shard(s) to {out}")
    if failures:
        fail(
            f"{failures} of {len(found)} shards failed: mend them, then run the same command again",
            2,
        )
