"""The architecture: who may import whom, what may be heavy, and that each module is a whole subject."""

import ast
import functools
import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import zskl
from command import HEAVY

SOURCE = Path(zskl.__file__).parent
PLAN = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
TREE, SOURCES = PLAN.split("```text")[1].split("```")[0], PLAN.split("```text")[2].split("```")[0]
ORDER = re.findall(r"^  (\w+)(?:\.py|/) +", TREE, re.MULTILINE)  # the tree that a reader sees is the rule
FOR_ALL = {"version", "_arrays", "_validation", "_files", "_display", "metrics"}
MAY = {name: set(others.split()) for name, others in re.findall(r"^(\w+):(.*)$", SOURCES, re.MULTILINE)}
WALKS = PLAN.split("## Three walks")[1].split("## Decisions")[0].split("\n**")[1:]
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}
FREE = ("cli/", "serve/schemas")  # a command or a schema is used by what lists it, and nothing else
# Modules that are not public and have one importer, each with the reason why it is apart; at most ten.
APART = {
    "batch.teach": "what `zskl teach`, `adapt` and `label-next` do with whole files: the subject of one command file",
    "experiments.expectation": "what `zskl expect` works out: an experiment of its own",
    "paper.evaluation": "runs the paper's units; only `zskl paper` starts it",
    "paper.pages": "the paper's pages and files; only `zskl paper` writes them",
    "selection.composite_search": "searches of pipelines and committees, apart from the search of one estimator",
    "serve.predictions": "POST /predict: rows that wait are scored together",
    "serve.app": "the application without a socket, as tests and other servers use it",
    "serve.server": "the socket and its processes; only `zskl serve` starts them",
    "training._triton_kernels": "the language of Triton needs a module that imports Triton at its top",
}
# File names that occur in two packages.
TWICE: set[str] = set()


@functools.cache
def files():
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


parse = functools.cache(ast.parse)


def home(file):
    """The module or package at the top that a file belongs to; "" for the package's own `__init__`."""
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
    """What a file imports that does not stand above it in the tree."""
    own = home(file)
    if own == "":
        return []
    if own not in ORDER:
        return [f"{file}: the module {own!r} has no place in docs/architecture.md"]
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


RULES = [out_of_order, from_elsewhere, heavy, prints, nameless]


@pytest.mark.parametrize("rule", RULES)
def test_the_source_keeps_the_rule(rule):
    assert [fault for file, text in files().items() for fault in rule(file, text)] == []


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (out_of_order, "training/solver.py", "from zskl.estimators.base import ZeroShotClassifier"),
        (out_of_order, "training/solver.py", "from zskl import _arrays, estimators"),
        (out_of_order, "training/solver.py", "import zskl.estimators.committee"),
        (out_of_order, "training/solver.py", "def f():\n    from zskl.estimators.kernel_classifier import fit_stack"),
        (out_of_order, "training/solver.py", "from zskl import ZeroShotKernelClassifier"),
        (out_of_order, "training/solver.py", "import zskl"),
        (out_of_order, "_arrays.py", "from . import estimators"),
        (out_of_order, "kernels.py", "from zskl.training.objective import Objective"),
        (out_of_order, "signatures/__init__.py", "from ..training.objective import Objective"),
        (out_of_order, "datasets/toy.py", "from zskl.protocols import zsl"),
        (out_of_order, "novelty.py", ""),
        (from_elsewhere, "training/solver.py", "from zskl.signatures.table import read"),
        (from_elsewhere, "serve/app.py", "from zskl.report import page"),
        (from_elsewhere, "plots/reliability.py", "from zskl import methods"),
        (heavy, "solver.py", "import torch"),
        (heavy, "solver.py", "from torch.nn import functional"),
        (heavy, "solver.py", "try:\n    import torch\nexcept ImportError:\n    torch = None"),
        (heavy, "solver.py", "class A:\n    import h5py"),
        (heavy, "serve/app.py", "import pyarrow"),
        (heavy, "cli/inference.py", "from fastapi import FastAPI"),
        (heavy, "solver.py", "if True:\n    import matplotlib.pyplot as plt"),
        (prints, "solver.py", "def f():\n    print('done')"),
        (nameless, "utils.py", ""),
        (nameless, "kernels/_helpers.py", ""),
        (nameless, "common/x.py", ""),
    ],
)
def test_a_planted_fault_is_found(rule, file, text):
    assert len(rule(file, text)) == 1


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (out_of_order, "training/solver.py", "import numpy\nfrom zskl._arrays import like\nfrom zskl import _arrays"),
        (out_of_order, "training/solver.py", "from zskl.training.objective import Objective\nfrom .objective import x"),
        (out_of_order, "__init__.py", "from zskl.cli import main"),
        (heavy, "solver.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch"),
        (heavy, "solver.py", "def f():\n    import torch"),
        (heavy, "serve/app.py", "from fastapi import FastAPI"),
        (prints, "cli.py", "console.print('done')"),
        (nameless, "baselines/__init__.py", ""),
    ],
)
def test_what_is_in_order_passes(rule, file, text):
    assert rule(file, text) == []


def importers(sources):
    """Module → the modules that import it, wherever in them. `sources` maps a file to its text."""
    modules = {file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): file for file in sources}
    found = {module: set() for module in modules}
    for module, file in modules.items():
        for _, name in imports(file, sources[file]):
            inside = name.removeprefix("zskl.")
            for other in {inside, inside.rpartition(".")[0]} & set(modules) - {module}:
                found[other].add(module)
    return found


def public_modules():
    """Modules that hold a name, or are one, of the `__all__` of zskl or of a public package."""
    found, waiting = set(), [zskl]
    while waiting:
        package = waiting.pop()
        for name in package.__all__:
            thing = getattr(package, name)
            module = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", "")
            if module.removeprefix("zskl.") in found or not module.startswith("zskl."):
                continue
            found.add(module.removeprefix("zskl."))
            if inspect.ismodule(thing) and hasattr(thing, "__all__"):
                waiting.append(thing)
    return found


def lone_modules(sources, public):
    """Modules with at most one importer that are neither public, nor a package, nor free."""
    packages = {
        file.removesuffix("/__init__.py").replace("/", ".") for file in sources if file.endswith("/__init__.py")
    }
    exempt = public | packages | {"__init__", "__main__", "version"}
    return [
        module
        for module, used_by in importers(sources).items()
        if len(used_by) < 2 and module not in exempt and not module.replace(".", "/").startswith(FREE)
    ]


def test_a_module_is_public_or_has_two_importers():
    assert sorted(lone_modules(files(), public_modules())) == sorted(APART), (
        "put what only one module uses into that module, or name it in APART with the reason"
    )
    assert len(APART) <= 10
    assert all(APART.values())


def test_a_module_with_one_importer_is_found():
    sources = {
        "a.py": "from zskl.b import x\nfrom zskl import c",
        "b.py": "",
        "c.py": "from zskl.b import x",
        "d.py": "",
    }
    assert lone_modules(sources, set()) == ["a", "c", "d"]
    assert lone_modules(sources, {"a", "c"}) == ["d"]


def test_a_file_name_occurs_once():
    names = Counter(Path(file).name for file in files() if not file.endswith("__init__.py"))
    assert {name for name, count in names.items() if count > 1} == TWICE
    assert len(TWICE) <= 5


def test_an_estimator_is_one_class_on_one_base():
    for estimator in (zskl.ClassMeansClassifier, zskl.ZeroShotKernelClassifier, zskl.Committee):
        own = [parent for parent in estimator.__mro__ if parent.__module__.startswith("zskl")]
        assert own == [estimator, zskl.ZeroShotClassifier]


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


def test_moved_names_warn_and_say_what_to_use():
    with pytest.warns(FutureWarning, match=r"zskl\.arrays\.namespace has moved: import namespace from zskl\.kernels"):
        from zskl.arrays import namespace
    assert namespace is zskl.kernels.namespace
    with pytest.warns(FutureWarning, match="import ZeroShotClassifier from zskl; the old name goes"):
        from zskl.estimators.estimator import ZeroShotClassifier
    assert ZeroShotClassifier is zskl.ZeroShotClassifier
    with pytest.raises(ImportError, match=r"cannot import name 'to_numpy' from 'zskl\.arrays'"):
        from zskl.arrays import to_numpy  # noqa: F401


def imports_by_name(nodes):
    """(name, (module, what it is called there)) of `from … import …`."""
    for node in nodes:
        for alias in node.names:
            yield alias.asname or alias.name, (node.module, alias.name)
