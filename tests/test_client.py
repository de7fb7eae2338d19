"""The client of a service: it sends what the service takes, and gives back what it says."""

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra client is not installed")

import httpx

import services
from zskl import ClassMeansClassifier, Client, ServiceError
from zskl.serve import app
from zskl.serve.app import GuardMiddleware
from zskl.serve.limits import Limits
from zskl.serve.service import Service


class Through(httpx.BaseTransport):
    """Requests to an application in this process."""

    def __init__(self, application):
        from starlette.testclient import TestClient

        self.client, self.asked = TestClient(application, base_url="http://localhost"), []

    def handle_request(self, request):
        body = request.read()
        self.asked.append((request.method, request.url.raw_path.decode()))
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        found = self.client.request(request.method, str(request.url), content=body, headers=headers)
        return httpx.Response(found.status_code, headers=found.headers, content=found.content)


@pytest.fixture(scope="module")
def served():
    X, y, table = services.toy()
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(6)])
    return ClassMeansClassifier().fit(frame, y, table), frame


@pytest.fixture
def client(served):
    application = GuardMiddleware(app.build_app(Service(served[0], "m", Limits())), "s3cret", {"localhost"}, Limits())
    with Client("http://localhost/", token="s3cret", transport=Through(application)) as found:
        yield found


def test_predictions_equal_those_of_the_model(client, served):
    model, frame = served
    expected = model.predict(frame).tolist()
    some = ["ant", "emu"]
    for rows in (frame.to_numpy(), frame[frame.columns[::-1]], frame.to_numpy().tolist()):
        found = client.predict(rows, top=2)
        assert [one["class"] for one in found] == expected
        assert {len(one["top"]) for one in found} == {2}
    found = client.predict(frame[:1], candidates=some, explain=True, options={"attributes": 1})
    assert found[0]["class"] in some
    assert len(found[0]["explanation"]["attributes"]) == 1
    with pytest.raises(ValueError, match="expected one of them"):
        client.predict(frame, texts=["both"])
    with pytest.raises(ValueError, match=r"ends in \.jpg"):
        client.predict(photo="bird.gif")


def test_classes_are_added_taught_and_deleted(client, served):
    assert client.classes() == {"ant": "seen", "cat": "seen", "dog": "seen", "emu": "unseen", "bee": "unseen"}
    for name in ("own", "a/b ü", "x/examples y"):
        assert client.add_class(name, {"size": 1.0})["name"] == name
        assert client.add_class(name, {"size": 2.0})["defaulted"] == ["legs", "wings", "fur"]
        made = client.teach(name, features=served[1].to_numpy()[0])
        assert (made["name"], made["right"]) == (name, True)
        assert client.teach(name, features=[0.0, 1.0, 0.0, 2.0, 0.0, 1.0], right=False)["right"] is False
        assert client.classes()[name] == "added"
        client.delete_class(name)
    assert len(client.classes()) == 5
    lines = [json.loads(line) for line in client.ask("GET", "/export").splitlines()]
    assert [line["key"] for line in lines] == [" forgotten"]


def test_refusals_say_what_and_which(client):
    with pytest.raises(ServiceError, match="no class is called 'none'") as refused:
        client.delete_class("none")
    assert (refused.value.status, len(refused.value.request_id)) == (404, 16)
    assert refused.value.sentence.startswith("no class is called 'none'")
    with pytest.raises(ServiceError, match="no data are loaded"):
        client.predict(data_rows=[np.int64(1)])
    with pytest.raises(ServiceError, match="takes no texts"):
        client.predict(texts=["a text"])


def test_photo_is_sent_with_its_type_and_options(client, tmp_path):
    (tmp_path / "bird.PNG").write_bytes(b"no picture")
    with pytest.raises(ServiceError, match="takes no photos"):
        client.predict(photo=tmp_path / "bird.PNG", candidates=["ant", "emu"])
    with pytest.raises(ServiceError, match="takes no photos"):
        client.teach("ant", photo=tmp_path / "bird.PNG", right=False)
    sent = client._http._transport.asked
    assert sent[0] == ("POST", "/v1/predict?top=5&explain=false&candidates=ant&candidates=emu")
    assert sent[1] == ("POST", "/v1/classes/ant/examples?right=false")


def test_token_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("ZSKL_TOKEN", "secret")
    for given, found in ((None, "Bearer secret"), ("mine", "Bearer mine"), ("", None)):
        with Client("http://localhost/v1/", token=given) as client:
            assert (client.url, client._http.headers.get("authorization")) == ("http://localhost/v1", found)
