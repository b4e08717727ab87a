"""Plans of Spark DataFrames: the analysed logical plan, before an optimiser could hide a step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from flexdp.tables.plans.connect import FORMATS, check_message, names_of
from flexdp.tables.plans.files import all_different, local_path
from flexdp.tables.plans.refusal import UNKNOWN, checked, file_twice, not_records

__all__ = ["check_frame"]

_ROW_BY_ROW = {
    "Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression", "ResolvedHint",
    "CollectMetrics", "LogicalRelation", "Relation", "LogicalRDD", "LocalRelation", "HiveTableRelation", "RelationV2",
    "DataSourceV2Relation", "Range", "OneRowRelation", "WithCTE", "CTERelationDef", "CTERelationRef",
}  # fmt: skip
_REASONS = {
    "Window": "a window", "Aggregate": "an aggregate", "GlobalLimit": "a limit", "LocalLimit": "a limit",
    "Tail": "a limit", "Offset": "a limit", "Join": "a join", "AsOfJoin": "a join", "Distinct": "DISTINCT",
    "Deduplicate": "DISTINCT", "Sample": "a sample", "Generate": "a step that makes several rows of one",
    "Expand": "a step that makes several rows of one", "Pivot": "a pivot", "Intersect": "INTERSECT",
    "Except": "EXCEPT", "Union": "a UNION of what may be the same records twice",
}  # fmt: skip
_MANY_ROWS = re.compile(
    r"Subquery|UDF|UDAF|Exists|Aggregat|Window|Generator|Udf|RaiseError|AssertTrue|VariableReference"
)
_PLACES = "_metadata"  # the hidden column of files with the numbers of rows and the sizes of blocks
# Steps of an RDD that are not made of the one below: of a list, the partitions; of a frame, its scan or its cache.
_BASES = re.compile(r"\b(?!MapPartitionsRDD|PythonRDD)(\w+RDD)\b(?=\[)")
_ELSEWHERE = "a table of another database, which may be a view"
_TWICE = "the same file twice"
_VARIABLE = "a variable of the session, which may have been computed from other rows"
_OWN = "org.apache.spark.sql.catalyst.expressions."  # where the functions of Spark itself are
_MOST_NODES = 20_000


def check_frame(frame: Any) -> None:
    """Refuse a DataFrame unless its plan works row by row."""
    if not hasattr(frame, "_jdf"):
        checked(lambda: _check_connect(frame))
        return
    names: list[str] | None = None
    deterministic, doubt = False, ""
    with suppress(Exception):  # the engine's message is not repeated; refused below
        names, deterministic, doubt = _classic(frame._jdf.queryExecution().analyzed())
    if names is None:
        raise not_records("a plan that cannot be read")
    for name in names:
        if name not in _ROW_BY_ROW:
            raise not_records(_REASONS.get(name, UNKNOWN))
    if doubt:
        raise file_twice() if doubt == _TWICE else not_records(doubt)
    if not deterministic:
        raise not_records("a subquery, code of its own or an expression that fails or depends on the order of rows")


def _classic(plan: Any) -> tuple[list[str], bool, str]:
    """Return the steps of a plan in the JVM, True if each expression looks at one row, and a doubt about sources."""
    names, sound, seen, doubt = [], True, 0, ""
    for node in _nodes(plan):
        names.append(str(node.nodeName()))
        doubt = doubt or _doubt(node)
        for expression in _listed(node.expressions()):
            for part in _nodes(expression):
                seen += 1
                simple = str(part.getClass().getSimpleName())
                if not part.deterministic() or _MANY_ROWS.search(simple) or seen > _MOST_NODES:
                    sound = False
                if simple == "AttributeReference" and str(part.name()).lower() == _PLACES:
                    sound = False
    return names, sound, doubt


def _doubt(node: Any) -> str:
    """Return why the rows of a source need not be records, or nothing."""
    kind = str(node.getClass().getSimpleName())
    if kind == "LogicalRDD":
        checkpoint = any(str(each) != "None" for each in _listed(node.otherCopyArgs())[1:3])
        listed = _BASES.findall(str(node.rdd().toDebugString())) == ["ParallelCollectionRDD"]
        return "" if listed and not checkpoint else "a checkpoint or an RDD, whose plan is not shown"
    if kind == "LogicalRelation":
        if str(node.relation().getClass().getSimpleName()) != "HadoopFsRelation":
            return _ELSEWHERE
        return "" if _read_once(node.relation().location()) else _TWICE
    if kind == "DataSourceV2Relation":
        made = str(node.table().getClass().getName()).upper()
        return _ELSEWHERE if "JDBC" in made else "a source that computes its rows" if "PYTHON" in made else ""
    return ""


def _read_once(location: Any) -> bool:
    """Tell whether the files of a scan are different: patterns are expanded, a directory may hold another path."""
    files = [str(path) for path in _listed(location.rootPaths())]
    if (
        str(location.getClass().getSimpleName()) == "InMemoryFileIndex"
    ):  # of paths, not of a catalogue; it has listed them
        files = [str(file) for file in location.inputFiles()]  # one that is read twice is there twice
    if len(set(files)) < len(files):
        return False
    return not all(Path(local_path(file)).exists() for file in files) or all_different(files)


def _nodes(root: Any) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += _listed(node.children())


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _check_connect(frame: Any) -> None:
    """Check a frame of Spark Connect: the plan that the client holds, and what its names stand for on the server."""
    session = frame.sparkSession
    root = frame._plan.to_proto(session.client).root
    check_message(root, lambda name: _is_table(session, name), lambda name: _is_builtin(session, name))
    # An explained plan would show variables, too, but is optimised, which computes with the cells of local rows.
    if any(_is_variable(session, name) for name in sorted(names_of(root))):
        raise not_records(_VARIABLE)


def _is_table(session: Any, name: str) -> bool:
    """Tell whether a name is that of a stored table, not of a view or of a source that may compute its rows."""
    if str(session.catalog.getTable(name).tableType) not in ("MANAGED", "EXTERNAL"):
        return False
    described = {str(row[0]): str(row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
    return described.get("Provider", "").lower() in FORMATS - {""}


def _is_builtin(session: Any, name: str) -> bool | None:
    """Tell whether a name calls a function of Spark itself; None if there is no function of that name."""
    if name in ("<>", "!="):  # without a class; no other function can have their names
        return True
    found = None
    with _unresolved():
        found = str(session.catalog.getFunction(f"`{name.lower()}`").className)
    return None if found is None else found.startswith(_OWN) and "UDF" not in found.upper()


def _is_variable(session: Any, name: str) -> bool:
    """Tell whether a variable of the session has a name."""
    escaped = name.replace("`", "``")
    with _unresolved():
        return bool(session.sql(f"SELECT system.session.`{escaped}` AS v").columns)
    return False


@contextmanager
def _unresolved() -> Iterator[None]:
    """Let pass that a name stands for nothing; every other failure is raised."""
    try:
        yield
    except Exception as error:
        if not any(cls.__name__ == "AnalysisException" for cls in type(error).__mro__):
            raise
