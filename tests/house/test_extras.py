"""The core runs without any optional package, and what needs one says which and how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OPTIONAL = (
    "scipy", "sqlglot", "pymysql", "sqlalchemy", "matplotlib", "numba", "sklearn", "pandas", "polars", "pyarrow",
    "psycopg", "pyspark", "starlette", "uvicorn", "dp_accounting", "openpyxl",
)  # fmt: skip


def without(packages: tuple[str, ...], code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter in which these packages cannot be imported."""
    blocked = f"import sys\nfor name in {packages!r}: sys.modules[name] = None\n"
    return subprocess.run(
        [sys.executable, "-c", blocked + code], capture_output=True, text=True, check=False, cwd=folder
    )


def test_releases_reports_and_plans_need_no_optional_package(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,w\n" + "5,a\n7,b\n" * 200)
    code = """
import flexdp
from flexdp.cli import cli
r = flexdp.release("t.csv", "x", epsilon=1, delta=1e-6, width=5, bounds=(0, 20), by="w")
r.report("t.html"); str(r.max()); r.certificate(); r.mechanism.privacy; flexdp.query("t.csv", "x", width=5)
flexdp.query("t.csv", "x", width=5, dialect="postgres")
str(flexdp.plan(epsilon=1, delta=1e-6, buckets=24, records_about=50_000))
flexdp.distances.lossy_winf([1.0, 2.0], [1.0, 3.0])
cli.main(["demo"], standalone_mode=False)
flexdp.Ledger("b.db").create("t", epsilon=2, delta="1e-5")
paid = flexdp.release("t.csv", "x", epsilon=1, delta=1e-6, width=5, kind="number", ledger="b.db", dataset="t")
flexdp.compose([r, paid], delta="1e-5")
assert flexdp.audit.verify_document(r.to_json()).holds
"""
    out = without(OPTIONAL, code, tmp_path)
    assert out.returncode == 0, out.stderr


@pytest.mark.parametrize(
    ("package", "call", "words"),
    [
        ("scipy", "flexdp.distances.lossy_winf([[0, 1.0]], [[2, 3.0]])", "needs scipy: run pip install 'flexdp[lab]'"),
        ("pyarrow", "flexdp.query('t.arrow', 'x')", "needs pyarrow: run pip install 'flexdp[arrow]'"),
        ("pymysql", "flexdp.query(('mariadb://h/d', 't'), 'x')", "needs PyMySQL. Run pip install 'flexdp[mariadb]'"),
        ("pyarrow", "flexdp.query(Stream(), 'x', rows_are_records=True)", "is an Arrow stream, which needs pyarrow"),
        (
            "dp_accounting",
            "flexdp.privacy_curve([flexdp.Privacy(epsilon=1, delta=0)]).to_dp_accounting()",
            "needs dp_accounting: run pip install 'flexdp[accounting]'",
        ),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    package: str, call: str, words: str, tmp_path: Path
) -> None:
    stream = "class Stream:\n    def __arrow_c_stream__(self, requested_schema=None): raise AssertionError\n"
    code = f"import flexdp\n{stream}try:\n    {call}\nexcept flexdp.InputError as error:\n    print(error)"
    (tmp_path / "t.arrow").touch()
    out = without((package,), code, tmp_path)
    assert out.returncode == 0 and words in out.stdout, out
