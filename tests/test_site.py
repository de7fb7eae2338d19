"""What can be checked of the documentation site without building it; `make docs` does the rest."""

import importlib
import re

import pytest

import command_page
import generated_pages
import public_names
import repository_links
from executed import ROOT
from zskl.cli.listing import COMMANDS, DATA_COMMANDS

DOCS = ROOT / "docs"
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def contents():
    return generated_pages.contents(ROOT)


def in_toctrees(text):
    return [line for block in TOCTREE.findall(text) for line in block.split("\n") if line and not line.startswith(":")]


def test_every_page_is_in_one_toctree(contents):
    listed = [name for page in DOCS.glob("*.md") for name in in_toctrees(page.read_text(encoding="utf-8"))]
    assert len(listed) == len(set(listed))
    assert {page.stem for page in DOCS.glob("*.md")} - set(listed) == {"index"}
    made = [f"reference/{name}" for name in in_toctrees(contents["index.md"])]
    assert {f"reference/{name.rsplit('.', 1)[0]}" for name in contents} - {*made, *listed} == set()


def test_every_public_name_is_in_the_reference(contents):
    modules = public_names.modules()
    for module in modules:
        page = contents[f"{module}.rst"]
        lines = re.findall(r"^(?:   |\.\. autodata:: )([\w.]+)$", page, re.MULTILINE)
        shown = {line.rsplit(".", 1)[-1] for line in lines}
        below = {name.removeprefix(f"{module}.") for name in modules}
        assert set(importlib.import_module(module).__all__) - below - shown == set()


def test_no_two_pages_differ_only_in_case():
    other = public_names.file_names()
    files = [other.get(name, name).lower() for name in public_names.pages()]
    assert len(files) == len(set(files))


def test_every_command_has_its_options(contents):
    page = contents["commands.md"]
    assert page.count("\n## `zskl ") == len(COMMANDS) + len(DATA_COMMANDS)
    assert "`-o, --out FILE`\n: The model file to write. *(required)*" in page
    assert "[b]" not in page
    assert command_page._entry("--seeds <int range>", "How many.  [default: 1; x>=1]") == (
        "`--seeds NUMBER`\n: How many. *(default: 1; at least 1)*\n"
    )


def test_links_of_pages_from_the_root_are_those_of_their_new_place():
    found = generated_pages.moved("[a](docs/math.md#x) [b](README.md) [c](CHANGELOG.md) [d](tests/x.py)")
    assert found == "[a](../math.md#x) [b](../index.md) [c](CHANGELOG.md) [d](../../tests/x.py)"
    assert generated_pages.moved("[e](https://a.bc/d) [f](#g)") == "[e](https://a.bc/d) [f](#g)"


def test_links_out_of_the_folder_lead_to_the_site():
    source = ["[a](../README.md) [b](../CHANGELOG.md#x) [c](../examples/plot_own_table.py) [d](math.md)"]
    repository_links.replaced(None, "page", source)
    assert source == ["[a](/index.md) [b](/reference/CHANGELOG.md#x) [c](/examples/plot_own_table.rst) [d](math.md)"]
