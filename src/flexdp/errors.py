"""What can go wrong, and what each failure has cost.

::

    FlexdpError
    ├── InputError        a parameter or a declared schema does not fit; no record was read, nothing was spent
    ├── DataError         reading failed after records had been touched; always the same message
    └── CertificateError  a noise table failed its own proof; nothing may be released with it

Messages carry parameters, never records: no cell, no row count, no text of an engine.
"""

from __future__ import annotations

__all__ = ["CertificateError", "DataError", "FlexdpError", "InputError"]


class FlexdpError(Exception):
    """Base of every error that flexdp raises on purpose."""


class InputError(FlexdpError, ValueError):
    """A parameter is wrong, or does not fit the declared schema. Nothing was read, nothing was spent."""


class DataError(FlexdpError):
    """Reading the records failed. The message never varies, so that it cannot carry anything about them."""

    def __init__(self) -> None:
        super().__init__(
            "the table could not be read to its end, so nothing was released; "
            "check that its files are complete and readable, and that disk and memory suffice"
        )


class CertificateError(FlexdpError):
    """A table of noise weights does not satisfy the inequalities that prove its privacy."""
