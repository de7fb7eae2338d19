"""A model of class means, from the command that fits it to every answer of a service with data."""

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import served
from answers import explained, same
from command import zskl
from tolerances import SUMS, assert_close
from zskl import ClassMeansClassifier, datasets, load


@pytest.fixture(scope="module")
def tuned_means(tmp_path_factory):
    """The file of a model that was tuned, which takes seconds."""
    path = tmp_path_factory.mktemp("means") / "means.zskl"
    assert zskl("fit", "digits", "-o", str(path), "--method", "class-means").returncode == 0
    return path


@pytest.fixture(scope="module", params=["plain", "adapted"])
def service(request, tuned_means):
    path, data = tuned_means, datasets.load("digits")
    if request.param == "adapted":
        path = tuned_means.with_name("adapted.zskl")
        load(tuned_means).adapt(data.X[data.parts["test_unseen"]], force=True).save(path)
    model = load(path)
    assert isinstance(model, ClassMeansClassifier)
    return model, data, served.client(served.with_data(model, data))


def test_a_service_with_data_answers_everything(service):
    model, data, client = service
    about = client.get("/model").json()
    assert (about["estimator"], about["explains"]) == ("class-means", True)
    rows = [5, 700, 1796]
    X = np.asarray(data.X[rows], np.float32)
    same(client.post("/predict", json={"data_rows": rows}), model, X, 5)
    answer = client.post("/predict", json={"data_rows": rows, "explain": True, "attributes": 3})
    explained(answer, model.explain(X, 3), top=5)
    assert 0 <= client.get("/balance").json()["best"]["harmonic"] <= 1
    assert len(client.get("/confusion").json()["classes"]) == 10
    assert client.get("/classes/3").json()["nearest"][0]["kind"] in ("seen", "unseen")


def test_rows_are_ranked_by_a_description_and_a_class_is_added(service):
    model, data, client = service
    attributes = dict(zip(data.signatures.columns, [1, 1, 0, 1, 1, 0, 1], strict=True))
    answer = client.post("/rank", json={"attributes": attributes, "top": 20}).json()
    scores = model.compatibility(data.X, np.array([list(attributes.values())]), [99])[:, 0]
    rivals = model.classes_[model.classes_ != 2]  # all but the one that is described
    ranks = scores - model.compatibility(data.X, candidates=rivals).max(axis=1) / 2
    assert_close([row["score"] for row in answer["rows"]], -np.sort(-ranks)[:20], SUMS.single)
    assert client.put("/classes/own", json={"attributes": attributes}).status_code == 201
    top = client.post("/predict", json={"data_rows": [0], "candidates": ["own", "0"]}).json()["predictions"][0]["top"]
    mine = next(one for one in top if one["class"] == "own")
    assert (mine["kind"], mine["score"]) == ("added", pytest.approx(scores[0], abs=SUMS.single))
    assert client.delete("/classes/own").status_code == 204
