PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: help report test test-all lint lab figures data browser bench clean

help:  ## Show what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

report: $(VENV)/installed  ## Run the notebooks, write build/reports/index.html, print the headline numbers
	@$(BIN)/hetcost report --out build/reports

test: $(VENV)/installed-dev  ## The fast tests
	$(BIN)/python -m pytest -q -n 2 -m "not slow"

test-all: $(VENV)/installed-dev  ## All tests, the slow ones too
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/installed-dev  ## ruff check and format, mypy --strict on hetcost/
	$(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy

lab: $(VENV)/installed  ## JupyterLab on notebooks/
	$(BIN)/jupyter lab notebooks

figures: $(VENV)/installed  ## Draw figures/ anew from the notebooks
	$(BIN)/hetcost report --out build/figures && cp build/figures/*/figures/*.png figures/

data: $(VENV)/installed  ## Rebuild data/runs/ from published result files: make data RAW=DIR
	$(BIN)/hetcost tidy $(RAW) --sidecar data/runs/ionet-2025.yaml --strict -o data/runs/ionet-2025.csv

browser:  ## Install Debian's Chromium, which the tests of pages use
	@command -v chromium >/dev/null || { $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq chromium; }

bench: $(VENV)/installed-dev  ## Speed as ratios against named baselines; the last table is docs/bench.md
	@mkdir -p build
	$(BIN)/python -m pytest -q tests/bench -o addopts= -W default --benchmark-json=build/bench.json
	$(BIN)/python tests/bench/table.py build/bench.json docs/bench.md

clean:  ## Remove what was built, the environment too
	rm -rf build dist $(VENV)
