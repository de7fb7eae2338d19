"""Pages that are made from code: the reference, one page per public module, and what lies at the repository's root."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import command_page
import public_names

FOLDER = "reference"
AT_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md")
INDEX = """# Reference

These pages are made from the code: from docstrings, whose examples the tests run, and from the commands themselves.

- [Command line](commands.md): every command with its arguments and options.
- [HTTP](../service.md): requests to a model that is served, and the answers.
- [Changelog](CHANGELOG.md): what changed, newest first.

## Python

{modules}

```{{toctree}}
:hidden:

commands
{names}
CHANGELOG
```
"""
TABLE = """
.. autosummary::
   :nosignatures:
{toctree}
   {names}
"""


def write(docs: Path) -> None:
    """Write all of them into `docs/reference`, which git ignores; pages of names that are gone go."""
    made, others = contents(docs.parent), public_names.file_names()
    kept = {docs / FOLDER / name for name in made}
    kept |= {docs / FOLDER / "api" / f"{others.get(name, name)}.rst" for name in public_names.pages()}
    kept |= {docs / "examples" / f"{script.stem}.rst" for script in (docs.parent / "examples").glob("*.py")}
    for page in [*docs.glob(f"{FOLDER}/**/*"), *docs.glob("examples/plot_*.rst")]:
        if page.is_file() and page not in kept:
            page.unlink()
    for name, text in made.items():
        target = docs / FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text(encoding="utf-8") != text:  # unchanged pages are not built again
            target.write_text(text, encoding="utf-8")


def contents(root: Path) -> dict[str, str]:
    """File name → text."""
    names = public_names.modules()
    modules = "\n".join(f"- [`{name}`]({name}.rst): {_summary(name)}" for name in names)
    made = {"index.md": INDEX.format(modules=modules, names="\n".join(names)), "commands.md": command_page.text()}
    made |= {f"{name}.rst": module_page(name) for name in names}
    return made | {name: moved((root / name).read_text(encoding="utf-8")) for name in AT_ROOT}


def module_page(module: str) -> str:
    """The module's docstring and tables of its names, each with a page of its own."""
    classes, functions, values, elsewhere = public_names.listed(module)
    lines = [module, "=" * len(module), "", _about(module), "", f".. currentmodule:: {module}", ""]
    for title, names in (("Classes", classes), ("Functions", functions), ("Also here", elsewhere)):
        if names:
            shown = [name.removeprefix(f"{module}.") for name in names]
            toctree = "" if names is elsewhere else "   :toctree: api\n"
            lines += [f".. rubric:: {title}", TABLE.format(toctree=toctree, names="\n   ".join(shown))]
    if values:
        lines += [".. rubric:: Values", "", *(line for name in values for line in (f".. autodata:: {name}", ""))]
    return "\n".join(lines)


def moved(text: str) -> str:
    """A page of the repository's root, with its links as they are from `docs/reference`."""
    places = {"docs": "..", "README.md": "../index.md"} | {name: name for name in AT_ROOT}

    def place(found: re.Match[str]) -> str:
        return f"]({places.get(found[1], f'../../{found[1]}')}"

    return re.sub(r"\]\((?!#)([^/:)#]+)(?![^)]*:)", place, text)


def _about(module: str) -> str:
    return inspect.getdoc(importlib.import_module(module)) or ""


def _summary(module: str) -> str:
    return " ".join(_about(module).split("\n\n")[0].removesuffix("::").split())
