"""How every figure looks: one colour per card, direct labels, texts drawn as they stand."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.text import Text

# The hue is a card's for good. The first eight are Okabe and Ito's (safe for colour-blind
# readers), the others Paul Tol's muted scheme; lines are named as well, never told by hue alone.
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
_TIED = "\u00a0%"
TITLE_PT, TEXT_PT, NOTE_PT = 13.0, 11.0, 9.5

SERIES = ("gpu", "n_gpus")


def configuration(gpu: str, n_gpus: float) -> str:
    """Return the short name of a configuration for a label.

    Examples
    --------
    >>> configuration("RTX 4090", 2), configuration("H100 PCIe 80GB", 1)
    ('2× RTX 4090', 'H100 PCIe')
    """
    short = gpu.removesuffix(" 80GB")
    return short if n_gpus == 1 else f"{n_gpus:g}× {short}"


def gpu_colour(gpu: str) -> str:
    """Return the colour that a card has in every figure."""
    return GPU_COLOURS.get(gpu, OTHER_COLOUR)


def axes(ax: Axes | None, height_in: float = 5.4, width_in: float = 9.0) -> Axes:
    """Return the Axes given, or those of a new figure."""
    if ax is not None:
        return ax
    _, ax = plt.subplots(figsize=(width_in, height_in), layout="constrained")
    return ax


def grid(panels: Sequence[str], draw: Callable[[str, Axes], None], columns: int) -> Figure:
    """Make a figure of panels on shared axes; only the outer ones carry axis labels."""
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


def means(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Average the repeats of a load, by model, card, count and load."""
    with_model = frame if "model" in frame else frame.assign(model="")
    keys = ["model", *SERIES, "request_rate_per_s"]
    averaged: pd.DataFrame = with_model.groupby(keys)[columns].mean()
    return averaged


def series(averaged: pd.DataFrame) -> Iterator[tuple[str, str, int, pd.DataFrame]]:
    """Yield name, card, count and rows of each line; models are named where there are several."""
    several = len(averaged.index.unique("model")) > 1
    for key, rows in averaged.groupby(level=["model", *SERIES]):
        model, gpu, n_gpus = cast("tuple[str, str, int]", key)
        name = configuration(gpu, n_gpus)
        yield (f"{short(model)}, {name}" if several else name), gpu, int(n_gpus), rows


def dots(ax: Axes, x: Any, y: Any, gpu: str) -> None:
    """Draw single runs, faintly, in the card's hue."""
    ax.scatter(x, y, s=9, color=gpu_colour(gpu), alpha=0.55, linewidths=0, zorder=2)


def line(ax: Axes, x: Any, y: Any, gpu: str, n_gpus: int) -> str:
    """Draw the line of a configuration, hue by card and marker by count; return its colour."""
    colour, marker = gpu_colour(gpu), MARKERS.get(int(n_gpus), "P")
    ax.plot(x, y, color=colour, marker=marker, markersize=6.5, linewidth=1.8, zorder=3)
    return colour


def legend_handles(frame: pd.DataFrame) -> list[Any]:
    """Return one legend entry per configuration of the frame."""
    configurations = frame[list(SERIES)].dropna().drop_duplicates().sort_values(list(SERIES))
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


def write(
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


def name_lines(ax: Axes, names: Sequence[tuple[float, float, str, str]], dx: float = 8.0) -> None:
    """Name lines at their right ends, pushed apart so that no two names overlap."""
    ordered = sorted(names, key=lambda entry: entry[1])
    heights = [points(ax, y) for _, y, _, _ in ordered]
    free = spread(heights, TEXT_PT * 1.3)
    for (x, y, text, colour), height, at in zip(ordered, heights, free, strict=True):
        write(ax, x, y, text, color=colour, fontweight="bold", dx=dx, dy=at - height)


def name_column(ax: Axes, names: Sequence[tuple[float, float, str, str]]) -> None:
    """Name many lines in a column at the right, each tied to its last point."""
    ordered = sorted(names, key=lambda entry: entry[1])
    bottom, top = (points(ax, y) for y in ax.get_ylim())
    gap = min(NOTE_PT * 1.35, (top - bottom) / len(ordered))
    free = spread([points(ax, y) for _, y, _, _ in ordered], gap)
    shift = max(0.0, free[-1] - top) + min(0.0, free[0] - bottom)
    for (x, y, text, colour), at in zip(ordered, free, strict=True):
        ax.annotate(
            text,
            (x, y),
            xytext=(1.03, (at - shift - bottom) / (top - bottom)),
            textcoords="axes fraction",
            color=colour,
            fontsize=NOTE_PT,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "alpha": 0.5,
                "relpos": (0, 0.5),
            },
        )


def points(ax: Axes, y: float) -> float:
    """Return the height of a data value above the bottom of the figure, in points."""
    pixels = ax.transData.transform((ax.get_xlim()[0], y))[1]
    return float(pixels) * 72.0 / ax.figure.dpi


def spread(heights: Sequence[float], gap: float) -> list[float]:
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


def finish(ax: Axes, title: str | None, title_in: float | None = None) -> Axes:
    """Give an Axes the common look and its title, broken to a width in inches; return it."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=TEXT_PT - 1)
    ax.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=TEXT_PT)
    if title:
        head(ax, wrapped(title, ax, title_in))
    literal(ax)
    return ax


def head(ax: Axes, text: str) -> None:
    """Write a title, its lines as they stand."""
    look: dict[str, Any] = {"fontsize": TITLE_PT, "fontweight": "bold", "color": INK}
    ax.set_title(text, loc="left", pad=12, parse_math=False, **look)


def literal(artist: Axes | Figure) -> None:
    """Draw every text as it stands: a dollar sign in a name is no formula."""
    for text in artist.findobj(Text):
        text.set_parse_math(False)


def short(model: str) -> str:
    """Return the last part of a model's hub name."""
    return model.rsplit("/", 1)[-1]


def wrapped(text: str, ax: Axes, width_in: float | None = None) -> str:
    """Break a title so that it fits the width of its Axes, at about 11 letters an inch."""
    width_in = width_in or ax.bbox.width / ax.figure.dpi
    return broken(text, max(20, int(width_in * 11)))


def broken(text: str, letters: int) -> str:
    """Break a text into lines of so many letters, a number never apart from its per cent."""
    return textwrap.fill(text.replace(" %", _TIED), letters).replace(_TIED, " %")


def save(figure: Figure, stem: Path, dpi: float) -> None:
    """Write ``STEM.png`` and ``STEM.svg`` and close the figure; like figures give like bytes."""
    png: dict[str, Any] = {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 4}}
    figure.savefig(stem.with_suffix(".png"), dpi=dpi, **png)
    figure.set_layout_engine(None)  # the layout is found; the second drawing keeps it
    with mpl.rc_context({"svg.hashsalt": stem.name}):
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)
