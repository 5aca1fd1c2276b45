"""Bars in named groups, each with its own text: what the figures of power and carbon share."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation

from hetcost.plots import style
from hetcost.plots.style import INK, NOTE_PT

GROUP_GAP = 0.7  # bars
_THICKNESS = 0.84
_TINTS = (0.0, 0.45, 0.72)  # of the parts of a bar, towards white
_MARGIN_PT = 16.0  # letters are wider at other resolutions
_NAME_LETTERS = 20
_SHORTEST_LINE = 20  # letters


class Bar(NamedTuple):
    """Parts that are stacked from 0, the text at the end, and bounds of the whole."""

    parts: Sequence[float]
    colour: str
    text: str
    low: float = np.nan
    high: float = np.nan


def tint(colour: str, part: int) -> str:
    """Return the colour of the n-th part of a bar: the card's, then lighter ones."""
    share = _TINTS[min(part, len(_TINTS) - 1)]
    red, green, blue = (shade + (1 - shade) * share for shade in to_rgb(colour))
    return to_hex((red, green, blue))


def draw(ax: Axes, groups: Mapping[str, Sequence[Bar]], part_names: Sequence[str] = ()) -> None:
    """Draw groups of horizontal bars from the top down, and make room for their texts.

    Names of parts are written over the bar whose narrowest part is the widest.
    """
    place, ticks = 0.0, []
    places: dict[float, Bar] = {}
    for bars in groups.values():
        ticks.append(place + (len(bars) - 1) / 2)
        for bar in bars:
            places[place] = bar
            _draw_bar(ax, place, bar)
            place += 1
        place += GROUP_GAP
    ax.set_yticks(ticks, [_wrapped(name) for name in groups])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(place - GROUP_GAP - 0.3, -0.7)
    ends = [end for bar in places.values() if np.isfinite(end := _end(bar))]
    ax.set_xlim(0, max(ends, default=1.0) or 1.0)
    if part_names and places:
        _name_parts(ax, places, part_names)
    make_room(ax)


def number(value: float) -> str:
    """Write a number with three digits, or all those before the point.

    Examples
    --------
    >>> number(0.5578), number(92.04), number(1016.3)
    ('0.558', '92.0', '1,016')
    """
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(0, 3 - whole)}f}"


def height_in(groups: Iterable[Sequence[object]], bar_in: float) -> float:
    """Return the height of a figure of these groups, title and axis included."""
    sizes = [len(bars) for bars in groups]
    return 1.6 + bar_in * (sum(sizes) + GROUP_GAP * len(sizes))


def make_room(ax: Axes) -> None:
    """Widen the x axis, which starts at 0, until every text beside a point fits in."""
    beside = [
        text
        for text in ax.texts
        if isinstance(text, Annotation) and text.get_horizontalalignment() == "left"
    ]
    for text in beside:
        text.set_in_layout(False)  # the axis makes room, the axes need not shrink
    style.literal(ax)
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]
    width = ax.get_window_extent().width - _MARGIN_PT * ax.figure.dpi / 72
    low, high = ax.get_xlim()
    needed = high
    for text in beside:
        x = float(text.xy[0])
        free = width - text.get_window_extent().x1 + ax.transData.transform((x, 0))[0]
        if free > 0.1 * width:
            needed = max(needed, low + (x - low) * width / free)
    ax.set_xlim(low, needed)


def finish(ax: Axes, title: str | None) -> Axes:
    """Give the figure its look, with a title as wide as what is drawn, and no grid; return it."""
    style.finish(ax, None)
    if title:
        style.head(ax, _broken(ax, title))
    ax.grid(visible=False)
    return ax


def _broken(ax: Axes, title: str) -> str:
    """Break a title into lines, as long as the width of what is drawn lets them be."""
    width = ax.get_window_extent().width - _MARGIN_PT * ax.figure.dpi / 72
    look: dict[str, Any] = {"fontsize": style.TITLE_PT, "fontweight": "bold"}
    probe = ax.figure.text(0, 0, title, parse_math=False, **look)
    letters = len(title)
    while probe.get_window_extent().width > width and letters > _SHORTEST_LINE:
        letters -= 1
        probe.set_text(style.broken(title, letters))
    broken = probe.get_text()
    probe.remove()
    return broken


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.fill(line, _NAME_LETTERS) for line in name.splitlines())


def _draw_bar(ax: Axes, place: float, bar: Bar) -> None:
    left = 0.0
    for index, part in enumerate(bar.parts):
        if np.isfinite(part):
            colour = tint(bar.colour, index)
            edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6}
            ax.barh(place, part, left=left, height=_THICKNESS, color=colour, **edge)
            left += part
    if np.isfinite(bar.low) and np.isfinite(bar.high):
        reach = [[left - bar.low], [bar.high - left]]
        whisker: dict[str, Any] = {
            "ecolor": INK,
            "elinewidth": 1.4,
            "capsize": 3.5,
            "capthick": 1.4,
        }
        drawn = ax.errorbar(left, place, xerr=reach, fmt="none", zorder=4, **whisker)
        for artist in drawn.get_children():
            artist.set_path_effects([withStroke(linewidth=3.4, foreground="white")])
    style.write(ax, _end(bar), place, bar.text, fontsize=NOTE_PT, dx=6)


def _end(bar: Bar) -> float:
    whole = float(np.nansum(bar.parts))
    return whole if np.isnan(bar.high) else max(whole, bar.high)


def _name_parts(ax: Axes, places: Mapping[float, Bar], names: Sequence[str]) -> None:
    def narrowest(place: float) -> float:
        return min(places[place].parts)

    place = max(places, key=narrowest)
    left = 0.0
    for part, name in zip(places[place].parts, names, strict=True):
        look: dict[str, Any] = {
            "fontsize": NOTE_PT,
            "ha": "center",
            "va": "bottom",
            "color": "#555555",
        }
        style.write(ax, left + part / 2, place - 0.46, name, dx=0, dy=0, **look)
        left += part
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, min(top, place - 1.2))
