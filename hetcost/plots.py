"""Axes-level figures of evaluated runs: data first, ``ax=`` last, the same colour per card.

Every function draws on one Axes and returns it; a function that ends in ``_grid`` makes a
Figure of panels. Names from data are drawn literally. No global style is touched.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hetcost.columns import COLUMNS, label, require
from hetcost.slo import SLO

# Okabe and Ito's palette, safe for colour-blind readers; the hue is the card's for good.
GPU_COLOURS: Mapping[str, str] = {
    "H100 PCIe 80GB": "#0072B2",
    "RTX 4090": "#D55E00",
    "H100 SXM 80GB": "#56B4E9",
    "RTX 5090": "#CC79A7",
    "L40S": "#009E73",
    "RTX 3090": "#E69F00",
    "A100 SXM 80GB": "#332288",
    "A100 PCIe 80GB": "#6699CC",
    "H100 NVL": "#004D80",
    "H200 SXM": "#117733",
    "B200": "#44AA99",
    "MI300X": "#882255",
    "L4": "#999933",
    "A10G": "#AA4499",
    "RTX 4080": "#DDAA33",
    "RTX A6000": "#661100",
    "RTX 6000 Ada": "#88CCEE",
}
OTHER_COLOUR = "#5F5F5F"
INK, FAINT = "#222222", "#B8B8B8"
MARKERS: Mapping[int, str] = {1: "o", 2: "s", 4: "^", 8: "D"}
TITLE_PT, TEXT_PT, NOTE_PT = 13.0, 11.0, 9.5

_SERIES = ("gpu", "n_gpus")


def configuration(gpu: str, n_gpus: float) -> str:
    """Return the short name of a configuration for a label.

    Examples
    --------
    >>> configuration("RTX 4090", 2), configuration("H100 PCIe 80GB", 1)
    ('2× RTX 4090', 'H100 PCIe')
    """
    short = gpu.removesuffix(" 80GB")
    return short if n_gpus == 1 else f"{n_gpus:g}× {short}"


def scaling(
    frame: pd.DataFrame,
    *,
    cost: str = "usd_per_mtok_out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw achieved against offered load, one line per configuration, the cost at its points.

    Parameters
    ----------
    frame : Evaluated runs of one model: ``gpu n_gpus request_rate_per_s req_per_s`` and the
        cost column. Repeats of a load are averaged.
    cost : Column whose value is written at the points.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, [*_SERIES, "request_rate_per_s", "req_per_s", cost], "plots.scaling")
    ax = _axes(ax)
    means = _means(frame, ["req_per_s", cost])
    rates = np.sort(means.index.unique("request_rate_per_s"))
    top = float(means["req_per_s"].max()) * 1.15
    ax.set_xscale("log", base=2)
    ax.set_xlim(rates[0] / 1.45, rates[-1] * 2.6)
    ax.set_ylim(0, top)
    ideal = np.geomspace(rates[0], top, 100)
    ax.plot(ideal, ideal, color=FAINT, linestyle=(0, (4, 3)), zorder=1)
    _write(ax, top, top, "all that is offered", color="#6B6B6B", ha="right", dx=-10, dy=-8)
    names = []
    for gpu, n_gpus, rows in _series(means):
        x = rows.index.get_level_values("request_rate_per_s")
        colour = _line(ax, x, rows["req_per_s"], gpu, n_gpus)
        name = f"{configuration(gpu, n_gpus)}  {rows[cost].iloc[-1]:.3f}"
        names.append((x[-1], rows["req_per_s"].iloc[-1], name, colour))
    _name_lines(ax, names)
    for rate, rows in means.groupby(level="request_rate_per_s"):
        if rate < rates[-1]:  # the last load's costs stand behind the names
            _cost_labels(ax, rows, cost, above=rate == rates[0])
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    ax.xaxis.set_minor_locator(NullLocator())
    what = f"{COLUMNS[cost].label.lower()} in {COLUMNS[cost].unit}"
    ax.set_xlabel(f"Offered load (requests/s). Figures at the points: {what}")
    ax.set_ylabel("Achieved load (requests/s)")
    return _finish(ax, title)


def cost_vs_latency(
    frame: pd.DataFrame,
    *,
    cost: str = "usd_per_mtok_out",
    latency: str = "p99_ttft_ms",
    slo: SLO | None = None,
    spots: pd.DataFrame | None = None,
    labels: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cost against latency: a line per configuration through its loads, low to high.

    Parameters
    ----------
    frame : Evaluated runs of one model: ``gpu n_gpus request_rate_per_s``, cost and latency.
        Repeats of a load are averaged.
    cost, latency : Columns of the two axes, both logarithmic.
    slo : Draws the limit on `latency`, if it has one.
    spots : Rows to mark as sweet spots, as :func:`hetcost.sweet_spots` gives them.
    labels : Whether to name the lines.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, [*_SERIES, "request_rate_per_s", cost, latency], "plots.cost_vs_latency")
    ax = _axes(ax)
    means = _means(frame, [cost, latency])
    ax.set_xscale("log")
    ax.set_yscale("log")
    for gpu, n_gpus, rows in _series(means):
        colour = _line(ax, rows[latency], rows[cost], gpu, n_gpus)
        if labels:
            _name_path(ax, rows[latency], rows[cost], configuration(gpu, n_gpus), colour)
    if labels:
        ax.margins(x=0.08, y=0.14)
    if spots is not None and not spots.empty:
        # At the mean of the repeats, where the line passes.
        marked = means[means.index.isin(spots.set_index([*_SERIES, "request_rate_per_s"]).index)]
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.6}
        ax.scatter(marked[latency], marked[cost], s=150, zorder=4, **ring)
    _draw_limit(ax, None if slo is None else slo.limits.get(latency))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if labels else (1.0,), numticks=12))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.set_xlabel(
        label(latency) + (". Figures at the points: offered requests/s" if labels else "")
    )
    ax.set_ylabel(label(cost))
    return _finish(ax, title)


def cost_vs_latency_grid(
    frame: pd.DataFrame,
    *,
    spots: pd.DataFrame | None = None,
    columns: int = 4,
    title: str | None = None,
    **options: Any,
) -> Figure:
    """Draw :func:`cost_vs_latency` for every model, on shared axes.

    Parameters
    ----------
    frame : Evaluated runs of several models.
    spots : Sweet spots of all of them.
    columns : Panels in a row.
    title : The finding.
    **options : Passed on to :func:`cost_vs_latency`.

    Returns
    -------
    The Figure.
    """
    models = sorted(frame["model"].dropna().unique(), key=lambda model: _short(model).casefold())

    def draw(model: str, ax: Axes) -> None:
        of_model = None if spots is None else spots[spots["model"] == model]
        rows = frame[frame["model"] == model]
        cost_vs_latency(rows, spots=of_model, labels=False, ax=ax, **options)
        ax.set_title(_wrapped(_short(model), ax), loc="left", fontsize=TEXT_PT, color=INK)

    figure = _grid(models, draw, columns)
    legend = {"ncols": 7, "frameon": False, "fontsize": TEXT_PT}
    figure.legend(handles=_legend_handles(frame), loc="outside lower center", **legend)
    if title:
        figure.suptitle(
            title, x=0.01, ha="left", fontsize=TITLE_PT + 2, fontweight="bold", color=INK
        )
    _literal(figure)
    return figure


def gpu_colour(gpu: str) -> str:
    """Return the colour that a card has in every figure."""
    return GPU_COLOURS.get(gpu, OTHER_COLOUR)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    _, ax = plt.subplots(figsize=(9.0, 5.4), layout="constrained")
    return ax


def _grid(panels: Sequence[str], draw: Callable[[str, Axes], None], columns: int) -> Figure:
    rows = max(1, math.ceil(len(panels) / columns))
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(3.6 * columns, 2.9 * rows + 0.8),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for panel, ax in zip(panels, axes.flat, strict=False):
        draw(panel, ax)
    what = axes[0, 0].get_ylabel()
    for index, ax in enumerate(axes.flat):
        ax.set_visible(index < len(panels))
        last_in_column = index + columns >= len(panels)
        ax.tick_params(labelbottom=last_in_column)
        ax.set_xlabel(ax.get_xlabel() if last_in_column else "")
        ax.set_ylabel("")
    figure.supylabel(what, fontsize=TEXT_PT, color=INK)
    return figure


def _means(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Average the repeats of a load; loads without a rate (bursts) have no place on an axis."""
    finite = frame[np.isfinite(frame["request_rate_per_s"])]
    means: pd.DataFrame = finite.groupby([*_SERIES, "request_rate_per_s"])[columns].mean()
    return means


def _series(means: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    for key, rows in means.groupby(level=list(_SERIES)):
        gpu, n_gpus = cast("tuple[str, int]", key)
        yield gpu, int(n_gpus), rows


def _line(ax: Axes, x: Any, y: Any, gpu: str, n_gpus: int) -> str:
    colour, marker = gpu_colour(gpu), MARKERS.get(int(n_gpus), "P")
    ax.plot(x, y, color=colour, marker=marker, markersize=6.5, linewidth=1.8, zorder=3)
    return colour


def _draw_limit(ax: Axes, limit_ms: float | None) -> None:
    """Draw a latency limit and shade what lies beyond, without a say in the axis limits."""
    if limit_ms is None:
        return
    ax.axvline(limit_ms, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    beyond = Rectangle(
        (limit_ms, 0), limit_ms * 1e6, 1, color=INK, alpha=0.06, linewidth=0, zorder=0
    )
    beyond.set_transform(ax.get_xaxis_transform())
    ax.add_artist(beyond)


def _legend_handles(frame: pd.DataFrame) -> list[Any]:
    configurations = frame[list(_SERIES)].dropna().drop_duplicates().sort_values(list(_SERIES))
    return [
        Line2D(
            [],
            [],
            color=gpu_colour(gpu),
            marker=MARKERS.get(int(n_gpus), "P"),
            label=configuration(gpu, n_gpus),
        )
        for gpu, n_gpus in configurations.itertuples(index=False)
    ]


def _write(
    ax: Axes, x: float, y: float, text: str, *, dx: float = 8.0, dy: float = 0.0, **style: Any
) -> None:
    """Write a text `dx`, `dy` points off a data point, with a halo that lines do not cross."""
    defaults: dict[str, Any] = {"color": INK, "fontsize": TEXT_PT, "ha": "left", "va": "center"}
    note = ax.annotate(
        text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        annotation_clip=False,
        zorder=5,
        **{**defaults, **style},
    )
    note.set_path_effects([withStroke(linewidth=3, foreground="white")])


def _name_lines(ax: Axes, names: Sequence[tuple[float, float, str, str]]) -> None:
    """Name lines at their right ends, pushed apart so that no two names overlap."""
    ordered = sorted(names, key=lambda entry: entry[1])
    heights = [_points(ax, y) for _, y, _, _ in ordered]
    free = _spread(heights, TEXT_PT * 1.3)
    for (x, y, text, colour), height, at in zip(ordered, heights, free, strict=True):
        _write(ax, x, y, text, color=colour, fontweight="bold", dy=at - height)


def _name_path(ax: Axes, x: pd.Series, y: pd.Series, name: str, colour: str) -> None:
    """Name a path at its first point and write the loads along it."""
    for rate, across, up in zip(x.index.get_level_values(-1), x, y, strict=True):
        _write(ax, across, up, f"{rate:g}", color=colour, fontsize=NOTE_PT, dx=7, dy=6)
    _write(
        ax, x.iloc[0], y.iloc[0], name, color=colour, fontweight="bold", ha="center", dx=0, dy=16
    )


def _cost_labels(ax: Axes, rows: pd.DataFrame, cost: str, *, above: bool) -> None:
    """Write the costs of one load at its points; points that touch share one stack of labels."""
    rows = rows.sort_values("req_per_s")
    heights = [_points(ax, y) for y in rows["req_per_s"]]
    several = rows.groupby(level="gpu").size()
    line = NOTE_PT * 1.25
    stacks: list[list[int]] = []
    for index, height in enumerate(heights):
        if stacks and height - heights[stacks[-1][-1]] < line:
            stacks[-1].append(index)
        else:
            stacks.append([index])
    for stack in stacks:
        upwards = above or stack == [len(heights) - 1]
        anchor = heights[stack[-1] if upwards else stack[0]]
        for place, index in enumerate(stack if upwards else reversed(stack)):
            gpu, n_gpus, rate = rows.index[index]
            text = f"{rows[cost].iloc[index]:.3f}"
            text = f"{n_gpus:g}× {text}" if several[gpu] > 1 else text
            away = (TEXT_PT + place * line) * (1 if upwards else -1)
            style: dict[str, Any] = {"color": gpu_colour(gpu), "fontsize": NOTE_PT}
            style |= {"ha": "center", "dx": 0, "dy": anchor + away - heights[index]}
            _write(ax, rate, rows["req_per_s"].iloc[index], text, **style)


def _points(ax: Axes, y: float) -> float:
    """Return the height of a data value above the bottom of the figure, in points."""
    pixels = ax.transData.transform((ax.get_xlim()[0], y))[1]
    return float(pixels) * 72.0 / ax.figure.dpi


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Move sorted heights apart to at least `gap`, as little as possible on the whole."""
    blocks: list[list[float]] = []  # [sum of wanted bottoms, members]
    for index, height in enumerate(heights):
        blocks.append([height - index * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, members = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += members
    bottoms = [total / members for total, members in blocks for _ in range(int(members))]
    return [bottom + index * gap for index, bottom in enumerate(bottoms)]


def _finish(ax: Axes, title: str | None) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=TEXT_PT - 1)
    ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=TEXT_PT)
    if title:
        text = _wrapped(title, ax)
        ax.set_title(text, loc="left", fontsize=TITLE_PT, fontweight="bold", color=INK, pad=12)
    _literal(ax)
    return ax


def _literal(artist: Axes | Figure) -> None:
    """Draw every text as it stands: a dollar sign in a name is no formula."""
    for text in artist.findobj(Text):
        text.set_parse_math(False)


def _short(model: str) -> str:
    return model.rsplit("/", 1)[-1]


def _wrapped(text: str, ax: Axes) -> str:
    """Break a title so that it fits the width of its Axes, at about 11 letters an inch."""
    width_in = ax.bbox.width / ax.figure.dpi
    return textwrap.fill(text, max(20, int(width_in * 11)))
