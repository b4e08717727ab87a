"""Optional dependencies: imported on first use, with an error that says how to install a missing one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flexdp.errors import InputError

__all__ = ["extra"]


@contextmanager
def extra(name: str, package: str, use: str) -> Iterator[None]:
    """Import ``package`` inside this context; if it is missing, say that ``use`` needs it and how to install it.

    >>> with extra("lab", "a_package", "this example"):
    ...     import a_package
    Traceback (most recent call last):
    flexdp.errors.InputError: this example needs a_package: run pip install 'flexdp[lab]'.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != package:
            raise
        raise InputError(use, f"needs {package}: run pip install 'flexdp[{name}]'") from None
