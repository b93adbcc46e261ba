# Every target sets up what it needs: a virtual environment in .venv with the versions of constraints.txt.
# The constraints are not optional: without them pip takes the newest torch and gigabytes of GPU packages.

PYTHON  ?= python3
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PIP     := $(BIN)/python -m pip install --quiet --constraint constraints.txt
# One thread a worker: the workers already fill the cores.
SINGLE  := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# More interpreters with neuralmirror installed, to compare their results: make reliability PYTHONS="…/bin/python …"
PYTHONS ?=
BENCHES := $(sort $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py)))

export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint slow reliability bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' Makefile

demo: $(STAMP)  ## select features in the built-in example; replaces the results in demo-results/
	$(BIN)/neuralmirror demo --out demo-results --force

test: $(STAMP)  ## all tests but the slow ones, with the branches that they cover
	$(SINGLE) $(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term

lint: $(STAMP)  ## ruff, the layers of the package, and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

slow: $(STAMP)  ## the statistical tests: FDR and power over many replicates
	$(SINGLE) $(BIN)/python -m pytest -m slow -n $(WORKERS)

reliability: $(STAMP)  ## kill runs, fill the disk, run at once, damage files; see docs/reliability.md (about an hour)
	$(SINGLE) $(BIN)/python tests/reliability/kill_and_resume.py 100
	$(SINGLE) $(BIN)/python tests/reliability/killed_often.py 42
	$(SINGLE) $(BIN)/python tests/reliability/disk_full.py 20
	$(SINGLE) $(BIN)/python tests/reliability/concurrent_runs.py 50
	$(SINGLE) $(BIN)/python tests/reliability/mutated_models.py 10000
	$(SINGLE) $(BIN)/python tests/io/fuzz_readers.py --files 20000
	$(BIN)/python tests/reliability/across_pythons.py $(PYTHONS)
	$(BIN)/python tests/reliability/under_load.py 1 2 --repeats 2

bench: $(STAMP)  ## every file of benchmarks/, one after the other
	@set -e; for file in $(BENCHES); do echo "== $$file"; $(BIN)/python $$file; done

clean:  ## remove results, builds and caches, those of compiled code too; the environment stays
	rm -rf demo-results smoke-results build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
	find src tests -name '*.nb[ic]' -delete

# The build backend comes first, under the constraints too, so that no build downloads a second, unpinned set.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "neuralmirror needs Python 3.11 or newer; try: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) hatchling
	$(PIP) --no-build-isolation --editable '.[test,lint]'
	@touch $@
