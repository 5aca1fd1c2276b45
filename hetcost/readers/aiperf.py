"""Summary JSON of NVIDIA AIPerf and of its forerunner GenAI-Perf: metric → {unit, avg, p50 …}.

=================================  =========================  ====================================
field                              column                     note
=================================  =========================  ====================================
start_time                         date                       UTC if its zone is stated
aiperf_version                     tool_version
model_names, model, models         model                      of ``input_config``; where it is one
backend                            engine                     only of GenAI-Perf against Triton
concurrency                        max_concurrency            of the profiling phase
request_rate, rate                 request_rate_per_s         1/s; inf where concurrency rules
arrival_pattern, type              arrival
arrival_smoothness, smoothness     burstiness                 shape of gamma-distributed gaps
random_seed                        prompt_seed
request_count                      completed                  absent where all requests failed
error_request_count                failed                     else the counts of error_summary
benchmark_duration                 duration_s                 first send to last answer
total_isl, total_osl               total_{in,out}_tok         else mean length × requests
goodput, request_goodput           goodput_per_s              −1 where it was not measured
time_to_first_token                {stat}_ttft_ms
inter_token_latency                {stat}_tpot_ms             (E2E − TTFT) / (n − 1) per request
inter_chunk_latency                {stat}_itl_ms              gaps of all requests pooled
request_latency                    {stat}_e2el_ms
telemetry                          gpu, n_gpus, gpu_…         see ``aiperf_gpus``
=================================  =========================  ====================================

Each metric states its unit and is converted by it. ``avg`` is the mean; of percentiles those that
are stated are taken, p50 is not in every file. Inter-token latency is TPOT by its definition and
fills those columns; ``itl_kind`` says whether pooled gaps were found beside it (pooled) or not
(request_mean: the ITL columns are empty). The first GenAI-Perf releases, known by
``num_output_token``, pooled the gaps under the same name: there it is ITL and TPOT is missing.

The first AIPerf releases put the metrics under ``records`` and call TTFT ``ttft``.
GenAI-Perf states no duration: it is output tokens ÷ their rate, or requests ÷ theirs, as the tool
defines both. Where the file says that answers were not streamed, or TTFT is all of the latency and
no time per token follows, there is no TTFT. A rate without a pattern is Poisson in AIPerf and
constant in GenAI-Perf, as these tools have it unless told otherwise. GenAI-Perf is layout only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.aiperf_gpus import boards
from hetcost.readers.aiperf_load import load, settings
from hetcost.readers.fields import add_warning, date, inner, number, text
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S

TOOL = "AIPerf or GenAI-Perf"
AIPERF, GENAI_PERF = "AIPerf", "GenAI-Perf"

MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": MS_PER_S, "sec": MS_PER_S}
_LATENCIES = {
    "time_to_first_token": "ttft",
    "ttft": "ttft",
    "inter_token_latency": "tpot",
    "inter_chunk_latency": "itl",
    "request_latency": "e2el",
}
_TELLING = (*_LATENCIES, "request_throughput", "output_token_throughput")
_FRAME = {"input_config", "error_summary"}  # all that is left where every request failed
_OF_AIPERF = ("aiperf_version", "benchmark_duration", "inter_chunk_latency", "error_summary")
_OLD_NAME = "num_output_token"
_TOTALS = {
    "in": ("total_isl", "total_input_sequence_length"),
    "out": ("total_osl", "total_output_sequence_length"),
}
_LENGTHS = {
    "in": ("input_sequence_length", "num_input_token"),
    "out": ("output_sequence_length", _OLD_NAME),
}
_PERCENTILE = re.compile(r"p[1-9]\d?(\.\d+)?")
_PER_SECOND = re.compile(r".*(/|\bper )s(ec(ond)?)?")


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a summary of AIPerf or GenAI-Perf."""
    if record.keys() >= _FRAME:
        return True
    metrics = (record.get(tag) for tag in _TELLING)
    return any(isinstance(metric, Mapping) and "avg" in metric for metric in metrics)


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns.

    Raises
    ------
    ReadError
        A field is not of its kind, or a time is in no known unit.
    """
    record = {**inner(record, "records"), **record}
    ours = any(record.get(key) is not None for key in _OF_AIPERF)
    tool = AIPERF if ours else GENAI_PERF
    completed = stat(record, "request_count")
    failed = _failed(record)
    if math.isnan(completed) and failed > 0:
        completed = 0.0
    tok_in, tok_out = (_tokens(record, side, completed) for side in ("in", "out"))
    duration = _duration(record, completed, tok_out)
    found = boards(record, duration)
    out: dict[str, Any] = {
        "tool": tool,
        "tool_version": text(record, "aiperf_version"),
        "date": date(record, "start_time"),
        **settings(record, retokenizes=tool == GENAI_PERF),
        **load(record, default="poisson" if ours else "constant"),
        **found.columns,
        "n_requests": completed + failed,
        "completed": completed,
        "failed": failed,
        "duration_s": duration,
        "total_in_tok": tok_in,
        "total_out_tok": tok_out,
        "goodput_per_s": _goodput(record),
        "reported_out_tok_per_s": _rate(record, "output_token_throughput"),
        "reported_all_tok_per_s": _rate(record, "total_token_throughput"),
        "reported_req_per_s": _rate(record, "request_throughput"),
    }
    for tag, metric in _LATENCIES.items():
        out |= _latencies(record, tag, metric)
    _name_gaps(out, pooled=_OLD_NAME in record)
    add_warning(out, *found.warnings)
    keep_measured(out)
    if record.get("was_cancelled") is True:
        add_warning(out, "the run was cancelled")
    return [out]


def stat(record: Mapping[str, Any], tag: str, name: str = "avg") -> float:
    """Read one statistic of a metric; NaN where it is absent.

    Raises
    ------
    ReadError
        The metric is no object or its statistic no number.
    """
    path = f"{tag}.{name}"
    return number({path: inner(record, tag).get(name)}, path)


def milliseconds(metric: Mapping[str, Any], tag: str) -> float:
    """Return how many milliseconds the unit of a metric has.

    Raises
    ------
    ReadError
        The metric states no unit of time.
    """
    unit = text(metric, "unit")
    if unit not in MS:
        message = f"{tag}.unit: {unit!r} is no unit of time that is known"
        raise ReadError(message)
    return MS[unit]


def _latencies(record: Mapping[str, Any], tag: str, metric: str) -> dict[str, float]:
    named = {"mean": "avg"} | {name: name for name in inner(record, tag) if _is_percentile(name)}
    found = {column: stat(record, tag, name) for column, name in named.items()}
    if all(map(math.isnan, found.values())):
        return {}
    scale = milliseconds(inner(record, tag), tag)
    return {
        f"{column.replace('.', '_')}_{metric}_ms": value * scale for column, value in found.items()
    }


def _is_percentile(name: str) -> bool:
    return _PERCENTILE.fullmatch(name) is not None


def _name_gaps(out: dict[str, Any], *, pooled: bool) -> None:
    """Say what inter-token latency was taken over; move pooled gaps to their own columns."""
    if pooled:
        for name in [name for name in out if name.endswith("_tpot_ms")]:
            out[name.replace("_tpot_", "_itl_")] = out.pop(name)
    if "mean_itl_ms" in out:
        out["itl_kind"] = "pooled"
    elif "mean_tpot_ms" in out:
        out["itl_kind"] = "request_mean"


def _failed(record: Mapping[str, Any]) -> float:
    stated = stat(record, "error_request_count")
    errors = record.get("error_summary")
    if not math.isnan(stated) or errors is None:
        return stated
    if not (isinstance(errors, list) and all(isinstance(error, Mapping) for error in errors)):
        message = "error_summary: something else where a list of errors belongs"
        raise ReadError(message)
    return sum((number(error, "count") for error in errors), 0.0)


def _tokens(record: Mapping[str, Any], side: str, completed: float) -> float:
    for tag in _TOTALS[side]:
        if not math.isnan(total := stat(record, tag)):
            return total
    for tag in _LENGTHS[side]:
        if not math.isnan(total := stat(record, tag, "sum")):
            return total
        counted = stat(record, tag, "count")
        total = stat(record, tag) * (completed if math.isnan(counted) else counted)
        if math.isfinite(total):
            return float(round(total))
    return math.nan


def _duration(record: Mapping[str, Any], completed: float, tok_out: float) -> float:
    if not math.isnan(stated := stat(record, "benchmark_duration")):
        unit = milliseconds(inner(record, "benchmark_duration"), "benchmark_duration")
        return stated * unit / MS_PER_S
    for amount, tag in (
        (tok_out, "output_token_throughput"),
        (completed, "request_throughput"),
    ):
        rate = _rate(record, tag)
        if rate > 0 and amount > 0:
            return amount / rate
    return math.nan


def _goodput(record: Mapping[str, Any]) -> float:
    rates = (_rate(record, tag) for tag in ("goodput", "request_goodput"))
    return next((rate for rate in rates if rate >= 0), math.nan)


def _rate(record: Mapping[str, Any], tag: str) -> float:
    """Read a rate; NaN where the metric is something else, such as a share."""
    unit = text(inner(record, tag), "unit") or ""
    return stat(record, tag) if _PER_SECOND.fullmatch(unit) else math.nan
