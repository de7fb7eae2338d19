"""A progress bar in a terminal or in a notebook, for whoever asks for one. In a notebook it needs no package."""

from __future__ import annotations

import html
import sys
import time
from datetime import timedelta
from importlib import import_module
from typing import Any, Protocol

PAUSE = 0.1  # seconds between two updates in a notebook


class State(Protocol):
    """What `fit` tells its callback."""

    @property
    def step(self) -> int: ...

    @property
    def steps(self) -> int: ...


class ProgressBar:
    """A bar that moves when it is called: with what `fit` tells its callback, or with steps done and steps in all.

    It appears with the first call. In a terminal it is on standard error and vanishes after the last step; where
    neither a terminal nor a notebook is there to see it, nothing is written.

    Parameters
    ----------
    what : str, default="progress"
        The word before the bar.

    Examples
    --------
    >>> import zskl
    >>> data = zskl.datasets.make_synthetic()
    >>> model = zskl.ZeroShotKernelClassifier(epochs=1, random_state=0)
    >>> model = model.fit(*data.samples("trainval"), data.signatures, callback=zskl.ProgressBar("fit"))
    """

    def __init__(self, what: str = "progress") -> None:
        self.what = what
        self._view: _Notebook | _Terminal | None = None
        self._began = 0.0

    def __call__(self, state: State | int, total: int | None = None) -> None:
        done, total = (state, total or 0) if isinstance(state, int) else (state.step, state.steps)
        if self._view is None:
            self._began = time.monotonic()
            self._view = _Notebook(self.what) if in_notebook() else _Terminal(self.what)
        self._view.move(done, total, time.monotonic() - self._began)

    def close(self) -> None:
        """Take the bar away, wherever it stands."""
        if isinstance(self._view, _Terminal):
            self._view.close()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Notebook:
    """One display that is updated in place."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown: Any = None
        self._last = 0.0

    def move(self, done: int, total: int, seconds: float) -> None:
        if self._shown is not None and done < total and seconds - self._last < PAUSE:
            return
        self._last = seconds
        page = import_module("IPython.display").HTML(bar(self._what, done, total, seconds))
        if self._shown is None:
            self._shown = import_module("IPython.display").display(page, display_id=True)
        else:
            self._shown.update(page)


class _Terminal:
    """Rich's bar on standard error. It stops with the last step, and starts again if there are more after all."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        self._console = Console(stderr=True)
        self._progress = Progress(console=self._console, transient=True)
        self._task = self._progress.add_task(escape(what), total=None)

    def move(self, done: int, total: int, seconds: float) -> None:
        if not self._console.is_terminal:
            return
        self._progress.update(self._task, completed=done, total=total)
        if done < total:
            self._progress.start()
        else:
            self._progress.stop()

    def close(self) -> None:
        if self._console.is_terminal:
            self._progress.stop()


def bar(what: str, done: int, total: int, seconds: float) -> str:
    """The bar as HTML: what, how much of it, and the time left or taken."""
    finished = done >= total
    left = seconds if finished or not done else seconds * (total - done) / done
    clock = f"{timedelta(seconds=round(left))} {'taken' if finished else 'left'}" if done else ""
    return (
        f'<div>{html.escape(what)} <progress value="{done}" max="{total}"></progress> {done} of {total} {clock}</div>'
    )
