"""Load, latency and cost: how a configuration follows what is offered, and at what price."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hetcost.columns import label, numbers, require
from hetcost.errors import DataWarning
from hetcost.plots import style
from hetcost.plots.style import FAINT, INK, NOTE_PT, SERIES, TEXT_PT, TITLE_PT
from hetcost.slo import SLO

_MANY_DECADES = 300.0
_CROWDED = 10


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
    frame : Evaluated runs: ``gpu n_gpus request_rate_per_s req_per_s`` and the cost column, of
        one model or several. Repeats of a load are averaged; rows without a finite offered rate
        are left out, and told.
    cost : Column whose value is written at the points.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, [*SERIES, "request_rate_per_s", "req_per_s", cost], "plots.scaling")
    ax = style.axes(ax)
    finite = _finite(frame, "plots.scaling")
    means = style.means(finite, ["req_per_s", cost])
    if means.empty:
        return style.finish(ax, title)
    rates = np.sort(finite["request_rate_per_s"].unique())
    low, high = means["req_per_s"].min() / 1.5, means["req_per_s"].max() * 1.5
    ax.set_xscale("log", base=2)
    ax.set_yscale("log", base=2)
    ax.set_xlim(rates[0] / 1.45, rates[-1] * 2.8)
    ax.set_ylim(low, high)
    ideal = [low, high]
    ax.plot(ideal, ideal, color=FAINT, linestyle=(0, (4, 3)), zorder=1)
    style.write(ax, high, high, "all that is offered", color="#6B6B6B", ha="right", dx=-14, dy=-6)
    names = []
    for name, gpu, n_gpus, rows in style.series(means):
        x = rows.index.get_level_values("request_rate_per_s")
        colour = style.line(ax, x, rows["req_per_s"], gpu, n_gpus)
        text = f"{name}  {_money(rows[cost].iloc[-1])}".rstrip()
        names.append((x[-1], rows["req_per_s"].iloc[-1], text, colour))
    style.name_lines(ax, names)
    for rate, rows in means.groupby(level="request_rate_per_s"):
        if rate < rates[-1]:  # the last load's costs stand behind the names
            _cost_labels(ax, rows.dropna(subset=[cost]), cost, above=rate == rates[0])
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    note = f". Figures at the points: {label(cost)}" if means[cost].notna().any() else ""
    ax.set_xlabel(f"Offered load (requests/s){note}")
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
    frame : Evaluated runs: ``gpu n_gpus request_rate_per_s``, cost and latency, of one model or
        several. A dot is a run; lines pass through the mean of a load's repeats.
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
    known = frame.dropna(subset=[cost, latency])
    means = style.means(known, [cost, latency])
    if ax.get_xscale() != "log":  # panels that share axes share the scale
        ax.set_xscale("log")
        ax.set_yscale("log")
    names = []
    lines = list(style.series(means))
    crowded = len(lines) > _CROWDED
    for name, gpu, n_gpus, rows in lines:
        colour = style.line(ax, rows[latency], rows[cost], gpu, n_gpus)
        loads = ", ".join(f"{rate:g}" for rate in rows.index.get_level_values(-1))
        text = f"{name} ({loads}/s)" if crowded else name
        names.append((rows[latency].iloc[-1], rows[cost].iloc[-1], text, colour))
        if labels and not crowded:
            _load_labels(ax, rows[latency], rows[cost], colour)
    for card, runs in known.groupby("gpu"):
        style.dots(ax, runs[latency], runs[cost], str(card))
    if spots is not None and not spots.empty:
        ring: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.6}
        ax.scatter(spots[latency], spots[cost], s=150, zorder=4, **ring)
    _draw_limit(ax, None if slo is None else slo.limits.get(latency))
    if labels and crowded:
        style.name_column(ax, names)
    elif labels and names:
        low, high = ax.get_xlim()
        ax.set_xlim(low, high * (high / low) ** 0.28)
        style.name_lines(ax, names, dx=24)
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        wide = limits[1] / limits[0] > _MANY_DECADES
        axis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=12))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    note = ". Figures at the points: offered requests/s" if labels and not crowded else ""
    ax.set_xlabel(label(latency) + note)
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


def _finite(frame: pd.DataFrame, figure: str) -> pd.DataFrame:
    """Leave out, and tell, the rows that have no offered rate to stand at."""
    rates, achieved = (numbers(frame, name) for name in ("request_rate_per_s", "req_per_s"))
    fits = np.isfinite(rates) & (rates > 0) & (achieved > 0)
    if not fits.all():
        left_out = (
            f"{(~fits).sum()} of {len(frame)} rows have no finite offered load or served none"
        )
        warnings.warn(f"{figure}: {left_out} and are left out", DataWarning, stacklevel=3)
    kept: pd.DataFrame = frame[fits]
    return kept


def _money(usd: float) -> str:
    return "" if np.isnan(usd) else f"{usd:.3f}"


def _draw_limit(ax: Axes, limit_ms: float | None) -> None:
    """Draw a latency limit and shade what lies beyond, without a say in the axis limits."""
    if limit_ms is None:
        return
    ax.axvline(limit_ms, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    note = f" limit {limit_ms:,g} ms"
    ax.text(limit_ms, 1.0, note, transform=ax.get_xaxis_transform(), va="top", fontsize=NOTE_PT)
    beyond = Rectangle(
        (limit_ms, 0), limit_ms * 1e6, 1, color=INK, alpha=0.06, linewidth=0, zorder=0
    )
    beyond.set_transform(ax.get_xaxis_transform())
    ax.add_artist(beyond)


def _load_labels(ax: Axes, x: pd.Series, y: pd.Series, colour: str) -> None:
    """Write the offered loads along a path."""
    for rate, across, up in zip(x.index.get_level_values(-1), x, y, strict=True):
        style.write(ax, across, up, f"{rate:g}", color=colour, fontsize=NOTE_PT, dx=7, dy=6)


def _cost_labels(ax: Axes, rows: pd.DataFrame, cost: str, *, above: bool) -> None:
    """Write the costs of one load in a stack above or below its points, in their order.

    The topmost of several stands above its own point where there is room.
    """
    if rows.empty:
        return
    rows = rows.sort_values("req_per_s")
    heights = [style.points(ax, y) for y in rows["req_per_s"]]
    several = rows.groupby(level="gpu").size()
    line = NOTE_PT * 1.25
    stacks = [list(range(len(heights)))]
    if not above and len(heights) > 1 and heights[-1] - heights[-2] > line * 1.5:
        stacks = [stacks[0][:-1], stacks[0][-1:]]
    for stack in stacks:
        upwards = above or stack == [len(heights) - 1]
        anchor = heights[stack[-1] if upwards else stack[0]]
        for place, index in enumerate(stack if upwards else reversed(stack)):
            _, gpu, n_gpus, rate = rows.index[index]
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
