"""Spark DataFrames: the nodes of the analysed plan, before an optimiser could hide a step."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from flexdp.tables.records import all_different, checked, local_path, not_records

__all__ = ["check_frame"]

_ROW_BY_ROW = {
    "Project", "Filter", "SubqueryAlias", "View", "Sort", "Repartition", "RepartitionByExpression", "ResolvedHint",
    "CollectMetrics", "WithCTE", "CTERelationDef", "CTERelationRef",
}  # fmt: skip
_SCANS = {
    "LogicalRelation", "LogicalRDD", "LocalRelation", "HiveTableRelation", "DataSourceV2Relation", "Range",
    "OneRowRelation",
}  # fmt: skip
# Classes of expressions that look at several rows, run code, fail at a row or read a variable.
_FORBIDDEN = re.compile(
    r'"class":"(?![^"]*\.plans\.logical\.)'
    r'[^"]*(?:Subquery|UDF|UDAF|Udf|Exists|Aggregat|Window|Generator|RaiseError|AssertTrue|VariableReference)'
)
_ROW_NUMBERS = re.compile(r'"name":"_metadata"', re.IGNORECASE)  # the hidden column of files with numbers of rows
# Formats of files and tables that keep rows; others may compute them, or take them from elsewhere.
_FORMATS = {"parquet", "csv", "json", "orc", "text", "xml", "avro", "binaryfile", "delta", "iceberg", "hudi"}
# Steps of an RDD that are not made of the one below: of a list, the partitions; of a frame, its scan or its cache.
_BASES = re.compile(r"\b(?!MapPartitionsRDD|PythonRDD)(\w+RDD)\b(?=\[)")


def check_frame(frame: Any) -> None:
    """Refuse a DataFrame unless it makes each of its rows of one row of one scan; of Connect, unless it is a scan."""

    def check() -> None:
        if not (_is_row_by_row(frame._jdf.queryExecution().analyzed()) if hasattr(frame, "_jdf") else _is_read(frame)):
            raise not_records()

    checked(check)


def _is_row_by_row(plan: Any) -> bool:
    """Tell whether a plan in the JVM has one scan, and above it only steps and expressions that look at one row."""
    text = str(plan.toJSON())
    names = [str(node["class"]).rpartition(".")[2] for node in json.loads(text)]
    leaves = [leaf for leaf in _listed(plan.collectLeaves()) if str(leaf.nodeName()) != "CTERelationRef"]
    return (
        _ROW_BY_ROW.issuperset(set(names) - _SCANS)
        and sum(name in _SCANS for name in names) == len(leaves) == 1
        and bool(plan.deterministic())
        and not _FORBIDDEN.search(text)
        and not _ROW_NUMBERS.search(text)
        and _keeps_rows(leaves[0])
    )


def _keeps_rows(leaf: Any) -> bool:
    """Tell whether the rows of a source are stored, and no file of it is read twice."""
    kind = str(leaf.getClass().getSimpleName())
    if kind == "LogicalRDD":  # of a list; no checkpoint
        bases = _BASES.findall(str(leaf.rdd().toDebugString()))
        return bases == ["ParallelCollectionRDD"] and all(
            str(each) == "None" for each in _listed(leaf.otherCopyArgs())[1:3]
        )
    if kind == "LogicalRelation":
        files = str(leaf.relation().getClass().getSimpleName()) == "HadoopFsRelation"
        return files and _reads_files_once(leaf.relation().location())
    made = str(leaf.table().getClass().getName()).upper() if kind == "DataSourceV2Relation" else ""
    return "JDBC" not in made and "PYTHON" not in made


def _reads_files_once(location: Any) -> bool:
    """Tell whether the files of a scan are different: patterns are expanded, a directory may hold another path."""
    files = [str(path) for path in _listed(location.rootPaths())]
    if str(location.getClass().getSimpleName()) == "InMemoryFileIndex":  # of paths; it has listed them
        files = [str(file) for file in location.inputFiles()]  # one that is read twice is there twice
    if len(set(files)) < len(files):
        return False
    return not all(Path(local_path(file)).exists() for file in files) or all_different(files)


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


def _is_read(frame: Any) -> bool:
    """Tell whether a frame of Spark Connect reads one stored table or one path, and does nothing else."""
    session = frame.sparkSession
    root = frame._plan.to_proto(session.client).root
    if root.WhichOneof("rel_type") != "read":
        return False
    if not root.read.HasField("named_table"):
        source = root.read.data_source
        return source.format.lower() in _FORMATS and len(source.paths) == 1
    name = root.read.named_table.unparsed_identifier
    described = {str(row[0]): str(row[1]) for row in session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()}
    return described.get("Type") in ("MANAGED", "EXTERNAL") and described.get("Provider", "").lower() in _FORMATS
