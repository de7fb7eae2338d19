"""The classifier of pictures: files, arrays, Pillow's pictures; tables and sentences; its file. With a toy network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import zskl
from image_files import colours, picture

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra images)")
TABLE = pd.DataFrame(
    {"red": [1, 0, 0, 1, 0], "green": [0, 1, 0, 1, 1], "blue": [0, 0, 1, 0, 1]},
    index=["fire", "grass", "sea", "gold", "ice"],
)
LEVELS = np.array([20, 230])


def paint(label, shade=0, size=(6, 9)):
    colour = LEVELS[TABLE.loc[label].to_numpy()] + shade
    return np.full((*size, 3), colour, dtype=np.uint8)


@pytest.fixture
def backbone():
    return colours()[0]


@pytest.fixture
def fitted(backbone):
    labels = ["fire", "grass", "sea"]
    return zskl.ImageClassifier(backbone).fit([paint(one) for one in labels], labels, TABLE)


def test_one_picture_of_each_seen_class_is_enough_to_start(fitted):
    assert fitted.predict([paint("gold", 7), paint("ice", -9), paint("sea", 5)]).tolist() == ["gold", "ice", "sea"]
    assert "not calibrated" in repr(fitted)
    assert fitted.predict([paint("gold")], candidates=["fire", "sea"])[0] in ("fire", "sea")
    assert fitted.predict([paint("ice")], {"dark": [0, 0, 0], "turquoise": [0, 1, 1]}).tolist() == ["turquoise"]


@pytest.mark.filterwarnings("ignore::zskl.UncalibratedWarning")
def test_the_largest_probability_is_that_of_the_answer(fitted):
    rows = [paint(label, shade) for label in TABLE.index for shade in (-9, 9)]
    taught = fitted.add_examples(rows[:2], ["sun", "sun"])
    for model in (fitted, taught, fitted.adapt(rows, force=True)):
        assert model.classes_.tolist() == sorted(model.classes_.tolist()) == model.candidates_.tolist()
        np.testing.assert_array_equal(model.classes_[model.predict_proba(rows).argmax(axis=1)], model.predict(rows))
    assert fitted.seen_classes_.tolist() == ["fire", "grass", "sea"]
    assert len(fitted.classes_) == 5


def test_files_arrays_and_pictures_of_pillow_are_the_same(fitted, tmp_path):
    array = paint("gold")
    file = picture(tmp_path / "gold.png", tuple(array[0, 0].tolist()))
    answers = [fitted.model_.compatibility(fitted._encode([one])) for one in (file, str(file), array)]
    answers.append(fitted.model_.compatibility(fitted._encode([Image.fromarray(array)])))
    for one in answers[1:]:
        np.testing.assert_array_equal(one, answers[0])
    seen_through = Image.fromarray(array).convert("RGBA")
    assert fitted.predict([seen_through, np.asarray(seen_through)]).tolist() == ["gold", "gold"]
    grey = Image.fromarray(array).convert("L")
    of_pillow, of_array = fitted._encode([grey, np.asarray(grey)])
    np.testing.assert_array_equal(of_array, of_pillow)


def test_it_is_calibrated_where_there_are_enough_pictures(backbone):
    labels = [label for label in TABLE.index for _ in range(4)]
    rows = [paint(label, shade) for label in TABLE.index for shade in (-9, -3, 3, 9)]
    model = zskl.ImageClassifier(backbone).fit(rows, labels, TABLE)
    assert "calibrated on held-out classes" in repr(model)
    assert model.score(rows, labels) == 1
    assert (model.classes_[model.predict_proba(rows).argmax(axis=1)] == labels).all()
    assert model.fit(rows, [0] * 4 + [1] * 16, {0: [1, 0, 0], 1: [0, 1, 1]}).predict(rows[:1]).tolist() == [0]


def test_sentences_describe_too(backbone):
    def encode(texts):
        return np.array([[text.count(word) for word in TABLE.columns] for text in texts], dtype=float)

    about = {
        "fire": "red",
        "grass": "green",
        "sea": "blue",
        "gold": ["red and green", "green, red"],
        "ice": "green blue",
    }
    rows = [paint(one) for one in ("fire", "grass", "sea")]
    model = zskl.ImageClassifier(backbone, encoder=encode).fit(rows, ["fire", "grass", "sea"], about)
    assert model.predict([paint("gold"), paint("ice")]).tolist() == ["gold", "ice"]
    (why,) = model.explain([paint("gold")])
    assert why.label == "gold"
    assert "fire" in str(why)  # vectors have no words: it speaks of training classes
    with pytest.warns(zskl.SignatureWarning, match="names alone"):
        named = zskl.ImageClassifier(backbone, encoder=encode).fit(rows[:2], ["red", "green"])
    assert named.predict([paint("fire", 3)]).tolist() == ["red"]


def test_it_learns_and_explains(fitted):
    taught = fitted.add_examples([paint("fire", 9)], ["sun"])
    assert "sun" in taught.candidates_
    assert "sun" not in fitted.candidates_
    (found,) = fitted.explain([paint("gold")], label="gold", against="ice")
    assert (found.label, found.against) == ("gold", "ice")
    nearest = taught.nearest_examples([paint("sea", 3)], n=1)
    assert nearest["class"].tolist() == ["sea"]
    adapted = fitted.adapt([paint("gold", 3), paint("ice", 3)], force=True)
    assert adapted.adaptation_["rows"] == 2


def test_batches_and_progress(backbone):
    network, seen = colours()
    heard = []
    model = zskl.ImageClassifier(network, batch_size=2, progress=lambda done, total: heard.append((done, total)))
    model.fit([paint(one) for one in TABLE.index], list(TABLE.index), TABLE)
    assert seen == [2, 2, 1]
    assert heard == [(2, 5), (4, 5), (5, 5)]


def test_its_file_names_the_network(fitted, tmp_path):
    rows = [paint("gold", 2), paint("sea", 2)]
    fitted.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    assert type(again) is zskl.ImageClassifier
    with pytest.raises(ValueError, match=r"one of your own, 'colours 1': hand it over by model.set_params\(backbone"):
        again.predict(rows)
    with pytest.raises(ValueError, match="the backbone is 'colours 2', and the model was fitted with 'colours 1'"):
        again.set_params(backbone=colours("colours 2")[0]).predict(rows)
    assert again.set_params(backbone=colours()[0]).predict(rows).tolist() == fitted.predict(rows).tolist()
    assert clone(again).get_params()["keep_examples"] == 1000


@pytest.mark.parametrize(
    ("rows", "error", "sentence"),
    [
        (["missing.jpg", "b.jpg"], FileNotFoundError, "picture 0, 'missing.jpg', is not there"),
        ([np.zeros((4, 4)), np.zeros((4, 4))], ValueError, r"an array of shape \(4, 4\) and type float64"),
        ([3, 4], ValueError, "picture 0 is 3: expected a list of pictures"),
        ("one.jpg", ValueError, "X is one picture: expected a list"),
        (paint("fire"), ValueError, "X is one picture: expected a list"),
        ([paint("fire").transpose(2, 0, 1)] * 2, ValueError, r"an array of shape \(3, 6, 9\)"),
        ([], ValueError, "there are no pictures to learn from: expected some, of two classes at least"),
    ],
)
def test_mistakes_are_named(rows, error, sentence, backbone):
    with pytest.raises(error, match=sentence):
        zskl.ImageClassifier(backbone).fit(rows, ["fire", "sea"][: len(rows)], TABLE)


def test_one_picture_of_pillow_is_not_a_list(fitted):
    with pytest.raises(ValueError, match="X is one picture: expected a list"):
        fitted.predict(Image.fromarray(paint("fire")))


def test_more_mistakes(backbone, tmp_path):
    rows, labels = [paint("fire"), paint("sea")], ["fire", "sea"]
    (tmp_path / "text.jpg").write_text("not a picture")
    with pytest.raises(ValueError, match=r"picture 1, .*text.jpg', cannot be used \(not an image.*leave it out"):
        zskl.ImageClassifier(backbone).fit([rows[0], tmp_path / "text.jpg"], labels, TABLE)
    with pytest.raises(ValueError, match=r"descriptions lack 'seea' \(did you mean 'sea'\?\)"):
        zskl.ImageClassifier(backbone).fit(rows, ["fire", "seea"], TABLE)
    with pytest.raises(ValueError, match="one class only, 'fire'"):
        zskl.ImageClassifier(backbone).fit(rows, ["fire", "fire"], TABLE)
    with pytest.raises(ValueError, match=r"backbone is 'resnet'.*expected efficientnet-lite0"):
        zskl.ImageClassifier("resnet").fit(rows, labels, TABLE)
    with pytest.raises(ValueError, match="backbone is 3"):
        zskl.ImageClassifier(3).fit(rows, labels, TABLE)
