"""SGLang ``bench_serving`` results: JSON Lines, one object a run.

==================================  =====================  ========================================
field                               column                 note
==================================  =====================  ========================================
backend                             engine
server_info.version                 engine_version         where SGLang is the engine
server_info.model_path              model                  from 0.5; earlier files name no model
server_info.{tp,pp,ep,dp}_size      tensor_parallel …      see below
server_info.max_total_num_tokens    kv_tokens              where there is one cache
server_info.kv_cache_dtype          kv_dtype               unless "auto"
dataset_name                        dataset
request_rate                        request_rate_per_s     1/s, ``Infinity``, or "trace": missing
max_concurrency                     max_concurrency
completed, duration                 completed, duration_s  s; failed requests are not counted
total_{input,output}_tokens         total_{in,out}_tok     of the completed requests
total_output_tokens_retokenized     total_out_tok          where it is more than 2 % off
{stat}_{ttft,tpot,itl}_ms           the same               ms; ``median`` is p50
{stat}_e2e_latency_ms               {stat}_e2el_ms         ms
…_throughput                        reported_…             the tool's own rates
cache_report                        cached_frac            cached tokens / prompt tokens
==================================  =====================  ========================================

Files of 2024 have the medians of TTFT and ITL and the mean and median of E2E only; 0.5 adds means,
P99 and TPOT; 2026 adds P90 and P95. ``concurrency`` is the measured mean and follows from the rest.

*Tokens.* Some backends do not count output tokens: the requested length stands in their place. So
the answers tokenized anew count where the two are more than 2 % apart, with a warning; TPOT, which
rests on the other count, is missing then. Gaps are pooled over all requests (``itl_kind``).

*Answers in one piece.* If TTFT is 0.99 of E2E or more and the gaps do not explain it, nothing was
streamed: the first token came with the last (:mod:`hetcost.readers.streamed`).

*Cards.* ``server_info`` is of one server: tensor · pipeline · data parallelism. Data parallelism
makes replicas, unless it is of the attention alone (``enable_dp_attention``): there it shares the
cards of tensor parallelism. Servers parted into prefill and decode are added up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.columns import LATENCIES, STATISTICS
from hetcost.errors import ReadError
from hetcost.readers.clients import arrival, engine
from hetcost.readers.fields import add_warning, inner, need, number, text
from hetcost.readers.streamed import keep_measured

TOOL = "sglang bench_serving"

_NEEDED = ("completed", "duration", "total_input_tokens", "total_output_tokens")
_TELLING = ("median_e2e_latency_ms", "mean_e2e_latency_ms", "total_output_tokens_retokenized")
_WRITTEN = {metric: metric for metric in LATENCIES} | {"e2el": "e2e_latency"}
_TRACE = "trace"
_APART = 0.02  # of two counts of the same tokens


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a result of SGLang's client."""
    return (
        "backend" in record and "model_id" not in record and any(key in record for key in _TELLING)
    )


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns.

    Raises
    ------
    ReadError
        A needed field is absent, or a field is not of its kind.
    """
    need(record, _NEEDED, "an SGLang result")
    rate, limit = _rate(record), number(record, "max_concurrency")
    out: dict[str, Any] = {
        "tool": TOOL,
        "engine": engine(text(record, "backend")),
        "dataset": text(record, "dataset_name"),
        "request_rate_per_s": rate,
        "arrival": arrival(rate, limit),
        "max_concurrency": limit,
        "completed": number(record, "completed"),
        "duration_s": number(record, "duration"),
        "total_in_tok": number(record, "total_input_tokens"),
        "total_out_tok": number(record, "total_output_tokens"),
        "cached_frac": _cached_frac(inner(record, "cache_report")),
        "reported_out_tok_per_s": number(record, "output_throughput"),
        "reported_all_tok_per_s": number(record, "total_throughput"),
        "reported_req_per_s": number(record, "request_throughput"),
        "itl_kind": "pooled",
        **_latencies(record),
        **_server(inner(record, "server_info")),
    }
    if out["engine"] != "SGLang":
        out.pop("engine_version", None)
    keep_measured(out)
    _take_count(out, number(record, "total_output_tokens_retokenized"))
    return [out]


def _rate(record: Mapping[str, Any]) -> float:
    return math.nan if record.get("request_rate") == _TRACE else number(record, "request_rate")


def _cached_frac(report: Mapping[str, Any]) -> float:
    prompt_tok = number(report, "total_prompt_tokens")
    return number(report, "total_cached_tokens") / prompt_tok if prompt_tok > 0 else math.nan


def _latencies(record: Mapping[str, Any]) -> dict[str, float]:
    out = {}
    for metric, written in _WRITTEN.items():
        for statistic in STATISTICS:
            out[f"{statistic}_{metric}_ms"] = number(record, f"{statistic}_{written}_ms")
        if math.isnan(out[f"p50_{metric}_ms"]):
            out[f"p50_{metric}_ms"] = number(record, f"median_{written}_ms")
    return out


def _take_count(out: dict[str, Any], anew: float) -> None:
    """Take the output tokens counted anew, where they are not much the same as those stated."""
    stated = out["total_out_tok"]
    if not anew > 0 or stated < 0 or abs(anew - stated) <= _APART * stated:
        return
    streamed = _streamed(out)
    out["total_out_tok"], out["token_count_source"] = anew, "retokenized"
    out.update({f"{statistic}_tpot_ms": math.nan for statistic in STATISTICS})
    if stated >= 0:
        hint = (
            ", though the gaps are rather of the former"
            if (abs(streamed - stated) < abs(streamed - anew))
            else ""
        )
        add_warning(
            out,
            f"{stated:.0f} output tokens are stated, but {anew:.0f} are in the answers tokenized "
            f"anew; the latter count{hint}, and TPOT is missing",
        )


def _streamed(out: Mapping[str, Any]) -> float:
    """Estimate output tokens from the decode time and the mean gap."""
    itl, e2el, ttft = (out.get(f"mean_{each}_ms", math.nan) for each in ("itl", "e2el", "ttft"))
    completed: float = out["completed"]
    return completed * ((e2el - ttft) / itl + 1) if itl > 0 else math.nan


def _server(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return model, version and parallelism of a server, or of its prefill and decode parts."""
    prefill, decode = _parts(info, "prefill"), _parts(info, "decode")
    if not decode:
        return _described(info) | _shape(info)
    prefill_gpus = sum(_cards(_shape(each)) for each in prefill)
    n_gpus = prefill_gpus + sum(_cards(_shape(each)) for each in decode)
    return _described(decode[0]) | {"n_gpus": n_gpus, "prefill_gpus": prefill_gpus}


def _parts(info: Mapping[str, Any], role: str) -> list[Mapping[str, Any]]:
    parts = info.get(role)
    if parts is None:
        return []
    if not isinstance(parts, list) or not all(isinstance(each, Mapping) for each in parts):
        message = f"server_info.{role}: a list of objects belongs here"
        raise ReadError(message)
    return parts


def _described(info: Mapping[str, Any]) -> dict[str, Any]:
    kv_dtype = text(info, "kv_cache_dtype")
    return {
        "engine_version": text(info, "version"),
        "model": text(info, "model_path"),
        "kv_dtype": None if kv_dtype == "auto" else kv_dtype,
    }


def _shape(info: Mapping[str, Any]) -> dict[str, Any]:
    tensor, pipeline, data = (number(info, f"{each}_size") for each in ("tp", "pp", "dp"))
    if math.isnan(tensor):
        return {}
    pipeline, data = (1.0 if math.isnan(each) else each for each in (pipeline, data))
    shared = str(info.get("enable_dp_attention")).lower() == "true"
    out = {
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "replicas": 1.0 if shared else data,
        "expert_parallel": number(info, "ep_size"),
    }
    if shared:
        out["data_parallel"] = data
    elif data == 1:
        out["kv_tokens"] = number(info, "max_total_num_tokens")
    out["n_gpus"] = _cards(out)
    return out


def _cards(shape: Mapping[str, float]) -> float:
    keys = ("tensor_parallel", "pipeline_parallel", "replicas")
    return math.prod(shape.get(key, math.nan) for key in keys)
