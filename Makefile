# One command each. `make help` prints them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SECONDS ?= 600
ROUNDS ?= 10

.DEFAULT_GOAL := help
.PHONY: help install test lint unit demo bench soak search crash-report clean

help: ## print these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(STAMP) ## set up .venv with locked dependencies, and Java 17 if it is missing

$(STAMP): requirements.lock pyproject.toml scripts/ensure_java.sh
	sh scripts/ensure_java.sh
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $(STAMP)

test: lint unit ## run every check: formatting, lint, types, tests

lint: $(STAMP) ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

unit: $(STAMP) ## run the tests on all cores
	$(BIN)/python -m pytest -n auto --dist worksteal -q

demo: $(STAMP) ## create a small graph, load it, read it, travel in it
	PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/harbor/demo.sh

bench: $(STAMP) ## measure against the raw libraries and refresh the table in the README
	$(BIN)/python -m benchmarks --update-readme
	$(BIN)/python -m benchmarks.merge
	$(BIN)/python -m benchmarks.changes

soak: $(STAMP) ## kill writers for SECONDS (600) and check that nothing is lost
	PYTHONPATH=tests $(BIN)/python -m soak.run --seconds $(SECONDS)

search: $(STAMP) ## run the property and model tests on random examples, ROUNDS (10) times
	for round in $$(seq $(ROUNDS)); do \
		HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest tests/model -n auto -q || exit 1; \
	done

crash-report: $(STAMP) ## run the crash matrix and write docs/design/crash-matrix.md
	$(BIN)/python -m pytest tests/crash tests/storage/test_migrations_crash.py -n auto --dist worksteal -q \
		--ignore tests/crash/test_failpoints.py --crash-report docs/design/crash-matrix.md

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
