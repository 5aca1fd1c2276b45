"""inference-perf (Kubernetes): ``stage_N_lifecycle_metrics.json``, a stage of one load each.

=======================================  =========================  ================================
field                                    column                     note
=======================================  =========================  ================================
load_summary.count                       n_requests
load_summary.requested_rate              request_rate_per_s         1/s
load_summary.concurrency                 max_concurrency            where there is no rate: closed
successes.count, failures.count          completed, failed
throughput.requests_per_sec              duration_s                 completed / it
throughput.{output,total}_tokens_…       reported_…_tok_per_s       1/s
successes.{prompt,output}_len.mean       total_{in,out}_tok         × completed
latency.time_to_first_token              {stat}_ttft_ms             s
latency.time_per_output_token            {stat}_tpot_ms             s, per request
latency.inter_token_latency              {stat}_itl_ms              s, gaps of all requests
latency.request_latency                  {stat}_e2el_ms             s
latency.normalized_time_per_…            mean_norm_e2el_ms_per_tok  s, first-token wait included
=======================================  =========================  ================================

``send_duration`` is the time in which requests were sent, not that of the run. Arrivals may be
constant or Poisson; the file does not tell. Model, engine and cards are not in it either.

Answers may arrive in several events per token, which the tool then counts as gaps: mean TPOT is
less than (E2E − TTFT) / (n − 1). Where the two differ by more than 15 % the latter is taken, the
percentiles of TPOT and all of ITL are missing, and the row says so. Answers that were not streamed
have E2E alone.

Two more files lie beside the stages and are refused, so that nothing is counted twice: the
*summary*, which mixes all stages and is of no one load, and the *Prometheus* twin, whose figures
are the server's, over the whole window of the scrape.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.fields import add_warning, inner
from hetcost.readers.nested import figure, statistics, total
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S

TOOL = "inference-perf"

_OF_A_STAGE = ("requested_rate", "achieved_rate", "send_duration", "concurrency")
_OF_THE_SERVER = ("queue_len", "kv_cache_usage_percentage", "num_preemptions_total")
LATENCIES = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2el": "request_latency",
}
_NORMALIZED = "normalized_time_per_output_token"
_IDENTITY = 0.15  # of mean TPOT and what E2E, TTFT and the mean length make of it


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a report of inference-perf."""
    return "load_summary" in record and isinstance(record.get("successes"), Mapping)


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the report of a stage into a row of run columns.

    Raises
    ------
    ReadError
        It is of all stages or of the server's own counters, or a field is not of its kind.
    """
    load, answered = inner(record, "load_summary"), inner(record, "successes")
    if any(key in answered for key in _OF_THE_SERVER):
        message = (
            "the server's counters over the whole scrape (inference-perf's Prometheus twin): the "
            "runs are in stage_N_lifecycle_metrics.json"
        )
        raise ReadError(message)
    if not any(key in load for key in _OF_A_STAGE):
        message = (
            "a summary of all stages of inference-perf, of no one load: the runs are in "
            "stage_N_lifecycle_metrics.json"
        )
        raise ReadError(message)
    completed = figure(record, "successes", "count")
    pace = figure(record, "successes", "throughput", "requests_per_sec")
    rate = figure(record, "load_summary", "requested_rate")
    limit = figure(record, "load_summary", "concurrency")
    closed = math.isnan(rate) and limit > 0
    out: dict[str, Any] = {
        "tool": TOOL,
        "arrival": "closed" if closed else None,
        "request_rate_per_s": math.inf if closed else rate,
        "max_concurrency": limit,
        "n_requests": figure(record, "load_summary", "count"),
        "completed": completed,
        "failed": figure(record, "failures", "count"),
        "duration_s": completed / pace if pace > 0 else math.nan,
        "total_in_tok": total(figure(record, "successes", "prompt_len", "mean"), completed),
        "total_out_tok": total(figure(record, "successes", "output_len", "mean"), completed),
        "token_count_source": "retokenized",
        "reported_out_tok_per_s": _rate(record, "output_tokens_per_sec"),
        "reported_all_tok_per_s": _rate(record, "total_tokens_per_sec"),
        "reported_req_per_s": pace,
    }
    for metric, name in LATENCIES.items():
        out |= statistics(record, "successes", "latency", name, metric=metric, ms=MS_PER_S)
    normalized = figure(record, "successes", "latency", _NORMALIZED, "mean")
    out["mean_norm_e2el_ms_per_tok"] = normalized * MS_PER_S
    name_streaming(out)
    keep_measured(out)
    keep_consistent(out)
    return [out]


def _rate(record: Mapping[str, Any], name: str) -> float:
    return figure(record, "successes", "throughput", name)


def name_streaming(row: dict[str, Any]) -> None:
    """Say that answers were not streamed where E2E is the only latency; else what ITL is."""
    told = {name.split("_")[-2] for name in row if name.endswith("_ms")}
    if told == {"e2el"}:
        row["streaming"] = False
    elif "itl" in told:
        row["itl_kind"] = "pooled"


def keep_consistent(row: dict[str, Any]) -> None:
    """Take mean TPOT from E2E and TTFT where the tool's contradicts them, and drop its gaps."""
    first, whole, stated = (
        row.get(f"mean_{metric}_ms", math.nan) for metric in ("ttft", "e2el", "tpot")
    )
    gaps = row["total_out_tok"] / row["completed"] - 1 if row["completed"] > 0 else math.nan
    made = (whole - first) / gaps if gaps > 0 else math.nan
    if math.isnan(stated) or not made > 0 or abs(stated / made - 1) <= _IDENTITY:
        return
    for name in [name for name in row if name.endswith(("_tpot_ms", "_itl_ms"))]:
        del row[name]
    row["mean_tpot_ms"], row["itl_kind"] = made, "request_mean"
    add_warning(
        row,
        f"mean TPOT of {stated:.4g} ms contradicts E2E and TTFT, which make {made:.4g} ms: the "
        "latter counts; other figures of TPOT and ITL are left out",
    )
