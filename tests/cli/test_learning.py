"""`zskl fit`, `teach`, `adapt` and `label-next`: new model files; an old one stays as it is.

`fit` without a method means class means, tuned by gzsl and calibrated, because that takes seconds.
"""

import re
import shutil
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import command
import user_files
import zskl
from command import invoke
from user_files import MAKE
from zskl import datasets, methods, selection

GRID = {"shrinkage": (0.1, 0.2), "crowding": (0.0, 0.6)}
BOUNDS = {"crowding": (0.0, 0.6)}  # the grid already reaches them
GAIN = {"gain": 0.05, "spread": 0.01, "least": 0.04, "per_class": 3.0}  # as validation classes promise it
HOW = {"weight": 5.0, "kappa": 20.0, "balance": 0.5, "rounds": 9, "shift": 0.1, "crowding": 0.0, "shrinkage": None}
NEW = "class,t0,t1,t2,t3,t4\nyak,1,0,-1,0.5,0.2\n"


@pytest.fixture
def quick(monkeypatch):
    """Four settings beside the default one, and no processes for so little."""
    changed = replace(methods.METHODS["class-means"], grid=GRID, bounds=BOUNDS)
    monkeypatch.setitem(methods.METHODS, "class-means", changed)
    monkeypatch.setattr(import_module("zskl.selection.calibration"), "Engine", lambda *names: None)


@pytest.mark.usefixtures("quick")
def test_the_default_is_class_means_tuned_and_calibrated(tmp_path):
    done = command.zskl("fit", "digits", "-o", str(tmp_path / "m.zskl"))
    assert done.returncode == 0
    assert done.stdout == ""
    out = done.stderr
    assert "chosen of 5 settings by gzsl on validation classes" in out
    assert " % over folds; of the default setting " in out
    assert "calibrated: " in out
    assert "the default setting is kept: the best other is " in out
    assert out.count("note: validation is weak: there are 7 training classes") == 1
    assert "class-means fitted on" in out
    assert "(zskl teach): " in out
    assert "in H from unlabelled rows of all classes (zskl adapt): " in out
    data = datasets.load("digits")
    X, y = data.samples("trainval")
    twin = selection.tune(
        *(zskl.ClassMeansClassifier(), X, y, data.signatures, GRID, selection.folds(data), "gzsl"), engine=None
    )
    model = zskl.load(tmp_path / "m.zskl")
    assert (model.shrinkage, model.crowding) == (twin.best["shrinkage"], twin.best["crowding"])
    assert (model.calibration_, model.temperatures_) == (twin.calibration, twin.model.temperatures_)


@pytest.mark.usefixtures("quick")
def test_tuning_can_be_turned_off_and_asked_for(tmp_path):
    file = tmp_path / "m.zskl"
    said = invoke("fit", "digits", "-o", file, "--no-tune")[1]
    assert "chosen" not in said
    assert "feature_scaling: auto (sqrt-l2)" in said
    assert zskl.load(file).temperatures_ is None
    assert "calibrated" in invoke("fit", "digits", "-o", file, "--no-tune", "--calibrate")[1]
    out = invoke("fit", "digits", "-o", file, "--tune", "--scoring", "zsl", "--set", "shrinkage=0.3")[1]
    assert "chosen of 3 settings by zsl" in out
    assert zskl.load(file).shrinkage == 0.3
    assert "chosen" not in invoke("fit", "digits", "-o", file, "--method", "eszsl")[1]


@pytest.mark.usefixtures("quick")
def test_too_few_classes_for_folds_get_the_defaults_and_a_sentence(here):
    user_files.write_birds(here, ["ant", "bee", "cat", "dog"])
    invoke(*MAKE, "--unseen", "dog")
    done = command.zskl("fit", "birds", "-o", "m.zskl")
    assert done.returncode == 0, done.stderr
    line, *_ = done.stderr.splitlines()
    assert line.startswith("note: fitted with the default settings, neither tuned nor calibrated: the training")
    assert zskl.load("m.zskl").temperatures_ is None
    for option in ("--tune", "--calibrate"):  # who asks for it is told that it cannot be
        refused = command.zskl("fit", "birds", "-o", "n.zskl", option)
        assert refused.returncode == 2
        assert "of 3 classes" in refused.stderr
        assert not (here / "n.zskl").exists()


def test_scoring_is_for_tuning():
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--method", "gaussian", "--scoring", "gzsl")
    with pytest.raises(ValueError, match="without --tune"):
        invoke("fit", "digits", "-o", "x.zskl", "--no-tune", "--scoring", "gzsl")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with birds.zskl: class means of eight animals that know fox and gnu by their descriptions."""
    folder = tmp_path_factory.mktemp("taught")
    user_files.write_birds(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
        invoke(*MAKE, "--unseen", "fox", "--unseen", "gnu")
        invoke("fit", "birds", "-o", "birds.zskl", "--no-tune", "--calibrate")
    return folder


@pytest.fixture
def birds(here, fitted):
    """The rows of that folder, in a copy of it."""
    shutil.copytree(fitted, here, dirs_exist_ok=True)
    return pd.read_csv("features.csv", index_col="id")


def features(rows):
    return rows.drop(columns="label").astype(np.float32)


def scores(name, rows):
    return zskl.load(name).compatibility(features(rows))


def test_examples_from_a_csv_file(birds, here):
    before = (here / "birds.zskl").read_bytes()
    given = birds[birds.label.isin(["fox", "ant"])].iloc[::4].replace({"label": {"ant": "emu"}})
    given.sample(frac=1, axis=1, random_state=0).to_csv("given.csv")  # columns in any order
    code, out = invoke("teach", "birds.zskl", "--features", "given.csv", "--labels", "label", "-o", "new.zskl")
    assert code == 0
    assert "taught 6 rows of 2 classes: 3 of emu (new), 3 of fox (unseen)" in out
    assert "new to the model: 'emu'" in out
    assert "without a description, known by examples alone: 'emu'" in out
    assert "is subtracted from the scores of seen classes" in out
    twin = zskl.load("birds.zskl").add_examples(features(given), given.label)
    np.testing.assert_array_equal(scores("new.zskl", birds), twin.compatibility(features(birds)))
    assert (here / "birds.zskl").read_bytes() == before


def test_a_slip_in_a_name_is_asked_about(birds, here):
    given = birds[birds.label == "fox"].iloc[:3].copy()
    given["label"] = ["Fox", "fox", "foxx"]
    given.to_csv("given.csv")
    done = command.zskl("teach", "birds.zskl", "--features", "given.csv", "--labels", "label", "-o", "new.zskl")
    assert done.returncode == 2
    assert "'Fox' (did you mean 'fox'?), 'foxx' (did you mean 'fox'?)" in " ".join(done.stderr.split())
    assert "--new-classes" in done.stderr
    assert not (here / "new.zskl").exists()
    _, out = invoke(
        "teach", "birds.zskl", "--features", "given.csv", "--labels", "label", "--new-classes", "-o", "new.zskl"
    )
    assert "new to the model: 'Fox', 'foxx'" in out


def test_descriptions_wrong_rows_and_removal(birds, here):
    (here / "yak.csv").write_text(NEW)
    given = birds[birds.label == "fox"].iloc[:4]
    np.save("given.npy", features(given).to_numpy())
    (here / "given.txt").write_text("yak\nfox\nyak\nfox\n")
    same = ("--features", "given.npy", "--labels", "given.txt")
    _, out = invoke("teach", "birds.zskl", *same, "--signatures", "yak.csv", "--wrong", "-o", "new.zskl")
    assert "marked as wrong 4 rows of 2 classes: 2 of yak (new), 2 of fox (unseen)" in out
    assert "without a description" not in out
    y = ["yak", "fox", "yak", "fox"]
    table = pd.read_csv("yak.csv", index_col="class")
    twin = zskl.load("birds.zskl").add_examples(features(given), y, table, wrong=True)
    np.testing.assert_array_equal(scores("new.zskl", birds), twin.compatibility(features(birds)))
    _, out = invoke("teach", "new.zskl", *same, "--remove", "-o", "old.zskl")
    assert "removed 4 rows" in out
    names = zskl.load("birds.zskl").candidates_.tolist()
    np.testing.assert_array_equal(
        *(zskl.load(f"{name}.zskl").compatibility(features(birds), candidates=names) for name in ("birds", "old"))
    )


def test_all_examples_of_a_class_can_be_removed(birds, here):
    birds[birds.label == "bee"].replace({"label": {"bee": "emu"}}).to_csv("given.csv")
    invoke("teach", "birds.zskl", "--features", "given.csv", "--labels", "label", "-o", "new.zskl")
    (here / "gone.txt").write_text("emu\n")
    _, out = invoke("teach", "new.zskl", "--remove", "--labels", "gone.txt", "-o", "old.zskl")
    assert "removed 12 rows of 1 class" in out
    assert "no longer in the model: 'emu'" in out
    assert "removed all examples" in invoke("teach", "new.zskl", "--remove", "-o", "old.zskl")[1]
    np.testing.assert_array_equal(scores("birds.zskl", birds), scores("old.zskl", birds))


def test_labels_are_matched_by_id(birds):
    given = birds[birds.label.isin(["fox", "gnu"])]
    features(given).to_csv("given.csv")
    given.label[::-1].to_csv("classes.csv")
    _, out = invoke("teach", "birds.zskl", "--features", "given.csv", "--labels", "classes.csv", "-o", "new.zskl")
    assert "12 of fox (unseen), 12 of gnu (unseen)" in out
    right = zskl.load("new.zskl").predict(features(given), candidates=["fox", "gnu"]) == given.label
    assert right.mean() > 0.9


def test_a_model_that_cannot_learn_more_is_refused_before_files_are_read(here):
    invoke(*MAKE)
    invoke("fit", "birds", "-o", "m.zskl", "--method", "eszsl")
    for arguments in (("teach", "m.zskl", "--features", "no.csv", "--labels", "y"), ("adapt", "m.zskl", "no.csv")):
        done = command.zskl(*arguments, "-o", "new.zskl")
        assert done.returncode == 2
        assert "holds a model of kind 'eszsl', which cannot" in done.stderr
        assert "expected one of class-means" in done.stderr
    assert not (here / "new.zskl").exists()


WRONG = {
    "no labels": (["--features", "features.csv"], "--features or --labels is missing"),
    "no such column": (["--features", "features.csv", "--labels", "lable"], "did you mean 'label'"),
    "too much": (["--remove", "--wrong"], "leave them out"),
    "nothing to remove": (["--remove"], "no examples of any class to remove"),
    "a name for a file": (["--remove", "--labels", "fox"], "expected a file with the names of classes"),
    "known already": (
        ["--features", "features.csv", "--labels", "label", "--signatures", "traits.csv"],
        "knows already",
    ),
    "itself": (["--features", "features.csv", "--labels", "label", "-o", "birds.zskl"], "it is also what is read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_turns(birds, here, case):
    arguments, sentence = WRONG[case]
    done = command.zskl("teach", "birds.zskl", "-o", "new.zskl", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (here / "new.zskl").exists()


def test_adapting_needs_a_reason(birds, here):
    unseen = features(birds[birds.label.isin(["fox", "gnu"])])
    unseen.to_csv("rows.csv")
    done = command.zskl("adapt", "birds.zskl", "rows.csv", "-o", "new.zskl")
    assert done.returncode == 1
    assert "unlabelled rows" in done.stderr
    assert "use --force to adapt all the same; nothing was written" in done.stderr
    assert not (here / "new.zskl").exists()
    code, out = invoke("adapt", "birds.zskl", "rows.csv", "-o", "new.zskl", "--force")
    assert code == 0
    model = zskl.load("birds.zskl")
    twin = model.adapt(unseen, "unseen", force=True)
    assert f"after {twin.adaptation_['rounds']} rounds it" in out
    answers = [one.predict(unseen, candidates=["fox", "gnu"]) for one in (model, twin)]
    assert f"{np.sum(answers[0] != answers[1])} of these rows get another answer" in out
    np.testing.assert_array_equal(scores("new.zskl", birds), twin.compatibility(features(birds)))
    invoke("adapt", "birds.zskl", "rows.csv", "-o", "even.zskl", "--force", "--balance", "1")
    assert sorted(zskl.load("even.zskl").adaptation_["masses"].values()) == pytest.approx([12, 12], rel=0.05)
    unseen[:1].to_csv("rows.csv")
    code, out = invoke("adapt", "birds.zskl", "rows.csv", "-o", "x.zskl", "--force")
    assert code == 0
    assert "adapted to 1 unlabelled rows" in out


def test_a_stored_gain_is_reason_enough(birds):
    model = zskl.load("birds.zskl")
    entry = {**GAIN, **HOW, "calibration": 0.25, "temperatures": {"unseen": 0.1, "seen": 0.1, "mixed": 0.1}}
    model.practice_ = {"unlabelled": {"all": [entry]}}
    model.save("promising.zskl")
    features(birds).to_csv("rows.csv")
    code, out = invoke("adapt", "promising.zskl", "rows.csv", "-o", "new.zskl", "--candidates", "all")
    assert code == 0
    assert "adapted to 120 unlabelled rows, which may be of all classes" in out
    assert f"calibration: {zskl.load('new.zskl').calibration_:.4g} is subtracted" in out
    assert zskl.load("new.zskl").adaptation_["candidates"] == "all"


def test_rows_to_label_next_and_what_becomes_of_the_labels(birds, here):
    features(birds).to_csv("rows.csv")
    same = ("label-next", "birds.zskl", "rows.csv", "-n", "6", "--candidates", "fox", "--candidates", "gnu")
    code, out = invoke(*same, "-o", "ask.csv")
    assert code == 0
    model, asked = zskl.load("birds.zskl"), pd.read_csv("ask.csv", index_col="id")
    rows = model.label_next(features(birds), 6, candidates=["fox", "gnu"])
    assert asked.index.tolist() == birds.index[rows].tolist()
    assert list(asked.columns) == ["label", "guess", "probability", "guess_2", "probability_2", "worth", "why"]
    likely = model.predict_proba(features(birds).iloc[rows], candidates=["fox", "gnu"])
    np.testing.assert_allclose(asked[["probability", "probability_2"]], np.sort(likely)[:, ::-1], rtol=0.01, atol=1e-30)
    assert "wrote ask.csv: 6 rows" in out
    for name, why in zip(asked.index, asked.why, strict=True):
        assert name in out
        assert re.fullmatch(r"scores [\d.e-]+ apart", why)
        assert why in out
    changed = invoke(*same, "--strategy", "change", "--diversity", "0")[1]
    assert changed.count("expected change") == 6
    done = command.zskl("teach", "birds.zskl", "--features", "rows.csv", "--labels", "ask.csv", "-o", "new.zskl")
    assert (done.returncode, "ask.csv has no labels" in done.stderr) == (2, True)
    asked.assign(label=birds.label[asked.index]).to_csv("ask.csv")  # other rows have no label, and are left out
    invoke("teach", "birds.zskl", "--features", "rows.csv", "--labels", "ask.csv", "-o", "new.zskl")
    given = features(birds).iloc[np.sort(rows)]
    twin = model.add_examples(given, birds.label[given.index])
    np.testing.assert_array_equal(scores("new.zskl", birds), twin.compatibility(features(birds)))


def test_questions_that_nobody_could_answer_are_left_out(birds, here):
    features(birds).to_csv("rows.csv")
    invoke("label-next", "birds.zskl", "rows.csv", "-n", "4", "-o", "ask.csv")
    asked = pd.read_csv("ask.csv", index_col="id")
    known = asked.index[:2]
    asked.assign(label=birds.label[known]).rename(index={asked.index[1]: "nobody"}).to_csv("ask.csv")
    done = command.zskl("teach", "birds.zskl", "--features", "rows.csv", "--labels", "ask.csv", "-o", "new.zskl")
    assert "note: ask.csv: 2 rows without a label left out" in done.stderr
    assert "ask.csv has labels of rows that rows.csv does not have: 'nobody'" in done.stderr
    assert "note: taught 1 row" in done.stderr


def test_rows_without_names_are_taught_by_their_numbers(birds, here):
    np.save("rows.npy", features(birds).to_numpy())
    invoke("label-next", "birds.zskl", "rows.npy", "-n", "5", "-o", "ask.csv")
    asked = pd.read_csv("ask.csv")
    asked.assign(label=birds.label.to_numpy()[asked.row]).to_csv("ask.csv", index=False)
    taught = ("teach", "birds.zskl", "--features", "rows.npy", "--labels", "ask.csv", "-o", "new.zskl")
    assert invoke(*taught)[0] == 0
    given = features(birds).iloc[np.sort(asked.row)]
    twin = zskl.load("birds.zskl").add_examples(given, birds.label[given.index])
    np.testing.assert_array_equal(scores("new.zskl", birds), twin.compatibility(features(birds)))
    pd.DataFrame({"row": [1, 120], "label": "fox"}).to_csv("ask.csv", index=False)
    done = command.zskl(*taught)
    assert (done.returncode, "expected numbers from 0 to 119" in done.stderr) == (2, True)


UNANSWERED = {
    "too many": (["-n", "121"], "n is 121: expected an integer from 1 to 120, the number of rows"),
    "one class": (["--candidates", "fox"], "the only candidate is 'fox'"),
    "known": (["--with-known"], "--with-known was given without --signatures"),
    "itself": (["-o", "features.csv"], "it is also what is read"),
}


@pytest.mark.parametrize("case", UNANSWERED)
def test_wrong_turns_on_the_way_to_labels(birds, case):
    arguments, sentence = UNANSWERED[case]
    done = command.zskl("label-next", "birds.zskl", "features.csv", *arguments)
    assert (done.returncode, sentence in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_an_uncalibrated_model_is_asked_by_scores(birds):
    model = zskl.load("birds.zskl")
    model.temperatures_ = None
    model.save("plain.zskl")
    np.save("rows.npy", features(birds).to_numpy())
    invoke("label-next", "plain.zskl", "rows.npy", "-o", "ask.csv")
    asked = pd.read_csv("ask.csv")
    assert list(asked.columns)[:4] == ["row", "label", "guess", "score"]
    assert asked.row.tolist() == model.label_next(features(birds)).tolist()
    done = command.zskl("label-next", "plain.zskl", "rows.npy", "--strategy", "change")
    assert (done.returncode, "those of this model are not calibrated" in done.stderr) == (2, True)
