"""Bodies of all types: what they may hold, and how much."""

import copy
import io
import json
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

pytest.importorskip("fastapi", reason="the extra serve is not installed")

import request_bodies
import services
from request_bodies import GOOD, JSON, NPY, described, npy_bytes, npy_file
from services import named_columns, refusal, same, sends, strings, values
from tolerances import SUMS, decided
from zskl import cli, datasets, methods
from zskl.datasets import backbones, images
from zskl.datasets.backbones import Backbone
from zskl.serve import requests
from zskl.serve.limits import Limits, Refusal
from zskl.serve.service import Service
from zskl.serve.vocabulary import load_sentences
from zskl.signatures import sentences
from zskl.texts import TextClassifier


def test_all_media_types_give_the_same_answer(case):
    _, X, client = case
    expected = client.post("/predict", json={"rows": values(X).tolist(), "top": 3}).json()
    for array in (values(X), np.asfortranarray(values(X)), values(X).astype(np.float64), values(X).astype(">f4")):
        assert sends(client, npy_bytes(array), NPY, top=3).json() == expected
    assert sends(client, npy_bytes(values(X)), "application/octet-stream", top=3).json() == expected
    one = sends(client, npy_bytes(values(X)[0]), NPY, top=3).json()["predictions"]
    assert one == client.post("/predict", json={"rows": values(X)[:1].tolist(), "top": 3}).json()["predictions"]


@pytest.mark.parametrize("kind", ["i1", "u2", "<i8", ">i4", "?", "f2"])
def test_npy_accepts_any_number_type(plain, kind):
    model, _, client = plain
    whole = np.arange(12).reshape(2, 6) % 2
    same(sends(client, npy_bytes(whole.astype(kind)), NPY), model, whole.astype(np.float32), 5)


def test_json_columns_are_matched_by_name():
    model, frame = named_columns()
    client = services.client_of(model)
    mixed = frame[frame.columns[::-1]].assign(more=0.0)
    body = {"rows": mixed.to_numpy().tolist(), "columns": list(mixed.columns)}
    same(client.post("/predict", json=body), model, frame, 5)
    for columns, sentence in [
        (["f0", "f0"], "twice"),
        (["F0", *body["columns"][:5]], "lacks the feature 'f0' (did you mean 'F0'?)"),
        (body["columns"][:-1], "columns names 6"),
    ]:
        assert sentence in refusal(client.post("/predict", json={**body, "columns": columns}), 422)


def test_csv_body():
    model, frame = named_columns()
    client, few = services.client_of(model), frame.head(3)
    mixed = few[few.columns[::-1]].assign(name=["a", "b,c", "é"])
    for body in (
        few.to_csv(index=False), mixed.to_csv(), few.to_csv(index=False, header=False), mixed.to_csv(sep=";"),
        "\ufeff" + mixed.to_csv(sep="\t").replace("\n", "\r\n") + "\r\n",
    ):  # fmt: skip
        same(sends(client, body.encode(), "text/csv; charset=utf-8"), model, few, 5)
    for body, sentence in [
        (b"", "is empty"),
        (b"f0,f1\n", "no rows"),
        (few.to_csv(index=False).replace("f3", "F3").encode(), "lacks the feature 'f3' (did you mean 'F3'?)"),
        (b"1,2,3,4,5,6\n1,2\n", "line 2 has 2 values: the first line has 6"),
        (b"f0,f1,f2,f3,f4,f5\n1,2,3,x,5,6\n", "line 2, column 'f3' is 'x': expected a number"),
        (b"1,2,3,4,5,6\n1,2,3,,5,6\n", "line 2, column 4 is '': expected a number"),
        (b"1,2,3,4,5,6\n1,2,3,nan,5,6\n", "expected a finite number"),
        (b"1,2,3\n", "the model takes rows of 6 numbers"),
        (b"\xff\xfe1,2", "not text in UTF-8"),
        (b'"' + b"x" * 200_000, "cannot be read as CSV"),
        (b"1," * 5_000_001, "more than 5000000 values"),
    ]:
        answer = sends(client, body, "text/csv")
        assert sentence in refusal(answer, 413 if b"1,1,1" in body else 422)
    nameless, _ = strings()
    same(sends(services.client_of(nameless), few.to_csv(index=False).encode(), "text/csv"), nameless, few.to_numpy(), 5)


def test_other_media_types_are_refused(plain):
    client = plain[2]
    for kind in (
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "",
        "application",
        "application/vnd.apache.parquet",
    ):
        assert "Content-Type" in refusal(client.post("/predict", content=b"x", headers={"content-type": kind}), 415)
        assert "Content-Type" in refusal(client.post("/classes", content=b"x", headers={"content-type": kind}), 415)
    refusal(client.post("/classes", content=npy_bytes(np.zeros(3)), headers={"content-type": NPY}), 415)
    kind = "Application/JSON; charset=utf-8"
    assert (
        client.post("/predict", content=b'{"rows": [[0,0,0,0,0,1]]}', headers={"content-type": kind}).status_code == 200
    )


def tight(**limits):
    model, X = strings()
    service = Service(model, "m", Limits(**limits))
    return X, services.client(service)


def test_too_large_body_is_refused():
    X, client = tight(body_bytes=2000, small=500)
    assert "2000 bytes" in refusal(sends(client, npy_bytes(np.tile(X, (20, 1))), NPY), 413)
    assert "2000 bytes" in refusal(sends(client, (part for part in [b"x" * 1500] * 2), NPY), 413)  # chunked
    large = {"name": "n", "attributes": {"size": 1.0, "x" * 600: 1.0}}
    assert "500 bytes" in refusal(client.post("/classes", json=large), 413)
    assert "500 bytes" in refusal(client.put("/classes/n", json={"attributes": large["attributes"]}), 413)


def test_too_many_rows_are_refused():
    X, client = tight(rows=10, explained_rows=2, values=30, answers=12, json_values=100)
    assert "expected 1 to 10" in refusal(client.post("/predict", json={"rows": X[:11].tolist()}), 413)
    assert "expected 1 to 10" in refusal(sends(client, npy_bytes(X[:11]), NPY), 413)
    assert "more than 30 numbers" in refusal(sends(client, npy_bytes(X[:6]), NPY), 413)
    assert "lower top" in refusal(sends(client, npy_bytes(X[:3]), NPY, top=5), 413)
    assert sends(client, npy_bytes(X[:3]), NPY, top=4).status_code == 200
    assert "at most 2" in refusal(sends(client, npy_bytes(X[:3]), NPY, top=1, explain=True), 413)
    assert "100 values" in refusal(client.post("/predict", json={"rows": [[0] * 200]}), 413)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"candidates": ["ant", "ant"]}, "names a class twice"),
        ({"candidates": ["ant", "cat", "dog", "emu", "emu"]}, "names a class twice"),
        ({"candidates": ["elk"]}, "no class is called 'elk'"),
        ({"candidates": []}, "at least 1 item"),
        ({"top": 0}, "greater than or equal to 1"),
        ({"top": True}, "valid integer"),
        ({"calibration": 1e300}, "less than or equal"),
        ({"explain": True, "candidates": ["ant"]}, "at least two candidates"),
        ({"explain": True, "against": "elk"}, "expected one of the candidates"),
        ({"explain": True, "against": "emu", "candidates": ["ant", "cat"]}, "expected one of the candidates"),
        ({"attributes": 0}, "greater than or equal to 1"),
        ({"data_rows": [1]}, "either rows"),
        ({"colour": 1}, "colour is not a field of this request"),
        ({"candidates": ["catt"]}, "did you mean 'cat'"),
        ({"against": "cat"}, "without an explanation"),
        ({"raw": True}, "raw is set without an explanation"),
        ({"columns": ["a"]}, "has no names for its features"),
        ({"rows": [{"a": 1}]}, "a row is a list of numbers"),
        ({"rows": None, "data_rows": None}, "either rows"),
    ],
)
def test_bad_options_are_refused(plain, options, sentence):
    _, X, client = plain
    assert sentence in refusal(client.post("/predict", json={"rows": X[:1].tolist(), **options}), 422)


def test_unknown_parameter_is_refused(plain):
    _, X, client = plain
    assert "did you mean 'top'" in refusal(client.post("/predict?tops=3", json={"rows": X[:1].tolist()}), 422)


def test_body_options_override_the_address(plain):
    _, X, client = plain
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist(), "top": 2})
    assert len(answer.json()["predictions"][0]["top"]) == 2
    answer = client.post("/predict", params={"top": 4}, json={"rows": X[:1].tolist()})
    assert len(answer.json()["predictions"][0]["top"]) == 4
    assert "top" in refusal(client.post("/predict", params={"top": "x"}, json={"rows": X[:1].tolist()}), 422)


SIZE = 8
WEIGHTS = np.random.default_rng(0).normal(size=(3 * SIZE * SIZE, 6)).astype(np.float32)


def prepare(image):
    return np.asarray(image.resize((SIZE, SIZE)), np.float32).transpose(2, 0, 1) / 255


def features(batch):
    return batch.reshape(len(batch), -1) @ WEIGHTS


NETWORK = requests.PhotoEncoder("ours", Backbone("ours", "ours", prepare, features))


@pytest.fixture(scope="module")
def shown():
    """A model, and a client of a service that reads photos."""
    model, _ = strings()
    return model, services.client(Service(model, "m", Limits(), photos=NETWORK))


def picture(mode="RGB", size=(40, 30)):
    rng = np.random.default_rng(1)
    image = Image.fromarray(rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8))
    image.paste((250, 10, 10), (0, 0, size[0] // 2, size[1] // 2))
    return image.convert(mode)


def written(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def test_photo_gets_the_answer_of_its_features(shown):
    model, client = shown
    assert client.get("/model").json()["photos"] == "ours"
    for mode in ("RGB", "L", "RGBA", "P"):
        for kind in ("PNG", "WEBP"):
            body = written(picture(mode), kind, **({"lossless": True} if kind == "WEBP" else {}))
            expected = features(prepare(Image.open(io.BytesIO(body)).convert("RGB"))[None])
            same(sends(client, body, f"image/{kind.lower()}"), model, expected, 5)
    for mode in ("RGB", "L", "CMYK"):
        body = written(picture(mode), "JPEG")
        same(
            sends(client, body, "image/jpeg"),
            model,
            features(prepare(Image.open(io.BytesIO(body)).convert("RGB"))[None]),
            5,
        )


def test_photo_orientation_is_applied(shown):
    _, client = shown
    upright, turned = picture(), picture().transpose(Image.Transpose.ROTATE_90)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it to the right to see it upright
    told = written(turned, "PNG", exif=exif)
    answers = [sends(client, body, "image/png").json()["predictions"] for body in (written(upright, "PNG"), told)]
    assert answers[0] == answers[1]


def test_bad_photos_are_refused(shown):
    _, client = shown
    whole = written(picture(size=(400, 300)), "JPEG")
    wide = written(Image.new("1", (7100, 7100)), "PNG")
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for body, kind, sentence in [
        (whole[: len(whole) // 2], "image/jpeg", "truncated"),
        (whole[:30], "image/jpeg", "cannot be read"),
        (b"", "image/jpeg", "empty"),
        (whole, "image/png", "not an image"),
        (svg, "image/png", "not an image"),
        (b"GIF89a" + b"x" * 100, "image/webp", "not an image"),
        (wide, "image/png", "decompression bomb?; make it smaller"),
    ]:
        assert sentence in refusal(sends(client, body, kind), 422)
    for kind in ("image/svg+xml", "image/gif", "image/tiff", "image/*"):
        assert "Content-Type" in refusal(sends(client, svg, kind), 415)
    assert "make it smaller" in refusal(sends(client, bytes(requests.MAX_PHOTO_BYTES + 1), "image/png"), 413)
    frames = [picture(size=(20, 20)), Image.new("RGB", (20, 20))]
    moving = written(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    still = written(frames[0], "WEBP", lossless=True)
    assert sends(client, moving, "image/webp").json() == sends(client, still, "image/webp").json()  # the first frame
    moving = written(frames[0], "PNG", save_all=True, append_images=frames[1:])
    assert sends(client, moving, "image/png").json() == sends(client, written(frames[0], "PNG"), "image/png").json()
    assert "not an image" in refusal(sends(client, written(frames[0], "GIF"), "image/png"), 422)


def test_photos_need_a_network(plain):
    assert "--backbone" in refusal(sends(plain[2], written(picture(), "PNG"), "image/png"), 409)


def test_backbone_is_named_or_found(monkeypatch):
    plain, _ = strings()
    model = copy.copy(plain)
    _, data = services.small()
    said = []
    assert requests.load_photo_encoder(None, data, model, said.append) is None
    with pytest.raises(ValueError, match="expected efficientnet-lite0"):
        requests.load_photo_encoder("efficientnet-lite9", data, model, said.append)
    monkeypatch.setattr(images, "load_backbone", lambda name, device: NETWORK._backbone)
    assert requests.load_photo_encoder("onnx:some.onnx", None, model, said.append).name == "onnx:some.onnx"
    implied = replace(data, features="efficientnet_lite2")
    told = replace(implied, backbone="onnx:other.onnx")
    model.backbone_ = "efficientnet-lite1"
    for given, one in ((implied, model), (told, model), (told, plain), (implied, plain)):
        assert requests.load_photo_encoder(None, given, one, said.append) is not None
    for one in ("efficientnet-lite0+timm:hf_hub:someone/net", "timm:hf_hub:someone/net"):
        model.backbone_ = one  # a file may not send us anywhere
        assert requests.load_photo_encoder(None, None, model, said.append) is None
        assert "if you trust it, give it by --backbone" in said[-1]
    assert [line.removeprefix("photos are read by ") for line in said[:5]] == [
        "onnx:some.onnx, which --backbone names",
        "efficientnet-lite1, which the model file names",
        "efficientnet-lite1, which the model file names",
        "onnx:other.onnx, which the manifest of small names",
        "efficientnet-lite2, which the name of the features (efficientnet_lite2) names",
    ]
    assert "if you trust it, give it by --backbone" in said[5]


def test_backbone_is_recorded_in_the_model_file(tmp_path, monkeypatch):
    X, y, table = services.toy()
    np.savez(tmp_path / "f.npz", features=X, labels=y, backbone="efficientnet-lite2")
    table.to_csv(tmp_path / "t.csv", index_label="class")
    data = datasets.make(tmp_path / "own", tmp_path / "f.npz", "labels", tmp_path / "t.csv", unseen=["dog"])
    assert data.backbone == datasets.load(tmp_path / "own").backbone == "efficientnet-lite2"
    run = CliRunner().invoke(cli.app, ["fit", str(tmp_path / "own"), "--no-tune", "-o", str(tmp_path / "m.zskl")])
    assert run.exit_code == 0, run.output
    model = methods.load(tmp_path / "m.zskl")
    assert model.backbone_ == "efficientnet-lite2"
    said = []
    monkeypatch.setattr(images, "load_backbone", lambda name, device: backbones.load_onnx_file("not-here.onnx"))
    assert requests.load_photo_encoder(None, None, model, said.append) is None  # the service runs without photos
    assert said[0].startswith("photos cannot be classified: ")
    assert not hasattr(model.fit(X, y, table), "backbone_")


def test_wrong_value_is_explained_once(fresh):
    client = fresh[2]
    said = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big"}}), 422)
    assert said == "attributes.size: Input should be a valid number, found 'big'"
    two = refusal(client.post("/classes", json={"name": "new", "attributes": {"size": "big", "fur": None}}), 422)
    assert two.count("valid number") == 2
    assert "a step in an address" in refusal(client.post("/classes", json={"name": "..", "attributes": {}}), 422)


MEMORY = 1000  # megabytes that a service may ever take


NEAR = SUMS.single  # of the largest score; of sums of 2048 products, too, whose roundings mostly cancel


GROUPS = [
    ".npy", "JSON", "attributes", "data_rows", "explanation", "name",
    "number", "of", "option", "ranking", "rows", "sent",
]  # fmt: skip


@cache
def bodies():
    """By group, the first word of what each is."""
    found = defaultdict(list)
    for name, path, kind, body in request_bodies.everything():
        found[name.split(",")[0].split()[0]].append((name, path, kind, body))
    return found


def send(client, path, kind, body):
    method = "PUT" if path.startswith("/classes/") else "POST"
    return client.request(method, path, content=body, headers={"content-type": kind.encode("utf-8")})


def goes_on(service):
    assert service.process.poll() is None
    assert service.asking.get("/health").json()["status"] == "ok"
    assert service.asking.post("/predict", json=GOOD["/predict"]).content == service.expected
    assert service.peak() < MEMORY


def check_sentence(answer, of):
    assert 400 <= answer.status_code < 500, (of, answer.status_code, answer.text[:200])
    assert answer.headers["content-type"] == "application/json", of
    assert list(answer.json()) == ["error"], of
    sentence = answer.json()["error"]
    assert 10 < len(sentence) < 400, (of, sentence)
    assert sentence.isprintable(), (of, sentence)
    assert not re.search(r"Traceback|\.py\b|site-packages|/(tmp|home|usr|etc|root|work)/|0x[0-9a-f]{8}", sentence), (
        sentence
    )


def test_malformed_bodies_are_many_and_different():
    assert sorted(bodies()) == sorted(GROUPS)
    every = [one for group in bodies().values() for one in group]
    assert len(every) > 200
    assert {path for _, path, _, _ in every} == set(GOOD)
    assert len({(path, kind, body) for _, path, kind, body in every}) > 0.97 * len(every)


@pytest.mark.parametrize("group", GROUPS)
def test_malformed_body_is_refused_with_a_sentence(attacked, group):
    for name, path, kind, body in bodies()[group]:
        check_sentence(send(attacked.asking, path, kind, body), (name, path))
    goes_on(attacked)
    assert attacked.asking.get("/classes").json()["version"] == 0


def test_good_bodies_are_accepted(attacked):
    """So that the refusals above are about what is wrong with the others."""
    client = attacked.asking
    good = npy_bytes(np.zeros((1, 64), np.float32))
    for kind, body in ((NPY, good), (JSON, json.dumps(GOOD["/predict"]).encode())):
        assert send(client, "/predict", kind, body).status_code == 200
    assert send(client, "/predict", NPY, npy_file(described(), b"\0" * 256)).status_code == 200
    assert send(client, "/predict", NPY, npy_file(described(), b"\0" * 256, (2, 0))).status_code == 200
    assert client.post("/rank", json=GOOD["/rank"]).status_code == 200


def test_key_that_is_there_twice_is_refused(attacked):
    client, rows = attacked.asking, json.dumps(GOOD["/predict"]["rows"]).encode()
    for body in (
        b'{"top": 9, "top": 2, "rows": ' + rows + b"}",
        b'{"top": 9, "rows": ' + rows + b', "\\u0074op" : 9}',
        b'{"rows": ' + rows + b', "rows": ' + rows + b"}",
    ):
        said = refusal(send(client, "/predict", JSON, body), 400)
        assert "in one object: send it once" in said
        assert re.search("'(top|rows)' twice", said)
    names = list(GOOD["/rank"]["attributes"])
    nested = b'{"attributes": {%s: 1, %s: 0}}' % ((json.dumps(names[0]).encode(),) * 2)
    assert repr(names[0]) in refusal(send(client, "/rank", JSON, nested), 400)
    goes_on(attacked)


def keys_twice(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise KeyError(names)
    return dict(pairs)


def test_keys_are_found_as_by_pythons_parser():
    """On random objects, whose texts look like JSON themselves; about half of them have a key twice."""
    draw, found = np.random.default_rng(0), []
    texts = ["a", "\\", '"', '\\"', "{", "}", ":", '":', "é", "a:", ""]

    def value(depth):
        kind = draw.integers(4) if depth < 3 else 0
        if kind == 0:
            return draw.choice(["1", "true", json.dumps(str(draw.choice(texts)))])
        if kind == 1:
            return "[" + ", ".join(value(depth + 1) for _ in range(draw.integers(3))) + "]"
        names = [
            json.dumps(str(draw.choice(texts)), ensure_ascii=bool(draw.integers(2))) for _ in range(draw.integers(4))
        ]
        return "{" + ",".join(f"{name}{' ' * draw.integers(2)}: {value(depth + 1)}" for name in names) + "}"

    for _ in range(2000):
        body = value(0)
        try:
            json.loads(body, object_pairs_hook=keys_twice)
            found.append(False)
        except KeyError:
            found.append(True)
        if found[-1]:
            with pytest.raises(Refusal, match="twice in one object"):
                requests.check_unique_keys(body.encode())
        else:
            requests.check_unique_keys(bytearray(body.encode()))
    assert 0.1 < np.mean(found) < 0.9


def test_large_json_takes_little_memory(attacked):
    million = 1_000_000
    for body in (
        b'{"rows": [[' + b"0," * (20 * million) + b"0]]}",
        b'{"rows": [[' + b"0," * (4 * million) + b"0]]}",
        b'{"rows": [' + b"[]," * (4 * million) + b"[]]}",
        b'{"rows": [[' + b'"",' * (4 * million) + b"0]]}",
        b'{"rows": [' + b'"",' * 20_000 + b"0]}",
        b'{"data_rows": [' + b"null," * (4 * million) + b"0]}",
        b'{"x": ' + b'"' + b"\\u0001" * (4 * million) + b'"}',
        b"{" + b",".join(b'"%d": 0' % k for k in range(24_000)) + b"}",
        b'{"rows": [' + b",".join([json.dumps([0] * 64).encode()] * 80_000) + b"]}",
        b'{"data_rows": [' + b"0," * 100_000 + b"0]}",
    ):
        check_sentence(send(attacked.asking, "/predict", JSON, body), body[:50])
    goes_on(attacked)


def agree(answer, model, X):
    """The first class of each row is the model's, but for rows whose best two are as near as rounding; every seventh
    row is looked at."""
    assert answer.status_code == 200, answer.text[:200]
    found = np.array([row["class"] for row in answer.json()["predictions"]])
    assert len(found) == len(X)
    found, X = found[::7], X[::7]
    clear = decided(model.compatibility(X), NEAR)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(found[clear], model.predict(X).astype(str)[clear])


def test_ten_thousand_rows_as_json(attacked):
    model, data = services.digits()
    X = np.tile(data.X, (6, 1))[:10_000]
    agree(send(attacked.asking, "/predict", JSON, json.dumps({"rows": X.tolist(), "top": 1}).encode()), model, X)
    goes_on(attacked)


def test_ten_thousand_rows_of_many_features(tmp_path):
    draw = np.random.default_rng(0)
    y = np.repeat(services.SEEN, 20)
    seen = draw.standard_normal((60, 2048), np.float32) + np.repeat(np.arange(3), 20)[:, None]
    model = services.kernel().fit(seen, y, services.toy()[2])
    model.save(tmp_path / "wide.zskl")
    X = draw.standard_normal((10_000, 2048), np.float32)
    with services.running(tmp_path / "wide.zskl") as service, service.client() as client:
        agree(send(client, "/predict?top=1", NPY, npy_bytes(X)), model, X)
        assert service.peak() < MEMORY


# Models of texts

WORDS = ("play", "song", "eat", "run")
ABOUT = {"games": "something to play", "music": "a song", "food": "what we eat"}


def count(texts):
    found = np.array([[text.count(word) for word in WORDS] + [0.3] for text in texts], dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@pytest.fixture
def classifier(monkeypatch):
    monkeypatch.setattr(sentences, "load_encoder", lambda name, device=None: count)
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 1")
    monkeypatch.setattr(sentences, "is_encoder_present", lambda name: True)
    return TextClassifier("minilm").fit(["let us play", "my song", "a new song"], ["games", "music", "music"], ABOUT)


def serve_texts(model, said):
    reader = requests.load_text_reader(model, said.append)
    return services.client(Service(model, "model", Limits(), sentences=load_sentences(None, model), texts=reader))


def test_texts_are_classified_explained_and_taught(classifier):
    said = []
    model = classifier._to_model()
    client = serve_texts(model, said)
    assert said == ["texts are read by minilm, which the model file names"]
    about = client.get("/model").json()
    assert (about["texts"], about["sentences"]["encoder"], about["examples"]) == ("minilm", "minilm 1", [])
    rows = ["play a song, song", "we eat", "play on"]
    body = {"texts": rows, "explain": True, "attributes": 2, "top": 1}
    found = client.post("/predict", json=body).json()["predictions"]
    assert [one["class"] for one in found] == classifier.predict(rows).tolist() == ["music", "food", "games"]
    for one, why in zip(found, classifier.explain(rows, 2), strict=True):
        assert one["explanation"] is None
        told = one["words"]
        assert (told["class"], told["against"]) == (why.label, why.against)
        assert told["words"] == [[word, pytest.approx(fall, rel=1e-4, abs=1e-6)] for word, fall in why.words]
        assert told["examples"][0][0] == why.examples[0][0]
        assert told["text"].startswith(f"{why.label!r} rather than")
    plain = client.post("/predict", json={"rows": count(rows).tolist()}).json()["predictions"]
    alone = client.post("/predict", json={"texts": rows}).json()["predictions"]
    assert [one["top"][0]["score"] for one in plain] == pytest.approx([one["top"][0]["score"] for one in alone])
    assert client.post("/classes", json={"name": "sport", "sentence": "run, run"}).status_code == 201
    assert client.post("/classes/sport/examples", json={"text": "let us run"}).status_code == 201
    assert client.post("/predict", json={"texts": ["run on"]}).json()["predictions"][0]["class"] == "sport"
    many = client.post("/predict", json={"texts": ["run"] * 51, "explain": True})
    assert "51 explanations of texts are too many: ask for 50" in refusal(many, 413)
    assert "text 1 is empty" in refusal(client.post("/predict", json={"texts": ["a", " "]}), 422)
    assert "or texts" in refusal(client.post("/predict", json={"texts": ["a"], "data_rows": [0]}), 422)


def test_texts_need_a_model_of_texts_and_its_encoder(classifier, plain, monkeypatch):
    said = []
    assert requests.load_text_reader(plain[0], said.append) is None
    refused = refusal(plain[2].post("/predict", json={"texts": ["a"]}), 409)
    assert "this service takes no texts: serve a model of texts" in refused
    missing = "the encoder 'minilm' needs its weights"

    def fail(name, device=None):
        raise ValueError(missing)

    monkeypatch.setattr(sentences, "load_encoder", fail)
    assert requests.load_text_reader(classifier._to_model(), said.append) is None
    assert said == [f"texts cannot be read: {missing}"]


def test_a_saved_classifier_of_pictures_names_its_network(monkeypatch):
    model = copy.copy(services.strings()[0])
    model.encoder_ = {"kind": "pictures", "backbone": "efficientnet_lite2"}
    monkeypatch.setattr(images, "load_backbone", lambda name, device: NETWORK._backbone)
    said = []
    assert requests.load_photo_encoder(None, None, model, said.append).name == "efficientnet_lite2"
    assert said == ["photos are read by efficientnet_lite2, which the model file names"]
