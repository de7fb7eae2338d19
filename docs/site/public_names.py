"""Which names have a page in the reference: the public ones, as `tests/support/docstrings.py` finds them."""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from typing import Any

import docstrings
import zskl


def modules() -> list[str]:
    """The public modules, `zskl` itself first."""
    return ["zskl", *sorted(docstrings.modules_with_names())]


def pages() -> dict[str, Any]:
    """Dotted name → class or function; each once, under the first module that lists it."""
    return docstrings.public()


def listed(module: str) -> tuple[list[str], list[str], list[str], list[str]]:
    """Names of a module: classes and functions with a page under it, other values, and what has its page elsewhere."""
    home = importlib.import_module(module)
    own = pages()
    classes, functions, values, elsewhere = [], [], [], []
    for name in home.__all__:
        thing, dotted = getattr(home, name), f"{module}.{name}"
        if inspect.ismodule(thing):
            continue
        if dotted in own:
            (classes if inspect.isclass(thing) else functions).append(dotted)
        elif inspect.isclass(thing) or inspect.isfunction(thing):
            elsewhere.append(next(other for other, known in own.items() if known is thing))
        else:
            values.append(dotted)
    return classes, functions, values, elsewhere


def file_names() -> dict[str, str]:
    """Another file name for a class that differs from a function only in upper and lower case."""
    found = pages()
    often = Counter(name.lower() for name in found)
    return {
        name: f"{name}-class" for name, thing in found.items() if often[name.lower()] > 1 and inspect.isclass(thing)
    }


def skipped(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that come from scikit-learn or Python, and those for people who extend the library."""
    if what != "class":
        return None
    owner = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
    home = getattr(owner, "__module__", "") or ""
    return True if name.isupper() or name.startswith("_") or not home.startswith(zskl.__name__) else None
