"""Nothing in the library runs code from a file: no pickle, no evaluation of text."""

import ast
import pickle
from pathlib import Path

import pytest

import zskl
from zskl.kernels import Gaussian

SOURCE = Path(zskl.__file__).parent
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib.numpy_pickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "importlib.import_module", "torch.save", "joblib.load"}
NEEDED = {"np.load": "allow_pickle=False", "torch.load": "weights_only=True"}  # what makes such a call harmless
BY_NAME = {"datasets/images/backbones/backbone.py": {"importlib.import_module("}}  # names out of a closed list


def runs_foreign_code(text):
    """What in a source text could turn data into code: `module` or `call` at line."""
    found = []
    for node in ast.walk(ast.parse(text)):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func)
            needed = NEEDED.get(function)
            if function in FORBIDDEN_CALLS or (needed and needed not in map(ast.unparse, node.keywords)):
                found.append(f"{function}( at line {node.lineno}")
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            found.append(f"allow_pickle at line {node.value.lineno}")
        found += [f"{module} at line {node.lineno}" for module in modules if module in FORBIDDEN_MODULES]
    return found


def test_no_pickle_and_no_evaluation_anywhere_in_the_source():
    found = {str(file.relative_to(SOURCE)): runs_foreign_code(file.read_text("utf-8")) for file in SOURCE.rglob("*.py")}
    kinds = {file: {one.partition(" ")[0] for one in what} for file, what in found.items() if what}
    assert kinds == BY_NAME


@pytest.mark.parametrize(
    "planted",
    ["import pickle", "from pickle import loads", "def f(x):\n    return eval(x)", "import torch\ntorch.load('m')",
     "import numpy as np\nnp.load('m')", "load('m', allow_pickle=True)"],
)  # fmt: skip
def test_planted_pickle_is_found(planted):
    assert len(runs_foreign_code(planted)) == 1


def test_saving_and_loading_never_call_pickle(toy, tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("pickle was used")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    toy.fitted(Gaussian(0.5)).save(tmp_path / "a.zskl")
    zskl.load(tmp_path / "a.zskl")
