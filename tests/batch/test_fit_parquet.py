"""A Parquet shard that does not fit to the others is named in one sentence."""

import numpy as np
import pandas as pd
import pytest

from zskl import fit_shards

pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")

NAMES = ["x", "y", "z", "w"]
CLASSES = pd.DataFrame(np.eye(3), index=pd.Index(["ant", "bee", "cat"], name="class")).add_prefix("a")


def frame(number):
    rng = np.random.default_rng(number)
    made = pd.DataFrame(rng.normal(size=(30, 4)).astype(np.float32), columns=NAMES)
    return made.assign(label=CLASSES.index.to_numpy()[np.arange(30) % 3])


def with_value(column, value):
    def change(made):
        made = made.astype({column: object}) if column == "label" else made
        made.loc[7, column] = value
        return made

    return change


def broken(made):
    """The file, its first page overwritten."""
    bytes_ = bytearray(made.to_parquet(index=False))
    bytes_[4:60] = b"\xff" * 56
    return bytes(bytes_)


SPOILED = {
    "other columns": (
        lambda made: made.rename(columns={"z": "q"}),
        r"lacks columns 'z', which the shards befor",
    ),
    "no labels": (lambda made: made.drop(columns="label"), "has no column 'label'"),
    "a missing label": (with_value("label", None), r"column 'label' is empty in rows 7 \(counted from 0\)"),
    "an empty label": (with_value("label", ""), r"column 'label' is empty in rows 7"),
    "NaN as a label": (
        lambda made: pa.table({**{name: made[name].to_numpy() for name in NAMES}, "label": np.full(30, np.nan)}),
        "column 'label' is empty in rows 0, 1",
    ),
    "lists as labels": (lambda made: made.assign(label=[[1, 2]] * 30), "column 'label' holds list<.*expected one text"),
    "NaN": (with_value("x", np.nan), r"row 7 \(counted from 0\), column 'x': found nothing"),
    "infinity": (with_value("x", np.inf), r"row 7 \(counted from 0\), column 'x': found inf"),
    "null": (
        lambda made: pa.table({**made, "y": pa.array([None, *made["y"][1:]], pa.float32())}),
        r"row 0 \(counted from 0\), column 'y': found nothing",
    ),
    "text": (lambda made: made.assign(y="word"), "column 'y' holds .*string, expected numbers"),
    "no rows": (lambda made: made[:0], "has columns and no rows"),
    "an empty file": (lambda made: b"", "is empty"),
    "another file": (lambda made: b"a text, not a table", "is not a Parquet file that can be read"),
    "a broken file": (broken, "cannot be read .*: write it again"),
    "columns twice": (
        lambda made: pa.table([made[name].to_numpy() for name in [*NAMES, "x"]], names=[*NAMES, "x"]),
        "several columns named 'x'",
    ),
}


def write(folder, number, made):
    path = folder / f"part-{number}.parquet"
    if isinstance(made, bytes):
        path.write_bytes(made)
    elif isinstance(made, pa.Table):
        pa.parquet.write_table(made, path)
    else:
        made.to_parquet(path, index=False)


@pytest.mark.parametrize("what", SPOILED)
def test_a_parquet_shard_that_does_not_fit_is_named(what, tmp_path):
    spoil, sentence = SPOILED[what]
    for number in range(3):
        write(tmp_path, number, spoil(frame(number)) if number == 1 else frame(number))
    with pytest.raises(ValueError, match=f"part-1.parquet.*{sentence}") as caught:
        fit_shards(tmp_path, "label", CLASSES)
    assert "\n" not in str(caught.value)


def test_extra_columns_of_a_later_shard_are_ignored(tmp_path):
    write(tmp_path, 0, frame(0))
    write(tmp_path, 1, frame(1).assign(more="words"))
    assert fit_shards(tmp_path, "label", CLASSES)._sums.rows.tolist() == [20, 20, 20]
