"""Datasets from tables with identifiers, holes and words: all that is learned comes from training rows."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import user_files
from tolerances import FORMULA, assert_close
from zskl import datasets
from zskl.datasets import folder, tables

CHEESE = Path("cheese")


@pytest.fixture
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return user_files.write_cheese(tmp_path)


def make(out=CHEESE, features="rows.csv", signatures="traits.csv", **how):
    """The dataset, and what was said about it."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = datasets.make(out, features, "sort", signatures, **how)
    return data, sorted(str(one.message) for one in said)


def slow_features(frame, training):
    """The features as a reader would work them out: a mean, or a column for each word, of the training rows."""
    found = {}
    for name in frame.columns.drop(["nr", "id", "sort"]):
        column = frame[name]
        if name == "rind":
            for word in sorted({cell for cell in column.iloc[training] if isinstance(cell, str)}):
                found[f"rind={word}"] = [float(cell == word) for cell in column]
        else:
            known = [float(value) for value in column.iloc[training] if not pd.isna(value)]
            found[name] = [sum(known) / len(known) if pd.isna(value) else float(value) for value in column]
    return pd.DataFrame(found)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_holes_and_words_become_numbers_learned_from_training_rows(frame, kind):
    frame.to_parquet("rows.parquet")
    data, said = make(features=f"rows.{kind}", missing="mean", categories="onehot")
    assert [one.split(" was")[0] for one in said] == [f"rows.{kind}: column 'nr'", "traits.csv: column 'nr'"]
    slow = slow_features(frame, data.parts["trainval"])
    assert data.feature_names == tuple(slow.columns)
    assert_close(data.X, slow.to_numpy(), FORMULA.single)
    assert data.attribute_names == ["t0", "t1", "t2", "t3"]
    assert folder.read_row_names(CHEESE) == frame["id"].tolist()
    assert (data.y == "Ser").sum() == 1
    untrained = np.setdiff1d(np.arange(len(frame)), data.parts["trainval"])
    changed = frame.copy()
    changed.loc[untrained, [f"m{k}" for k in range(6)]] = 1e6  # whatever stands in test rows
    changed.loc[untrained, "rind"] = "waxed"
    changed.to_csv("rows.csv", index=False)
    make("other", missing="mean", categories="onehot")
    assert folder.read_preparation("other") == folder.read_preparation(CHEESE)


def test_rows_with_holes_are_dropped(frame):
    whole = frame.notna().all(axis=1)
    data, said = make(missing="drop", categories="onehot")
    assert f"rows.csv: {(~whole).sum()} of {len(frame)} rows were left out, since they lack a value" in said
    assert folder.read_row_names(CHEESE) == frame["id"][whole].tolist()
    assert data.y.tolist() == frame["sort"][whole].tolist()
    np.testing.assert_array_equal(data.X[:, 0], frame["m0"][whole].astype(np.float32))
    odd = np.arange(len(frame)) % 2 == 1
    frame.assign(m1=np.where(odd, 0.5, np.nan), m2=np.nan).to_csv("rows.csv", index=False)
    _, said = make("odd", missing="drop", categories="onehot")
    assert "rows.csv: column 'm2' was left out, since it is empty" in said
    frame.assign(m1=np.where(odd, 0.5, np.nan), m2=np.where(odd, np.nan, 1)).to_csv("rows.csv", index=False)
    with pytest.raises(ValueError, match="every row lacks a value"):
        make("none", missing="drop", categories="onehot")


def test_a_matrix_with_holes(frame):
    X = frame[[f"m{k}" for k in range(6)]].to_numpy()
    np.savez("x.npz", features=X, labels=frame["sort"].to_numpy(dtype=str))
    with pytest.raises(ValueError, match=r"x.npz, row \d+ \(counted from 0\), column 1: found nan.*SimpleImputer"):
        datasets.make("cheese", "x.npz", "labels", "traits.csv", keep_columns=["nr"])
    data = datasets.make("cheese", "x.npz", "labels", "traits.csv", missing="mean", keep_columns=["nr"])
    train = data.parts["trainval"]
    assert_close(data.X, np.where(np.isnan(X), np.nanmean(X[train], axis=0), X), FORMULA.single)
    assert (data.feature_names, data.attribute_names[0]) == (None, "nr")
    again = tables.open_prepared("x.npz", folder.read_preparation(CHEESE), "labels")
    np.testing.assert_array_equal(np.concatenate([block.X for block in again.blocks()]), data.X)


def test_identifiers_are_left_out_unless_kept(frame):
    plain = frame.drop(columns=["rind", "m1"])
    plain.assign(code=[f"A{k}" for k in range(len(plain))], sample_id=20_000_000 + 3 * plain["nr"]).to_csv(
        "rows.csv", index=False
    )
    traits = pd.read_csv("traits.csv").assign(code=[f"X{k}" for k in range(10)])
    traits.to_csv("traits.csv", index=False)
    data, said = make()
    assert said[0].startswith("rows.csv: column 'code', 'nr', 'sample_id' was left out")
    assert said[1].startswith("traits.csv: column 'code', 'nr' was left out")
    assert all("keep_columns" in one for one in said)
    assert data.feature_names == ("m0", "m2", "m3", "m4", "m5", "soft")
    np.testing.assert_array_equal(data.X, plain[list(data.feature_names)].astype(np.float32))
    kept, _ = make("kept", keep_columns=["nr"])
    assert kept.feature_names == ("nr", *data.feature_names)
    assert kept.attribute_names == ["nr", *data.attribute_names]
    assert any("'nr' numbers or names the classes" in one for one in datasets.check(kept).notes)
    with pytest.raises(ValueError, match=r"keep_columns names 'nrr' \(did you mean 'nr'"):
        make("none", keep_columns=["nrr"])


REFUSED = {
    "a hole": ({"categories": "onehot"}, None, r"rows.csv, line \d+, column 'm1': found nothing.*--missing mean"),
    "a word": ({"missing": "mean"}, None, r"rows.csv, line 2, column 'rind': found '\w+'.*--categories onehot"),
    "a date": (
        {"missing": "mean", "categories": "onehot"},
        {"day": [f"2026-01-{1 + k % 28:02}" for k in range(109)]},
        "column 'day': found '2026-01-01'.*a date is not a number",
    ),
    "decimal commas that all differ": (  # not the names of rows
        {"missing": "mean", "categories": "onehot"},
        {"weight": [f"{k},5" for k in range(109)]},
        "line 2, column 'weight': found '0,5'.*decimal=','",
    ),
    "decimal commas that repeat": (  # not words
        {"missing": "mean", "categories": "onehot"},
        {"weight": [f"{k % 5},5" for k in range(109)]},
        "line 2, column 'weight': found '0,5'.*decimal=','",
    ),
    "days that all differ": (
        {"categories": "onehot", "missing": "drop"},
        {"day": pd.date_range("2026-01-01", periods=109).astype(str)},
        "column 'day': found '2026-01-01'.*a date is not a number",
    ),
    "too many words": (
        {"missing": "mean", "categories": "onehot"},
        {"note": [f"n{k % 105}" for k in range(109)]},
        "column 'note' has more than 100 different words, such as 'n0'",
    ),
    "infinity": ({"missing": "mean", "categories": "onehot"}, {"m0": np.inf}, "column 'm0': found 'inf'"),
    "a mistake among numbers": (
        {"missing": "mean", "categories": "onehot"},
        {"m0": [f"{k / 8}" if k != 4 else "1,5" for k in range(109)]},
        "line 6, column 'm0': found '1,5'.*decimal point",
    ),
    "another word for it": ({"missing": "median"}, None, "missing is 'median': expected one of mean, drop"),
    "another encoding": ({"categories": "hash"}, None, "categories is 'hash': expected one of onehot"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_prepared_is_refused(frame, monkeypatch, case):
    how, columns, sentence = REFUSED[case]
    monkeypatch.setattr("zskl.datasets.tables.preparation.MOST_CATEGORIES", 100)
    if columns:
        frame.assign(**columns).to_csv("rows.csv", index=False)
    with pytest.raises(ValueError, match=sentence):
        make(**how)


def test_features_in_place_of_descriptions_are_refused(frame):
    frame.drop(columns=["rind", "m1"]).to_csv("rows.csv", index=False)
    with pytest.raises(ValueError, match=r"signatures is rows.csv, which is also what features is"):
        make(signatures="rows.csv")
    frame.drop(columns=["rind", "m1", "nr", "id"]).iloc[1:].to_csv("copy.csv", index=False)
    with pytest.raises(ValueError, match=r"copy.csv has the columns of rows.csv and 11 rows per class: expected"):
        make(signatures="copy.csv")
    with pytest.raises(ValueError, match="signatures is -, which is also what features is"):
        make(features="-", signatures="-")
