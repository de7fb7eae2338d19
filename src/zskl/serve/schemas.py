"""What goes in and out over HTTP, as types, by resource: the OpenAPI description is made from these. Bodies are
pydantic models, which check what a client sends; answers are `TypedDict`s, which mypy checks and which cost nothing at
run time."""

from typing import Annotated, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from typing_extensions import TypedDict

Kind = Literal["seen", "unseen", "added"]
FAST = Field(fail_fast=True)  # report the first wrong item, not a million of them
Number = Annotated[float, Field(allow_inf_nan=False)]
Top = Annotated[int, Field(ge=1, le=1000, description="How many, best first. You get fewer if there are fewer.")]


class RequestBody(BaseModel):
    """A JSON body: only the fields that are described, and numbers must be numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Refused(TypedDict):
    """Why there is no answer, in a sentence."""

    error: str


class Health(TypedDict):
    status: Literal["ok"]
    version: str
    classes: int
    uptime: float


class Readiness(TypedDict):
    status: Literal["ready"]


class Reloaded(TypedDict):
    status: Literal["reloaded"]
    seconds: float


class Attribute(TypedDict):
    """`label` and `group` are the name as a person reads it; the range and the mean tell what values are usual.
    `exclusive`: every class has at most one attribute of this group."""

    name: str
    label: str
    group: str | None
    low: float
    high: float
    mean: float
    binary: bool
    exclusive: bool


class Example(TypedDict):
    """A description to begin with, and what it shows; or a `sentence` to be understood in place of attributes."""

    title: str
    sentence: str | None
    attributes: dict[str, float]
    words: str


class SentenceVectors(TypedDict):
    """The signatures are vectors of sentences by this `encoder`. `missing`: why it cannot read another sentence, or
    null. `example`: a sentence that describes one of the classes."""

    encoder: str
    missing: str | None
    example: str


class LoadedData(TypedDict):
    """A row is called an `item`."""

    name: str
    item: Literal["row", "picture", "photo"]
    rows: int
    pictures: bool
    pictured: int
    picture_key: str
    parts: dict[str, int]


class RequestLimits(TypedDict):
    body_bytes: int
    rows: int
    explained_rows: int
    values: int
    json_values: int
    answers: int
    name_length: int
    classes: int
    examples: int
    photo_bytes: int


class Model(TypedDict):
    file: str
    estimator: str
    parameters: dict[str, JsonValue]
    features: int
    feature_names: list[str] | None
    attributes: list[Attribute]
    seen: int
    unseen: int
    added: int
    calibration: float
    probabilities: bool
    decides: bool  # whether it has thresholds for `coverage`, `reject` and `risk`
    explains: bool
    teaches: bool
    data: LoadedData | None
    examples: list[Example]
    sentences: SentenceVectors | None
    photos: str | None
    texts: str | None
    limits: RequestLimits


Attributes = Annotated[
    dict[str, Number | bool],
    Field(description="Attribute name → value. An attribute that you leave out gets the mean of the seen classes."),
]
Sentence = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2000,
        description="In place of attributes, where the signatures of the model are sentence vectors: see GET /model.",
    ),
]


class Description(RequestBody):
    """The attributes of a class, or a sentence about it."""

    attributes: Attributes | None = None
    sentence: Sentence | None = None


class NewClass(Description):
    """A class to add."""

    name: Annotated[str, Field(min_length=1, description="Printable text without blanks at its ends.")]


class ListedClass(TypedDict):
    """`picture` is a row of the class that has a picture, if there is one."""

    name: str
    kind: Kind
    rows: int | None
    picture: int | None


class ClassList(TypedDict):
    version: int
    classes: list[ListedClass]


NearClass = TypedDict("NearClass", {"class": str, "kind": Kind, "similarity": float})


class ClassDetails(TypedDict):
    name: str
    kind: Kind
    attributes: dict[str, float]
    sentence: str | None
    defaulted: list[str]
    nearest: list[NearClass]
    version: int


class SavedClass(TypedDict):
    name: str
    kind: Literal["added"]
    defaulted: list[str]
    version: int


class Undo(RequestBody):
    """A change to undo, by the version that it made: `version` of an answer, or the `ETag` of a deletion."""

    version: Annotated[int, Field(ge=1, le=2**53)]


class UndoneChange(TypedDict):
    name: str
    version: int


class Words(RequestBody):
    """A description in words."""

    text: Annotated[str, Field(min_length=1, max_length=2000, description='"small black bird with a yellow head"')]


class NamedAttribute(TypedDict):
    """An attribute that the words name, the value to give it, and the words. `guessed`: by meaning, not by name."""

    attribute: str
    value: float
    words: str
    guessed: bool


class UnderstoodWords(TypedDict):
    attributes: list[NamedAttribute]
    unknown: list[str]


Text = Annotated[str, Field(min_length=1, max_length=100_000)]


class NewExample(RequestBody):
    """A row of the loaded data, features, or a text, that is of a class or is not."""

    row: int | None = Field(default=None, ge=0, le=2**53, description="A row of the loaded data, counted from 0.")
    features: Annotated[list[float], FAST] | None = Field(
        default=None, min_length=1, description="Numbers, in the model's order."
    )
    text: Text | None = Field(default=None, description="A text, of a model of texts.")
    right: bool = Field(default=True, description="False: it is not of this class.")


class ListedExample(TypedDict):
    """`row` is null for features, photos, and rows of data that are not loaded. `features` if they are asked for."""

    id: str
    right: bool
    row: int | None
    picture: bool
    features: NotRequired[list[float]]


class SavedExample(ListedExample):
    name: str
    version: int


class ExampleList(TypedDict):
    """The oldest example comes first; `right` and `wrong` count them."""

    name: str
    right: int
    wrong: int
    examples: list[ListedExample]
    version: int


Among = Literal["all", "unseen"]


class Unlabelled(RequestBody):
    """Which rows to adapt to."""

    candidates: Among = Field(
        default="all",
        description='Which classes the rows may be of. "all" takes all loaded rows that are not training rows, '
        '"unseen" only those of the part test_unseen.',
    )
    force: bool = Field(default=False, description="Adapt even if nothing says that it helps.")


class Verdict(TypedDict):
    """Whether the model is adapted to unlabelled rows, and what validation classes say about that: `gain` in accuracy,
    with its `spread` over batches and the `least` of any. `clear` is null if nobody has tried it. `changed` rows get
    another answer now."""

    adapted: bool
    rows: int
    classes: int | None
    changed: int | None
    converged: bool | None
    clear: bool | None
    gain: float | None
    spread: float | None
    least: float | None
    verdict: str


Guess = TypedDict("Guess", {"class": str, "kind": Kind, "probability": float | None})


class RowToLabel(TypedDict):
    row: int
    picture: bool
    guesses: list[Guess]


class RowsToLabel(TypedDict):
    """The row to label first comes first, each with the best two classes. `accuracy` is the share of right answers for
    rows that are kept back: test rows of the data that are never offered here. Null if there are none."""

    version: int
    accuracy: float | None
    kept_back: int
    rows: list[RowToLabel]


class Wanted(Description):
    """A description to rank rows by."""

    top: Top = 24
    part: str | None = Field(default=None, description="Rank only the rows of this part, such as test_unseen.")
    label: str | None = Field(default=None, alias="class", description="What was taught about this class counts, too.")
    pictures: bool = Field(default=False, description="Rank only rows that have a picture.")


Row = TypedDict(
    "Row", {"row": int, "class": str, "kind": Kind | None, "part": str | None, "id": str | None, "picture": bool}
)


class RankedRow(Row):
    score: float


class RankedRows(TypedDict):
    defaulted: list[str]
    rows: list[RankedRow]


class RowList(TypedDict):
    """`start` is the place of the first of these rows among all `total`."""

    total: int
    start: int
    rows: list[Row]


class Sought(Description):
    """A description to find classes by."""

    top: Top = 12
    rows: int = Field(default=3, ge=0, le=12, description="How many rows of each class to show, best first.")
    replaces: str | None = Field(
        default=None, description="An added class that the description would replace: it does not count."
    )


class Agreement(TypedDict):
    """An attribute that counts, its `value` in the class, and how far that agrees with the description."""

    attribute: str
    value: float
    agreement: float


FittingClass = TypedDict(
    "FittingClass", {"class": str, "kind": Kind, "fit": float, "why": list[Agreement], "rows": list[Row]}
)


class FittingClasses(TypedDict):
    """`fit` is from 0 to 1: the mean agreement with the given attributes; of a sentence, the similarity. `wins`: how
    many rows of the loaded data would be taken for this class if you added it. `nearest`: the class most like it."""

    defaulted: list[str]
    wins: int | None
    nearest: NearClass | None
    classes: list[FittingClass]


# To add an option of POST /predict, add a field here: it is then a parameter of the address and a field of JSON bodies.

MAX_CONSTANT = 1e6  # the largest calibration constant, in either direction: a larger one would swallow the scores
Constant = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_CONSTANT, le=MAX_CONSTANT)]
Probability = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1)]
Share = Annotated[float, Field(allow_inf_nan=False, gt=0, lt=1)]


class PredictionOptions(BaseModel):
    """Options of a prediction."""

    top: Top = 5
    candidates: Annotated[list[str], FAST] | None = Field(
        default=None, min_length=1, description="Choose from these classes only."
    )
    calibrated: bool = Field(default=True, description="Subtract the model's constant from the scores of seen classes.")
    calibration: Constant | None = Field(default=None, description="Use this constant instead of the model's.")
    explain: bool = Field(default=False, description="Say which attributes decided.")
    against: str | None = Field(default=None, description="Explain against this class, not the runner-up.")
    by: Literal["attributes", "classes", "scaled"] | None = Field(
        default=None,
        description="Explain by attributes as written, by trained classes, or by attributes as the model scales them. "
        "Default: attributes, or classes where attributes have no names.",
    )
    raw: bool = Field(default=False, description="As 0.2 said it: the same as by=attributes.")
    attributes: int = Field(default=5, ge=1, le=1000, description="How many attributes an explanation names.")
    coverage: Share | None = Field(
        default=None, description="List the set of classes that holds the true one so often, such as 0.9."
    )
    reject: Probability | None = Field(
        default=None, description="Say none of these, also for this share of rows of the classes, such as 0.05."
    )
    risk: Share | None = Field(
        default=None, description="Name the deepest class or parent that is wrong so seldom, such as 0.1."
    )
    min_probability: Probability | None = Field(
        default=None, description="Say none of these where the best probability is below this number."
    )
    nearest: int = Field(
        default=0, ge=0, le=24, description="How many of the nearest loaded rows to list for each class."
    )
    features: bool = Field(default=False, description="Also return the features of each row, such as those of a photo.")


class PredictionRequest(PredictionOptions):
    """Rows of features, texts, or numbers of rows of the loaded data. Options here win over those of the address."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: Annotated[list[Annotated[list[float], FAST]], FAST] | None = Field(
        default=None, min_length=1, description="Rows of features."
    )
    columns: Annotated[list[str], FAST] | None = Field(
        default=None,
        min_length=1,
        description="The names of the numbers in a row, in their order: names of the model's features.",
    )
    texts: Annotated[list[Text], FAST] | None = Field(
        default=None, min_length=1, max_length=1000, description="Texts, of a model of texts."
    )
    data_rows: Annotated[list[Annotated[int, Field(ge=0, le=2**53)]], FAST] | None = Field(
        None, min_length=1, description="Rows of the loaded data, counted from 0."
    )


RankedClass = TypedDict("RankedClass", {"class": str, "kind": Kind, "score": float, "probability": float | None})


class ExplainedAttribute(TypedDict):
    """An attribute, or a seen class, which the row is `like` or unlike."""

    attribute: str
    contribution: float
    value: float | None  # None: the class has no description
    value_against: float | None
    like: bool | None


class ExplainedExample(TypedDict):
    """An example of a class, counted from 1, and what it adds."""

    example: int
    adds: float


ExplainedRows = TypedDict(
    "ExplainedRows",
    {
        "class": str,
        "source": Literal["training rows", "examples", "unlabelled rows"],
        "rows": float | None,  # None: nobody knows how many
        "adds": float,
        "examples": list[ExplainedExample],
    },
)
ExplanationAnswer = TypedDict(
    "ExplanationAnswer",
    {
        "class": str,
        "against": str,
        "difference": float,
        "calibration": float,
        "by": Literal["attributes", "classes"],
        "attributes": list[ExplainedAttribute],
        "rest": float,
        "others": int,
        "terms": dict[str, float],
        "form": Literal["attributes", "classes", "scaled"],
        "note": str,  # why the form is not the usual one
        "evidence": list[ExplainedRows],  # what makes up those terms that are about rows
        "blocks": dict[str, float],  # the difference by features of several networks; empty for one
        "text": str,
    },
)


WordsAnswer = TypedDict(
    "WordsAnswer",
    {
        "class": str,
        "against": str,
        "difference": float,
        "words": list[tuple[str, float]],  # by how much the difference falls without each
        "examples": list[tuple[str, str | int, float]],  # the nearest training texts: text, class, cosine
        "text": str,
    },
)


class NearRow(Row):
    """A row of the loaded data, and its distance between features as the model scales them."""

    distance: float


NearestRows = TypedDict("NearestRows", {"class": str, "rows": list[NearRow]})
Prediction = TypedDict(
    "Prediction",
    {
        "class": str,
        "top": list[RankedClass],
        "average": float,  # score of a candidate
        "none_of_these": bool | None,  # None: neither `reject` nor `min_probability` was asked for
        "set": list[str] | None,  # best first; None: `coverage` was not asked for
        "node": str | None,  # a class, a parent, or "unknown"; None: `risk` was not asked for
        "explanation": ExplanationAnswer | None,
        "words": WordsAnswer | None,  # the explanation of a text
        "nearest": list[NearestRows] | None,
    },
)


class Predictions(TypedDict):
    version: int
    calibration: float
    predictions: list[Prediction]
    features: list[list[float]] | None


class CurvePoint(TypedDict):
    calibration: float
    seen: float
    unseen: float


class BestPoint(TypedDict):
    calibration: float
    harmonic: float


class Balance(TypedDict):
    points: list[CurvePoint]
    current: float
    best: BestPoint


class Difference(TypedDict):
    """An attribute, and its value for each of two classes."""

    attribute: str
    values: list[float]


Mistake = TypedDict("Mistake", {"class": str, "share": float, "differ": list[Difference]})
ClassAccuracy = TypedDict(
    "ClassAccuracy", {"class": str, "kind": Kind, "rows": int, "accuracy": float, "wrong": list[Mistake]}
)


class MistakenPair(TypedDict):
    """Two classes; how many test rows each has, and how many of these are taken for the other; `share` is that of the
    rows of both. `differ` names the attributes in which the two differ most."""

    classes: list[str]
    rows: list[int]
    mistaken: list[int]
    share: float
    differ: list[Difference]


class Confusion(TypedDict):
    """`pairs` are the classes that are most often taken for each other."""

    classes: list[ClassAccuracy]
    pairs: list[MistakenPair]


PlacedClass = TypedDict("PlacedClass", {"class": str, "kind": Kind, "x": float, "y": float, "nearest": list[NearClass]})


class MapOfClasses(TypedDict):
    """`kept` says what share of all squared differences between descriptions x and y show."""

    version: int
    kept: list[float]
    classes: list[PlacedClass]
