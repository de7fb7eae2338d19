"""`zskl explain`: text, tables and lines of JSON."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fits import fit_digits
from tolerances import SUMS, assert_close
from zskl import datasets, load
from zskl.cli import app, main


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


def invoke(*arguments):
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_text_for_a_few_rows(files):
    folder, model, X = files
    code, out, note = invoke(folder / "digits.zskl", folder / "rows.npy", "--top", "2")
    expected = [f"row {k}: {one}" for k, one in enumerate(model.explain(X[:5], 2))]
    assert (code, out) == (0, "\n".join(expected) + "\n")
    assert "the first 5 rows" in note
    code, out, note = invoke(folder / "digits.zskl", folder / "named.csv", "--rows", "7", "--rows", "28-29")
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("id ")] == ["id n7", "id n28", "id n29"]
    assert note == ""


def test_a_table_of_all_rows(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "named.csv", "--signatures", folder / "new.csv", "--against", "4"]
    code, out, _ = invoke(*command, "-o", tmp_path / "out.csv")
    assert (code, out.strip()) == (0, f"wrote {tmp_path / 'out.csv'}: 150 lines")
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert (
        ",".join(lines[0])
        == "id,class,against,difference,calibration,rest,rank,attribute,contribution,value,value_against"
    )
    found = model.explain(X, candidates=[3, 4, 6], against=4)
    assert [line["class"] for line in lines[::5]] == [str(one.label) for one in found]
    assert {line["against"] for line in lines} == {"4"}
    first = [(line["attribute"], float(line["contribution"])) for line in lines[:5]]
    assert [name for name, _ in first] == [name for name, _ in found[0].top]
    np.testing.assert_allclose([value for _, value in first], [value for _, value in found[0].top], rtol=1e-5)


def test_lines_of_json(files, tmp_path):
    folder, model, X = files
    command = [folder / "digits.zskl", folder / "rows.npy", "--json", "--label", "6", "--candidates", "6"]
    code, out, _ = invoke(*command, "--candidates", "3", "--top", "3")
    records = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert len(records) == 30
    for row, (record, one) in enumerate(zip(records, model.explain(X, candidates=[6, 3], label=6), strict=True)):
        assert (record["row"], record["class"], record["against"], len(record["attributes"])) == (row, 6, 3, 3)
        told = sum(part["contribution"] for part in record["attributes"]) + record["rest"]
        assert_close([told, record["difference"]], [one.difference] * 2, 64 * SUMS.double)  # a sum of larger parts
    assert invoke(*command, "--candidates", "3", "--top", "3", "-o", tmp_path / "out.jsonl")[0] == 0
    assert (tmp_path / "out.jsonl").read_text("utf-8") == out


def test_class_means_name_seen_classes_and_terms(files, tmp_path):
    folder, _, X = files
    command = [folder / "means.zskl", folder / "rows.npy", "--label", "3", "--against", "8", "--top", "2"]
    found = load(folder / "means.zskl").explain(X, 2, label=3, against=8)
    assert invoke(*command, "--rows", "4")[1] == f"row 4: {found[4]}\n"
    records = [json.loads(line) for line in invoke(*command, "--json")[1].splitlines()]
    for record, one in zip(records, found, strict=True):
        assert (record["by"], record["terms"]) == ("classes", dict(one.terms))
        assert [part["like"] for part in record["attributes"]] == [bool(one.likeness[m] > 0) for m in one.order]
        told = sum(part["contribution"] for part in record["attributes"]) + record["rest"]
        assert told + sum(record["terms"].values()) == pytest.approx(record["difference"], abs=1e-9)
    assert invoke(*command, "-o", tmp_path / "out.csv")[0] == 0
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["row"] == "4"]
    word = "like" if found[4].likeness[found[4].order[0]] > 0 else "unlike"
    assert [line["rank"] for line in lines] == ["1", "2", "", ""]
    assert lines[0]["attribute"] == f"{word} {found[4].top[0][0]}"
    assert [line["attribute"] for line in lines[2:]] == ["training rows", "crowding"]


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
def test_wrong_turns_are_told_in_one_sentence(files, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(files[0])
    monkeypatch.setattr("sys.argv", ["zskl", "explain", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    assert told.count("error:") == 1


def test_help_has_an_example():
    code, out, _ = invoke("--help")
    assert code == 0
    assert "Example: zskl explain" in " ".join(out.split())


def test_raw_attributes(files, tmp_path):
    folder, _, X = files
    for name in ("digits", "means"):
        command = [folder / f"{name}.zskl", folder / "rows.npy", "--label", "3", "--against", "8", "--raw"]
        found = load(folder / f"{name}.zskl").explain(X, label=3, against=8, raw=True)
        assert invoke(*command, "--rows", "4")[1] == f"row 4: {found[4]}\n"
        assert "in both" not in str(found[4])
        records = [json.loads(line) for line in invoke(*command, "--json")[1].splitlines()]
        assert {record["by"] for record in records} == {"attributes"}
        lengths = ["centring and lengths" in record["terms"] for record in records]  # as long as each other, here
        assert lengths == [name == "means"] * 30
    assert invoke(*command, "-o", tmp_path / "out.csv")[0] == 0
    with open(tmp_path / "out.csv", encoding="utf-8") as file:
        assert {line["attribute"] for line in csv.DictReader(file) if line["rank"] == "1"} <= {
            "upper left",
            "lower left",
        }
