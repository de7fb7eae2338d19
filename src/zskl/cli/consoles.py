"""Standard output and standard error as Rich's consoles."""

from __future__ import annotations

import errno
import os
from typing import Any

from rich.console import Console
from rich.markup import escape

__all__ = ["Terminal", "console", "escape", "problems"]


class Terminal(Console):
    """Rich's console, which leaves it to the command what to do when nobody reads any more."""

    def print(self, *objects: Any, **how: Any) -> None:
        """The same. What could not be written is not written with the next words either."""
        try:
            super().print(*objects, **how)
        except BaseException:
            del self._buffer[:]
            raise

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


console = Terminal()
problems = Terminal(stderr=True)
