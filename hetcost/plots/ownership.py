"""Renting and owning: cost by way, by utilisation, who wins where, and on which grids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from hetcost.columns import label, numbers, require
from hetcost.plots import bars, style
from hetcost.plots.bars import Bar
from hetcost.plots.style import FAINT, INK, NOTE_PT, TEXT_PT

_BAR_IN = 0.29
_ROW_IN = 0.27
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.6)), (0, (5, 2, 1, 2)))
_PARTS = {
    "gpu_usd_per_h": "cards",
    "host_usd_per_h": "host and space",
    "power_usd_per_h": "electricity",
}
_USE = "load_frac"
_STEPS = 400
_NAMES_SHARE = 0.7  # of the width of the lines, for their names
_LETTER = 0.55  # mean width of a letter, by its height
_GOLDEN = 0.618034
_GREY = "#555555"


def ownership_bars(
    frame: pd.DataFrame,
    *,
    cost: str = "usd_per_mtok_out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cost of a million tokens by how the hardware is had, with its shares if owned.

    Parameters
    ----------
    frame : Evaluated rows, a bar each: ``way name gpu usd_per_h`` and the cost column; where they
        are known, the shares ``gpu_usd_per_h host_usd_per_h power_usd_per_h``. Ways stand in the
        order of the frame.
    cost : Column of the cost of a million tokens. [USD/Mtok]
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["way", "name", "gpu", "usd_per_h", cost], "plots.ownership_bars")
    known = frame[~np.isnan(numbers(frame, cost))]
    groups: dict[str, list[Bar]] = {}
    for way, rows in known.groupby("way", sort=False):
        groups[str(way)] = [
            Bar(_parts(row, cost), style.gpu_colour(row["gpu"]), _cost_text(row, cost))
            for _, row in rows.iterrows()
        ]
    ax = style.axes(ax, bars.height_in(groups.values(), _BAR_IN))
    bars.draw(ax, groups)
    dark, light, lightest = _PARTS.values()
    shades = f"dark: {dark}, or the rent; lighter: {light}; lightest: {lightest}"
    ax.set_xlabel(f"{label(cost)}\n{shades}")
    return bars.finish(ax, title)


def cost_by_use(
    frame: pd.DataFrame,
    marks: pd.DataFrame | None = None,
    *,
    cost: str = "usd_per_mtok_out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cost of a million tokens over the share of the hours that hardware is loaded.

    Parameters
    ----------
    frame : A row per line and share: ``name gpu way load_frac`` and the cost column. Hue is by
        card, dash by way; lines are named at their left ends.
    marks : Points to ring, ``load_frac text`` and the cost column.
    cost : Column of the cost of a million tokens. [USD/Mtok]
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["name", "gpu", "way", _USE, cost], "plots.cost_by_use")
    ax = style.axes(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    known = frame[~np.isnan(numbers(frame, cost))]
    if known.empty:
        return style.finish(ax, title)
    dashes = {way: _DASHES[i % len(_DASHES)] for i, way in enumerate(known["way"].unique())}
    names = []
    for name, line in known.groupby("name", sort=False):
        ordered = line.sort_values(_USE)
        gpu, way = ordered[["gpu", "way"]].iloc[0]
        colour = style.gpu_colour(gpu)
        x, y = ordered[_USE] * 100, ordered[cost]
        ax.plot(x, y, color=colour, linestyle=dashes[way], linewidth=2)
        names.append((x.iloc[0], y.iloc[0], str(name), colour))
    low, high = (float(end) * 100 for end in known[_USE].agg(["min", "max"]))
    ax.set_xlim(low * (low / high) ** _NAMES_SHARE, high * (high / low) ** 0.05)
    ax.set_ylim(known[cost].min() / 1.5, known[cost].max() * 1.25)
    _name_left(ax, names)
    if marks is not None:
        require(marks, [_USE, "text", cost], "plots.cost_by_use")
        _ring(ax, marks, cost)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100) if low <= tick <= high]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    ax.set_xlabel("Hours under load (% of all hours)")
    ax.set_ylabel(label(cost))
    return style.finish(ax, title)


def winner_map(
    frame: pd.DataFrame,
    others: Mapping[str, pd.DataFrame] | None = None,
    *,
    x: str,
    y: str,
    names: tuple[str, str],
    gpus: tuple[str, str],
    less: str = "costs less",
    tie: str = "they tie",
    levels: Mapping[str, float] | None = None,
    labels: tuple[str, str] | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Fill a plane of two numbers by which of two options costs or emits less.

    Parameters
    ----------
    frame : A group of :func:`hetcost.breakeven_map`: the columns `x` and `y`, and ``a_over_b``.
    others : By name, maps under other assumptions over the same plane; their ties are dashed.
    x, y : Names of the columns of the axes.
    names, gpus : What the options a and b are called, and their cards.
    less : What the winner does.
    tie : What to call the tie of `frame`.
    levels : Values of `y` to mark, by name.
    labels : Of the axes, with units; of the columns if None.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, [x, y, "a_over_b"], "plots.winner_map")
    ax = style.axes(ax)
    if frame.empty:
        return style.finish(ax, title)
    across, up, ratio = _plane(frame, x, y)
    a_wins = ratio < 1
    colours = [bars.tint(style.gpu_colour(gpu), 1) for gpu in (gpus[1], gpus[0])]
    ax.pcolormesh(across, up, a_wins, cmap=ListedColormap(colours), vmin=0, vmax=1, rasterized=True)
    for name, level in (levels or {}).items():
        if up[0] <= level <= up[-1]:
            ax.axhline(level, color="white", linewidth=1.2, alpha=0.9)
            look: dict[str, Any] = {"color": _GREY, "fontsize": NOTE_PT, "ha": "right"}
            style.write(ax, across[-1], level, name, dx=-4, dy=6, **look)
    for name, wins in zip(names, (a_wins, ~a_wins), strict=True):
        _name_region(ax, across, up, wins, f"{less}:\n{name}" if wins.any() else "")
    lines = {tie: frame, **(others or {})}
    for dash, (name, other) in zip(("-", *["--"] * len(lines)), lines.items(), strict=False):
        require(other, [x, y, "a_over_b"], "plots.winner_map")
        _draw_tie(ax, *_plane(other, x, y), name, dash)
    ax.set_xlim(across[0], across[-1])
    ax.set_ylim(up[0], up[-1])
    across_label, up_label = labels or (label(x), label(y))
    ax.set_xlabel(across_label)
    ax.set_ylabel(up_label)
    style.finish(ax, title)
    ax.grid(visible=False)
    return ax


def carbon_crossings(
    frame: pd.DataFrame,
    grids: pd.DataFrame,
    *,
    over: Mapping[str, str],
    names: tuple[str, str],
    gpus: tuple[str, str],
    bounds: tuple[float, float] = (0.0, 1000.0),
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw who emits less over the grid's intensity, assumption by assumption.

    A dot is where the two tie under one combination of all the others: filled where `a` emits less
    below it, open where above. Hue is the share of combinations in which `a` emits less.

    Parameters
    ----------
    frame : Rows of :func:`hetcost.breakeven_table`: a column per assumption, ``crossing
        wins_below wins_above``.
    grids : Grids to mark: ``name gco2e_per_kwh``.
    over : Headings of the assumptions, by column.
    names, gpus : What the options a and b are called, and their cards.
    bounds : Ends of the axis, where ties were looked for. [gCO2e/kWh]
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, [*over, "crossing", "wins_below", "wins_above"], "plots.carbon_crossings")
    require(grids, ["name", "gco2e_per_kwh"], "plots.carbon_crossings")
    rows = _levels(frame, over)
    longest = max((len(name) for name in grids["name"]), default=0) + len(" 1000")
    room = (longest * NOTE_PT * _LETTER + TEXT_PT) / 72 / _ROW_IN  # rows that the names take
    ax = style.axes(ax, 2.4 + _ROW_IN * (len(rows) + room), width_in=10.0)
    ax.set_xscale("function", functions=(_root, np.square))
    ax.set_xlim(*bounds)
    ax.set_ylim(len(rows) - 0.4, -0.6 - room)
    colours = [style.gpu_colour(gpus[1]), "#FFFFFF", style.gpu_colour(gpus[0])]
    cmap = LinearSegmentedColormap.from_list("share", colours)
    edges = np.linspace(np.sqrt(bounds[0]), np.sqrt(bounds[1]), _STEPS + 1) ** 2
    for place, (column, level) in enumerate(rows):
        if level is None:
            continue
        of_row = frame[frame[column] == level]
        share = _share_of_a(of_row, (edges[:-1] + edges[1:]) / 2)
        band = [place - 0.42, place + 0.42]
        look: dict[str, Any] = {"cmap": cmap, "vmin": 0, "vmax": 1, "rasterized": True}
        ax.pcolormesh(edges, band, share[np.newaxis], **look)
        _draw_crossings(ax, place, of_row)
        always = [_throughout(of_row, side) for side in "ab"]
        text = "   ".join(f"{part:3.0f} %" for part in always)
        ax.text(1.015, place, text, transform=ax.get_yaxis_transform(), va="center")
    ax.text(1.015, -0.4, _heads(names), transform=ax.get_yaxis_transform(), va="bottom")
    for written in ax.texts:
        written.set(fontsize=NOTE_PT, color=INK)
    _mark_grids(ax, grids)
    words = [over[column] if level is None else str(level) for column, level in rows]
    ax.set_yticks(range(len(rows)), words)
    ticks = [0, 25, 50, 100, *range(200, 5000, 200)]
    ax.set_xticks([tick for tick in ticks if bounds[0] <= tick <= bounds[1]])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.set_xlabel(
        f"{label('gco2e_per_kwh')}, root scale\n"
        f"dots: ties, filled where the {names[0]} emits less on cleaner grids, open where on "
        f"dirtier\nhue: share of assumptions, no probability, from the {names[1]}'s colour "
        f"(always less) to the {names[0]}'s"
    )
    style.literal(ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr] # the title is as wide as the axes
    bars.finish(ax, title)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    for tick, (_, level) in zip(ax.get_yticklabels(), rows, strict=True):
        if level is None:
            tick.set(fontweight="bold", fontsize=TEXT_PT)
    return ax


def _parts(row: pd.Series, cost: str) -> list[float]:
    shares = [float(row.get(name, np.nan)) for name in _PARTS]
    if not np.isfinite(shares).all():
        return [float(row[cost])]
    return [float(row[cost] * share / row["usd_per_h"]) for share in shares]


def _cost_text(row: pd.Series, cost: str) -> str:
    text = f"{bars.number(row[cost])}  {row['name']}"
    parts = _parts(row, cost)
    return text if len(parts) == 1 else f"{text}, {parts[-1] / row[cost] * 100:.0f} % electricity"


def _name_left(ax: Axes, names: list[tuple[float, float, str, str]]) -> None:
    """Name lines at their left ends, pushed apart."""
    ordered = sorted(names, key=lambda entry: entry[1])
    heights = [style.points(ax, y) for _, y, _, _ in ordered]
    free = style.spread(heights, TEXT_PT * 1.3)
    for (x, y, text, colour), height, at in zip(ordered, heights, free, strict=True):
        look: dict[str, Any] = {"color": colour, "fontsize": NOTE_PT + 0.5, "ha": "right"}
        style.write(ax, x, y, text, dx=-8, dy=at - height, fontweight="bold", **look)


def _ring(ax: Axes, marks: pd.DataFrame, cost: str) -> None:
    known = marks.dropna(subset=[_USE, cost])
    for x, y, text in known[[_USE, cost, "text"]].itertuples(index=False):
        ring: dict[str, Any] = {"facecolors": "white", "edgecolors": INK, "linewidths": 1.6}
        ax.scatter(x * 100, y, s=60, zorder=4, **ring)
        style.write(ax, x * 100, y, text, dx=7, dy=11, fontsize=NOTE_PT)


def _plane(frame: pd.DataFrame, x: str, y: str) -> tuple[Any, Any, Any]:
    """Return the values of the axes, and the ratio by y and x."""
    wide = frame.pivot(index=y, columns=x, values="a_over_b")
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)


def _name_region(ax: Axes, across: Any, up: Any, wins: Any, text: str) -> None:
    """Write a name where its region is widest."""
    if not text:
        return
    from scipy.ndimage import distance_transform_edt

    depth = distance_transform_edt(np.pad(wins, 1))[1:-1, 1:-1]
    i, j = np.unravel_index(int(np.argmax(depth)), depth.shape)
    look: dict[str, Any] = {"ha": "center", "fontweight": "bold"}
    style.write(ax, across[j], up[i], text, dx=0, **look)


def _draw_tie(ax: Axes, across: Any, up: Any, ratio: Any, name: str, dash: str) -> None:
    drawn = ax.contour(across, up, ratio, levels=[1.0], colors=INK, linewidths=2, linestyles=dash)
    segments = [segment for segment in drawn.allsegs[0] if len(segment)]
    if segments:
        longest = max(segments, key=len)
        x, y = longest[int(len(longest) * 0.62)]
        right = x < (across[0] + across[-1]) / 2
        side: dict[str, Any] = {"dx": 8, "dy": -9} if right else {"dx": -8, "dy": 9, "ha": "right"}
        style.write(ax, float(x), float(y), name, fontsize=NOTE_PT, **side)


def _levels(frame: pd.DataFrame, over: Mapping[str, str]) -> list[tuple[str, Any]]:
    """Return column and level of each row; a heading has no level."""
    rows: list[tuple[str, Any]] = []
    for column in over:
        rows += [(column, None), *((column, level) for level in frame[column].unique())]
    return rows


def _share_of_a(frame: pd.DataFrame, x: Any) -> Any:
    """Return the share of rows in which a wins, by intensity."""
    crossing = numbers(frame, "crossing")[:, np.newaxis]
    below, above = (frame[f"wins_{side}"].eq("a").to_numpy() for side in ("below", "above"))
    wins = np.where(x < crossing, below[:, np.newaxis], above[:, np.newaxis])
    return wins.mean(axis=0) if len(frame) else np.full(len(x), np.nan)


def _throughout(frame: pd.DataFrame, side: str) -> float:
    always = frame["crossing"].isna() & frame["wins_below"].eq(side)
    return float(always.mean() * 100)


def _draw_crossings(ax: Axes, place: float, frame: pd.DataFrame) -> None:
    known = frame.dropna(subset=["crossing"])
    for side in "ab":
        x = known.loc[known["wins_below"] == side, "crossing"].to_numpy()
        y = place + 0.7 * (np.arange(len(x)) * _GOLDEN % 1 - 0.5)
        face = INK if side == "a" else "white"
        look: dict[str, Any] = {"facecolors": face, "edgecolors": INK, "linewidths": 0.5}
        ax.scatter(x, y, s=7, zorder=3, clip_on=True, **look)


def _heads(names: tuple[str, str]) -> str:
    return f"less at any\nintensity:\n{names[0]}, {names[1]}"


def _mark_grids(ax: Axes, grids: pd.DataFrame) -> None:
    """Mark grids by a line, named upright above the rows."""
    ordered = grids.sort_values("gco2e_per_kwh")
    pixels = ax.transData.transform([(x, 0) for x in ordered["gco2e_per_kwh"]])[:, 0]
    points = [float(x) * 72 / ax.figure.dpi for x in pixels]
    free = style.spread(points, NOTE_PT * 1.25)
    for (_, grid), wanted, at in zip(ordered.iterrows(), points, free, strict=True):
        x = grid["gco2e_per_kwh"]
        ax.plot([x, x], [ax.get_ylim()[0], -0.6], color=FAINT, linewidth=0.9, zorder=2)
        text = f"{grid['name']} {x:.0f}"
        look: dict[str, Any] = {"rotation": 90, "va": "bottom", "ha": "center"}
        style.write(ax, x, -0.6, text, dx=at - wanted, dy=3, fontsize=NOTE_PT, **look)


def _root(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 0))
