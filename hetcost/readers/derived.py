"""What follows from what was read: rates and mean lengths, and rows that cannot be."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hetcost.columns import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS, Column, out_of_bounds
from hetcost.units import MS_PER_S

_WORKED_OUT = (
    "mean_in_tok",
    "mean_out_tok",
    "req_per_s",
    "out_tok_per_s",
    "all_tok_per_s",
    "mean_concurrency",
)
_SHORTEST_S = 1e-6  # a shorter run was not timed


def impossible(frame: pd.DataFrame) -> list[tuple[int, str]]:
    """Return the places of rows that hold what their columns cannot, with the reason."""
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


def derive(runs: pd.DataFrame) -> pd.DataFrame:
    """Add rates, mean lengths and mean concurrency; say in `warnings` why some are missing.

    What was stated stands where it cannot be worked out. Mean lengths and concurrency that were
    stated also stand where requests failed or were cut off: totals may hold tokens of these.
    """
    tok_in, tok_out = (runs[name].astype("float64") for name in ("total_in_tok", "total_out_tok"))
    answered = ~(runs["completed"] == 0).fillna(False).astype(bool)
    completed = runs["completed"].astype("float64").where(answered)
    duration = runs["duration_s"].where(runs["duration_s"] > _SHORTEST_S)
    uncounted = answered & (tok_out == 0)
    tok_in, tok_out = tok_in.where(answered), tok_out.where(answered & ~uncounted)
    stated = runs[list(_WORKED_OUT)].where(answered)
    of_answered = stated.where(_unfinished(runs))
    req_per_s = (completed / duration).fillna(stated["req_per_s"])
    mean_in, mean_out = (
        of_answered[name].fillna(tokens / completed).fillna(stated[name])
        for name, tokens in (("mean_in_tok", tok_in), ("mean_out_tok", tok_out))
    )
    e2el_ms = runs["mean_e2el_ms"].fillna(
        runs["mean_ttft_ms"] + (mean_out - 1) * runs["mean_tpot_ms"].where(mean_out > 1, 0.0)
    )
    tok_all = tok_in + tok_out
    if "total_all_tok" in runs:
        tok_all = tok_all.fillna(runs["total_all_tok"].astype("float64"))
    out = runs.assign(
        mean_in_tok=mean_in,
        mean_out_tok=mean_out,
        req_per_s=req_per_s,
        out_tok_per_s=(tok_out / duration).fillna(stated["out_tok_per_s"]),
        all_tok_per_s=(tok_all / duration).fillna(stated["all_tok_per_s"]),
        mean_concurrency=of_answered["mean_concurrency"]
        .fillna(req_per_s * e2el_ms / MS_PER_S)
        .fillna(stated["mean_concurrency"]),
    )
    told: list[tuple[pd.Series, str]] = [
        (runs["completed"] == 0, "no completed requests"),
        (runs["completed"].isna(), "the number of completed requests is missing"),
        (duration.isna(), "no duration"),
        (runs["total_in_tok"].isna() | runs["total_out_tok"].isna(), "a token count is missing"),
        (uncounted, "no output token was counted"),
    ]
    out["warnings"] = _joined(out["warnings"], told)
    return out


def _unfinished(runs: pd.DataFrame) -> pd.Series:
    counts = [runs[name] for name in ("failed", "cut_off") if name in runs]
    return pd.concat(counts, axis=1).gt(0).fillna(value=False).any(axis=1)


def _joined(warnings: pd.Series, told: list[tuple[pd.Series, str]]) -> pd.Series:
    """Return warnings with further ones, each once."""
    said = [[] if pd.isna(text) else str(text).split("; ") for text in warnings]
    for wrong, warning in told:
        for row in np.flatnonzero(wrong.fillna(False).astype(bool)):
            if warning not in said[row]:
                said[row].append(warning)
    return pd.Series(["; ".join(parts) or None for parts in said], warnings.index, dtype="str")
