"""Scan result files into the runs table: read, refuse, derive, sort."""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pandas as pd

from hetcost.columns import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS, conform
from hetcost.errors import DataWarning, ReadError, listing
from hetcost.findings import noted
from hetcost.findings.check import series_of
from hetcost.readers import Row, rows_of_text, rows_of_values
from hetcost.readers.copies import twins
from hetcost.readers.derived import derive, impossible
from hetcost.readers.fields import add_warning, printable
from hetcost.readers.files import Candidate, Paths, candidates
from hetcost.readers.given import Given
from hetcost.readers.opening import Opened, opened
from hetcost.readers.parquet import rows_of_parquet
from hetcost.readers.records import Found, json_lines
from hetcost.readers.tables import checked

_LOAD = ("tool", "kv_dtype", "request_rate_per_s", "burstiness", "max_concurrency")
_IDENTITY = {each.name for each in RUN_COLUMNS} - {"warnings", "tool_version", "prefix_state"}
_MEASURED = {"duration_s", "completed", "total_in_tok", "total_out_tok", "out_tok_per_s"} | {
    name for name in _IDENTITY if name.endswith("_ms")
}
_ORDER = ["study", "model", "gpu", "n_gpus", "request_rate_per_s", "date", "file", "line", "run_id"]
_KNOWN = {each.name for each in (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS)}
_MOST_TOLD = 100  # refusals of one file that are listed one by one
_MOST_OTHERS = 200  # columns beside the known ones
_LONGEST = 2000  # characters of a reason


@dataclass(frozen=True)
class Scan:
    """What a scan of result files found.

    Attributes
    ----------
    runs : One row per run, in the run columns.
    refused : One row per file or part of a file that gave none: ``file line reason``.
    """

    runs: pd.DataFrame
    refused: pd.DataFrame


class Collected(Protocol):
    """What comes in of many files, and can be forgotten again."""

    refused: list[tuple[str, int | None, str]]

    def __len__(self) -> int:
        """Count what came in."""

    def undo(self, before: int) -> None:
        """Forget all but the first so many."""


@dataclass
class _Finds:
    """Rows and refusals as they come in, each with its place."""

    rows: list[dict[str, Any]]
    places: list[tuple[str, int | None]]
    folders: list[str]  # where each row's file lies
    refused: list[tuple[str, int | None, str]]
    others: set[str]  # columns that no dictionary has: further percentiles

    absolute: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.rows)

    def folder_of(self, path: str) -> str:
        """Return the folder of a file, however its path is written."""
        folder = path.rpartition("/")[0]
        if folder not in self.absolute:
            self.absolute[folder] = os.path.abspath(folder)  # noqa: PTH100
        return self.absolute[folder]

    def undo(self, before: int) -> None:
        """Forget rows of a file that turns out to be no whole one: they do not stand."""
        del self.rows[before:], self.places[before:], self.folders[before:]


def scan_runs(
    paths: Paths,
    *,
    sidecar: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **given: Any,
) -> Scan:
    """Read result files into runs, and list what could not be read.

    Parameters
    ----------
    paths : Files, folders (searched to the bottom) or patterns such as ``results/*.json``.
    sidecar : YAML file that states what the files do not say: run columns and their values,
        and under ``by_model`` the same for single models.
    columns : Of tables of one's own, their column names and ours: ``{"tps": "out_tok_per_s"}``.
    progress : Called with the number of files read, and of all, after each.
    **given : Run columns that the files do not say: ``gpu="RTX 4090", n_gpus=2``. A run whose
        file says otherwise is refused; what telemetry shows of the boards gives way.

    Returns
    -------
    The runs (sorted, in the run columns) and the refusals (``file line reason``). A run found
    twice is kept once, and its copy is listed among the refusals.

    Raises
    ------
    UnknownNameError
        A given name is no run column.
    """
    known, columns = Given(sidecar, **given), checked(columns)
    finds = _Finds([], [], [], [], set())
    found = list(candidates(paths))
    for done, candidate in enumerate(found, start=1):
        _read(candidate, known, columns, finds)
        if progress is not None:
            progress(done, len(found))
    if known.unused_models:
        message = (
            f"sidecar: no run is of the models {listing(sorted(map(str, known.unused_models)))}"
        )
        warnings.warn(message, DataWarning, stacklevel=2)
    runs = _settle(finds)
    told = [(file, line, readable(reason)) for file, line, reason in finds.refused]
    refused = pd.DataFrame(told, columns=["file", "line", "reason"])
    refused = refused.astype({"file": "str", "line": "Int64", "reason": "str"})
    return Scan(runs, refused.sort_values(["file", "line"], ignore_index=True))


def place_and_reason(refusal: Mapping[Any, Any]) -> str:
    """Write a row of ``Scan.refused`` as ``file, line n: reason``."""
    line = refusal["line"]
    place = refusal["file"] if pd.isna(line) else f"{refusal['file']}, line {line}"
    return f"{place}: {refusal['reason']}"


def _read(
    candidate: Candidate, given: Given, columns: Mapping[str, str] | None, finds: _Finds
) -> None:
    def take(source: Opened) -> None:
        inside = source.name.removeprefix(candidate.name)
        _take(source, finds.folder_of(candidate.path + inside), given, columns, finds)

    read_whole(candidate, finds, take)


def read_whole(candidate: Candidate, finds: Collected, take: Callable[[Opened], None]) -> None:
    """Take what a file holds, one text after the other; of what is damaged nothing stands."""
    if candidate.trouble:
        finds.refused.append((candidate.name, None, candidate.trouble))
        return
    before = len(finds)
    try:
        for source in opened(candidate.name, candidate.path):
            begun = len(finds)
            try:
                take(source)
            except (ReadError, OSError) as error:
                finds.undo(begun)
                finds.refused.append((source.name, None, str(error)))
    except (ReadError, OSError) as error:
        finds.undo(before)
        finds.refused.append((candidate.name, None, str(error)))


def _take(
    source: Opened,
    folder: str,
    given: Given,
    columns: Mapping[str, str] | None,
    finds: _Finds,
) -> None:
    if source.trouble:
        raise ReadError(source.trouble)
    before, number = len(finds.rows), 0
    refused: list[tuple[str, int | None, str]] = []
    for found in _found(source, columns):
        try:
            row = _completed(found, given)
        except ReadError as error:
            number += 1
            if number <= _MOST_TOLD:
                refused.append((source.name, found.line, str(error)))
            continue
        row["source"] = f"{source.name}:{found.line}"
        _leave_out_columns(row, finds.others)
        finds.rows.append(row)
        finds.places.append((source.name, found.line))
        finds.folders.append(folder)
    if number > 1 and len(finds.rows) == before and len({reason for *_, reason in refused}) == 1:
        # Lines of another kind of file altogether: said once.
        name, line, reason = refused[0]
        refused = [(name, line, f"{reason}; the same of its {number - 1} other entries")]
    elif number > _MOST_TOLD:
        more = f"{number - _MOST_TOLD} more entries of this file are no results"
        refused.append((source.name, None, more))
    finds.refused += refused


def _found(source: Opened, columns: Mapping[str, str] | None) -> Iterator[Found]:
    if source.text is not None:
        return rows_of_text(source.text, columns)
    if source.data is not None:
        return rows_of_parquet(source.data, columns)
    return rows_of_values(json_lines(source.lines or ()))


def _completed(found: Found, given: Given) -> Row:
    if found.reason:
        raise ReadError(found.reason)
    row: Row = found.value
    run_id = row.pop("run_id", None) or _run_id(row)
    given.complete(row)
    row["run_id"] = run_id
    return row


def _leave_out_columns(row: Row, others: set[str]) -> None:
    """Leave out, and tell, further percentiles once there are more kinds than anyone compares."""
    if row.keys() <= _KNOWN:
        return
    further = [name for name in row if name not in _KNOWN and name not in others]
    room = max(_MOST_OTHERS - len(others), 0)
    others.update(further[:room])
    for name in further[room:]:
        del row[name]
    if further[room:]:
        add_warning(row, f"{listing(further[room:])} left out: too many columns")


def readable(reason: str) -> str:
    """Return a reason as it can be printed and written, and no longer than can be read."""
    safe = printable(reason)
    return safe if len(safe) <= _LONGEST else f"{safe[:_LONGEST]} …"


@lru_cache(maxsize=256)
def _hashed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return what of a row is hashed: what was measured, not what was thought of it."""
    return tuple(sorted(_IDENTITY.intersection(names)))


def _run_id(row: Mapping[str, Any]) -> str:
    """Hash what was measured of the run, so that copies are known however they are written."""
    names = _hashed(tuple(row))
    values = [row[name] for name in names]
    numbers = [value for value in values if type(value) is float]
    others = [str(value) for value in values if type(value) is not float]
    packed = struct.pack(f"<{len(numbers)}d", *numbers)
    return hashlib.sha256("\0".join((*names, *others)).encode() + packed).hexdigest()[:12]


def _agree(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Say whether two rows hold the same figures, as far as both hold them."""
    figures = ((row.get(name), other.get(name)) for name in _MEASURED)
    return all(one == two or pd.isna(one) or pd.isna(two) for one, two in figures)


def _settle(finds: _Finds) -> pd.DataFrame:
    """Refuse impossible and doubled rows, derive what follows from the rest, sort."""
    frame = pd.DataFrame(finds.rows)
    keep = np.ones(len(frame), dtype=bool)
    for index, reason in impossible(frame):
        if keep[index]:
            finds.refused.append((*finds.places[index], reason))
            keep[index] = False
    for index, twin in twins(finds.rows, finds.folders, np.flatnonzero(keep)):
        one, other = finds.rows[index], finds.rows[twin]
        reason = f"the same run as {other['source']}"
        if one["run_id"] == other["run_id"] and not _agree(one, other):
            reason = f"its run_id is that of {other['source']}, whose figures are others"
        finds.refused.append((*finds.places[index], reason))
        keep[index] = False
    columns = [*RUN_COLUMNS, *(each for each in OPTIONAL_RUN_COLUMNS if each.name in frame)]
    runs = conform(derive(conform(frame[keep], columns)), columns)
    told = [each.name for each in OPTIONAL_RUN_COLUMNS if each.name in runs]
    runs = runs.drop(columns=[name for name in told if runs[name].isna().all()])
    places = [str(source).rpartition(":") for source in runs["source"]]
    lines = pd.to_numeric(pd.Series([line for *_, line in places], dtype="str"), errors="coerce")
    runs = runs.assign(file=[file for file, *_ in places], line=lines.to_numpy())
    runs = runs.sort_values(_ORDER, ignore_index=True, kind="stable").drop(columns=["file", "line"])
    load = series_of(runs, *_LOAD, alike=["n_requests"])
    runs["repeat"] = (runs.groupby(load).cumcount() + 1).astype("Int64")
    return noted(runs)
