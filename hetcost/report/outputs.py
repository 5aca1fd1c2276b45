"""What a notebook leaves behind: figures, tables, sentences.

They go to the folder of the report that runs the notebook (``HETCOST_REPORT_DIR``), or, when
somebody works in the notebook, to ``figures/`` beside ``notebooks/``.
"""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from hetcost.columns import label
from hetcost.errors import ReportError
from hetcost.resources import checkout_root

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas.io.formats.style import Styler

REPORT_DIR = "HETCOST_REPORT_DIR"
FIGURES, TABLES, FINDINGS = "figures", "tables", "findings.json"

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_DPI = 160
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def save_figure(figure: Figure, name: str) -> None:
    """Save a figure as ``NAME.png`` and ``NAME.svg``; the same figure gives the same bytes.

    Parameters
    ----------
    figure : The figure; of an Axes, ``ax.figure``.
    name : Lower-case letters, digits, ``_`` and ``-``.

    Raises
    ------
    ReportError
        The name is none.
    """
    from matplotlib import rc_context

    folder = _folder(FIGURES)
    _check_name(name)
    figure.savefig(folder / f"{name}.png", dpi=_DPI, metadata={"Software": None})
    with rc_context({"svg.hashsalt": name}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


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
    return table


def show_table(table: pd.DataFrame, name: str) -> Styler:
    """Save a table as :func:`save_table` does, and show it with labels and units as headings.

    Parameters
    ----------
    table : Columns of the data dictionary are headed by their labels, others by their names.
    name : Lower-case letters, digits, ``_`` and ``-``.

    Returns
    -------
    What a notebook shows, rounded by column; the CSV has all digits. Nothing in the table is
    taken as markup.
    """
    save_table(table, name)
    headings = {column: html.escape(label(str(column))) for column in table.columns}
    shown: dict[Any, Any] = {
        headings[column]: _formatter(table[column]) for column in table.columns
    }
    return table.rename(columns=headings).style.hide(axis="index").format(shown)


def _formatter(column: pd.Series) -> Callable[[Any], str]:
    """Write a column's numbers with one number of decimals: four digits of a typical value."""
    if not pd.api.types.is_float_dtype(column):
        return lambda value: "–" if pd.isna(value) else html.escape(str(value))
    sizes = column.abs()[column.notna() & (column != 0)]
    typical = 1.0 if sizes.empty else float(sizes.median())
    whole = bool((column.dropna() % 1 == 0).all())
    decimals = 0 if whole else min(max(3 - math.floor(math.log10(typical)), 0), 8)
    return lambda value: "–" if pd.isna(value) else f"{value:,.{decimals}f}"


def say(sentence: str) -> None:
    """Show a finding as a sentence, and let the report repeat it on its front page.

    Parameters
    ----------
    sentence : Plain text; nothing in it is taken as markup.
    """
    from IPython.display import display

    shown = f'<p class="finding">{html.escape(sentence)}</p>'
    data = {"text/html": shown, "text/plain": sentence}
    display(data, raw=True)  # type: ignore[no-untyped-call]
    if REPORT_DIR in os.environ:
        path = Path(os.environ[REPORT_DIR]) / FINDINGS
        findings = json.loads(path.read_text("utf-8")) if path.exists() else []
        path.write_text(json.dumps([*findings, sentence], ensure_ascii=False, indent=1), "utf-8")


def _folder(kind: str) -> Path:
    root = os.environ.get(REPORT_DIR)
    folder = Path(root) / kind if root else (checkout_root() or Path.cwd()) / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = f"'{name}' is no name of a figure or table: use a-z, 0-9, '_' and '-'"
        raise ReportError(message)


def _no_formula(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"'{value}" if is_formula else value
