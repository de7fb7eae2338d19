"""How Typer draws help and errors with Rich, without what they never contain: Markdown and tracebacks of Python.

To import these takes a third of the time of `zskl --help`. Until somebody uses one, a stand-in has its place.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec

DRAWS = "typer.rich_utils"
UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}


def defer() -> None:
    """From here on Typer's drawing is imported when something is drawn, and then without what is not used."""
    spec = None if DRAWS in sys.modules else find_spec(DRAWS)
    if spec is None or spec.loader is None:
        return
    spec.loader = LazyLoader(Light(spec.loader))  # type: ignore[arg-type]
    sys.modules[DRAWS] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    typer.rich_utils = module  # type: ignore[attr-defined]


class Light:
    """Loads a module with stand-ins for what it imports in vain."""

    def __init__(self, usual: Loader) -> None:
        self.usual = usual

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.usual.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        replaced = [name for name in UNUSED if name not in sys.modules]
        for name in replaced:
            sys.modules[name] = there = ModuleType(name)
            setattr(there, UNUSED[name], stand_in(name, UNUSED[name]))
        try:
            self.usual.exec_module(module)
        finally:
            for name in replaced:
                del sys.modules[name]


def stand_in(module: str, name: str) -> type:
    """A class that imports another when it is used, and then does what that does."""

    class Kind(type):
        def __call__(cls, *given: Any, **more: Any) -> Any:
            return getattr(import_module(module), name)(*given, **more)

        def __getattr__(cls, attribute: str) -> Any:
            return getattr(getattr(import_module(module), name), attribute)

        def __instancecheck__(cls, one: object) -> bool:
            return isinstance(one, getattr(import_module(module), name))

    return Kind(name, (), {})
