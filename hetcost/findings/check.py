"""One check of runs: what it looks for, why that matters, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_object_dtype

from hetcost.columns import numbers_or_missing, require
from hetcost.errors import ColumnError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Texts = NDArray[np.object_]
Severity = Literal["error", "warning", "note"]

_HARDWARE = (
    "gpu",
    "n_gpus",
    "tensor_parallel",
    "pipeline_parallel",
    "replicas",
    "data_parallel",
    "expert_parallel",
)
_WORK = ("study", "engine", "engine_version", "model", "weight_dtype", "dataset")
# Columns that make runs one series: the same model on the same hardware by the same server.
SERIES = (*_WORK, *_HARDWARE)
_LENGTHS = ("mean_in_tok", "mean_out_tok")
_LEAP = 1.5  # between lengths of one kind and those of another


class Check(NamedTuple):
    """A check: ``find`` says of every run what it found, "" where it found nothing."""

    name: str
    severity: Severity
    find: Callable[[pd.DataFrame], Texts]
    why: str
    remedy: str


def texts(runs: pd.DataFrame, where: Any, template: str, **values: Any) -> Texts:
    """Write a text for the rows where something was found.

    `values` are arrays, of one value per row, that the template names; where one is missing, it
    is written as ``?``.
    """
    out = np.full(len(runs), "", dtype=object)
    for row in np.flatnonzero(where):
        out[row] = template.format(**{name: _told(value[row]) for name, value in values.items()})
    return out


class _Unknown(str):
    """A missing value, for whatever format it is asked in."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return "?"


def _told(value: Any) -> Any:
    return _Unknown() if pd.isna(value) else value


def plain(runs: pd.DataFrame, verb: str) -> pd.DataFrame:
    """Return runs with their rows numbered.

    Raises
    ------
    ColumnError
        It is no DataFrame of plain values, each column of one name and there once.
    """
    require(runs, [], verb)
    if runs.columns.nlevels > 1:
        message = f"{verb}: columns of one name each belong here, not of {runs.columns.nlevels}"
        raise ColumnError(message)
    require(runs, runs.columns, verb)
    out = runs.reset_index(drop=True)
    for name in out.columns[[is_object_dtype(kind) for kind in out.dtypes]]:
        for row, value in enumerate(out[name]):
            if isinstance(value, (list, dict, set)):
                message = f"{verb}: column '{name}' holds no plain value: row {row}: {value!r}"
                raise ColumnError(message)
    return out


def column(runs: pd.DataFrame, name: str) -> pd.Series:
    """Return a column as it is; all missing where the runs lack it."""
    return runs[name] if name in runs else pd.Series(None, index=runs.index, dtype="object")


def is_said(runs: pd.DataFrame, name: str, text: str) -> Mask:
    """Say where a column of texts holds one; nowhere where the runs lack the column."""
    return (column(runs, name).astype("object") == text).to_numpy(dtype=bool)


def series_of(runs: pd.DataFrame, *further: str, alike: Iterable[str] = ()) -> NDArray[np.int64]:
    """Return the number of the series that each run belongs to.

    Its runs have the same configuration, and the same of what is named further; lengths, and what
    is to be alike, differ little from one to the next. Runs that name no model are of one series
    only where they stand in one file.
    """
    return _numbered(runs, (*SERIES, *further), (*_LENGTHS, *alike))


def within(groups: NDArray[np.int64], runs: pd.DataFrame, *names: str) -> NDArray[np.int64]:
    """Return the number of the part of its group that each run belongs to, by further columns."""
    frame = pd.DataFrame({"group": groups} | {n: numbers_or_missing(runs, n) for n in names})
    return np.asarray(frame.groupby([*frame.columns], dropna=False, sort=False).ngroup())


def work_of(runs: pd.DataFrame) -> NDArray[np.int64]:
    """Return the number of the work that each run did: runs of one differ in hardware and load."""
    return _numbered(runs, _WORK, _LENGTHS)


def _numbered(runs: pd.DataFrame, names: Iterable[str], alike: Iterable[str]) -> NDArray[np.int64]:
    if not len(runs):
        return np.zeros(0, dtype=np.int64)
    frame = runs[[name for name in names if name in runs]].reset_index(drop=True)
    unnamed = column(runs, "model").isna().to_numpy()
    if unnamed.any():
        places = [str(source).rpartition(":")[0] for source in column(runs, "source")]
        frame["file"] = np.where(unnamed, places, "")
    found = frame.groupby([*frame.columns], dropna=False, sort=False).ngroup()
    for name in alike:
        found = _parted(found, numbers_or_missing(runs, name))
    return np.asarray(found, dtype=np.int64)


def _parted(groups: pd.Series, values: Floats) -> pd.Series:
    """Part groups where sorted values leap; those that are missing are a group of their own."""
    if not np.isnan(values).any() and values.max() <= values.min() * _LEAP:
        return groups
    frame = pd.DataFrame({"group": groups, "value": values}).sort_values(["group", "value"])
    before = frame.groupby("group")["value"].shift()
    leaps = (frame["value"] > before * _LEAP) | (frame["value"].isna() & before.notna())
    parts = frame.assign(part=leaps.cumsum()).groupby(["group", "part"], sort=False).ngroup()
    return parts.sort_index()
