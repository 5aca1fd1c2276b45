"""Scan result files into the runs table: read, refuse, derive, sort."""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS, Column, conform, out_of_bounds
from hetcost.errors import DataWarning, ReadError, listing
from hetcost.readers import Row, rows_of_text, rows_of_values
from hetcost.readers.files import Candidate, Paths, candidates
from hetcost.readers.given import Given
from hetcost.readers.opening import Opened, opened
from hetcost.readers.records import Found, json_lines
from hetcost.units import MS_PER_S

_SAME_LOAD = [
    "study",
    "tool",
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
    "request_rate_per_s",
    "burstiness",
    "max_concurrency",
    "n_requests",
    "prompt_seed",
]
_ORDER = ["study", "model", "gpu", "n_gpus", "request_rate_per_s", "date", "source", "run_id"]
_MOST_TOLD = 100  # refusals of one file that are listed one by one
_APART = 0.05  # of a rate that the tool states and the one that is had from tokens and time
_SHORTEST_S = 1e-6  # a shorter run was not timed


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


@dataclass
class _Finds:
    """Rows and refusals as they come in, each with its place."""

    rows: list[dict[str, Any]]
    places: list[tuple[str, int | None]]
    refused: list[tuple[str, int | None, str]]


def scan_runs(paths: Paths, *, sidecar: str | os.PathLike[str] | None = None, **given: Any) -> Scan:
    """Read result files into runs, and list what could not be read.

    Parameters
    ----------
    paths : Files, folders (searched to the bottom) or patterns such as ``results/*.json``.
    sidecar : YAML file that states what the files do not say: run columns and their values,
        and under ``by_model`` the same for single models.
    **given : Run columns that the files do not say: ``gpu="RTX 4090", n_gpus=2``. A run whose
        file says otherwise is refused.

    Returns
    -------
    The runs (sorted, in the run columns) and the refusals (``file line reason``). A run found
    twice is kept once, and its copy is listed among the refusals.

    Raises
    ------
    UnknownNameError
        A given name is no run column.
    """
    known = Given(sidecar, **given)
    finds = _Finds([], [], [])
    for candidate in candidates(paths):
        _read(candidate, known, finds)
    if known.unused_models:
        message = f"sidecar: no run is of the models {listing(sorted(known.unused_models))}"
        warnings.warn(message, DataWarning, stacklevel=2)
    runs = _settle(finds)
    refused = pd.DataFrame(finds.refused, columns=["file", "line", "reason"])
    refused = refused.astype({"file": "str", "line": "Int64", "reason": "str"})
    return Scan(runs, refused.sort_values(["file", "line"], ignore_index=True))


def place_and_reason(refusal: Mapping[Any, Any]) -> str:
    """Write a row of ``Scan.refused`` as ``file, line n: reason``."""
    line = refusal["line"]
    place = refusal["file"] if pd.isna(line) else f"{refusal['file']}, line {line}"
    return f"{place}: {refusal['reason']}"


def _read(candidate: Candidate, given: Given, finds: _Finds) -> None:
    if candidate.trouble:
        finds.refused.append((candidate.name, None, candidate.trouble))
        return
    before = len(finds.rows)
    try:
        for source in opened(candidate.name, candidate.path):
            _take(source, given, finds)
    except (ReadError, OSError) as error:
        # What was read of a file that turns out to be no whole one does not stand.
        del finds.rows[before:], finds.places[before:]
        finds.refused.append((candidate.name, None, str(error)))


def _take(source: Opened, given: Given, finds: _Finds) -> None:
    refused = 0
    for found in _found(source):
        try:
            row = _completed(found, given)
        except ReadError as error:
            refused += 1
            if refused <= _MOST_TOLD:
                finds.refused.append((source.name, found.line, str(error)))
            continue
        row["source"] = f"{source.name}:{found.line}"
        finds.rows.append(row)
        finds.places.append((source.name, found.line))
    if refused > _MOST_TOLD:
        more = f"{refused - _MOST_TOLD} more entries of this file are no results"
        finds.refused.append((source.name, None, more))


def _found(source: Opened) -> Iterator[Found]:
    if source.text is not None:
        return rows_of_text(source.text)
    return rows_of_values(json_lines(source.lines or ()))


def _completed(found: Found, given: Given) -> Row:
    if found.reason:
        raise ReadError(found.reason)
    row: Row = found.value
    run_id = _run_id(row)
    given.complete(row)
    row["run_id"] = run_id
    return row


def _run_id(row: Mapping[str, Any]) -> str:
    """Hash what was measured of the run, so that copies are known however they are written."""
    numbers, texts = [], []
    for name, value in sorted(row.items()):
        if name.startswith("reported_"):
            continue
        if isinstance(value, (int, float)):
            numbers.append(value)
            texts.append(name)
        elif value is not None:
            texts.append(f"{name}={value}")
    packed = struct.pack(f"<{len(numbers)}d", *numbers)
    return hashlib.sha256("\0".join(texts).encode() + packed).hexdigest()[:12]


def _settle(finds: _Finds) -> pd.DataFrame:
    """Refuse impossible and doubled rows, derive what follows from the rest, sort."""
    frame = pd.DataFrame(finds.rows)
    keep = np.ones(len(frame), dtype=bool)
    for index, reason in _impossible(frame):
        if keep[index]:
            finds.refused.append((*finds.places[index], reason))
            keep[index] = False
    first: dict[str, int] = {}
    for index in map(int, np.flatnonzero(keep)):
        twin = first.setdefault(finds.rows[index]["run_id"], index)
        if twin != index:
            reason = f"the same run as {finds.rows[twin]['source']}"
            finds.refused.append((*finds.places[index], reason))
            keep[index] = False
    columns = [*RUN_COLUMNS, *(each for each in OPTIONAL_RUN_COLUMNS if each.name in frame)]
    runs = conform(_derive(conform(frame[keep], columns)), columns)
    told = [each.name for each in OPTIONAL_RUN_COLUMNS if each.name in runs]
    runs = runs.drop(columns=[name for name in told if runs[name].isna().all()])
    runs = runs.sort_values(_ORDER, ignore_index=True, kind="stable")
    earlier = runs.groupby(_SAME_LOAD, dropna=False).cumcount()
    runs["repeat"] = (earlier + 1).astype("Int64")
    return runs


def _impossible(frame: pd.DataFrame) -> list[tuple[int, str]]:
    found = []
    stated = (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS)
    known = {column.name for column in stated}
    others = [str(name) for name in frame if name not in known]
    further = [Column(name, "number", "ms", name, "", 0) for name in others]
    for column in (*stated, *further):
        if column.kind in ("number", "count") and column.name in frame:
            values = frame[column.name].to_numpy(dtype="float64", na_value=np.nan)
            wrong, why = out_of_bounds(column, values)
            found += [
                (int(index), f"{column.name}: {values[index]:g} {why}")
                for index in np.flatnonzero(wrong)
            ]
    return sorted(found)


def _derive(runs: pd.DataFrame) -> pd.DataFrame:
    """Add rates, mean lengths and mean concurrency; say in `warnings` why some are missing."""
    tok_in, tok_out = (runs[name].astype("float64") for name in ("total_in_tok", "total_out_tok"))
    completed = runs["completed"].astype("float64").where(runs["completed"] > 0)
    duration = runs["duration_s"].where(runs["duration_s"] > _SHORTEST_S)
    tok_in, tok_out = (tokens.where(completed.notna()) for tokens in (tok_in, tok_out))
    req_per_s = completed / duration
    mean_out = tok_out / completed
    e2el_ms = runs["mean_e2el_ms"].fillna(
        runs["mean_ttft_ms"] + (mean_out - 1) * runs["mean_tpot_ms"].where(mean_out > 1, 0.0)
    )
    tok_all = tok_in + tok_out
    if "total_all_tok" in runs:
        tok_all = tok_all.fillna(runs["total_all_tok"].astype("float64"))
    out = runs.assign(
        mean_in_tok=tok_in / completed,
        mean_out_tok=mean_out,
        req_per_s=req_per_s,
        out_tok_per_s=tok_out / duration,
        all_tok_per_s=tok_all / duration,
        mean_concurrency=req_per_s * e2el_ms / MS_PER_S,
    )
    for wrong, warning in (
        *_differs(out),
        (runs["completed"] == 0, "no completed requests"),
        (runs["completed"].isna(), "the number of completed requests is missing"),
        (duration.isna(), "no duration"),
        (runs["total_in_tok"].isna() | runs["total_out_tok"].isna(), "a token count is missing"),
    ):
        before = out["warnings"].fillna("")
        joined = before + np.where(before == "", warning, f"; {warning}")
        out["warnings"] = out["warnings"].where(~wrong.fillna(False).astype(bool), joined)
    return out


def _differs(runs: pd.DataFrame) -> Iterator[tuple[pd.Series, str]]:
    """Yield where a rate differs from the tool's own figure of it."""
    for name in ("out_tok_per_s", "all_tok_per_s", "req_per_s"):
        if (reported := f"reported_{name}") in runs:
            apart = (runs[reported] / runs[name] - 1).abs() > _APART
            yield apart, f"{reported} differs from {name} by more than {_APART:.0%}"
