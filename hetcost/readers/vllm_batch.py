"""vLLM ``bench throughput`` and ``bench latency`` result JSON: requests without a server.

===================================  ====================================  =========================
field                                column                                note
===================================  ====================================  =========================
*throughput*
elapsed_time                         duration_s                            s
num_requests                         n_requests, completed                 all sent at once
total_num_tokens                     total_all_tok                         input AND output
requests_per_second                  reported_req_per_s
tokens_per_second                    reported_all_tok_per_s                input AND output
*latency*
avg_latency                          mean_e2el_ms                          s, of a batch
percentiles.{10,25,50,75,90,99}      p10_e2el_ms, p25_e2el_ms …            s, of a batch
latencies                            duration_s                            s; their sum
===================================  ====================================  =========================

A throughput result does not tell input from output tokens, so output throughput is missing: its
``tokens_per_second`` never is one. The latency is of one batch from its start to its last token;
it says nothing of first tokens, and the size of the batch is not in the file. Neither file names
model or card. What is missing may be given: ``total_in_tok``, ``total_out_tok``, ``completed`` …
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.fields import inner, need, number
from hetcost.units import MS_PER_S

TOOL = "vllm bench throughput and latency"

_THROUGHPUT = ("elapsed_time", "num_requests", "total_num_tokens")
_LATENCY = ("latencies", "percentiles")
_PERCENT = re.compile(r"[0-9]{1,2}(?:\.[0-9]+)?")


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a result of either command."""
    return _is_latency(record) or ("tokens_per_second" in record and "elapsed_time" in record)


def _is_latency(record: Mapping[str, Any]) -> bool:
    return "avg_latency" in record and any(key in record for key in _LATENCY)


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns.

    Raises
    ------
    ReadError
        A needed field is absent, or a field is not of its kind.
    """
    return [_latency(record) if _is_latency(record) else _throughput(record)]


def _throughput(record: Mapping[str, Any]) -> dict[str, Any]:
    need(record, _THROUGHPUT, "a vLLM throughput result")
    n_requests = number(record, "num_requests")
    return {
        "tool": "vllm bench throughput",
        "engine": "vLLM",
        "arrival": "burst",
        "request_rate_per_s": math.inf,
        "n_requests": n_requests,
        "completed": n_requests,
        "duration_s": number(record, "elapsed_time"),
        "total_all_tok": number(record, "total_num_tokens"),
        "reported_req_per_s": number(record, "requests_per_second"),
        "reported_all_tok_per_s": number(record, "tokens_per_second"),
        "streaming": False,
    }


def _latency(record: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {
        "tool": "vllm bench latency",
        "engine": "vLLM",
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "duration_s": _total(record),
        "mean_e2el_ms": number(record, "avg_latency") * MS_PER_S,
        "streaming": False,
        "warnings": "latencies are of whole batches, whose size is not in the file",
    }
    percentiles = inner(record, "percentiles")
    for key in percentiles:
        if _PERCENT.fullmatch(key):
            name = f"p{key.replace('.', '_')}_e2el_ms"
            out[name] = number(percentiles, key) * MS_PER_S
    return out


def _total(record: Mapping[str, Any]) -> float:
    latencies = record.get("latencies")
    if latencies is None:
        return math.nan
    if not isinstance(latencies, list):
        message = f"latencies: {type(latencies).__name__} where a list belongs"
        raise ReadError(message)
    return sum(number({"latencies": each}, "latencies") for each in latencies) or math.nan
