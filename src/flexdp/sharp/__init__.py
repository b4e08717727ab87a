"""Sharp answers and automatic buckets: quantiles, extremes, counts and means without bounds or widths.

Every mechanism is a frozen value with two faces: ``draw`` samples it from random bits, and ``law`` gives its exact
output law on small data. Programs of several steps run in :mod:`flexdp.mechanisms.program`, which also enumerates them.
"""

__all__: list[str] = []
