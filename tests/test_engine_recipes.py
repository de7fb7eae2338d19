"""Every recipe of docs/engines.md runs with its engine, in at most ten lines, and gives the classes of `predict`."""

import re

import numpy as np
import pytest

from doc_blocks import ROOT, execute
from zskl import ClassMeansClassifier, datasets, load

PAGE = (ROOT / "docs" / "engines.md").read_text("utf-8")
SECTIONS = {part.split("\n")[0]: part for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)}
FIRST = PAGE.split("## The scorer")[0]
SCORER = (
    "```python\nfrom pathlib import Path\nfrom zskl.engines import score_file\nscorer = Scorer('digits.zskl')\n```\n"
)
MOST = 10  # lines of a recipe


def run(section, engine, folder, monkeypatch):
    """Execute it with what the page does before."""
    pytest.importorskip(engine, reason=f"{engine} is not installed: its recipe is not run")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra parquet)")
    monkeypatch.chdir(folder)
    execute(FIRST + SCORER + SECTIONS[section].replace("```py\n", "```python\n"), "engines.md")


def check(pattern):
    import pyarrow.dataset as ds

    found = ds.dataset(sorted(str(path) for path in pattern)).to_table().sort_by("id")
    expected = load("digits.zskl").predict(datasets.load("digits").X)
    assert found.column_names == ["id", "class", "score", "probability", "unknown"]
    assert np.array_equal(found["class"].to_numpy(), expected)


def test_polars(tmp_path, monkeypatch):
    run("Polars", "polars", tmp_path, monkeypatch)
    check([tmp_path / "polars.parquet"])


def test_duckdb(tmp_path, monkeypatch):
    pytest.importorskip("duckdb", reason="duckdb is not installed: its recipe is not run")
    SECTIONS["both"] = SECTIONS["DuckDB"] + SECTIONS["SQL alone"]
    run("both", "duckdb", tmp_path, monkeypatch)
    check([tmp_path / "duckdb.parquet"])
    check([tmp_path / "sql.parquet"])


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # by Dask, of pandas
def test_dask(tmp_path, monkeypatch):
    dask = pytest.importorskip("dask", reason="dask is not installed: its recipe is not run")
    pytest.importorskip("dask.dataframe", reason="dask has no data frames here: its recipe is not run")
    with dask.config.set(scheduler="threads"):
        run("Dask", "dask", tmp_path, monkeypatch)
    check(tmp_path.glob("dask-part-*.parquet"))
    check((tmp_path / "dask-frame").glob("*.parquet"))


@pytest.mark.xdist_group("engines")
@pytest.mark.filterwarnings("ignore")  # those of Ray are its own
def test_ray(tmp_path, monkeypatch):
    """The recipe, and a fit by the same sums as in memory."""
    pytest.importorskip("ray", reason="ray is not installed: its recipe is not run")
    from zskl import engines

    SECTIONS["Ray"] = (
        SECTIONS["Ray Data"] + SECTIONS["Fitting where the rows are"] + "```python\nagain.save('again')\n```"
    )
    with engines.opened(engines.Engine("ray", workers=2)):
        run("Ray", "ray", tmp_path, monkeypatch)
    check((tmp_path / "ray").glob("*.parquet"))
    found, data = load("again"), datasets.load("digits")
    whole = ClassMeansClassifier().fit(data.X, data.y, data.signatures)
    assert found.class_rows_.tolist() == whole.class_rows_.tolist()
    for name in ("center_", "eigenvalues_"):
        expected = getattr(whole, name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("section", ["Polars", "DuckDB", "SQL alone", "Dask", "Ray Data", "Spark", "Vector databases"])
def test_a_recipe_has_at_most_ten_lines(section):
    counts = [len(code.split("\n")) - 1 for code in re.findall(r"^```\w+\n(.*?)```", SECTIONS[section], re.M | re.S)]
    assert counts
    assert max(counts) <= MOST
