"""`zskl predict` on a file, `explain` and `export`: what they write and print; wrong input changes no file."""

import csv
import json
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io
from typer.testing import CliRunner

import command
import user_files
import zskl
from command import invoke
from exported_models import TOLERANCE, both_precisions, opened
from fits import fit_digits
from tolerances import SUMS, assert_close
from zskl import datasets, methods
from zskl.batch import predict
from zskl.cli import app, main


def test_predictions_are_those_of_the_model(here, model, monkeypatch):
    """Whatever the blocks in which the file is read."""
    loaded = zskl.load(model)
    assert loaded.feature_names_in_.tolist() == [f"f{k}" for k in range(6)]
    X = pd.read_csv("features.csv")
    labels, scores = loaded.top_k(X[loaded.feature_names_in_].astype(np.float32), 3, return_scores=True)
    for values in (1, 1 << 19):
        monkeypatch.setattr("zskl.datasets.tables.features.BLOCK_VALUES", values)
        lines = list(predict.Predictor(loaded, top=3).lines("features.csv"))
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
    assert classes("--top", "99")[1] == set(user_files.SPECIES)
    assert classes("--candidates", "fox", "--candidates", "ant") == (2, {"fox", "ant"})
    (here / "new.csv").write_text("t4,t3,t2,t1,t0,class\n1,2,3,4,5,yak\n5,4,3,2,1,zebu\n")
    assert classes("--signatures", "new.csv") == (2, {"yak", "zebu"})
    assert classes("--signatures", "new.csv", "--candidates", "yak") == (1, {"yak"})
    assert classes("--signatures", "new.csv", "--with-known", "--top", "99") == (
        12,
        {*user_files.SPECIES, "yak", "zebu"},
    )
    assert classes("--signatures", "new.csv", "--with-known", "--candidates", "yak", "--candidates", "ant")[0] == 2


WRONG_PREDICTIONS = {
    "no features": (["no.csv"], "no features file at no.csv"),
    "missing column": (["short.csv"], "short.csv lacks feature columns 'f5'"),
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


def test_model_without_feature_names_takes_exactly_its_columns(here):
    data = datasets.load("digits")
    methods.build("gaussian-ort", {"random_state": 0, "epochs": 1}).fit(data.X, data.y).save("digits.zskl")
    np.savetxt("good.csv", data.X[:5], delimiter=",", fmt="%.1f")
    assert invoke("predict", "digits.zskl", "good.csv")[0] == 0
    pd.DataFrame(data.X[:5]).assign(label="x").to_csv("bad.csv", index=False)
    with pytest.raises(ValueError, match=r"bad\.csv has 65 feature columns.*expected just the 64"):
        invoke("predict", "digits.zskl", "bad.csv")
    scipy.io.savemat("turned.mat", {"features": data.X[:5].T})
    assert invoke("predict", "digits.zskl", "turned.mat")[1] == invoke("predict", "digits.zskl", "good.csv")[1]


def test_tuned_model_predicts_probabilities_and_unknown(tmp_path, monkeypatch):
    """fit --tune, then predict --probabilities and --min-probability, as a practitioner would."""
    monkeypatch.chdir(tmp_path)
    data = datasets.load("digits")
    np.save("rows.npy", data.X[:40])
    grid = {"sigma": (1.0,), "epochs": (1, 2)}
    monkeypatch.setitem(methods.METHODS, "gaussian", replace(methods.METHODS["gaussian"], grid=grid, bounds={}))
    monkeypatch.setattr(
        import_module("zskl.selection.calibration"), "Engine", lambda *names: None
    )  # no processes for so little
    _, out = invoke("fit", "digits", "-o", "tuned.zskl", "--method", "gaussian", "--tune", "--scoring", "gzsl")
    assert "chosen of 3 settings by gzsl on validation classes" in out
    model = zskl.load("tuned.zskl")
    assert model.calibration_ != 0
    command = ("predict", "tuned.zskl", "rows.npy", "--top", "2")
    plain = invoke(*command)[1].splitlines()
    likely = invoke(*command, "--probabilities")[1].splitlines()
    assert likely[0] == "row,class,probability,class_2,probability_2"
    expected = model.predict_proba(data.X[:40], candidates=model.candidates_)
    answers = [line.split(",") for line in likely[1:]]
    np.testing.assert_allclose([float(a[2]) for a in answers], expected.max(axis=1), rtol=1e-4)
    assert [a[1] for a in answers] == [line.split(",")[1] for line in plain[1:]]
    middle = float(np.median(expected.max(axis=1)))
    rejected = [line.split(",") for line in invoke(*command, "--min-probability", middle)[1].splitlines()[1:]]
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
    plain = list(predict.Predictor(model, top=5).lines("rows.npy"))
    rejecting = list(predict.Predictor(model, top=5, min_probability=0.0).lines("rows.npy"))
    likely = list(predict.Predictor(model, top=5, probabilities=True).lines("rows.npy"))
    assert rejecting == plain
    assert [line[1::2] for line in likely[1:]] == [line[1::2] for line in plain[1:]]
    assert {line[4] for line in likely[1:]} == {"0"}


def test_probabilities_need_a_calibrated_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    np.save("rows.npy", datasets.load("digits").X[:5])
    invoke("fit", "digits", "-o", "plain.zskl", "--no-tune")
    for option in (("--probabilities",), ("--reject", "0.05"), ("--coverage", "0.9"), ("--risk", "0.1")):
        with pytest.raises(ValueError, match="zskl fit --calibrate"):
            invoke("predict", "plain.zskl", "rows.npy", *option)
    invoke("fit", "digits", "-o", "calibrated.zskl", "--no-tune", "--calibrate")
    assert zskl.load("calibrated.zskl").temperatures_ is not None
    with pytest.raises(ValueError, match="expected a probability between 0 and 1"):
        invoke("predict", "calibrated.zskl", "rows.npy", "--min-probability", 1.5)


def test_output_that_is_also_an_input_is_refused(tmp_path):
    model, rows, words = tmp_path / "m.zskl", tmp_path / "rows.csv", tmp_path / "words.txt"
    assert command.zskl("fit", "digits", "-o", str(model), "--no-tune").returncode == 0
    rows.write_text(",".join(f"p{k}" for k in range(64)) + "\n" + ",".join("1" for _ in range(64)) + "\n")
    words.write_text("bear 0.1 0.2\n")
    before = {file: file.read_bytes() for file in (model, rows, words)}
    for arguments in (
        ("predict", str(model), str(rows), "-o", str(rows)),
        ("predict", str(model), str(rows), "-o", str(model)),
        ("data", "words", str(words), "--vectors", str(words), "-o", str(words)),
    ):
        done = command.zskl(*arguments)
        assert done.returncode == 2
        assert "it is also what is read" in done.stderr
    assert {file: file.read_bytes() for file in before} == before


def test_folder_as_output_is_refused(tmp_path):
    done = command.zskl("fit", "digits", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "it is a folder" in done.stderr


@pytest.fixture(scope="module")
def digits():
    return datasets.load("digits")


@pytest.fixture(scope="module")
def files(digits, tmp_path_factory):
    """digits.zskl, rows.npy, named.csv with ids, new.csv with descriptions."""
    folder = tmp_path_factory.mktemp("explain")
    model = fit_digits(digits, "gaussian-ort")
    model.save(folder / "digits.zskl")
    fit_digits(digits, "dap").save(folder / "dap.zskl")
    fit_digits(digits, "class-means").save(folder / "means.zskl")
    X = digits.X[digits.parts["test_unseen"]][:30]
    np.save(folder / "rows.npy", X)
    pd.DataFrame(X, index=[f"n{k}" for k in range(30)]).to_csv(folder / "named.csv", index_label="id")
    digits.signatures.loc[[3, 4, 6]].to_csv(folder / "new.csv", index_label="class")
    return folder, model, X


def explain(*arguments):
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_explanations_as_text_for_a_few_rows(files):
    folder, model, X = files
    code, out, note = explain(folder / "digits.zskl", folder / "rows.npy", "--top", "2")
    expected = [f"row {k}: {one}" for k, one in enumerate(model.explain(X[:5], 2))]
    assert (code, out) == (0, "\n".join(expected) + "\n")
    assert "the first 5 rows" in note
    code, out, note = explain(folder / "digits.zskl", folder / "named.csv", "--rows", "7", "--rows", "28-29")
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("id ")] == ["id n7", "id n28", "id n29"]
    assert note == ""


def test_explanations_as_a_table_of_all_rows(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "named.csv", "--signatures", folder / "new.csv", "--against", "4"]
    command += ["--by", "scaled"]  # of attributes as they were written some add nothing, and have no line
    code, out, note = explain(*command, "-o", tmp_path / "out.csv")
    assert (code, out, note.strip()) == (0, "", f"note: wrote {tmp_path / 'out.csv'}: 150 lines")
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert (
        ",".join(lines[0])
        == "id,class,against,difference,calibration,rest,rank,attribute,contribution,value,value_against"
    )
    found = model.explain(X, candidates=[3, 4, 6], against=4, by="scaled")
    assert [line["class"] for line in lines[::5]] == [str(one.label) for one in found]
    assert {line["against"] for line in lines} == {"4"}
    first = [(line["attribute"], float(line["contribution"])) for line in lines[:5]]
    assert [name for name, _ in first] == [name for name, _ in found[0].top]
    np.testing.assert_allclose([value for _, value in first], [value for _, value in found[0].top], rtol=1e-5)


def test_explanations_as_lines_of_json(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "rows.npy", "--json", "--label", "6", "--candidates", "6"]
    code, out, _ = explain(*command, "--candidates", "3", "--top", "3")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert len(records) == 30
    for row, (record, one) in enumerate(zip(records, model.explain(X, candidates=[6, 3], label=6), strict=True)):
        assert (record["row"], record["class"], record["against"], len(record["attributes"])) == (row, 6, 3, 3)
        told = sum(part["contribution"] for part in record["attributes"]) + record["rest"]
        assert_close([told, record["difference"]], [one.difference] * 2, 64 * SUMS.double)  # a sum of larger parts
    assert explain(*command, "--candidates", "3", "--top", "3", "-o", tmp_path / "out.jsonl")[0] == 0
    assert (tmp_path / "out.jsonl").read_text("utf-8") == out


def test_explanations_of_class_means_name_seen_classes_and_terms(files, tmp_path):
    folder, _, X = files
    command = [folder / "means.zskl", folder / "rows.npy", "--label", "3", "--against", "8", "--top", "2"]
    command += ["--by", "classes"]
    found = zskl.load(folder / "means.zskl").explain(X, 2, label=3, against=8, by="classes")
    assert explain(*command, "--rows", "4")[1] == f"row 4: {found[4]}\n"
    records = [json.loads(line) for line in explain(*command, "--json")[1].splitlines()]
    for record, one in zip(records, found, strict=True):
        assert (record["by"], record["terms"]) == ("classes", dict(one.terms))
        assert [part["like"] for part in record["attributes"]] == [bool(one.likeness[m] > 0) for m in one.order]
        told = sum(part["contribution"] for part in record["attributes"]) + record["rest"]
        assert told + sum(record["terms"].values()) == pytest.approx(record["difference"], abs=1e-9)
    assert explain(*command, "-o", tmp_path / "out.csv")[0] == 0
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["row"] == "4"]
    word = "like" if found[4].likeness[found[4].order[0]] > 0 else "unlike"
    evidence = [str(part) for part in found[4].evidence]
    assert evidence == ["139 training rows of 8"]
    assert [line["rank"] for line in lines] == ["1", "2", "", ""]
    assert lines[0]["attribute"] == f"{word} {found[4].top[0][0]}"
    assert [line["attribute"] for line in lines[2:]] == [*evidence, "crowding"]
    added = sum(float(line["contribution"]) for line in lines) + float(lines[0]["rest"])
    assert added == pytest.approx(float(lines[0]["difference"]), abs=1e-5)  # six digits are written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dap.zskl", "rows.npy"], "DAP cannot be explained by attributes"),
        (["no.zskl", "rows.npy"], "no model file at no.zskl"),
        (["digits.zskl", "no.npy"], "no.npy"),
        (["digits.zskl", "."], ". is a folder: expected a"),
        (["digits.zskl", "rows.npy", "--label", "cow"], "label 'cow' is not among the candidates"),
        (["digits.zskl", "rows.npy", "--label", "3", "--against", "3"], "label and against are both 3"),
        (["digits.zskl", "rows.npy", "--candidates", "3"], "the only candidate is 3"),
        (["digits.zskl", "rows.npy", "--rows", "3-x"], "rows '3-x': expected the number of a row"),
        (["digits.zskl", "rows.npy", "--rows", "9-3"], "rows '9-3': expected the number of a row"),
        (
            ["digits.zskl", "rows.npy", "--rows", "30"],
            "row 30 was asked for: expected a number below 30, since rows.npy has 30 rows",
        ),
        (["digits.zskl", "rows.npy", "--with-known"], "--with-known was given without --signatures"),
        (["digits.zskl", "rows.npy", "-o", "rows.npy"], "rows.npy"),
    ],
)
def test_wrong_arguments_of_explain_are_one_sentence(files, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(files[0])
    monkeypatch.setattr("sys.argv", ["zskl", "explain", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    assert told.count("error:") == 1


def test_help_of_explain_has_an_example():
    code, out, _ = explain("--help")
    assert code == 0
    assert "Example: zskl explain" in " ".join(out.split())


def test_raw_stands_for_attributes_with_a_note(files, tmp_path):
    folder, _, X = files
    for name in ("digits", "means"):
        command = [folder / f"{name}.zskl", folder / "rows.npy", "--label", "3", "--against", "8", "--raw"]
        found = zskl.load(folder / f"{name}.zskl").explain(X, label=3, against=8)
        code, out, note = explain(*command, "--rows", "4")
        assert (code, out) == (0, f"row 4: {found[4]}\n")
        assert "--raw goes with 0.4" in note
        assert "in both" not in str(found[4])
        records = [json.loads(line) for line in explain(*command, "--json")[1].splitlines()]
        assert {record["by"] for record in records} == {"attributes"}
        assert [record["text"] for record in records] == [str(one) for one in found]
        assert all(record["evidence"] == [] for record in records) == (name == "digits")
    assert explain(*command, "-o", tmp_path / "out.csv")[0] == 0
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        assert {line["attribute"] for line in csv.DictReader(file) if line["rank"] == "1"} <= {
            "upper left",
            "lower left",
        }


def test_export_writes_onnx(toy, tmp_path):
    model, saved, file = toy.fitted(), tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    model.save(saved)
    done = command.zskl("export", str(saved), "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert "features (n, 6) and signatures (c, 4) to scores, by default of the 5 classes of" in done.stderr
    assert both_precisions(model, opened(file), toy.X_new, toy.table) < TOLERANCE
    done = command.zskl("export", str(saved), "--out", str(file), "--fixed")
    assert "features (n, 6) to scores of the 5 classes of" in done.stderr
    assert [one.name for one in opened(file).get_inputs()] == ["features"]
    assert not opened(file).get_overridable_initializers()
    assert both_precisions(model, opened(file), toy.X_new) < TOLERANCE


def test_what_export_refuses(toy, tmp_path):
    saved, file = tmp_path / "toy.zskl", tmp_path / "toy.onnx"
    toy.fitted().save(saved)
    before = saved.read_bytes()
    (tmp_path / "text.txt").write_text("no model")
    methods.build("cmt-star", {"epochs": 1, "random_state": 0}).fit(toy.X, toy.y, toy.table).save(
        tmp_path / "star.zskl"
    )
    for source, target, sentence in [
        (saved, saved, "it is also what is read"),
        (tmp_path / "text.txt", file, "is not a readable zskl model file"),
        (tmp_path / "none.zskl", file, "no model file at"),
        (saved, tmp_path / "nowhere" / "toy.onnx", "does not exist; create it first"),
        (saved, tmp_path, "it is a folder; name a file"),
        (tmp_path / "star.zskl", file, "fix the classes, with --fixed"),
    ]:
        done = command.zskl("export", str(source), "-o", str(target))
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert saved.read_bytes() == before
    assert not file.exists()


def test_parents_sets_and_rows_of_none_from_files(tmp_path, monkeypatch):
    """data make --parents, fit, predict --coverage --reject --risk, run --none-of-these."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("zskl.engines.Engine", lambda *names: None)  # no processes for so little
    data = datasets.make_synthetic(15, 5, 16, 10, 7, noise=0.8)
    table = data.signatures.rename_axis("class").reset_index()
    table["genus"] = [f"genus {k // 3}" for k in range(20)]
    table["family"] = [f"family {k // 6}" if k else "" for k in range(20)]
    table.to_csv("classes.csv", index=False)
    pd.DataFrame(data.X).add_prefix("x").assign(species=data.y).to_csv("rows.csv", index=False)
    made = ("data", "make", "made", "--features", "rows.csv", "--labels", "species", "--signatures", "classes.csv")
    with pytest.raises(ValueError, match="no column 'colour'"):
        invoke(*made[:2], "other", *made[3:], "--parents", "genus", "--parents", "family", "--parents", "colour")
    invoke(*made, "--parents", "genus", "--parents", "family")
    loaded = datasets.load("made")
    assert list(loaded.attribute_names) == list(data.attribute_names)
    invoke("fit", "made", "-o", "m.zskl", "--no-tune", "--calibrate")
    model = zskl.load("m.zskl")
    assert model.hierarchy_.levels == ("genus", "family")
    assert model.hierarchy_.parents[str(data.class_names[0])] == ("genus 0", None)
    np.save("new.npy", loaded.X[:30])
    rows = pd.DataFrame(loaded.X[:30], columns=loaded.feature_names)
    asked = ("--coverage", "0.8", "--reject", "0.1", "--risk", "0.3", "--top", "1")
    lines = invoke("predict", "m.zskl", "new.npy", *asked)[1].splitlines()
    assert lines[0] == "row,class,score,set"
    cells = [line.split(",") for line in lines[1:]]
    assert [tuple(one[3].split(" | ")) for one in cells] == model.predict_set(rows, 0.8)
    assert [one[1] for one in cells] == model.predict(rows, reject=0.1, risk=0.3).tolist()
    np.save("none.npy", 5 * np.random.default_rng(0).normal(size=(40, 10)).astype(np.float32))
    _, out = invoke("run", "made", "--method", "class-means", "--none-of-these", "none.npy", "--json", "r.jsonl")
    said = " ".join(out.split())
    assert "rows that are none of these are told from others with AUROC" in said
    assert "right by level: class" in said
    decided = json.loads(Path("r.jsonl").read_text("utf-8"))["decided"]
    assert set(decided["levels"]) == {"class", "genus", "family", "unknown", "all"}
    assert 0 <= decided["auroc"] <= 1
    assert set(decided["coverage"]) == {"seen", "unseen"}
    with pytest.raises(FileNotFoundError, match="--none-of-these"):
        invoke("run", "made", "--none-of-these", "nowhere.npy")
