"""Release from a Spark DataFrame: the cluster counts, and only buckets and their counts come to the driver.

Run it with: python examples/spark.py        (needs pip install 'flexdp[spark]' and Java)
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import flexdp

FLIGHTS = str(files("flexdp") / "data" / "flights.parquet")


def main(spark: Any) -> None:
    flights = spark.read.parquet(FLIGHTS)

    # Bounds and a width: one job. Values beyond the bounds count at the nearer end.
    delays = flexdp.release(flights, "departure_delay", epsilon=1, delta="1e-6", width=15, bounds=(-60, 1440))
    print(delays.max())
    print(delays.quantile("0.99"))

    # Filters and computed columns of the DataFrame pass. A join or a window would be refused: there, one record may
    # change several rows, and the promise would be false.
    late = flights.where("departure_delay > 60").select("carrier")
    print(flexdp.release(late, "carrier", epsilon=1, delta="1e-6").top(3))
    print(delays.privacy)


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.showConsoleProgress", "false")  # a progress bar reveals the size of the table
        .getOrCreate()
    )
    main(session)
    session.stop()
