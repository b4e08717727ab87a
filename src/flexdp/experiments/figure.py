"""The figure: one panel per experiment, with solid actual errors, dashed flexible errors and a typical histogram.

Colours are those of Okabe and Ito, plus grey. Markers distinguish the mechanisms without colour. Lines are drawn from
thick to thin, so that coinciding lines remain visible; the mechanisms of a user are the thickest, below all others. The
bytes depend on the study alone. Matplotlib is imported when a figure is drawn.
"""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from flexdp._core.exact import number_text
from flexdp._core.extras import extra
from flexdp.experiments.paper import Experiment
from flexdp.experiments.study import Study, data_sets, mean_and_error

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
_OWN = (("#7B1FA2", "1"), ("#C2185B", "2"), ("#5D4037", "3"), ("#00838F", "4"), ("#455A64", "+"))
_BOLDEST, _BROADEST, _THINNEST = 6.5, 4.2, 1.2
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
    return _save(study, "svg", {"Date": None, "Creator": None})


def png(study: Study) -> bytes:
    """Return the figure as PNG, at 150 dpi."""
    return _save(study, "png", {"Software": None})


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


def _panel(panel: Axes, study: Study, experiment: Experiment) -> None:
    ticks = [float(epsilon) for epsilon in study.epsilons]
    highest = 1.0
    for name, (colour, marker, width) in _styles(study).items():
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
    counts = data_sets(experiment, study.settings)[0].counts
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
        Line2D([], [], color=colour, marker=marker, label=name, linewidth=2 if name in STYLES else 4)
        for name, (colour, marker, _) in _styles(study).items()
    ]
    handles += [
        Line2D([], [], color="#444444", linestyle="-", label="actual error"),
        Line2D([], [], color="#444444", linestyle=(0, (4, 2)), label="flexible error"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 6), frameon=False)


def _styles(study: Study) -> dict[str, tuple[str, str, float]]:
    """Return colour, marker and width of each line, in the order of drawing: a user's own first and boldest."""
    own = [name for name in study.mechanisms if name not in STYLES]
    known = [name for name in study.mechanisms if name in STYLES]
    broadest = _BROADEST / 2 if own else _BROADEST
    step = (broadest - _THINNEST) / max(1, len(known) - 1)
    styles = {name: (*_OWN[place % len(_OWN)], _BOLDEST) for place, name in enumerate(own)}
    return styles | {name: (*STYLES[name], broadest - step * place) for place, name in enumerate(known)}


def _save(study: Study, kind: str, metadata: dict[str, Any]) -> bytes:
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
