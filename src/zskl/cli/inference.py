"""`zskl predict`, `explain`, `export` and `serve`: a fitted model at work."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from zskl._display import count_noun
from zskl.cli import _options
from zskl.cli._terminal import STOPS, SweepDisplay, complain, fail, fail_on_stop, note, say

if TYPE_CHECKING:
    from zskl.batch.predict import Explained, Options
    from zskl.engines import Engine

FIRST = 5  # rows that the terminal shows of explanations unless others are asked for


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
        _options.more(
            metavar="SHARE",
            help='Answer "unknown" for rows of none of the classes, and for this share of all others, such as 0.05.',
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        _options.more(metavar="SHARE", help="Add the set of classes that holds the true one so often, such as 0.9."),
    ] = None,
    risk: Annotated[
        float | None,
        _options.more(
            metavar="SHARE", help='Answer a parent, or "unknown", where more than this share of answers would be wrong.'
        ),
    ] = None,
    min_probability: Annotated[
        float | None,
        _options.more(metavar="P", help='Answer "unknown" where the best probability is below P.'),
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
    encoding: _options.Encoding = "utf-8",
    decimal: _options.Decimal = ".",
) -> None:
    """Predict the class of each row of a file, or of a folder of files. A class needs a description, not training.

    Example: [b]zskl predict birds.zskl new.csv --signatures new_classes.csv --top 3 -o predictions.csv[/b]

    Example: [b]zskl predict birds.zskl shards --out predictions --engine loky[/b], and again after an interruption
    """
    import csv

    from zskl import _arrays, _files, methods
    from zskl.batch import predict

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    runner = _options.make_engine(engine, address, workers)
    asked = predict.Options(
        None if signatures is None else str(signatures),
        with_known,
        tuple(candidates) if candidates else None,
        top,
        probabilities,
        reject,
        coverage,
        risk,
        min_probability,
        encoding,
        decimal,
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
    lines = asked.predictor(methods.load(model, device)).lines(_options.mark_text(features, encoding, decimal))
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
    else:
        note(f"wrote {out}: {predict.write_predictions(out, lines)} rows")


def _predict_folder(
    model: Path, folder: Path, out: Path | None, options: "Options", device: str | None, engine: "Engine | None"
) -> None:
    """A file of predictions for each shard in `folder`, in the folder `out`."""
    from zskl._arrays import runs_on_gpu
    from zskl.batch import predict as batch
    from zskl.experiments import run_folder, sweep

    if out is None:
        raise ValueError(
            f"{folder} is a folder: expected --out DIR, the folder for a file of predictions for each shard; add it"
        )
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file: expected a folder, since {folder} is one; name another")
    job, found = batch.plan_job(model, out, options, device), batch.find_shards(folder)
    with run_folder.open_log(out, batch.FILE) as records:
        reasons = batch.reasons_to_run(job, found, records)
        left = {place: found[place] for place in reasons}
        before, failures, rows = len(found) - len(left), 0, 0
        if before:
            note(f"{before} of {len(found)} shards were done before")
        for reason, number in Counter(filter(None, reasons.values())).items():
            note(f"{number} of {len(found)} shards are done again: {reason}")
        try:
            with SweepDisplay([shard.name for shard in found], before, "all shards") as display:
                for place in set(range(len(found))) - set(left):
                    display.finished(place)
                # Processes would each load the model onto the GPU.
                runner = None if engine is None or runs_on_gpu(None, device) else engine
                run = batch.predict_folder(job, left, runner, records, display.started, display.describe)
                with closing(run) as outcomes:
                    for place, outcome in outcomes:
                        display.finished(place)
                        if isinstance(outcome, sweep.Failure):
                            failures += 1
                            complain(outcome.sentence)
                        else:
                            rows += outcome
        except STOPS as stop:
            done = len(found) - len(batch.reasons_to_run(job, found, records))
            fail_on_stop(stop, f": {done} of {len(found)} shards done; the same command continues")
    note(f"wrote {rows} rows of {count_noun(len(left) - failures, 'shard')} to {out}")
    if failures:
        fail(f"{failures} of {len(found)} shards failed: mend them, then run the same command again", 2)


@_options.reads_text("features", "signatures")
def explain(
    model: Annotated[Path, typer.Argument(help="A model file of class means, a kernel method or a bilinear one.")],
    features: Annotated[Path, typer.Argument(help=f"A row per sample: {_options.TABLES}.")],
    signatures: _options.ClassTable = None,
    with_known: _options.WithKnown = False,
    candidates: _options.Candidates = None,
    top: Annotated[int, typer.Option(min=1, help="How many attributes per row, strongest first.")] = 5,
    label: Annotated[
        str | None, _options.more(metavar="NAME", help="The class to explain. Default: the predicted one.")
    ] = None,
    against: Annotated[
        str | None, _options.more(metavar="NAME", help="The class to compare it with. Default: the best of the others.")
    ] = None,
    by: Annotated[
        Literal["attributes", "classes", "scaled"] | None,
        _options.more(
            help="attributes as you wrote them (default), as the model scales them (scaled), or, for class means, the "
            "classes it was trained on (default where columns have no names)."
        ),
    ] = None,
    raw: Annotated[bool, _options.more("--raw", hidden=True)] = False,
    rows: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N or N-M",
            help=f"Which rows, counted from 0; repeatable. Default: the first {FIRST}; all with -o or --json.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="The CSV file to write (default: the terminal).")
    ] = None,
    as_json: Annotated[bool, _options.more("--json", help="A line of JSON per row in place of text or CSV.")] = False,
    device: _options.Device = None,
) -> None:
    """Show what speaks for the class of each row and what against it, and how much; it adds up to the difference.

    Attributes speak, and of class means training rows and examples too.

    Example: [b]zskl explain birds.zskl new.csv --signatures new_classes.csv --rows 0-9 --top 3[/b]
    """
    from zskl import _arrays, _files, methods
    from zskl.batch import predict

    _options.check_with_known(with_known, signatures)
    _arrays.check_device(device)
    if out is not None:
        _files.check_target(out, model, features, signatures)
    if raw:
        note("--raw goes with 0.4: it is now the default, and --by attributes says it")
        by = by or "attributes"
    found = predict.explain_file(
        methods.load(model, device),
        features,
        signatures=signatures,
        with_known=with_known,
        candidates=candidates or None,
        top=top,
        label=label,
        against=against,
        rows=predict.parse_row_numbers(rows) if rows else None,
        by=by,
    )
    _write_explanations(found, bool(rows), out, as_json)


def _write_explanations(found: "Iterator[Explained]", chosen: bool, out: Path | None, as_json: bool) -> None:
    """Write explanations to a file, or the terminal."""
    from zskl import _files
    from zskl.batch import predict

    if as_json:
        lines = (json.dumps(one.record(), ensure_ascii=False) for one in found)
        if out is None:
            for line in lines:
                typer.echo(line)
            return
        text = "".join(f"{line}\n" for line in lines)
        _files.write_atomically(out, text.encode())
        note(f"wrote {out}: {text.count(chr(10))} rows")
    elif out is not None:
        note(f"wrote {out}: {predict.write_predictions(out, predict.explanation_lines(found))} lines")
    else:
        for one in found if chosen else islice(found, FIRST):
            say(f"{one.named_by} {one.row}: {one.explanation}")
        if not chosen and next(found, None) is not None:
            note(f"the first {FIRST} rows; --rows shows others, -o FILE writes all")


@_options.reads_text("rows")
def export(
    model: _options.ModelFile,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The file to write.")],
    to: Annotated[
        Literal["onnx", "scorer", "sql", "usearch", "faiss"] | None,
        typer.Option(
            help="An ONNX file (the default); of class means what zskl.Scorer needs, or SQL for DuckDB; or the class "
            "vectors as a search index, their names in FILE.json."
        ),
    ] = None,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="Fix the classes to those of the model: one input, less to compute.")
    ] = False,
    index: Annotated[
        Literal["usearch", "faiss"] | None,
        typer.Option(help="The same as --to usearch or --to faiss.", hidden=True),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="In an index: the rows of this features file in place of the classes."),
    ] = None,
) -> None:
    """Write a model as an ONNX file, scaling included: features, and signatures of any classes, to raw scores.

    --to usearch and --to faiss write vectors whose inner products order classes and rows as the model does. --to sql
    and --to scorer write class means for databases and for engines.

    Example: [b]zskl export birds.zskl -o birds.onnx[/b]

    Example: [b]zskl export birds.zskl -o classes.usearch --to usearch[/b]

    Example: [b]zskl export birds.zskl -o classes.sql --to sql[/b]
    """
    from zskl import _files, methods
    from zskl import export as exporting
    from zskl.batch.predict import write_row_index
    from zskl.scorer import Scorer

    if index is not None and to not in (None, index):
        raise ValueError(f"--to {to} and --index {index} were both given: leave one out")
    to = to or index or "onnx"
    index = to if to in ("usearch", "faiss") else None
    if index is None and rows is not None:
        raise ValueError(f"--rows {rows} was given with --to {to}: they go into an index; say --to usearch or faiss")
    if to != "onnx" and fixed:
        raise ValueError(f"--fixed and --to {to} were both given: --fixed is for ONNX files; leave one out")
    _files.check_target(out, model, rows)
    if to in ("scorer", "sql"):
        scorer = Scorer(model)
        exporting.to_sql(scorer, out) if to == "sql" else scorer.save(out)
        note(f"wrote {out}: the {len(scorer.classes_)} classes of {model} for {'DuckDB' if to == 'sql' else 'engines'}")
        return
    loaded = methods.load(model)
    if index is not None:
        if rows is None:
            exporting.to_index(loaded, out, index)
            what = f"the vectors of the {len(loaded.candidates_)} classes of {model}"
        else:
            what = f"the vectors of {write_row_index(loaded, rows, out, index)} rows of {rows}"
        note(f"wrote {out}: {what} for {index}; their names are in {out}.json")
        return
    exporting.to_onnx(loaded, out, signatures=not fixed)
    d, p, c = loaded.n_features_in_, loaded.signature_table_.matrix.shape[1], len(loaded.candidates_)
    inputs = f"features (n, {d})" if fixed else f"features (n, {d}) and signatures (c, {p})"
    note(f"wrote {out}: {inputs} to scores{'' if fixed else ', by default'} of the {c} classes of {model}")


@_options.reads_text("signatures")
def serve(
    model: Annotated[Path | None, typer.Argument(help="A model file.", envvar="ZSKL_MODEL")] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATASET",
            help="A dataset folder or name: rows to look at and to rank.",
            autocompletion=_options.complete_datasets,
            envvar="ZSKL_DATASET",  # ZSKL_DATA is the folder of the benchmarks
            allow_from_autoenv=False,
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Pictures of these rows, found by DIR/rows.csv (file, row) or by the rows' names."
        ),
    ] = None,
    backbone: Annotated[
        list[str] | None,
        _options.more(
            metavar="NAME",
            help="The network that made the features, to classify photos by: efficientnet-lite2, onnx:FILE, timm:NAME. "
            "Repeatable, in the order of the features. Default: what the model or the data name.",
        ),
    ] = None,
    host: Annotated[
        str, _options.more(help="The address to listen at. Any but this machine's own needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at; 0 picks a free one.")] = 8000,
    demo: Annotated[bool, typer.Option("--demo", help="Serve letters: a model and data that need no files.")] = False,
    token: Annotated[
        str | None,
        _options.more(
            envvar="ZSKL_TOKEN", help="A secret that every request must send; better set in the environment."
        ),
    ] = None,
    read_token: Annotated[
        str | None, _options.more(help="A second secret, for those who may ask everything and change nothing.")
    ] = None,
    rate_limit: Annotated[
        int | None, _options.more(min=1, metavar="N", help="Requests a minute that one address may send.")
    ] = None,
    access_log: Annotated[bool, _options.more("--access-log", help="Log a line for each request.")] = False,
    json_logs: Annotated[
        bool, _options.more("--json-logs", help="Log lines of JSON, with the ids of requests.")
    ] = False,
    public_url: Annotated[
        str | None,
        _options.more(
            metavar="URL", help="The address under which a proxy offers the service, such as https://birds.example/."
        ),
    ] = None,
    classes: Annotated[
        Path | None,
        _options.more(
            metavar="FILE", help="The database that keeps added classes. Default: MODEL.classes.db; --demo keeps none."
        ),
    ] = None,
    export_classes: Annotated[
        Path | None,
        _options.more(metavar="FILE", help="Write the added classes and examples as JSON lines, in place of serving."),
    ] = None,
    workers: Annotated[
        int,
        _options.about_machine(
            min=1,
            help="How many processes answer, for more requests a second than one core can serve. They share classes "
            "and examples. Not on Windows and macOS.",
        ),
    ] = 1,
    device: _options.Device = None,
    root: _options.Root = None,
    features: _options.Features = None,
    signatures: _options.Signatures = None,
) -> None:
    """Serve a model over HTTP, with a page to describe classes, classify rows and look at classes.

    Example: [b]zskl serve --demo[/b]

    Example: [b]zskl serve birds.zskl --data birds --images pictures --port 8080[/b]

    Each option can be set in the environment: ZSKL_PORT=8080, ZSKL_MODEL, ZSKL_DATASET (--data), ZSKL_DEMO=1.
    """
    from zskl import datasets, methods

    try:
        from zskl.serve import server
    except ImportError as error:
        raise ValueError(f"zskl serve needs the package {error.name}: pip install 'zskl[serve]'") from None
    if export_classes is not None:
        from zskl.serve import store

        kept = classes if model is None else classes or store.beside_model(model)
        if kept is None:
            raise ValueError("--export-classes was given without a model or --classes: name one of them")
        note(f"wrote {export_classes}: {store.export_classes(kept, export_classes)} lines")
        return
    if demo == (model is not None):
        raise ValueError("zskl serve takes a model file, or --demo" + (", not both" if demo else ""))
    if demo and any(given is not None for given in (data, images, device, root, features, signatures)):
        raise ValueError("--demo brings its own model and data: leave out --data, --images, --device and the like")
    if images is not None and data is None:
        raise ValueError("--images was given without --data: name the dataset whose rows the pictures show")
    address = server.Address(host, port, token, public_url, read_token, rate_limit)
    fitted = None if model is None else methods.load(model, device)
    loaded = None if data is None else _options.load_dataset(data, root, features, signatures)
    names = (
        None if data is None else datasets.row_names(data, root, _options.pick_dataset_features(data, features or []))
    )
    networks = "+".join(backbone or []) or None
    logs = {"json_logs": json_logs, "access_log": access_log}
    server.run_service(fitted, model, classes, loaded, names, images, networks, address, say, workers, device, **logs)
    note("stopped")
