"""Pages that are made from code: one per public module, the command line, and what lies at the repository's root."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import command_page
import public_names

FOLDER = "generated"
AT_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md")
TABLE = """
.. autosummary::
   :nosignatures:
{toctree}
   {names}
"""


def write(docs: Path) -> None:
    """Write all of them into `docs/generated`, which git ignores."""
    for name, text in contents(docs.parent).items():
        target = docs / FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:  # unchanged pages are not built again
            target.write_text(text, encoding="utf-8")


def contents(root: Path) -> dict[str, str]:
    """File name → text."""
    made = {f"{module}.rst": module_page(module) for module in public_names.modules()}
    made["commands.md"] = command_page.text()
    return made | {name: moved((root / name).read_text(encoding="utf-8")) for name in AT_ROOT}


def module_page(module: str) -> str:
    """The module's docstring and tables of its names, each with a page of its own."""
    classes, functions, values, elsewhere = public_names.listed(module)
    about = inspect.getdoc(importlib.import_module(module)) or ""
    lines = [module, "=" * len(module), "", about, "", f".. currentmodule:: {module}", ""]
    for title, names in (("Classes", classes), ("Functions", functions), ("Also here", elsewhere)):
        if names:
            shown = [name.removeprefix(f"{module}.") for name in names]
            toctree = "" if names is elsewhere else "   :toctree: api\n"
            lines += [f".. rubric:: {title}", TABLE.format(toctree=toctree, names="\n   ".join(shown))]
    if values:
        lines += [".. rubric:: Values", "", *(line for name in values for line in (f".. autodata:: {name}", ""))]
    return "\n".join(lines)


def moved(text: str) -> str:
    """A page of the repository's root, with its links as they are from `docs/generated`."""
    return text.replace("](docs/", "](../")
