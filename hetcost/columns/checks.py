"""Checks of frames against the data dictionary."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns.column import Column
from hetcost.columns.dictionary import COLUMNS, DTYPES
from hetcost.columns.runs import RUN_COLUMNS
from hetcost.errors import ColumnError, listing, nearest_first

_ACCOUNTING = (
    "perspective",
    "grid_method",
    "idle_baseline",
    "power_model",
    "energy_boundary",
    "emb_boundary",
)
_LARGEST_COUNT = 2.0**53  # up to here floats are exact


def require(frame: pd.DataFrame, names: Iterable[str], verb: str) -> None:
    """Raise :class:`ColumnError` unless the frame has each column that a verb reads, once."""
    if not isinstance(frame, pd.DataFrame):
        message = f"{verb}: a DataFrame of runs belongs here, not {type(frame).__name__}"
        raise ColumnError(message)
    wanted = list(names)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        likely = nearest_first(missing[0], frame.columns)[:3]
        message = f"{verb}: the frame lacks {listing(missing)}"
        if likely:
            message += f"; the columns most like '{missing[0]}' are {listing(likely)}"
        raise ColumnError(message)
    doubled = list(dict.fromkeys(n for n in wanted if isinstance(frame[n], pd.DataFrame)))
    if doubled:
        message = f"{verb}: the frame has {listing(doubled)} more than once"
        raise ColumnError(message)


def numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column as floats, missing values as NaN.

    Raises
    ------
    ColumnError
        The column holds something that is no number; the message shows row and value.
    """
    values = frame[name]
    is_time = (pd.api.types.is_datetime64_any_dtype, pd.api.types.is_timedelta64_dtype)
    if any(test(values.dtype) for test in is_time):
        _refuse(frame, name, pd.Series(True, index=values.index), "is a time, not a number")
    if pd.api.types.is_numeric_dtype(values):
        return np.asarray(values.to_numpy(dtype="float64", na_value=np.nan))
    read = pd.to_numeric(values, errors="coerce")
    times = values.map(lambda value: isinstance(value, (dt.date, dt.timedelta)))
    _refuse(frame, name, (read.isna() & values.notna()) | times.astype(bool), "is not a number")
    return np.asarray(read.to_numpy(dtype="float64", na_value=np.nan))


def numbers_or_missing(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """Return a column as :func:`numbers` does, all missing where the frame lacks it."""
    return numbers(frame, name) if name in frame else np.full(len(frame), np.nan)


def conform(frame: pd.DataFrame, columns: Sequence[Column] = RUN_COLUMNS) -> pd.DataFrame:
    """Return the frame with all the given columns, in order and dtype; others stand behind.

    Parameters
    ----------
    frame : Any frame; columns it lacks are filled with missing values.
    columns : The columns to lead, of the data dictionary.

    Raises
    ------
    ColumnError
        A value is not of its column's kind; the message shows column and value.
    """
    out = {column.name: _converted(frame, column) for column in columns}
    known = {column.name for column in columns}
    others = [name for name in frame.columns if name not in known]
    lead = pd.DataFrame(out, index=frame.index)
    return lead if not others else pd.concat([lead, frame[others]], axis=1)


def _converted(frame: pd.DataFrame, column: Column) -> pd.Series:
    dtype = DTYPES[column.kind]
    if column.name not in frame.columns:
        return pd.Series([None] * len(frame), index=frame.index, dtype=dtype)
    values = frame[column.name]
    if str(values.dtype) == dtype:
        return values
    if column.kind in ("text", "flag"):
        return values.astype(dtype)
    floats = numbers(frame, column.name)
    if column.kind == "count":
        wrong, why = out_of_bounds(column, floats)
        _refuse(frame, column.name, pd.Series(wrong, index=frame.index), why)
    return pd.Series(floats, index=frame.index).astype(dtype)


def _refuse(frame: pd.DataFrame, name: str, wrong: pd.Series, what: str) -> None:
    if not wrong.any():
        return
    rows = frame.loc[wrong.to_numpy(), name]
    shown = ", ".join(f"row {index}: {value!r}" for index, value in rows.head(3).items())
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    message = f"column '{name}' {what}: {shown}{more}"
    raise ColumnError(message)


def check(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame unchanged if every known column is within its bounds.

    Raises
    ------
    ColumnError
        A value lies outside; the message shows column, bounds, rows and values.
    """
    for name in frame.columns:
        column = COLUMNS.get(str(name))
        if column is not None and column.kind in ("number", "count"):
            wrong, why = out_of_bounds(column, numbers(frame, str(name)))
            _refuse(frame, column.name, pd.Series(wrong, index=frame.index), why)
    return frame


def one_accounting(frame: pd.DataFrame, verb: str) -> pd.DataFrame:
    """Return the frame unchanged if its energies and emissions were had under one accounting.

    Raises
    ------
    ColumnError
        Rows differ in perspective, in life-cycle or direct grid factors, in the idle baseline, in
        the power model or in a boundary: their figures must not be compared.
    """
    for name in _ACCOUNTING:
        if name in frame and len(found := frame[name].fillna("unknown").unique()) > 1:
            kinds = listing(sorted(map(str, found)))
            message = (
                f"{verb}: rows of {name} {kinds} are mixed and must not be compared; "
                f'keep one, .query("{name} == ...")'
            )
            raise ColumnError(message)
    return frame


def out_of_bounds(column: Column, values: NDArray[np.float64]) -> tuple[NDArray[np.bool_], str]:
    """Say which values a column cannot hold, and why; missing values pass."""
    wrong = (values < column.low) | (values > column.high)
    why = f"is outside {column.low:g} … {column.high:g}"
    if not column.infinite:
        wrong |= np.isinf(values)
    if column.kind == "count":
        with np.errstate(invalid="ignore"):
            wrong |= (values % 1 > 0) | (values > _LARGEST_COUNT)
        why += " or not a whole number"
    return wrong, why
