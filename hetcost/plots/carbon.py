"""Carbon: operational and embodied by grid, and embodied carbon by method and boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hetcost.columns import label, numbers, require
from hetcost.plots import bars, style
from hetcost.plots.bars import Bar
from hetcost.plots.style import FAINT, INK, NOTE_PT, TEXT_PT

_BAR_IN = 0.21
_ROW_IN = 0.235
_HOSTS = "host's share, by source"
_GREY = "#555555"
_NAMES = {"act,": "ACT,", "murphy": "Murphy", "poisson": "Poisson"}
_CAUTION = "assumptions side by side: their spread is no probability"
_MARKS = {
    "gate": "tick: cradle to gate",
    "end_of_life": "dot: to the end of life",
    "host": "open: with its share of the host",
}


def carbon_bars(
    frame: pd.DataFrame,
    *,
    basis: str = "out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw emissions per million tokens by grid: operational, and embodied on top.

    Parameters
    ----------
    frame : Evaluated rows, a bar each: ``grid name gpu`` and ``{op_,emb_}gco2e_per_mtok_{basis}``.
        Grids stand in the order of the frame. Where embodied carbon is missing the bar says so.
    basis : Token basis: ``out`` or ``all``.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    op, emb = (f"{stage}_gco2e_per_mtok_{basis}" for stage in ("op", "emb"))
    require(frame, ["grid", "name", "gpu", op, emb], "plots.carbon_bars")
    known = frame[~np.isnan(numbers(frame, op))]
    groups: dict[str, list[Bar]] = {}
    for grid, rows in known.groupby("grid", sort=False):
        named = not groups
        groups[str(grid)] = [
            Bar(
                [row[op], row[emb]], style.gpu_colour(row["gpu"]), _total(row, op, emb, named=named)
            )
            for _, row in rows.iterrows()
        ]
    ax = style.axes(ax, bars.height_in(groups.values(), _BAR_IN))
    bars.draw(ax, groups)
    ax.set_xlabel(f"{label(op)}; light: {label(emb).partition(' (')[0].lower()}")
    return bars.finish(ax, title)


def embodied_methods(
    frame: pd.DataFrame,
    hosts: pd.DataFrame | None = None,
    *,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the embodied carbon of cards by method: the card alone, and with its share of the host.

    A tick is cradle to gate, a filled dot the card to its end of life with its published bounds,
    and an open diamond counts the host too. They are assumptions side by side, no distribution.

    Parameters
    ----------
    frame : Rows of :func:`hetcost.embodied_by_method` for one boundary or several: ``gpu method
        boundary kgco2e low high basis``.
    hosts : Published figures of the host's share, ``gpu kgco2e low high``; the first of a card is
        the one that is used.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    read = ["gpu", "method", "boundary", "kgco2e", "low", "high", "basis"]
    require(frame, read, "plots.embodied_methods")
    if hosts is not None:
        require(hosts, ["gpu", "kgco2e", "low", "high"], "plots.embodied_methods")
    rows = _rows(frame, hosts)
    ax = style.axes(ax, 1.8 + _ROW_IN * len(rows))
    for place, (gpu, method) in enumerate(rows):
        colour = style.gpu_colour(gpu)
        of_card = frame[frame["gpu"] == gpu]
        if not method:
            _write_heading(ax, place, of_card)
        elif method == _HOSTS and hosts is not None:
            _draw_hosts(ax, place, hosts[hosts["gpu"] == gpu])
        else:
            of_row = of_card[of_card["method"] == method].set_index("boundary")
            _draw_method(ax, place, of_row, colour)
    ax.set_yticks(range(len(rows)), [_row_name(*row) for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(left=0)
    drawn = set(frame["boundary"])
    marks = "; ".join(text for boundary, text in _MARKS.items() if boundary in drawn)
    ax.set_xlabel(f"Embodied carbon (kgCO2e per card)\n{marks}\n{_CAUTION}")
    bars.make_room(ax)
    bars.finish(ax, title)
    for tick, (gpu, method) in zip(ax.get_yticklabels(), rows, strict=True):
        if not method:
            tick.set(color=style.gpu_colour(gpu), fontweight="bold", fontsize=TEXT_PT)
    ax.grid(axis="x", color="#E6E6E6", linewidth=0.8)
    return ax


def _total(row: pd.Series, op: str, emb: str, *, named: bool) -> str:
    name = f"  {row['name']}" if named else ""
    if np.isnan(row[emb]):
        return f"{bars.number(row[op])}{name}, embodied not counted"
    whole = row[op] + row[emb]
    return f"{bars.number(whole)}{name}, {row[emb] / whole * 100:.0f} % embodied"


def _rows(frame: pd.DataFrame, hosts: pd.DataFrame | None) -> list[tuple[str, str]]:
    """Return card and method of each row from the top down; a card's name has no method."""
    rows: list[tuple[str, str]] = []
    for gpu, methods in frame.groupby("gpu", sort=False)["method"]:
        rows += [(str(gpu), ""), *((str(gpu), str(method)) for method in methods.unique())]
        if hosts is not None and (hosts["gpu"] == gpu).any():
            rows.append((str(gpu), _HOSTS))
    return rows


def _row_name(gpu: str, method: str) -> str:
    if not method:
        return gpu.removesuffix(" 80GB")
    return " ".join(_NAMES.get(word, word) for word in method.split(" "))


def _write_heading(ax: Axes, place: float, of_card: pd.DataFrame) -> None:
    """Say beside a card's name if none of its figures is better than an estimate."""
    stated = of_card["basis"].str.extract(r"quality ([A-D])")[0].dropna()
    if (stated == "D").all():
        look: dict[str, Any] = {"fontsize": NOTE_PT, "color": _GREY, "style": "italic"}
        style.write(ax, 0, place, "no life-cycle assessment was found: estimates alone", **look)


def _draw_method(ax: Axes, place: float, by_boundary: pd.DataFrame, colour: str) -> None:
    at = by_boundary["kgco2e"]
    card = "end_of_life" if "end_of_life" in at else "gate"
    if card in at and "host" in at:
        ax.plot([at[card], at["host"]], [place, place], color=FAINT, linewidth=1.2, zorder=1)
    if "gate" in at:
        ax.plot(at["gate"], place, "|", color=colour, markersize=12, markeredgewidth=1.4)
    if card in at:
        low, high = by_boundary["low"][card], by_boundary["high"][card]
        _whisker(ax, place, low, high, colour)
        ax.plot(at[card], place, "o", color=colour, markersize=6.5, zorder=3)
    if "host" in at:
        open_mark: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.5}
        ax.plot(at["host"], place, "D", color=colour, markersize=6, zorder=3, **open_mark)


def _draw_hosts(ax: Axes, place: float, hosts: pd.DataFrame) -> None:
    for low, high in hosts[["low", "high"]].itertuples(index=False):
        _whisker(ax, place, low, high, _GREY)
    others = hosts["kgco2e"].iloc[1:]
    look: dict[str, Any] = {"linestyle": "", "markersize": 6, "markeredgewidth": 1.5}
    ax.plot(others, [place] * len(others), "x", color=INK, **look)
    used = hosts["kgco2e"].iloc[0]
    ax.plot(used, place, "D", color=INK, markersize=6, zorder=4)
    right = float(np.nanmax(hosts[["kgco2e", "high"]].to_numpy()))
    text = f"used here: {bars.number(used)}"
    style.write(ax, right, place, text, fontsize=NOTE_PT, color=_GREY)


def _whisker(ax: Axes, place: float, low: float, high: float, colour: str) -> None:
    if np.isfinite(low) and np.isfinite(high):
        ax.plot([low, high], [place, place], color=colour, linewidth=1.6, zorder=2)
