"""An index that usearch or faiss reads back finds what the model's own scan finds, and its names lie beside it."""

import hashlib
import importlib
import json
import sys

import numpy as np
import pandas as pd
import pytest

from command import zskl
from doc_blocks import ROOT, execute
from tolerances import AFTER_FIT, assert_close
from zskl import ClassMeansClassifier, export, methods
from zskl import _files as files

KINDS = ("usearch", "faiss")
MODELS = {
    "one term": lambda toy: toy.model("gaussian", sigma=0.8, incoherence=False, signature_scaling="none"),
    "polynomial": lambda toy: toy.model("polynomial", degree=3, bias=0.5),
    "class means": lambda toy: ClassMeansClassifier(),
    "blocks": lambda toy: ClassMeansClassifier(blocks=[4, 2], signature_blocks=[1, 3]),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_model = pytest.mark.parametrize("name", MODELS)


def library(kind):
    pytest.importorskip(kind, reason=f"{kind} is not installed (extra {kind}): the index is not read back")
    return importlib.import_module("usearch.index" if kind == "usearch" else kind)


def fitted(toy, name):
    """A model that knows 205 classes, most of them by mixtures of real descriptions."""
    draw = np.random.default_rng(3)
    mixed = draw.dirichlet(np.ones(5), 200) @ toy.table.to_numpy() + 0.5 * draw.normal(size=(200, 4))
    more = pd.DataFrame(mixed, index=[f"class {k}" for k in range(200)], columns=toy.table.columns)
    return MODELS[name](toy).fit(toy.X, toy.y, pd.concat([toy.table, more]))


def found(kind, path, queries):
    """The names of the ten best for each query, by the library that reads the file."""
    reading, queries = library(kind), np.pad(np.asarray(queries, dtype=np.float32), ((0, 0), (0, 1)))
    about = json.loads((path.parent / f"{path.name}.json").read_text("utf-8"))
    assert about["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    if kind == "faiss":
        index = reading.read_index(str(path))
        assert (index.ntotal, index.d) == (len(about["names"]), about["columns"])
        _, keys = index.search(queries, 10)
    else:
        index = reading.Index.restore(str(path))
        assert (len(index), index.ndim) == (len(about["names"]), about["columns"])
        keys = index.search(queries, 10, exact=True).keys
        graph = index.search(queries, 10).keys
        shares = [len(set(a) & set(b)) / 10 for a, b in zip(keys.tolist(), graph.tolist(), strict=True)]
        assert np.mean(shares) > 0.9
    return np.array(about["names"], dtype=object)[keys.astype(int)]


def assert_best(names, scores):
    """`names` (n, 10) have the ten largest of `scores`, a frame of n rows; equal ones may change places."""
    for row, best in zip(names, scores.to_numpy(), strict=True):
        of_names = scores.iloc[0].index.get_indexer(row)
        assert len(set(of_names)) == 10
        assert_close(np.sort(best[of_names]), np.sort(best)[-10:], AFTER_FIT.single)


@every_kind
@every_model
def test_the_ten_best_classes_of_a_row(toy, tmp_path, kind, name):
    library(kind)
    model, path = fitted(toy, name), tmp_path / "classes.index"
    export.to_index(model, path, kind)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["classes.index", "classes.index.json"]
    queries = model.ranking_map().samples(toy.X_new)
    scores = pd.DataFrame(model.compatibility(toy.X_new), columns=model.candidates_)
    assert_best(found(kind, path, queries), scores)


@every_kind
@every_model
def test_the_ten_best_rows_of_a_class(toy, tmp_path, kind, name):
    library(kind)
    model, path = fitted(toy, name), tmp_path / "rows.index"
    names = [f"row {k}" for k in range(len(toy.X))]
    export.to_index(model, path, kind, X=toy.X, names=names)
    maps = model.ranking_map() if isinstance(model, ClassMeansClassifier) else model.ranking_map(rows=True)
    scores = pd.DataFrame(model.compatibility(toy.X, toy.table).T, columns=names)
    assert_best(found(kind, path, maps.classes(toy.table)), scores)


def test_the_command(toy, tmp_path, monkeypatch):
    library("usearch")
    monkeypatch.chdir(tmp_path)
    model = fitted(toy, "class means")
    model.save("toy.zskl")
    done = zskl("export", "toy.zskl", "-o", "classes.usearch", "--to", "usearch")
    assert (done.returncode, done.stdout) == (0, "")
    assert "wrote classes.usearch: the vectors of the 205 classes of toy.zskl for usearch" in done.stderr
    about = json.loads((tmp_path / "classes.usearch.json").read_text("utf-8"))
    assert about["names"] == model.candidates_.tolist()
    assert (about["index"], about["vectors"], about["columns"]) == ("usearch", "classes", 8)
    frame = pd.DataFrame(toy.X, columns=[f"f{k}" for k in range(6)], index=[f"r{k}" for k in range(len(toy.X))])
    frame.to_csv("rows.csv", index_label="id")
    np.save("rows.npy", toy.X)
    for file, names in (("rows.csv", list(frame.index)), ("rows.npy", list(range(len(toy.X))))):
        done = zskl("export", "toy.zskl", "-o", "rows.usearch", "--index", "usearch", "--rows", file)
        assert f"wrote rows.usearch: the vectors of 36 rows of {file} for usearch" in done.stderr, done.stderr
        assert json.loads((tmp_path / "rows.usearch.json").read_text("utf-8"))["names"] == names


def test_what_is_refused_says_why(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = toy.fitted()
    methods.build("eszsl").fit(toy.X, toy.y, toy.table).save("eszsl.zskl")
    for arguments, sentence in [
        (["--index", "usearch"], "a model of the method 'eszsl' has no vectors to search: expected class means or a"),
        (["--rows", "rows.csv"], "--rows rows.csv was given with --to onnx"),
        (["--to", "faiss", "--fixed"], "--fixed and --to faiss were both given"),
        (["--to", "annoy"], "'annoy' is not one of"),
    ]:
        done = zskl("export", "eszsl.zskl", "-o", "out", *arguments)
        assert done.returncode == 2
        assert sentence in " ".join(done.stderr.replace("│", " ").split())
    with pytest.raises(ValueError, match="kind is 'fais': expected one of usearch, faiss"):
        export.to_index(model, "out", "fais")
    with pytest.raises(ValueError, match="names has 2 entries for 36 rows"):
        export.to_index(model, "out", X=toy.X, names=["a", "b"])
    with pytest.raises(ValueError, match="names were given without X"):
        export.to_index(model, "out", names=["a"])
    with pytest.raises(ValueError, match="model is a int: expected a fitted estimator"):
        export.to_index(3, "out")
    with pytest.raises(ValueError, match="exceed the range of float32, the first 'ant'"):
        export.write_index("out", "faiss", np.array([[1.0, 2.0], [3.0, 1e39]]), ["dog", "ant"], "classes")
    for kind in KINDS:
        monkeypatch.setitem(sys.modules, "usearch.index" if kind == "usearch" else kind, None)
        with pytest.raises(ValueError, match=rf"needs the package {kind}.*: pip install 'zskl\[{kind}\]'"):
            export.to_index(model, "out", kind)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["eszsl.zskl"]


def test_a_write_that_fails_leaves_the_old_index(toy, tmp_path, monkeypatch):
    path = tmp_path / "old"
    path.write_bytes(b"old")
    monkeypatch.setattr(export, "_pack_index", lambda kind, vectors: vectors.tobytes())

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        export.to_index(toy.fitted(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_page_runs(tmp_path, monkeypatch):
    library("usearch")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "export.md").read_text("utf-8").split("## A search index")[1]
    marked = page.replace("```py\n", "```python\n").replace("```shell\n", "```console\n")
    assert (marked.count("```python\n"), marked.count("```console\n")) == (2, 2)
    execute(marked, "export.md")
