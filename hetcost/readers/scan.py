"""Scan result files into the runs table: read, refuse, derive, sort."""

from __future__ import annotations

import hashlib
import os
import struct
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import RUN_COLUMNS, Column, conform, out_of_bounds
from hetcost.errors import DataWarning, ReadError, listing
from hetcost.readers import read_record
from hetcost.readers.files import Candidate, Paths, candidates
from hetcost.readers.given import Given
from hetcost.readers.records import json_records
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
    try:
        if candidate.trouble:
            raise ReadError(candidate.trouble)  # noqa: TRY301  one way out for every refusal
        with open(candidate.path, "rb", buffering=0) as file:  # noqa: PTH123  once a file
            text = file.read().decode("utf-8-sig")
    except (ReadError, OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(error)
        finds.refused.append((candidate.name, None, reason))
        return
    refused = 0
    for found in json_records(text):
        try:
            if found.reason:
                raise ReadError(found.reason)  # noqa: TRY301
            row = read_record(found.value)
            run_id = _run_id(row)
            given.complete(row)
        except ReadError as error:
            refused += 1
            if refused <= _MOST_TOLD:
                finds.refused.append((candidate.name, found.line, str(error)))
            continue
        row["run_id"], row["source"] = run_id, f"{candidate.name}:{found.line}"
        finds.rows.append(row)
        finds.places.append((candidate.name, found.line))
    if refused > _MOST_TOLD:
        more = f"{refused - _MOST_TOLD} more entries of this file are no results"
        finds.refused.append((candidate.name, None, more))


def _run_id(row: Mapping[str, Any]) -> str:
    """Hash what the file says of the run, so that copies are known however they are written."""
    numbers, texts = [], []
    for name, value in sorted(row.items()):
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
    runs = conform(_derive(conform(frame[keep])))
    runs = runs.sort_values(_ORDER, ignore_index=True, kind="stable")
    earlier = runs.groupby(_SAME_LOAD, dropna=False).cumcount()
    runs["repeat"] = (earlier + 1).astype("Int64")
    return runs


def _impossible(frame: pd.DataFrame) -> list[tuple[int, str]]:
    found = []
    known = {column.name for column in RUN_COLUMNS}
    others = [str(name) for name in frame if name not in known]
    further = [Column(name, "number", "ms", name, "", 0) for name in others]
    for column in (*RUN_COLUMNS, *further):
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
    out = runs.assign(
        mean_in_tok=tok_in / completed,
        mean_out_tok=mean_out,
        req_per_s=req_per_s,
        out_tok_per_s=tok_out / duration,
        all_tok_per_s=(tok_in + tok_out) / duration,
        mean_concurrency=req_per_s * e2el_ms / MS_PER_S,
    )
    for wrong, warning in (
        (runs["completed"] == 0, "no completed requests"),
        (runs["completed"].isna(), "the number of completed requests is missing"),
        (duration.isna(), "no duration"),
        (runs["total_in_tok"].isna() | runs["total_out_tok"].isna(), "a token count is missing"),
    ):
        before = out["warnings"].fillna("")
        joined = before + np.where(before == "", warning, f"; {warning}")
        out["warnings"] = out["warnings"].where(~wrong.fillna(False).astype(bool), joined)
    return out
