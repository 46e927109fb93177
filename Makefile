# Everything runs from a fresh clone with nothing but Python 3.11 or newer; what a target needs goes into .venv.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
CORPUS ?= ../shared/corpus
WORKERS ?= auto

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help demo test agents check format fidelity cuts fuzz docs site compare bench clean

help:  ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/runtime  ## an agent moved through all six dialects over loopback HTTP: transcript, losses, usage, cost
	@$(BIN)/python -m interlingua.demo

test: $(VENV)/dev  ## run the tests; ARGS="-k name" chooses, WORKERS=0 for one process
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(ARGS)

agents: $(VENV)/dev  ## real coding agents through the gateway, each installed below build/; SHARD=1/4, ARGS="claude chat"
	@$(BIN)/python -m lab.agents $(ARGS)

check: $(VENV)/dev  ## ruff, mypy strict, pyright strict
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: run make format" >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/pyright --pythonpath $(BIN)/python

format: $(VENV)/dev  ## let ruff format and fix what it safely can
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format --quiet .

fidelity: $(VENV)/dev  ## replay the recorded traffic of CORPUS=../shared/corpus and report what is exact
	@$(BIN)/python -m lab.fidelity $(CORPUS) $(ARGS)

cuts: $(VENV)/dev  ## cut every recorded stream at 200 places: nothing unfinished may look finished (10 minutes)
	@$(BIN)/python -m lab.cuts $(CORPUS) $(ARGS)

fuzz: $(VENV)/dev  ## change recorded traffic at random: nothing but our own errors; ARGS="--minutes 10 --seed 7"
	@$(BIN)/python -m lab.fuzzing $(CORPUS) $(ARGS)

docs: $(VENV)/dev  ## write the generated pages: dialects, reliability, integration, cli, gateway's losses, and errors if the recordings are there
	@$(BIN)/python -m lab.phrasebook docs/dialects.md
	@$(BIN)/python -m lab.side_by_side docs/images/side_by_side.svg
	@$(BIN)/python -m lab.diagrams docs/images
	@$(BIN)/python -m lab.faults docs/reliability.md
	@$(BIN)/python -m lab.integration docs/integration.md
	@$(BIN)/python -m lab.command_help docs/cli.md
	@$(BIN)/python -m lab.lost docs/gateway.md
	@test ! -d $(CORPUS) || $(BIN)/python -m lab.recorded_errors $(CORPUS) docs/errors.md

site: $(VENV)/dev  ## build the documentation site into build/site; a warning or a dead link is an error
	@$(BIN)/python -m lab.site build/site && echo "build/site/index.html"

compare: $(VENV)/dev  ## six tasks, and the recordings translated, with this library and with others, which it installs
	@$(BIN)/python examples/compare/run.py docs/comparison.md $(ARGS)
	@test ! -d $(CORPUS) || $(BIN)/python -m lab.translators $(CORPUS) docs/translators-compared.md

bench: $(VENV)/dev  ## measure the budgets, as ratios in one run
	@$(BIN)/python bench/run.py docs/performance.md $(ARGS)

clean:  ## remove .venv, caches and reports
	@rm -rf $(VENV) build dist htmlcov .coverage* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src lab tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name one with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

# Two stamps: the demo needs the runtime dependency only.
$(VENV)/runtime: pyproject.toml | $(BIN)/python
	@echo "installing the package into $(VENV)"
	@$(PIP) -e .
	@touch $@

$(VENV)/dev: pyproject.toml | $(BIN)/python
	@echo "installing the package and its development tools into $(VENV)"
	@$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/runtime
