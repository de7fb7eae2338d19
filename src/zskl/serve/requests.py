"""What a request carries: options, and bodies → rows of features. Sizes are checked before memory is used."""

import csv
import io
import itertools
import json
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from zskl._validation import suggest
from zskl.datasets import Dataset, images
from zskl.datasets.backbones import Backbone, import_or_explain, split_names
from zskl.datasets.images import UnreadablePicture, read_picture
from zskl.estimators.base import ZeroShotClassifier
from zskl.serve.limits import ConcurrencyLimits, Limits, Refusal, quote
from zskl.serve.schemas import PredictionOptions, WordsAnswer
from zskl.signatures.sentences import encode_texts
from zskl.signatures.table import SignatureTable
from zskl.texts import TextClassifier, check_texts, explain_texts

JSON = ("application/json",)
PHOTO_FORMATS = {"image/jpeg": ("JPEG",), "image/png": ("PNG",), "image/webp": ("WEBP",)}
PHOTO = tuple(PHOTO_FORMATS)
CSV = ("text/csv",)
NPY = ("application/x-npy", "application/octet-stream")
NPY_HEADER_BYTES = 1000  # at the beginning of a .npy file; numpy.save needs 128
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
MAX_FAULTS = 3  # a sentence names so many faults
MAX_QUOTES = 50_000  # quotation marks: names of fields, attributes and candidates
MAX_PHOTO_BYTES = 20 << 20
MAX_PHOTO_PIXELS = 40_000_000  # what a good camera makes
ROW_HINT = "; a row is a list of numbers in the order of the model's features, or of columns, a list of their names"
NEAREST_TEXTS = 3  # that an explanation names
DELIMITERS = ",;\t"  # of a CSV table
AFTER_KEY, NOT_BRACES = re.compile(rb"\s*:"), bytes(set(range(256)) - set(b"{}"))

Body: TypeAlias = bytes | bytearray
Features: TypeAlias = NDArray[np.float32]  # (n, d)
Schema = TypeVar("Schema", bound=BaseModel)


def check_media_type(request: Request, allowed: tuple[str, ...]) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in allowed:
        raise Refusal(415, f"the body is of type {quote(kind)}: send the header Content-Type: {' or '.join(allowed)}")
    return kind


def check_prediction(options: PredictionOptions) -> PredictionOptions:
    if options.against is not None and not options.explain:
        raise Refusal(422, f"against is {quote(options.against)} without an explanation: set explain, too")
    if (options.raw or options.by is not None) and not options.explain:
        raise Refusal(422, f"{'raw' if options.raw else 'by'} is set without an explanation: set explain, too")
    if options.candidates is not None and len(set(options.candidates)) < len(options.candidates):
        raise Refusal(422, "candidates names a class twice: name each once")
    return options


def parse_if_match(request: Request) -> int | None:
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = re.fullmatch(r'"(\d{1,15})"', given.strip(), re.ASCII)
    if found is None:
        raise Refusal(422, f'If-Match is {quote(given)}: expected the ETag of GET /classes/NAME, such as "3"')
    return int(found[1])


def check_request_parameters(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse unknown parameters of the address, which would be ignored otherwise."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = suggest(unknown, known)
        raise Refusal(422, f"there is no parameter {quote(unknown)}{near}: expected some of {', '.join(known)}")


def rows_from_npy(body: Body, model: ZeroShotClassifier, limits: Limits) -> Features:
    """Features from a .npy file: its header says what follows, and exactly that must follow."""
    head = io.BytesIO(body[:NPY_HEADER_BYTES])
    try:
        shape, by_column, dtype = NPY_HEADERS[npy.read_magic(head)](head)
    except Exception:  # NumPy fails in many ways on a header that was made to do harm
        raise Refusal(
            422, "the body is not a .npy file: expected what numpy.save writes for an array of numbers (rows, features)"
        ) from None
    if dtype.kind not in "fiub" or dtype.itemsize > 8:  # so no objects either, which would be unpickled
        raise Refusal(422, f"the array holds {quote(str(dtype))}: expected numbers such as float32")
    if len(shape) == 1:
        shape = (1, *shape)
    check_shape(shape, model, limits)
    expected, found = math.prod(shape) * dtype.itemsize, len(body) - head.tell()
    if expected != found:
        raise Refusal(422, f"the .npy file announces {expected} bytes, {found} follow: send the whole file")
    flat = np.frombuffer(body, dtype, offset=head.tell())
    return convert_requested_rows(flat.reshape(shape, order="F" if by_column else "C"))


def rows_from_lists(
    rows: list[list[float]], columns: list[str] | None, model: ZeroShotClassifier, limits: Limits
) -> Features:
    places = None if columns is None else find_requested_columns(columns, model)
    width = int(model.n_features_in_) if columns is None else len(columns)
    wrong = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if wrong is not None:
        expected = f"the model takes {width} features" if columns is None else f"columns names {width}"
        raise Refusal(422, f"row {wrong} has {len(rows[wrong])} numbers: {expected}")
    check_shape((len(rows), int(model.n_features_in_)), model, limits)
    X = np.array(rows, dtype=np.float64)
    return convert_requested_rows(X if places is None else X[:, places])


def find_requested_columns(columns: list[str], model: ZeroShotClassifier) -> list[int]:
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not names:
        raise Refusal(422, "the model has no names for its features: leave out columns, and keep their order")
    place = {name: k for k, name in enumerate(columns)}
    if len(place) < len(columns):
        raise Refusal(422, "columns names a column twice: name each once")
    missing = next((name for name in names if name not in place), None)
    if missing is not None:
        near = suggest(missing, columns)
        raise Refusal(422, f"columns lacks the feature {quote(missing)}{near}: see feature_names of GET /model")
    return [place[name] for name in names]


def check_shape(shape: tuple[int, ...], model: ZeroShotClassifier, limits: Limits) -> None:
    width = int(model.n_features_in_)
    if len(shape) != 2 or shape[1] != width:
        expected = f"the model takes rows of {width} numbers, (n, {width})"
        raise Refusal(422, f"the features have shape {quote(shape)}: {expected}")
    n = shape[0]
    if not 1 <= n <= limits.rows:
        status = 413 if n > limits.rows else 422
        raise Refusal(status, f"the request has {quote(n)} rows: expected 1 to {limits.rows}; send more rows in parts")
    if n * width > limits.values:
        raise Refusal(413, f"{n} rows of {width} features are more than {limits.values} numbers: send rows in parts")


def convert_requested_rows(X: NDArray[Any]) -> Features:
    """The same in single precision. Values that are not finite, or too large for it, are refused."""
    with np.errstate(all="ignore"):
        single = np.ascontiguousarray(X, dtype=np.float32)
        if np.isfinite(np.sum(single, dtype=np.float64)):
            return single
    wrong = np.argwhere(~np.isfinite(single))
    if not len(wrong):
        return single
    row, column = wrong[0].tolist()
    raise Refusal(
        422,
        f"feature {column} of row {row} is {X[row, column]:g}: expected a finite number of at most 3.4e38 in size "
        f"({len(wrong)} such value{'s' if len(wrong) > 1 else ''} in all)",
    )


async def read_small_body(schema: type[Schema], request: Request, limits: Limits) -> Schema:
    check_media_type(request, JSON)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > limits.small:
            raise Refusal(413, f"the body is larger than {limits.small} bytes, far more than a description needs")
    return parse_body(schema, body, limits)


def parse_body(schema: type[Schema], body: bytes | bytearray, limits: Limits) -> Schema:
    """A JSON body as one of the types of `schemas`; what is wrong with it, in a sentence."""
    # a value takes a hundred bytes once it is read, a wrong one a thousand; a short body need not be counted
    size, most = len(body), limits.json_values
    if size > most and body.count(b",") > most:
        raise Refusal(413, f"the JSON body has more than {most} values: send rows in parts, or as a .npy file")
    if size > MAX_QUOTES and body.count(b'"') > MAX_QUOTES:
        raise Refusal(413, f"the JSON body has more than {MAX_QUOTES} quotation marks, far more than a request needs")
    try:
        found = schema.model_validate_json(body)
    except ValidationError as error:
        raise Refusal(422, explain_request_errors(error.errors(include_url=False, include_context=False))) from None
    except (ValueError, RecursionError):
        raise Refusal(422, "the body cannot be read as JSON") from None
    check_unique_keys(body)
    return found


def check_unique_keys(body: Body) -> None:
    """Refuse valid JSON with a key twice in an object: pydantic would take the last value, a proxy maybe the first."""
    # numbers are never looked at: splitting at quotation marks takes a small part of the time of parsing
    pieces, objects = iter(cast(bytes, body).split(b'"')), list[set[str]]()
    structure = next(pieces)
    key: bytes | None = None
    while True:
        if key is not None and AFTER_KEY.match(structure):
            name = json.loads(b'"%s"' % key) if b"\\" in key else key.decode()
            if name in objects[-1]:
                raise Refusal(400, f"the body has the key {quote(name)} twice in one object: send it once")
            objects[-1].add(name)
        braces = structure.translate(None, NOT_BRACES) if b"{" in structure or b"}" in structure else b""
        for brace in braces:
            if brace == ord("{"):
                objects.append(set())
            else:
                objects.pop()
        if (key := next(pieces, None)) is None:
            return
        while (len(key) - len(key.rstrip(b"\\"))) % 2:  # the quotation mark was part of the text
            key += b'"' + next(pieces)
        structure = next(pieces)


def explain_request_errors(errors: Sequence[Mapping[str, Any]]) -> str:
    # what is neither a number nor true or false is found twice: once is enough
    numbers = {(*error["loc"][:-1], "bool") for error in errors if error["loc"][-1:] == ("float",)}
    errors = [error for error in errors if error["loc"] not in numbers]
    more = f" (and {len(errors) - MAX_FAULTS} more)" if len(errors) > MAX_FAULTS else ""
    return "; ".join(map(_explain_request_fault, errors[:MAX_FAULTS])) + more


def _explain_request_fault(error: Mapping[str, Any]) -> str:
    kind, steps = error.get("type"), [step for step in error["loc"] if step not in ("body", "query", "path")]
    if steps[-1:] == ["float"]:
        steps = steps[:-1]
    where = ".".join(str(step)[:60] for step in steps) or "the body"
    if kind == "missing":
        return f"{where} is missing"
    if kind == "extra_forbidden":
        return f"{where} is not a field of this request"
    value = "" if kind == "json_invalid" else f", found {quote(error['input'])}"
    message = error["msg"].encode("utf-8", "backslashreplace").decode()
    hint = ROW_HINT if steps[:1] == ["rows"] and kind == "list_type" else ""
    return f"{where}: {message}{value}{hint}"


def rows_from_csv(body: Body, model: ZeroShotClassifier, limits: Limits) -> Features:
    """Features from a CSV table, whose columns are found by name if its first line names them."""
    if max(map(body.count, DELIMITERS.encode())) + body.count(b"\n") > limits.json_values:
        raise Refusal(413, f"the table has more than {limits.json_values} values: send rows in parts, or a .npy file")
    try:
        text = bytes(body).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refusal(422, "the body is not text in UTF-8: save the table as CSV in UTF-8, then send it") from None
    sign = max(DELIMITERS, key=text.partition("\n")[0].count)
    lines = enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=sign), start=1)
    filled = ((number, line) for number, line in lines if any(map(str.strip, line)))
    try:
        first = next(filled, None)
        if first is None:
            raise Refusal(422, "the table is empty: expected a line for every row")
        names = [name.strip() for name in first[1]]
        headed = any(_parse_number(value) is None for value in names)
        rows = list(filled if headed else itertools.chain([first], filled))
    except csv.Error as error:
        raise Refusal(422, f"the body cannot be read as CSV ({error})") from None
    wrong = next(((number, line) for number, line in rows if len(line) != len(names)), None)
    if wrong is not None:
        expected = f"the first line {'names' if headed else 'has'} {len(names)}"
        raise Refusal(422, f"line {wrong[0]} has {len(wrong[1])} values: {expected}")
    if headed and not rows:
        raise Refusal(422, "the table has names of columns and no rows: expected a line for every row")
    named = headed and getattr(model, "feature_names_in_", None) is not None
    places = find_requested_columns(names, model) if named else list(range(len(names)))
    check_shape((len(rows), len(places)), model, limits)
    X = np.empty((len(rows), len(places)))
    for k, (number, line) in enumerate(rows):
        for column, place in enumerate(places):
            value = _parse_number(line[place])
            if value is None:
                what = quote(names[place]) if headed else str(place + 1)
                raise Refusal(422, f"line {number}, column {what} is {quote(line[place])}: expected a number")
            X[k, column] = value
    return convert_requested_rows(X)


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


@dataclass(frozen=True)
class PhotoEncoder:
    """Turns photos of at most so many `bytes` into features, by the network `name`, as those of the training rows."""

    name: str
    _backbone: Backbone
    bytes: int = MAX_PHOTO_BYTES

    def encode(self, body: Body, kind: str) -> Features:
        """(1, d) of a photo of a media type. Nothing of it is kept."""
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module=r"PIL\b")  # about damaged metadata, for example
                image = read_picture(io.BytesIO(body), PHOTO_FORMATS[kind], MAX_PHOTO_PIXELS)
                found = self._backbone.features(self._backbone.prepare(image)[None])
        except UnreadablePicture as error:
            mend = "make it smaller" if "decompression bomb" in str(error) else f"send a whole {kind} file"
            raise Refusal(422, f"the photo cannot be read: {str(error).rstrip('.')}; {mend}") from None
        if not np.isfinite(found).all():
            raise Refusal(422, "the network gave no number for this photo: send another one")
        return np.ascontiguousarray(found, np.float32)


@dataclass(frozen=True)
class TextReader:
    """Turns texts into features, as those of the training rows, and explains answers by words."""

    name: str
    _classifier: TextClassifier

    def encode(self, texts: list[str]) -> Features:
        """(n, d) of texts. Nothing of them is kept."""
        try:
            found = encode_texts(self._classifier._encoder(), check_texts(texts))
        except ValueError as error:
            raise Refusal(422, str(error)) from None
        return np.ascontiguousarray(found, np.float32)

    def explain(
        self, texts: Sequence[str], X: Features, model: Any, table: SignatureTable, pairs: list[list[str]], top: int
    ) -> Iterator[WordsAnswer]:
        """Why each text, with the features X, is of the first class of a pair and not of the second."""
        encoder, near = self._classifier._encoder(), self._classifier._find_nearest(X, NEAREST_TEXTS)
        for k, (text, pair) in enumerate(zip(texts, pairs, strict=True)):
            asked = {"candidates": pair, "label": pair[0], "against": pair[1]}
            rows = slice(k, k + 1)
            (one,) = explain_texts(model, encoder, [text], X[rows], near[rows], top=top, signatures=table, **asked)
            yield cast(WordsAnswer, one.record() | {"text": str(one)})


def load_text_reader(model: ZeroShotClassifier, say: Callable[[str], object]) -> TextReader | None:
    """What reads texts, if the rows of the model are texts and its encoder is here."""
    record = getattr(model, "encoder_", None) or {}
    if record.get("kind") != TextClassifier.kind:
        return None
    classifier = TextClassifier._from_model(model)
    try:
        classifier._encoder()
    except (ValueError, OSError) as error:
        say(f"texts cannot be read: {error}")
        return None
    say(f"texts are read by {record['encoder']}, which the model file names")
    return TextReader(str(record["encoder"]), classifier)


def choose_photo_backbone(
    wanted: str | None, data: Dataset | None, model: ZeroShotClassifier
) -> tuple[str, str] | None:
    """The network that made the features of the training rows, and who names it."""
    if wanted is not None:
        return wanted, "--backbone"
    recorded = getattr(model, "backbone_", None) or (getattr(model, "encoder_", None) or {}).get("backbone")
    if recorded is not None:
        return recorded, "the model file"
    if data is not None and data.backbone is not None:
        return data.backbone, f"the manifest of {data.name}"
    name = None if data is None else images.backbone_of_features(data.features)
    return None if data is None or name is None else (name, f"the name of the features ({data.features})")


def load_photo_encoder(
    wanted: str | None, data: Dataset | None, model: ZeroShotClassifier, say: Callable[[str], object]
) -> PhotoEncoder | None:
    found = choose_photo_backbone(wanted, data, model)
    if found is None:
        return None
    name, source = found
    try:
        foreign = (one for one in split_names(name) if one.startswith("timm:"))
        if wanted is None and any(set("/:") & set(one.removeprefix("timm:")) for one in foreign):
            raise ValueError(f"{name!r} names a place to fetch weights from; if you trust it, give it by --backbone")
        import_or_explain("PIL", name, images.extra_of(name))
        photos = PhotoEncoder(name, images.load_backbone(name, model.device if hasattr(model, "device") else None))
        from PIL.Image import new

        new("RGB", (64, 64), (127, 127, 127)).save(blank := io.BytesIO(), "PNG")
        width = photos.encode(blank.getvalue(), "image/png").shape[1]
        if width != model.n_features_in_:
            raise ValueError(
                f"the backbone {name!r} makes {width} features: the model takes {model.n_features_in_}; "
                "name the backbone that made the training rows by --backbone"
            )
    except (ValueError, OSError) as error:
        if wanted is not None:
            raise
        say(f"photos cannot be classified: {error} ({source} names {name})")
        return None
    say(f"photos are read by {name}, which {source} names")
    return photos


async def read_photo_features(
    request: Request, kind: str, network: PhotoEncoder, small: int, concurrency: ConcurrencyLimits
) -> Features:
    """(1, d) of the photo in a body of a media type. Few bodies of more than `small` bytes are in memory at a time."""
    body, large = bytearray(), False
    async with AsyncExitStack() as queue:
        async for part in request.stream():
            body += part
            if len(body) > network.bytes:
                raise Refusal(413, f"the photo is larger than {network.bytes} bytes: make it smaller, then send it")
            if not large and len(body) > small:
                large = True
                await queue.enter_async_context(concurrency.photos)
        async with concurrency.work:
            return await run_in_threadpool(network.encode, body, kind)
