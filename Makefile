# One command each. `make help` prints them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
BYTECODE := $(VENV)/.bytecode
COMPILED := $(VENV)/.compiled
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# One worker more than cores: tests wait for other processes a third of their time. The long matrices get as many as
# there are cores, because leases of two seconds run out in them.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST := $(BIN)/python -m pytest --dist worksteal -q
LOCK := uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11
# What the image of the server has; Spark and frames have no place in it.
SERVER_EXTRAS := --extra server --extra ui --extra otel --extra aws --extra mcp
SECONDS ?= 600
ROUNDS ?= 10
TURNS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install test test-all lint demo bench soak search crash-report lock clean

help: ## print these commands
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(STAMP) $(BYTECODE) ## set up .venv with everything that tests and benchmarks need, and Java 17, Chromium and nginx if they are missing

$(RUNTIME): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	touch $(RUNTIME)

$(STAMP): $(RUNTIME) requirements-dev.lock scripts/ensure_java.sh scripts/ensure_browser.sh scripts/ensure_nginx.sh
	sh scripts/ensure_java.sh
	sh scripts/ensure_browser.sh
	sh scripts/ensure_nginx.sh
	$(PIP) --require-hashes -r requirements-dev.lock
	touch $(STAMP)

# Sources that run where they lie are compiled again by every process that may not write: half of a short command.
$(BYTECODE): $(RUNTIME) $(COMPILED) $(shell find src -name '*.py')
	$(BIN)/python -m compileall -q src
	touch $(BYTECODE)

# So are packages. pip compiles those that it installs, other installers do not; templates among them are no Python.
$(COMPILED): $(RUNTIME)
	$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
	touch $(COMPILED)

test: lint ## check formatting, lint and types, and run the tests: a sample of the long matrices, all of the rest
	$(PYTEST) -n $(WORKERS) -m "not exhaustive"

test-all: $(STAMP) ## run what `make test` leaves out: the long matrices; TURNS=3 runs the third whose turn it is
	OMNIGRAPH_TEST_TURNS=$(TURNS) $(PYTEST) -n auto -m "exhaustive and not resting"

lint: $(STAMP) ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

demo: $(BYTECODE) ## create a small graph, load it, travel in it, maintain it
	PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/harbor/demo.sh

bench: $(STAMP) $(BYTECODE) ## measure against the raw libraries and refresh the tables in the docs and the README
	$(BIN)/python -m benchmarks --update-docs
	$(BIN)/python -m benchmarks.merge
	$(BIN)/python -m benchmarks.changes

soak: $(STAMP) ## kill writers for SECONDS (600), half on local disk and half on S3, and check that nothing is lost
	PYTHONPATH=tests $(BIN)/python -m soak.run --seconds $(SECONDS)

search: $(STAMP) ## run the property and model tests on random examples, ROUNDS (10) times
	for round in $$(seq $(ROUNDS)); do \
		HYPOTHESIS_PROFILE=search $(BIN)/python -m pytest tests/*/test_model*.py -n auto -q || exit 1; \
	done

crash-report: $(STAMP) ## run the crash matrix and write docs/design/crash-matrix.md
	$(BIN)/python -m pytest tests/*/test_crash*.py -n auto --dist worksteal -q \
		--crash-report docs/design/crash-matrix.md

lock: ## pin the newest versions that pyproject.toml allows, with their hashes (needs uv)
	$(LOCK) --upgrade --group build pyproject.toml -o requirements.lock
	$(LOCK) --upgrade --group dev --all-extras -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(LOCK) --upgrade --group build $(SERVER_EXTRAS) -c requirements-dev.lock pyproject.toml -o requirements-server.lock

clean: ## remove the virtual environment and everything generated
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
