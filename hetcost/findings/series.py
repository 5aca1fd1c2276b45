"""Checks of runs against other runs of their series."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hetcost.columns import numbers_or_missing
from hetcost.findings.check import Check, Texts, column, series_of, texts, within

_FALLS = 0.9  # latency over that at a lower load
_LOADS = {"request_rate_per_s": "{:g}/s", "max_concurrency": "{:g} in flight"}
_COLD_START = 2.0  # P99 TTFT of a first run over that of its repeats
_MEASURED = ("duration_s", "completed", "total_in_tok", "total_out_tok", "mean_ttft_ms")


def _falling(runs: pd.DataFrame) -> Texts:
    """Compare runs of one kind of load: rates with rates, closed loads with closed ones."""
    out = np.full(len(runs), "", dtype=object)
    rate, flight = (numbers_or_missing(runs, name) for name in _LOADS)
    series, open_loop = series_of(runs), np.isfinite(rate)
    kinds = {name: np.where(open_loop, rate, np.nan) for name in _LOADS}
    kinds["max_concurrency"] = np.where(open_loop, np.nan, flight)
    for kind, load in kinds.items():
        order = pd.DataFrame({"series": series, "load": load})
        for name in ("p50_ttft_ms", "mean_tpot_ms"):
            frame = order.assign(value=numbers_or_missing(runs, name)).dropna()
            loads = frame.groupby(["series", "load"], as_index=False)["value"].median()
            lower = loads.groupby("series").shift()
            loads["lower"], loads["before"] = lower["load"], lower["value"]
            joined = order.merge(loads, on=["series", "load"], how="left")
            with np.errstate(invalid="ignore"):
                falls = (joined["value"] < _FALLS * joined["before"]).to_numpy(dtype=bool)
            said = f"{name} falls from {{before:.5g}} to {{value:.5g}} as load rises from "
            said += f"{{lower:g}} to {_LOADS[kind].replace('{', '{load')}"
            values = {key: joined[key].to_numpy() for key in ("before", "value", "lower", "load")}
            out = np.where(out == "", texts(runs, falls, said, **values), out)
    return out


def _cold_start(runs: pd.DataFrame) -> Texts:
    first = numbers_or_missing(runs, "repeat") == 1
    value = numbers_or_missing(runs, "p99_ttft_ms")
    load = within(series_of(runs), runs, "request_rate_per_s", "max_concurrency")
    later = pd.Series(np.where(first, np.nan, value)).groupby(load).transform("median").to_numpy()
    with np.errstate(invalid="ignore"):
        cold = first & (value > _COLD_START * later)
    said = "P99 TTFT {value:.5g} ms, {later:.5g} ms when repeated: a cold start"
    return texts(runs, cold, said, value=value, later=later)


def _duplicate(runs: pd.DataFrame) -> Texts:
    """Tell the later by run_id of two runs alike, in whatever order they stand."""
    names = column(runs, "run_id").astype("object").fillna("").reset_index(drop=True)
    rows = runs.reset_index(drop=True).loc[names.sort_values(kind="stable").index]
    same = names.loc[rows.index].duplicated() & (names.loc[rows.index] != "")
    figures = [name for name in _MEASURED if name in runs]
    if len(figures) == len(_MEASURED):
        known = rows[figures].notna().all(axis=1)
        same |= rows.duplicated([*figures, *(n for n in ("model", "gpu") if n in runs)]) & known
    found = same.sort_index().to_numpy(dtype=bool)
    return texts(runs, found, "the same measurement stands here twice")


def _mixed_dtypes(runs: pd.DataFrame) -> Texts:
    if not {"model", "weight_dtype"} <= set(runs):
        return np.full(len(runs), "", dtype=object)
    keys = [name for name in ("study", "model") if name in runs]
    formats = runs.groupby(keys, dropna=False)["weight_dtype"]
    mixed = (formats.transform("nunique") > 1).to_numpy(dtype=bool)
    mixed = mixed & runs["weight_dtype"].notna().to_numpy()
    own = runs["weight_dtype"].to_numpy(dtype=object)
    return texts(runs, mixed, "weights in {own}, others of this model are not", own=own)


CHECKS = (
    Check(
        "falling_latency",
        "warning",
        _falling,
        "latency does not fall as load rises: a warm cache, a cold start or the client is at work",
        "repeat the lower load, from a warm server and with fresh prompts",
    ),
    Check(
        "cold_start",
        "note",
        _cold_start,
        "the first run pays for compiling, loading and filling caches",
        "leave it out, or send warm-up requests first",
    ),
    Check(
        "duplicate",
        "warning",
        _duplicate,
        "a run counted twice makes repeats look alike",
        "keep one",
    ),
    Check(
        "mixed_dtypes",
        "warning",
        _mixed_dtypes,
        "formats of weights differ in speed and in quality of answers",
        "compare runs of one format",
    ),
)
