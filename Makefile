# Two commands: `make run` does the main job on the embedded dataset, `make test` checks everything.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready-dev

.PHONY: run test lint types unit bench clean

run: $(READY)
	$(BIN)/zskl run digits --method gaussian-ort --method gaussian --tune --calibrate --seeds 3 --out runs/digits
	$(BIN)/zskl report runs/digits -o runs/digits/report.html

test: lint types unit

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

unit: $(DEV)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup

# Needs PyTorch for the version with automatic differentiation: PYTORCH=torch==2.13.0 or any other.
PYTORCH ?= torch
bench: $(READY)
	$(BIN)/python -m pip install --quiet '$(PYTORCH)' --editable '.[fast]'
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/performance.py

$(BIN)/python:
	$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else f"zskl needs Python 3.11 or newer, found {v}: try make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(READY)

clean:
	rm -rf $(VENV) runs build .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
