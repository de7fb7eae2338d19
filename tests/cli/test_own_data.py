"""From CSV files to a dataset and its model on the command line; every wrong turn gets one sentence, exit code 2."""

import json
import os

import pandas as pd
import pytest
import scipy.io
from typer.testing import CliRunner

import command
import user_files
import zskl
from command import invoke
from user_files import MAKE
from zskl import datasets
from zskl.cli import app
from zskl.datasets import folder


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
    assert zskl.load("m.zskl").classes_.tolist() == [0, 1, 2, 4, 5, 6, 7]
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
    assert "birds has 2 fault(s)" in result.stderr
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
