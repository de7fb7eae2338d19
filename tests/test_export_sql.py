"""Class means as SQL: DuckDB gives the classes, scores and probabilities of the model."""

import numpy as np
import pandas as pd
import pytest

from command import zskl
from toy import make_toy
from zskl import ClassMeansClassifier, Scorer, SignatureWarning, engines, export
from zskl.decisions import Curve, Decisions

TOY = make_toy()
ROWS = np.concatenate([TOY.X, TOY.X_new]).astype(np.float32)


@pytest.fixture(scope="module")
def connection():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed (extra duckdb)")
    with duckdb.connect() as found:
        yield found


def fitted(table=TOY.table, y=TOY.y, **temperatures):
    model = ClassMeansClassifier(crowding=0.2).fit(TOY.X, y, table)
    model.calibration_ = 0.1
    model.temperatures_ = {"seen": 0.1, "unseen": 0.1, "mixed": 0.2, **temperatures} if temperatures else None
    return model


def answers(connection, scorer, folder):
    np.save(folder / "rows.npy", ROWS)
    count = engines.score_file(folder / "rows.npy", folder / "vectors.parquet", scorer, vectors=True)
    assert count == len(ROWS)
    export.to_sql(scorer, folder / "classes.sql")
    connection.execute((folder / "classes.sql").read_text("utf-8"))
    source = f"CREATE OR REPLACE TABLE some_rows AS SELECT row AS id, vector FROM '{folder}/vectors.parquet'"
    connection.execute(source)
    return connection.sql("SELECT * FROM zskl_score('some_rows') ORDER BY id").df()


@pytest.mark.parametrize("repeat", [0, 1])
def test_the_answers_are_those_of_the_model(connection, tmp_path, repeat):
    """`repeat`: some classes have a second description."""
    table = pd.concat([TOY.table, *[0.8 * TOY.table.loc[["emu", "cat"]] + 0.2] * repeat])
    model = fitted(table.rename({"emu": "e'mu"}), mixed_seen=0.2, mixed_unseen=0.4)
    found = answers(connection, Scorer(model, min_probability=0.5), tmp_path)
    likely = model.predict_proba(ROWS).max(axis=1)
    assert found["id"].tolist() == list(range(len(ROWS)))
    assert found["class"].tolist() == model.predict(ROWS).tolist()
    np.testing.assert_allclose(found["score"], Scorer(model)(ROWS)["score"], atol=1e-6, rtol=0)
    np.testing.assert_allclose(found["probability"], likely, atol=1e-5, rtol=0)
    assert found["unknown"].tolist() == (likely < 0.5).tolist()


def test_reject_is_in_the_sql(connection, tmp_path):
    model = fitted(mixed_seen=0.2)
    curve = Curve((0.05, 0.2), (0.2, 0.5), (0.1, 0.4), 4.0)
    model.decisions_ = Decisions({}, {"mixed": curve}, 0.5, {})
    found = answers(connection, Scorer(model, reject=0.2), tmp_path)
    assert found["unknown"].tolist() == (model.predict(ROWS, reject=0.2) == "unknown").tolist()
    assert 0 < found["unknown"].sum() < len(ROWS)


def test_numbers_are_classes_and_equal_scores_go_to_the_first(connection, tmp_path):
    codes = 10_000_000_000 * np.unique(TOY.y, return_inverse=True)[1]
    table = pd.DataFrame(TOY.table.to_numpy()[[0, 1, 2, 3, 3]], index=[0, 10**10, 2 * 10**10, -5, -7])
    with pytest.warns(SignatureWarning, match="have the same signature"):
        model = fitted(table, codes)
    found = answers(connection, Scorer(model), tmp_path)
    expected = model.predict(ROWS)
    assert found["class"].tolist() == expected.tolist()
    assert -7 in expected
    assert -5 not in expected
    assert found["probability"].isna().all()
    assert not found["unknown"].any()


def test_a_planted_fault_is_found(connection, tmp_path):
    model = fitted(mixed_seen=0.2)
    answers(connection, Scorer(model), tmp_path)
    connection.execute("UPDATE zskl_classes SET class = 'cat' WHERE class = 'ant'")
    found = connection.sql("SELECT * FROM zskl_score('some_rows') ORDER BY id").df()
    assert found["class"].tolist() != model.predict(ROWS).tolist()


def test_the_command_writes_sql_and_scorers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted(mixed_seen=0.2)
    model.save("birds.zskl")
    assert "5 classes of birds.zskl for DuckDB" in zskl("export", "birds.zskl", "-o", "birds.sql", "--to", "sql").stderr
    assert "CREATE OR REPLACE MACRO zskl_score" in (tmp_path / "birds.sql").read_text("utf-8")
    zskl("export", "birds.zskl", "-o", "small.zskl", "--to", "scorer")
    assert Scorer("small.zskl")(ROWS)["class"].tolist() == model.predict(ROWS).tolist()
    TOY.fitted().save("kernel.zskl")
    done = zskl("export", "kernel.zskl", "-o", "kernel.sql", "--to", "sql")
    assert done.returncode == 2
    assert "expected class means" in done.stderr
    assert "leave one out" in zskl("export", "birds.zskl", "-o", "x", "--to", "sql", "--index", "faiss").stderr


def test_a_file_is_scored_in_batches(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra parquet)")
    model = fitted(mixed_seen=0.2)
    model.save(tmp_path / "model.zskl")
    monkeypatch.setattr(engines, "BATCH", 7)
    pd.DataFrame(ROWS, columns=[f"f{k}" for k in range(6)]).assign(name="x").to_parquet(tmp_path / "rows.parquet")
    assert engines.score_file(tmp_path / "rows.parquet", tmp_path / "found.parquet", tmp_path / "model.zskl") == 46
    found = parquet.read_table(tmp_path / "found.parquet")
    assert found.column_names == ["name", "class", "score", "probability", "unknown"]
    assert found["class"].to_pylist() == model.predict(ROWS).tolist()
    np.save(tmp_path / "none.npy", ROWS[:0])
    with pytest.raises(ValueError, match=r"none\.npy has no rows"):
        engines.score_file(tmp_path / "none.npy", tmp_path / "never.parquet", model)
    assert not (tmp_path / "never.parquet").exists()
