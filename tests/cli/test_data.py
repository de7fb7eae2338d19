"""`zskl data make` and `check`: from CSV files to a dataset and its predictions; each wrong turn is one sentence."""

import gzip
import json
import os
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from typer.testing import CliRunner

import command
import user_files
import zskl
from command import invoke
from user_files import LOOSE, MAKE
from user_files import MAKE_CHEESE as MESSY
from zskl import datasets, load
from zskl.batch.predict import Predictor
from zskl.cli import app
from zskl.datasets import folder
from zskl.signatures.cells import Preparation


def test_from_files_to_predictions_of_classes_never_trained_on(here):
    user_files.write_birds(here, width=12, attributes=3)  # eight classes tell enough of three attributes
    code, out = invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
    assert code == 0
    assert "120 rows × 12 features, 8 seen and 2 unseen classes, 3 attributes" in out
    code, out = invoke("fit", "birds", "-o", "birds.zskl", "--method", "gaussian-ort", "--set", "sigma=0.8")
    assert code == 0
    assert "80 rows of 8 classes" in out
    pd.read_csv("traits.csv").query("`class` in ['fox', 'gnu']").to_csv("new.csv", index=False)
    assert invoke("predict", "birds.zskl", "features.csv", "--signatures", "new.csv", "-o", "out.csv")[0] == 0
    table = pd.read_csv("out.csv")
    assert table.columns.tolist() == ["id", "class", "score", "class_2", "score_2"]
    truth = pd.read_csv("features.csv").set_index("id")["label"]
    mine = table.set_index("id")["class"][truth[truth.isin(["fox", "gnu"])].index]
    assert (mine == truth[mine.index]).mean() > 0.9
    assert invoke("run", "birds", "--method", "gaussian-ort", "--json", "out.jsonl")[0] == 0
    record = json.loads((here / "out.jsonl").read_text())
    assert (record["dataset"], record["fingerprint"]) == ("birds", datasets.load("birds").fingerprint)


def test_whole_numbers_as_classes(here):
    user_files.write_birds(here, [str(k) for k in range(8)], ids=False)
    invoke(*MAKE, "--unseen", "3")
    invoke("fit", "birds", "-o", "m.zskl", "--no-tune")
    assert zskl.load("m.zskl").seen_classes_.tolist() == [0, 1, 2, 4, 5, 6, 7]
    code, out = invoke("predict", "m.zskl", "features.csv", "--candidates", "3", "--candidates", "4", "--top", "1")
    assert code == 0
    assert out.splitlines()[0] == "row,class,score"
    assert {line.split(",")[1] for line in out.splitlines()[1:]} == {"3", "4"}
    code, out = invoke("predict", "m.zskl", "features.csv", "--signatures", "traits.csv", "--top", "1")
    known = [line.split(",")[1] for line in out.splitlines()[1:]]
    assert known == [
        line.split(",")[1] for line in invoke("predict", "m.zskl", "features.csv", "--top", "1")[1].splitlines()[1:]
    ]


def test_xlsa17(here):
    code, out = invoke(*MAKE, "--format", "xlsa17")
    assert code == 0
    assert "wrote birds" in out
    assert sorted(os.listdir("birds"))[:3] == ["allclasses.txt", "att_splits.mat", "attribute_names.txt"]
    assert "features.npy" not in os.listdir("birds")
    assert scipy.io.loadmat("birds/res101.mat")["features"].shape == (6, 120)
    assert invoke(*MAKE, "--format", "xlsa17", "--force")[0] == 0
    assert sorted(os.listdir(here)) == ["birds", "features.csv", "traits.csv"]


def test_check(here):
    invoke(*MAKE, "--unseen", "fox")
    code, out = invoke("data", "check", "birds")
    assert code == 0
    for word in ("120 rows × 6 features", "trainval", "90", "unseen", "fox", "12 to 12", "no faults"):
        assert word in out, word
    table = pd.read_csv("traits.csv").assign(legs=4, copy=pd.read_csv("traits.csv")["t0"])
    table.to_csv("traits.csv", index=False)
    code, out = invoke(*MAKE, "--force")
    assert "fault: attribute 'legs'" in out
    result = CliRunner().invoke(app, ["data", "check", "birds"])
    assert result.exit_code == 1
    assert "birds has 2 faults" in result.stderr
    assert "'legs' has the same value" in result.stderr
    assert "'t0', 'copy' have the same values" in result.stderr
    assert invoke("data", "check", "digits")[0] == 0


def test_check_of_many_classes_shows_some(here):
    user_files.write_birds(here, [f"c{k}" for k in range(50)], rows=5)
    invoke(*MAKE)
    out = invoke("data", "check", "birds")[1]
    assert "… 20 more" in out


WRONG = {
    "no features": (["data", "make", "out", "--features", "no.csv", *MAKE[5:]], "no features file at no.csv"),
    "no labels": ([*MAKE[:6], "nothing", *MAKE[7:]], "neither a file nor a column of features.csv"),
    "no signatures": ([*MAKE[:8], "no.csv"], "no signatures file at no.csv"),
    "both unseen": ([*MAKE, "--unseen", "fox", "--unseen-fraction", "0.5"], "both given"),
    "unknown unseen": ([*MAKE, "--unseen", "wolf"], "unseen names 'wolf'"),
    "there already": (["data", "make", "traits.csv", *MAKE[3:]], "traits.csv is there already"),
    "not ours": (["data", "make", "traits.csv", *MAKE[3:], "--force"], "traits.csv is not a dataset folder"),
    "check of nothing": (["data", "check", "nowhere"], "no dataset is called 'nowhere'"),
    "fit of nothing": (["fit", "nowhere", "-o", "m.zskl"], "no dataset is called 'nowhere'"),
    "unknown method": (["fit", "digits", "-o", "m.zskl", "--method", "magic"], "unknown method 'magic'"),
    "unknown setting": (["fit", "digits", "-o", "m.zskl", "--set", "magic=1"], "no setting 'magic'"),
    "no such folder": (["fit", "digits", "-o", "no/m.zskl"], "the folder no does not exist"),
    "no model": (["predict", "no.zskl", "features.csv"], "no model file at no.zskl"),
    "not a model": (["predict", "traits.csv", "features.csv"], "traits.csv is not a readable zskl model file"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_turns(here, case):
    arguments, sentence = WRONG[case]
    with pytest.raises((ValueError, OSError), match=sentence.replace(".", r"\.")):
        invoke(*arguments)
    assert sorted(os.listdir(here)) == ["features.csv", "traits.csv"]


def test_errors_are_a_sentence_and_exit_code_2(here):
    result = command.zskl(*MAKE[:8], "features.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("error: signatures is features.csv, which is also what features is")
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_of_two_commands_that_make_one_folder_one_wins(here, monkeypatch):
    """The first is held when it has written its files; the second runs from its beginning to its end meanwhile."""
    write, others = folder.write_folder, []

    def held(*given):
        write(*given)
        if not others:
            others.append(None)
            others[0] = command.zskl(*MAKE, "--unseen", "fox")

    monkeypatch.setattr(folder, "write_folder", held)
    first = command.zskl(*MAKE, "--unseen", "gnu")
    (second,) = others
    assert (first.returncode, second.returncode) == (2, 0)
    assert "somebody else wrote it in the meantime" in first.stderr
    assert "wrote" not in first.stdout
    assert datasets.load("birds").unseen_classes.tolist() == ["fox"]
    assert sorted(os.listdir(here)) == ["birds", "features.csv", "traits.csv"]


def test_two_spellings_of_a_name_are_one_class(here):
    """é as one sign in the table and in options, as e and an accent among the labels, or the other way round."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    user_files.write_birds(here, [composed, *user_files.SPECIES])
    text = (here / "features.csv").read_text("utf-8")
    (here / "features.csv").write_text(text.replace(composed, apart, 5), "utf-8")  # 5 of its 12 rows
    assert invoke(*MAKE, "--unseen", apart)[0] == 0
    data = datasets.load("birds")
    assert (data.unseen_classes.tolist(), len(data.parts["test_unseen"])) == ([composed], 12)
    invoke("fit", "birds", "-o", "m.zskl", "--method", "eszsl")
    code, out = invoke("predict", "m.zskl", "features.csv", "--candidates", apart, "--candidates", "ant", "--top", "1")
    assert code == 0
    assert {line.split(",")[1] for line in out.splitlines()[1:]} == {composed, "ant"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_a_device_is_not_called_a_folder(here):
    os.mkfifo("pipe.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv is a pipe or a device, not a file: expected a features file"):
        invoke(*MAKE[:4], "pipe.csv", *MAKE[5:])
    with pytest.raises(ValueError, match="/dev/null is a pipe or a device"):
        invoke(*MAKE[:8], "/dev/null")


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    """A dataset made of messy files, and a model fitted on it."""
    place = tmp_path_factory.mktemp("messy")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        frame = user_files.write_cheese(place)
        done = command.zskl(*MESSY, *LOOSE, "--unseen", "Brie", "--unseen", "Τυρί")
        assert done.returncode == 0, done.stderr
        assert invoke("fit", "cheese", "-o", "cheese.zskl", "--no-tune")[0] == 0
    return place, frame, done


def test_what_was_left_out_is_a_note(messy):
    _, frame, done = messy
    assert f"{len(frame)} rows × 10 features, 8 seen and 2 unseen classes, 4 attributes" in done.stderr
    notes = [line for line in done.stderr.splitlines() if "column 'nr' was left out" in line]
    assert [note.split(":")[1].strip() for note in notes] == ["traits.csv", "rows.csv"]
    assert all(note.startswith("note: ") and "--keep-column" in note for note in notes)


def test_new_rows_are_prepared_as_training_rows_were(messy, monkeypatch):
    place, frame, _ = messy
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


def test_what_learns_from_tables_later_prepares_them_too(messy, monkeypatch):
    place, frame, _ = messy
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


def test_a_model_of_whole_rows_refuses_a_hole(messy, monkeypatch):
    place, frame, _ = messy
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


def test_rows_and_classes_from_standard_input(messy, monkeypatch):
    place = messy[0]
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
    done = piped("rows.csv", "data", "make", "piped", "--features", "-", *MESSY[5:], *LOOSE)
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


def write_birds_in_words(place):
    """features.csv as `write_birds` has it, and traits.csv with words, units, a gap and two rows of a class."""
    traits = user_files.write_birds(place, width=12, attributes=3)
    table = pd.DataFrame({"class": user_files.SPECIES})
    table["colour"] = np.where(traits[:, 0] > 0.3, "red", np.where(traits[:, 0] > -0.5, "Grey", "blue"))
    table["wing"] = [f"{value:.1f} cm" for value in 10 * traits[:, 1]]
    table["sings"] = np.where(traits[:, 2] > 0, "yes", "no")
    table.loc[2, "wing"] = ""
    pd.concat([table, table[-1:].assign(colour="grey")]).to_csv("traits.csv", index=False)
    return table


def test_a_class_table_in_words_from_files_to_new_classes(here):
    table = write_birds_in_words(here)
    with pytest.raises(ValueError, match=r"traits.csv, line 2, column 'colour': found .*--categories onehot"):
        invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
    with pytest.raises(ValueError, match=r"line 4, column 'wing': found ''.*--missing mean"):
        invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu", "--categories", "onehot")
    code, out = invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu", *LOOSE)
    assert code == 0, out
    data = datasets.load("birds")
    assert data.attribute_names == ["colour=Grey", "colour=blue", "colour=red", "wing", "sings"]
    known = [float(cell.removesuffix(" cm")) for cell in [*table["wing"], table["wing"].iloc[-1]] if cell]
    assert data.signatures.loc["cat", "wing"] == np.mean(known)
    assert invoke("fit", "birds", "-o", "birds.zskl", "--no-tune")[0] == 0
    new = pd.DataFrame(
        {"class": ["lark", "tern"], "colour": ["RED", "blue"], "wing": ["3", "4 cm"], "sings": ["yes", ""]}
    )
    new.to_csv("new.csv", index=False)
    numbers = [[0.0, 0, 1, 3, 1], [0, 1, 0, 4, data.signatures["sings"].mean()]]
    model = load("birds.zskl")
    X = pd.DataFrame(data.X[:5], columns=data.feature_names)
    expected = model.compatibility(X, dict(zip(new["class"], numbers, strict=True)))
    np.testing.assert_array_equal(model.compatibility(X, new), expected)
    code, out = invoke("predict", "birds.zskl", "features.csv", "--signatures", "new.csv", "--top", "2")
    assert code == 0, out
    assert out.splitlines()[1].split(",")[2] == f"{expected[0].max():.6g}"
    mine = table.set_index("class")["colour"]
    other = mine.index[mine != mine["ant"]][0]
    code, out = invoke("explain", "birds.zskl", "features.csv", "--rows", "0", "--label", "ant", "--against", other)
    assert (code, f"colour = {mine['ant']} " in out, f"colour not {mine[other]} " in out) == (0, True, True), out
    pd.DataFrame(data.X[:2], columns=data.feature_names).assign(label=["lark", "Lark"]).to_csv("some.csv", index=False)
    teach = ("teach", "birds.zskl", "--features", "some.csv", "--labels", "label", "--signatures", "new.csv")
    with pytest.raises(ValueError, match=r"'Lark' \(did you mean 'lark'\?\).*--new-classes"):
        invoke(*teach, "-o", "t.zskl")
    assert invoke(*teach, "-o", "t.zskl", "--new-classes")[0] == 0
    taught = load("t.zskl").signature_table_
    assert taught.select(["lark", "tern"]).matrix.tolist() == numbers
    new.assign(wing=["3 m", "4 m"]).to_csv("metres.csv", index=False)
    with pytest.raises(ValueError, match=r"metres.csv, line 2, column 'wing': found '3 m', expected numbers in 'cm'"):
        invoke("predict", "birds.zskl", "features.csv", "--signatures", "metres.csv")


def test_fit_of_shards_takes_a_class_table_in_words(here):
    write_birds_in_words(here)
    rows = pd.read_csv("features.csv").drop(columns="id")
    (here / "shards").mkdir()
    rows.to_parquet("shards/a.parquet")
    asked = ("fit", "shards", "--labels", "label", "--signatures", "traits.csv", "-o", "m.zskl")
    with pytest.raises(ValueError, match="--categories onehot"):
        invoke(*asked)
    assert invoke(*asked, *LOOSE)[0] == 0
    assert load("m.zskl").attribute_names_[:2] == ("colour=Grey", "colour=blue")
    with pytest.raises(ValueError, match="without --labels"):
        invoke("fit", "letters", "-o", "m.zskl", *LOOSE)


def test_check_finds_slips_in_files(here):
    """A row with two labels, a row twice, a column that is the label, and a class in two spellings."""
    user_files.write_birds(here)
    rows = pd.read_csv("features.csv")
    values = [f"f{k}" for k in range(6)]
    rows.loc[[30, 31, 32], values] = rows.loc[[90, 91, 92], values].to_numpy()
    rows = pd.concat([rows, rows[rows["label"] == "ant"].assign(id=[f"more{k}" for k in range(12)])])
    rows.loc[rows.index[-1], "label"] = "Ant"
    traits = pd.read_csv("traits.csv")
    pd.concat([traits, traits[:1].assign(**{"class": "Ant"})]).to_csv("traits.csv", index=False)
    for tagged, sentences in (
        (False, ["rows with more than one label: ", "classes 'ant' and 'Ant' differ in case or spaces alone"]),
        (True, ["test rows that are training rows, too: ", "feature 'tag' gives the label away"]),
    ):
        (rows.assign(tag=rows["label"] + "!") if tagged else rows).to_csv("features.csv", index=False)
        assert invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu", *LOOSE, "--force")[0] == 0
        code, out = invoke("data", "check", "birds")
        assert code == 1
        for sentence in sentences:
            assert f"fault: {sentence}" in " ".join(out.split()), out
