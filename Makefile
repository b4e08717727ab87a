# Two commands do everything on a machine that has python3 and make: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check doctest bench clean

demo: .venv/core
	$(BIN)/flexdp demo

test: .venv/test .venv/browser
	$(BIN)/python -m pytest -n auto

check: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --doctest-modules src -q

bench: .venv/bench
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/test: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@ .venv/core

# A browser for tests/browser, where it is there or may be installed; else those tests are skipped, and say so.
.venv/browser: .venv/bin/python
	@as=$$([ "$$(id -u)" = 0 ] || echo "sudo -n"); export DEBIAN_FRONTEND=noninteractive; \
	get="apt-get install -qq -y --no-install-recommends chromium"; \
	if ! command -v chromium > /dev/null; then \
		{ $$as $$get || { $$as apt-get update -qq && $$as $$get; }; } > /dev/null 2>&1 || true; \
	fi; \
	if command -v chromium > /dev/null; then touch $@; \
	else echo "No chromium, and it could not be installed: the browser tests will be skipped."; fi

.venv/bench: .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	touch $@

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
