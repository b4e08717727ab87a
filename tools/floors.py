"""Print the lowest versions that pyproject.toml allows, as constraints for pip: those that ``make floors`` tests with.

Only direct requirements have a floor; what they require in turn is as new as they allow.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?>=([0-9]+(?:\.[0-9]+)*)(?:; .+)?")  # and where it applies
TOOLS = ("ruff", "mypy")  # check the source, not run by the tests
PEERS = ("bench", "panel", "peers")  # extras of the benchmarks, which compare with what is current


def floors(pyproject: str) -> dict[str, str]:
    """Return the lowest version of every direct requirement, of the core and of all extras that are tested."""
    project = tomllib.loads(pyproject)["project"]
    extras = [each for name, each in project["optional-dependencies"].items() if name not in PEERS]
    found: dict[str, str] = {}
    for requirement in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        match = REQUIREMENT.fullmatch(requirement)
        if match is None:
            raise ValueError(f"{requirement} has no lowest version, or more than that")
        name, version = match.groups()
        if found.setdefault(name.lower(), version) != version:
            raise ValueError(f"{name} has two lowest versions")
    return {name: version for name, version in sorted(found.items()) if name not in TOOLS}


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    for name, version in floors((root / "pyproject.toml").read_text()).items():
        sys.stdout.write(f"{name}=={version}\n")
