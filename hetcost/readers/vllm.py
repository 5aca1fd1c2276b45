"""vLLM ``benchmark_serving.py`` / ``vllm bench serve`` result JSON.

=========================  ====================  ===========================================
field                      column                note
=========================  ====================  ===========================================
date                       date                  ``YYYYMMDD-HHMMSS``, no zone
backend, endpoint_type     engine                only where it names an engine, not a protocol
model_id                   model
gpu_name, gpu_count        gpu, n_gpus           from ``--metadata``; text
num_prompts                n_requests
request_rate               request_rate_per_s    1/s, or "inf"
burstiness                 burstiness            shape of the gamma-distributed gaps
max_concurrency            max_concurrency
completed, failed          completed, failed     before 0.11 failed = num_prompts − completed
duration                   duration_s            s
total_{input,output}_...   total_{in,out}_tok    of the completed requests
request_goodput(:)         goodput_per_s         1/s; the colon is in the key up to 0.9
{stat}_{metric}_ms         the same              ms; ``median`` serves as ``p50``
p99.9_{metric}_ms …        p99_9_{metric}_ms …   ms; any percentile below 100
=========================  ====================  ===========================================

Throughput is tokens / duration; the tool's own figures are kept as ``reported_…``. A run without a
completed request carries latencies of 0.0 in the file; they are missing here. So are TPOT and ITL
of a run whose answers have one token each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.columns import LATENCIES, STATISTICS
from hetcost.errors import ReadError, listing
from hetcost.readers.fields import number, text

TOOL = "vllm bench serve"

_NEEDED = ("model_id", "completed", "duration", "total_input_tokens", "total_output_tokens")
_TELLING = ("request_throughput", "total_token_throughput", "mean_ttft_ms", "median_ttft_ms")
_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tgi": "TGI", "tensorrt-llm": "TensorRT-LLM"}
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})")
_OTHER_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
_LATENCY_KEYS = [f"{statistic}_{metric}_ms" for metric in LATENCIES for statistic in STATISTICS]
_MEDIANS = {f"p50_{metric}_ms": f"median_{metric}_ms" for metric in LATENCIES}


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a serving result of vLLM's client."""
    return "model_id" in record and any(key in record for key in _TELLING)


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns.

    Raises
    ------
    ReadError
        A needed field is absent, or a field is not of its kind.
    """
    absent = [key for key in _NEEDED if key not in record]
    if absent:
        message = f"a vLLM result without {listing(absent)}"
        raise ReadError(message)
    completed, duration = number(record, "completed"), number(record, "duration")
    n_requests = number(record, "num_prompts")
    failed = number(record, "failed")
    tok_in, tok_out = number(record, "total_input_tokens"), number(record, "total_output_tokens")
    rate, limit = number(record, "request_rate"), number(record, "max_concurrency")
    if math.isnan(rate) and limit > 0:
        rate = math.inf
    out: dict[str, Any] = {
        "tool": TOOL,
        "engine": _ENGINES.get(str(record.get("backend") or record.get("endpoint_type")).lower()),
        "date": _date(record),
        "model": text(record, "model_id"),
        "gpu": text(record, "gpu_name"),
        "n_gpus": number(record, "gpu_count"),
        "request_rate_per_s": rate,
        "burstiness": number(record, "burstiness"),
        "max_concurrency": limit,
        "n_requests": n_requests,
        "completed": completed,
        "failed": n_requests - completed if math.isnan(failed) else failed,
        "duration_s": duration,
        "total_in_tok": tok_in,
        "total_out_tok": tok_out,
        "goodput_per_s": _goodput(record),
        "reported_out_tok_per_s": number(record, "output_throughput"),
        "reported_all_tok_per_s": number(record, "total_token_throughput"),
        "reported_req_per_s": number(record, "request_throughput"),
    }
    out["arrival"] = _arrival(rate, out["burstiness"], out["max_concurrency"])
    for key in _LATENCY_KEYS:
        out[key] = number(record, key)
    for key, instead in _MEDIANS.items():
        if math.isnan(out[key]):
            out[key] = number(record, instead)
    for key in record:
        if key[:1] == "p" and key not in out and (match := _OTHER_PERCENTILE.fullmatch(key)):
            out[f"p{match[1].replace('.', '_')}_{match[2]}_ms"] = number(record, key)
    if not completed > 0:
        out.update({key: math.nan for key in out if key.endswith("_ms")})
        out["goodput_per_s"] = math.nan
    elif tok_out <= completed:
        out.update({key: math.nan for key in out if "_tpot_" in key or "_itl_" in key})
    return [out]


def _goodput(record: Mapping[str, Any]) -> float:
    value = number(record, "request_goodput")
    return number(record, "request_goodput:") if math.isnan(value) else value


def _date(record: Mapping[str, Any]) -> str | None:
    written = text(record, "date")
    match = _DATE.fullmatch(written or "")
    if match is None:
        return written
    year, month, day, hour, minute, second = match.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}"


def _arrival(rate: float, burstiness: float, max_concurrency: float) -> str | None:
    if math.isnan(rate):
        return None
    if math.isinf(rate):
        return "burst" if math.isnan(max_concurrency) else "closed"
    return "poisson" if burstiness == 1 or math.isnan(burstiness) else "gamma"
