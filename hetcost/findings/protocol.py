"""How to run a benchmark whose numbers will stand, and which load to measure next."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import numbers, require
from hetcost.findings.check import SERIES, plain
from hetcost.findings.load import client_limited, least_requests, saturated

_NEAR = 1.25  # two loads this close have the knee between them
_QUIET = 1 / 4  # of the knee: hardly anything waits
REQUESTS = 100 * math.ceil(least_requests(0.99) / 100)
_STEADY_S = 120  # of arrivals

PROTOCOL = f"""\
Hardware   Say what it is: card, number of cards, tensor and pipeline parallelism, replicas,
           format of the weights. Few result files do; a sidecar (YAML) can.
Server     One server per configuration, engine and version noted. Send some requests first and
           leave them out: the first run pays for compiling and for filling caches.
Prompts    Fresh prompts for every run (another seed), or a server without prefix caching
           (vLLM: --no-enable-prefix-caching). The same prompts again come from the cache.
Load       Open loop, Poisson arrivals, at a rate; lengths like your users'. At least
           {REQUESTS} requests, and arrivals for two minutes or more: a burst that drains measures
           the queue.
Loads      One far below the knee, where hardly anything waits, and three around it, where the
           achieved rate begins to fall behind the offered one. Go upwards.
Client     On another machine, or with cores to spare. Where mean ITL exceeds mean TPOT, stream
           chunks were merged and the tails are the client's.
Latency    Ask for mean, P50, P90, P95 and P99 of TTFT, TPOT, ITL and E2E.
Power      Log the boards' power, with a stamp, from before the first request to after the last:
           hetcost record -o power.csv -- COMMAND
           or nvidia-smi --query-gpu=timestamp,index,uuid,name,power.draw --format=csv -lms 100
Repeats    Repeat one load twice with other seeds: how far they lie apart is the noise.
"""


def next_loads(runs: pd.DataFrame) -> pd.DataFrame:
    """Return which load to measure next, for every configuration of open-loop runs.

    Parameters
    ----------
    runs : Rows with ``request_rate_per_s req_per_s`` and what makes a configuration.

    Returns
    -------
    One row per configuration: its columns, ``kept_up_per_s`` and ``fell_behind_per_s`` (highest
    load that the server kept up with, lowest that it did not; NaN where there is none),
    ``next_per_s``, the ``n_requests`` to send, and ``why``. Runs of which that is not known, or
    whose client limited the load, do not count.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    """
    require(runs, ["request_rate_per_s", "req_per_s"], "next_loads")
    runs = plain(runs, "next_loads")
    keys = [name for name in SERIES if name in runs and runs[name].notna().any()]
    frame = runs[keys].assign(
        offered=numbers(runs, "request_rate_per_s"),
        achieved=numbers(runs, "req_per_s"),
        behind=saturated(runs),
    )
    known = frame["behind"].notna() & ~client_limited(runs) & (frame["offered"] > 0)
    frame = frame[known & np.isfinite(frame["offered"]) & np.isfinite(frame["achieved"])]
    frame = frame.astype({"behind": "bool"})
    groups = frame.groupby(keys, dropna=False) if keys else [((), frame)]
    rows = [
        {**dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True)), **_next(part)}
        for key, part in groups
        if len(part)
    ]
    told = ["kept_up_per_s", "fell_behind_per_s", "next_per_s", "n_requests", "why"]
    return pd.DataFrame(rows, columns=[*keys, *told])


def _next(runs: pd.DataFrame) -> dict[str, Any]:
    kept = ~runs["behind"]
    below = float(runs.loc[kept, "offered"].max()) if kept.any() else math.nan
    behind = runs.loc[~kept & ~(runs["offered"] < below), "offered"]
    above = float(behind.min()) if len(behind) else math.nan
    if math.isnan(above):
        load, why = 2 * below, "the server kept up with every load: go on until it does not"
    elif math.isnan(below):
        load = float(runs["achieved"].max()) / 2
        why = "the server fell behind at every load: half of what it achieved is a quiet one"
    elif above / below > _NEAR:
        load, why = math.sqrt(below * above), "the knee lies between these two"
    elif runs["offered"].min() > below * _QUIET:
        load, why = below * _QUIET, "the knee is known: a quiet load shows what nothing waits for"
    else:
        load, why = below, "the knee and a quiet load are known: a repeat shows the noise"
    count = max(REQUESTS, math.ceil(min(load * _STEADY_S, sys.float_info.max)))
    return {
        "kept_up_per_s": below,
        "fell_behind_per_s": above,
        "next_per_s": float(f"{load:.2g}"),
        "n_requests": count,
        "why": why,
    }
