"""The order of the house: who may import whom, what may be heavy, how long a file may be."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

import zskl
from command import HEAVY

SOURCE = Path(zskl.__file__).parent
PLAN = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
TREE, SOURCES = PLAN.split("```text")[1].split("```")[0], PLAN.split("```text")[2].split("```")[0]
ORDER = re.findall(r"^  (\w+)(?:\.py|/) ", TREE, re.MULTILINE)  # the tree that a reader sees is the rule
FOR_ALL = {"version", "sparse_rows", "mapped_rows", "arrays", "parameters", "files", "shown", "metrics"}
MAY = {name: set(others.split()) for name, others in re.findall(r"^(\w+):(.*)$", SOURCES, re.MULTILINE)}
WALKS = PLAN.split("## Three walks")[1].split("## Decisions")[0].split("\n**")[1:]
NAMELESS = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
LONGEST = 300


@functools.cache
def files():
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


parse = functools.cache(ast.parse)


def home(file):
    """The module or package of the house that a file belongs to; "" for the package's own `__init__`."""
    first = file.split("/")[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports(file, text):
    """(line, absolute dotted name) of all that a file imports, wherever in it."""
    package = ["zskl", *file.removesuffix(".py").split("/")][:-1]
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            stem = [*above, *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                yield node.lineno, ".".join([*stem, alias.name])


def out_of_order(file, text):
    """What a file imports that does not stand above it in the house."""
    own = home(file)
    if own == "":
        return []
    if own not in ORDER:
        return [f"{file}: the module {own!r} has no place in the order of the house"]
    found = []
    for line, name in imports(file, text):
        steps = name.split(".")
        if steps[0] != "zskl":
            continue
        other = steps[1] if len(steps) > 1 else ""
        if other not in ORDER:
            found.append(f"{file}:{line} imports {name} from the package's own __init__: name its module")
        elif other != own and ORDER.index(other) >= ORDER.index(own):
            found.append(f"{file}:{line} imports {name}, which stands below {own!r}")
    return found


def from_elsewhere(file, text):
    """What a file imports from packages that its own does not list as its sources."""
    own = home(file)
    if own not in MAY:
        return []
    found = []
    for line, name in imports(file, text):
        steps = name.split(".")
        if steps[0] == "zskl" and len(steps) > 1 and steps[1] in ORDER and steps[1] not in MAY[own] | FOR_ALL | {own}:
            found.append(f"{file}:{line} imports {name}: {own} may not")
    return found


def homeless(file, text):
    """A file whose name is not in its package's part of the tree."""
    *folders, name = file.removesuffix(".py").split("/")
    if not folders or name == "__init__":
        return []
    part = re.split(r"^  (?=\w)", TREE, flags=re.MULTILINE)
    mine = next(text for text in part if text.startswith(f"{folders[0]}/"))
    return [] if re.search(rf"\b{name}\b", mine) else [f"{file}: docs/architecture.md does not place it"]


def imported_at_once(text):
    """(line, package) of what is imported by merely importing the file: not in functions, not for types alone."""
    waiting = list(parse(text).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module.split(".")[0]
        waiting += ast.iter_child_nodes(node)


def heavy(file, text):
    """The service is of FastAPI through and through, and imported only by the command that starts it."""
    free = {"fastapi", "uvicorn"} if file.startswith("serve/") else set()
    return [f"{file}:{line} imports {name} at once" for line, name in imported_at_once(text) if name in HEAVY - free]


def prints(file, text):
    return [
        f"{file}:{node.lineno} prints"
        for node in ast.walk(parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def nameless(file, text):
    steps = file.removesuffix(".py").split("/")
    return [f"{file}: say what is in {step!r}" for step in steps if step.strip("_").lower() in NAMELESS]


def too_long(file, text):
    lines = len(text.splitlines())
    return [f"{file} has {lines} lines: more than {LONGEST}, one idea too many"] if lines > LONGEST else []


RULES = [out_of_order, from_elsewhere, homeless, heavy, prints, nameless, too_long]


@pytest.mark.parametrize("rule", RULES)
def test_the_house_is_in_order(rule):
    assert [fault for file, text in files().items() for fault in rule(file, text)] == []


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (out_of_order, "training/solver.py", "from zskl.estimators.estimator import Training"),
        (out_of_order, "training/solver.py", "from zskl import arrays, estimators"),
        (out_of_order, "training/solver.py", "import zskl.estimators.stack"),
        (out_of_order, "training/solver.py", "def f():\n    from zskl.estimators.kernel_classifier import fit_stack"),
        (out_of_order, "training/solver.py", "from zskl import ZeroShotKernelClassifier"),
        (out_of_order, "training/solver.py", "import zskl"),
        (out_of_order, "arrays.py", "from . import estimators"),
        (out_of_order, "kernels/gaussian.py", "from zskl.training.objective import Objective"),
        (out_of_order, "kernels/__init__.py", "from ..training.objective import Objective"),
        (out_of_order, "datasets/digits.py", "from zskl.protocols import zsl"),
        (out_of_order, "novelty.py", ""),
        (from_elsewhere, "training/solver.py", "from zskl.signatures.table import read"),
        (from_elsewhere, "serve/app.py", "from zskl.report import page"),
        (from_elsewhere, "plots/gram.py", "from zskl import methods"),
        (homeless, "training/novelty.py", ""),
        (heavy, "solver.py", "import torch"),
        (heavy, "solver.py", "from torch.nn import functional"),
        (heavy, "solver.py", "try:\n    import torch\nexcept ImportError:\n    torch = None"),
        (heavy, "solver.py", "class A:\n    import h5py"),
        (heavy, "serve/app.py", "import pyarrow"),
        (heavy, "cli/serve.py", "from fastapi import FastAPI"),
        (heavy, "solver.py", "if True:\n    import matplotlib.pyplot as plt"),
        (prints, "solver.py", "def f():\n    print('done')"),
        (nameless, "utils.py", ""),
        (nameless, "kernels/base.py", ""),
        (nameless, "kernels/_helpers.py", ""),
        (nameless, "common/x.py", ""),
        (too_long, "solver.py", "x = 1\n" * (LONGEST + 1)),
    ],
)
def test_a_planted_fault_is_found(rule, file, text):
    assert len(rule(file, text)) == 1


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (out_of_order, "training/solver.py", "import numpy\nfrom zskl.arrays import like\nfrom zskl import arrays"),
        (out_of_order, "kernels/gaussian.py", "from zskl.kernels.kernel import Kernel\nfrom .kernel import Kernel"),
        (out_of_order, "__init__.py", "from zskl.cli import main"),
        (heavy, "solver.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
        (heavy, "solver.py", "def f():\n    import torch"),
        (heavy, "serve/app.py", "from fastapi import FastAPI"),
        (prints, "cli.py", "console.print('done')"),
        (nameless, "baselines/__init__.py", ""),
        (too_long, "solver.py", "x = 1\n" * LONGEST),
    ],
)
def test_what_is_in_order_passes(rule, file, text):
    assert rule(file, text) == []


def test_there_are_few_rooms():
    inside = [path for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len([path for path in inside if path.suffix == ".py"]) <= 12
    assert len([path for path in inside if any(path.glob("*.py"))]) <= 18  # a folder of leftover caches is none


def test_the_sources_of_packages_are_those_they_use():
    """A name that nobody needs would be a door left open."""
    used = {name: set() for name in MAY}
    for file, text in files().items():
        if home(file) in MAY:
            used[home(file)] |= {name.split(".")[1] for _, name in imports(file, text) if name.startswith("zskl.")}
    assert {name: sorted(MAY[name] - used[name]) for name in MAY if MAY[name] - used[name]} == {}
    assert set(ORDER) - FOR_ALL - {"cli", "__main__"} == set(MAY)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.split("`")[1])
def test_a_walk_passes_every_file_once(walk):
    passed = re.findall(r"`([\w/]+\.py)`", walk)
    assert len(passed) > 5
    assert [file for file in passed if file not in files()] == []
    assert len(passed) == len(set(passed))


def test_tests_lie_where_their_subject_does():
    tests = Path(__file__).parent
    for file in tests.rglob("test_*.py"):
        folder = file.relative_to(tests).parent
        assert (SOURCE / folder).is_dir(), f"{file}: src/zskl has no folder {folder}"
        lines = len(file.read_text("utf-8").splitlines())
        assert lines <= LONGEST, f"{file} has {lines} lines: more than {LONGEST}, split it by subject"


def test_the_version_is_the_same_wherever_it_is_told():
    root = Path(__file__).parents[1]
    citation, changes = ((root / name).read_text("utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    assert f"\nversion: {zskl.__version__}\n" in citation
    assert re.search(r"^## (\d\S*)", changes, re.MULTILINE)[1] == zskl.__version__


def test_the_package_itself_is_names_alone():
    body = ast.parse(files()["__init__.py"]).body
    for node in body[1:]:
        assert isinstance(node, ast.ImportFrom | ast.Assign | ast.If), ast.unparse(node)
    assert isinstance(body[-1], ast.Assign)
    assert sorted(zskl.__all__) == sorted(set(zskl.__all__))


def test_the_names_that_editors_see_are_those_that_are_imported_when_used():
    (choice,) = (node for node in ast.parse(files()["__init__.py"]).body if isinstance(node, ast.If))
    seen = dict(imports_by_name(choice.body))
    assert sorted([*seen, "__version__"]) == sorted(zskl.__all__)
    for name, (module, thing) in seen.items():
        expected = importlib.import_module(module)
        expected = getattr(expected, thing) if module != "zskl" else importlib.import_module(f"zskl.{thing}")
        assert getattr(zskl, name) is expected
    assert set(zskl.__all__) <= set(dir(zskl))
    with pytest.raises(AttributeError, match="'zskl' has no attribute 'classifier'"):
        zskl.classifier  # noqa: B018


def imports_by_name(nodes):
    """(name, (module, what it is called there)) of `from … import …`."""
    for node in nodes:
        for alias in node.names:
            yield alias.asname or alias.name, (node.module, alias.name)
