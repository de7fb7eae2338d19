"""Rows a second of each engine that calls `zskl.Scorer`, against reading the same files and nothing else.

Run: python benchmarks/engines.py FOLDER [--rows 1000000] [--engine ray --engine dask] [--files 10] [--delete]

FOLDER gets Parquet files of 100,000 rows × 512 features in half precision, as many as asked for, and a model of 100
classes, 80 of them seen. A file holds the rows of the first one in another order, so what `predict` says of them is
known for any number of files; every answer is compared with that. Each engine runs in a process of its own, which reads
the files, scores, and writes Parquet. Processor time and memory are those of the process and all that it started (what
is shared between processes counts once); they are looked at every 0.2 s, so a short peak may be missed. Processes of
Ray and Dask use two cores, all others one. A line is added to results/engines.jsonl for each measurement; what is there
is not measured again. `--fit` compares `fit_shards` on Ray with a fit in memory. `--sizes` measures imports and files.
"""

# ruff: noqa: E501 (the sentences of a page)
from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "engines.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "engines.md"
BEGIN, END = "<!-- from benchmarks/engines.py -->\n", "<!-- end -->\n"
RECIPES = {  # engine → the section of the page that has its recipe, and which block of code
    "predict": None,
    "score_file": None,
    "polars": ("Polars", 0),
    "duckdb": ("DuckDB", 0),
    "duckdb sql": ("SQL alone", 1),
    "dask": ("Dask", 0),
    "dask frame": ("Dask", 1),
    "ray": ("Ray Data", 0),
    "spark": ("Spark", 0),
}
SAID = {
    "predict": "`predict` of the model itself",
    "score_file": "`score_file`, no engine",
    "polars": "Polars, streaming",
    "duckdb": "DuckDB, function over Arrow",
    "duckdb sql": "DuckDB, SQL alone, on whitened vectors",
    "dask": "Dask, bag of files",
    "dask frame": "Dask, data frame",
    "ray": "Ray Data, one actor",
    "spark": "Spark, `mapInArrow`, float32",
}
MACHINES, CORES, NETWORK, PRICE = 100, 16, 1.25e9, 0.04  # on paper: cores, bytes a second and dollars a core and hour
FEATURES, CLASSES, SEEN, SHARD = 512, 100, 80, 100_000
TWO_CORES = ("ray", "dask", "dask frame", "reading twice")
BATCH = 1 << 14


def draw(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    means = np.random.default_rng(1).normal(size=(CLASSES, 16)) @ np.random.default_rng(2).normal(size=(16, FEATURES))
    found = 0.15 * means[y] + rng.normal(size=(len(y), FEATURES))
    return np.maximum(found, 0).astype(np.float16)


def prepare(folder: Path, files: int) -> None:
    """The model, what it says of the rows of the first file, and files."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from zskl import ClassMeansClassifier

    (folder / "rows").mkdir(parents=True, exist_ok=True)
    if not (folder / "expected.npy").exists():
        rng = np.random.default_rng(0)
        names = np.array([f"class {k:02d}" for k in range(CLASSES)])
        table = pd.DataFrame(np.random.default_rng(1).normal(size=(CLASSES, 16)), index=names)
        y = rng.integers(0, SEEN, 20_000)
        model = ClassMeansClassifier(crowding=0.1).fit(draw(rng, y), names[y], table)
        model.calibration_ = 0.02
        model.temperatures_ = {"seen": 0.05, "unseen": 0.05, "mixed": 0.05}
        model.save(folder / "model.zskl")
        pool = draw(rng, rng.integers(0, CLASSES, SHARD))
        np.save(folder / "pool.npy", pool)
        np.save(folder / "expected.npy", model.predict(pool))
    pool = np.load(folder / "pool.npy")
    for k in range(files):
        path = folder / "rows" / f"part-{k:05d}.parquet"
        if path.exists():
            continue
        X = np.roll(pool, -shift(k), axis=0)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), FEATURES)
        table = pa.table({"id": np.arange(k * SHARD, (k + 1) * SHARD), "vector": vectors})
        pq.write_table(table, f"{path}.part", use_dictionary=False, compression="none", row_group_size=BATCH)
        os.replace(f"{path}.part", path)


def shift(k: int) -> int:
    return 7919 * k % SHARD


def expected(folder: Path, ids: np.ndarray) -> np.ndarray:
    file, row = np.divmod(ids, SHARD)
    shifts = np.array([shift(k) for k in range(int(file.max()) + 1)])
    return np.load(folder / "expected.npy")[(row + shifts[file]) % SHARD]


# Engines: each reads `files`, and writes Parquet into `out`


def reading(folder: Path, files: list[str], out: Path) -> None:
    """Decode the files into Arrow, and look at nothing."""
    import pyarrow.parquet as pq

    for file in files:
        with pq.ParquetFile(file) as opened:
            for _ in opened.iter_batches(BATCH, use_threads=False):
                pass


def reading_twice(folder: Path, files: list[str], out: Path) -> None:
    from joblib import Parallel, delayed

    Parallel(2)(delayed(reading)(folder, files[k::2], out) for k in range(2))


def numpy_alone(folder: Path, files: list[str], out: Path) -> None:
    from zskl.engines import score_file

    for file in files:
        score_file(file, out / Path(file).name, folder / "model.zskl")


def predict(folder: Path, files: list[str], out: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from zskl import load

    model = load(folder / "model.zskl")
    for file in files:
        with pq.ParquetFile(file) as opened:
            tables = []
            for batch in opened.iter_batches(BATCH, use_threads=False):
                X = batch.column("vector").flatten().to_numpy().reshape(-1, FEATURES)
                tables.append(pa.table({"id": batch.column("id"), "class": model.predict(X)}))
        pq.write_table(pa.concat_tables(tables), out / Path(file).name)


def polars(folder: Path, files: list[str], out: Path) -> None:
    import polars as pl

    from zskl import Scorer

    scorer = Scorer(folder / "model.zskl")
    answers = {
        "id": pl.Int64,
        "class": pl.String,
        "score": pl.Float32,
        "probability": pl.Float32,
        "unknown": pl.Boolean,
    }
    lazy = pl.scan_parquet(files)
    found = lazy.map_batches(lambda frame: pl.DataFrame(scorer(frame)), schema=answers, streamable=True)
    found.sink_parquet(out / "found.parquet")


def duckdb(folder: Path, files: list[str], out: Path) -> None:
    import duckdb

    from zskl import Scorer

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    kind = "STRUCT(class VARCHAR, score FLOAT, probability FLOAT, unknown BOOLEAN)"
    connection.create_function("zskl_answer", Scorer(folder / "model.zskl"), ["FLOAT[]"], kind, type="arrow")
    query = f"SELECT id, unnest(zskl_answer(vector)) FROM read_parquet({files})"
    connection.sql(f"COPY ({query}) TO '{out / 'found.parquet'}'")


def sql(folder: Path, files: list[str], out: Path) -> None:
    """On vectors that `prepare_sql` has written."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute((folder / "classes.sql").read_text("utf-8"))
    for file in files:
        connection.execute(
            f"CREATE OR REPLACE VIEW some_rows AS SELECT * FROM '{folder / 'vectors' / Path(file).name}'"
        )
        connection.sql(f"COPY (SELECT * FROM zskl_score('some_rows')) TO '{out / Path(file).name}'")


def prepare_sql(folder: Path, files: list[str]) -> None:
    from zskl.engines import score_file
    from zskl.export import to_sql

    to_sql(folder / "model.zskl", folder / "classes.sql")
    (folder / "vectors").mkdir(exist_ok=True)
    for file in files:
        if not (folder / "vectors" / Path(file).name).exists():
            score_file(file, folder / "vectors" / Path(file).name, folder / "model.zskl", vectors=True)


def score_one(file: str, out: Path, model: Path) -> int:
    from zskl.engines import score_file

    return score_file(file, out / Path(file).name, model)


def dask(folder: Path, files: list[str], out: Path) -> None:
    import dask.bag
    import distributed

    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        bag = dask.bag.from_sequence(files, npartitions=len(files))
        bag.map(score_one, out=out, model=folder / "model.zskl").compute()


def dask_frame(folder: Path, files: list[str], out: Path) -> None:
    import dask.dataframe as dd
    import distributed

    from zskl import Scorer

    scorer = Scorer(folder / "model.zskl")
    meta = {"id": "int64", "class": "str", "score": "float32", "probability": "float32", "unknown": "bool"}
    with (
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
    ):
        frame = dd.read_parquet(files, columns=["id", "vector"])
        frame.map_partitions(lambda part: scorer(part).to_pandas(), meta=meta).to_parquet(out)


def ray(folder: Path, files: list[str], out: Path) -> None:
    import ray

    from zskl import Scorer

    found = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR", runtime_env=found)
    actors = ray.data.ActorPoolStrategy(size=1)
    source = ray.data.read_parquet(files)
    model = (str(folder / "model.zskl"),)
    source.map_batches(
        Scorer, fn_constructor_args=model, batch_format="pyarrow", batch_size=BATCH, compute=actors
    ).write_parquet(str(out))


def spark(folder: Path, files: list[str], out: Path) -> None:
    from pyspark.sql import SparkSession

    from zskl import Scorer

    scorer = Scorer(folder / "model.zskl")
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
    kinds = "id long, class string, score float, probability float, unknown boolean"
    rows = session.read.parquet(*[file.replace("/rows/", "/rows32/") for file in files])
    rows.mapInArrow(lambda batches: map(scorer, batches), kinds).write.mode("overwrite").parquet(str(out))


def prepare_spark(folder: Path, files: list[str]) -> None:
    """The rows in float32, as Spark reads no half precision."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "rows32").mkdir(exist_ok=True)
    for file in files:
        table = pq.read_table(file)
        X = table["vector"].combine_chunks().flatten().to_numpy().astype(np.float32)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X), FEATURES)
        pq.write_table(pa.table({"id": table["id"], "vector": vectors}), file.replace("/rows/", "/rows32/"))


ENGINES: dict[str, Callable[[Path, list[str], Path], None]] = {
    "reading": reading,
    "reading twice": reading_twice,
    "predict": predict,
    "score_file": numpy_alone,
    "polars": polars,
    "duckdb": duckdb,
    "duckdb sql": sql,
    "dask": dask,
    "dask frame": dask_frame,
    "ray": ray,
    "spark": spark,
}
PREPARED = {"duckdb sql": prepare_sql, "spark": prepare_spark}


class Watch:
    """Processor seconds and the largest private memory of a process and its descendants."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._psutil, self._root = psutil, psutil.Process(pid)
        self.seconds: dict[int, float] = {}
        self.bytes = 0

    def look(self) -> None:
        total = 0
        try:
            family = [self._root, *self._root.children(recursive=True)]
        except self._psutil.NoSuchProcess:
            return
        for one in family:
            try:
                times, memory = one.cpu_times(), one.memory_info()
            except self._psutil.NoSuchProcess:
                continue
            self.seconds[one.pid] = times.user + times.system
            total += memory.rss - memory.shared
        self.bytes = max(self.bytes, total)


def measure(folder: Path, name: str, files: list[str]) -> dict[str, Any]:
    import pyarrow.dataset as ds

    if name in PREPARED:
        PREPARED[name](folder, files)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    began = time.perf_counter()
    line = [sys.executable, __file__, str(folder), "--one", name, "--files", str(len(files))]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    while process.poll() is None:
        watch.look()
        time.sleep(0.2)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"{name}: {process.stderr.read()[-2000:] if process.stderr else ''}")
    rows = len(files) * SHARD
    found: dict[str, Any] = {"engine": name, "rows": rows, "seconds": seconds, "cores": 1 + (name in TWO_CORES)}
    found |= {"processor_seconds": sum(watch.seconds.values()), "bytes": watch.bytes}
    if not name.startswith("reading"):
        different = count = 0
        for batch in ds.dataset(out, format="parquet").to_batches(columns=["id", "class"]):
            count += len(batch)
            if len(batch):
                names = np.asarray(batch.column("class").to_pylist())
                different += int((names != expected(folder, batch.column("id").to_numpy())).sum())
        if count != rows:
            raise RuntimeError(f"{name} wrote {count} of {rows} rows")
        found["different"] = different
    shutil.rmtree(out)
    return found


def fit(folder: Path, files: int) -> dict[str, Any]:
    """`fit_shards` on Ray, in this process, and one fit in memory."""
    import pandas as pd

    from zskl import ClassMeansClassifier, engines, fit_shards

    names = np.array([f"class {k:02d}" for k in range(CLASSES)])
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(CLASSES, 16)), index=names)
    y = np.random.default_rng(3).integers(0, SEEN, files * SHARD // 10)
    X = draw(np.random.default_rng(4), y)
    for part, values in (("fit_rows", X), ("fit_labels", names[y])):
        (folder / part).mkdir(exist_ok=True)
        for k, some in enumerate(np.array_split(values, files)):
            np.save(folder / part / f"part-{k}.npy", some)
    models = {"memory": ClassMeansClassifier().fit(X, names[y], table)}
    found: dict[str, Any] = {"engine": "fit", "rows": len(X), "shards": files}
    for name, engine in (("here", None), ("ray", engines.Engine("ray", workers=2))):
        began = time.perf_counter()
        models[name] = fit_shards(folder / "fit_rows", folder / "fit_labels", table, engine=engine)
        found[f"seconds_{name}"] = time.perf_counter() - began
    for one, other in (("ray", "here"), ("ray", "memory")):
        pairs = [(getattr(models[one], name), getattr(models[other], name)) for name in ("center_", "eigenvalues_")]
        found[f"apart_{other}"] = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)
    return found


def sizes(folder: Path) -> dict[str, Any]:
    """Bytes of files, and processor seconds of imports in fresh processes, the least of five."""
    from zskl import Scorer, export

    scorer = Scorer(folder / "model.zskl")
    scorer.save(folder / "scorer.zskl")
    export.to_sql(scorer, folder / "classes.sql")
    found: dict[str, Any] = {"engine": "sizes", "features": FEATURES, "classes": CLASSES}
    found["files"] = {
        name: (folder / file).stat().st_size
        for name, file in (("model file", "model.zskl"), ("scorer", "scorer.zskl"), ("SQL", "classes.sql"))
    }
    model, row = repr(str(folder / "model.zskl")), f"[[0.0] * {FEATURES}]"
    lines = {
        "numpy": "import numpy",
        "zskl.Scorer": "import zskl; zskl.Scorer",
        "zskl.Scorer, a model and a first row": f"import zskl; zskl.Scorer({model})({row})",
        "zskl.load": "import zskl; zskl.load",
        "zskl.load, a model and a first row": f"import zskl; zskl.load({model}).predict({row})",
    }
    for kind in ("seconds", "wall"):
        found[kind] = {}
    for name, code in lines.items():
        timed = [
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    f"import time; t = time.perf_counter(); {code}\n"
                    "print(time.process_time(), time.perf_counter() - t)",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            for _ in range(5)
        ]
        found["seconds"][name], found["wall"][name] = (min(float(one[k]) for one in timed) for k in (0, 1))
    return found


# The page


def count_lines(page: str, engine: str) -> str:
    """Lines of code of a recipe."""
    if RECIPES[engine] is None:
        return ""
    section, place = RECIPES[engine]
    (text,) = re.findall(rf"^##+ {re.escape(section)}\n(.*?)(?=^##+ |\Z)", page, re.MULTILINE | re.DOTALL)
    code = re.findall(r"^```(?:py|python)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[
        place if section != "SQL alone" else 0
    ]
    return str(len([line for line in code.splitlines() if line.strip()]))


def page_part(lines: list[dict[str, Any]], page: str) -> Iterator[str]:
    from page_tables import measured_on, table  # not above: what an engine starts with counts

    by = {(one["engine"], one.get("rows")): one for one in lines}
    rows = max((n for engine, n in by if engine == "polars"), default=0)
    read = {cores: by.get((name, rows)) for cores, name in ((1, "reading"), (2, "reading twice"))}
    yield (
        f"`python benchmarks/engines.py FOLDER`: {rows:,} rows of {FEATURES} features in half precision in Parquet files, {CLASSES} classes. "
        "*Reading* decodes the files into Arrow and looks at nothing; with two cores two processes do. The rates are rows a second of the whole "
        "program, its start included, and rows a second of processor time, which other work on the machine changes less; the shares are those of "
        "processor time. Scores take most of it: each row is multiplied by a matrix of 512 × 512 and by the class vectors. *Different* counts rows of another class than `predict` gives. *Memory* is that of all processes of the engine.\n"
    )
    drawn = []
    for name, said in SAID.items():
        one = by.get((name, rows))
        if one is None or read[one["cores"]] is None:
            continue
        rate, whole = rows / one["processor_seconds"], read[one["cores"]]
        drawn.append(
            [
                *(said, str(one["cores"]), f"{rows / one['seconds']:,.0f}", f"{rate:,.0f}"),
                f"{100 * rate * whole['processor_seconds'] / rows:.0f} %",
                *(f"{one['different']}", f"{one['bytes'] / 1e6:,.0f}", count_lines(page, name)),
            ]
        )
    for cores, one in read.items():
        if one is not None:
            figures = f"{rows / one['seconds']:,.0f}", f"{rows / one['processor_seconds']:,.0f}"
            drawn.append(["reading alone", str(cores), *figures, "100 %", "", f"{one['bytes'] / 1e6:,.0f}", ""])
    head = "", "cores", "rows / s", "rows / processor s", "of reading", "different", "memory, MB", "lines of code"
    yield table(head, drawn)
    grown = sorted(
        (one for one in lines if one["engine"] in ("ray", "dask")), key=lambda one: (one["engine"], one["rows"])
    )
    yield (
        "Growth, on two cores. The features are 1 kB a row. Other work took most of the machine, so seconds are several times those of a quiet "
        "one. Ray's own processes take processor time and memory from the start:\n"
    )
    yield table(
        ("", "rows", "seconds", "rows / s", "rows / processor s", "of reading", "different", "memory, MB"),
        [
            [
                *(
                    SAID[one["engine"]],
                    f"{one['rows']:,}",
                    f"{one['seconds']:,.0f}",
                    f"{one['rows'] / one['seconds']:,.0f}",
                ),
                f"{one['rows'] / one['processor_seconds']:,.0f}",
                f"{100 * whole['processor_seconds'] / one['processor_seconds']:.0f} %"
                if (whole := by.get(("reading twice", one["rows"])))
                else "",
                *(f"{one['different']}", f"{one['bytes'] / 1e6:,.0f}"),
            ]
            for one in grown
        ],
    )
    if (found := by.get(("sizes", None))) is not None:
        yield "What starts, in a fresh process (the least of five), and what is written:\n"
        pairs = [
            [f"`{name}`", f"{found['wall'][name]:.2f}", f"{seconds:.2f}"] for name, seconds in found["seconds"].items()
        ]
        yield table(("import", "seconds", "processor seconds"), pairs)
        kinds = [[name, f"{size / 1e6:.2f}"] for name, size in found["files"].items()]
        yield table((f"{FEATURES} features, {CLASSES} classes", "MB"), kinds)
    fits = [one for one in lines if one["engine"] == "fit"]
    if fits:
        one = fits[-1]
        yield (
            f"`fit_shards` on Ray, {one['rows']:,} rows in {one['shards']} shards: "
            f"{'the same numbers as' if not one['apart_here'] else format(one['apart_here'], '.0e') + ' apart from'} the same call without an engine, "
            f"and {one['apart_memory']:.0e} apart from one `fit` in memory, relative to the largest (asked for: 1e-10).\n"
        )
    largest = max(grown, key=lambda one: one["rows"], default=None)
    if largest is not None:
        rate = largest["rows"] / largest["processor_seconds"]
        yield "### On paper\n"
        yield (
            f"A billion rows and more, from {rate:,.0f} rows a second of processor time, on {MACHINES} machines of {CORES} cores that read "
            f"{NETWORK / 1e9:.2f} GB/s each, at {PRICE} $ for an hour of a core. Nobody has measured these.\n"
        )
        drawn = []
        for count in (10**9, 10**10):
            work = count / rate
            seconds, wait = work / (MACHINES * CORES), count * 2 * FEATURES / (MACHINES * NETWORK)
            cost = max(seconds, wait) * MACHINES * CORES / 3600 * PRICE
            drawn.append(
                [
                    f"10{'⁹' if count == 10**9 else '¹⁰'}",
                    f"{count * 2 * FEATURES / 1e12:.0f}",
                    f"{wait:,.0f}",
                    f"{seconds:,.0f}",
                    f"{cost:,.2f}",
                ]
            )
        yield table(("rows", "TB to read", "s to read", "s to score", "$"), drawn)
        per_class = 2 * FEATURES / (rate * 2 * FEATURES * (FEATURES + CLASSES))
        exact = 1 / (1e6 * per_class)
        yield (
            "Tasks are independent, so machines help until there are more of them than files. What breaks first is the reading: if the storage serves "
            f"all machines together with less than {rate * CORES * 2 * FEATURES * MACHINES / 1e9:,.0f} GB/s, the cores wait for it. Of answers there are some 20 bytes a row.\n"
        )
        yield (
            f"With 10⁶ classes each row costs 10⁶ products in place of {CLASSES}: {exact:,.0f} rows a second of a core, and the class vectors take "
            f"{1e6 * 4 * (FEATURES + 1) / 1e9:.1f} GB in each process. There an index pays: {index_said()} So 10⁹ rows × 10⁶ classes are "
            f"{1e9 / exact / (MACHINES * CORES) / 3600:,.0f} hours of the machines above by the scorer. "
            "It then needs a scorer whose class vectors are shared by the processes of a machine, which is not there yet.\n"
        )
    if lines:
        yield measured_on({"machine": lines[-1]["machine"]})


def index_said() -> str:
    found = json.loads(RESULTS.with_name("million_classes.json").read_text("utf-8"))["figures"]
    one, exact = (found["ways"][name] for name in ("usearch, expansion 256", "exact scan"))
    return (
        f"with {found['classes']:,} classes usearch finds {100 * one['recall']:.1f} % of the ten best in {100 * one['seconds'] / exact['seconds']:.0f} % "
        "of the time of the exact scan ([measured](performance.md)), and its time grows with the logarithm."
    )


def put_into_page(page: str, lines: list[dict[str, Any]]) -> str:
    part = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    return part.sub(lambda _: BEGIN + "\n".join(page_part(lines, page)) + END, page)


def read_results() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] if RESULTS.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=10, help="of 100,000 rows")
    parser.add_argument("--engine", action="append", choices=[*ENGINES], help="repeatable; default: all but Spark")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--delete", action="store_true", help="delete FOLDER in the end")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder = given.folder.absolute()
    files = [str(folder / "rows" / f"part-{k:05d}.parquet") for k in range(given.files)]
    warnings.simplefilter("ignore")
    if given.one:
        ENGINES[given.one](folder, files, folder / "out")
        return
    known = read_results()

    import machine

    def add(found: dict[str, Any]) -> None:
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**found, "machine": machine.describe()}) + "\n")
        print(found, flush=True)

    prepare(folder, given.files)
    if given.fit:
        add(fit(folder, given.files))
    if given.sizes:
        add(sizes(folder))
    for name in given.engine or ([] if given.fit or given.sizes else [*ENGINES][:-1]):
        if not any((one["engine"], one.get("rows")) == (name, given.files * SHARD) for one in known):
            try:
                add(measure(folder, name, files))
            except RuntimeError as error:
                print(error, flush=True)
    PAGE.write_text(put_into_page(PAGE.read_text("utf-8"), read_results()), "utf-8")
    if given.delete:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
