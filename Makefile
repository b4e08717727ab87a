# Two commands do everything on a machine that has python3 and make: `make demo` and `make test`. `make help` lists all.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test deep quick check floors bench bench-panel bench-audit clean

help:
	@echo "make demo     publish real flight delays beside the truth"
	@echo "make test     set up everything and run all tests; as root, install Debian's chromium and MariaDB for them"
	@echo "make deep     run all tests with more random cases, and every case on Spark"
	@echo "make quick    run the tests that are fast and need no server and no browser"
	@echo "make check    check formatting, lint, types and doctests"
	@echo "make floors   run the tests of quick with the lowest versions that pyproject.toml allows; TESTS=tests/cli chooses some"
	@echo "make bench    run the benchmarks beside their peers"
	@echo "make bench-panel  accuracy beside other libraries, in an environment of its own (PANEL=\"--help\" for options)"
	@echo "make bench-audit  a million runs on two neighbouring tables (AUDIT=\"--help\" for options)"
	@echo "make clean    remove .venv and caches"

demo: .venv/core
	$(BIN)/flexdp demo

test: .venv/test .venv/browser .venv/mariadb .venv/clickhouse
	$(BIN)/python -m pytest -n auto

deep: .venv/test .venv/browser .venv/mariadb .venv/clickhouse
	FLEXDP_DEEP=1 $(BIN)/python -m pytest -n auto

quick: .venv/test
	$(BIN)/python -m pytest -n auto -m "not engine and not browser and not slow" --hypothesis-profile=quick \
		$(foreach room,browser engines experiments sharp statistical,--ignore=tests/$(room))

check: .venv/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --doctest-modules src -q

TESTS ?= tests
floors: .venv-floors/test
	.venv-floors/bin/python -m pytest -n auto -m "not engine and not browser and not slow" $(TESTS)

.venv-floors/test: pyproject.toml tools/floors.py
	$(PYTHON) -m venv .venv-floors
	$(PYTHON) tools/floors.py > .venv-floors/lowest.txt
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-floors/lowest.txt -e ".[test]"
	touch $@

bench: .venv/bench
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

bench-panel: .venv-panel/ready
	.venv-panel/bin/python benchmarks/panel_peers.py $(PANEL)
	.venv-panel/bin/python benchmarks/panel_automatic.py

bench-audit: .venv/test
	$(BIN)/python benchmarks/audit_sharp.py $(AUDIT)

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/core: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/test: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]"
	touch $@ .venv/core

# A browser for tests/browser: the installed one, else Debian's, installed by root only, or with SUDO="sudo -n".
# Without a browser those tests are skipped, and say so.
.venv/browser: .venv/bin/python
	@export DEBIAN_FRONTEND=noninteractive; get="apt-get install -qq -y --no-install-recommends chromium"; \
	if ! command -v chromium > /dev/null && { [ "$$(id -u)" = 0 ] || [ -n "$(SUDO)" ]; }; then \
		echo "*** INSTALLING Debian's chromium on this machine for the browser tests: $(SUDO) $$get"; \
		{ $(SUDO) $$get || { $(SUDO) apt-get update -qq && $(SUDO) $$get; }; } > /dev/null 2>&1 || true; \
	fi; \
	if command -v chromium > /dev/null; then touch $@; \
	else echo "*** No chromium: the browser tests will be skipped. Install it, or run make test SUDO=sudo."; fi

# A server for the tests of MariaDB: its programs alone, no service. Without it those tests are skipped, and say so.
.venv/mariadb: .venv/bin/python
	@export DEBIAN_FRONTEND=noninteractive; PATH="$$PATH:/usr/sbin"; \
	get="apt-get install -qq -y --no-install-recommends mariadb-server-core mariadb-client-core"; \
	if ! command -v mariadbd > /dev/null && { [ "$$(id -u)" = 0 ] || [ -n "$(SUDO)" ]; }; then \
		echo "*** INSTALLING Debian's MariaDB on this machine for its tests: $(SUDO) $$get"; \
		{ $(SUDO) $$get || { $(SUDO) apt-get update -qq && $(SUDO) $$get; }; } > /dev/null 2>&1 || true; \
	fi; \
	if command -v mariadbd > /dev/null; then touch $@; \
	else echo "*** No MariaDB: its tests will be skipped. Install it, or run make test SUDO=sudo."; fi

# ClickHouse for its tests: half a gigabyte, which the other commands do without.
.venv/clickhouse: .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt chdb-core
	touch $@

.venv/bench: .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	touch $@

# diffprivlib needs an older scikit-learn than the tests use.
.venv-panel/ready: pyproject.toml benchmarks/constraints.txt
	$(PYTHON) -m venv .venv-panel
	.venv-panel/bin/python -m pip install --quiet --disable-pip-version-check -c benchmarks/constraints.txt -e ".[panel]"
	touch $@

clean:
	rm -rf .venv .venv-floors .venv-panel .pytest_cache .mypy_cache .ruff_cache .hypothesis
