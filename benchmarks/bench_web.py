"""The planning page: time of an update, in process and over HTTP."""

from __future__ import annotations

import http.client
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlencode

from _timing import race, say

from flexdp.calculus import powers as _powers
from flexdp.planning import given as _given
from flexdp.web.entries import Entries
from flexdp.web.example import flights
from flexdp.web.page import page

TARGET = "≤ 1 (of 50 ms)"


@contextmanager
def served() -> Iterator[http.client.HTTPConnection]:
    """Connect to a running `flexdp web`."""
    command = [sys.executable, "-m", "flexdp", "web", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        connection = http.client.HTTPConnection(process.stdout.readline().strip().split("/")[2])
        yield connection
        connection.close()
        process.terminate()


def anew(**asked: str) -> Callable[[], object]:
    """Request a page that is new except for its ε, with empty caches."""

    def make() -> str:
        _given._most_lost_of.cache_clear()
        _given._noise_of.cache_clear()
        _powers.share_of_each.cache_clear()
        return page(Entries.read(asked | {"epsilon": f"1.{next(numbers)}"}))

    numbers = count(10_000)
    return make


def dragged(ask: Callable[[dict[str, str]], object], **asked: str) -> Callable[[], object]:
    """Request the next position of the slider: a new ε, everything else as before."""
    numbers = count(10_000)
    return lambda: ask(asked | {"epsilon": f"0.{next(numbers)}"})


def main() -> None:
    flights()
    with served() as connection:

        def over_http(asked: dict[str, str]) -> bytes:
            connection.request("GET", f"/?{urlencode(asked)}")
            return connection.getresponse().read()

        def here(asked: dict[str, str]) -> str:
            return page(Entries.read(asked))

        best = race(
            {
                "ε is dragged": dragged(here),
                "ε is dragged, over HTTP": dragged(over_http),
                "ε is dragged, a person in 10 buckets": dragged(here, max_buckets_per_unit="10"),
                "another δ": anew(),
                "another δ, a person in 10 buckets": anew(max_buckets_per_unit="10"),
                "what can be lost is fixed": lambda: here({"fix": "loss"}),
                "a bad entry": lambda: here({"delta": "5"}),
            },
            rounds=15,
        )
    for name, seconds in best.items():
        say(name, seconds, seconds / 0.05, TARGET)
    print(f"{'size of the page':58s}{len(page(Entries.read({})).encode()) / 1000:12.1f} kB")


if __name__ == "__main__":
    main()
