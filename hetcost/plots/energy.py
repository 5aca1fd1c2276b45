"""Energy and carbon: per configuration, across grids, at equal load."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hetcost.columns import label, require
from hetcost.plots import style
from hetcost.plots.style import FAINT, INK, NOTE_PT, TEXT_PT
from hetcost.units import JOULES_PER_KWH, TOKENS_PER_MTOK


def energy_bars(
    frame: pd.DataFrame,
    *,
    energy: str = "site_j_per_tok_out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar per model and configuration: energy per token at its most efficient load.

    Parameters
    ----------
    frame : Evaluated runs: ``model gpu n_gpus request_rate_per_s`` and the energy column.
    energy : Column of energy per token. [J/tok]
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["model", *style.SERIES, "request_rate_per_s", energy], "plots.energy_bars")
    known = frame.dropna(subset=[energy]).sort_values(energy)
    rows = known.drop_duplicates(["model", *style.SERIES])
    names = [
        f"{style.short(model)}, {style.configuration(gpu, n_gpus)}"
        for model, gpu, n_gpus in rows[["model", *style.SERIES]].itertuples(index=False)
    ]
    ax = style.axes(ax, height_in=1.6 + 0.27 * len(rows), width_in=11.0)
    import seaborn as sns

    colours = {gpu: style.gpu_colour(gpu) for gpu in rows["gpu"]}
    sns.barplot(
        x=rows[energy].to_numpy(),
        y=names,
        hue=rows["gpu"].to_numpy(),
        palette=colours,
        saturation=1,
        dodge=False,
        errorbar=None,
        legend=False,
        ax=ax,
    )
    loads = rows["request_rate_per_s"]
    for place, (value, rate) in enumerate(zip(rows[energy], loads, strict=True)):
        text = f"{value:.3g} at {rate:g} requests/s"
        style.write(ax, value, place, text, fontsize=NOTE_PT, dx=5)
    longest = rows[energy].max() if len(rows) else 0.0
    ax.set_xlim(0, (longest or 1.0) * 1.6)
    ax.set_xlabel(label(energy))
    style.finish(ax, title, title_in=5.0)
    ax.grid(visible=False)
    return ax


def carbon_vs_grid(
    frame: pd.DataFrame,
    grids: pd.DataFrame,
    *,
    names: list[str],
    basis: str = "out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw operational emissions against the grid's carbon intensity, real grids marked.

    Parameters
    ----------
    frame : Evaluated rows, a line each: ``gpu`` and ``site_j_per_tok_{basis}``. A line whose
        card had one before is dashed.
    grids : Grids to mark: ``name gco2e_per_kwh``.
    names : What to call the lines.
    basis : Token basis: ``out`` or ``all``.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    energy = f"site_j_per_tok_{basis}"
    require(frame, ["gpu", energy], "plots.carbon_vs_grid")
    require(grids, ["name", "gco2e_per_kwh"], "plots.carbon_vs_grid")
    ax = style.axes(ax)
    end = float(grids["gco2e_per_kwh"].max()) * 1.05
    labels, seen = [], set()
    for (_, row), name in zip(frame.iterrows(), names, strict=True):
        colour, gpu = style.gpu_colour(row["gpu"]), row["gpu"]
        high = row[energy] * TOKENS_PER_MTOK / JOULES_PER_KWH * end
        dash = "--" if gpu in seen else "-"
        ax.plot([0, end], [0, high], color=colour, linestyle=dash, linewidth=2)
        seen.add(gpu)
        labels.append((end, high, name, colour))
    ax.set_xlim(0, end * 1.42)
    ax.set_ylim(0, max(high for _, high, _, _ in labels) * 1.22)
    ax.set_xticks(np.arange(0, end, 100))
    style.name_lines(ax, labels)
    _mark_grids(ax, grids)
    ax.set_xlabel(label("gco2e_per_kwh"))
    ax.set_ylabel(label(f"op_gco2e_per_mtok_{basis}"))
    return style.finish(ax, title)


def ratio_by_load(
    lines: dict[str, pd.DataFrame],
    *,
    stated: float | None = None,
    ylabel: str = "Ratio (1)",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw ratios of two configurations at equal offered load, a line per set of assumptions.

    Parameters
    ----------
    lines : By name, frames with ``request_rate_per_s ratio``, as
        :func:`hetcost.published.at_equal_load` makes them. ``gpu n_gpus`` give a line the card's
        colour and the count's marker, else it is grey; where ``over_keeps`` or ``under_keeps`` is
        false (an SLO is broken), its marker is open.
    stated : A published ratio to compare with.
    ylabel : What is divided by what.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    ax = style.axes(ax)
    shades = itertools.cycle([INK, "#7A7A7A", "#A5A5A5"])
    labels = []
    for name, line in lines.items():
        require(line, ["request_rate_per_s", "ratio"], "plots.ratio_by_load")
        if line.empty:
            continue
        x, y = line["request_rate_per_s"], line["ratio"]
        own = {"gpu", "n_gpus"} <= set(line)
        shade = style.gpu_colour(line["gpu"].iloc[0]) if own else next(shades)
        marker = style.MARKERS.get(int(line["n_gpus"].iloc[0]), "P") if own else "o"
        ax.plot(x, y, color=shade, linewidth=1.8)
        sides = [name for name in ("over_keeps", "under_keeps") if name in line]
        kept = line[sides].all(axis=1)
        for where, face in ((kept, shade), (~kept, "white")):
            look: dict[str, Any] = {
                "markerfacecolor": face,
                "markeredgewidth": 1.5,
                "markersize": 6.5,
            }
            ax.plot(x[where], y[where], color=shade, linestyle="", marker=marker, **look)
        labels.append((x.iloc[-1], y.iloc[-1], name, shade))
    if not labels:
        return style.finish(ax, title)
    rates = sorted({rate for line in lines.values() for rate in line["request_rate_per_s"]})
    top = max(line["ratio"].max() for line in lines.values() if not line.empty)
    ax.set_xscale("log", base=2)
    ax.set_xlim(rates[0] / 1.3, rates[-1] * 6)
    ax.set_ylim(0, max(top, stated or 0) * 1.15)
    if stated is not None:
        ax.axhline(stated, color=FAINT, linestyle=(0, (4, 3)), zorder=0)
        labels.append((rates[-1], stated, f"published: {stated:g}, at unequal loads", "#6B6B6B"))
    style.name_lines(ax, labels)
    ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
    judged = any("over_keeps" in line for line in lines.values())
    note = "; open marks: one of the two breaks the SLO" if judged else ""
    ax.set_xlabel(f"Offered load of both (requests/s){note}")
    ax.set_ylabel(ylabel)
    return style.finish(ax, title)


def _mark_grids(ax: Axes, grids: pd.DataFrame) -> None:
    """Mark grids by a faint line and an upright name at the top, not too close to each other."""
    ordered = grids.sort_values("gco2e_per_kwh")
    pixels = ax.transData.transform([(x, 0) for x in ordered["gco2e_per_kwh"]])[:, 0]
    points = [float(x) * 72 / ax.figure.dpi for x in pixels]
    top = ax.get_ylim()[1]
    for (_, grid), wanted, free in zip(
        ordered.iterrows(), points, style.spread(points, TEXT_PT * 1.2), strict=True
    ):
        x = grid["gco2e_per_kwh"]
        ax.axvline(x, ymax=0.86, color=FAINT, linewidth=0.9, zorder=0)
        text = f"{grid['name']} {x:.0f}"
        upright = {"rotation": 90, "va": "top", "ha": "center", "fontsize": NOTE_PT}
        style.write(ax, x, top, text, dx=free - wanted, dy=-2, **upright)
