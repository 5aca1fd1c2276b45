"""What is wrong with runs, or to be known before they are compared.

Every check is one function that says of every run what it found. `diagnose` tells all findings;
`noted` writes them into the runs' own ``warnings`` and ``prefix_state``, as the readers do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hetcost.findings import figures, load, prefix, series
from hetcost.findings.check import Check, column, plain

__all__ = ["CHECKS", "Check", "diagnose", "noted"]

CHECKS: tuple[Check, ...] = (*figures.CHECKS, *load.CHECKS, *prefix.CHECKS, *series.CHECKS)
_SEVERITIES = ("error", "warning", "note")


def diagnose(runs: pd.DataFrame) -> pd.DataFrame:
    """Tell what is wrong with runs, or to be known before they are compared.

    Parameters
    ----------
    runs : Rows in the run columns; a check whose columns are absent finds nothing.

    Returns
    -------
    One row per finding, worst first: ``run_id`` (the row's label where there is none), ``check``,
    ``severity`` (error, warning or note), ``what`` was found, ``why`` it matters and what to
    ``do``. What readers wrote into ``warnings`` is ``noticed``.

    Raises
    ------
    ColumnError
        `runs` is no DataFrame, has a column twice, or one that a check reads holds no numbers or
        no texts.

    Examples
    --------
    >>> import hetcost as hc
    >>> found = diagnose(hc.load_runs("ionet-2025"))
    >>> sorted(found["severity"].unique())
    ['note', 'warning']
    """
    labels = pd.Series(map(str, runs.index)) if isinstance(runs, pd.DataFrame) else None
    runs = plain(runs, "diagnose")
    names = column(runs, "run_id")
    names = names.where(names.notna(), labels)
    rows = []
    for check in CHECKS:
        found = check.find(runs)
        rows += [
            (names.iloc[row], check.name, check.severity, found[row], check.why, check.remedy, row)
            for row in np.flatnonzero(found != "")
        ]
    rows += _noticed(runs, names, rows)
    columns = ["run_id", "check", "severity", "what", "why", "do", "row"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[:-1], "str"))
    table["rank"] = table["severity"].map(_SEVERITIES.index)
    return table.sort_values(["rank", "row"], kind="stable", ignore_index=True)[columns[:-1]]


def _noticed(
    runs: pd.DataFrame, names: pd.Series, rows: list[tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Return what stands in ``warnings`` and no check has found: what a reader saw in its file."""
    found = {(row[-1], row[3]) for row in rows}
    why = "the file tells what its figures do not show"
    remedy = "weigh it before the run is compared"
    noticed = []
    for row, text in enumerate(column(runs, "warnings").fillna("")):
        parts = [part for part in str(text).split("; ") if part and (row, part) not in found]
        if parts:
            told = "; ".join(parts)
            noticed.append((names.iloc[row], "noticed", "warning", told, why, remedy, row))
    return noticed


def noted(runs: pd.DataFrame) -> pd.DataFrame:
    """Return runs with what was found of them, errors and warnings, in ``warnings``.

    ``prefix_state`` is filled in where it is not known.
    """
    out = plain(runs, "noted")
    states = prefix.prefix_states(out)
    out = out.assign(prefix_state=pd.Series(states, dtype="str"))
    said = list(column(out, "warnings").fillna(""))
    for check in CHECKS:
        if check.severity == "note":
            continue
        found = prefix.warm(out, states) if check.find is prefix.warm else check.find(out)
        for row in np.flatnonzero(found != ""):
            parts = said[row].split("; ") if said[row] else []
            if found[row] not in parts:
                said[row] = "; ".join([*parts, found[row]])
    written = pd.Series([text or None for text in said], dtype="str")
    return out.assign(warnings=written).set_axis(runs.index)
