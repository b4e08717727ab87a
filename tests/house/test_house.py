"""The house rules: what is exported, which way imports point, what is imported when, what the files may say."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import flexdp

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "flexdp"
ROOMS = [  # imports point upwards only: a room may import those above it
    "version", "errors", "_core", "histogram", "divergence", "distribution", "buckets",
    "distances", "distortions", "guarantees", "calculus", "noise", "statistics", "mechanisms", "measure",
    "simulation", "accounting", "sharp", "tables", "_release", "planning", "report", "audit", "baselines",
    "experiments", "web", "cli", "__main__", "__init__",
]  # fmt: skip
ENGINES = {
    "duckdb": {"tables.engines.duckdb.session", "tables.files.columnar"},
    "pyarrow": {"tables.frames.source", "tables.frames.arrow", "tables.files.columnar"},
    "sqlite3": {"tables.engines.sqlite.session", "accounting.stores"},
    "psycopg": {"tables.engines.postgres.session", "accounting.stores"},
    "pyspark": {"tables.engines.spark.session"},
    "pymysql": {"tables.engines.mariadb.session"},
    "chdb": set(),
    "sqlalchemy": set(),
    "narwhals": set(),
    "sqlglot": set(),
    "scipy": {"distances.transport", "experiments.claims"},
    "numba": {"distances.line"},
    "matplotlib": {"experiments.figure"},
    "dp_accounting": {"accounting.composition"},
    "starlette": {"web.server"},
    "uvicorn": {"web.server"},
}


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = path
    return found


def place_of(module: str, *inside: str) -> Path:
    return SOURCE.parent.joinpath(*module.split("."), *inside).with_suffix(".py")


@cache
def imports(path: Path) -> frozenset[str]:
    out: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            submodules = {name for name in names if place_of(name).exists() or place_of(name, "__init__").exists()}
            out |= names | (set() if names == submodules else {node.module})
        elif isinstance(node, ast.Import):
            out |= {alias.name for alias in node.names}
    return frozenset(out)


def test_exported_names_are_pinned() -> None:
    assert sorted(flexdp.__all__) == [
        "Accuracy", "Answer", "BudgetError", "Certificate", "CertificateError", "Check", "Column", "DataError",
        "Dataset", "FlexdpError",
        "Histogram", "InputError", "Ledger", "LedgerError", "Privacy", "PrivacyWarning", "ReadingWarning", "Release",
        "Releases", "UnavailableError", "__version__", "check", "compose", "distortion_sensitivity",
        "error_sensitivity", "metric_sensitivity", "plan", "preserves_neighbours", "privacy_curve", "query", "release",
        "summary",
    ]  # fmt: skip
    assert all(hasattr(flexdp, name) for name in flexdp.__all__)


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_room_is_placed_and_imports_upwards() -> None:
    known = modules()
    assert {room(name) for name in known} == set(ROOMS)
    for name, path in known.items():
        for wanted in imports(path):
            target = room(wanted.removeprefix("flexdp."))
            if wanted.startswith("flexdp.") and target in ROOMS:
                assert ROOMS.index(target) <= ROOMS.index(room(name)), f"{name} imports {target}"


def test_no_module_of_a_room_needs_itself() -> None:
    """Following imports never leads back to where it began, in rooms with several modules too."""
    known = modules()
    wanted = {name: {each.removeprefix("flexdp.") for each in imports(path)} for name, path in known.items()}
    needs = {name: found & set(known) for name, found in wanted.items()}
    done: set[str] = set()
    while ready := {name for name, found in needs.items() if name not in done and found - {name} <= done}:
        done |= ready
    assert set(known) - done == set()


def test_engines_are_imported_in_their_place_only() -> None:
    for name, path in modules().items():
        for engine, places in ENGINES.items():
            uses = any(wanted.split(".")[0] == engine for wanted in imports(path))
            assert not uses or name in places, f"{name} imports {engine}"
        assert not {"pandas", "polars", "random", "secrets"} & {w.split(".")[0] for w in imports(path)}, name


def test_every_engine_has_the_same_files() -> None:
    """How it says things and reads cells, how statements run, what it refuses."""
    from flexdp.tables.engines.registry import ENGINES

    folder = SOURCE / "tables" / "engines"
    assert sorted(engine.name for engine in ENGINES) == sorted(
        path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "_"
    )
    for engine in ENGINES:
        names = {path.name for path in (folder / engine.name).glob("*.py")}
        assert names - {"rows.py"} == {"__init__.py", "dialect.py", "session.py", "engine.py"}, engine.name


def test_nothing_outside_knows_the_name_of_an_engine() -> None:
    """DuckDB alone has a second life: it reads files, frames and arrays in this process."""
    for name, path in modules().items():
        outside = not name.startswith("tables.engines.")
        for wanted in imports(path) if outside else ():
            engine = wanted.removeprefix("flexdp.tables.engines.").split(".")[0] if ".engines." in wanted else ""
            assert engine in ("", "registry", "duckdb", "drivers"), f"{name} imports {wanted}"


def test_randomness_lives_in_the_noise_room_alone() -> None:
    for name, path in modules().items():
        text = path.read_text()
        # Studies on simulated or public data are seeded: one module makes their streams, and no release can reach it.
        if name not in ("noise.sampler", "noise.continuous", "simulation"):
            assert not re.search(r"urandom|default_rng|np\.random|numpy\.random", text), name


def test_releases_know_no_baselines() -> None:
    users = {name for name, path in modules().items() if any("flexdp.baselines" in w for w in imports(path))}
    assert not {room(user) for user in users} & {"noise", "mechanisms", "tables", "_release"}


def test_releases_know_no_seeded_streams() -> None:
    users = {name for name, path in modules().items() if any("flexdp.experiments" in w for w in imports(path))}
    assert all(name.startswith("experiments") or name == "cli.lab" for name in users), users
    makers = {
        name for name, path in modules().items() if re.search(r"SeedSequence|PCG64|Generator\(", path.read_text())
    }
    assert makers <= {"noise.continuous", "simulation"}, makers


def test_noise_in_doubles_is_for_study_only() -> None:
    users = {name for name, path in modules().items() if "flexdp.noise.continuous" in imports(path)}
    assert users <= {"mechanisms.stlap", "mechanisms.laplace", "baselines.bars"}
    assert "continuous" not in "".join(path.read_text() for path in (SOURCE / "_release").glob("*.py"))


def test_importing_flexdp_loads_no_engine() -> None:
    names = (
        "duckdb",
        "sqlite3",
        "psycopg",
        "pyspark",
        "pymysql",
        "sqlalchemy",
        "scipy",
        "numba",
        "pandas",
        "polars",
        "pyarrow",
        "click",
        "rich",
        "matplotlib",
        "starlette",
        "uvicorn",
        "dp_accounting",
        "flexdp.experiments",
    )
    code = f"import sys, flexdp; print([m for m in {names} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_module_names_its_exports_and_says_what_it_is() -> None:
    for name, path in modules().items():
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), name
        if name not in ("version",):
            assert "__all__" in path.read_text(), name


def test_the_version_is_one() -> None:
    declared = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert declared and declared.group(1) == flexdp.__version__
    assert f"[{flexdp.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_constraints_pin_versions_and_name_no_host() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)


def test_the_package_is_typed() -> None:
    assert (SOURCE / "py.typed").exists()


def test_every_statement_of_the_paper_has_code_and_a_test() -> None:
    rows = re.findall(
        r"^\| (.+?) \| .+? \| `(.+?)` \| `(.+?)` \|$", (ROOT / "docs" / "theory.md").read_text(), re.MULTILINE
    )
    numbered = [row[0] for row in rows if re.match(r"(Def|Thm|Lem|Cor|Claim|Rem)\S* \d+", row[0])]
    counts = {
        kind: sum(name.startswith(kind) for name in numbered) for kind in ("Def", "Thm", "Lem", "Cor", "Claim", "Rem")
    }
    assert counts == {"Def": 9, "Thm": 6, "Lem": 13, "Cor": 3, "Claim": 13, "Rem": 6}
    for statement, code, test in rows:
        parts = code.split(".")
        place: object = flexdp
        if parts[0] != "Release":
            place = importlib.import_module(f"flexdp.{parts.pop(0)}")
        for part in parts:
            fields = getattr(place, "__dataclass_fields__", {})
            assert hasattr(place, part) or part in fields, (statement, code)
            place = getattr(place, part, None)
        module, name = test.split(".")
        assert re.search(rf"^def {name}\(", next((ROOT / "tests").rglob(f"{module}.py")).read_text(), re.MULTILINE), (
            statement,
            test,
        )


def test_every_statement_of_the_paper_has_a_verdict() -> None:
    """It stands, or the errata say what had to be repaired: every verdict but the plain one links there."""
    theory, errata = ((ROOT / "docs" / name).read_text() for name in ("theory.md", "errata.md"))
    table = theory.split("## Every statement of the paper")[1]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 50 and {len(row) for row in rows} == {5}
    headings = re.findall(r"^## (.+)$", errata, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert len(anchors) == len(headings)
    for statement, _, verdict, _, _ in rows:
        links = re.findall(r"\]\(errata\.md#([^)]+)\)", verdict)
        assert verdict == "stands" or (re.match("stands; |false, repaired: ", verdict) and links), statement
        assert set(links) <= anchors, statement
    assert "what is not corrected on this page was checked and stands" in " ".join(errata.split())


def test_every_erratum_has_a_check() -> None:
    text = (ROOT / "docs" / "errata.md").read_text()
    for section in text.split("\n## ")[1:]:
        assert ">>> " in section or "`test_" in section, section.splitlines()[0]
    named = set(re.findall(r"`(test_\w+)`", text))
    written = set(
        re.findall(r"^def (test_\w+)\(", (ROOT / "tests" / "properties" / "test_errata.py").read_text(), re.MULTILINE)
    )
    assert named <= written
    assert written - named <= {"test_the_two_forms_of_the_condition_agree"}


def test_scipy_and_numba_are_loaded_when_first_used() -> None:
    for name in ENGINES["scipy"] | ENGINES["numba"]:
        for node in ast.parse(modules()[name].read_text()).body:
            wanted = ast.unparse(node) if isinstance(node, ast.Import | ast.ImportFrom) else ""
            assert not re.search(r"\b(scipy|numba)\b", wanted), name
    code = (
        "import sys, flexdp.distances, flexdp.distortions; print([m for m in ('scipy', 'numba') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_every_test_that_quick_leaves_out_exists() -> None:
    """A renamed test must not slip back into ``make quick`` unnoticed."""
    tests = ROOT / "tests"
    listed = ast.literal_eval(
        next(
            ast.unparse(node.value)
            for node in ast.parse((tests / "conftest.py").read_text()).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SLOW"
        )
    )
    for file, names in listed.items():
        written = set(re.findall(r"^def (test_\w+)\(", (tests / file).read_text(), re.MULTILINE))
        assert set(names) <= written, f"{file} has no {set(names) - written}"


def test_every_requirement_has_one_lowest_version() -> None:
    """``make floors`` installs exactly these; the versions that the tests usually run with are not below them."""
    loaded = importlib.util.spec_from_file_location("floors", ROOT / "tools" / "floors.py")
    assert loaded is not None and loaded.loader is not None
    tool = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(tool)
    lowest = tool.floors((ROOT / "pyproject.toml").read_text())
    pinned = dict(
        line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line
    )
    assert {"numpy", "duckdb", "click", "rich"} <= set(lowest)
    for name, version in lowest.items():
        assert numbers(version) <= numbers(pinned[name]), name
    for wrong in ("numpy", "numpy>=2,<3", "numpy==2.1"):
        with pytest.raises(ValueError, match="has no lowest version"):
            tool.floors(f'[project]\ndependencies = ["{wrong}"]\noptional-dependencies = {{}}')
    with pytest.raises(ValueError, match="has two lowest versions"):
        tool.floors('[project]\ndependencies = ["a>=1"]\noptional-dependencies = { x = ["a>=2"] }')


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))
