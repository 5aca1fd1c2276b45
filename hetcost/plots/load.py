"""Load, latency and cost: how a configuration follows what is offered, and at what price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hetcost.columns import COLUMNS, label, require
from hetcost.plots import style
from hetcost.plots.style import FAINT, INK, NOTE_PT, SERIES, TEXT_PT, TITLE_PT
from hetcost.slo import SLO


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
    require(frame, [*SERIES, "request_rate_per_s", "req_per_s", cost], "plots.scaling")
    ax = style.axes(ax)
    means = _means(frame, ["req_per_s", cost])
    rates = np.sort(means.index.unique("request_rate_per_s"))
    top = float(means["req_per_s"].max()) * 1.15
    ax.set_xscale("log", base=2)
    ax.set_xlim(rates[0] / 1.45, rates[-1] * 2.6)
    ax.set_ylim(0, top)
    ideal = np.geomspace(rates[0], top, 100)
    ax.plot(ideal, ideal, color=FAINT, linestyle=(0, (4, 3)), zorder=1)
    style.write(ax, top, top, "all that is offered", color="#6B6B6B", ha="right", dx=-10, dy=-8)
    names = []
    for gpu, n_gpus, rows in _series(means):
        x = rows.index.get_level_values("request_rate_per_s")
        colour = style.line(ax, x, rows["req_per_s"], gpu, n_gpus)
        name = f"{style.configuration(gpu, n_gpus)}  {rows[cost].iloc[-1]:.3f}"
        names.append((x[-1], rows["req_per_s"].iloc[-1], name, colour))
    style.name_lines(ax, names)
    for rate, rows in means.groupby(level="request_rate_per_s"):
        if rate < rates[-1]:  # the last load's costs stand behind the names
            _cost_labels(ax, rows, cost, above=rate == rates[0])
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    ax.xaxis.set_minor_locator(NullLocator())
    what = f"{COLUMNS[cost].label.lower()} in {COLUMNS[cost].unit}"
    ax.set_xlabel(f"Offered load (requests/s). Figures at the points: {what}")
    ax.set_ylabel("Achieved load (requests/s)")
    return style.finish(ax, title)


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
    require(frame, [*SERIES, "request_rate_per_s", cost, latency], "plots.cost_vs_latency")
    ax = style.axes(ax)
    means = _means(frame, [cost, latency])
    ax.set_xscale("log")
    ax.set_yscale("log")
    for gpu, n_gpus, rows in _series(means):
        colour = style.line(ax, rows[latency], rows[cost], gpu, n_gpus)
        if labels:
            _name_path(ax, rows[latency], rows[cost], style.configuration(gpu, n_gpus), colour)
    if labels:
        ax.margins(x=0.08, y=0.14)
    if spots is not None and not spots.empty:
        # At the mean of the repeats, where the line passes.
        marked = means[means.index.isin(spots.set_index([*SERIES, "request_rate_per_s"]).index)]
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
    return style.finish(ax, title)


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
    models = sorted(
        frame["model"].dropna().unique(), key=lambda model: style.short(model).casefold()
    )

    def draw(model: str, ax: Axes) -> None:
        of_model = None if spots is None else spots[spots["model"] == model]
        rows = frame[frame["model"] == model]
        cost_vs_latency(rows, spots=of_model, labels=False, ax=ax, **options)
        ax.set_title(style.wrapped(style.short(model), ax), loc="left", fontsize=TEXT_PT, color=INK)

    figure = style.grid(models, draw, columns)
    legend = {"ncols": 7, "frameon": False, "fontsize": TEXT_PT}
    figure.legend(handles=style.legend_handles(frame), loc="outside lower center", **legend)
    if title:
        figure.suptitle(
            title, x=0.01, ha="left", fontsize=TITLE_PT + 2, fontweight="bold", color=INK
        )
    style.literal(figure)
    return figure


def _means(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Average the repeats of a load; loads without a rate (bursts) have no place on an axis."""
    finite = frame[np.isfinite(frame["request_rate_per_s"])]
    means: pd.DataFrame = finite.groupby([*SERIES, "request_rate_per_s"])[columns].mean()
    return means


def _series(means: pd.DataFrame) -> Iterator[tuple[str, int, pd.DataFrame]]:
    for key, rows in means.groupby(level=list(SERIES)):
        gpu, n_gpus = cast("tuple[str, int]", key)
        yield gpu, int(n_gpus), rows


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


def _name_path(ax: Axes, x: pd.Series, y: pd.Series, name: str, colour: str) -> None:
    """Name a path at its first point and write the loads along it."""
    for rate, across, up in zip(x.index.get_level_values(-1), x, y, strict=True):
        style.write(ax, across, up, f"{rate:g}", color=colour, fontsize=NOTE_PT, dx=7, dy=6)
    style.write(
        ax, x.iloc[0], y.iloc[0], name, color=colour, fontweight="bold", ha="center", dx=0, dy=16
    )


def _cost_labels(ax: Axes, rows: pd.DataFrame, cost: str, *, above: bool) -> None:
    """Write the costs of one load at its points; points that touch share one stack of labels."""
    rows = rows.sort_values("req_per_s")
    heights = [style.points(ax, y) for y in rows["req_per_s"]]
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
            style.write(
                ax,
                rate,
                rows["req_per_s"].iloc[index],
                text,
                dx=0,
                dy=anchor + away - heights[index],
                color=style.gpu_colour(gpu),
                fontsize=NOTE_PT,
                ha="center",
            )
