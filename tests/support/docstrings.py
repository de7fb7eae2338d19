"""Docstrings of the public names, by numpydoc's own validation: part of `make lint`.

Public is what `zskl.__all__` and the `__all__` of each module behind it list, and the public methods of these classes.
"""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import zskl

OFF = {
    "GL01": "the summary stands on the line of the quotes",
    "GL02": "short docstrings end on their line",
    "GL03": "blank lines are the formatter's business",
    "GL08": "what has no docstring of its own inherits one; a public name without any is found below",
    "SS03": "a summary may end in a colon and a list",
    "SS05": "English, not a rule about the letter s",
    "SS06": "a summary may take two lines",
    "ES01": "a summary is often enough",
    "PR09": "a parameter's sentence may end without a stop",
    "RT03": "the name of what is returned starts the sentence as it is",
    "RT05": "as for parameters",
    "YD01": "iterators are described under Returns",
    "SA01": "See Also only where it helps",
    "SA04": "names speak for themselves",
    "EX01": "a class has an example; its methods share it",
}


def public() -> dict[str, Any]:
    """Dotted name → class or function, each once."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    modules = [zskl, *(importlib.import_module(name) for name in sorted(modules_with_names()))]
    for module in modules:
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            if (inspect.isclass(thing) or inspect.isfunction(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                found[f"{module.__name__}.{name}"] = thing
    return found


def unlisted() -> list[str]:
    """Public modules that do not say which of their names are public."""
    return [f"{name}: has no __all__" for name in modules_with_names() if not hasattr(sys.modules[name], "__all__")]


def modules_with_names(module: Any = zskl) -> Iterator[str]:
    """The public modules: those that `zskl.__all__` lists, and those that these list in turn."""
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        if inspect.ismodule(thing):
            yield thing.__name__
            yield from modules_with_names(thing)


def methods(owner: type) -> Iterator[str]:
    """Public methods and properties of the class, from this library; names in capitals are for those who extend it."""
    for name in dir(owner):
        home = next((one for one in owner.__mro__ if name in vars(one)), None)
        if name.startswith("_") or name.isupper() or home is None or not home.__module__.startswith("zskl"):
            continue
        thing = inspect.getattr_static(owner, name)
        if isinstance(thing, classmethod | staticmethod | property) or inspect.isfunction(thing):
            yield name


def faults(name: str, thing: Any) -> list[str]:
    """What is wrong with the docstring of one public name."""
    from numpydoc.validate import validate

    if not inspect.getdoc(thing):
        return [f"{name}: has no docstring"]
    off = set(OFF) - ({"EX01"} if inspect.isclass(thing) or (inspect.isfunction(thing) and "." in name) else set())
    if issubclass(thing, Warning | Exception) if inspect.isclass(thing) else False:
        off |= {"EX01", "PR01"}
    if dataclasses.is_dataclass(thing) and inspect.isclass(thing):
        documented = validate_fields(thing)
        off |= {"PR01", "PR02"}
        if documented:
            return [f"{name}: fields {', '.join(documented)} are not documented"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = validate(name)["errors"]
    return [f"{name}: {code} {words}" for code, words in errors if code not in off]


def validate_fields(owner: type) -> list[str]:
    """Fields of a dataclass that neither Parameters nor Attributes name."""
    from numpydoc.docscrape import NumpyDocString

    found = NumpyDocString(inspect.getdoc(owner))
    named = {one for part in ("Parameters", "Attributes") for entry in found[part] for one in entry.name.split(", ")}
    return [one.name for one in dataclasses.fields(owner) if not one.name.startswith("_") and one.name not in named]


def all_faults() -> list[str]:
    found = unlisted()
    looked_at: set[Any] = set()  # what classes inherit is the same in each
    for name, thing in public().items():
        found += faults(name, thing)
        if inspect.isclass(thing):
            for method in methods(thing):
                inherited = inspect.getattr_static(thing, method)
                if inherited not in looked_at:
                    found += [one for one in faults(f"{name}.{method}", getattr(thing, method)) if " EX01 " not in one]
                looked_at.add(inherited)
    return found


def examples() -> dict[str, doctest.DocTest]:
    """Public name → its executable examples, methods' too."""
    finder = doctest.DocTestFinder(recurse=True)
    found = {}
    for name, thing in public().items():
        for test in finder.find(thing, name, module=False, globs={}):
            if test.examples:
                found[test.name] = test
    return found


if __name__ == "__main__":
    wrong = all_faults()
    sys.stdout.writelines(one + "\n" for one in wrong)
    sys.exit(f"{len(wrong)} faults in docstrings of public names" if wrong else 0)
