"""What the lines of a file of classes say, one after another: the classes, what was taught, and the version of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zskl.serve import lesson_lines
from zskl.serve.lessons import Lessons

WASTE = 4  # changes for each class or example, or adaptations: a file with more is written again


class KeptClasses:
    """What all lines together say. `classes` name → attributes; `sentences` those that were described by a sentence,
    name → sentence; `lessons` what was taught. `version` counts the changes, and `versions` says in which of them a
    class was described last."""

    def __init__(self) -> None:
        self.classes: dict[str, Mapping[str, float]] = {}
        self.sentences: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.lessons, self.version = Lessons(), 0
        self._lines = self._adapted = 0

    def read(self, line: Mapping[str, Any]) -> None:
        """Take up what a line says, after all lines before it. Lines of old files have no version: they are counted."""
        version = line.get("version", self.version + 1)
        self.version = max(self.version, version)
        self._lines += 1
        self._adapted += lesson_lines.is_adaptation(line)  # a line as long as thousands of others
        if lesson_lines.is_lesson(line):
            self.lessons = lesson_lines.after(self.lessons, line, version)
            return
        name = line["key"]
        self.sentences.pop(name, None)
        if line["deleted"]:
            self.classes.pop(name, None)
            self.versions.pop(name, None)
            self.lessons = self.lessons.without_class(name)
            return
        if name not in self.classes:
            self.lessons = self.lessons.since(name, version)
        self.classes[name], self.versions[name] = line["attributes"], version
        if "sentence" in line:
            self.sentences[name] = line["sentence"]

    @property
    def outdated(self) -> bool:
        """Whether most lines say what no longer holds."""
        needed = len(self.classes) + len(self.lessons.examples) + 1
        return self._lines > WASTE * needed or self._adapted > WASTE

    def lines(self) -> list[dict[str, Any]]:
        """The lines that say the same without what no longer holds."""
        described = [
            {**line_of(name, given, self.sentences.get(name)), "version": self.versions[name]}
            for name, given in self.classes.items()
        ]
        taught = [*lesson_lines.all_of(self.lessons), lesson_lines.of_versions(self.lessons)]
        return [*described, *({**line, "version": self.version} for line in taught)]


def line_of(name: str, attributes: Mapping[str, float], sentence: str | None = None) -> dict[str, Any]:
    """The line of a new or changed class. The attributes are kept beside a sentence: no encoder is needed to read
    them."""
    said = {} if sentence is None else {"sentence": sentence}
    return {"key": name, "deleted": False, "attributes": dict(attributes), **said}


def line_of_deleted(name: str) -> dict[str, Any]:
    """The line of a class that is deleted, with all that was taught about it."""
    return {"key": name, "deleted": True, "attributes": {}}


def is_line(line: object) -> bool:
    """Whether something read from JSON is a line of such a file."""
    if not isinstance(line, dict) or not isinstance(line.get("key"), str):
        return False
    if type(line.get("version", 0)) is not int:
        return False
    if lesson_lines.is_lesson(line):
        return lesson_lines.is_whole(line)
    if not isinstance(line.get("deleted"), bool):
        return False
    attributes = line.get("attributes")
    if not isinstance(line.get("sentence", ""), str):
        return False
    return isinstance(attributes, dict) and all(type(value) in (int, float) for value in attributes.values())
