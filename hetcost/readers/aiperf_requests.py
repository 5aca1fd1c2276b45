"""AIPerf's ``profile_export.jsonl``: one request a line, summed up to one run.

==============================  ====================  =============================================
field                           column                note
==============================  ====================  =============================================
metadata.benchmark_phase                              ``warmup`` does not count
metadata.request_start_ns       date, duration_s      ns since 1970; the first one; date as UTC
metadata.request_end_ns         duration_s            ns since 1970; the last one
metadata.x_request_id                                 a request that stands twice counts once
metadata.was_cancelled, error   failed                a request without latency failed too
input_sequence_length           total_in_tok          of the completed requests
output_sequence_length          total_out_tok         of the completed requests
time_to_first_token             {stat}_ttft_ms        stated only of streamed answers
inter_token_latency             {stat}_tpot_ms        (E2E − TTFT) / (n − 1); none of one token
inter_chunk_latency             {stat}_itl_ms         gaps of all requests pooled
request_latency                 {stat}_e2el_ms
==============================  ====================  =============================================

Each metric is ``{value, unit}`` and is converted by its unit. Percentiles are exact, of the
completed requests, linear between neighbours. The duration runs from the first request sent to the
last end of any, failed ones included; a request whose stamps contradict its latency is refused.
Model, rate, limit and boards are not in the file.

Of each request only numbers are kept, so that the file may be far larger than memory.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcost.errors import ReadError
from hetcost.readers.aiperf import AIPERF, milliseconds
from hetcost.readers.fields import LAST_S, add_warning, date_utc, inner, number, text
from hetcost.readers.pooled import Pooled, statistics_ms
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S, NS_PER_S

TOOL = "AIPerf requests"

_ONE_EACH = {
    "time_to_first_token": "ttft",
    "inter_token_latency": "tpot",
    "request_latency": "e2el",
}
_GAPS = "inter_chunk_latency"
_LONGEST_MS = 1e12  # thirty years
_APART, _APART_MS = 0.05, 100.0  # of a latency, and of the time between its stamps


class _Request(NamedTuple):
    """What is kept of one request; no latencies if it failed."""

    start: float
    end: float
    latencies: dict[str, float]
    gaps: NDArray[np.float64]
    tok_in: float
    tok_out: float


def claims_request(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a request as AIPerf exports it."""
    metadata = record.get("metadata")
    known = isinstance(metadata, Mapping) and (
        "request_start_ns" in metadata or "benchmark_phase" in metadata
    )
    return known and "metrics" in record


class Requests:
    """The requests of one file, summed up."""

    def __init__(self) -> None:
        self._values = {metric: array("d") for metric in _ONE_EACH.values()}
        self._gaps = Pooled()
        self._start, self._end = math.inf, -math.inf
        self._tok_in = self._tok_out = 0.0
        self._completed = self._failed = self._unread = 0
        self._seen: set[int] = set()

    def add(self, record: Mapping[str, Any]) -> None:
        """Count in one request.

        Raises
        ------
        ReadError
            A field of the request is not of its kind; it is not counted.
        """
        try:
            request = _read(record)
            self._know(record)
        except ReadError:
            self._unread += 1
            raise
        if request is None:
            return
        self._start = min(self._start, request.start)
        self._end = max(self._end, request.end)
        if "e2el" not in request.latencies:
            self._failed += 1
            return
        self._completed += 1
        self._tok_in += request.tok_in
        self._tok_out += request.tok_out
        for metric, value in request.latencies.items():
            self._values[metric].append(value)
        self._gaps.extend(request.gaps)

    def _know(self, record: Mapping[str, Any]) -> None:
        """Remember a request by its identity, and refuse it the second time."""
        name = text(inner(record, "metadata"), "x_request_id")
        if name is not None and hash(name) in self._seen:
            message = f"request {name} stands twice"
            raise ReadError(message)
        self._seen.add(hash(name))

    def row(self) -> dict[str, Any]:
        """Turn what was counted into a row of run columns.

        Raises
        ------
        ReadError
            No request was of the measured phase.
        """
        sent = self._completed + self._failed
        if not sent:
            message = "no request of the profiling phase could be read"
            raise ReadError(message)
        out: dict[str, Any] = {
            "tool": AIPERF,
            "date": date_utc(self._start / NS_PER_S, "request_start_ns"),
            "n_requests": sent,
            "completed": self._completed,
            "failed": self._failed,
            "duration_s": (self._end - self._start) / NS_PER_S,
            "total_in_tok": self._tok_in,
            "total_out_tok": self._tok_out,
            "streaming": True if self._values["ttft"] else None,
        }
        if self._gaps:
            out["itl_kind"] = "pooled"
        elif self._values["tpot"]:
            out["itl_kind"] = "request_mean"
        out |= statistics_ms("itl", self._gaps)
        for metric, values in self._values.items():
            out |= statistics_ms(metric, np.sort(values))
        keep_measured(out)
        if self._unread:
            add_warning(out, f"{self._unread} requests of the file could not be read")
        return out


def _read(record: Mapping[str, Any]) -> _Request | None:
    """Read a request; None where it was sent to warm up."""
    metadata, metrics = inner(record, "metadata"), inner(record, "metrics")
    phase = text(metadata, "benchmark_phase")
    if phase == "warmup":
        return None
    if phase not in ("profiling", None):
        message = f"benchmark_phase: '{phase}' is neither profiling nor warmup"
        raise ReadError(message)
    start = _stamp(metadata, "request_start_ns")
    failed = bool(record.get("error")) or metadata.get("was_cancelled") is True
    if failed or math.isnan(_value(metrics, "request_latency")):
        ended = metadata.get("request_end_ns") is not None
        end = _stamp(metadata, "request_end_ns") if ended else start
        return _Request(start, end, {}, np.empty(0), 0.0, 0.0)
    tok_in, tok_out = (_value(metrics, f"{side}_sequence_length") for side in ("input", "output"))
    latencies = {metric: _latency(metrics, tag) for tag, metric in _ONE_EACH.items()}
    if tok_out <= 1:
        latencies["tpot"] = math.nan
    latencies = {metric: value for metric, value in latencies.items() if not math.isnan(value)}
    end = _stamp(metadata, "request_end_ns")
    _agree(end - start, latencies["e2el"])
    return _Request(start, end, latencies, _gaps(metrics), tok_in, tok_out)


def _agree(lasted_ns: float, e2el_ms: float) -> None:
    lasted_ms = lasted_ns / NS_PER_S * MS_PER_S
    if abs(lasted_ms - e2el_ms) > max(_APART * e2el_ms, _APART_MS):
        message = (
            f"it lasted {lasted_ms:.6g} ms by its stamps, and request_latency is {e2el_ms:.6g} ms"
        )
        raise ReadError(message)


def _stamp(metadata: Mapping[str, Any], key: str) -> float:
    """Read a time of the epoch; whole numbers stay whole, for floats are not exact there."""
    value = number(metadata, key)
    if not 0 <= value <= LAST_S * NS_PER_S:
        message = f"{key}: {metadata.get(key)!r} is no time in ns"
        raise ReadError(message)
    stated = metadata[key]
    return stated if isinstance(stated, int) else value


def _value(metrics: Mapping[str, Any], tag: str) -> float:
    path = f"{tag}.value"
    value = number({path: inner(metrics, tag).get("value")}, path)
    if value < 0 or math.isinf(value):
        message = f"{path}: {value:g} is negative or infinite"
        raise ReadError(message)
    return value


def _latency(metrics: Mapping[str, Any], tag: str) -> float:
    value = _value(metrics, tag)
    if math.isnan(value):
        return value
    value *= milliseconds(inner(metrics, tag), tag)
    if value > _LONGEST_MS:
        message = f"{tag}.value: {value:g} ms is no latency"
        raise ReadError(message)
    return value


def _gaps(metrics: Mapping[str, Any]) -> NDArray[np.float64]:
    values = inner(metrics, _GAPS).get("value")
    if values is None:
        return np.empty(0)
    if not isinstance(values, list):
        message = f"{_GAPS}.value: {type(values).__name__} where a list of gaps belongs"
        raise ReadError(message)
    if not all(type(value) is float for value in values):
        values = [number({_GAPS: value}, _GAPS) for value in values]
    gaps = np.array(values, dtype="float64") * milliseconds(inner(metrics, _GAPS), _GAPS)
    if not ((gaps >= 0) & (gaps <= _LONGEST_MS)).all():
        message = f"{_GAPS}.value: a gap that is negative, infinite or missing"
        raise ReadError(message)
    return gaps
