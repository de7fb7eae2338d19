# Two commands: `make run` does the main job on the embedded dataset, `make test` checks everything.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEV    := $(VENV)/.ready-dev
PACK   := $(VENV)/.ready-package
DOCS   := $(VENV)/.ready-docs

# Python keeps what it compiles, and compiles what is imported: so pip need not compile everything.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile

# uv installs in a third of the time; pip installs it, and everything where it cannot be had or finds no package index.
UV      = $(PIP) uv && $(BIN)/uv pip install --quiet --python $(BIN)/python
INSTALL = $(UV) --editable '$(1)' || $(PIP) --editable '$(1)'

# Tests of the page need a browser; the packages that drive it are installed where there is one.
BROWSER := $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name))))
COMMA   := ,
EXTRAS  := dev$(if $(BROWSER),$(COMMA)browser)

# One thread for each of as many processes as there are cores.
TYPES  := $(BIN)/mypy -n auto
LINT   := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/python tests/support/docstrings.py
SAID   := $(VENV)/types.log
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup

.PHONY: run test lint types unit coverage portable busy package bench docs docs-links clean

run: $(READY)
	@$(BIN)/zskl run letters --method class-means --method eszsl --method gaussian-softmax --method gaussian-ort \
		--tune --defaults gaussian-softmax --calibrate --shots 1 --shots 5 --unlabelled all \
		--out runs/letters
	@$(BIN)/zskl report runs/letters -o runs/letters/report.html --title "Letters without a training example"

# mypy runs beside the rest, where this waits for something; what it says comes last.
test: $(DEV)
	@echo "$(TYPES) > $(SAID) & $(LINT) && $(PYTEST)"
	@$(TYPES) > $(SAID) 2>&1 & \
	$(LINT) && $(PYTEST); tests=$$?; \
	wait $$!; types=$$?; cat $(SAID); \
	test $$tests = 0 || echo "make lint or make unit fails: see above"; \
	test $$types = 0 || echo "make types fails: see what mypy says above"; \
	exit $$((tests | types))

lint: $(DEV)
	$(LINT)

types: $(DEV)
	$(TYPES)

unit: $(DEV)
	$(PYTEST)

# Lines and branches of src/zskl that the tests reach.
coverage: $(DEV)
	$(PYTEST) --cov --cov-report=term --cov-report=html:runs/coverage

# All tests, RUNS times in a row, in a new order each time, while BUSY endless loops hold the processor.
RUNS ?= 3
BUSY ?= 8
busy: $(DEV)
	$(BIN)/python tests/support/busy.py --runs $(RUNS) --loops $(BUSY)

# The numerical tests with other kernels of OpenBLAS, NumPy and PyTorch than this machine would choose.
portable: $(DEV)
	$(BIN)/python tests/support/portable.py -n auto

# What goes to PyPI, in dist/: built, checked, and tried in an environment that has nothing but it and what it needs.
package: $(PACK)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist > $(VENV)/build.log 2>&1 || { cat $(VENV)/build.log; exit 1; }
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python tests/support/packaged.py dist

# Needs PyTorch for the version with automatic differentiation: PYTORCH=torch==2.13.0 or any other.
PYTORCH ?= torch
bench: $(READY)
	$(PIP) '$(PYTORCH)' --editable '.[fast,serve]'
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/performance.py

# The documentation site. A warning is an error: a link that leads nowhere, a page in no list, an example that fails.
SITE   := build/docs
SPHINX := OMP_NUM_THREADS=1 MPLBACKEND=Agg $(BIN)/python -m sphinx --jobs auto --quiet --fail-on-warning --keep-going
docs: $(DOCS)
	$(SPHINX) docs $(SITE)
	@echo "wrote $(SITE)/index.html"

# The same for links to other sites, which need a network.
docs-links: $(DOCS)
	$(SPHINX) -b linkcheck docs build/docs-links

$(BIN)/python:
	$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else f"zskl needs Python 3.11 or newer, found {v}: try make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml | $(BIN)/python
	$(call INSTALL,.)
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(call INSTALL,.[$(EXTRAS)])
	touch $@ $(READY)

$(PACK): $(DEV)
	$(call INSTALL,.[$(EXTRAS)$(COMMA)package])
	touch $@

$(DOCS): pyproject.toml | $(BIN)/python
	$(call INSTALL,.[docs])
	touch $@ $(READY)

clean:
	rm -rf $(VENV) runs build dist docs/examples docs/reference .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
