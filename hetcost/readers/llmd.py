"""llm-d benchmark reports, schema 0.1 and 0.2, as JSON; as YAML see :mod:`~.llmd_yaml`.

============================  ============================  ==================  ==================
0.1                           0.2                           column              note
============================  ============================  ==================  ==================
scenario.load.name            load.standardized.tool        tool                the generator
                              load.standardized.tool_…      tool_version
metrics.time.start            run.time.start                date                UTC
metrics.time.duration         run.time.duration             duration_s          s; ISO 8601 in 0.2
(nothing)                     load.standardized.rate_qps    request_rate_per_s  1/s
(nothing)                     load.standardized.            max_concurrency     ``.inf``: no limit
                              concurrency
metrics.requests              aggregate.requests            n_requests,         total, failures,
                                                            completed, failed   incomplete
{input,output}_length.mean    the same                      total_{in,out}_tok  × completed
metrics.latency               aggregate.latency             {stat}_…_ms         by their ``units``
metrics.throughput            aggregate.throughput          reported_…          1/s
scenario                      scenario.stack                gpu, n_gpus …       see ``llmd_stack``
============================  ============================  ==================  ==================

``aggregate`` is ``results.request_performance.aggregate``. A report is made of another tool's
result, whose name the row bears. Where both lie in one folder they are one run, known by their
figures, and the tool's own file is kept. Requests that are incomplete count as failed.

*Duration.* Of inference-perf it is the time of sending, not of the run: there it is completed ÷
requests per second, which is the run's, unless that is the shorter.

*Units.* Reports of 0.1 label seconds as ms. Where hardly any request would be in flight (requests ÷
duration × E2E below 0.1) and a token would take less than half a millisecond, all latencies are
left out: what they are is not known. TPOT that contradicts E2E and TTFT gives way to them, as it
does in :mod:`hetcost.readers.inference_perf`.

Whether arrivals are Poisson or constant is not told. Power and use of accelerators are not read:
whether they are of a card or of a server is not said. Sessions, time series and observations of
the service are not read either. Layout only: the examples of the schema's authors are no runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from hetcost.errors import ReadError
from hetcost.readers import guidellm, inference_perf, vllm
from hetcost.readers.fields import add_warning, date, date_utc, inner, shown, text
from hetcost.readers.inference_perf import keep_consistent, name_streaming
from hetcost.readers.llmd_stack import old_stack, stack
from hetcost.readers.nested import figure, statistics, total, word
from hetcost.readers.streamed import keep_measured
from hetcost.units import HOURS_PER_DAY, MS_PER_S, SECONDS_PER_HOUR, SECONDS_PER_MINUTE

TOOL = "llm-d benchmark report"

_TOOLS = {"vllm-benchmark": vllm.TOOL, "guidellm": guidellm.TOOL}
_RESULTS = ("results", "request_performance", "aggregate")
_MS = {"ms": 1.0, "s": MS_PER_S, "ms/token": 1.0, "s/token": MS_PER_S}
_NORMALIZED = "normalized_time_per_output_token"
_REPORTED = {
    "reported_out_tok_per_s": ("output_tokens_per_sec", "output_token_rate"),
    "reported_all_tok_per_s": ("total_tokens_per_sec", "total_token_rate"),
    "reported_req_per_s": ("requests_per_sec", "request_rate"),
}
_DURATION = re.compile(
    r"P(?:(?P<days>[\d.]+)D)?"
    r"(?:T(?:(?P<hours>[\d.]+)H)?(?:(?P<minutes>[\d.]+)M)?(?:(?P<seconds>[\d.]+)S)?)?"
)
_UNITS_S = {
    "days": HOURS_PER_DAY * SECONDS_PER_HOUR,
    "hours": SECONDS_PER_HOUR,
    "minutes": SECONDS_PER_MINUTE,
    "seconds": 1.0,
}
_LEAST_IN_FLIGHT = 0.1  # requests; fewer, and faster tokens than this, mean another unit
_LEAST_MS_PER_TOK = 0.5


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a benchmark report of llm-d."""
    if not isinstance(record.get("scenario"), Mapping):
        return False
    metrics, results = record.get("metrics"), record.get("results")
    return (isinstance(metrics, Mapping) and "requests" in metrics) or (
        isinstance(results, Mapping) and "request_performance" in results
    )


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the report into a row of run columns.

    Raises
    ------
    ReadError
        A unit is not known, or a field is not of its kind.
    """
    out = _of_0_2(record) if "results" in record else _of_0_1(record)
    if out["tool"] == inference_perf.TOOL and (pace := out["reported_req_per_s"]) > 0:
        out["duration_s"] = float(np.fmax(out["duration_s"], out["completed"] / pace))
    _leave_out_unlikely(out)
    name_streaming(out)
    keep_measured(out)
    keep_consistent(out)
    return [out]


def _of_0_1(record: Mapping[str, Any]) -> dict[str, Any]:
    metrics = inner(record, "metrics")
    return {
        **_tool(word(record, "scenario", "load", "name")),
        **old_stack(inner(record, "scenario")),
        "date": date_utc(figure(metrics, "time", "start"), "metrics.time.start"),
        "duration_s": figure(metrics, "time", "duration"),
        **{column: figure(metrics, "throughput", old) for column, (old, _) in _REPORTED.items()},
        **_requests(metrics),
    }


def _of_0_2(record: Mapping[str, Any]) -> dict[str, Any]:
    load = inner(record, "scenario", "load", "standardized")
    time, aggregate = inner(record, "run", "time"), inner(record, *_RESULTS)
    if not aggregate:
        message = f"{'.'.join(_RESULTS)}: nothing, where the figures of all requests belong"
        raise ReadError(message)
    rate, limit = figure(load, "rate_qps"), figure(load, "concurrency")
    closed = math.isnan(rate) and limit > 0
    bounded = limit if math.isfinite(limit) else math.nan
    return {
        **_tool(text(load, "tool")),
        "tool_version": text(load, "tool_version"),
        **stack(inner(record, "scenario")),
        "date": date(time, "start"),
        "arrival": None if not closed else "closed" if bounded > 0 else "burst",
        "request_rate_per_s": math.inf if closed else rate,
        "max_concurrency": bounded,
        "duration_s": _seconds(time),
        **{
            column: figure(aggregate, "throughput", new, "mean")
            for column, (_, new) in _REPORTED.items()
        },
        **_requests(aggregate),
    }


def _tool(generator: str | None) -> dict[str, Any]:
    return {"tool": _TOOLS.get(generator or "", generator or TOOL)}


def _requests(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return counts, tokens and latencies, which both schemas lay out alike."""
    sent, failed, cut_off = (
        figure(metrics, "requests", name) for name in ("total", "failures", "incomplete")
    )
    lost = sum(count for count in (failed, cut_off) if count > 0)
    completed = sent - lost
    found: dict[str, Any] = {
        "n_requests": sent,
        "completed": completed,
        "failed": lost,
        "total_in_tok": total(figure(metrics, "requests", "input_length", "mean"), completed),
        "total_out_tok": total(figure(metrics, "requests", "output_length", "mean"), completed),
    }
    for metric, name in inference_perf.LATENCIES.items():
        unit = _ms(metrics, name)
        found |= statistics(metrics, "latency", name, metric=metric, ms=unit)
    normalized = figure(metrics, "latency", _NORMALIZED, "mean")
    found["mean_norm_e2el_ms_per_tok"] = normalized * _ms(metrics, _NORMALIZED)
    return found


def _ms(metrics: Mapping[str, Any], name: str) -> float:
    """Return how many milliseconds the unit of a latency has."""
    if not inner(metrics, "latency", name):
        return math.nan
    unit = word(metrics, "latency", name, "units")
    if unit not in _MS:
        message = f"latency.{name}.units: {shown(unit)} is none of {', '.join(_MS)}"
        raise ReadError(message)
    return _MS[unit]


def _seconds(time: Mapping[str, Any]) -> float:
    """Read a duration in seconds or as ISO 8601."""
    written = time.get("duration")
    if not isinstance(written, str) or not written.startswith("P"):
        return figure({"run.time": time}, "run.time", "duration")
    match = _DURATION.fullmatch(written.strip())
    parts = {name: part for name, part in match.groupdict().items() if part} if match else {}
    try:
        lengths = [float(part) * _UNITS_S[name] for name, part in parts.items()]
    except ValueError:
        lengths = []
    if not lengths:
        message = f"run.time.duration: {shown(written)} is no duration as ISO 8601 has it"
        raise ReadError(message)
    return sum(lengths)


def _leave_out_unlikely(out: dict[str, Any]) -> None:
    """Leave latencies out whose unit cannot be the one that is stated (Little's law)."""
    e2el, length = (
        out.get("mean_e2el_ms", math.nan),
        out["total_out_tok"] / (out["completed"] or math.nan),
    )
    in_flight = out["completed"] / (out["duration_s"] or math.nan) * e2el / MS_PER_S
    if not in_flight < _LEAST_IN_FLIGHT or e2el / (length or math.nan) >= _LEAST_MS_PER_TOK:
        return
    for name in [name for name in out if name.endswith(("_ms", "_ms_per_tok"))]:
        del out[name]
    add_warning(
        out,
        f"a mean E2E of {e2el:.4g} ms leaves {in_flight:.2g} requests in flight: the unit is "
        "another than stated, and latencies are left out",
    )
