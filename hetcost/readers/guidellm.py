"""GuideLLM reports, JSON, versions 0.2 to 0.6: a row for each entry of ``benchmarks``.

============================  ====================  ==============================================
field                         column                note
============================  ====================  ==============================================
metadata.guidellm_version     tool_version          from 0.5 on
args.backend                  engine                ``vllm_python`` alone names one
start_time                    date                  s since 1970, as UTC
worker.backend_model          model                 0.2, 0.3
config.backend.model          model                 from 0.4 on
request_loader.data           dataset               0.2, 0.3
args.data                     dataset               from 0.4 on
args[.profile].random_seed    prompt_seed
{args,config}.strategy        arrival, load         see :mod:`~hetcost.readers.guidellm_load`
[metrics.]request_totals      n_requests,           total,
                              completed, failed     successful, errored
duration                      duration_s            s
{prompt,output}_token_count   total_{in,out}_tok    ``total``: of all requests
{prompt,output}_token_count   mean_{in,out}_tok     ``successful``
request_concurrency           mean_concurrency      ``total``: of all requests
time_to_first_token_ms        {stat}_ttft_ms        ms, ``successful``
inter_token_latency_ms        {stat}_tpot_ms        ms, ``successful``
request_latency               {stat}_e2el_ms        s, ``successful``
time_per_output_token_ms      mean_norm_e2el_ms_…   ms, from 0.4 on
request_streaming_…_count     streaming             0 chunks: answers came whole
{output_,}tokens_per_second   reported_…_tok_per_s  1/s, ``total``
requests_per_second           reported_req_per_s    1/s, ``successful``
============================  ====================  ==============================================

Throughput is that of all requests, those cut off by the end of the run included: tokens were made
for them. Latencies and mean lengths are of the successful ones. Requests that were cut off count as
sent, neither as completed nor as failed; a warning gives their number, and the tokens of all that
did not complete.

What the tool calls inter-token latency is (last token − first token) / (n − 1) of each request, our
TPOT. In its mean and percentiles a request weighs by its n − 1 gaps, where in ours all weigh alike.
Single gaps are not in the file, so there is no ITL. The tool's time per output token is (last token
− first token) / n up to 0.3, which is neither, and (last token − start) / n since.

Percentiles are ``p001`` (0.1) to ``p999`` (99.9); the median serves where ``p50`` is absent. A
figure of 0 for all requests was not measured, nor were 0 tokens of answered ones. Since 0.4 sums
are means times counts, and are rounded back to whole tokens.

0.4 and 0.5 are layout only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers import guidellm_load
from hetcost.readers.fields import add_warning, inner, need, number, text
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S

TOOL = "guidellm"

_KIND = "generative_benchmark"
_NEEDED = ("metrics", "duration")
_LATENCIES = {
    "ttft": ("time_to_first_token_ms", 1.0),
    "tpot": ("inter_token_latency_ms", 1.0),
    "e2el": ("request_latency", MS_PER_S),
}
_PERCENTILES = {"p001": "p0_1", "p01": "p1", "p05": "p5", "p999": "p99_9"} | {
    f"p{rank}": f"p{rank}" for rank in (10, 25, 50, 75, 90, 95, 99)
}
_ROUNDING = 1e-6  # of a sum that was worked out from a mean
_NO_WINDOW_S = 1e-3  # of a warm-up or cool-down that is none


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a report of GuideLLM, or one run of it."""
    benchmarks = record.get("benchmarks")
    if isinstance(benchmarks, list) and any(map(_is_run, benchmarks)):
        return True
    metadata = record.get("metadata")
    return _is_run(record) or (isinstance(metadata, Mapping) and "guidellm_version" in metadata)


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns for each run.

    Raises
    ------
    ReadError
        A run lacks a needed field, or a field is not of its kind.
    """
    if "benchmarks" not in record and _is_run(record):
        return [row(record, {})]
    benchmarks = record.get("benchmarks")
    if not isinstance(benchmarks, list):
        message = f"benchmarks: {type(benchmarks).__name__} where a list belongs"
        raise ReadError(message)
    if not benchmarks:
        message = "no runs in this file"
        raise ReadError(message)
    return [_numbered(index, each, record) for index, each in enumerate(benchmarks, start=1)]


def row(run: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a run into a row of run columns.

    Parameters
    ----------
    run : An entry of ``benchmarks``.
    report : What it stands in; empty where nothing is known of that.

    Raises
    ------
    ReadError
        A needed field is absent, or a field is not of its kind.
    """
    need(run, _NEEDED, "a GuideLLM run")
    notes: list[str] = []
    args, metrics = inner(report, "args"), inner(run, "metrics")
    totals = inner(metrics, "request_totals") or inner(run, "request_totals")
    completed = number(totals, "successful")
    out: dict[str, Any] = {
        "tool": TOOL,
        "tool_version": text(inner(report, "metadata"), "guidellm_version"),
        **guidellm_load.subject(run, args),
        **guidellm_load.load(run, notes),
        "n_requests": number(totals, "total"),
        "completed": completed,
        "failed": number(totals, "errored"),
        "duration_s": number(run, "duration"),
        **_tokens(metrics, completed, notes),
        "mean_concurrency": _measured(metrics, "request_concurrency", "total"),
        "reported_out_tok_per_s": _figure(metrics, "output_tokens_per_second", "total", "mean"),
        "reported_all_tok_per_s": _figure(metrics, "tokens_per_second", "total", "mean"),
        "reported_req_per_s": _figure(metrics, "requests_per_second", "successful", "mean"),
    }
    if completed != 0:
        out |= _latencies(metrics, notes)
        if "worker" not in run:
            norm = _measured(metrics, "time_per_output_token_ms", "successful")
            out["mean_norm_e2el_ms_per_tok"] = norm
    out["cut_off"] = cut_off = number(totals, "incomplete")
    if cut_off > 0:
        sent = out["n_requests"]
        notes.insert(0, f"{cut_off:g} of {sent:g} requests were cut off by the end of the run")
    if any(number(run, f"{edge}_duration") > _NO_WINDOW_S for edge in ("warmup", "cooldown")):
        notes.append("requests across the edges of the measuring window are counted in full")
    add_warning(out, *notes)
    keep_measured(out)
    return out


def _is_run(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    metrics = value.get("metrics")
    return value.get("type_") == _KIND or (
        isinstance(metrics, Mapping)
        and any(name in metrics for name, _ in _LATENCIES.values())
        and any(key in value for key in ("config", "worker", "duration"))
    )


def _numbered(index: int, run: Any, report: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        message = f"benchmark {index}: {type(run).__name__} where an object belongs"
        raise ReadError(message)
    try:
        return row(run, report)
    except ReadError as error:
        message = f"benchmark {index}: {error}"
        raise ReadError(message) from None


def _figure(metrics: Mapping[str, Any], name: str, status: str, key: str) -> float:
    where = f"{name}.{status}.{key}"
    return number({where: inner(metrics, name, status).get(key)}, where)


def _measured(metrics: Mapping[str, Any], name: str, status: str) -> float:
    """Return a mean; missing where it is 0."""
    return _figure(metrics, name, status, "mean") or math.nan


def _tokens(metrics: Mapping[str, Any], completed: float, notes: list[str]) -> dict[str, float]:
    """Return tokens of all requests, means of the answered; note those that did not complete."""
    found, others = {}, []
    for name, way in (("prompt_token_count", "in"), ("output_token_count", "out")):
        of_all, answered = (
            _whole(_figure(metrics, name, status, "total_sum"))
            for status in ("total", "successful")
        )
        found[f"total_{way}_tok"] = math.nan if of_all == 0 and completed > 0 else of_all
        found[f"mean_{way}_tok"] = _measured(metrics, name, "successful")
        if of_all > answered:
            word = "input" if way == "in" else "output"
            others.append(f"{of_all - answered:.0f} of {of_all:.0f} {word} tokens")
    if others:
        notes.append(f"{' and '.join(others)} are of requests that did not complete")
    return found


def _whole(tokens: float) -> float:
    if not math.isfinite(tokens):
        return tokens
    nearest = float(round(tokens))
    return nearest if abs(tokens - nearest) <= _ROUNDING * max(1.0, nearest) else tokens


def _latencies(metrics: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the latencies that were measured."""
    found: dict[str, Any] = {}
    chunks = _figure(metrics, "request_streaming_iterations_count", "successful", "mean")
    if not math.isnan(chunks):
        found["streaming"] = chunks > 0
    for short, (name, unit) in _LATENCIES.items():
        found |= _statistics(metrics, name, short, unit)
    if "mean_tpot_ms" in found:
        found["itl_kind"] = "request_mean"
    least = _figure(metrics, _LATENCIES["ttft"][0], "successful", "min")
    if "mean_ttft_ms" in found and least == 0:
        notes.append("TTFT counts answers without a first token as 0 ms")
    return found


def _statistics(metrics: Mapping[str, Any], name: str, short: str, unit: float) -> dict[str, float]:
    mean, median, count = (
        _figure(metrics, name, "successful", key) for key in ("mean", "median", "count")
    )
    if mean == 0 or count == 0:
        return {}
    ranks = inner(metrics, name, "successful", "percentiles")
    found = {column: number(ranks, key) for key, column in _PERCENTILES.items()} | {"mean": mean}
    if math.isnan(found["p50"]):
        found["p50"] = median
    return {
        f"{statistic}_{short}_ms": value * unit
        for statistic, value in found.items()
        if not math.isnan(value)
    }
