# Two commands: `make run` does the main job on the embedded dataset, `make test` checks everything.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: run test lint types unit clean

run: $(READY)
	$(BIN)/zskl run digits --method gaussian-ort --method gaussian --seeds 3 --json runs/digits.jsonl

test: lint types unit

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

unit: $(READY)
	$(BIN)/python -m pytest

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"zskl needs Python 3.11 or newer; found {sys.version.split()[0]}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) runs build .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
