"""Files that earlier versions wrote, `tests/earlier_versions/`: this version reads them and gives the same answers."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import zskl
from fits import parts
from tolerances import SUMS, assert_close

FOLDERS = sorted((Path(__file__).parent / "earlier_versions").glob("0.*"))
UNSORTED = sorted((Path(__file__).parent / "earlier_versions").glob("0.2/unsorted/*.zskl"))
MODELS = [(folder.name, file.stem) for folder in FOLDERS for file in sorted(folder.glob("*.zskl"))]


@pytest.mark.parametrize(("version", "name"), MODELS)
def test_model_file_gives_the_scores_of_its_version(version, name):
    folder = next(one for one in FOLDERS if one.name == version)
    stored = json.loads((folder / "scores.json").read_text("utf-8"))
    rows = np.array(stored["rows"], dtype="float32")
    model = zskl.load(folder / f"{name}.zskl")
    assert_close(model.compatibility(rows), np.array(stored["scores"][name]), SUMS.single)


@pytest.mark.parametrize("path", UNSORTED, ids=lambda path: path.stem)
def test_classes_of_a_file_of_0_2_are_sorted_and_keep_their_scores(path, tmp_path):
    stored = json.loads(path.with_name("scores.json").read_text("utf-8"))
    rows, columns = np.array(stored["rows"], dtype="float32"), stored["columns"][path.stem]
    assert columns != sorted(columns)
    model = zskl.load(path)
    for place, one in enumerate((model, save_and_load(model, tmp_path / "model.zskl"))):
        assert one.classes_.tolist() == one.candidates_.tolist() == sorted(columns), place
        assert one.seen_classes_.tolist() == columns[:6]
        expected = np.array(stored["scores"][path.stem])[:, np.argsort(columns)]
        assert_close(one.compatibility(rows), expected, SUMS.single)
        assert one.predict(rows).tolist() == stored["answers"][path.stem]
        assert one.classes_[one.predict_proba(rows).argmax(axis=1)].tolist() == stored["answers"][path.stem]
    if hasattr(model, "add_examples"):
        assert model.add_examples(rows[:1], ["ape"]).classes_.tolist() == sorted([*columns, "ape"])


def save_and_load(model, path):
    model.save(path)
    return zskl.load(path)


@pytest.mark.parametrize("fault", ["another order", "an unseen class first", "a class twice"])
def test_a_file_of_0_2_whose_classes_do_not_fit_is_refused(fault, tmp_path):
    path = next(one for one in UNSORTED if one.stem == "eszsl")
    header, arrays = parts(path)
    names = header["candidates"]["values"]
    if fault == "another order":
        names[0], names[1] = names[1], names[0]
    elif fault == "an unseen class first":
        header["classes"]["values"][0] = names[-1]
    else:
        names[-1] = names[0]
    save_file(arrays, tmp_path / "model.zskl", metadata={"zskl": json.dumps(header)})
    with pytest.raises(ValueError, match="damaged: the classes"):
        zskl.load(tmp_path / "model.zskl")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_stored_score_has_its_model_file(folder):
    scores = json.loads((folder / "scores.json").read_text("utf-8"))["scores"]
    assert sorted(scores) == sorted(file.stem for file in folder.glob("*.zskl"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_records_are_read_and_compared(folder):
    lines = [json.loads(line) for line in (folder / "records" / "records.jsonl").read_text("utf-8").splitlines()]
    records = zskl.collect(folder / "records")
    assert sorted(record.method for record in records) == sorted(line["method"] for line in lines)
    by_method = {line["method"]: line for line in lines}
    for record in records:
        assert record.zsl.accuracy == by_method[record.method]["zsl"]["accuracy"]
        assert record.gzsl.harmonic == by_method[record.method]["gzsl"]["harmonic"]
    assert "eszsl" in str(zskl.compare(records))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_dataset_folder_is_loaded_whole(folder, tmp_path):
    shutil.copytree(folder / "dataset", tmp_path / "dataset")  # loading may leave a cache beside it
    data = zskl.datasets.load(tmp_path / "dataset")
    manifest = json.loads((folder / "dataset" / "manifest.json").read_text("utf-8"))
    assert data.fingerprint == manifest["fingerprint"]
    assert {name: len(rows) for name, rows in data.parts.items() if name in manifest["parts"]} == manifest["parts"]
    assert data.attribute_names == manifest["attribute_names"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_classes_and_examples_of_a_service_are_there_again(folder, tmp_path):
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from services import client
    from zskl.serve.limits import Limits
    from zskl.serve.service import Service
    from zskl.serve.store import ClassStore

    shutil.copy(folder / "service.classes.jsonl", tmp_path / "classes.jsonl")
    name = "class-means" if folder.name == "0.2" else "eszsl"  # the models that the services had
    with ClassStore(tmp_path / "classes.jsonl") as kept:
        service = client(Service(zskl.load(folder / f"{name}.zskl"), name, Limits(), kept))
        listed = {one["name"]: one["kind"] for one in service.get("/classes").json()["classes"]}
        assert listed["yak"] == "added"
        assert "zebu" not in listed  # it was deleted
        yak, hen = (service.get(f"/classes/{one}/examples").json() for one in ("yak", "hen"))
    marks = (1, 0), (0, 1)  # right and wrong
    assert ((yak["right"], yak["wrong"]), (hen["right"], hen["wrong"])) == (
        marks if name == "class-means" else ((0, 0),) * 2
    )
