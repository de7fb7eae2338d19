"""What a service keeps in an SQLite database: the classes that were added, what it was taught, and the last changes. A
change is one line, a JSON object, as versions 0.1 and 0.2 wrote them to a file of classes, which is taken over. It is
on the disk before it is acknowledged, with the lines that undo it."""

import base64
import json
import logging
import os
import shutil
import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from zskl import _files as files
from zskl.estimators._class_means_adapt import KeptAdaptation
from zskl.experiments import run_folder
from zskl.serve.limits import Refusal
from zskl.serve.schemas import Verdict

APPLICATION, FORMAT = 0x7A736B6C, 1  # "zskl", in the head of the file; and the version of these tables
SCHEMA = """
CREATE TABLE classes (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, attributes TEXT NOT NULL,
    sentence TEXT, version INTEGER NOT NULL, created INTEGER NOT NULL);
CREATE TABLE examples (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, class TEXT NOT NULL,
    right INTEGER NOT NULL, features TEXT NOT NULL, row INTEGER, data TEXT);
CREATE INDEX examples_of_class ON examples (class);
CREATE TABLE taught (class TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE adaptation (version INTEGER NOT NULL, line TEXT NOT NULL);
CREATE TABLE changes (version INTEGER PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, class TEXT,
    undo TEXT NOT NULL)
"""
KEPT_CHANGES = 1000  # that can be undone, if nobody has changed the same class since
LEAST_ROOM = 1 << 18  # bytes on the disk, or the service is not ready
BUSY_SECONDS = 10.0  # that a change waits for those of other processes
NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
LINE_START = b'{"key": "'
log = logging.getLogger("zskl.serve")

Line = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class MarkedExample:
    """A row marked as right or wrong for a class; `row` is its number in data with the fingerprint `data`."""

    id: str
    label: str
    right: bool
    features: NDArray[np.float32]  # (d,) so that no data are needed to learn from it again
    row: int | None = None
    data: str | None = None


@dataclass(frozen=True, eq=False)
class Adaptation:
    """What unlabelled rows added, `kept` for each part of the model that learned, and the `verdict` about it."""

    kept: tuple[KeptAdaptation, ...]
    verdict: Verdict
    version: int = 0


@dataclass(frozen=True, eq=False)
class TeachingState:
    """What a service was taught since its model was fitted; never changes, so that a request sees one state."""

    examples: tuple[MarkedExample, ...] = ()
    adaptation: Adaptation | None = None
    versions: Mapping[str, int] = field(default_factory=dict)  # in which the examples of a class were changed last

    def __bool__(self) -> bool:
        return bool(self.examples) or self.adaptation is not None

    def examples_of(self, name: str) -> list[MarkedExample]:
        return [one for one in self.examples if one.label == name]

    def mentions(self, name: str) -> bool:
        adapted = () if self.adaptation is None else self.adaptation.kept
        return bool(self.examples_of(name)) or any(name in one.classes for one in adapted)

    def of_classes(self, added: "Mapping[str, StoredClass]", own: Collection[str] | None = None) -> "TeachingState":
        """Without what an adaptation says of classes that were deleted since, or deleted and added again. `own` are the
        classes of the model."""
        found = self.adaptation
        if found is None:
            return self
        kept = found.kept
        for label in {label for one in kept for label in one.classes}:
            if added[label].created > found.version if label in added else own is not None and label not in own:
                kept = tuple(one.without(label) for one in kept)
        return replace(self, adaptation=replace(found, kept=kept))


@dataclass(frozen=True, eq=False)
class StoredClass:
    attributes: Mapping[str, float]
    sentence: str | None
    version: int  # of all changes, in which the class was described last
    created: int  # in which it was added


@dataclass(frozen=True, eq=False)
class StoredState:
    """All that is kept, after so many changes."""

    version: int = 0
    classes: Mapping[str, StoredClass] = field(default_factory=dict)
    taught: TeachingState = field(default_factory=TeachingState)


# Lines. Keys of lines about teaching begin with a blank, as no name of a class does.

EXAMPLE_KEY, FORGOTTEN_KEY, ADAPTED_KEY = " example", " forgotten", " adapted"


def class_line(name: str, attributes: Mapping[str, float] | None, sentence: str | None = None) -> dict[str, Any]:
    """The line of a class; with None for attributes, of one that is deleted."""
    # a sentence keeps its attributes, too: reading them needs no encoder
    described = {} if sentence is None else {"sentence": sentence}
    return {"key": name, "deleted": attributes is None, "attributes": dict(attributes or {}), **described}


def example_line(one: MarkedExample) -> dict[str, Any]:
    about = {"id": one.id, "class": one.label, "right": one.right, "row": one.row, "data": one.data}
    return {"key": EXAMPLE_KEY, **about, "features": _encode_stored_numbers(one.features)}


def forgotten_line(ids: Collection[str]) -> dict[str, Any]:
    return {"key": FORGOTTEN_KEY, "ids": list(ids)}


def adaptation_line(adaptation: Adaptation | None) -> dict[str, Any]:
    if adaptation is None:
        return {"key": ADAPTED_KEY, "kept": [], "told": None}
    kept = [
        {"classes": one.classes, "sums": _encode_stored_numbers(one.sums), "record": one.record}
        for one in adaptation.kept
    ]
    return {"key": ADAPTED_KEY, "kept": kept, "told": adaptation.verdict}


def _encode_stored_numbers(numbers: NDArray[np.float32]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, "<f4").tobytes()).decode("ascii")


def _decode_stored_numbers(text: str) -> NDArray[np.float32]:
    numbers = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    if not np.isfinite(numbers).all():
        raise ValueError("a number is not finite")
    return numbers


def _decode_adaptation(line: Line, version: int) -> Adaptation:
    kept = []
    for part in line["kept"]:
        sums = _decode_stored_numbers(part["sums"])
        width = len(sums) // max(len(part["classes"]), 1)
        kept.append(KeptAdaptation(part["classes"], sums.reshape(len(part["classes"]), width), part["record"]))
    return Adaptation(tuple(kept), line["told"], version)


# A file of classes of version 0.1 or 0.2

_TEXT, _COUNT, _MAYBE = (str,), (int, type(None)), (str, type(None))
_FIELDS: dict[str | None, dict[str, tuple[type, ...]]] = {
    EXAMPLE_KEY: {"id": _TEXT, "class": _TEXT, "right": (bool,), "row": _COUNT, "data": _MAYBE, "features": _TEXT},
    FORGOTTEN_KEY: {"ids": (list,)},
    ADAPTED_KEY: {"kept": (list,), "told": (dict, type(None))},
    None: {"deleted": (bool,), "attributes": (dict,)},  # of a class
}


def _check_line(line: Line) -> None:
    key = line["key"]
    fields = {"key": _TEXT, **_FIELDS[key if key in _FIELDS else None]}
    numbers = [*line.get("attributes", {}).values(), *line.get("versions", {}).values(), line.get("version", 0)]
    typed = all(type(line[name]) in kinds for name, kinds in fields.items()) and type(line.get("sentence", "")) is str
    if not typed or {type(one) for one in numbers} - {int, float}:
        raise ValueError("not a line of classes")
    if key == EXAMPLE_KEY:
        _decode_stored_numbers(line["features"])
    elif key == ADAPTED_KEY:
        _decode_adaptation(line, 0)


def read_class_file(path: Path) -> Sequence[Line]:
    """The lines of a file of classes. One that a crash left unfinished at the end is not read."""
    with path.open("rb") as file:
        if not files.lock_file(file.fileno()):
            raise OSError(f"another service keeps its classes in {path}: stop it, or name another file by --classes")
        content = file.read()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        lines = run_folder.parse_lines(content, path)
        for line in lines:
            _check_line(line)
        if last[: len(LINE_START)] == LINE_START[: len(last)]:
            return lines
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise ValueError(f"{path} is not a file of classes, or is damaged: restore it, or name another by --classes")


class StoreError(Refusal):
    """The database cannot be read or written. The sentence is for clients: only the log names the file."""

    def __init__(self, message: str, sentence: str, status: int = 503) -> None:
        super().__init__(status, sentence)
        log.error("%s", message)


MEND = (
    "put back what was there; or save what GET /v1/export answers, stop the service, remove what is there now, and "
    "start it with --classes and the saved file"
)


def database_path(given: Path) -> Path:
    """The database beside a file of classes of version 0.1 or 0.2, under its name with `.db`."""
    given = given.resolve()  # of a link, what it leads to
    ending = "" if given.suffix == ".jsonl" else given.suffix
    return given if ending == ".db" else given.with_suffix(f"{ending}.db")


def beside_model(model: Path) -> Path:
    return model.with_name(f"{model.name}.classes.jsonl")


def export_classes(given: Path, out: Path) -> int:
    """Write what is kept as JSON lines, also while a service runs → how many."""
    if not (given.exists() or database_path(given).exists()):
        raise FileNotFoundError(f"there are no classes to export: {database_path(given)} does not exist")
    with ClassStore(given) as kept:
        lines = kept.lines()
    run_folder.write_lines(out, lines)
    return len(lines)


class ClassStore:
    """A database, or one in memory if no path is `given`. A process opens it after it was forked, never before."""

    def __init__(self, given: Path | None = None) -> None:
        self.lock = threading.RLock()  # among threads; `change` keeps other processes out
        self.path = None if given is None else database_path(given)
        place, old = ":memory:", None
        if given is not None and self.path is not None:
            place, old = str(self.path), given if given.suffix != ".db" else self.path.with_suffix(".jsonl")
            self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = read_class_file(old) if old is not None and old.is_file() and not Path(place).exists() else []
        self._connection = self._connect(place)
        self._watch = self._connection if self.path is None else self._connect(place)
        try:
            self._prepare(lines)
        except sqlite3.Error as error:
            raise OSError(f"cannot keep classes in {place} ({error}): name another file by --classes") from None
        if lines:
            log.warning("took the classes in %s over into %s; that file stays as it is", old, place)
        endings = () if self.path is None else ("", "-wal", "-shm")
        self._files = {Path(place + ending): os.stat(place + ending) for ending in endings}

    def _connect(self, place: str) -> sqlite3.Connection:
        try:
            found = sqlite3.connect(place, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise OSError(f"cannot keep classes in {place} ({error}): name another file by --classes") from None
        weakref.finalize(self, found.close)
        return found

    def __enter__(self) -> "ClassStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._watch.close()
        self._connection.close()

    def _value(self, statement: str, *values: object) -> Any:
        found = self._connection.execute(statement, values).fetchone()
        return None if found is None else found[0]

    def _prepare(self, lines: Sequence[Line]) -> None:
        """Make the tables, and take over the lines of an old file, if nobody has done so."""
        ours = [self._value("PRAGMA application_id"), self._value("PRAGMA user_version")] == [APPLICATION, FORMAT]
        if not ours and self._value("SELECT count(*) FROM sqlite_master"):
            raise ValueError(f"{self.path} is not a database of classes of this version: name another by --classes")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")  # on the disk before it is acknowledged
        self._connection.execute("PRAGMA wal_autocheckpoint = 100")  # pages: else it takes megabytes of a small disk
        with self._transaction():
            if not self._value("SELECT count(*) FROM sqlite_master"):
                for statement in SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {FORMAT}")
                version = 0
                for line in lines:
                    version = line.get("version", version + 1)  # lines of version 0.1 have none: they are counted
                    self._apply(line, version)
                if lines:
                    self._record(version, None, [])

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    # Reading

    @property
    def data_version(self) -> int:
        """Another number after a change by anybody. It is cheap: each request asks for it."""
        if self.path is None:
            return self._connection.total_changes
        return cast(int, self._watch.execute("PRAGMA data_version").fetchone()[0])

    def read(self, known: StoredState) -> StoredState:
        """All that is kept. What is `known` already is not read again."""
        with self.lock, self._explain_errors():
            if self._connection.in_transaction:
                return self._read(known)
            with self._transaction("DEFERRED"):
                return self._read(known)

    def _read(self, known: StoredState) -> StoredState:
        version = self._version()
        if version == known.version:
            return known
        select = self._connection.execute
        classes: dict[str, StoredClass] = {}
        for name, number in select("SELECT name, version FROM classes ORDER BY place").fetchall():
            one = known.classes.get(name)
            if one is None or one.version != number:
                found = select("SELECT attributes, sentence, version, created FROM classes WHERE name = ?", (name,))
                attributes, *rest = found.fetchone()
                one = StoredClass(json.loads(attributes), *rest)
            classes[name] = one
        marked, examples = {one.id: one for one in known.taught.examples}, []
        for (key,) in select("SELECT id FROM examples ORDER BY place").fetchall():
            if key not in marked:
                (line,) = self._example_lines("id = ?", key)
                about = line["id"], line["class"], line["right"], _decode_stored_numbers(line["features"])
                marked[key] = MarkedExample(*about, line["row"], line["data"])
            examples.append(marked[key])
        number, adaptation = self._value("SELECT version FROM adaptation"), known.taught.adaptation
        if number is None or adaptation is None or adaptation.version != number:
            line = self._value("SELECT line FROM adaptation")
            adaptation = None if line is None else _decode_adaptation(json.loads(line), number)
        versions = dict(select("SELECT class, version FROM taught").fetchall())
        return StoredState(version, classes, TeachingState(tuple(examples), adaptation, versions))

    def _version(self) -> int:
        return self._value("SELECT max(version) FROM changes") or 0

    def lines(self) -> list[dict[str, Any]]:
        """All that is kept, as a file of classes."""
        state = self.read(StoredState(-1))
        taught = state.taught.of_classes(state.classes)
        described = [
            {**class_line(name, one.attributes, one.sentence), "version": one.version}
            for name, one in state.classes.items()
        ]
        lines = [example_line(one) for one in taught.examples]
        if taught.adaptation is not None:
            lines.append(adaptation_line(taught.adaptation))
        # takes nothing back, but says in which versions the examples of classes were changed last
        lines.append({**forgotten_line([]), "versions": dict(taught.versions)})
        return [*described, *({**line, "version": state.version} for line in lines)]

    # Changes

    @contextmanager
    def change(self) -> Iterator[None]:
        """Nobody else changes anything in this block. At its end all is on the disk, or after an error nothing."""
        with self.lock, self._explain_errors(), self._transaction():
            yield
            self.check()

    def write(self, line: Line, name: str | None) -> None:
        """Apply a line, which changes the class of this name, as the next version. Call this within `change`."""
        self._write([line], name)

    def _write(self, lines: list[Line], name: str | None) -> None:
        version = self._version() + 1
        undo: list[Line] = []
        for line in lines:
            undo = self._apply(line, version) + undo
        self._record(version, name, undo)

    def undo(self, version: int) -> str | int | None:
        """Undo a change → the name of its class; or the version in which that was changed again; None if it cannot be
        undone. Call this within `change`."""
        select = "SELECT class, undo FROM changes WHERE version = ?"
        name, lines = self._connection.execute(select, (version,)).fetchone() or (None, "[]")
        if name is None or lines == "[]":
            return None
        last: int = self._value("SELECT max(version) FROM changes WHERE class = ?", name)
        if last == version:
            self._write(json.loads(lines), name)
        return cast(str, name) if last == version else last

    def check_room(self) -> None:
        """Refuse if the disk is so full that a change may not fit."""
        if self.path is not None and shutil.disk_usage(self.path.parent).free < LEAST_ROOM:
            raise StoreError(f"the disk of {self.path} is full", "the disk is full: make room, then changes work again")

    def check(self) -> None:
        """Refuse changes if somebody has removed, replaced or cut short the files: they would be lost."""
        for path, before in self._files.items():
            try:
                found = os.stat(path)
            except OSError:
                raise StoreError(
                    f"somebody has removed {path}",
                    f"the database of classes was removed, so nothing was changed: {MEND}",
                ) from None
            if not os.path.samestat(found, before):
                raise StoreError(
                    f"somebody has put another file in the place of {path}",
                    f"the database of classes was replaced, so nothing was changed: {MEND}",
                )
            if path == self.path:
                if found.st_size < before.st_size:
                    raise StoreError(
                        f"somebody has cut {path} short",
                        f"the database of classes was cut short, so nothing was changed: {MEND}",
                    )
                self._files[path] = found

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"{self.path}: {error} ({getattr(error, 'sqlite_errorname', 'unknown')})"
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in NO_ROOM:
                why = "the change cannot be written to the disk, so nothing was changed: make room, then try again"
                raise StoreError(message, why, 507) from None
            why = "the database of classes cannot be used, so nothing was changed: its log says why; then try again"
            raise StoreError(message, why) from None

    def _record(self, version: int, name: str | None, undo: list[Line]) -> None:
        put = "INSERT INTO changes (version, class, undo) VALUES (?, ?, ?)"
        self._connection.execute(put, (version, name, json.dumps(undo, ensure_ascii=False)))
        self._connection.execute("DELETE FROM changes WHERE version <= ?", (version - KEPT_CHANGES,))

    def _example_lines(self, where: str, *values: object) -> list[Line]:
        names = ("id", "class", "right", "row", "data", "features", "place")
        found = self._connection.execute(f"SELECT {', '.join(names)} FROM examples WHERE {where}", values).fetchall()
        lines = [dict(zip(names, one, strict=True)) for one in found]
        return [{"key": EXAMPLE_KEY, **one, "right": bool(one["right"])} for one in lines]

    def _apply(self, line: Line, version: int) -> list[Line]:
        """Apply a line → the lines that undo it."""
        write, key = self._connection.execute, line["key"]
        if key == EXAMPLE_KEY:
            name, row, data = line["class"], line["row"], line["data"]
            # a row counts once for a class: a second mark replaces the first
            replaced = (
                [] if row is None else self._example_lines("class = ? AND row = ? AND data IS ?", name, row, data)
            )
            write("DELETE FROM examples WHERE class = ? AND row = ? AND data IS ?", (name, row, data))
            values = line.get("place"), line["id"], name, line["right"], line["features"], row, data
            write("INSERT INTO examples VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            self._note_teaching(name, version)
            return [forgotten_line([line["id"]]), *replaced]
        if key == FORGOTTEN_KEY:
            gone = [found for one in line["ids"] for found in self._example_lines("id = ?", one)]
            for one in gone:
                write("DELETE FROM examples WHERE id = ?", (one["id"],))
                self._note_teaching(one["class"], version)
            for name, number in line.get("versions", {}).items():
                self._note_teaching(name, number)
            return gone
        if key == ADAPTED_KEY:
            write("DELETE FROM adaptation")
            if line["told"] is not None:
                write("INSERT INTO adaptation VALUES (?, ?)", (version, run_folder.to_line(line)))
            return []  # as long as thousands of others
        names = ("attributes", "sentence", "created", "place")
        found = write(f"SELECT {', '.join(names)} FROM classes WHERE name = ?", (key,)).fetchone()
        old: Line | None = None
        if found is not None:
            about = dict(zip(names, found, strict=True))
            old = {"key": key, "deleted": False, **about, "attributes": json.loads(about["attributes"])}
        if line["deleted"]:
            examples = self._example_lines("class = ?", key)
            for table, column in (("classes", "name"), ("examples", "class"), ("taught", "class")):
                write(f"DELETE FROM {table} WHERE {column} = ?", (key,))
            return [] if old is None else [old, *examples]
        put = (
            "INSERT INTO classes VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "attributes = excluded.attributes, sentence = excluded.sentence, version = excluded.version"
        )
        described = json.dumps(line["attributes"], ensure_ascii=False), line.get("sentence"), version
        write(put, (line.get("place"), key, *described, line.get("created", version)))
        if old is None:  # what somebody saw of the examples of an older class of this name is gone
            self._note_teaching(key, version)
        return [old or class_line(key, None)]

    def _note_teaching(self, name: str, version: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO taught VALUES (?, ?)", (name, version))
