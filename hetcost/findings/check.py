"""One check of runs: what it looks for, why that matters, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import numbers_or_missing

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Texts = NDArray[np.object_]
Severity = Literal["error", "warning", "note"]

# Columns that make runs one series: the same model on the same hardware by the same server.
SERIES = (
    "study",
    "engine",
    "engine_version",
    "model",
    "weight_dtype",
    "gpu",
    "n_gpus",
    "tensor_parallel",
    "pipeline_parallel",
    "replicas",
    "dataset",
)


_LENGTHS = ("mean_in_tok", "mean_out_tok")


class Check(NamedTuple):
    """A check: ``find`` says of every run what it found, "" where it found nothing."""

    name: str
    severity: Severity
    find: Callable[[pd.DataFrame], Texts]
    why: str
    remedy: str


def texts(runs: pd.DataFrame, where: Any, template: str, **values: Any) -> Texts:
    """Write a text for the rows where something was found.

    `values` are arrays, of one value per row, that the template names.
    """
    out = np.full(len(runs), "", dtype=object)
    for row in np.flatnonzero(where):
        out[row] = template.format(**{name: value[row] for name, value in values.items()})
    return out


def column(runs: pd.DataFrame, name: str) -> pd.Series:
    """Return a column as it is; all missing where the runs lack it."""
    return runs[name] if name in runs else pd.Series(None, index=runs.index, dtype="object")


def series_of(runs: pd.DataFrame, *further: str) -> NDArray[np.int64]:
    """Return the number of the series that each run belongs to: like lengths, too."""
    keys = [name for name in (*SERIES, *further) if name in runs]
    frame = runs[keys].assign(**{name: length_class(runs, name) for name in _LENGTHS})
    if runs.empty:
        return np.zeros(0, dtype=np.int64)
    groups = frame.groupby([*keys, *_LENGTHS], dropna=False, sort=False)
    return np.asarray(groups.ngroup(), dtype=np.int64)


def length_class(runs: pd.DataFrame, name: str) -> Floats:
    """Return the class of a mean length: lengths in one differ by less than a factor of two."""
    with np.errstate(divide="ignore", invalid="ignore"):
        doublings = np.log2(numbers_or_missing(runs, name))
    return np.asarray(np.round(doublings))
