"""Power and energy: by rung of the power ladder, and from the boards to the site."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from hetcost.columns import ENERGY_BOUNDARIES, label, numbers, require
from hetcost.plots import bars, style
from hetcost.plots.bars import Bar

_BAR_IN = 0.29


def power_ladder(
    frame: pd.DataFrame,
    *,
    energy: str = "site_j_per_tok_out",
    over: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw energy per token by rung of the power ladder, a bar per configuration in each.

    Parameters
    ----------
    frame : A row per rung and configuration: ``rung name gpu`` and the energy column; its bounds,
        where they are known, as ``{energy}_lo`` and ``{energy}_hi``. Rungs stand in the order of
        the frame.
    energy : Column of energy per token. [J/tok]
    over : Name of the configuration whose energy is divided by each other's.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    read = ["rung", "name", "gpu", energy]
    require(frame, read, "plots.power_ladder")
    known = frame[~np.isnan(numbers(frame, energy))]
    groups: dict[str, list[Bar]] = {}
    for rung, rows in known.groupby("rung", sort=False):
        above = rows.loc[rows["name"] == over, energy]
        groups[str(rung)] = [
            Bar(
                [row[energy]],
                style.gpu_colour(row["gpu"]),
                _with_ratio(row, energy, None if row["name"] == over or above.empty else above),
                row.get(f"{energy}_lo", np.nan),
                row.get(f"{energy}_hi", np.nan),
            )
            for _, row in rows.iterrows()
        ]
    ax = style.axes(ax, bars.height_in(groups.values(), _BAR_IN))
    bars.draw(ax, groups)
    ax.set_xlabel(label(energy))
    return bars.finish(ax, title)


def energy_boundaries(
    frame: pd.DataFrame,
    *,
    basis: str = "out",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw energy per token as what the boards take, and what servers and site add.

    Parameters
    ----------
    frame : Evaluated rows, a bar each: ``name gpu`` and ``{gpu,it,site}_j_per_tok_{basis}``;
        ``site_w_load`` is written where it is there.
    basis : Token basis: ``out`` or ``all``.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    columns = [f"{boundary}_j_per_tok_{basis}" for boundary in ENERGY_BOUNDARIES]
    require(frame, ["name", "gpu", *columns], "plots.energy_boundaries")
    known = frame.dropna(subset=columns)
    groups = {}
    for _, row in known.iterrows():
        gpu_j, it_j, site_j = (float(row[column]) for column in columns)
        text = f"{bars.number(site_j)} J"
        if np.isfinite(watts := row.get("site_w_load", np.nan)):
            text += f", {watts:,.0f} W"
        parts = [gpu_j, it_j - gpu_j, site_j - it_j]
        groups[str(row["name"])] = [Bar(parts, style.gpu_colour(row["gpu"]), text)]
    ax = style.axes(ax, bars.height_in(groups.values(), 0.42))
    bars.draw(ax, groups, ["boards", "+ host, power supply", "+ site (PUE)"])
    ax.set_xlabel(label(columns[-1]))
    return bars.finish(ax, title)


def _with_ratio(row: pd.Series, energy: str, above: pd.Series | None) -> str:
    text = f"{bars.number(row[energy])}  {row['name']}"
    return text if above is None else f"{text}: ratio {above.iloc[0] / row[energy]:.1f}"
