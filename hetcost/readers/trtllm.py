"""TensorRT-LLM ``trtllm-bench throughput`` and ``latency``: the report JSON.

=======================================  ======================  ==================================
field                                    column                  note
=======================================  ======================  ==================================
engine.version                           engine_version          also the version of the tool
engine.model                             model
engine.quantization, engine.dtype        weight_dtype            dtype where nothing is quantized
engine.kv_cache_dtype                    kv_dtype
machine.name                             gpu                     from 1.0 on
world_info.world_size                    n_gpus
world_info.{tp,pp,ep}_size               tensor_parallel …       replicas is 1 where tp · pp is all
request_info.num_requests                n_requests, completed   failures are not told
request_info.avg_{input,output}_length   total_{in,out}_tok      × requests
request_info.avg_num_concurrent_…        mean_concurrency
performance.total_latency_ms             duration_s              first start to last end
performance.request_latency_…            {stat}_e2el_ms          ms
streaming_metrics.ttft_percentiles       {stat}_ttft_ms          ms
streaming_metrics.tpot_percentiles       {stat}_tpot_ms          ms, per request
performance.system_…_throughput_tok_s    reported_…_tok_per_s    1/s
performance.request_throughput_req_s     reported_req_per_s      1/s
=======================================  ======================  ==================================

Requests are sent as fast as the tool can, whatever its ``issue_rate`` says: that field is a mean
gap, multiplied where it should be divided. Where fewer than a quarter of the requests are in flight
on average, the client kept a limit, which is not in the file: the loop is closed; else it is a
burst. Without ``streaming_metrics`` answers were not streamed. ``token_output_speed_tok_s`` is a
mean of rates and is not used, nor are rates per user and per card. Power and energy, which reports
of 2026 may hold, are not read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.readers.fields import inner, need
from hetcost.readers.nested import figure, statistics, total, word
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S

TOOL = "trtllm-bench"

_BLOCKS = ("engine", "world_info", "request_info", "performance")
_LIMITED = 0.25  # share of all requests that a burst, drained evenly, has in flight at the least
_OPEN_DTYPES = (None, "None", "auto")


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a report of trtllm-bench."""
    performance = record.get("performance")
    return (
        "request_info" in record
        and isinstance(performance, Mapping)
        and "total_latency_ms" in performance
    )


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the report into a row of run columns.

    Raises
    ------
    ReadError
        A block of it is absent, or a field is not of its kind.
    """
    need(record, _BLOCKS, "a trtllm-bench report")
    sent = figure(record, "request_info", "num_requests")
    in_flight = figure(record, "request_info", "avg_num_concurrent_requests")
    streamed = bool(inner(record, "streaming_metrics"))
    out: dict[str, Any] = {
        "tool": TOOL,
        "engine": "TensorRT-LLM",
        "arrival": "closed" if in_flight < _LIMITED * sent else "burst",
        "request_rate_per_s": math.inf,
        **_subject(record),
        **_shape(record),
        "n_requests": sent,
        "completed": sent,
        "duration_s": figure(record, "performance", "total_latency_ms") / MS_PER_S,
        "total_in_tok": total(figure(record, "request_info", "avg_input_length"), sent),
        "total_out_tok": total(figure(record, "request_info", "avg_output_length"), sent),
        "mean_concurrency": in_flight,
        "streaming": streamed,
        **_reported(record),
        **_latencies(record),
    }
    if streamed:
        out["itl_kind"] = "request_mean"
    keep_measured(out)
    return [out]


def _subject(record: Mapping[str, Any]) -> dict[str, Any]:
    version = word(record, "engine", "version")
    quantized, stored = (word(record, "engine", key) for key in ("quantization", "dtype"))
    kv_dtype = word(record, "engine", "kv_cache_dtype")
    return {
        "tool_version": version,
        "engine_version": version,
        "model": word(record, "engine", "model"),
        "weight_dtype": stored if quantized in _OPEN_DTYPES else quantized,
        "kv_dtype": None if kv_dtype in _OPEN_DTYPES else kv_dtype,
        "gpu": word(record, "machine", "name"),
    }


def _shape(record: Mapping[str, Any]) -> dict[str, float]:
    names = ("world_size", "tp_size", "pp_size", "ep_size")
    cards, tensor, pipeline, expert = (figure(record, "world_info", name) for name in names)
    shape = {
        "n_gpus": cards,
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "expert_parallel": expert,
    }
    return shape | ({"replicas": 1.0} if tensor * pipeline == cards else {})


def _reported(record: Mapping[str, Any]) -> dict[str, float]:
    names = {
        "reported_out_tok_per_s": "system_output_throughput_tok_s",
        "reported_all_tok_per_s": "system_total_throughput_tok_s",
        "reported_req_per_s": "request_throughput_req_s",
    }
    return {column: figure(record, "performance", name) for column, name in names.items()}


def _latencies(record: Mapping[str, Any]) -> dict[str, float]:
    found = {"mean_e2el_ms": figure(record, "performance", "avg_request_latency_ms")}
    found |= statistics(record, "performance", "request_latency_percentiles_ms", metric="e2el")
    for metric in ("ttft", "tpot"):
        found[f"mean_{metric}_ms"] = figure(record, "streaming_metrics", f"avg_{metric}_ms")
        found |= statistics(record, "streaming_metrics", f"{metric}_percentiles", metric=metric)
    return found
