"""What a notebook leaves behind: figures, tables, sentences, sources.

They go to the folder of the report that runs the notebook (``HETCOST_REPORT_DIR``), and are
noted there in ``RECORD``. When somebody works in the notebook, figures go to ``figures/`` beside
``notebooks/`` (else below the working directory), and nothing else is written.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hetcost.columns import label
from hetcost.errors import ReportError
from hetcost.resources import checkout_root

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas.io.formats.style import Styler

REPORT_DIR = "HETCOST_REPORT_DIR"
RECORD = ".record.jsonl"
FIGURES, TABLES, FINDINGS, SOURCES = "figures", "tables", "findings", "sources"
PAGES = "pages"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_CITED = (
    "entity",
    "quantity",
    "value",
    "unit",
    "source",
    "url",
    "date",
    "licence",
    "quality",
    "origin",
)
_DPI = 160
_WIDTH_PX = 900
_LONG_TEXT = 32
_LEFT, _WRAPPED = "text-align: left;", "white-space: normal; min-width: 13rem"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def save_figure(figure: Figure, name: str) -> None:
    """Save a figure as ``NAME.png`` and ``NAME.svg``, show it, and close it.

    The same figure gives the same bytes. Its title is the picture's alternative text.

    Parameters
    ----------
    figure : The figure; of an Axes, ``ax.figure``.
    name : Lower-case letters, digits, ``_`` and ``-``.

    Raises
    ------
    ReportError
        The name is none.
    """
    from IPython.display import Image, display  # only notebooks show

    from hetcost.plots import style  # numbers go without matplotlib

    _check_name(name)
    stem = _folder(FIGURES) / name
    title = figure.get_suptitle() or next((ax.get_title(loc="left") for ax in figure.axes), "")
    text = " ".join(title.split()) or name
    style.save(figure, stem, _DPI)
    png = stem.with_suffix(".png").read_bytes()
    display(Image(png, width=_WIDTH_PX, alt=text))  # type: ignore[no-untyped-call]
    _note(FIGURES, {"png": f"{FIGURES}/{name}.png", "svg": f"{FIGURES}/{name}.svg", "title": text})


def save_table(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Save a table as ``NAME.csv`` in the report's folder, and return it.

    Text that a spreadsheet would take for a formula gets an apostrophe in front. Outside of a
    report nothing is written.

    Parameters
    ----------
    table : Columns are kept, the index is not.
    name : Lower-case letters, digits, ``_`` and ``-``.

    Raises
    ------
    ReportError
        The name is none.
    """
    _check_name(name)
    if REPORT_DIR in os.environ:
        safe = table.rename(columns=_no_formula)
        for column in safe.select_dtypes(exclude=["number", "boolean", "bool"]):
            safe[column] = safe[column].map(_no_formula)
        path = _folder(TABLES) / f"{name}.csv"
        safe.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
        _note(TABLES, f"{TABLES}/{path.name}")
    return table


def show_table(table: pd.DataFrame, name: str, columns: list[str] | None = None) -> Styler:
    """Save a table as :func:`save_table` does, and show it with labels and units as headings.

    Parameters
    ----------
    table : Columns of the data dictionary are headed by their labels, others by their names.
    name : Lower-case letters, digits, ``_`` and ``-``.
    columns : Columns to show, all if None; the CSV has all.

    Returns
    -------
    What a notebook shows, rounded by column, long texts in several lines; the CSV has all digits.
    Nothing in the table is taken as markup.
    """
    save_table(table, name)
    table = table if columns is None else table[columns]
    headings: dict[Any, str] = {column: html.escape(label(str(column))) for column in table}
    shown: dict[Any, Any] = {headings[column]: _formatter(table[column]) for column in table}
    styled = table.rename(columns=headings).style.hide(axis="index").format(shown)
    text = [
        headings[column] for column in table if not pd.api.types.is_numeric_dtype(table[column])
    ]
    left: Any = {}
    for column, write in zip(table, shown.values(), strict=True):
        if headings[column] in text:
            long = table[column].map(write).str.len().max() > _LONG_TEXT
            props = _LEFT + _WRAPPED if long else _LEFT
            left[headings[column]] = [{"selector": "", "props": props}]
    return styled.set_table_styles(left).set_uuid(name)


def say(sentence: str) -> None:
    """Show a finding as a sentence, and let the report repeat it on its front page.

    Parameters
    ----------
    sentence : Plain text; nothing in it is taken as markup.
    """
    from IPython.display import display

    shown = f'<p class="finding">{html.escape(sentence)}</p>'
    display({"text/html": shown, "text/plain": sentence}, raw=True)  # type: ignore[no-untyped-call]
    _note(FINDINGS, sentence)


def cite(facts: pd.DataFrame) -> None:
    """Let the report list the facts that its numbers rest on.

    Parameters
    ----------
    facts : As :func:`hetcost.facts_used` or the tables of :mod:`hetcost.reference` give them.
    """
    facts = facts[[name for name in _CITED if name in facts]]
    for fact in facts.astype(object).where(facts.notna(), None).to_dict("records"):
        _note(SOURCES, fact)


def read_record(folder: Path) -> Mapping[str, list[Any]]:
    """Return what was noted in a report's folder, by kind."""
    names = (FIGURES, TABLES, FINDINGS, SOURCES, PAGES)
    kinds: dict[str, list[Any]] = {kind: [] for kind in names}
    path = folder / RECORD
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            kind, entry = json.loads(line)
            if entry not in kinds[kind]:
                kinds[kind].append(entry)
    return kinds


def note_in(folder: Path, kind: str, entry: Any) -> None:
    """Note in a report's folder what was left there, so that the next report may clear it."""
    with (folder / RECORD).open("a", encoding="utf-8") as record:
        record.write(json.dumps([kind, entry], ensure_ascii=True) + "\n")


def _note(kind: str, entry: Any) -> None:
    if REPORT_DIR in os.environ:
        note_in(Path(os.environ[REPORT_DIR]), kind, entry)


def _folder(kind: str) -> Path:
    root = os.environ.get(REPORT_DIR)
    folder = Path(root) / kind if root else (checkout_root() or Path.cwd()) / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _formatter(column: pd.Series) -> Callable[[Any], str]:
    """Write a column's numbers with one number of decimals: four digits of a typical value."""
    if column.name == "model":
        return lambda value: "–" if pd.isna(value) else html.escape(str(value).rsplit("/", 1)[-1])
    if not pd.api.types.is_float_dtype(column):
        return lambda value: "–" if pd.isna(value) else html.escape(str(value))
    finite = column[np.isfinite(column)]
    sizes = finite.abs()[finite != 0]
    typical = 1.0 if sizes.empty else float(sizes.median())
    whole = bool((finite % 1 == 0).all())
    decimals = 0 if whole else min(max(3 - math.floor(math.log10(typical)), 0), 8)
    return lambda value: "–" if pd.isna(value) else f"{value:,.{decimals}f}"


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = f"'{name}' is no name of a figure or table: use a-z, 0-9, '_' and '-'"
        raise ReportError(message)


def _no_formula(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"'{value}" if is_formula else value
