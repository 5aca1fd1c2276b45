"""vLLM ``benchmark_serving.py`` / ``vllm bench serve`` result JSON.

=========================  ====================  ===========================================
field                      column                note
=========================  ====================  ===========================================
date                       date                  ``YYYYMMDD-HHMMSS``, no zone
backend, endpoint_type     engine                only where it names an engine, not a protocol
model_id                   model
gpu_name, gpu_count        gpu, n_gpus           from ``--metadata``; text
tp, pp, dp, ep, replicas   tensor_parallel …     from ``--metadata`` or a sweep; text or number
engine, engine_version     the same              from ``--metadata``
type                       phase                 from ``--metadata``: ``warmup``
run_number                 phase, warnings       of a sweep: below 0 a warm-up, 0 a cold start
num_prompts                n_requests
request_rate               request_rate_per_s    1/s, or "inf"
burstiness                 burstiness            shape of the gamma-distributed gaps; inf: constant
ramp_up_…                  warnings              the offered rate is then no single one
max_concurrency            max_concurrency
completed, failed          completed, failed     before 0.11 failed = num_prompts − completed
duration                   duration_s            s
total_{input,output}_...   total_{in,out}_tok    of the completed requests
request_goodput(:)         goodput_per_s         1/s; the colon is in the key up to 0.9
{stat}_{metric}_ms         the same              ms; ``median`` serves as ``p50``
p99.9_{metric}_ms …        p99_9_{metric}_ms …   ms; any percentile below 100
ttfts, itls, …             statistics lacking    s; see :mod:`hetcost.readers.vllm_details`
=========================  ====================  ===========================================

Throughput is tokens / duration; the tool's own figures are kept as ``reported_…``. Latencies of 0.0
were not measured and are missing, as are TTFT, TPOT and ITL of answers that were not streamed: see
:mod:`hetcost.readers.streamed`. Clients before 2025 counted output tokens by tokenizing the answers
anew.

Where a file states tensor and pipeline parallelism and replicas but no cards, the cards are their
product. Data parallelism takes cards of its own, as replicas do: it stands in their place. Where
both are above 1 they may be two names of the same copies, and the cards are missing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.columns import LATENCIES, STATISTICS
from hetcost.readers import vllm_details
from hetcost.readers.clients import arrival, engine
from hetcost.readers.fields import add_warning, date, need, number, text
from hetcost.readers.streamed import keep_measured

TOOL = "vllm bench serve"

_NEEDED = ("model_id", "completed", "duration", "total_input_tokens", "total_output_tokens")
_TELLING = ("request_throughput", "total_token_throughput", "mean_ttft_ms", "median_ttft_ms")
_DATE = re.compile(r"(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})")
_OTHER_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el)_ms")
_LATENCY_KEYS = [f"{statistic}_{metric}_ms" for metric in LATENCIES for statistic in STATISTICS]
_SHAPE = {
    "tp": "tensor_parallel",
    "tensor_parallel_size": "tensor_parallel",
    "pp": "pipeline_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "dp": "data_parallel",
    "data_parallel": "data_parallel",
    "data_parallel_size": "data_parallel",
    "ep": "expert_parallel",
    "expert_parallel": "expert_parallel",
    "expert_parallel_size": "expert_parallel",
    "replicas": "replicas",
}
_CARDS = ("tensor_parallel", "pipeline_parallel", "data_parallel", "replicas")
_SAID = ("true", "false", "on", "off")
_ENGINE = {"engine": "engine", "engine_version": "engine_version", "vllm_version": "engine_version"}
_SETTINGS = {*_SHAPE, *_ENGINE, "run_number", "type"}
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
    need(record, _NEEDED, "a vLLM result")
    notes: list[str] = []
    completed, n_requests = number(record, "completed"), number(record, "num_prompts")
    failed = number(record, "failed")
    out: dict[str, Any] = {
        "tool": TOOL,
        "engine": engine(str(record.get("backend") or record.get("endpoint_type"))),
        "date": _date(record),
        "model": text(record, "model_id"),
        "gpu": text(record, "gpu_name"),
        "n_gpus": number(record, "gpu_count"),
        **_load(record, notes),
        "n_requests": n_requests,
        "completed": completed,
        "failed": n_requests - completed if math.isnan(failed) else failed,
        "duration_s": number(record, "duration"),
        "total_in_tok": number(record, "total_input_tokens"),
        "total_out_tok": number(record, "total_output_tokens"),
        "goodput_per_s": _goodput(record),
        "reported_out_tok_per_s": number(record, "output_throughput"),
        "reported_all_tok_per_s": number(record, "total_token_throughput"),
        "reported_req_per_s": number(record, "request_throughput"),
        **_latencies(record),
    }
    retokenized = _before_2025(record)
    if retokenized:
        out["token_count_source"] = "retokenized"
    if completed > 0 and record.get("ttfts") is not None:
        notes.append(vllm_details.fill(record, out, recount=retokenized))
    if not record.keys().isdisjoint(_SETTINGS):
        _add_settings(record, out, notes)
    add_warning(out, *notes)
    keep_measured(out)
    return [out]


def _load(record: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return how requests were sent."""
    rate, limit = number(record, "request_rate"), number(record, "max_concurrency")
    burstiness = number(record, "burstiness")
    if math.isnan(rate) and limit > 0:
        rate = math.inf
    kind = arrival(rate, limit, burstiness)
    if "ramp_up_strategy" in record and text(record, "ramp_up_strategy"):
        rate, kind = math.nan, None
        begin, end = (number(record, f"ramp_up_{each}_rps") for each in ("start", "end"))
        notes.append(f"the offered rate goes from {begin:g} to {end:g} requests/s")
    return {
        "arrival": kind,
        "request_rate_per_s": rate,
        "burstiness": math.nan if math.isinf(burstiness) else burstiness,
        "max_concurrency": limit,
    }


def _latencies(record: Mapping[str, Any]) -> dict[str, float]:
    out = {}
    for key in _LATENCY_KEYS:
        value = record.get(key)
        out[key] = value if type(value) is float else number(record, key)
    for key, instead in _MEDIANS.items():
        if math.isnan(out[key]):
            out[key] = number(record, instead)
    for key in record:
        if key[:1] == "p" and key not in out and (match := _OTHER_PERCENTILE.fullmatch(key)):
            out[f"p{match[1].replace('.', '_')}_{match[2]}_ms"] = number(record, key)
    return out


def _add_settings(record: Mapping[str, Any], out: dict[str, Any], notes: list[str]) -> None:
    """Add what ``--metadata`` and sweeps put beside the result."""
    for key, column in _SHAPE.items():
        value = _size(record, key) if key in record else math.nan
        if not math.isnan(value) and out.setdefault(column, value) != value:
            notes.append(f"{column}: both {out[column]:g} and {value:g} are stated")
    if math.isnan(out["n_gpus"]):
        out["n_gpus"] = _cards(out, notes)
    for key, column in _ENGINE.items():
        if key in record and out.get(column) is None:
            out[column] = text(record, key)
    run_number = number(record, "run_number")
    if run_number == 0:
        notes.append("run 0 of a sweep: a cold start")
    if run_number < 0 or text(record, "type") == "warmup":
        out["phase"] = "warmup"


def _size(record: Mapping[str, Any], key: str) -> float:
    """Read a size; expert parallelism may be said to be on, which tells no size."""
    said = str(record[key]).strip().lower()
    return math.nan if _SHAPE[key] == "expert_parallel" and said in _SAID else number(record, key)


def _cards(out: Mapping[str, Any], notes: list[str]) -> float:
    """Return the cards that the stated parallelism takes."""
    data, replicas = (out.get(each, math.nan) for each in ("data_parallel", "replicas"))
    if data > 1 and replicas > 1:
        notes.append(
            f"n_gpus: {replicas:g} replicas and data parallelism of {data:g} are stated, which may "
            "be the same; the number of cards is left open"
        )
        return math.nan
    shape = {"replicas": 1.0, **out} if data > 1 else {"data_parallel": 1.0, **out}
    return math.prod(float(shape.get(each, math.nan)) for each in _CARDS)


def _goodput(record: Mapping[str, Any]) -> float:
    value = number(record, "request_goodput")
    return number(record, "request_goodput:") if math.isnan(value) else value


def _date(record: Mapping[str, Any]) -> str | None:
    match = _DATE.fullmatch(text(record, "date") or "")
    if match is None:
        return date(record, "date")
    year, month, day, hour, minute, second = match.groups()
    return date({"date": f"{year}-{month}-{day}T{hour}:{minute}:{second}"}, "date")


def _before_2025(record: Mapping[str, Any]) -> bool:
    written = record.get("date")
    return isinstance(written, str) and written < "2025" and bool(_DATE.fullmatch(written))
