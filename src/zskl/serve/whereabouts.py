"""Whether the file of classes is still where the service keeps it.

While the service runs, somebody may remove the file, replace it or cut it short. A line that is added then would be
lost. So a change is refused until the file is right again; a removed file is written again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

REST = 20  # looks that are left out after one that failed: to write a large file in vain takes long
log = logging.getLogger("zskl.serve")


class Astray(OSError):
    """The file is not as the service left it. The `sentence` is for the one who asked for a change; the log names the
    file, too."""

    def __init__(self, why: str, sentence: str) -> None:
        super().__init__(why)
        self.sentence = f"{sentence}; then try again"


def size_of(path: Path, handle: int, least: int) -> int | None:
    """The size of the file that is open as `handle`, None if it was removed. Another file at this path, or one with
    less than `least` bytes, is refused."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not os.path.samestat(found, os.fstat(handle)):
        raise replaced(path)
    if found.st_size < least:
        raise cut_short(path)
    return found.st_size


def removed(path: Path, why: str = "") -> Astray:
    """What is said while there is no file."""
    return Astray(
        f"{path} was removed{why}",
        "the file of classes was removed, so nothing was changed: wait a moment, until the service has written it "
        "again, or look into its log for why it cannot",
    )


def replaced(path: Path) -> Astray:
    """What is said if another file is there."""
    return Astray(
        f"another program has replaced {path}, or uses it: remove the file that is there now, and this service writes "
        "its own again; to use that file, stop the service first",
        "another program has replaced the file of classes, so nothing was changed: remove the file that is there now",
    )


def cut_short(path: Path) -> Astray:
    """What is said if the file lacks lines that were there."""
    return Astray(
        f"another program has cut {path} short: put back what it held",
        "another program has cut the file of classes short, so nothing was changed: put back what it held",
    )


def ended(path: Path) -> Astray:
    """What is said if the process that keeps the file was killed while it replaced it."""
    return Astray(
        f"cannot write to {path}: the service that kept it has ended",
        "the service is about to end, so nothing was changed: start it again",
    )


class Looks:
    """Who looks after a file again and again. A trouble that lasts is logged once."""

    def __init__(self) -> None:
        self._rest, self._said = 0, ""

    def take(self, tend: Callable[[], object]) -> None:
        """Look after it now, unless that failed a moment ago."""
        if self._rest:
            self._rest -= 1
            return
        try:
            tend()
            self._said = ""
        except (OSError, ValueError) as error:
            if self._said != str(error):
                log.error("%s", error)
            self._rest, self._said = REST, str(error)
