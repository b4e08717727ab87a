"""Publish the words of a text column without knowing which words there are, and without betraying a rare one.

Somebody who wrote a word that nobody else wrote would be recognised by it. So a word is published only if enough people
wrote it: at ε = 1, δ = 1e-6 and at most five words counted for each person, a word of more than ``max_drop`` people is
certain to appear, and a word of one person appears with probability at most δ.

The comments are made up. Run it with: python examples/words.py
"""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path

import duckdb

import flexdp

OPENINGS = ("the nurse was kind", "waited far too long", "the food was cold", "kind staff and good food")
WORDS_EACH = 5  # chosen without looking at the comments


def comments(people: int = 4000) -> list[tuple[int, str]]:
    """Make up one comment for each person; each ends with a word that nobody else writes."""
    rng = random.Random(1)
    return [(person, f"{rng.choice(OPENINGS)}, says patient{person}") for person in range(people)]


def main() -> None:
    # One row for each person and word: a person who repeats a word still counts once for it.
    rows = [(person, word) for person, text in comments() for word in re.findall(r"\w+", text.lower())]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "words.parquet")
        table = duckdb.connect()
        table.execute("CREATE TABLE words (person INTEGER, word TEXT)")
        table.execute("INSERT INTO words SELECT unnest(?), unnest(?)", [list(each) for each in zip(*rows, strict=True)])
        table.table("words").write_parquet(path)
        table.close()
        release = flexdp.release(path, "word", epsilon=1, delta="1e-6", unit="person", max_buckets_per_unit=WORDS_EACH)

    print(release.support())
    print(release.top(5))
    print(f"A word that {release.max_drop + 1} people wrote, within their {WORDS_EACH} words, is certain to be listed.")
    print(release.privacy)


if __name__ == "__main__":
    main()
