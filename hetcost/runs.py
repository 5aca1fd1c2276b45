"""The runs table: bundled studies, and result files of anybody's own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import DTYPES, RUN_COLUMNS, check, conform, numbers, require
from hetcost.errors import AmbiguousNameError, DataWarning, ReadError, unknown_name
from hetcost.readers.files import Paths
from hetcost.readers.scan import Scan, place_and_reason, scan_runs
from hetcost.replacing import replacing
from hetcost.resources import data_dir

__all__ = [
    "Scan",
    "highest_measured",
    "load_runs",
    "of_model",
    "place_and_reason",
    "read_runs",
    "scan_runs",
    "write_runs",
]

_SHOWN = 5


def load_runs(study: str) -> pd.DataFrame:
    """Load the runs of a bundled study, or of a tidy CSV.

    Parameters
    ----------
    study : Name of a study in ``data/runs``, such as ``ionet-2025``; or the path of a ``.csv``
        in the run columns, as ``hetcost tidy`` writes it.

    Returns
    -------
    One row per run; the run columns lead, others follow.

    Raises
    ------
    UnknownNameError
        There is no such study; the message lists those there are.
    ReadError
        There is no such file, or it is no table.
    ColumnError
        The file holds a value of the wrong kind or out of bounds.

    Examples
    --------
    >>> len(load_runs("ionet-2025"))
    130
    """
    if str(study).endswith(".csv"):
        return _read_tidy(Path(study))
    folder = data_dir() / "runs"
    studies = sorted(file.stem for file in folder.glob("*.csv"))
    if study not in studies:
        if Path(study).exists():
            message = f"{study}: no table of runs; `hetcost tidy` makes one of result files"
            raise ReadError(message)
        raise unknown_name("study", study, studies)
    return _read_tidy(folder / f"{study}.csv")


def read_runs(
    paths: Paths,
    *,
    sidecar: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **given: Any,
) -> pd.DataFrame:
    """Read result files into runs, and raise if anything could not be read.

    Parameters
    ----------
    paths, sidecar, columns, progress, **given : As for :func:`scan_runs`.

    Returns
    -------
    One row per run, in the run columns.

    Raises
    ------
    ReadError
        Something was refused; the message lists file, line and reason. `scan_runs` keeps the
        good rows beside the refusals.
    """
    scan = scan_runs(paths, sidecar=sidecar, columns=columns, progress=progress, **given)
    if scan.refused.empty:
        return scan.runs
    lines = [place_and_reason(row) for row in scan.refused.head(_SHOWN).to_dict("records")]
    if len(scan.refused) > _SHOWN:
        lines.append(f"… and {len(scan.refused) - _SHOWN} more")
    lines.insert(
        0, f"{len(scan.refused)} refused ({len(scan.runs)} runs were read; scan_runs keeps them)"
    )
    raise ReadError("\n  ".join(lines))


def of_model(runs: pd.DataFrame, model: str) -> pd.DataFrame:
    """Keep the rows of one model, named in full or by a unique last part.

    Parameters
    ----------
    runs : Rows with ``model``.
    model : Hub name (``deepseek-ai/DeepSeek-R1-Distill-Qwen-14B``) or what follows its last
        slash.

    Raises
    ------
    UnknownNameError
        No row is of that model; the message lists the nearest.
    AmbiguousNameError
        Several models end in that name; the message lists them.
    """
    require(runs, ["model"], "of_model")
    names = runs["model"].dropna().unique()
    found = [name for name in names if name == model]
    found = found or [name for name in names if name.rsplit("/", 1)[-1] == model]
    if not found:
        raise unknown_name("model", model, names)
    if len(found) > 1:
        raise AmbiguousNameError("model", model, found)
    kept: pd.DataFrame = runs[runs["model"] == found[0]]
    return kept


def highest_measured(
    runs: pd.DataFrame, by: str | Sequence[str] = ("model", "gpu", "n_gpus")
) -> pd.DataFrame:
    """Keep the run of highest output throughput of each configuration: the most it was seen to do.

    What follows from it is *at capacity*, as far as measurements tell: a lower bound on what the
    configuration sustains.

    Parameters
    ----------
    runs : Rows with ``out_tok_per_s`` and the columns of `by`.
    by : Columns that make a configuration.

    Returns
    -------
    One row per configuration, in the order of the frame, with ``reading`` set to
    ``highest_measured``. Configurations without a throughput have none; a
    :class:`DataWarning` counts them.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    """
    keys = [by] if isinstance(by, str) else list(by)
    require(runs, [*keys, "out_tok_per_s"], "highest_measured")
    rates = pd.Series(numbers(runs, "out_tok_per_s"), index=runs.index)
    places = pd.DataFrame({"rate": rates.to_numpy(), "place": range(len(runs))})
    places[keys] = runs[keys].reset_index(drop=True)
    known = places[np.isfinite(places["rate"]) & (places["rate"] > 0)]
    best = known.sort_values("rate", kind="stable").groupby(keys, dropna=False)["place"].last()
    lacking = places.groupby(keys, dropna=False).ngroups - len(best)
    if lacking:
        message = f"highest_measured: {lacking} configurations have no throughput and no row"
        warnings.warn(message, DataWarning, stacklevel=2)
    return runs.iloc[sorted(best)].assign(reading="highest_measured")


def _read_tidy(path: Path) -> pd.DataFrame:
    try:
        status = path.stat()
    except OSError as error:
        message = f"{path}: no table of runs: {error.strerror}"
        raise ReadError(message) from None
    return _parsed(path, status.st_mtime_ns, status.st_size).copy()


@lru_cache(maxsize=8)
def _parsed(path: Path, _mtime_ns: int, _size: int) -> pd.DataFrame:
    kinds = {column.name: DTYPES[column.kind] for column in RUN_COLUMNS}
    options: dict[str, Any] = {"keep_default_na": False, "na_values": [""], "index_col": False}
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            header = pd.read_csv(path, nrows=0, **options).columns
            dtypes = {name: kinds[name] for name in header if name in kinds}
            try:
                frame = pd.read_csv(path, dtype=dtypes, **options)
            except (ValueError, TypeError, OverflowError):
                frame = pd.read_csv(path, dtype="str", **options)
    except (OSError, ValueError, pd.errors.ParserWarning) as error:
        message = f"{path}: no table of runs: {error}"
        raise ReadError(message) from None
    if "gpu" not in frame or not {"out_tok_per_s", "all_tok_per_s"} & set(frame.columns):
        message = f"{path}: not in the run columns; `hetcost tidy` writes such a table"
        raise ReadError(message)
    return check(conform(frame))


def write_runs(runs: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table of runs so that :func:`load_runs` reads the same back.

    Raises
    ------
    OSError
        It cannot be written; a file that stood there stays.
    """
    with replacing(path) as begun:
        runs.to_csv(begun, index=False, lineterminator="\n", encoding="utf-8")
