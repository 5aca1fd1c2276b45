"""llmperf (Ray): summary JSON, and the JSON list of single responses.

The summary, flat keys, times in seconds:

=============================================  =========================  =======================
field                                          column                     note
=============================================  =========================  =======================
version                                        tool_version               of the schema
timestamp                                      date                       s since 1970, as UTC
model                                          model
num_concurrent_requests                        max_concurrency            a closed loop, always
results_num_requests_started                   n_requests
results_num_completed_requests                 completed
results_number_errors                          failed
results_num_completed_requests_per_min         reported_req_per_s         / 60
the two above it                               duration_s                 completed / per_min × 60
results_number_{input,output}_tokens_mean      total_{in,out}_tok         × completed
results_mean_output_throughput_token_per_s     reported_out_tok_per_s     of the whole run
results_{ttft,end_to_end_latency}_s_…          …_{ttft,e2el}_ms           mean and quantiles_pNN
results_inter_token_latency_s_mean             mean_norm_e2el_ms_per_tok  first-token wait included
=============================================  =========================  =======================

What llmperf calls inter-token latency is E2E / output tokens, so it is neither ITL nor TPOT here.
Where all answers have the same length n above 1, mean TPOT is (mean E2E − mean TTFT) / (n − 1)
exactly; elsewhere the summary does not tell it. Output tokens are counted over the text by a
tokenizer of llmperf's own choice (``retokenized``). There is no hardware in the file.

The responses are requests, summed up over the file: ``ttft_s``, ``end_to_end_latency_s``,
``number_{input,output}_tokens``, ``inter_token_latency_s``, and ``error_code``, which is null where
the request was answered. TPOT is (E2E − TTFT) / (n − 1) of each answer with n above 1 tokens. A
TTFT or E2E of 0 is the value that the client starts from: nothing came. Percentiles are taken over
the requests. The list has neither duration nor model nor concurrency, and
``request_output_throughput_token_per_s`` may disagree with tokens / E2E: it is not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from hetcost.errors import ReadError
from hetcost.readers.fields import add_warning, date_utc, number, text
from hetcost.readers.pooled import statistics_ms
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S, SECONDS_PER_MINUTE

TOOL = "llmperf"

_STATISTIC = re.compile(
    r"results_(ttft|end_to_end_latency)_s_(?:quantiles_(p[1-9]|p[1-9][0-9])|(mean))"
)
_REQUESTS = ("num_requests_started", "number_errors")
_SHORT = {"ttft": "ttft", "end_to_end_latency": "e2el"}
_CLOSED: dict[str, Any] = {
    "tool": TOOL,
    "arrival": "closed",
    "request_rate_per_s": math.inf,
    "token_count_source": "retokenized",
}
_APART = 0.05  # of a request's own throughput and the one had from its tokens and time


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a summary of llmperf."""
    return "results_num_completed_requests" in record


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the summary into a row of run columns.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    completed = number(record, "results_num_completed_requests")
    per_min = number(record, "results_num_completed_requests_per_min")
    sent, failed = (number(record, f"results_{name}") for name in _REQUESTS)
    timed = completed > 0 and per_min > 0
    row = {
        **_CLOSED,
        "tool_version": text(record, "version"),
        "date": date_utc(number(record, "timestamp"), "timestamp"),
        "model": text(record, "model"),
        "max_concurrency": number(record, "num_concurrent_requests"),
        "n_requests": sent,
        "completed": completed,
        "failed": sent - completed if math.isnan(failed) else failed,
        "duration_s": completed / per_min * SECONDS_PER_MINUTE if timed else math.nan,
        "total_in_tok": _total(record, "input", completed),
        "total_out_tok": _total(record, "output", completed),
        "reported_req_per_s": per_min / SECONDS_PER_MINUTE,
        "reported_out_tok_per_s": number(record, "results_mean_output_throughput_token_per_s"),
    }
    if completed > 0:
        row |= _latencies(record)
        keep_measured(row)
    return [row]


def _total(record: Mapping[str, Any], kind: str, completed: float) -> float:
    """Return the tokens of all completed requests: the mean was taken over whole numbers."""
    total = number(record, f"results_number_{kind}_tokens_mean") * completed
    return round(total) if math.isfinite(total) else total


def _latencies(record: Mapping[str, Any]) -> dict[str, float]:
    found = {}
    for key in record:
        if match := _STATISTIC.fullmatch(key):
            name = f"{match[2] or match[3]}_{_SHORT[match[1]]}_ms"
            found[name] = number(record, key) * MS_PER_S
    per_token = number(record, "results_inter_token_latency_s_mean")
    found["mean_norm_e2el_ms_per_tok"] = per_token * MS_PER_S
    shortest, longest = (
        number(record, f"results_number_output_tokens_{e}") for e in ("min", "max")
    )
    if 1 < shortest == longest < math.inf:
        decoding = found.get("mean_e2el_ms", math.nan) - found.get("mean_ttft_ms", math.nan)
        found["mean_tpot_ms"] = decoding / (longest - 1)
    return found


def claims_request(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a response as llmperf lists it."""
    return "end_to_end_latency_s" in record and "number_output_tokens" in record


class Requests:
    """Responses of one file, summed up."""

    def __init__(self) -> None:
        self._failed = 0
        self._answers: list[tuple[float, ...]] = []

    def add(self, record: Mapping[str, Any]) -> None:
        """Count in one response.

        Raises
        ------
        ReadError
            A field of an answered request is not of its kind.
        """
        if (text(record, "error_code") or "nan").casefold() != "nan":
            self._failed += 1
        else:
            self._answers.append(_answer(record))

    def row(self) -> dict[str, Any]:
        """Turn what was counted into a row of run columns."""
        row = {
            **_CLOSED,
            "n_requests": len(self._answers) + self._failed,
            "completed": len(self._answers),
            "failed": self._failed,
        }
        if not self._answers:
            return row
        twice = len(self._answers) - len(set(self._answers))
        tok_in, tok_out, ttft, e2el, per_token, stated = np.array(self._answers).T
        with np.errstate(all="ignore"):
            tpot = np.where(tok_out > 1, (e2el - ttft) / (tok_out - 1), math.nan)
            apart = np.count_nonzero(np.abs(stated * e2el / tok_out - 1) > _APART)
            row |= {"total_in_tok": float(tok_in.sum()), "total_out_tok": float(tok_out.sum())}
            for short, values in (("ttft", ttft), ("tpot", tpot), ("e2el", e2el)):
                row |= statistics_ms(short, values[~np.isnan(values)] * MS_PER_S)
            if (known := per_token[(tok_out > 0) & ~np.isnan(per_token)]).size:
                row["mean_norm_e2el_ms_per_tok"] = float(known.mean()) * MS_PER_S
        keep_measured(row)
        if twice:
            add_warning(row, f"{twice} of {len(self._answers)} answers are exactly like others")
        if apart:
            add_warning(
                row,
                "request_output_throughput_token_per_s is not tokens / E2E in "
                f"{apart} of {len(self._answers)} requests and is not used",
            )
        return row


def _answer(record: Mapping[str, Any]) -> tuple[float, ...]:
    """Return tokens in and out, TTFT, E2E, E2E per token and the stated rate of an answer."""
    ttft, e2el = (_bounded(record, key) or math.nan for key in ("ttft_s", "end_to_end_latency_s"))
    if ttft > e2el:
        message = f"ttft_s: {ttft:g} is above end_to_end_latency_s, {e2el:g}"
        raise ReadError(message)
    return (
        _whole(record, "number_input_tokens"),
        _whole(record, "number_output_tokens"),
        ttft,
        e2el,
        _bounded(record, "inter_token_latency_s"),
        _bounded(record, "request_output_throughput_token_per_s"),
    )


def _bounded(record: Mapping[str, Any], key: str) -> float:
    value = number(record, key)
    if value < 0 or math.isinf(value):
        message = f"{key}: {value:g} is outside 0 … inf"
        raise ReadError(message)
    return value


def _whole(record: Mapping[str, Any], key: str) -> float:
    value = _bounded(record, key)
    if value % 1 > 0:
        message = f"{key}: {value:g} is not a whole number"
        raise ReadError(message)
    return value
