"""The figure: one panel per experiment, with solid actual errors, dashed flexible errors and a typical histogram.

Colours are those of Okabe and Ito, plus grey. Markers distinguish the mechanisms without colour, and lines are drawn
from thick to thin, so that coinciding lines remain visible. The bytes depend on the study alone. Matplotlib is imported
when a figure is drawn.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from flexdp._core.exact import number_text
from flexdp._core.extras import extra
from flexdp.experiments.cells import cases
from flexdp.experiments.results import mean_and_error
from flexdp.experiments.runner import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["STYLES", "draw", "png", "svg"]

STYLES: dict[str, tuple[str, str]] = {  # colour, marker
    "dropping": ("#000000", "o"),
    "stlap": ("#0072B2", "s"),
    "esa": ("#56B4E9", "^"),
    "bns": ("#D55E00", "D"),
    "bns_swap": ("#E69F00", "v"),
    "em": ("#999999", "x"),
    "ptr": ("#009E73", "P"),
    "ss": ("#CC79A7", "*"),
    "sanpoints": ("#B8A800", "h"),  # their yellow, darkened to be visible on white
    "sanpoints_halting": ("#7A6A00", "p"),
}
_SPARE = (("#000000", "1"), ("#0072B2", "2"), ("#D55E00", "3"), ("#009E73", "4"), ("#CC79A7", "+"))
_BROADEST, _THINNEST = 4.2, 1.2
_SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "flexdp",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def svg(study: Study) -> bytes:
    """Return the figure as SVG, with text as text."""
    return _saved(study, "svg", {"Date": None, "Creator": None})


def png(study: Study) -> bytes:
    """Return the figure as PNG, at 150 dpi."""
    return _saved(study, "png", {"Software": None})


def draw(study: Study) -> Figure:
    """Return the figure as a matplotlib object."""
    figures = _matplotlib().figure
    columns = min(3, len(study.experiments))
    lines = math.ceil(len(study.experiments) / columns)
    figure: Figure = figures.Figure(figsize=(max(7.5, 4.6 * columns), 3.7 * lines + 1.1), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for panel in panels[len(study.experiments) :]:
        panel.set_axis_off()
    for panel, experiment in zip(panels, study.experiments, strict=False):
        _panel(panel, study, experiment)
    _legend(figure, study)
    return figure


def _panel(panel: Axes, study: Study, experiment: Any) -> None:
    ticks = [float(epsilon) for epsilon in study.epsilons]
    highest = 1.0
    for place, name in enumerate(study.mechanisms):
        colour, marker = _style(study, name)
        width = _BROADEST - (_BROADEST - _THINNEST) * place / max(1, len(study.mechanisms) - 1)
        for of, dashes in (("actual", "-"), ("flexible", (0, (4, 2)))):
            values = [
                mean_and_error(getattr(study.cell(experiment.name, name, epsilon), of))[0] for epsilon in study.epsilons
            ]
            highest = max(highest, *values)
            panel.plot(
                ticks,
                values,
                color=colour,
                linestyle=dashes,
                linewidth=width if of == "actual" else 0.7 * width,
                marker=marker,
                markersize=5 if of == "actual" else 3.5,
                markerfacecolor=colour if of == "actual" else "white",
                markeredgewidth=0.9,
                gid=f"{experiment.name}-{name}-{of}",
            )
    panel.set_title(experiment.title, fontsize=10, loc="left")
    panel.set_xscale("log")
    shown = ticks if len(ticks) <= 7 else ticks[::2]
    panel.set_xticks(shown, [number_text(tick) for tick in shown])
    panel.set_xticks([], minor=True)
    panel.set_xlabel("ε")
    panel.set_ylabel("error (% of buckets)")
    panel.set_ylim(-0.02 * highest, 1.42 * highest)
    panel.set_yticks([tick for tick in panel.get_yticks() if 0 <= tick <= 1.05 * highest])
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    counts = cases(experiment, study.settings)[0].counts
    inset = panel.inset_axes((0.56, 0.79, 0.44, 0.21))
    inset.fill_between(range(len(counts)), counts, step="mid", color="#666666", linewidth=0)
    inset.set_xlim(-0.5, len(counts) - 0.5)
    inset.set_ylim(0, 1.1 * max(1, int(counts.max())))
    inset.set_xticks([0, len(counts) - 1])
    inset.set_yticks([int(counts.max())])
    inset.tick_params(labelsize=6, length=2, pad=1)


def _legend(figure: Figure, study: Study) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_style(study, name)[0], marker=_style(study, name)[1], label=name, linewidth=2)
        for name in study.mechanisms
    ]
    handles += [
        Line2D([], [], color="#444444", linestyle="-", label="actual error"),
        Line2D([], [], color="#444444", linestyle=(0, (4, 2)), label="flexible error"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False)


def _style(study: Study, name: str) -> tuple[str, str]:
    own = [each for each in study.mechanisms if each not in STYLES]
    return STYLES[name] if name in STYLES else _SPARE[own.index(name) % len(_SPARE)]


def _saved(study: Study, kind: str, metadata: dict[str, Any]) -> bytes:
    matplotlib = _matplotlib()
    target = io.BytesIO()
    with matplotlib.rc_context(_SETTINGS):
        draw(study).savefig(target, format=kind, dpi=150, facecolor="white", metadata=metadata)
    return target.getvalue()


def _matplotlib() -> Any:
    with extra("lab", "matplotlib", "drawing a figure"):
        import matplotlib
        import matplotlib.figure
    return matplotlib
