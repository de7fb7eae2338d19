"""The invariants of a Dataset, each with a planted violation, and the two datasets that need no files."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zskl import datasets
from zskl.datasets import Dataset, digits, make_synthetic


def fields():
    """Classes ant, bee (seen) and cat (unseen), two rows each and three for cat."""
    return {
        "name": "toy",
        "X": np.arange(14, dtype=np.float32).reshape(7, 2),
        "y": np.array(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        "signatures": pd.DataFrame(
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], index=["cat", "ant", "bee"], columns=["legs", "fur"]
        ),
        "parts": {"trainval": [0, 2], "test_seen": [1, 3], "test_unseen": [4, 5]},
    }


def changed(**change):
    return Dataset(**(fields() | change))


def with_part(**parts):
    return {"parts": fields()["parts"] | parts}


def table(**change):
    frame = fields()["signatures"]
    return {
        "signatures": pd.DataFrame(**({"data": frame.values, "index": frame.index, "columns": frame.columns} | change))
    }


# what a good one looks like


def test_derived_values():
    data = changed(**with_part(fold1_train=[0], fold1_val=[2]))
    assert data.class_names.tolist() == ["cat", "ant", "bee"]  # the table's order
    assert data.attribute_names == ["legs", "fur"]
    assert data.codes.tolist() == [1, 1, 2, 2, 0, 0, 0]
    assert data.class_names[data.codes].tolist() == data.y.tolist()
    assert data.seen_classes.tolist() == ["ant", "bee"]
    assert data.unseen_classes.tolist() == ["cat"]
    assert data.X.dtype == np.float32
    assert all(rows.dtype == np.int64 for rows in data.parts.values())
    assert repr(data) == "Dataset('toy', 7 rows × 2 features, 2 seen and 1 unseen classes, 2 attributes)"


def test_an_unknown_part_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"no part 'test_unsen' \(did you mean 'test_unseen'\?\); .*'trainval'"):
        Dataset(**fields()).samples("test_unsen")


def test_unseen_classes_need_no_rows_and_seen_ones_no_test_rows():
    data = changed(**with_part(test_seen=[], test_unseen=[]))
    assert data.unseen_classes.tolist() == ["cat"]
    assert data.parts["test_seen"].dtype == np.int64


def test_several_descriptions_of_one_class():
    data = changed(**table(data=np.ones((5, 2)), index=["bee", "cat", "bee", "ant", "cat"]))
    assert data.class_names.tolist() == ["bee", "cat", "ant"]
    assert data.codes.tolist() == [2, 2, 0, 0, 1, 1, 1]
    assert len(data.signatures.loc["bee"]) == 2


@pytest.mark.parametrize(
    "y",
    [
        ["ant", "ant", "bee", "bee", "cat", "cat", "cat"],
        pd.Series(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        pd.Categorical(["ant", "ant", "bee", "bee", "cat", "cat", "cat"]),
        np.array(["ant", "ant", "bee", "bee", "cat", "cat", "cat"], dtype=object),
    ],
    ids=["list", "series", "categorical", "objects"],
)
def test_labels_become_one_kind_of_array(y):
    data = changed(y=y)
    assert data.y.dtype == np.dtype("<U3")
    assert data.fingerprint == changed().fingerprint


def test_integer_labels_and_other_numbers_are_taken():
    frame = fields()["signatures"].astype({"legs": int, "fur": bool}).set_axis([2, 0, 1])
    data = changed(X=fields()["X"].astype(np.float64).tolist(), y=[0, 0, 1, 1, 2, 2, 2], signatures=frame)
    assert data.X.dtype == np.float32
    assert data.codes.tolist() == [1, 1, 2, 2, 0, 0, 0]
    assert data.signatures.dtypes.tolist() == [np.float64, np.float64]


def test_arrays_are_read_only_and_the_callers_are_not():
    mine = fields()
    mine["parts"] = {part: np.array(rows) for part, rows in mine["parts"].items()}
    data = Dataset(**mine)
    assert np.shares_memory(data.X, mine["X"])
    assert np.shares_memory(data.parts["trainval"], mine["parts"]["trainval"])
    for array in (data.X, data.y, data.codes, data.class_names, data.seen_classes, data.parts["trainval"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(ValueError, match="read-only"):
        data.signatures.iloc[0, 0] = 9
    with pytest.raises(TypeError):
        data.parts["more"] = np.array([0])
    with pytest.raises(AttributeError):
        data.y = mine["y"]
    assert mine["X"].flags.writeable
    assert mine["y"].flags.writeable
    assert mine["parts"]["trainval"].flags.writeable
    mine["signatures"].iloc[0, 0] = 9
    assert data.signatures.iloc[0, 0] == 1


def test_a_memmap_stays_one(tmp_path):
    X = np.memmap(tmp_path / "X", dtype=np.float32, mode="w+", shape=(7, 2))
    X[:] = fields()["X"]
    data = changed(X=X)
    assert isinstance(data.X, np.memmap)
    assert np.shares_memory(data.X, X)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))])
def test_copies_and_pickles(again):
    data = changed(source="toy.mat")
    other = again(data)
    assert other.fingerprint == data.fingerprint
    assert other.source == "toy.mat"
    np.testing.assert_array_equal(other.X, data.X)
    pd.testing.assert_frame_equal(other.signatures, data.signatures)
    assert not other.X.flags.writeable


# the fingerprint


def test_fingerprint_is_the_same_in_every_process_and_on_every_machine():
    assert changed().fingerprint == "b2d1ab44bbaebcc129a50b8b0b3203d861d299e4e0491e99c168aa73d16d40cf"


def test_the_digest_of_features_sees_features_alone():
    one = changed()
    X = one.X.copy()
    X[-1, -1] += 1
    assert changed(X=X).features_digest != one.features_digest
    assert changed(name="other").features_digest == one.features_digest
    assert changed(X=one.X.astype(np.float64)).features_digest == one.features_digest


def test_fingerprint_ignores_features_and_incidentals():
    parts = dict(reversed(fields()["parts"].items()))
    same = changed(X=np.ones((7, 2)), name="other", source="elsewhere", parts=parts)
    assert same.fingerprint == changed().fingerprint
    assert changed(**table(data=fields()["signatures"].values.astype(np.float32))).fingerprint == changed().fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"y": ["ant", "bee", "bee", "ant", "cat", "cat", "cat"]},
        with_part(test_unseen=[4, 6]),
        with_part(test_unseen=[5, 4]),
        with_part(fold1_val=[0]),
        table(data=[[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        table(columns=["legs", "wings"]),
        table(index=["cat", "bee", "ant"]),
    ],
    ids=["label", "row", "order", "part", "value", "attribute", "class"],
)
def test_fingerprint_sees(change):
    assert changed(**change).fingerprint != changed().fingerprint


# violations


VIOLATIONS = {
    "1-D X": ({"X": np.ones(7)}, r"X has shape \(7,\)"),
    "no rows": ({"X": np.ones((0, 2)), "y": []}, r"X has shape \(0, 2\)"),
    "no columns": ({"X": np.ones((7, 0))}, r"X has shape \(7, 0\)"),
    "words in X": ({"X": [["a", "b"]] * 7}, "X holds <U1 values"),
    "unequal lengths": ({"y": ["ant", "bee"]}, "X has 7 rows and y 2 labels"),
    "no labels": ({"y": []}, "X has 7 rows and y 0 labels"),
    "2-D y": ({"y": np.ones((7, 1), dtype=int)}, r"y has shape \(7, 1\)"),
    "mixed labels": ({"y": ["ant", "ant", "bee", "bee", "cat", 3, 3]}, "y holds labels of type int and str"),
    "missing label": ({"y": ["ant", "ant", "bee", "bee", "cat", None, "cat"]}, "type NoneType and str"),
    "float labels": ({"y": np.ones(7)}, "y holds labels of type float"),
    "integers for names": (
        {"y": [0, 0, 1, 1, 2, 2, 2]},
        "y holds int labels such as 0, signatures.index str .*'cat'",
    ),
    "undescribed": (
        {"y": ["ant", "ant", "bee", "bee", "cat", "dog", "eel"]},
        "classes without a row in signatures: 'dog', 'eel'",
    ),
    "no table": ({"signatures": np.ones((3, 2))}, "signatures is ndarray"),
    "empty table": (
        {"signatures": pd.DataFrame(index=["ant", "bee", "cat"])},
        r"signatures is a table of shape \(3, 0\)",
    ),
    "unnamed class": (table(index=["cat", "ant", None]), "signatures.index holds labels of type"),
    "mixed index": (table(index=["cat", "ant", 3]), "signatures.index holds labels of type int and str"),
    "a column named class": (table(columns=["legs", "class"]), "an attribute named 'class'"),
    "twin columns": (table(columns=["legs", "legs"]), "several columns named 'legs'"),
    "words": (table(data=[[1, "a"], [1, "b"], [1, "c"]]), "not numeric in columns 'fur'"),
    "missing value": (table(data=[[1, 1], [1, np.nan], [1, 1]]), "classes 'ant' in columns 'fur'"),
    "infinite value": (table(data=[[np.inf, 1], [1, 1], [1, 1]]), "classes 'cat' in columns 'legs'"),
    "nothing known": (table(data=[[1, 1], [1, 1], [0, 0]]), "only zeros for classes 'bee'"),
    "no parts": ({"parts": None}, "parts lacks 'trainval', 'test_seen', 'test_unseen'"),
    "lacking part": ({"parts": {"trainval": [0, 2], "test_seen": [1]}}, "parts lacks 'test_unseen'"),
    "mask": (with_part(test_seen=np.zeros(7, dtype=bool)), r"parts\['test_seen'\] is bool .*flatnonzero"),
    "fractions": (with_part(test_seen=[1.0, 3.0]), r"parts\['test_seen'\] is float64"),
    "2-D part": (with_part(test_seen=[[1, 3]]), r"of shape \(1, 2\)"),
    "twice": (with_part(test_unseen=[4, 5, 4]), r"parts\['test_unseen'\] repeats rows 4;"),
    "beyond": (
        with_part(test_unseen=[4, 7, 8]),
        r"parts\['test_unseen'\] names rows 7, 8; X has rows 0 to 6",
    ),
    "negative": (with_part(test_unseen=[-1]), r"parts\['test_unseen'\] names rows -1"),
    "trainval in test_seen": (with_part(test_seen=[0, 1]), "'trainval' and 'test_seen' share rows 0;"),
    "trainval in test_unseen": (with_part(test_unseen=[2, 4]), "'trainval' and 'test_unseen' share rows 2;"),
    "test_seen in test_unseen": (
        with_part(test_unseen=[3, 4]),
        "'test_seen' and 'test_unseen' share rows 3;",
    ),
    "fold trained on": (
        with_part(fold1_train=[0, 2], fold1_val=[2]),
        "parts 'fold1_train' and 'fold1_val' share rows 2;",
    ),
    "fold outside": (with_part(fold1_val=[2, 4]), r"parts\['fold1_val'\] names rows 4 outside trainval"),
    "seen class in test_unseen": (
        with_part(test_seen=[1], test_unseen=[3, 4]),
        "classes 'bee' have rows in both",
    ),
    "untrained test_seen": (
        with_part(test_seen=[1, 6]),
        "classes 'cat' have rows in test_seen and none in trainval",
    ),
    "one seen class": (with_part(trainval=[0], test_seen=[1]), "trainval has 1 classes"),
    "no unseen class": (
        with_part(trainval=[0, 2, 4], test_unseen=[]),
        "all 3 classes of signatures have trainval",
    ),
}


@pytest.mark.parametrize(("change", "sentence"), VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_violations_are_refused_by_name(change, sentence):
    with pytest.raises(ValueError, match=rf"^dataset 'toy' \(toy\.mat\): .*{sentence}"):
        changed(source="toy.mat", **change)


def test_an_error_without_a_source_names_only_the_dataset():
    with pytest.raises(ValueError, match=r"^dataset 'toy': X has shape"):
        changed(X=np.ones(7))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_features_that_are_not_finite_are_found_in_any_block(value, monkeypatch):
    monkeypatch.setattr("zskl.datasets.dataset.BLOCK_VALUES", 5)  # two rows a block
    X = fields()["X"].astype(np.float64)
    X[4, 1] = X[6] = value
    with pytest.raises(ValueError, match="in rows 4, 6, the first of them in columns 1;"):
        changed(X=X)
    assert X.flags.writeable


def test_long_lists_of_offenders_are_cut():
    X = np.full((1000, 2), np.nan)
    with pytest.raises(ValueError, match="rows 0, 1, 2, 3, 4 and 995 more") as caught:
        changed(X=X, y=["ant"] * 1000)
    assert len(str(caught.value)) < 200


def test_a_missing_nullable_number_is_refused():
    frame = fields()["signatures"].astype("Float64")
    frame.iloc[1, 1] = pd.NA
    with pytest.raises(ValueError, match="classes 'ant' in columns 'fur'"):
        changed(signatures=frame)


# digits


def test_digits():
    data = digits.load()
    assert data.X.shape == (1797, 64)
    assert data.y.tolist() == [int(label) for label in data.y]
    assert data.class_names.tolist() == list(range(10))
    assert data.seen_classes.tolist() == [0, 1, 2, 5, 7, 8, 9]
    assert data.unseen_classes.tolist() == [3, 4, 6]
    assert sum(map(len, data.parts.values())) == 1797
    assert data.signatures.dtypes.eq(np.float32).all()
    for digit in data.seen_classes:
        share = np.mean(data.y[data.parts["test_seen"]] == digit) * len(data.parts["test_seen"])
        assert share == round(np.sum(data.y == digit) / 5)


PICTURE = """
 _       _   _       _   _   _   _   _
| |   |  _|  _| |_| |_  |_    | |_| |_|
|_|   | |_   _|   |  _| |_|   | |_|  _|
""".splitlines()[1:]
PLACES = {"top": (0, 1), "upper left": (1, 0), "middle": (1, 1), "upper right": (1, 2)}
PLACES |= {"lower left": (2, 0), "bottom": (2, 1), "lower right": (2, 2)}


def test_segments_draw_the_digits():
    signatures = digits.load().signatures
    assert signatures.columns.tolist() == list(digits.SEGMENTS)
    for digit in range(10):
        for segment, (row, column) in PLACES.items():
            lit = PICTURE[row].ljust(40)[4 * digit + column] != " "
            assert signatures.loc[digit, segment] == lit, (digit, segment)
    assert not signatures.duplicated().any()


@settings(max_examples=5)
@given(st.sets(st.integers(0, 9), min_size=1, max_size=8))
def test_a_digit_is_divided_alike_whatever_is_unseen(unseen):
    data, usual = digits.load(unseen), digits.load([0]) if 0 not in unseen else digits.load()
    both = np.intersect1d(data.seen_classes, usual.seen_classes)
    for part in ("trainval", "test_seen"):
        mine, theirs = data.parts[part], usual.parts[part]
        np.testing.assert_array_equal(mine[np.isin(data.y[mine], both)], theirs[np.isin(usual.y[theirs], both)])


def test_digits_seed():
    assert digits.load(seed=0).fingerprint == digits.load().fingerprint != digits.load(seed=1).fingerprint


@pytest.mark.parametrize("unseen", [(), (3, 3), (10,), (-1,), range(9), ("3",), (2.5,)])
def test_digits_refuses(unseen):
    with pytest.raises(ValueError, match="expected 1 to 8 different digits"):
        digits.load(unseen)
    with pytest.raises(ValueError, match="seed is -1"):
        digits.load(seed=-1)


# synthetic


def test_synthetic_without_noise_is_a_linear_map():
    data = make_synthetic(n_attributes=5, n_features=9)
    Y = data.signatures.loc[data.y].to_numpy()
    M = np.linalg.lstsq(Y, data.X, rcond=None)[0]
    np.testing.assert_allclose(Y @ M, data.X, rtol=1e-4, atol=1e-5)
    assert data.X.dtype == np.float32
    assert data.seen_classes.tolist() == [f"class {k}" for k in range(20)]
    assert data.unseen_classes.tolist() == [f"class {k}" for k in range(20, 25)]
    assert [len(data.parts[part]) for part in ("trainval", "test_seen", "test_unseen")] == [480, 120, 150]


def test_synthetic_noise_and_shift_have_their_sizes():
    size = {"n_features": 400, "n_attributes": 50, "n_seen": 60}
    plain, noisy, moved = (
        make_synthetic(**size),
        make_synthetic(noise=0.5, **size),
        make_synthetic(shift=2, **size),
    )
    np.testing.assert_allclose(np.std(noisy.X - plain.X), 0.5, rtol=0.01)
    np.testing.assert_allclose(np.mean(np.linalg.norm(plain.X, axis=1)), 20, rtol=0.05)
    rows = plain.parts["test_unseen"]
    step = moved.X - plain.X
    np.testing.assert_allclose(np.linalg.norm(step[rows], axis=1), 2 * 20, rtol=1e-4)
    np.testing.assert_allclose(step[rows], np.tile(step[rows[0]], (len(rows), 1)), rtol=0, atol=1e-4)
    assert not np.delete(step, rows, axis=0).any()
    pd.testing.assert_frame_equal(noisy.signatures, plain.signatures)


def test_synthetic_descriptions():
    one, three = make_synthetic(), make_synthetic(descriptions=3)
    np.testing.assert_array_equal(one.X, three.X)
    assert three.signatures.shape == (75, 16)
    jitter = three.signatures.to_numpy() - one.signatures.to_numpy().repeat(3, axis=0)
    np.testing.assert_allclose(np.std(jitter), 0.05, rtol=0.1)


def test_synthetic_smallest_and_seeded():
    data = make_synthetic(2, 1, 2, 1, 1)
    assert data.X.shape == (6, 1)
    assert len(data.parts["test_seen"]) == len(data.parts["trainval"]) == 2
    assert make_synthetic(seed=1).fingerprint != make_synthetic(seed=0).fingerprint
    np.testing.assert_array_equal(make_synthetic(noise=1).X, make_synthetic(noise=1).X)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("n_seen", 1),
        ("n_unseen", 0),
        ("samples_per_class", 1),
        ("n_features", 0),
        ("n_attributes", 2.5),
        ("descriptions", 0),
        ("seed", -1),
        ("n_unseen", True),
        ("noise", -0.1),
        ("noise", float("nan")),
        ("shift", float("inf")),
    ],
)
def test_synthetic_refuses(argument, value):
    with pytest.raises(ValueError, match=f"{argument} (is )?{value}.*expected"):
        make_synthetic(**{argument: value})


# the registry


def test_load_by_name():
    assert datasets.load("Digits").fingerprint == digits.load().fingerprint
    assert datasets.load("SYNTHETIC").fingerprint == make_synthetic().fingerprint
    assert [name for name, _ in datasets.names()] == ["digits", "synthetic", *datasets.xlsa17.BENCHMARKS]
    assert all(description and "\n" not in description for _, description in datasets.names())


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"'digts' \(did you mean 'digits'\?\).*digits, synthetic"):
        datasets.load("digts")


@pytest.mark.parametrize("name", ["digits", "synthetic"])
@pytest.mark.parametrize("argument", ["root", "features", "signatures", "folds"])
def test_bundled_datasets_take_no_files(name, argument):
    with pytest.raises(ValueError, match=f"{argument} is 'somewhere', but the bundled dataset '{name}' takes none"):
        datasets.load(name, **{argument: "somewhere"})
