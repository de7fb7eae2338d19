"""The file in which a service keeps added classes and what it was taught: a line for each change, flushed to the disk
before the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from zskl.experiments import jsonl_log
from zskl.serve import lesson_lines
from zskl.serve.lessons import Lessons

BEGINNING = b'{"key": "'  # of a line in the file
WASTE = 4  # changes for each class or example: a file with more is written again


class ClassFile:
    """An open file. `classes` are those that it holds, name → attributes; `sentences` those that were described by a
    sentence, name → sentence; `lessons` what was taught."""

    def __init__(self, log: jsonl_log.Folder) -> None:
        self._log, self.path = log, log.path
        self.classes: dict[str, Mapping[str, float]] = {}
        self.sentences: dict[str, str] = {}
        self.lessons = Lessons()
        lines = jsonl_log.read(log.path)
        for line in lines:
            self._read(line)
        self._lines = len(lines)
        self.shorten()

    def keep(self, name: str, attributes: Mapping[str, float], sentence: str | None = None) -> None:
        """Add a line for a new or changed class. The attributes are kept beside a sentence: no encoder is needed to
        read them."""
        self.write(_line(name, attributes, sentence))

    def forget(self, name: str) -> None:
        """Add a line for a class that is deleted, with all that was taught about it."""
        self.write({"key": name, "deleted": True, "attributes": {}})

    def write(self, line: Mapping[str, Any]) -> None:
        """Add a line."""
        self._log.append(line)
        self._read(line)
        self._lines += 1
        self.shorten()

    def _read(self, line: Mapping[str, Any]) -> None:
        """Take up what a line says, after all lines before it."""
        if lesson_lines.is_lesson(line):
            self.lessons = lesson_lines.after(self.lessons, line)
            return
        self.sentences.pop(line["key"], None)
        if line["deleted"]:
            self.classes.pop(line["key"], None)
            self.lessons = self.lessons.without_class(line["key"])
            return
        self.classes[line["key"]] = line["attributes"]
        if "sentence" in line:
            self.sentences[line["key"]] = line["sentence"]

    def shorten(self) -> None:
        """Write the file again if most of its lines are outdated. Where that cannot be, it stays long: nothing in it is
        wrong."""
        if self._lines <= WASTE * (len(self.classes) + len(self.lessons.examples) + 1):
            return
        described = (_line(name, one, self.sentences.get(name)) for name, one in self.classes.items())
        current = [*described, *lesson_lines.all_of(self.lessons)]
        with suppress(OSError):  # no room; or Windows, which replaces no open file
            self._log.rewrite(current)
            self._lines = len(current)


def _line(name: str, attributes: Mapping[str, float], sentence: str | None) -> dict[str, Any]:
    said = {} if sentence is None else {"sentence": sentence}
    return {"key": name, "deleted": False, "attributes": dict(attributes), **said}


@contextmanager
def opened(path: Path) -> Iterator[ClassFile]:
    """The file of added classes, for one service at a time. If most of its lines are outdated, it is written again."""
    path = path.resolve()  # or a link would be replaced, not the file that it leads to
    with ExitStack() as stack:
        try:
            if path.is_file():
                _check(path)
            log = stack.enter_context(jsonl_log.opened(path.parent, path.name))
        except jsonl_log.Busy:
            raise OSError(
                f"another service keeps its classes in {path}: stop it, or name another file by --classes"
            ) from None
        except PermissionError as error:
            raise PermissionError(f"{error}; --classes names the file for added classes") from None
        yield ClassFile(log)


def _check(path: Path) -> None:
    """Refuse any other file before it is opened: opening cuts off a last line without an end."""
    content = path.read_bytes()
    last = content[content.rfind(b"\n") + 1 :]
    try:
        ours = last[: len(BEGINNING)] == BEGINNING[: len(last)] and all(map(_is_line, jsonl_log.read(path)))
    except ValueError:
        ours = False
    if not ours:
        raise ValueError(f"{path} is not a file of classes, or is damaged: restore it, or name another by --classes")


def _is_line(line: object) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("key"), str):
        return False
    if lesson_lines.is_lesson(line):
        return lesson_lines.is_whole(line)
    if not isinstance(line.get("deleted"), bool):
        return False
    attributes = line.get("attributes")
    if not isinstance(line.get("sentence", ""), str):
        return False
    return isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())
