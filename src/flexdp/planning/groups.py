"""Groups of a planned release: declared in advance, or known by their approximate number alone."""

from __future__ import annotations

import csv
import datetime as dt
import io
import shlex
from dataclasses import dataclass
from typing import Any

from flexdp._core.domains import integer, sequence
from flexdp._core.text import plain_scalar, plural, thousands
from flexdp.errors import InputError, P

__all__ = ["NO_GROUPS", "Groups"]

_MOST_GROUPS = 10**12


@dataclass(frozen=True, slots=True)
class Groups:
    """The columns that group a release, and its groups.

    Parameters
    ----------
    by
        Names of the columns; none without groups.
    declared
        The groups as a command names them; None where they are not known.
    about
        Number of groups; None where it is not known.

    Examples
    --------
    >>> Groups.of("ward", ["ICU", "A, B"], None).words
    ['--by ward', '--groups \\'ICU,"A, B"\\'']
    >>> Groups.of("ward", None, 3).of_each(1000), NO_GROUPS.of_each(1000)
    (333, 1000)
    """

    by: tuple[str, ...] = ()
    declared: tuple[str, ...] | None = None
    about: int | None = 1

    @classmethod
    def of(cls, by: object, groups: object, about: object) -> Groups:
        """Check what was given of groups."""
        listed = [by] if isinstance(by, str) else sequence(by) if by is not None else []
        names = [name for name in map(plain_scalar, listed or []) if isinstance(name, str) and name]
        if by is not None and (not names or len(names) < len(listed or [])):
            raise InputError("by", "must be the name of a column, or a list of names")
        for name, value in (("groups", groups), ("groups_about", about)):
            if value is not None and not names:
                raise InputError(name, ("needs ", P("by")), remedy="Name the column of the groups.")
        if groups is not None and about is not None:
            raise InputError("groups_about", ("and ", P("groups"), " exclude each other"), remedy="Give one of them.")
        if not names:
            return NO_GROUPS
        if groups is None:
            many = None if about is None else integer("groups_about", about, at_most=_MOST_GROUPS)
            return cls(tuple(names), None, many)
        among = None if isinstance(groups, str) else sequence(groups)
        texts = [] if among is None else [_written(group, len(names)) for group in among]
        if not texts or len(set(texts)) < len(texts):
            raise InputError("groups", "must be a list of different groups", remedy="Name each group once.")
        return cls(tuple(names), tuple(texts), len(texts))

    @property
    def public(self) -> bool:
        """True if all groups are known in advance."""
        return not self.by or self.declared is not None

    def of_each(self, records: int) -> int:
        """Return the records of one group, of as many records each; all of them where their number is not known."""
        return max(1, records // (self.about or 1))

    def times(self, buckets: int | None) -> int | None:
        """Return the number of buckets of all groups; None where it is not known."""
        return None if buckets is None or self.about is None else buckets * self.about

    @property
    def words(self) -> list[str]:
        """The options of a command."""
        out = [f"--by {shlex.quote(name)}" for name in self.by]
        if self.declared is not None:
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(self.declared)
            out.append(f"--groups {shlex.quote(line.getvalue())}")
        return out

    def __str__(self) -> str:
        """Tell the groups in the heading of a plan; nothing without."""
        if not self.by:
            return ""
        if self.about is None:
            return ", by groups that are not known"
        many = plural(self.about, "group", thousands)
        return f", in {many} that are declared" if self.public else f", in about {many} that are not known"

    def document(self) -> dict[str, Any] | None:
        """Return the groups as plain JSON values; None without groups."""
        if not self.by:
            return None
        return {"by": list(self.by), "declared": None if self.declared is None else list(self.declared),
                "about": self.about}  # fmt: skip


def _written(group: Any, columns: int) -> str:
    parts = [group] if columns == 1 else sequence(group)
    plain = [plain_scalar(part) for part in parts or []]
    if len(plain) != columns or not all(isinstance(part, str | int | bool | dt.date) for part in plain):
        raise InputError("groups", ("must have one part for each column of ", P("by")))
    return ":".join(str(part) for part in plain)


NO_GROUPS = Groups()
