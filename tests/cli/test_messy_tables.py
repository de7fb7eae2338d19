"""From a messy table to predictions: what was learned from training rows is applied to new rows."""

import gzip
import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import command
import user_files
from command import invoke
from user_files import LOOSE, MAKE_CHEESE
from zskl import datasets, load
from zskl.batch.predict import Predictor
from zskl.datasets import folder
from zskl.datasets.tables import Preparation


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A dataset made of messy files, and a model fitted on it."""
    place = tmp_path_factory.mktemp("messy")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        frame = user_files.write_cheese(place)
        done = command.zskl(*MAKE_CHEESE, *LOOSE, "--unseen", "Brie", "--unseen", "Τυρί")
        assert done.returncode == 0, done.stderr
        assert invoke("fit", "cheese", "-o", "cheese.zskl", "--no-tune")[0] == 0
    return place, frame, done


def test_what_was_left_out_is_a_note(made):
    _, frame, done = made
    assert f"{len(frame)} rows × 10 features, 8 seen and 2 unseen classes, 4 attributes" in done.stdout
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    assert [note.split(":")[1].strip() for note in notes] == ["traits.csv", "rows.csv"]
    assert all("column 'nr' was left out" in note and "--keep-column" in note for note in notes)


def test_new_rows_are_prepared_as_training_rows_were(made, monkeypatch):
    place, frame, _ = made
    monkeypatch.chdir(place)
    columns = [*frame.columns.drop(["nr", "sort"])[::-1], "id"]
    new = frame[columns[:-1]].copy()
    new.loc[5, "rind"] = "waxed"
    new = new.astype({"soft": object})
    new.loc[7, ["m0", "soft"]] = None
    new.to_csv("new.csv.gz", index=False)
    with gzip.open("new.csv.gz", "rt", encoding="utf-8") as file:
        assert "None" not in file.read()
    done = command.zskl("predict", "cheese.zskl", "new.csv.gz", "--top", "1", "-o", "all.csv")
    assert done.returncode == 0, done.stderr
    assert "new.csv.gz: column 'rind' holds 'waxed', which no training row did" in done.stderr
    answers = pd.read_csv("all.csv").set_index("id")["class"]
    data = folder.load_folder("cheese")
    same = [k for k in range(len(frame)) if k not in (5, 7)]
    model = load("cheese.zskl")
    X = pd.DataFrame(data.X, columns=data.feature_names)
    np.testing.assert_array_equal(answers.to_numpy()[same], model.predict(X)[same])
    assert (answers.to_numpy()[same] == frame["sort"].to_numpy()[same]).mean() > 0.8
    new.iloc[[7]].to_csv("one.csv", index=False)  # alone, its mean would be nothing
    done = command.zskl("predict", "cheese.zskl", "one.csv", "--top", "1")
    assert done.stdout.splitlines()[1].split(",")[:2] == ["r7", answers["r7"]]


def test_what_learns_from_tables_later_prepares_them_too(made, monkeypatch):
    place, frame, _ = made
    monkeypatch.chdir(place)
    frame.iloc[:30].to_csv("examples.csv", index=False)
    assert invoke("teach", "cheese.zskl", "--features", "examples.csv", "--labels", "sort", "-o", "taught.zskl")[0] == 0
    kept = folder.read_preparation("cheese").text()
    assert load("taught.zskl").preparation_ == load("cheese.zskl").preparation_ == kept
    code, out = invoke("explain", "taught.zskl", "rows.csv", "--rows", "3", "--json")
    assert (code, json.loads(out)["id"]) == (0, "r3")
    fitted = load("taught.zskl")
    data = folder.load_folder("cheese")
    fitted.fit(*data.samples("trainval"), data.signatures)
    assert not hasattr(fitted, "preparation_"), "another fit, on rows that nobody prepared"


def test_a_model_of_whole_rows_refuses_a_hole(made, monkeypatch):
    place, frame, _ = made
    monkeypatch.chdir(place)
    model = load("cheese.zskl")
    kept = Preparation.from_text(model.preparation_)
    model.preparation_ = Preparation(tuple(replace(column, fill=None) for column in kept.columns)).text()
    first = 2 + int(frame["m1"].isna().argmax())
    with pytest.raises(ValueError, match=f"rows.csv, line {first}, column 'm1': found nothing, and the model was"):
        list(Predictor(model).lines("rows.csv"))
    frame.assign(m1="far").to_csv("words.csv", index=False)
    with pytest.raises(ValueError, match=r"words.csv, line 2, column 'm1': found 'far', expected a finite number"):
        list(Predictor(model).lines("words.csv"))
    with pytest.raises(ValueError, match="the preparation of features is damaged"):
        Preparation.from_text('[{"name": "m1"}]')


def test_rows_and_classes_from_standard_input(made, monkeypatch):
    place = made[0]
    monkeypatch.chdir(place)
    expected = invoke("predict", "cheese.zskl", "rows.csv", "--top", "1")[1]

    def piped(file, *arguments):
        with open(file, encoding="utf-8") as stdin, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            return command.zskl(*arguments)

    assert piped("rows.csv", "predict", "cheese.zskl", "-", "--top", "1").stdout == expected
    new = pd.read_csv("traits.csv").query("`class` in ['Brie', 'Τυρί']")
    new.to_csv("new_traits.csv", index=False)
    done = piped("new_traits.csv", "predict", "cheese.zskl", "rows.csv", "--signatures", "-", "--top", "1")
    assert {line.split(",")[1] for line in done.stdout.splitlines()[1:]} == {"Brie", "Τυρί"}
    assert "standard input: column 'nr' was left out" in done.stderr
    done = piped("rows.csv", "data", "make", "piped", "--features", "-", *MAKE_CHEESE[5:], *LOOSE)
    assert done.returncode == 0, done.stderr
    (place / "shards").mkdir()
    np.save(place / "shards" / "a.npy", np.zeros((1, 10)))
    done = piped("new_traits.csv", "predict", "cheese.zskl", "shards", "--signatures", "-", "-o", "out")
    assert "signatures is standard input, and every shard needs it" in done.stderr


def test_words_that_training_rows_lack_do_not_move_the_others(here):
    """Each column of a word is 1 where the file has that word, whatever other words test rows have."""
    draw = np.random.default_rng(0)
    towns = np.array([f"town {k}" for k in draw.integers(0, 60, size=120)])
    table = pd.DataFrame({"x": draw.normal(size=120), "town": towns, "kind": [f"k{k % 6}" for k in range(120)]})
    table.to_csv("rows.csv", index=False)
    traits = pd.DataFrame(draw.normal(size=(6, 3)), columns=list("abc"), index=[f"k{k}" for k in range(6)])
    traits.to_csv("kinds.csv", index_label="class")
    data = datasets.make("d", "rows.csv", "kind", "kinds.csv", unseen=["k1"], categories="onehot")
    words = sorted(set(towns[data.parts["trainval"]]))
    assert set(data.feature_names) == {"x", *(f"town={word}" for word in words)}
    assert len(words) < len(set(towns))
    for place, name in enumerate(data.feature_names):
        if name != "x":
            np.testing.assert_array_equal(data.X[:, place], towns == name.removeprefix("town="))
