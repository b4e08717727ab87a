"""The planning page: `flexdp web`, on this machine alone. It reads no data, takes no file and keeps nothing.

==============  =============================================================================
``entries``     what the form asks, and what was entered, in the words of ``flexdp.plan``
``controls``    the fields as HTML
``example``     flights that are public, released by fixed numbers, beside their truth
``pictures``    the odds and the example as SVG
``page``        everything as one HTML page, which works without a script
``server``      answers on the loopback address, to browsers that mean this host
``command``     the command line
==============  =============================================================================

The numbers are those of ``flexdp plan``: the same functions make them.
"""

from __future__ import annotations

__all__: list[str] = []
