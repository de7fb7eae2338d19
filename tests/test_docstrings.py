"""Examples in docstrings are executed, and the check that `make lint` runs finds a planted fault."""

import doctest
import inspect

import pytest

import docstrings

EXAMPLES = docstrings.examples()
NEEDS = {"zskl.export.to_onnx": "onnx", "zskl.export.to_index": "usearch"}  # examples that need a package of an extra


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed: the example of {name}")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    result = runner.run(EXAMPLES[name])
    assert result.attempted
    assert not result.failed, capsys.readouterr().out


def test_every_public_class_and_function_has_an_example():
    names = [name for name, thing in docstrings.public().items() if not _is_error(thing)]
    assert [name for name in names if not any(one == name or one.startswith(f"{name}.") for one in EXAMPLES)] == []


def _is_error(thing):
    return inspect.isclass(thing) and issubclass(thing, Exception)


def planted(first, second=1):
    """Add two numbers.

    Parameters
    ----------
    first : int
        The one.

    Returns
    -------
    int
        Their sum.
    """
    return first + second


def test_a_parameter_without_a_line_is_found(monkeypatch):
    pytest.importorskip("numpydoc", reason="numpydoc is not installed: it is among the packages for developers")
    monkeypatch.setattr(docstrings.zskl, "planted", planted, raising=False)
    found = docstrings.faults("zskl.planted", planted)
    assert any("PR01" in one and "second" in one for one in found)
    assert any("EX01" in one for one in found)
