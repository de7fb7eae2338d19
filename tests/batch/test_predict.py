"""`zskl predict` on a folder: the predictions of each file by itself, whatever ends the run or changes in between."""

import inspect
import json
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import zskl
from zskl import ClassMeansClassifier, ZeroShotKernelClassifier
from zskl.batch import predict
from zskl.cli import app
from zskl.experiments import run_folder

pytest.importorskip("pyarrow", reason="an extra: Parquet shards")
NAMES = [f"f{k}" for k in range(6)]
ENGINES = pytest.mark.xdist_group("engines")  # with their workers
SHARDS = ["a.npy", "b.parquet", "c.pq"]
DEFAULTS_OF_0_2 = {
    "signatures": None,
    "with_known": False,
    "candidates": None,
    "top": 5,
    "probabilities": False,
    "reject": None,
}


def zskl_predict(*arguments):
    """(exit code, remarks, standard error); nothing is printed to standard output."""
    result = CliRunner().invoke(app, ["predict", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    notes = [line for line in result.stderr.splitlines(keepends=True) if line.startswith("note: ")]
    assert not result.stdout
    return result.exit_code, "".join(notes).replace("note: ", ""), result.stderr


def fit(path, seed, **settings):
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(8, 4)), index=[*"abcdefgh"], columns=[*"pqrs"])
    y = np.repeat([*"abcdef"], 12)
    X = table.loc[y].to_numpy() @ rng.normal(size=(4, 6)) + 0.3 * rng.normal(size=(len(y), 6))
    model = ZeroShotKernelClassifier(epochs=2, random_state=seed, **settings)
    model.fit(pd.DataFrame(X.astype(np.float32), columns=NAMES), y, table).save(path)
    table.to_csv("classes.csv", index_label="class")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """model.zskl, other.zskl and a folder of three shards; a label and a column more than the model knows are there."""
    monkeypatch.chdir(tmp_path)
    fit("model.zskl", 0)
    fit("other.zskl", 1, init="uniform")
    rng = np.random.default_rng(0)
    Path("shards").mkdir()
    np.save("shards/a.npy", rng.normal(size=(700, 6)).astype(np.float32))
    frame = pd.DataFrame(rng.normal(size=(500, 6)), columns=NAMES)
    frame.assign(label="x", weight=2.0)[["label", *reversed(NAMES), "weight"]].to_parquet(
        "shards/b.parquet", row_group_size=100, index=False
    )
    frame.assign(id=[f"row {k}" for k in range(500)]).to_parquet("shards/c.pq", index=False)
    for other in ("readme.txt", "_SUCCESS", ".hidden.npy", "_delta.parquet"):
        (tmp_path / "shards" / other).write_text("no features")
    return tmp_path


def outputs(folder="out"):
    return {path.name: path.read_text() for path in sorted(Path(folder).glob("*.csv"))}


def one_by_one(*options, model="model.zskl"):
    Path("single").mkdir(exist_ok=True)
    for name in SHARDS:
        assert zskl_predict(model, f"shards/{name}", "-o", f"single/{name}.csv", *options)[0] == 0
    return outputs("single")


@pytest.mark.parametrize(
    "options",
    [[], ["--top", "2", "--candidates", "h", "--candidates", "a"], ["--signatures", "classes.csv"]],
    ids=["plain", "candidates", "signatures"],
)
@pytest.mark.parametrize(
    "engine", [[], pytest.param(["--engine", "loky", "--workers", "2"], marks=ENGINES)], ids=["here", "loky"]
)
def test_each_shard_gets_the_predictions_of_the_file_by_itself(here, options, engine, monkeypatch):
    monkeypatch.setattr("zskl.datasets.tables.features.BLOCK_VALUES", 600)  # several blocks
    code, out, _ = zskl_predict("model.zskl", "shards", "--out", "out", *options, *engine)
    assert (code, out) == (0, "wrote 1700 rows of 3 shards to out\n")
    assert sorted(os.listdir("out")) == ["a.npy.csv", "b.parquet.csv", "c.pq.csv", "predictions.jsonl"]
    assert outputs() == one_by_one(*options)
    assert outputs()["c.pq.csv"].startswith("id,class,score")


def test_probabilities_and_rejection(here):
    loaded = zskl.load("model.zskl")
    loaded.temperatures_ = {"seen": 0.3, "unseen": 0.3, "mixed": 0.3}
    loaded.save("model.zskl")
    options = ["--probabilities", "--min-probability", "0.3"]
    assert zskl_predict("model.zskl", "shards", "--out", "out", *options)[0] == 0
    assert outputs() == one_by_one(*options)
    assert "unknown" in outputs()["a.npy.csv"]


def run(*arguments, model="model.zskl"):
    """The sentences, and which outputs were written again."""
    before = {path: path.stat().st_mtime_ns for path in Path("out").glob("*.csv")}
    code, out, errors = zskl_predict(model, "shards", "--out", "out", *arguments)
    again = [path.name for path in sorted(Path("out").glob("*.csv")) if before.get(path) != path.stat().st_mtime_ns]
    return code, out, errors, again


ALL = ["a.npy.csv", "b.parquet.csv", "c.pq.csv"]


def test_finished_shards_are_skipped(here):
    assert run()[3] == ALL
    code, out, _, again = run()
    assert (code, again) == (0, [])
    assert out == "3 of 3 shards were done before\nwrote 0 rows of 0 shards to out\n"


def test_finished_shards_with_candidates_are_skipped(here):
    """They are a tuple in memory and a list in the file."""
    chosen = ["--candidates", "h", "--candidates", "a"]
    assert run(*chosen)[3] == ALL
    assert run(*chosen)[3] == []
    assert run(*chosen[:2])[3] == ALL


@pytest.mark.parametrize("line", ['{"a": 1}', '{"shard": "a.npy"}'])
def test_lines_of_other_programs_are_ignored(here, line):
    Path("out").mkdir()
    Path("out", "predictions.jsonl").write_text(line + "\n", encoding="utf-8")
    code, _, _, again = run()
    assert (code, again) == (0, ALL)


def test_shards_run_again_with_another_model(here):
    run()
    _, out, _, again = run(model="other.zskl")
    assert again == ALL
    assert "3 of 3 shards are done again: predicted by another model" in out
    assert outputs() == one_by_one(model="other.zskl")
    _, out, _, again = run()  # the first model again: its lines are there, its predictions are not
    assert again == ALL
    assert outputs() == one_by_one()


def test_shards_run_again_if_the_model_file_changed(here):
    run()
    os.replace("other.zskl", "model.zskl")
    _, out, _, again = run()
    assert again == ALL
    assert "another model" in out


@pytest.mark.parametrize("options", [["--top", "2"], ["--candidates", "a"], ["--signatures", "classes.csv"]])
def test_shards_run_again_with_other_options(here, options):
    run()
    _, out, _, again = run(*options)
    assert again == ALL
    assert "3 of 3 shards are done again: predicted with other options" in out
    assert outputs() == one_by_one(*options)


def test_a_predictor_takes_the_options_of_shards_and_no_others():
    """An option that `Options` lacks would not be told from its default."""
    assert set(inspect.signature(predict.Predictor).parameters) == {"model", "options"}
    with pytest.raises(TypeError, match="penalty"):
        predict.Predictor(None, penalty=0.5)


def test_a_new_option_at_its_default_leaves_finished_shards_finished(here, monkeypatch):
    """And another value of it runs them again."""
    assert run("--top", "2")[3] == ALL

    @dataclass(frozen=True)
    class Options(predict.Options):
        penalty: float = 0.0

    class Predictor(predict.Predictor):
        def __init__(self, model, *, penalty=0.0, **options):
            super().__init__(model, **options)

    monkeypatch.setattr(predict, "Options", Options)
    monkeypatch.setattr(predict, "Predictor", Predictor)
    assert run("--top", "2")[3] == []
    monkeypatch.setattr(predict, "Options", partial(Options, penalty=0.5))
    code, out, _, again = run("--top", "2")
    assert (code, again) == (0, ALL)
    assert "3 of 3 shards are done again: predicted with other options" in out
    assert run("--top", "2")[3] == []
    monkeypatch.setattr(predict, "Options", Options)
    assert run("--top", "2")[3] == ALL  # back at the default
    monkeypatch.undo()
    os.chdir(here)
    assert run("--top", "2")[3] == []  # a version without the option


@pytest.mark.parametrize("options", [[], ["--top", "2", "--candidates", "a"], ["--signatures", "classes.csv"]])
def test_shards_that_version_0_2_finished_stay_finished(here, options):
    """Its lines name every option."""
    assert run(*options)[3] == ALL
    log = Path("out", predict.FILE)
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    old = [{**line, "options": DEFAULTS_OF_0_2 | line["options"]} for line in lines]
    log.write_text("".join(json.dumps(line) + "\n" for line in old), encoding="utf-8")
    assert run(*options)[3] == []
    assert run(*options, "--top", "3")[3] == ALL


def test_shards_run_again_if_the_table_changed(here):
    run("--signatures", "classes.csv")
    frame = pd.read_csv("classes.csv")
    frame[frame["class"] != "a"].to_csv("classes.csv", index=False)
    assert run("--signatures", "classes.csv")[3] == ALL
    assert outputs() == one_by_one("--signatures", "classes.csv")


def test_changed_and_new_shards_are_run(here):
    run()
    np.save("shards/a.npy", np.ones((30, 6)))
    np.save("shards/d.npy", np.ones((20, 6)))
    _, out, _, again = run()
    assert again == ["a.npy.csv", "d.npy.csv"]
    assert "2 of 4 shards were done before" in out
    assert "1 of 4 shards are done again: changed since they were predicted" in out
    assert outputs()["a.npy.csv"].count("\n") == 31


def test_shards_run_again_if_their_output_is_lost_or_changed(here):
    run()
    Path("out/a.npy.csv").unlink()
    Path("out/c.pq.csv").write_text("edited", encoding="utf-8")
    _, out, _, again = run()
    assert again == ["a.npy.csv", "c.pq.csv"]
    assert "2 of 3 shards are done again: without their file of predictions, or with one that was changed" in out
    assert outputs() == one_by_one()


def test_an_output_of_the_same_size_but_another_time_is_not_trusted(here):
    """As if a run with another model had been killed between a file and its line."""
    run()
    path = Path("out/a.npy.csv")
    text = path.read_text(encoding="utf-8")
    path.write_text(text[:-2] + "9\n", encoding="utf-8")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert run()[3] == ["a.npy.csv"]
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("engine", [[], pytest.param(["--workers", "2"], marks=ENGINES)], ids=["here", "loky"])
def test_a_failing_shard_does_not_stop_the_others(here, engine):
    bad = np.load("shards/a.npy")
    bad[600, 2] = np.nan
    np.save("shards/a.npy", bad)
    np.save("shards/aa.npy", bad[:, :4])
    Path("shards/ab.parquet").write_bytes(b"no Parquet")
    code, _, errors, again = run(*engine)
    assert (code, again) == (2, ALL[1:])
    lines = "".join(errors).splitlines()
    assert any("a.npy: shards/a.npy, row 600" in line.replace(str(here) + "/", "") for line in lines)
    assert any(line.startswith("error: aa.npy: ") and "has 4 features" in line for line in lines)
    assert any(line.startswith("error: ab.parquet: ") and "not a Parquet file" in line for line in lines)
    assert "error: 3 of 5 shards failed: mend them, then run the same command again" in lines
    np.save("shards/a.npy", np.load("shards/a.npy")[:600])
    Path("shards/aa.npy").unlink()
    Path("shards/ab.parquet").unlink()
    code, out, _, again = run()
    assert (code, again) == (0, ["a.npy.csv"])
    assert "2 of 3 shards were done before" in out


def test_wrong_arguments_are_refused(here):
    for arguments, words in [
        (["shards"], "shards is a folder: expected --out DIR"),
        (["shards", "--out", "model.zskl"], "--out model.zskl is a file: expected a folder"),
        (["shards", "--out", "out", "--with-known"], "--with-known was given without --signatures"),
        (["shards", "--out", "out", "--candidates", "wolf"], "candidate 'wolf' is not in signatures"),
        (["shards", "--out", "out", "--probabilities"], "are not calibrated"),
        (["shards", "--out", "out", "--signatures", "no.csv"], "no file at no.csv"),
        (["shards/a.npy", "--workers", "2"], "is not a folder: --engine, --address and --workers are for a folder"),
        (["single", "--out", "out"], "single holds no features: expected files that end in .npy, .parquet, .pq"),
    ]:
        Path("single").mkdir(exist_ok=True)
        with pytest.raises((ValueError, OSError)) as refused:
            zskl_predict("model.zskl", *arguments)
        assert words in str(refused.value)
        assert not Path("out").exists()


def test_a_second_run_in_the_same_folder_is_refused(here):
    with run_folder.open_log("out", predict.FILE), pytest.raises(OSError, match="another run is writing to out"):
        run()


def test_a_shard_that_changes_while_it_is_read_has_no_line(here, monkeypatch):
    usual = predict.write_predictions

    def slow(path, lines):
        rows = usual(path, lines)
        if path.name == "b.parquet.csv":
            os.utime("shards/b.parquet")
        return rows

    monkeypatch.setattr(predict, "write_predictions", slow)
    code, _, errors, _ = run()
    assert code == 2
    assert "b.parquet: the file changed while it was read" in errors
    monkeypatch.undo()
    os.chdir(here)
    assert run()[3] == ["b.parquet.csv"]


def test_leftovers_of_a_killed_run_are_removed(here):
    Path("out").mkdir()
    Path("out/.a.npy.csv.abc.part").write_text("half of a file", encoding="utf-8")
    assert run()[3] == ALL
    assert not list(Path("out").glob(".*"))


def test_workers_with_another_model_are_refused(here):
    job = predict.plan_job("model.zskl", "out", predict.Options())
    os.replace("other.zskl", "model.zskl")
    predict.Job.predictor.cache_clear()
    Path("out").mkdir()
    with run_folder.open_log("out", predict.FILE) as folder:
        found = dict(enumerate(predict.find_shards("shards")))
        outcomes = list(predict.predict_folder(job, found, None, folder, lambda place: None, lambda place, state: None))
    assert all("is not what it was when this run began" in outcome.sentence for _, outcome in outcomes)
    assert not Path("out", predict.FILE).read_text(encoding="utf-8")


def test_a_bug_is_not_blamed_on_a_shard(here, monkeypatch):
    def broken(*arguments):
        raise TypeError("planted")

    monkeypatch.setattr(predict.Predictor, "_best", broken)
    with pytest.raises(TypeError, match="planted"):
        run()


# Features of several networks, in one file or in several


@pytest.fixture
def two_blocks(tmp_path):
    """A model of two blocks, and their files: a.npy and b.npy of unequal widths."""
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(12, 5)), pd.DataFrame(rng.normal(size=(3, 2)), index=["ant", "bee", "emu"])
    model = ClassMeansClassifier(blocks={"a": 2, "b": 3}).fit(X, np.repeat(table.index, 4), table)
    np.save(tmp_path / "a.npy", X[:, :2])
    np.save(tmp_path / "b.npy", X[:, 2:])
    np.save(tmp_path / "whole.npy", X)
    return model, tmp_path


@pytest.mark.parametrize("names", [["a.npy", "b.npy"], ["whole.npy"]], ids=len)
def test_files_of_several_networks_may_stand_side_by_side(two_blocks, names):
    model, folder = two_blocks
    assert predict.open_for_model(model, "+".join(str(folder / name) for name in names)).width == 5


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["b.npy", "a.npy"], r"another order than the model: .*a \(2 columns\), b \(3 columns\)"),
        (["a.npy"], r"has 2 feature columns.*as one file or A\+B: a \(2 columns\), b \(3 columns\)"),
    ],
    ids=["swapped", "one"],
)
def test_files_of_other_networks_are_refused(two_blocks, names, sentence):
    model, folder = two_blocks
    with pytest.raises(ValueError, match=sentence):
        predict.open_for_model(model, "+".join(str(folder / name) for name in names))


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]], ids="".join)
def test_networks_in_one_file_are_those_of_the_model_in_its_order(tmp_path, order):
    """Widths alone could not tell."""
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(12, 6)), pd.DataFrame(rng.normal(size=(3, 2)), index=["ant", "bee", "emu"])
    model = ClassMeansClassifier(blocks={"a": 3, "b": 3}).fit(X, np.repeat(table.index, 4), table)
    np.savez(tmp_path / "rows.npz", features=X, block_names=order, block_widths=[3, 3])
    if order == ["a", "b"]:
        assert predict.open_for_model(model, tmp_path / "rows.npz").width == 6
        return
    with pytest.raises(ValueError, match=r"rows\.npz has its columns in another order than the model"):
        predict.open_for_model(model, tmp_path / "rows.npz")
