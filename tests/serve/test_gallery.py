"""The rows of the loaded data."""

import csv
import io
import math
from pathlib import PureWindowsPath

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from PIL import Image

import services
from services import refusal
from tolerances import SOLUTION, SUMS, assert_close, decided
from zskl import datasets, metrics
from zskl.datasets import Dataset, letters
from zskl.serve import gallery


def slow_ranking(model, data, attributes, means):
    """{row: score}: how well the classes fit that the row may be of, the description among them, which fits fully."""
    described = np.array([[attributes.get(name, mean) for name, mean in means.items()]])
    own = model.compatibility(data.X, described, [99])[:, 0].astype(np.float64)
    known = model.compatibility(data.X).astype(np.float64)
    known -= model.calibration_ * np.isin(model.classes_, model.seen_classes_)
    table, found = data.signatures.loc[model.classes_], {}
    spread = table.max() - table.min()
    fits = [
        np.mean([1 - abs(values[k] - v) / spread[k] for k, v in attributes.items()]) for _, values in table.iterrows()
    ]
    temperature = gallery.UNCALIBRATED * np.mean([np.std(row) for row in known])
    if model.temperatures_ is not None:
        temperature = model.temperatures_["mixed"]
    for row in range(len(data.X)):
        good = [(fit / max(*fits, gallery.GOOD_FIT)) ** gallery.SHARPNESS for fit in fits]
        likely = [math.exp((score - known[row].max()) / temperature) for score in (*known[row], own[row])]
        found[row] = sum(each * fit for each, fit in zip(likely, (*good, 1.0), strict=True)) / sum(likely)
    return found


@pytest.mark.parametrize("part", [None, "test_unseen"])
def test_rows_are_ranked_by_the_fit_of_their_likely_classes(digits, part):
    model, data, client = digits
    means = {one["name"]: one["mean"] for one in client.get("/model").json()["attributes"]}
    complete = {"top": 1, "upper right": 1, "lower right": 1, "bottom": 0.5, "lower left": 0, "upper left": 0}
    for attributes in (complete, {"top": 1}):
        answer = client.post("/rank", json={"attributes": attributes, "top": 30, "part": part}).json()
        assert answer["defaulted"] == [name for name in means if name not in attributes]
        scores = slow_ranking(model, data, attributes, means)
        wanted = range(len(data.X)) if part is None else data.parts[part].tolist()
        told = [row["score"] for row in answer["rows"]]
        assert_close(told, sorted((scores[row] for row in wanted), reverse=True)[:30], SOLUTION.single)
        assert_close(told, [scores[row["row"]] for row in answer["rows"]], SOLUTION.single)
        assert len({row["row"] for row in answer["rows"]}) == 30
        for row in answer["rows"]:
            assert row["class"] == str(data.y[row["row"]])
            assert row["row"] in data.parts[row["part"]]
            assert row["picture"]


def test_huge_data_are_ranked_by_the_description_alone(digits, monkeypatch):
    model, data, _ = digits
    monkeypatch.setattr(gallery, "MAX_SCORES", 0)
    client = services.client(services.with_data(model, data))
    attributes = dict(zip(data.signatures.columns, [1, 1, 0, 1, 1, 0, 1], strict=True))
    told = client.post("/rank", json={"attributes": attributes, "top": 3}).json()["rows"]
    scores = model.compatibility(data.X, np.array([list(attributes.values())]), [99])[:, 0]
    assert_close([row["score"] for row in told], -np.sort(-scores)[:3], SUMS.single)


def test_rows_are_listed_by_class_and_part(digits):
    _, data, client = digits
    everything = client.get("/rows").json()
    assert (everything["total"], len(everything["rows"])) == (len(data.X), 24)
    sevens = client.get("/rows", params={"class": "7", "part": "trainval", "start": 3, "count": 5}).json()
    own = [row for row in data.parts["trainval"].tolist() if data.y[row] == 7]
    assert (sevens["total"], [row["row"] for row in sevens["rows"]]) == (len(own), own[3:8])
    assert "no class is called 'none'" in refusal(client.get("/rows", params={"class": "none"}), 422)
    assert "did you mean 'count'" in refusal(client.get("/rows", params={"counts": 2}), 422)
    assert client.get("/rows", params={"start": 10**9}).json()["rows"] == []
    for wrong in ({"start": -1}, {"count": 0}, {"count": 1001}, {"part": "x"}, {"start": "9" * 5000}):
        refusal(client.get("/rows", params=wrong), 422)


def test_rows_need_loaded_data(plain):
    client = plain[2]
    for path in ("/rows", "/rows/0/picture", "/balance", "/confusion"):
        assert "--data" in refusal(client.get(path), 409)
    assert "--data" in refusal(client.post("/rank", json={"attributes": {"size": 1.0}}), 409)
    assert "--data" in refusal(client.post("/predict", json={"data_rows": [0]}), 409)


def test_digits_are_drawn_from_their_rows(digits):
    _, data, client = digits
    key = client.get("/model").json()["data"]["picture_key"]
    answer = client.get("/rows/17/picture")
    kept = client.get(f"/rows/17/picture?key={key}")
    assert (kept.content, answer.headers["cache-control"]) == (answer.content, "no-store")
    assert kept.headers["cache-control"] == "private, max-age=3600"
    assert "other data" in refusal(client.get("/rows/17/picture?key=0123456789ab"), 404)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    grey = decoded(answer.content)
    expected = np.round(255 * (1 - data.X[17].reshape(8, 8) / 16))
    np.testing.assert_array_equal(grey[::8, ::8], expected)
    for row in (1797, -1, 10**30):
        refusal(client.get(f"/rows/{row}/picture"), 404)
    refusal(client.get("/rows/x/picture"), 422)


def test_letters_are_drawn():
    drawn = gallery.load_pictures(datasets.load("letters:german"), None, None)
    grey = decoded(drawn.read(33)[0])
    np.testing.assert_array_equal(grey[::2, ::2], 255 - letters.pictures()[33])
    assert [drawn.has(row) for row in (-1, 0, 7199, 7200)] == [False, True, True, False]


def decoded(png):
    """A grey PNG file as (height, width) bytes."""
    image = Image.open(io.BytesIO(png))
    assert (image.format, image.mode) == ("PNG", "L")
    return np.asarray(image)


def test_row_names_may_have_windows_paths(tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "PurePath", PureWindowsPath)
    (tmp_path / "owl").mkdir()
    (tmp_path / "owl" / "a.png").touch()
    found = gallery.load_picture_folder(tmp_path, 2, ["C:\\birds\\owl\\a.png", "owl/a.png"])
    assert found.has(0)
    assert found.has(1)


def test_pictures_are_found_in_a_folder(tmp_path):
    model, data = services.small()
    picture = gallery.encode_png(np.zeros((2, 2), np.uint8))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.png").write_bytes(picture)
    (tmp_path / "b.JPG").write_bytes(b"jpeg")
    (tmp_path / "c.svg").write_text("<svg/>")
    names = [f"some/where/{name}" for name in ["deep/a.png", "b.JPG", "c.svg", *"defghijkl"]]
    by_name = services.client(services.with_data(model, data, tmp_path, names))
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["file", "row"], ["deep/a.png", 0], ["b.JPG", 1]])
    by_table = services.client(services.with_data(model, data, tmp_path))
    for client in (by_name, by_table):
        first, second = client.get("/rows/0/picture"), client.get("/rows/1/picture")
        assert (first.content, first.headers["content-type"]) == (picture, "image/png")
        assert (second.content, second.headers["content-type"]) == (b"jpeg", "image/jpeg")
        assert [row["picture"] for row in client.get("/rows").json()["rows"]] == [True, True] + [False] * 10
        refusal(client.get("/rows/2/picture"), 404)
        assert client.get("/rows", params={"pictures": True}).json()["total"] == 2
    assert by_name.get("/rows").json()["rows"][0]["id"] == "some/where/deep/a.png"
    (tmp_path / "b.JPG").unlink()
    assert "cannot be read any more" in refusal(by_table.get("/rows/1/picture"), 404)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("file,row\na.png,99\n", "below 12"),
        ("file,row\na.png,x\n", "expected a picture"),
        ("file,row\nb.png,1\n", "not a picture that a browser shows"),
        ("name\na.png\n", "expected a picture"),
    ],
)
def test_bad_tables_of_pictures_are_refused(tmp_path, table, sentence):
    model, data = services.small()
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "rows.csv").write_text(table)
    with pytest.raises(ValueError, match=sentence):
        services.with_data(model, data, tmp_path)


def agreement(values, given, about):
    """Attribute → how far a class agrees."""
    found = {}
    for name, wanted in given.items():
        low, high = about[name]["low"], about[name]["high"]
        found[name] = max(0.0, 1 - abs(values[name] - wanted) / (high - low))
    return found


def test_fit_is_the_mean_agreement():
    model, data = services.small()
    client = services.client(services.with_data(model, data))
    about = {one["name"]: one for one in client.get("/model").json()["attributes"]}
    client.put("/classes/added", json={"attributes": {"size": 0.5}})
    given = {"size": about["size"]["high"], "fur": 0.0}
    answer = client.post("/fits", json={"attributes": given, "top": 1000, "rows": 2}).json()
    assert answer["defaulted"] == ["legs", "wings"]
    assert {one["class"] for one in answer["classes"]} == {"ant", "cat", "dog", "emu", "bee", "added"}
    fits = [one["fit"] for one in answer["classes"]]
    assert fits == sorted(fits, reverse=True)
    ranked = [one["row"] for one in client.post("/rank", json={"attributes": given, "top": 100}).json()["rows"]]
    for one in answer["classes"]:
        values = client.get("/classes/" + one["class"]).json()["attributes"]
        expected = agreement(values, given, about)
        assert one["fit"] == pytest.approx(np.mean(list(expected.values())))
        assert {why["attribute"]: pytest.approx(why["agreement"]) for why in one["why"]} == expected
        assert {why["attribute"]: pytest.approx(why["value"]) for why in one["why"]} == {
            name: values[name] for name in given
        }
        own = [row for row in ranked if data.y[row] == one["class"]]
        assert [row["row"] for row in one["rows"]] == own[:2]
    assert len(client.post("/fits", json={"attributes": given, "top": 2}).json()["classes"]) == 2


def test_implied_attributes_do_not_count():
    """A letter and a mark are two attributes, though all other letters and marks are then ruled out."""
    from zskl import ClassMeansClassifier, datasets

    data = datasets.load("letters")
    rows = data.parts["trainval"][::8]
    client = services.client_of(ClassMeansClassifier().fit(data.X[rows], data.y[rows], data.signatures))
    found = client.post("/fits", json={"attributes": {"letter: a": 1, "mark: ring above": 1}, "top": 4}).json()[
        "classes"
    ]
    assert (found[0]["class"], found[0]["fit"]) == ("å", 1.0)
    assert {one["fit"] for one in found[1:]} == {0.5}
    assert {one["attribute"] for one in found[0]["why"]} == {"letter: a", "mark: ring above"}


def test_fits_without_data_list_no_rows(fresh):
    client = fresh[2]
    answer = client.post("/fits", json={"attributes": {"size": 1.0}}).json()
    assert [one["rows"] for one in answer["classes"]] == [[]] * 5
    assert "did you mean 'size'" in refusal(client.post("/fits", json={"attributes": {"sizes": 1.0}}), 422)


def test_predicted_wins_equal_those_of_the_saved_class():
    """With the calibration as for any added class; and the class nearest to it is that of GET /classes/NAME."""
    model, data = services.digits()
    client = services.client(services.with_data(model, data))
    given = {"top": 1.0, "upper right": 1.0, "lower right": 1.0, "bottom": 1.0, "middle": 1.0, "lower left": 0.0}
    before = client.post("/fits", json={"attributes": given}).json()
    client.post("/classes", json={"name": "described", "attributes": given})
    rows = data.X.astype(np.float32).tolist()
    answers = client.post("/predict", json={"rows": rows, "top": 1}).json()["predictions"]
    assert before["wins"] == sum(one["class"] == "described" for one in answers) > 0
    near = client.get("/classes/described").json()["nearest"][0]
    assert before["nearest"] == {**near, "similarity": pytest.approx(near["similarity"])}
    again = client.post("/fits", json={"attributes": given, "replaces": "described"}).json()
    assert (again["wins"], again["nearest"]["class"]) == (before["wins"], near["class"])
    beside = client.post("/fits", json={"attributes": given}).json()
    assert (beside["nearest"]["class"], beside["wins"]) == ("described", 0)  # rounding decides nothing
    assert "expected an added class" in refusal(client.post("/fits", json={"attributes": given, "replaces": "3"}), 422)


PRACTISED = {"weight": 4.0, "shrinkage": 0.3, "crowding": 0.1, "calibration": -0.2, "temperatures": None}


@pytest.mark.parametrize("name", ["bent", "described"])
def test_predicted_wins_are_right_after_teaching(name):
    """Examples change the model's calibration by the share of new classes that have some; a saved class is one more."""
    from zskl import ClassMeansClassifier, datasets

    data = datasets.load("digits")
    model = ClassMeansClassifier().fit(*data.samples("trainval"), data.signatures)
    model.calibration_ = 0.2
    model.practice_ = {"examples": {"1": PRACTISED}}
    client = services.client(services.with_data(model, data))
    rows = list(range(len(data.X)))

    def won(name):
        answers = client.post("/predict", json={"data_rows": rows, "top": 1}).json()
        assert client.get("/model").json()["calibration"] == answers["calibration"] != 0.2
        return sum(one["class"] == name for one in answers["predictions"])

    given = {"top": 1.0, "upper right": 1.0, "lower right": 1.0, "bottom": 1.0, "middle": 1.0, "lower left": 0.0}
    client.put("/classes/described", json={"attributes": {"top": 0.0, "lower left": 1.0}})
    for row in data.parts["test_unseen"][:4].tolist():
        client.post("/classes/described/examples", json={"row": row})
    known = {} if name == "bent" else {"replaces": name}
    before = client.post("/fits", json={"attributes": given, **known}).json()
    assert client.put(f"/classes/{name}", json={"attributes": given}).status_code == (200 if known else 201)
    assert before["wins"] == won(name) > 0


def classical_scaling(vectors):
    """(c, c) inner products of the best points in a plane, from distances alone."""
    n = len(vectors)
    squared = np.array([[sum((a - b) ** 2) for b in vectors] for a in vectors])
    centring = np.eye(n) - 1 / n
    values, columns = np.linalg.eigh(-centring @ squared @ centring / 2)
    return (columns[:, -2:] * values[-2:]) @ columns[:, -2:].T, values[-2:][::-1] / values.sum()


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])  # more classes than attributes, and fewer
def test_plane_equals_classical_scaling(shape):
    vectors = np.random.default_rng(3).normal(size=shape)
    plane = gallery.Plane(vectors)
    places = plane.project(vectors)
    inner, kept = classical_scaling(vectors)
    assert_close(places @ places.T, inner, SOLUTION.double)
    assert_close(plane.kept, kept, SOLUTION.double)
    turned = gallery.Plane(vectors[::-1])  # the order of classes does not matter, and no axis is mirrored by it
    assert_close(turned.project(vectors), places, SOLUTION.double)


def test_plane_of_degenerate_classes():
    line = np.arange(4.0)[:, None] * np.array([[1.0, -2.0, 0.5]])
    places = gallery.Plane(line).project(line)
    assert (np.diff(places[:, 0]) < 0).all()  # the largest entry of the direction is positive
    assert (places[:, 1] == 0).all()
    assert (gallery.Plane(np.ones((3, 5))).project(np.ones((2, 5))) == 0).all()


def test_map_keeps_its_places_when_a_class_is_added(fresh):
    _, _, client = fresh
    before = client.get("/map").json()
    names = [one["name"] for one in client.get("/classes").json()["classes"]]
    assert [one["class"] for one in before["classes"]] == names
    first = before["classes"][0]
    details = client.get(f"/classes/{first['class']}").json()
    assert first["nearest"] == details["nearest"][: len(first["nearest"])]
    assert client.put("/classes/twin", json={"attributes": details["attributes"]}).status_code == 201
    after = client.get("/map").json()
    moved = zip(after["classes"], before["classes"], strict=False)
    assert all((new["x"], new["y"]) == (old["x"], old["y"]) for new, old in moved)
    twin = after["classes"][-1]
    assert (twin["kind"], twin["nearest"][0]["class"]) == ("added", first["class"])
    assert_close([twin["x"], twin["y"]], [first["x"], first["y"]], SUMS.double)
    assert after["version"] == before["version"] + 1


def test_class_with_several_signatures_is_one_point():
    import services

    model, _ = services.several_signatures()
    client = services.client_of(model)
    found = client.get("/map").json()["classes"]
    assert len(found) == len(set(model.signature_table_.labels.tolist())) < len(model.signature_table_.labels)


def test_map_of_too_many_classes_is_refused(plain, monkeypatch):
    monkeypatch.setattr(gallery, "MAX_MAP_CLASSES", 2)
    assert "a map shows 2 at most" in refusal(plain[2].get("/map"), 409)


class Words:
    """Three attributes: one in thousands, one below 1, one that is the same for all classes."""

    names = ("speed", "load", "made")
    low, high = np.array([0.0, 0.0, 1.0]), np.array([4000.0, 1.0, 1.0])


class Table:
    labels = np.array(["fan", "saw", "fan", "mill"], dtype=object)  # the fan has two descriptions
    matrix = np.array([[1000.0, 0.2, 1.0], [2000.0, 0.9, 1.0], [3000.0, 0.4, 1.0], [2000.0, 0.3, 1.0]])


@pytest.fixture
def differences():
    return gallery.AttributeDifferences(Words(), Table())


def test_differences_are_relative_to_the_range(differences):
    (first,) = differences.between("saw", "mill")  # not those that are the same
    assert first == {"attribute": "load", "values": [0.9, 0.3]}
    (only,) = differences.between("fan", "saw")  # the mean of both descriptions: 2000, as the saw has
    assert only["attribute"] == "load"
    assert only["values"] == pytest.approx([0.3, 0.9])
    assert [one["attribute"] for one in differences.between("mill", "fan")] == []


def test_differences_of_shares_are_absolute():
    words, table = Words(), Table()
    words.low, words.high = np.array([0.0, 0.0, 1.0]), np.array([0.01, 1.0, 1.0])
    table.matrix = table.matrix / [400_000, 1, 1]  # a rare one: it hardly differs, whatever its range
    first = gallery.AttributeDifferences(words, table).between("fan", "mill")
    assert [one["attribute"] for one in first] == []
    first = gallery.AttributeDifferences(words, table).between("saw", "mill")
    assert [one["attribute"] for one in first] == ["load"]


def test_mistaken_pairs_count_both_directions(differences):
    true = np.array(["fan"] * 4 + ["saw"] * 2 + ["mill"] * 4, dtype=object)
    answers = np.array(["fan", "saw", "mill", "mill", "fan", "saw", "mill", "mill", "mill", "mill"], dtype=object)
    first, second = gallery.most_mistaken_pairs(true, answers, differences)
    assert first["classes"] == ["fan", "saw"]
    assert (first["rows"], first["mistaken"], first["share"]) == ([4, 2], [1, 1], 2 / 6)
    assert second["classes"] == ["fan", "mill"]
    assert (second["rows"], second["mistaken"], second["share"]) == ([4, 4], [2, 0], 2 / 8)
    assert gallery.most_mistaken_pairs(true, true, differences) == []


def test_confusion_lists_mistaken_pairs(digits):
    found = digits[2].get("/confusion").json()
    shares = [one["share"] for one in found["pairs"]]
    assert shares == sorted(shares, reverse=True)
    by_name = {one["class"]: one for one in found["classes"]}
    for pair in found["pairs"]:
        one, other = pair["classes"]
        assert pair["rows"] == [by_name[one]["rows"], by_name[other]["rows"]]
        told = {wrong["class"]: wrong for wrong in by_name[one]["wrong"]}
        if other in told:
            assert pair["mistaken"][0] == pytest.approx(told[other]["share"] * pair["rows"][0])
            assert pair["differ"] == told[other]["differ"]


def test_classes_are_listed_with_a_pictured_row(digits):
    _, data, client = digits
    for one in client.get("/classes").json()["classes"]:
        assert one["picture"] == int(np.flatnonzero(data.y == int(one["name"]))[0])


def test_balance_equals_the_seen_unseen_curve(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    scores = model.compatibility(np.asarray(data.X[rows]))
    seen = np.isin(model.candidates_, model.seen_classes_)
    curve = metrics.seen_unseen_curve(np.float32(scores), data.y[rows], model.candidates_, seen)
    found = client.get("/balance").json()
    constants = np.array([point["calibration"] for point in found["points"]])
    assert (np.diff(constants) > 0).all()
    few = curve.thinned(len(constants))
    np.testing.assert_allclose([point["seen"] for point in found["points"]], few.seen, atol=0.01)
    np.testing.assert_allclose([point["unseen"] for point in found["points"]], few.unseen, atol=0.01)
    np.testing.assert_allclose(found["best"]["harmonic"], curve.best()[1], atol=1e-3)
    assert found["current"] == 0.4


def test_confusion_equals_that_of_predictions(digits):
    model, data, client = digits
    rows = np.concatenate([data.parts["test_seen"], data.parts["test_unseen"]])
    right = metrics.per_class_accuracy(data.y[rows], model.predict(data.X[rows]))
    seen = np.isin(model.candidates_, model.seen_classes_)
    clear = decided(model.compatibility(data.X[rows]) - model.calibration_ * seen, SUMS.single)
    assert clear.mean() > 0.95
    found = client.get("/confusion").json()["classes"]
    assert {one["class"] for one in found} == {str(label) for label in right}
    for one in found:
        undecided = (~clear[data.y[rows] == int(one["class"])]).mean()
        assert one["accuracy"] == pytest.approx(right[int(one["class"])], abs=undecided + 1e-9)
        assert one["rows"] == int((data.y[rows] == int(one["class"])).sum())
        assert one["kind"] == ("seen" if int(one["class"]) in model.seen_classes_ else "unseen")
        shares = [other["share"] for other in one["wrong"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 - one["accuracy"] + 1e-9


def test_balance_needs_unseen_test_rows():
    model, data = services.small()
    X, y = np.asarray(data.X)[:8], data.y[:8]
    parts = {"trainval": np.arange(6), "test_seen": np.arange(6, 8), "test_unseen": np.arange(0)}
    some = Dataset("some", X, y, data.signatures, parts)
    client = services.client(services.with_data(model, some))
    assert "no curve" in refusal(client.get("/balance"), 409)
    assert client.get("/confusion").status_code == 200
