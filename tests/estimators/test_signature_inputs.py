"""Wrong signatures and candidates get one clear sentence with the value found, and nothing is lost."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tolerances import AFTER_FIT, assert_close
from toy import assert_refused, cases, recode, vectors
from zskl.batch.predict import Predictor

# what is wrong: (the call on a fitted model `m` and the toy problem `t`, what the sentence must say)
SIGNATURES = {
    "a label without signature": (
        lambda m, t: m.fit(t.X, t.y, t.table.drop(index="cat")),
        ["no signature for class 'cat'", "'dog', 'emu', 'ant', 'bee'"],
    ),
    "a label without signature in a mapping": (lambda m, t: m.fit(t.X, t.y, {"dog": [1], "cat": [2]}), ["class 'ant'"]),
    "duplicate columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis(["size", "legs", "legs", "fur"], axis=1)),
        ["more than once", "'legs'"],
    ),
    "a number and its text as columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis([1, "1", 2, 3], axis=1)),
        ["more than once", "'1'"],
    ),
    "duplicate columns at predict": (
        lambda m, t: m.predict(t.X, t.table[["size", "legs", "wings", "fur", "fur"]]),
        ["more than once", "'fur'"],
    ),
    "a missing column": (lambda m, t: m.predict(t.X, t.table.drop(columns="legs")), ["lacks 'legs'", "4 attribute"]),
    "an extra column": (lambda m, t: m.predict(t.X, t.table.assign(song=1.0)), ["unknown 'song'", "4 attribute"]),
    "a renamed column": (
        lambda m, t: m.predict(t.X, t.table.rename(columns={"legs": "feet"})),
        ["lacks 'legs'", "unknown 'feet'", "4 attribute"],
    ),
    "a renamed column, polars": (
        lambda m, t: m.predict(t.X, pl.DataFrame({"class": ["a"], "size": [1], "feet": [2], "wings": [2], "fur": [1]})),
        ["lacks 'legs'", "unknown 'feet'"],
    ),
    "a missing attribute in a mapping": (
        lambda m, t: m.predict(t.X, {"wasp": {"size": 1, "legs": 6, "wings": 4}}),
        ["lacks 'fur'", "4 attribute"],
    ),
    "all zero": (
        lambda m, t: t.model(signature_scaling="none").fit(t.X, t.y, t.table.mul([1, 0, 1, 1, 1], axis=0)),
        ["all-zero signature", "'emu'"],
    ),
    "all zero at predict": (
        lambda m, t: t.fitted(signature_scaling="l2").predict(t.X, {"wasp": [0, 0, 0, 0]}),
        ["all-zero signature", "'wasp'", "signature_scaling='l2'", "center-l2"],
    ),
    "all zero among several": (
        lambda m, t: t.model(signature_scaling="none").fit(t.X, t.y, vectors(t, dog=[[1, 2, 3, 4], [0, 0, 0, 0]])),
        ["all-zero signature", "'dog'"],
    ),
    "NaN": (
        lambda m, t: m.fit(t.X, t.y, t.table.where(t.table != t.table.loc["ant", "wings"])),
        ["NaN", "class 'ant'", "attribute 'wings'"],
    ),
    "infinity": (
        lambda m, t: m.predict(t.X, t.table.replace(t.table.loc["bee", "fur"], -np.inf)),
        ["infinity", "class 'bee'", "attribute 'fur'"],
    ),
    "NaN in an array": (
        lambda m, t: m.predict(t.X, [[1, 2, np.nan, 4]], candidates=["wasp"]),
        ["NaN", "class 'wasp'", "attribute 2"],
    ),
    "null": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"class": ["ant", "cat", "dog"], "u": [1, None, 3], "v": [1, 2, 3]})),
        ["NaN", "class 'cat'", "attribute 'u'"],
    ),
    "text in a column": (lambda m, t: m.fit(t.X, t.y, t.table.assign(song="loud")), ["'song' is String", "numbers"]),
    "dates in a column": (
        lambda m, t: m.fit(t.X, t.y, t.table.assign(found=pd.Timestamp("2026-01-01"))),
        ["'found' is Datetime", "numbers"],
    ),
    "text in two columns": (
        lambda m, t: m.fit(t.X, t.y, t.table.reset_index(names="animal").assign(song="loud")),
        ["'animal' is String", "'song' is String"],
    ),
    "text in a vector": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, emu=["a", 1, 2, 3])),
        ["class 'emu'", "numbers", "'a'"],
    ),
    "no class column": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"legs": [4, 6, 4], "fur": [1, 0, 1]})),
        ["which class", "'class'", "'legs', 'fur'"],
    ),
    "two text columns, polars": (
        lambda m, t: m.fit(t.X, t.y, pl.DataFrame({"animal": ["ant"], "song": ["loud"], "fur": [1]})),
        ["which class", "'class'", "'animal', 'song', 'fur'"],
    ),
    "mixed types in the index": (
        lambda m, t: m.fit(t.X, t.y, t.table.rename(index={"emu": 3})),
        ["index of signatures mixes", "string 'dog'", "integer 3"],
    ),
    "mixed types in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {**vectors(t), 3: [1, 2, 3, 4]}),
        ["signatures mixes", "string 'dog'", "integer 3"],
    ),
    "a missing class name": (
        lambda m, t: m.fit(t.X, t.y, t.table.rename(index={"emu": None})),
        ["index of signatures has no label in row 1"],
    ),
    "two levels of index": (
        lambda m, t: m.fit(t.X, t.y, t.table.set_axis(pd.MultiIndex.from_product([t.table.index, ["a"]]))),
        ["tuple", "strings or all integers"],
    ),
    "another length in a mapping": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, emu=[1, 2, 3])),
        ["class 'emu' has 3 values", "class 'dog' 4"],
    ),
    "other attributes in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {"ant": {"legs": 6}, "cat": {"fur": 1}, "dog": {"legs": 4}}),
        ["class 'cat'", "'fur'", "'legs'"],
    ),
    "rows of unequal length": (
        lambda m, t: m.fit(t.X, t.y, [[1, 2], [3], [4, 5]]),
        ["signatures", "length"],
    ),
    "rows of unequal length in a mapping": (
        lambda m, t: m.fit(t.X, t.y, vectors(t, dog=[[1, 2, 3, 4], [1, 2]])),
        ["class 'dog'", "length"],
    ),
    "three dimensions in a mapping": (
        lambda m, t: m.fit(t.X, t.y, {label: np.ones((2, 2, 2)) for label in t.table.index}),
        ["class 'dog'", "(2, 2, 2)"],
    ),
    "an array with too many rows": (lambda m, t: m.fit(t.X, t.y, t.table.to_numpy()), ["5 rows", "3 classes"]),
    "an array with too few rows": (lambda m, t: m.fit(t.X, t.y, [[1, 2], [2, 1]]), ["2 rows", "3 classes"]),
    "a 1-D array": (lambda m, t: m.fit(t.X, t.y, [1, 2, 3]), ["(3,)", "2-D"]),
    "a 3-D array": (lambda m, t: m.fit(t.X, t.y, np.ones((3, 2, 2))), ["(3, 2, 2)", "2-D"]),
    "an array of other width at predict": (
        lambda m, t: m.predict(t.X, [[1, 2, 3]], candidates=["wasp"]),
        ["3 attributes", "fitted with 4"],
    ),
    "vectors of other width at predict": (lambda m, t: m.predict(t.X, {"wasp": [1, 2]}), ["2 attributes", "with 4"]),
    "an array without names at predict": (
        lambda m, t: m.predict(t.X, t.table.to_numpy()),
        ["array of 5 rows", "candidates="],
    ),
    "an array with fewer names at predict": (
        lambda m, t: m.predict(t.X, t.table.to_numpy(), candidates=["emu"]),
        ["5 rows", "1 class"],
    ),
    "names of another type at predict": (
        lambda m, t: t.model().fit(t.X, recode(t, int)).predict(t.X, {"1": [1, 2, 3], "9": [3, 2, 1]}),
        ["strings such as '1'", "integers"],
    ),
    "an empty table": (lambda m, t: m.fit(t.X, t.y, t.table.iloc[:0]), ["empty", "(0, 4)"]),
    "a table without attributes": (lambda m, t: m.fit(t.X, t.y, t.table[[]]), ["empty", "one attribute"]),
    "an empty mapping": (lambda m, t: m.fit(t.X, t.y, {}), ["empty mapping"]),
    "empty vectors": (lambda m, t: m.fit(t.X, t.y, {label: [] for label in t.table.index}), ["empty", "attribute"]),
    "an empty array": (lambda m, t: m.predict(t.X, np.empty((1, 0)), candidates=["wasp"]), ["empty", "(1, 0)"]),
    "a file name": (lambda m, t: m.fit(t.X, t.y, "table.csv"), ["type str", "data frame"]),
    "a number": (lambda m, t: m.predict(t.X, 5), ["type int", "data frame"]),
    "one column": (lambda m, t: m.fit(t.X, t.y, t.table["legs"]), ["type Series", "data frame"]),
}
CANDIDATES = {
    "an unknown class": (
        lambda m, t: m.predict(t.X, candidates=["cat", "wasp"]),
        ["candidate 'wasp'", "'ant', 'cat', 'dog', 'emu', 'bee'"],
    ),
    "a class that is not in the table": (
        lambda m, t: m.predict(t.X, t.table.loc[["emu"]], candidates=["bee"]),
        ["candidate 'bee'", "signatures", "'emu'"],
    ),
    "a misspelt class": (lambda m, t: m.compatibility(t.X, candidates=["Cat"]), ["candidate 'Cat'", "'cat'"]),
    "integers for text": (lambda m, t: m.top_k(t.X, 1, candidates=[0, 1]), ["candidate 0, 1", "'ant'"]),
    "mixed types": (
        lambda m, t: m.predict(t.X, candidates=["cat", 1]),
        ["candidates mixes", "string 'cat'", "integer 1"],
    ),
    "none at all": (lambda m, t: m.predict(t.X, candidates=[]), ["candidates is empty", "at least one"]),
    "2-D": (lambda m, t: m.predict(t.X, candidates=np.array([["cat"]])), ["candidates", "(1, 1)"]),
    "lists": (lambda m, t: m.predict(t.X, candidates=[["cat"], ["dog"]]), ["candidates", "list"]),
    "one name, not in a list": (lambda m, t: m.predict(t.X, candidates="cat"), ["candidates is 'cat'", "list"]),
    "one number, not in a list": (lambda m, t: m.predict(t.X, candidates=3), ["candidates is 3", "list"]),
    "k of zero": (lambda m, t: m.top_k(t.X, 0), ["k is 0", "1 to 5"]),
    "a negative k": (lambda m, t: m.top_k(t.X, -1), ["k is -1", "1 to 5"]),
    "k beyond the candidates": (lambda m, t: m.top_k(t.X, 6), ["k is 6", "1 to 5"]),
    "k beyond the chosen candidates": (lambda m, t: m.top_k(t.X, 3, candidates=["emu", "bee"]), ["k is 3", "1 to 2"]),
    "k beyond a new table": (lambda m, t: m.top_k(t.X, signatures={"wasp": [1, 2, 3, 4]}), ["k is 5", "1 to 1"]),
    "a fractional k": (lambda m, t: m.top_k(t.X, 2.0), ["k is 2.0", "integer"]),
    "k as text": (lambda m, t: m.top_k(t.X, "2"), ["k is '2'", "integer"]),
    "k as truth": (lambda m, t: m.top_k(t.X, True), ["k is True", "integer"]),
}


@pytest.mark.parametrize(("call", "words"), cases(signatures=SIGNATURES, candidates=CANDIDATES))
def test_bad_input_gets_one_clear_sentence_and_nothing_is_lost(toy, call, words):
    assert_refused(toy, call, words)


@pytest.mark.parametrize("scaling", ["center-l2", "standardize-l2", "l2-center-l2"])
def test_zeros_describe_a_class_where_the_mean_is_subtracted(toy, scaling):
    zeros = toy.table.mul([1, 0, 1, 1, 1], axis=0)  # in whatever units attributes are, one class has none of them
    found = toy.model(signature_scaling=scaling).fit(toy.X, toy.y, zeros)
    assert np.isfinite(found.compatibility(toy.X)).all()
    assert found.predict(toy.X, {"wasp": [0, 0, 0, 0], "bee": zeros.loc["bee"]}).shape == (len(toy.X),)
    if not scaling.startswith("l2"):  # a mean is subtracted, so it does not matter where zero is
        moved = toy.model(signature_scaling=scaling).fit(toy.X, toy.y, zeros + 5.0)
        assert_close(found.compatibility(toy.X), moved.compatibility(toy.X), AFTER_FIT.single)


def test_a_class_called_unknown_is_told_from_a_rejected_row(toy):
    y, table = np.where(toy.y == "cat", "unknown", toy.y), toy.table.rename(index={"cat": "unknown"})
    model = toy.model().fit(toy.X, y, table)
    model.temperatures_ = {"seen": 1.0, "unseen": 1.0, "mixed": 1.0}
    assert "unknown" in model.predict(toy.X)
    assert "unknown" in model.predict(toy.X, candidates=["ant", "dog"], reject=1.0)
    for ask in (lambda: model.predict(toy.X, reject=0.5), lambda: Predictor(model, reject=0.5)):
        with pytest.raises(ValueError, match="a candidate class is called 'unknown', which is also the answer for"):
            ask()
