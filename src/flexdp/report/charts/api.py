"""The picture of a release, drawn from its public JSON alone, in the form that its columns call for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexdp._core.domains import flag
from flexdp.report.charts.histograms import histogram
from flexdp.report.charts.lists import categories
from flexdp.report.charts.maps import cell_map, map_multiples
from flexdp.report.charts.multiples import multiples
from flexdp.report.charts.svg import picture_name
from flexdp.report.document import Document

__all__ = ["chart"]

_WIDE, _NARROW = 720, 350  # pixels


def chart(
    document: Document | str | bytes | Mapping[str, Any], *, name: str = "fd", alone: bool = True, narrow: bool = False
) -> str:
    """Draw a release as SVG: bars with their band, a map of two columns, a small one of either per group, or a list.

    Parameters
    ----------
    document
        The JSON of a release.
    name
        Prefix of the ids inside.
    alone
        Include the style; False inside a page that has it.
    narrow
        Draw it for a narrow screen.

    Returns
    -------
    str
        The picture.

    Examples
    --------
    >>> import flexdp
    >>> picture = chart(flexdp.release([33.0] * 900, epsilon=1, delta=1e-6, width=5).to_json())
    >>> "at most 27 more in each bucket" in picture
    True
    """
    name, alone, width = picture_name(name), flag("alone", alone), _NARROW if flag("narrow", narrow) else _WIDE
    release = document if isinstance(document, Document) else Document.read(document)
    if len(release.axes) == 2:
        draw_map = cell_map if release.groups is None else map_multiples
        return draw_map(release, name=name, alone=alone, width=width)
    if len(release.axes) == 1 and release.groups is not None:
        return multiples(release, name=name, alone=alone, width=width)
    draw = histogram if len(release.axes) == 1 and release.axes[0].ordered else categories
    return draw(release, name=name, alone=alone, width=width)
