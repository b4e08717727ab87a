"""Release from a table in PostgreSQL: the server counts, and only buckets and their counts leave it.

The script fills a table of its own with part of the flights that ship with flexdp, and drops it at the end.

Run it with: python examples/postgres.py postgresql://me@host/database        (needs pip install 'flexdp[postgres]')
"""

from __future__ import annotations

import sys
from importlib.resources import files

import duckdb
import psycopg

import flexdp

FLIGHTS = str(files("flexdp") / "data" / "flights.parquet")
TABLE = "flexdp_example_flights"


def main(address: str) -> None:
    with psycopg.connect(address) as con:
        con.execute(f"CREATE TABLE {TABLE} (airport TEXT, carrier TEXT, departure_delay INTEGER)")
        with duckdb.connect() as local:
            rows = local.execute("SELECT * FROM read_parquet(?) USING SAMPLE 20000", [FLIGHTS]).fetchall()
        with con.cursor().copy(f"COPY {TABLE} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        con.commit()
        try:
            # The statement that will run, for whoever has to approve it. Asking for it reads no record.
            print(flexdp.query((con, TABLE), "departure_delay", width=15, where="airport = 'JFK'"))
            print()

            # On an open connection, as here, the count is part of your transaction and leaves it as it was.
            delays = flexdp.release(
                (con, TABLE), "departure_delay", epsilon=1, delta="1e-6", width=15, where="airport = 'JFK'"
            )
            print(*delays.conditions)
            print(delays.max())

            # By its address flexdp opens a connection of its own.
            print(flexdp.release((address, TABLE), "carrier", epsilon=1, delta="1e-6").top(3))
        finally:
            con.execute(f"DROP TABLE {TABLE}")
            con.commit()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/postgres.py postgresql://me@host/database")
    main(sys.argv[1])
