# Two commands do everything on a machine that has python3 and make: `make demo` and `make test`. `make help` lists all.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One test process more than there are processors, for tests that wait for a server, a browser or another program.
WORKERS ?= $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
# Compiled modules are kept, whatever the environment says: the tests start Python hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test deep quick check lint types doctests collected verify floors bench bench-panel bench-demo bench-audit bench-audit-peers package docs fuzz mutants bench-peers clean

help:
	@echo "make demo     publish real flight delays beside the truth"
	@echo "make test     set up everything and run all tests; as root, install Debian's chromium and MariaDB for them"
	@echo "make deep     run all tests with more random cases, every case on Spark, and notebooks in JupyterLab"
	@echo "make quick    run a few cases of each test that is fast and needs no server and no browser"
	@echo "make check    check formatting, lint, types and doctests: lint, types and doctests check one of them (make -j 2 check is faster)"
	@echo "make verify   prove the privacy of every documented configuration, and attack it: the deep form of the privacy tests"
	@echo "make fuzz     search for inputs that break something, a minute for each target (FUZZ_SECONDS=600, FUZZ=documents, FUZZ_JOBS=2)"
	@echo "make mutants  change the code of the rooms that privacy and truth rest on, one thing at a time, and see whether a test fails (MUTANTS=\"noise --sample 20\" chooses)"
	@echo "make floors   run fast tests, and those of engines but Spark, with the lowest versions that pyproject.toml allows; TESTS=tests/cli chooses some"
	@echo "make bench    run the benchmarks beside their peers"
	@echo "make bench-panel  accuracy beside other libraries, in an environment of its own (PANEL=\"--help\" for options)"
	@echo "make bench-peers  accuracy and speed beside other libraries; writes docs/peers.json and docs/peers.md (PEERS=\"--quick\", \"--help\")"
	@echo "make bench-demo   what other libraries answer about the flights of the demo; writes the file that it shows"
	@echo "make bench-audit  a million runs on two neighbouring tables (AUDIT=\"--help\" for options)"
	@echo "make bench-audit-peers  the same for other libraries, in an environment of its own (AUDIT=\"--help\" for options)"
	@echo "make package  build wheel and source distribution and check them as a package index does"
	@echo "make docs     build the documentation site into build/docs, in an environment of its own"
	@echo "make test PYTHON=python3.14 VENV=.venv-3.14   with another interpreter, in an environment of its own; quick, check, … too"
	@echo "make clean    remove .venv and caches"

demo: $(VENV)/core
	$(BIN)/flexdp demo

test: $(VENV)/test $(VENV)/browser $(VENV)/mariadb $(VENV)/clickhouse
	$(BIN)/python -m pytest -n $(WORKERS)

deep: $(VENV)/test $(VENV)/notebook $(VENV)/browser $(VENV)/mariadb $(VENV)/clickhouse
	FLEXDP_DEEP=1 $(BIN)/python -m pytest -n $(WORKERS)

quick: $(VENV)/test
	$(BIN)/python -m pytest -n $(WORKERS) --quick \
		$(foreach room,browser engines experiments sharp statistical,--ignore=tests/$(room))

check: lint types doctests

lint: $(VENV)/test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/test
	$(BIN)/mypy

# Fails where a test cannot be collected. What it compiles, the workers of the tests need not compile again, each of them.
collected: $(VENV)/test
	$(BIN)/python -m pytest --collect-only -qq > $(VENV)/collected.txt || { tail -n 60 $(VENV)/collected.txt; exit 1; }

doctests: $(VENV)/test
	$(BIN)/python -m pytest -n $(WORKERS) --doctest-modules src -q

verify: $(VENV)/test
	FLEXDP_DEEP=1 $(BIN)/python -m pytest -n $(WORKERS) tests/audit tests/noise tests/sharp tests/properties/test_errata.py \
		tests/statistical tests/calculus/test_privacy.py tests/release/test_units.py

# Coverage-guided, with findings in build/fuzz/findings; what it found so far is replayed by the tests.
FUZZ_SECONDS ?= 60
FUZZ_JOBS ?= 1
fuzz: $(VENV)/fuzz
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS) --jobs $(FUZZ_JOBS) $(FUZZ)

# Fails where the fuzzer cannot be installed: it is made for Linux.
$(VENV)/fuzz: $(VENV)/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[fuzz]"
	$(BIN)/python -c "import atheris"
	touch $@

# Exit code 1 if a mutant survives that tools/mutants.toml does not explain. MUTANTS="--help" for options.
mutants: .venv-mutants/ready
	.venv-mutants/bin/python tools/mutants.py $(MUTANTS)

.venv-mutants/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[test]" mutmut
	touch $@

TESTS ?= tests
floors: .venv-floors/test
	.venv-floors/bin/python -m pytest -n auto -m "not engine and not browser and not slow" $(TESTS)
	[ "$(TESTS)" != tests ] || .venv-floors/bin/python -m pytest -n auto -m engine -k "not spark" tests/engines

.venv-floors/test: pyproject.toml tools/floors.py
	$(PYTHON) -m venv .venv-floors
	$(PYTHON) tools/floors.py > .venv-floors/lowest.txt
	.venv-floors/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-floors/lowest.txt -e ".[test]"
	touch $@

bench: $(VENV)/bench
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

bench-panel: .venv-panel/ready
	.venv-panel/bin/python benchmarks/panel_peers.py $(PANEL)
	.venv-panel/bin/python benchmarks/panel_automatic.py

bench-peers: .venv-peers/ready .venv-tumult/ready
	.venv-peers/bin/python benchmarks/peers.py $(PEERS)

bench-demo: .venv-panel/ready
	.venv-panel/bin/python benchmarks/demo_peers.py

bench-audit: $(VENV)/test
	$(BIN)/python benchmarks/audit_sharp.py $(AUDIT)

bench-audit-peers: .venv-panel/ready
	.venv-panel/bin/python benchmarks/audit_peers.py $(AUDIT)

# Wheel and source distribution, as a package index would take them.
package: .venv-package/ready
	rm -rf dist
	.venv-package/bin/python -m build --quiet .
	.venv-package/bin/twine check --strict dist/*
	.venv-package/bin/check-wheel-contents dist/*.whl
	.venv-package/bin/pyroma --min 10 dist/*.tar.gz

.venv-package/ready:
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/python -m pip install --quiet --disable-pip-version-check build twine check-wheel-contents pyroma
	touch $@

# Warnings are errors, and the site must ask nothing of other hosts.
docs: .venv-docs/ready
	.venv-docs/bin/python -m sphinx -E -W --keep-going -q -b html -d build/doctrees docs build/docs
	.venv-docs/bin/python tools/check_site.py build/docs
	@echo "open build/docs/index.html"

.venv-docs/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

# Modules are compiled when they are first imported: most of what the tests bring never is.
$(VENV)/test: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[test]"
	touch $@ $(VENV)/core

# JupyterLab for the tests of notebook cards. Without it those tests are skipped, and say so.
$(VENV)/notebook: $(VENV)/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[notebook]"
	touch $@

# A browser for tests/browser: the installed one, else Debian's, installed by root only, or with SUDO="sudo -n".
# Without a browser those tests are skipped, and say so.
$(VENV)/browser: $(VENV)/bin/python
	@export DEBIAN_FRONTEND=noninteractive; get="apt-get install -qq -y --no-install-recommends chromium"; \
	if ! command -v chromium > /dev/null && { [ "$$(id -u)" = 0 ] || [ -n "$(SUDO)" ]; }; then \
		echo "*** INSTALLING Debian's chromium on this machine for the browser tests: $(SUDO) $$get"; \
		{ $(SUDO) $$get || { $(SUDO) apt-get update -qq && $(SUDO) $$get; }; } > /dev/null 2>&1 || true; \
	fi; \
	if command -v chromium > /dev/null; then touch $@; \
	else echo "*** No chromium: the browser tests will be skipped. Install it, or run make test SUDO=sudo."; fi

# A server for the tests of MariaDB: its programs alone, no service. Without it those tests are skipped, and say so.
$(VENV)/mariadb: $(VENV)/bin/python
	@export DEBIAN_FRONTEND=noninteractive; PATH="$$PATH:/usr/sbin"; \
	get="apt-get install -qq -y --no-install-recommends mariadb-server-core mariadb-client-core"; \
	if ! command -v mariadbd > /dev/null && { [ "$$(id -u)" = 0 ] || [ -n "$(SUDO)" ]; }; then \
		echo "*** INSTALLING Debian's MariaDB on this machine for its tests: $(SUDO) $$get"; \
		{ $(SUDO) $$get || { $(SUDO) apt-get update -qq && $(SUDO) $$get; }; } > /dev/null 2>&1 || true; \
	fi; \
	if command -v mariadbd > /dev/null; then touch $@; \
	else echo "*** No MariaDB: its tests will be skipped. Install it, or run make test SUDO=sudo."; fi

# ClickHouse for its tests: half a gigabyte, which the other commands do without.
$(VENV)/clickhouse: $(VENV)/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt chdb-core
	touch $@

$(VENV)/bench: $(VENV)/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	touch $@

# diffprivlib needs an older scikit-learn than the tests use.
.venv-panel/ready: pyproject.toml benchmarks/constraints.txt
	$(PYTHON) -m venv .venv-panel
	.venv-panel/bin/python -m pip install --quiet --disable-pip-version-check -c benchmarks/constraints.txt -e ".[panel]"
	touch $@

.venv-peers/ready: pyproject.toml benchmarks/constraints.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -c benchmarks/constraints.txt -e ".[panel,peers]"
	touch $@

# Tumult Analytics needs numpy 1, which flexdp cannot use. Without it, or without Java, the comparison says so.
.venv-tumult/ready: benchmarks/constraints-tumult.txt
	$(PYTHON) -m venv .venv-tumult
	.venv-tumult/bin/python -m pip install --quiet --disable-pip-version-check -c benchmarks/constraints-tumult.txt tmlt.analytics \
		|| { echo "*** Tumult Analytics could not be installed: it will be left out."; rm -rf .venv-tumult; mkdir .venv-tumult; }
	touch $@

clean:
	rm -rf .venv .venv-3.* .venv-floors .venv-mutants .venv-peers .venv-tumult .venv-panel .venv-package .venv-docs dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
