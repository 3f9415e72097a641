# The two commands a newcomer types: `make demo` and `make test`. Everything else serves them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODELS := $(VENV)/.models

.PHONY: demo test quick check setup models lock clean

demo: $(MODELS)
	$(BIN)/python tools/demo.py

test: $(MODELS) check
	$(BIN)/python -m pytest

quick: setup check
	$(BIN)/python -m pytest -m "not real"

check: setup
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/mypy

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@

models: $(MODELS)

$(MODELS): $(STAMP)
	$(BIN)/langdu models get kokoro
	$(BIN)/langdu models get whisper-base
	touch $@

# The lock names versions and hashes, never the address of an index.
lock:
	uv pip compile --universal --python-version 3.11 --no-emit-index-url --no-annotate --no-header --generate-hashes \
	  --extra all --group dev pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache
