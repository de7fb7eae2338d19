"""From CSV files to predictions on the command line; and every wrong turn told in one sentence, exit code 2."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.io
from typer.testing import CliRunner

import command
import own_files
import zskl
from zskl import datasets, methods
from zskl.batch import predict_file
from zskl.cli import app
from zskl.selection import calibration

MAKE = ["data", "make", "birds", "--features", "features.csv", "--labels", "label", "--signatures", "traits.csv"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own_files.write(tmp_path)
    return tmp_path


def invoke(*arguments):
    """(exit code, standard output) of a command that must not fail."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the files, the dataset made of them, fox and gnu unseen, and a model fitted on it."""
    folder = tmp_path_factory.mktemp("made")
    own_files.write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
        invoke("fit", "birds", "-o", "birds.zskl", "--set", "epochs=3")
    return folder


@pytest.fixture
def model(here, made):
    """The model in a copy of that folder, which a test may change."""
    shutil.copytree(made, here, dirs_exist_ok=True)
    return "birds.zskl"


def test_from_files_to_predictions_of_classes_never_trained_on(here):
    own_files.write(here, width=12, attributes=3)  # eight classes tell enough of three attributes
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
    assert invoke("run", "birds", "--json", "out.jsonl")[0] == 0
    record = json.loads((here / "out.jsonl").read_text())
    assert (record["dataset"], record["fingerprint"]) == ("birds", datasets.load("birds").fingerprint)


def test_predictions_are_those_of_the_model(here, model, monkeypatch):
    """Whatever the blocks in which the file is read."""
    loaded = zskl.load(model)
    assert loaded.feature_names_in_.tolist() == [f"f{k}" for k in range(6)]
    X = pd.read_csv("features.csv")
    labels, scores = loaded.top_k(X[loaded.feature_names_in_].astype(np.float32), 3, return_scores=True)
    for values in (1, 1 << 19):
        monkeypatch.setattr("zskl.datasets.tables.feature_file.BLOCK_VALUES", values)
        lines = list(predict_file.Predictor(loaded, top=3).lines("features.csv"))
        assert lines[0] == ["id", "class", "score", "class_2", "score_2", "class_3", "score_3"]
        assert [line[0] for line in lines[1:]] == X["id"].tolist()
        assert [line[1::2] for line in lines[1:]] == labels.tolist()
        np.testing.assert_allclose([[float(cell) for cell in line[2::2]] for line in lines[1:]], scores, rtol=1e-4)


def test_columns_are_matched_by_name(here, model):
    invoke("predict", model, "features.csv", "-o", "a.csv")
    frame = pd.read_csv("features.csv")
    frame[["f3", "label", "f0", "f5", "id", "f1", "f4", "f2"]].assign(extra="text").to_csv("b_in.csv", index=False)
    invoke("predict", model, "b_in.csv", "-o", "b.csv")
    assert (here / "a.csv").read_text() == (here / "b.csv").read_text()
    frame.to_csv("indexed.csv")  # an index without a name before the ids
    invoke("predict", model, "indexed.csv", "-o", "indexed_out.csv")
    assert (here / "a.csv").read_text() == (here / "indexed_out.csv").read_text()
    np.save("c.npy", frame[[f"f{k}" for k in range(6)]].to_numpy())
    code, out = invoke("predict", model, "c.npy", "--top", "1")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "row,class,score"
    assert [line.split(",")[1] for line in lines[1:]] == pd.read_csv("a.csv")["class"].tolist()


def test_candidates(here, model):
    def classes(*arguments):
        code, out = invoke("predict", model, "features.csv", *arguments)
        assert code == 0
        header, *lines = out.splitlines()
        return header.count("class"), {cell for line in lines for cell in line.split(",")[1::2]}

    assert classes()[0] == 5  # of ten
    assert classes("--top", "99")[1] == set(own_files.SPECIES)
    assert classes("--candidates", "fox", "--candidates", "ant") == (2, {"fox", "ant"})
    (here / "new.csv").write_text("t4,t3,t2,t1,t0,class\n1,2,3,4,5,yak\n5,4,3,2,1,zebu\n")
    assert classes("--signatures", "new.csv") == (2, {"yak", "zebu"})
    assert classes("--signatures", "new.csv", "--candidates", "yak") == (1, {"yak"})
    assert classes("--signatures", "new.csv", "--with-known", "--top", "99") == (
        12,
        {*own_files.SPECIES, "yak", "zebu"},
    )
    assert classes("--signatures", "new.csv", "--with-known", "--candidates", "yak", "--candidates", "ant")[0] == 2


def test_whole_numbers_as_classes(here):
    own_files.write(here, [str(k) for k in range(8)], ids=False)
    invoke(*MAKE, "--unseen", "3")
    invoke("fit", "birds", "-o", "m.zskl")
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
    own_files.write(here, [f"c{k}" for k in range(50)], rows=5)
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


WRONG_PREDICTIONS = {
    "no features": (["no.csv"], "no features file at no.csv"),
    "missing column": (["short.csv"], "short.csv lacks the feature column(s) 'f5'"),
    "wrong width": (["narrow.npy"], "narrow.npy has 5 features, the model takes 6"),
    "a word": (["word.csv"], "word.csv, line 3, column 'f0': found 'x'"),
    "unknown candidate": (["features.csv", "--candidates", "wolf"], "candidate 'wolf' is not in signatures"),
    "other attributes": (["features.csv", "--signatures", "other.csv"], "other.csv: the signatures table lacks"),
    "no attributes": (["features.csv", "--signatures", "no.csv"], "no signatures file at no.csv"),
    "known of what": (["features.csv", "--with-known"], "--with-known was given without --signatures"),
    "no such folder": (["features.csv", "-o", "no/out.csv"], "the folder no does not exist"),
}


@pytest.mark.parametrize("case", WRONG_PREDICTIONS)
def test_wrong_predictions_leave_the_old_ones(here, model, case):
    frame = pd.read_csv("features.csv")
    frame.drop(columns="f5").to_csv("short.csv", index=False)
    np.save("narrow.npy", np.ones((3, 5)))
    frame.astype({"f0": object}).assign(f0=["1", "x", *["2"] * 118]).to_csv("word.csv", index=False)
    (here / "other.csv").write_text("class,t0\nant,1\n")
    (here / "out.csv").write_text("old")
    before = sorted(os.listdir(here))
    arguments, sentence = WRONG_PREDICTIONS[case]
    with pytest.raises((ValueError, OSError)) as refused:
        invoke("predict", model, *arguments, *([] if "-o" in arguments else ["-o", "out.csv"]))
    assert sentence in str(refused.value)
    assert (here / "out.csv").read_text() == "old"
    assert sorted(os.listdir(here)) == before


def test_a_model_that_knows_no_names_takes_just_its_columns(here):
    data = datasets.load("digits")
    methods.build("gaussian-ort", {"random_state": 0, "epochs": 1}).fit(data.X, data.y).save("digits.zskl")
    np.savetxt("good.csv", data.X[:5], delimiter=",", fmt="%.1f")
    assert invoke("predict", "digits.zskl", "good.csv")[0] == 0
    pd.DataFrame(data.X[:5]).assign(label="x").to_csv("bad.csv", index=False)
    with pytest.raises(ValueError, match=r"bad\.csv has 65 feature columns, the model takes 64 and does not know"):
        invoke("predict", "digits.zskl", "bad.csv")
    scipy.io.savemat("turned.mat", {"features": data.X[:5].T})
    assert invoke("predict", "digits.zskl", "turned.mat")[1] == invoke("predict", "digits.zskl", "good.csv")[1]


def test_errors_are_a_sentence_and_exit_code_2(here):
    result = command.zskl(*MAKE[:8], "features.csv")
    assert result.returncode == 2
    assert result.stderr.startswith("error: features.csv")
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_tuned_model_answers_with_probabilities_and_unknown(tmp_path, monkeypatch):
    """fit --tune, then predict --probabilities and --reject, as a practitioner would."""
    monkeypatch.chdir(tmp_path)
    data = datasets.load("digits")
    np.save("rows.npy", data.X[:40])
    grid = {"sigma": (1.0,), "epochs": (1, 2)}
    monkeypatch.setitem(methods.METHODS, "gaussian", replace(methods.METHODS["gaussian"], grid=grid))
    monkeypatch.setattr(calibration, "Engine", lambda *names: None)  # no processes for so little
    _, out = invoke("fit", "digits", "-o", "tuned.zskl", "--method", "gaussian", "--tune", "--scoring", "gzsl")
    assert "chosen of 2 settings by gzsl on validation classes" in out
    model = zskl.load("tuned.zskl")
    assert model.calibration_ != 0
    command = ("predict", "tuned.zskl", "rows.npy", "--top", "2")
    plain = invoke(*command)[1].splitlines()
    likely = invoke(*command, "--probabilities")[1].splitlines()
    assert likely[0] == "row,class,probability,class_2,probability_2"
    expected = model.predict_proba(data.X[:40])
    answers = [line.split(",") for line in likely[1:]]
    np.testing.assert_allclose([float(a[2]) for a in answers], expected.max(axis=1), rtol=1e-4)
    assert [a[1] for a in answers] == [line.split(",")[1] for line in plain[1:]]
    middle = float(np.median(expected.max(axis=1)))
    rejected = [line.split(",") for line in invoke(*command, "--reject", middle)[1].splitlines()[1:]]
    unknown = [a[1] == "unknown" for a in rejected]
    np.testing.assert_array_equal(unknown, expected.max(axis=1) < middle)
    assert [a[2] for a in rejected] == [line.split(",")[2] for line in plain[1:]]  # scores stay scores


def test_probabilities_of_zero_keep_the_order_of_scores(tmp_path, monkeypatch):
    """At a low temperature all but the best probability round to 0; places 2 and on are still told by the scores."""
    monkeypatch.chdir(tmp_path)
    data = datasets.make_synthetic(8, 3, 20, 10, 6)
    np.save("rows.npy", data.X[:30])
    rows = data.parts["trainval"]
    model = methods.build("devise", {"random_state": 0}).fit(data.X[rows], data.y[rows], data.signatures)
    model.temperatures_ = dict.fromkeys(("seen", "unseen", "mixed"), 1e-6)
    plain = list(predict_file.Predictor(model, top=5).lines("rows.npy"))
    rejecting = list(predict_file.Predictor(model, top=5, reject=0.0).lines("rows.npy"))
    likely = list(predict_file.Predictor(model, top=5, probabilities=True).lines("rows.npy"))
    assert rejecting == plain
    assert [line[1::2] for line in likely[1:]] == [line[1::2] for line in plain[1:]]
    assert {line[4] for line in likely[1:]} == {"0"}


def test_scoring_is_for_tuning():
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--scoring", "gzsl")


def test_probabilities_need_a_calibrated_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    np.save("rows.npy", datasets.load("digits").X[:5])
    invoke("fit", "digits", "-o", "plain.zskl", "--set", "epochs=1")
    for option in (("--probabilities",), ("--reject", "0.5")):
        with pytest.raises(ValueError, match="zskl fit --calibrate"):
            invoke("predict", "plain.zskl", "rows.npy", *option)
    invoke("fit", "digits", "-o", "calibrated.zskl", "--set", "epochs=1", "--calibrate")
    assert zskl.load("calibrated.zskl").temperatures_ is not None
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        invoke("predict", "calibrated.zskl", "rows.npy", "--reject", 1.5)
