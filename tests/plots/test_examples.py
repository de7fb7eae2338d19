"""Examples in docstrings of the displays and of the report run, and their parameters are documented."""

import doctest
from importlib import import_module

import pytest

from zskl import plots

MODULES = ["zskl.report.page", *sorted({getattr(plots, name).__module__ for name in plots.__all__})]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    failed, tried = doctest.testmod(import_module(name))
    assert (failed, tried > 0) == (0, True)
