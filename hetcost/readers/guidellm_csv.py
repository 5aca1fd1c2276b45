"""The CSV form of GuideLLM reports, versions 0.4 to 0.6: a row for each run.

Three header rows name each column: a group, a metric with its status, and a statistic or unit.

================================================  =================================================
column                                            what is taken
================================================  =================================================
``Timings, Measure Start Time``                   date: the client's local time
``Timings, Duration, Sec``                        duration, s
``Request Counts, Successful`` …                  requests
``Request Latency, Successful Sec, Mean`` …       latencies, s or ms: mean, median, percentiles
``Token Metrics, Successful Input Tokens, Mean``  tokens: mean times requests, of each status
``Token Throughput, …``, ``Server Throughput …``  the tool's own rates; requests in flight, where
                                                  all were answered: there is no figure of all
``Run Info, Profile``; ``Benchmark, Strategy``    load: what the profile says of this run's strategy
``Run Info, Backend``; ``Runtime Info, …``        model; version and arguments (from 0.5 on)
================================================  =================================================

Each run is turned into the form that the JSON has, and read as :mod:`~hetcost.readers.guidellm`
reads it. A cell of percentiles holds the least value, 0.1, 1, 5, 10, 25, 75, 90, 95, 99 and the
largest.

What is 0 for a status has no columns, and up to 0.6 the headers are those of the first run alone: a
later run with other columns stands askew under them. It is refused, with the hint to read the JSON.
The CSV of 0.2 and 0.3 has one header row and does not say how many tokens there were.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers import guidellm
from hetcost.readers.fields import inner, number, text
from hetcost.readers.records import Found

TOOL = guidellm.TOOL

_Cells = Mapping[tuple[str, ...], str]
_METRICS = {
    "request_latency": ("Request Latency", "Sec"),
    "request_streaming_iterations_count": ("Streaming Iterations", "Count"),
    "time_to_first_token_ms": ("Time to First Token", "ms"),
    "time_per_output_token_ms": ("Time per Output Token", "ms"),
    "inter_token_latency_ms": ("Inter Token Latency", "ms"),
    "requests_per_second": ("Server Throughput", "Requests/Sec"),
    "request_concurrency": ("Server Throughput", "Concurrency"),
    "prompt_token_count": ("Token Metrics", "Input Tokens"),
    "output_token_count": ("Token Metrics", "Output Tokens"),
    "total_token_count": ("Token Metrics", "Total Tokens"),
    "output_tokens_per_second": ("Token Throughput", "Output Tokens/Sec"),
    "tokens_per_second": ("Token Throughput", "Total Tokens/Sec"),
}
_TOKENS = ("prompt_token_count", "output_token_count", "total_token_count")
_OF_ALL = ("output_tokens_per_second", "tokens_per_second", "request_concurrency")
_STATUSES = ("successful", "incomplete", "errored")
_IN_CELL = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")
_HEADERS = 3
_SAME = 1e-6  # of tokens in and out and their sum
_ASKEW = "the run stands askew under the headers, which are another run's; read the JSON instead"


def claims_text(head: str) -> bool:
    """Say whether a text that begins so is such a table."""
    first = head.lstrip().partition("\n")[0]
    return first.startswith("Run Info,") and ",Timings," in first and ",Request Counts," in first


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield a row of run columns for each run, with its line; or why there is none."""
    lines = _lines(text)
    headers = list(islice(lines, _HEADERS))
    for found in headers:
        if found.reason:
            yield found
            return
    names = list(zip(*(found.value for found in headers), strict=False))
    none = True
    for found in lines:
        none = False
        try:
            yield found if found.reason else Found(found.line, _row(names, found.value))
        except ReadError as error:
            yield Found(found.line, reason=str(error))
    if none:
        yield Found(1, reason="no runs in this file")


def _lines(text: str) -> Iterator[Found]:
    """Yield the cells of each line that is not blank; stop at what is no CSV."""
    table = csv.reader(io.StringIO(text, newline=""))
    while True:
        line = table.line_num + 1
        try:
            cells = next(table, None)
        except csv.Error as error:
            yield Found(line, reason=f"not CSV: {error}")
            return
        if cells is None:
            return
        if any(cells):
            yield Found(line, cells)


def _row(names: list[tuple[str, ...]], values: list[str]) -> dict[str, Any]:
    if len(values) != len(names):
        message = f"{len(values)} cells under {len(names)} headers: {_ASKEW}"
        raise ReadError(message)
    cells = dict(zip(names, values, strict=True))
    counts = {
        status: _number(cells, "Request Counts", status.capitalize())
        for status in (*_STATUSES, "total")
    }
    metrics = {name: _statuses(cells, *where) for name, where in _METRICS.items()}
    for name in _TOKENS:
        _sum_up(metrics[name], counts)
    _check_place(metrics, counts)
    if counts["successful"] > 0 and any(metrics["request_latency"].values()):
        metrics["request_streaming_iterations_count"].setdefault("successful", {"mean": 0.0})
    if counts["successful"] == counts["total"]:
        for name in _OF_ALL:
            metrics[name]["total"] = metrics[name].get("successful")
    report = {
        "metadata": _object(cells, "Runtime Info", "Metadata"),
        "args": _object(cells, "Runtime Info", "Arguments"),
    }
    run = {
        "config": {
            "strategy": _strategy(cells),
            "backend": _object(cells, "Run Info", "Backend"),
        },
        "start_time": _cell(cells, "Timings", "Measure Start Time"),
        "duration": _cell(cells, "Timings", "Duration", "Sec"),
        "warmup_duration": _cell(cells, "Timings", "Warmup", "Sec"),
        "cooldown_duration": _cell(cells, "Timings", "Cooldown", "Sec"),
        "metrics": {"request_totals": counts, **metrics},
    }
    return guidellm.row(run, report)


def _cell(cells: _Cells, group: str, metric: str, statistic: str = "") -> str | None:
    return cells.get((group, metric, statistic))


def _number(cells: _Cells, *names: str) -> float:
    where = ", ".join(names)
    return number({where: _cell(cells, *names)}, where)


def _statuses(cells: _Cells, group: str, unit: str) -> dict[str, Any]:
    """Return the figures of a metric by status; nothing where there are none."""
    found: dict[str, Any] = {}
    for status in _STATUSES:
        column = f"{status.capitalize()} {unit}"
        figures: dict[str, Any] = {}
        for name in ("Mean", "Median"):
            if _cell(cells, group, column, name):
                figures[name.lower()] = _number(cells, group, column, name)
        if written := _cell(cells, group, column, "Percentiles"):
            figures |= _percentiles(written, f"{group}, {column}, Percentiles")
        if figures:
            found[status] = figures
    return found


def _percentiles(written: str, where: str) -> dict[str, Any]:
    parts = written.strip().removeprefix("[").removesuffix("]").split(",")
    if len(parts) != len(_IN_CELL):
        message = f"{where}: {len(parts)} figures where {len(_IN_CELL)} belong"
        raise ReadError(message)
    found = {name: number({where: part}, where) for name, part in zip(_IN_CELL, parts, strict=True)}
    return {"min": found.pop("min"), "max": found.pop("max"), "percentiles": found}


def _sum_up(statuses: dict[str, Any], counts: Mapping[str, float]) -> None:
    """Add sums: means are over all requests of a status, and what is 0 has no column."""
    total = 0.0
    for status in _STATUSES:
        mean = statuses.get(status, {}).get("mean", 0.0)
        tokens = mean * counts[status] if mean else 0.0
        statuses.setdefault(status, {})["total_sum"] = tokens
        total += tokens
    statuses["total"] = {"total_sum": total}


def _check_place(metrics: Mapping[str, Any], counts: Mapping[str, float]) -> None:
    """Refuse a run whose cells belong to other headers, as far as that shows."""
    without = [status for status in _STATUSES if counts[status] == 0]
    for name, statuses in metrics.items():
        shown = [status for status in without if "mean" in statuses.get(status, {})]
        if shown:
            group = _METRICS[name][0]
            message = f"{group} of {shown[0]} requests, but there are none: {_ASKEW}"
            raise ReadError(message)
    tok_in, tok_out, tok_all = (metrics[name]["total"]["total_sum"] for name in _TOKENS)
    if tok_all > 0 and not math.isclose(tok_in + tok_out, tok_all, rel_tol=_SAME):
        message = f"{tok_in:g} input and {tok_out:g} output tokens are not {tok_all:g}: {_ASKEW}"
        raise ReadError(message)


def _strategy(cells: _Cells) -> Mapping[str, Any]:
    """Return the strategy of this run: its kind, and what the profile says of it."""
    kind = text({"Strategy": _cell(cells, "Benchmark", "Strategy")}, "Strategy")
    index = _number(cells, "Run Info", "Run Index")
    done = _object(cells, "Run Info", "Profile").get("completed_strategies")
    if isinstance(done, list) and 0 <= index < len(done):
        strategy = done[int(index)]
        if isinstance(strategy, Mapping) and strategy.get("type_") == kind:
            return strategy
    return {"type_": kind}


def _object(cells: _Cells, group: str, name: str) -> Mapping[str, Any]:
    where = f"{group}, {name}"
    written = _cell(cells, group, name)
    if not written:
        return {}
    try:
        value = json.loads(written)
    except (ValueError, RecursionError):
        message = f"{where}: not JSON"
        raise ReadError(message) from None
    return inner({where: value}, where)
