"""Mutation testing: change one thing in a module, run the tests that reach it, and see whether one fails.

``make mutants`` runs it in an environment of its own. The tool is mutmut 3: it puts all mutants of a function beside
it, records which tests call the function, and forks a process for each mutant, so that nothing is imported twice.
Here stand the rooms with their tests, what is not mutated, and the report. Everything happens on copies under
``build/mutants``. Survivors that change nothing a test could see stand in ``tools/mutants.toml``, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "flexdp"
WORK = ROOT / "build" / "mutants"
EXPLAINED = ROOT / "tools" / "mutants.toml"
PLUGIN = "mutants_plugin"


@dataclass(frozen=True)
class Room:
    """Modules to mutate, and the tests that are to notice."""

    modules: tuple[str, ...]  # patterns under src/flexdp
    tests: tuple[str, ...]  # patterns under tests
    without: tuple[str, ...] = ()  # tests that start processes, or whose subject is another room


ROOMS = {
    "noise": Room(
        tuple(
            f"noise/{name}.py"
            for name in ("bits", "certificate", "drop", "exponential", "geometric", "sampler", "table")
        ),
        ("noise",),
    ),
    "calibration": Room(
        ("noise/calibration.py", "noise/continuous.py"),
        (
            "calculus/test_privacy.py",
            "planning/test_planning.py",
            "mechanisms/test_mechanisms.py",
            "statistical/test_laws.py",
        ),
    ),
    "sharp": Room(
        tuple(
            f"sharp/{name}.py"
            for name in ("column", "count", "exponentials", "ladder", "promise", "quantile", "ranks", "shares", "tails")
        ),
        ("sharp/test_pieces.py", "sharp/test_sharp_*.py", "sharp/test_automatic_edges.py"),
    ),
    "calculus": Room(
        tuple(f"calculus/{name}.py" for name in ("privacy", "loss", "accuracy")),
        ("calculus", "mechanisms/test_guarantees.py", "mechanisms/test_mechanisms.py"),
    ),
    "accounting": Room(
        tuple(f"accounting/{name}.py" for name in ("budget", "calibration", "composition", "lattice", "losses")),
        ("accounting/test_composition.py", "release/test_budgets.py"),
    ),
    "sql": Room(
        (*(f"tables/sql/{name}.py" for name in ("bucket_expressions", "query", "results")), "tables/where/sql.py"),
        (
            "engines/test_contract.py",
            "engines/test_ranks.py",
            "engines/test_snapshots.py",
            "engines/test_where.py",
            "tables/test_which_bucket.py",
            "tables/test_far_dates.py",
            "tables/test_nan_in_filters.py",
            "tables/test_nan_in_parquet.py",
            "tables/test_where.py",
            "tables/test_where_sql.py",
        ),
    ),
    "ranks": Room(
        ("tables/sql/rank_query.py", "tables/ranks.py"),
        ("engines/test_ranks.py", "engines/test_listed_groups.py", "tables/test_ranks_of_files.py"),
    ),
    "sentences": Room(
        tuple(
            f"_release/{name}.py"
            for name in ("sentences", "promises", "asked_sentences", "automatic_words", "stat_words")
        ),
        tuple(
            f"release/test_{name}.py"
            for name in (
                *("about", "answers", "asked_sentences", "automatic", "groups", "interpolation", "moments"),
                *("promises", "release", "sentences", "times", "units"),
            )
        ),
    ),
}

# Decorators that the tool would leave alone together with their functions: they are applied after the function instead.
_MOVED = {"property", "cached_property", "lru_cache", "cache", "functools.cache", "contextmanager"}
# Functions whose first argument is the name of a parameter, for an error's text.
_NAMING = {"P", "choice", "exact", "flag", "function", "instance", "integer", "path_text", "text"}
# Tests of engines run on DuckDB and SQLite, which need no server; the words of a statement need no engine at all.
_SERVED = "not spark and not postgres and not mariadb and not clickhouse"
_ENGINES = f"not browser and (has_not_changed or ((not engines or duckdb or sqlite) and {_SERVED}))"
_READ = ("tests", "docs", "examples")  # folders that tests read
_NOTICED = ("killed", "timed out")


def main() -> int:
    """Run the chosen rooms one after the other and report; 1 if a mutant survived without an explanation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", help="rooms, folders or modules, e.g. noise or src/flexdp/noise/table.py")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time (2)")
    parser.add_argument("--sample", type=int, help="so many mutants of each module, always the same ones")
    parser.add_argument(
        "--retry", action="store_true", help="run only survivors of the last time that are not explained"
    )
    parser.add_argument("--resume", action="store_true", help="run also what an interrupted run had not come to")
    parser.add_argument("--only", help="of the room's tests, those with such names, as pytest's -k takes them")
    parser.add_argument("--seconds", type=float, default=2.0, help="processor time for the tests of one mutant (2)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return _inside(json.loads(options.inside))
    results: list[dict[str, Any]] = []
    for name, modules in _chosen(options.paths).items():
        work = WORK / name
        _prepare(modules, work, keep=options.retry or options.resume)
        order = {"room": name, "modules": modules, "jobs": options.jobs, "sample": options.sample}
        order["tests"] = f"({_ENGINES}) and ({options.only})" if options.only else _ENGINES
        order["seconds"] = options.seconds
        order["new"] = options.resume or not options.retry
        sys.stderr.write(f"{name}: {len(modules)} modules\n")
        code = subprocess.run(
            [sys.executable, __file__, "--inside", json.dumps(order)], cwd=work, check=False
        ).returncode
        if code:
            return code
        results += _found(work)
    return _report(results, sample=options.sample)


def _chosen(paths: list[str]) -> dict[str, list[str]]:
    """Return the modules to mutate by room, as paths under ``src/flexdp``."""
    rooms = {
        name: [
            each.relative_to(SOURCE).as_posix()
            for pattern in room.modules
            for each in sorted(SOURCE.glob(pattern))
            if each.name != "__init__.py"
        ]
        for name, room in ROOMS.items()
    }
    wanted = [path.removeprefix("src/flexdp/").rstrip("/") for path in paths]
    chosen = {
        name: [each for each in modules if not wanted or any(_is_within(each, name, place) for place in wanted)]
        for name, modules in rooms.items()
    }
    lost = [place for place in wanted if not any(_is_within(e, n, place) for n, found in chosen.items() for e in found)]
    if lost:
        raise SystemExit(f"{lost[0]} is in no room that is mutated; the rooms are {', '.join(ROOMS)}")
    return {name: modules for name, modules in chosen.items() if modules}


def _is_within(module: str, room: str, place: str) -> bool:
    return place == room if place in ROOMS else module == place or module.startswith(f"{place}/")


def _prepare(modules: list[str], work: Path, *, keep: bool) -> None:
    """Copy source and tests, with settings for the tool. What the last run found is kept for ``--retry`` alone."""
    found = _found(work) if keep else []
    shutil.rmtree(work, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__")
    for folder in ("src", *_READ):
        shutil.copytree(ROOT / folder, work / folder, ignore=ignored)
    for module in modules:
        path = work / "src" / "flexdp" / module
        path.write_text(_rewritten(path.read_text()))
    for file in (f"tools/{PLUGIN}.py", "README.md"):
        shutil.copy(ROOT / file, work)
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"src/flexdp/{module}" for module in modules],
        "also_copy": [f"{PLUGIN}.py", "README.md", *_READ],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    project = (ROOT / "pyproject.toml").read_text()
    (work / "pyproject.toml").write_text("\n".join([project, "[tool.mutmut]", *lines, ""]))
    (work / "result.json").write_text(json.dumps(found))


def _found(work: Path) -> list[dict[str, Any]]:
    """Return the mutants of the last run of a room with what became of them, also if it was interrupted."""
    results, fates = work / "result.json", work / "mutants" / "fates.jsonl"
    if not results.exists():
        return []
    ended = dict(json.loads(line) for line in fates.read_text().splitlines()) if fates.exists() else {}
    return [each | {"fate": ended.get(each["name"], each["fate"])} for each in json.loads(results.read_text())]


def _rewritten(source: str) -> str:
    """Return a module in the form in which it is mutated.

    A decorated function becomes a plain one and a call of its decorator: the tool mutates no decorated functions. Lines
    of error messages and of ``__repr__`` are marked as not to be mutated.
    """
    lines = source.splitlines()
    after: dict[int, list[str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _called(node).endswith("Error")):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                _mark(lines, number, "no mutate")
        elif isinstance(node, ast.FunctionDef) and node.name == "__repr__":
            _mark(lines, node.lineno, "no mutate block")
        elif isinstance(node, ast.FunctionDef) and len(node.decorator_list) == 1:
            (decorator,) = node.decorator_list
            if ast.unparse(decorator).split("(")[0] in _MOVED:
                for number in range(decorator.lineno, (decorator.end_lineno or 0) + 1):
                    lines[number - 1] = ""
                call = f"{' ' * node.col_offset}{node.name} = {ast.unparse(decorator)}({node.name})"
                after.setdefault(node.end_lineno or 0, []).append(call)
    return "\n".join(part for i, line in enumerate(lines, 1) for part in (line, *after.get(i, ()))) + "\n"


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).split(".")[-1]


def _mark(lines: list[str], number: int, pragma: str) -> None:
    if "# pragma:" not in lines[number - 1]:
        lines[number - 1] += f"  # pragma: {pragma}"


def _inside(order: dict[str, Any]) -> int:
    """Generate and run the mutants of one room, in its folder, and write down what became of each."""
    import libcst
    from mutmut import __main__ as tool
    from mutmut.mutation import mutators

    others = {"operator_string": _other_text, "operator_name": _other_name, "operator_arg_removal": _other_arguments}
    mutators.mutation_operators[:] = [  # type: ignore[index]
        (kind, others.get(each.__name__, each)) for kind, each in mutators.mutation_operators
    ]
    if order["room"] in ("sql", "ranks"):
        mutators.mutation_operators.append((libcst.FormattedStringText, _other_sql))  # type: ignore[attr-defined]
    Path("mutants").mkdir(exist_ok=True)
    with tool.CatchOutput():
        tool.copy_src_dir()
        tool.copy_also_copy_files()
        tool.create_mutants(order["jobs"])
    result = Path("result.json")
    before = {_key(each): each["fate"] for each in json.loads(result.read_text())}
    mutants = [each | {"fate": before.get(_key(each), "")} for each in _mutants(order["modules"])]
    result.write_text(json.dumps(mutants, indent=1))
    Path("mutants/fates.jsonl").touch()
    chosen = [each for each in _sampled(mutants, order["sample"]) if each["fate"] not in _NOTICED]
    known = _explained()
    names = [each["name"] for each in chosen if order["new"] or (each["fate"] and _key(each)[:-1] not in known)]
    Path("mutants/order.json").write_text(json.dumps(order | {"names": names}))
    room = ROOMS[order["room"]]
    without = [option for each in room.without for option in ("--deselect", f"tests/{each}")]
    tests = [str(path) for pattern in room.tests for path in sorted(Path("tests").glob(pattern))]
    options = ["-p", PLUGIN, "-p", "no:cacheprovider", "--rootdir=.", "--tb=native", "-k", order["tests"]]
    command = [sys.executable, "-m", "pytest", *options, *without, *tests]
    tell = os.dup(2)
    environment = os.environ | {"PYTHONPATH": "src:.", "MUTANTS_TELL": str(tell)}
    with Path("log.txt").open("w") as log:
        ended = subprocess.run(command, cwd="mutants", env=environment, pass_fds=[tell], stdout=log, check=False)
    if ended.returncode not in (0, 5):
        sys.stderr.write(Path("log.txt").read_text()[-3000:])
        return 2
    return 0


def _mutants(modules: list[str]) -> list[dict[str, Any]]:
    """Return each mutant with what it changes."""
    from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
    from mutmut.mutation.diff_apply import generated_function_names
    from mutmut.utils.format_utils import orig_function_and_class_names_from_key

    out: list[dict[str, Any]] = []
    for module in modules:
        path = Path("src/flexdp") / module
        data, spans = SourceFileMutationData(path=path), MutantLineSpans.load(path)
        data.load()
        assert spans is not None
        seen: Counter[tuple[str, ...]] = Counter()
        for name in data.exit_code_by_key:
            function, within = orig_function_and_class_names_from_key(name)
            generated = generated_function_names(name)
            sources = spans.read_function_sources(generated)
            texts = [text.replace(own, function) for text, own in zip(sources, generated, strict=True)]
            change = list(unified_diff(*(text.splitlines() for text in texts), n=0, lineterm=""))[2:]
            before, after = (
                "\n".join(line[1:].split("  # pragma:")[0].strip() for line in change if line[0] == sign)
                for sign in "-+"
            )
            place = f"{within}.{function}" if within else function
            seen[place, before, after] += 1
            each = {"module": module, "function": place, "before": before, "after": after, "name": name}
            out.append(each | {"number": seen[place, before, after]})
    return out


def _key(mutant: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(mutant[part] for part in ("module", "function", "before", "after", "number"))


# In SQL, also the text of f-strings.
_OPPOSITES = (
    (" >= ", " > "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" < ", " <= "),
    (" = ", " <> "),
    (" <> ", " = "),
    (" AND ", " OR "),
    (" OR ", " AND "),
    (" NOT ", " "),
    ("DISTINCT ", ""),
    (" + ", " - "),
    (" - ", " + "),
    ("min(", "max("),
    ("max(", "min("),
    ("TRUE", "FALSE"),
    ("FALSE", "TRUE"),
)
_UNTOUCHED: dict[int, Any] = {}  # by identity: names of parameters in error messages, and "strict" of zip


def _other_text(node: Any) -> Iterator[Any]:
    """Mutate a string once: not also to capitals and to small letters, which to SQL are the same."""
    from mutmut.mutation.mutators import operator_string

    if id(node) not in _UNTOUCHED:
        yield from list(operator_string(node))[:1]


def _other_sql(node: Any) -> Iterator[Any]:
    """Exchange one word of a statement for its opposite."""
    for word, other in _OPPOSITES:
        if word in node.value:
            yield node.with_changes(value=node.value.replace(word, other, 1))


def _other_name(node: Any) -> Iterator[Any]:
    """Exchange True and False, but not as "strict" of zip, which guards against our own mistakes alone."""
    from mutmut.mutation.mutators import operator_name

    if id(node) not in _UNTOUCHED:
        yield from operator_name(node)


def _other_arguments(node: Any) -> Iterator[Any]:
    """Replace and remove arguments, but not those that must stay as they are."""
    from mutmut.mutation.mutators import operator_arg_removal

    called = getattr(node.func, "value", None)
    kept = list(node.args[:1]) if called in _NAMING else []
    kept += list(node.args[-1:]) if called in ("function", "instance") else []
    kept += [each for each in node.args if called == "zip" and each.keyword and each.keyword.value == "strict"]
    _UNTOUCHED.update({id(each.value): each.value for each in kept})
    for mutant in operator_arg_removal(node):
        if all(each in mutant.args for each in kept):
            yield mutant


def _sampled(mutants: list[dict[str, Any]], most: int | None) -> list[dict[str, Any]]:
    """Choose so many mutants of each module by a hash of what they change, which is the same each time."""
    modules: dict[str, list[dict[str, Any]]] = {}
    for each in mutants:
        modules.setdefault(each["module"], []).append(each)
    return [
        each
        for group in modules.values()
        for each in sorted(group, key=lambda each: hashlib.sha256(repr(_key(each)).encode()).digest())[:most]
    ]


def _explained() -> set[tuple[Any, ...]]:
    return {
        (entry["module"], entry["function"], before, after)
        for entry in tomllib.loads(EXPLAINED.read_text()).get("explained", [])
        for before, after in entry["changes"]
    }


def _report(results: list[dict[str, Any]], *, sample: int | None) -> int:
    """Print survivors and a table; return 1 if one is not explained."""
    known = _explained()
    counts: dict[str, Counter[str]] = {each["module"]: Counter() for each in results}
    met, unexplained = set(), 0
    for each in results:
        fate = each["fate"]
        if fate and fate not in _NOTICED:
            key = _key(each)[:-1]
            if key in known:
                met.add(key)
                fate = "explained"
            else:
                unexplained += 1
                fate = "survived"
                note = "" if each["fate"] == "survived" else f" ({each['fate']})"
                _say(f"\n{each['module']} {each['function']}{note}")
                _say("\n".join(f"- {line}" for line in each["before"].splitlines()))
                _say("\n".join(f"+ {line}" for line in each["after"].splitlines()))
        counts[each["module"]][fate] += 1
    for module, function, before, after in known - met if sample is None else ():
        if module in counts:
            _say(f"\nexplained, but noticed now: {module} {function}\n- {before}\n+ {after}")
    _say("\n| module | mutants | run | killed | timed out | explained | survived | noticed |")
    _say("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, found in [*((f"`{module}`", counted) for module, counted in counts.items()), ("all", _sum(counts))]:
        ran, noticed = found.total() - found[""], sum(found[fate] for fate in _NOTICED)
        share = f"{100 * noticed // max(1, ran - found['explained'])}%"  # of those that could be
        columns = [found.total(), ran, *(found[fate] for fate in (*_NOTICED, "explained", "survived")), share]
        _say(f"| {name} | {' | '.join(map(str, columns))} |")
    return 1 if unexplained else 0


def _sum(counts: dict[str, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
