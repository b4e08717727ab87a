"""The planning page of ``flexdp web``, for this machine only. It reads no data, takes no file and stores nothing.

==============  =============================================================================
``entries``     the fields of the form, and what was entered, as parameters of ``flexdp.plan``
``controls``    the fields as HTML
``example``     public flights, released with fixed random numbers, beside the truth
``pictures``    the odds and the example as SVG
``page``        everything as one HTML page, which works without JavaScript
``server``      the server, on the loopback address, for browsers that address this host
==============  =============================================================================

The numbers are those of ``flexdp plan``, computed by the same functions.
"""

from __future__ import annotations

__all__: list[str] = []
