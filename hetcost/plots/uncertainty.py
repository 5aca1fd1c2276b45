"""How sure conclusions are: who wins how often, and which factors move a result."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from hetcost.columns import numbers, require
from hetcost.plots import bars, style
from hetcost.plots.style import FAINT, INK, NOTE_PT, TEXT_PT

_ROW_IN = 0.34
_SURE = 0.95
_LOW_SHADE, _HIGH_SHADE = "#6699CC", "#EE8866"  # of Paul Tol, apart for every eye
_GREY = "#6B6B6B"
_LETTERS = 34
_CELL_LETTERS = 14
_WORDS = {
    "avail_frac": "availability (share)",
    "board power": "board power (W)",
    "capex_usd": "purchase price (USD)",
    "churn_frac": "spare machines (share)",
    "colo_usd_per_kw_month": "space (USD/kW/month)",
    "discount_frac": "discount rate (1/yr)",
    "embodied carbon": "embodied carbon (kgCO2e)",
    "failure_frac": "failures (1/yr)",
    "host_capex_usd_per_gpu": "host's price (USD/card)",
    "host_kgco2e_per_gpu": "host's carbon (kgCO2e/card)",
    "host_w_idle_per_gpu": "host's idle power (W/card)",
    "host_w_load_per_gpu": "host's power (W/card)",
    "hours_per_day": "hours offered (h/day)",
    "install_frac": "installation (share)",
    "life_yr": "life (yr)",
    "psu_efficiency_frac": "power supply (efficiency)",
    "residual_frac": "resale value (share)",
    "spares_frac": "spare cards (share)",
    "td_loss_frac": "grid's loss (share)",
    "upkeep_frac": "upkeep (share/yr)",
    "usd_per_gpu_h": "rent (USD/h)",
    "wear_frac": "wear (share/yr)",
}


def factor_name(factor: str, *, units: bool = False) -> str:
    """Return what a factor of :func:`hetcost.tornado` is called in figures.

    Examples
    --------
    >>> factor_name("life_yr of home", units=True), factor_name("embodied_method")
    ('life (yr), home', 'embodied method')
    """
    what, _, whose = factor.partition(" of ")
    word = _WORDS.get(what, what.replace("_", " "))
    word = word if units else word.partition(" (")[0]
    return f"{word}, {whose.removesuffix(' 80GB')}" if whose else word


def win_shares(
    frame: pd.DataFrame,
    *,
    names: tuple[str, str],
    gpus: tuple[str, str],
    share: str = "p_a_beats_b",
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often one option is below another, a cell per case and question.

    What is at least 95 % sure either way is written in bold, with a frame.

    Parameters
    ----------
    frame : A row per cell: ``case question`` and the share; cases and questions stand in the
        order of the frame. What is missing stays white.
    names, gpus : What the options a and b are called, and their cards.
    share : Column of the share of draws in which a is below b. [1]
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["case", "question", share], "plots.win_shares")
    known = frame[~np.isnan(numbers(frame, share))]
    cases, questions = list(known["case"].unique()), list(known["question"].unique())
    ax = style.axes(ax, 2.2 + _ROW_IN * len(cases), width_in=10.0)
    colours = [style.gpu_colour(gpus[1]), "#FFFFFF", style.gpu_colour(gpus[0])]
    cmap = LinearSegmentedColormap.from_list("share", colours)
    for case, question, value in known[["case", "question", share]].itertuples(index=False):
        x, y = questions.index(question), cases.index(case)
        sure = not (1 - _SURE < value < _SURE)
        box: dict[str, Any] = {"facecolor": cmap(0.5 + (value - 0.5) * 0.8), "linewidth": 1.5}
        edge = INK if sure else "white"
        cell = Rectangle((x - 0.47, y - 0.44), 0.94, 0.88, edgecolor=edge, **box)
        cell.set_zorder(3 if sure else 2)
        ax.add_patch(cell)
        weight = "bold" if sure else "normal"
        text = f"{value:.2f}" if 0.005 <= value < 0.995 else f"{value:.3f}"
        ax.text(x, y, text, ha="center", va="center", fontsize=TEXT_PT, color=INK, zorder=4)
        ax.texts[-1].set_fontweight(weight)
    ax.set_xlim(-0.5, max(len(questions), 1) - 0.5)
    ax.set_ylim(max(len(cases), 1) - 0.5, -0.5)
    ax.set_yticks(range(len(cases)), cases)
    ax.set_xticks(range(len(questions)), [textwrap.fill(str(q), _CELL_LETTERS) for q in questions])
    ax.set_xlabel(
        f"Share of draws in which {names[0]} are below {names[1]} (1)\n"
        f"framed: at least {_SURE:g} or at most {1 - _SURE:.2g}"
    )
    _finish(ax, title)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def tornado(
    frame: pd.DataFrame,
    *,
    result: str,
    count: int = 10,
    tie: float | None = 1.0,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a result does when one factor at a time moves to its ends.

    Parameters
    ----------
    frame : Rows of :func:`hetcost.tornado`, widest first: ``factor low high at_low at_high
        at_mode``.
    result : What the result is, with its unit.
    count : How many factors to draw.
    tie : A value to mark; none if None.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["factor", "low", "high", "at_low", "at_high", "at_mode"], "plots.tornado")
    rows = frame.dropna(subset=["at_low", "at_high"]).head(count)
    ax = style.axes(ax, 1.9 + _ROW_IN * max(len(rows), 1))
    for place, (_, row) in enumerate(rows.iterrows()):
        ends = sorted([(row["at_low"], "low"), (row["at_high"], "high")])
        chosen = pd.isna(row["low"])
        for (value, end), side in zip(ends, ("right", "left"), strict=True):
            shade = _GREY if chosen else _LOW_SHADE if end == "low" else _HIGH_SHADE
            width = value - row["at_mode"]
            ax.barh(place, width, left=row["at_mode"], height=0.62, color=shade, zorder=2)
            text = "" if chosen else _value(row[end])
            look: dict[str, Any] = {"ha": side, "dx": -4 if side == "right" else 4}
            style.write(ax, value, place, text, fontsize=NOTE_PT, **look)
    ax.set_yticks(
        range(len(rows)),
        [textwrap.fill(factor_name(f, units=True), _LETTERS) for f in rows["factor"]],
    )
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    if len(rows):
        mode = float(rows["at_mode"].iloc[0])
        ax.axvline(mode, color=INK, linewidth=1.2, zorder=3)
        drawn = rows[["at_low", "at_high", "at_mode"]].to_numpy(float)
        low, high = float(drawn.min()), float(drawn.max())
        if tie is not None:
            low, high = min(low, tie), max(high, tie)
            ax.axvline(tie, color=_GREY, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        margin = 0.13 * (high - low or 1.0)
        ax.set_xlim(low - margin, high + margin)
    told = "; dashed: they tie" if tie is not None else ""
    ax.set_xlabel(f"{result}\nblue: at the factor's low end, orange: at its high end{told}")
    _finish(ax, title)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#E6E6E6", linewidth=0.8)
    return ax


def variance_shares(
    frame: pd.DataFrame,
    *,
    count: int = 10,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw Sobol' indices: what each factor explains alone, and with all its interactions.

    Parameters
    ----------
    frame : Rows of :func:`hetcost.sobol`, weightiest first: ``factor first_order total_order``.
    count : How many factors to draw.
    title : The finding.
    ax : Where to draw; a new figure if None.

    Returns
    -------
    The Axes.
    """
    require(frame, ["factor", "first_order", "total_order"], "plots.variance_shares")
    rows = frame.head(count)
    ax = style.axes(ax, 1.8 + _ROW_IN * max(len(rows), 1))
    first, total = (rows[f"{order}_order"].to_numpy(float) for order in ("first", "total"))
    ax.hlines(range(len(rows)), 0, total, color=FAINT, linewidth=2, zorder=1)
    ax.plot(first, range(len(rows)), "o", color=INK, markersize=8, zorder=3)
    open_mark: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.6}
    ax.plot(total, range(len(rows)), "D", color=INK, markersize=6, zorder=2, **open_mark)
    for place, value in enumerate(total):
        style.write(ax, value, place, f"{value:.2f}", dx=9, fontsize=NOTE_PT)
    ax.set_yticks(
        range(len(rows)),
        [textwrap.fill(factor_name(f, units=True), _LETTERS) for f in rows["factor"]],
    )
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    ax.set_xlim(0, max(1.0, float(np.max(total, initial=0.0)) * 1.1))
    ax.set_xlabel("Share of the variance (1)\ndot: of the factor alone; diamond: with interactions")
    _finish(ax, title)
    ax.tick_params(axis="y", length=0)
    return ax


def _value(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _finish(ax: Axes, title: str | None) -> None:
    """Give the figure its look, with a title as wide as the Axes will be."""
    style.literal(ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    bars.finish(ax, title)
