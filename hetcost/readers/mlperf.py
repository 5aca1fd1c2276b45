"""MLPerf Inference (LoadGen): ``mlperf_log_summary.txt`` of a run of a language model.

=========================================  ====================  ===================================
label                                      column                note
=========================================  ====================  ===================================
Scenario                                   dataset, arrival      Server poisson, Offline burst, …
target_qps                                 request_rate_per_s    1/s, of Server; elsewhere inf
Completed samples per second               req_per_s             1/s, Server
Samples per second                         reported_req_per_s    1/s, Offline
Completed tokens per second                out_tok_per_s         output tokens; stands there twice
Tokens per second                          out_tok_per_s         Offline
samples_per_query                          n_requests,           of Offline, whose one query holds
                                           completed             all samples
Max latency (ns)                           duration_s            of Offline: to the last answer
Mean, NN.NN percentile latency (ns)        {stat}_e2el_ms        of Server
… first token latency (ns)                 {stat}_ttft_ms
… Time to Output Token (ns)                {stat}_tpot_ms        up to v4.1
… Time per Output Token (ns)               {stat}_tpot_ms        since
Result is                                  warnings              where it is INVALID
=========================================  ====================  ===================================

Times are in nanoseconds. Labels are read without regard to case. ``min_duration`` is a demand, not
the duration, and of Server the file tells none. Tokens are not counted: throughput is as stated,
and the mean output length is tokens / samples per second. Input tokens, model, cards and engine are
not in it: they are in the submission's ``systems/`` and ``measurements/``. An Offline latency is of
the whole batch, so there is no E2E. Accuracy runs, and runs without tokens per second (of models
that make none), are refused. Wall power is in ``spl.txt`` beside it and must be cut to the run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.fields import add_warning, number, text
from hetcost.readers.records import Found
from hetcost.units import MS_PER_S, NS_PER_S

TOOL = "MLPerf LoadGen"

_TITLE = "MLPerf Results Summary"
_ARRIVALS = {
    "Server": "poisson",
    "Interactive": "poisson",
    "Offline": "burst",
    "SingleStream": "closed",
}
_PERFORMANCE = "PerformanceOnly"
_STATISTIC = re.compile(
    r"(?:(mean)|(\d{1,2})\.(\d{2}) percentile) "
    r"(first token latency|time (?:to|per) output token|latency) \(ns\)"
)
_METRICS = {"first token latency": "ttft", "latency": "e2el"}
_RATES = ("completed tokens per second", "tokens per second")
_NS_PER_MS = NS_PER_S / MS_PER_S


def claims_text(head: str) -> bool:
    """Say whether a text that begins so is a summary of LoadGen."""
    return _TITLE in head


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield a row for each summary, with the line of its title; or why there is none."""
    lines = text.splitlines()
    titles = [place for place, line in enumerate(lines) if line.strip() == _TITLE]
    if not titles:
        yield Found(1, reason="no runs in this file")
        return
    for begin, end in zip(titles, [*titles[1:], len(lines)], strict=True):
        try:
            yield Found(begin + 1, _row(_labelled(lines[begin:end])))
        except ReadError as error:
            yield Found(begin + 1, reason=str(error))


def _labelled(lines: list[str]) -> dict[str, str]:
    """Return what stands behind each label, in small letters; a label may stand twice alike."""
    found: dict[str, str] = {}
    for line in lines:
        before, _, behind = line.partition(":")
        label, value = " ".join(before.split()).casefold(), behind.strip()
        if label and value and found.setdefault(label, value) != value:
            message = f"'{label}' stands twice: {found[label]} and {value}"
            raise ReadError(message)
    return found


def _row(record: Mapping[str, str]) -> dict[str, Any]:
    scenario, mode = text(record, "scenario"), text(record, "mode")
    if scenario not in _ARRIVALS:
        message = f"Scenario: {scenario!r} is none of {', '.join(_ARRIVALS)}"
        raise ReadError(message)
    if mode != _PERFORMANCE:
        message = f"Mode: {mode!r} is no measurement of performance ({_PERFORMANCE})"
        raise ReadError(message)
    made = next((rate for name in _RATES if (rate := number(record, name)) >= 0), math.nan)
    if math.isnan(made):
        message = "no tokens per second: not a run of a language model, or before LoadGen had them"
        raise ReadError(message)
    arrival = _ARRIVALS[scenario]
    out: dict[str, Any] = {
        "tool": TOOL,
        "dataset": f"MLPerf {scenario}",
        "arrival": arrival,
        "request_rate_per_s": number(record, "target_qps") if arrival == "poisson" else math.inf,
        "out_tok_per_s": made,
        **(_batch(record, made) if arrival == "burst" else _served(record, made)),
    }
    if arrival == "closed":
        out["max_concurrency"] = 1
    if (result := text(record, "result is")) != "VALID":
        add_warning(out, f"by MLPerf's rules the result is {result or 'not told'}")
    return out


def _batch(record: Mapping[str, str], made: float) -> dict[str, Any]:
    samples, pace = number(record, "samples_per_query"), number(record, "samples per second")
    return {
        "n_requests": samples,
        "completed": samples,
        "duration_s": number(record, "max latency (ns)") / NS_PER_S,
        "reported_req_per_s": pace,
        "mean_out_tok": made / pace if pace > 0 else math.nan,
    }


def _served(record: Mapping[str, str], made: float) -> dict[str, Any]:
    answered = number(record, "completed samples per second")
    found: dict[str, Any] = {
        "req_per_s": answered,
        "mean_out_tok": made / answered if answered > 0 else math.nan,
    }
    for label in record:
        if match := _STATISTIC.fullmatch(label):
            metric = _METRICS.get(match[4], "tpot")
            name = f"{_rank(match)}_{metric}_ms"
            found[name] = number(record, label) / _NS_PER_MS or math.nan
    if any(name.endswith("_tpot_ms") for name in found):
        found["itl_kind"] = "request_mean"
    return found


def _rank(match: re.Match[str]) -> str:
    if match[1]:
        return "mean"
    parts = match[3].rstrip("0")
    return f"p{int(match[2])}_{parts}" if parts else f"p{int(match[2])}"
