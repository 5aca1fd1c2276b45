"""optimum-benchmark (Hugging Face): ``benchmark.json`` or ``benchmark_report.json``.

=======================================  ======================  ===================================
field                                    column                  note
=======================================  ======================  ===================================
config.environment.optimum_…_version     tool_version
config.backend.{name,version}            engine, engine_version
config.backend.model                     model
config.backend.quantization_scheme,      weight_dtype            dtype where nothing is quantized
torch_dtype or dtype
config.backend.device_ids                n_gpus                  on ``cuda``
config.environment.gpu                   gpu                     where all have one name
scenario.input_shapes.batch_size         max_concurrency         answered together
scenario.input_shapes.sequence_length    total_in_tok            × batch × count
scenario.generate_kwargs.max_new_tokens  total_out_tok           × batch × count
report.prefill.latency                   {stat}_ttft_ms          s; count: times it was repeated
report.decode.latency                    mean_tpot_ms            s, ÷ (max_new_tokens − 1)
report.per_token.latency                 {stat}_itl_ms           s
report.generate.latency                  {stat}_e2el_ms          s; else prefill + decode, the mean
the same                                 duration_s              total
report.decode.throughput                 reported_out_tok_per_s  1/s, prefill left out
report.{prefill,decode}.energy.gpu       gpu_energy_j            kWh of one call, × count
=======================================  ======================  ===================================

A run is a batch, answered as one and repeated ``count`` times without a server: a closed loop, with
as many requests in flight as the batch has. Lengths are those asked for. Throughput is of prefill
and decode together.

Energy is CodeCarbon's, averaged over the calls of a loop of its own: of the boards alone
(``counter``), as processor and memory are modelled. What is 0 on a card was not measured. Mean
power is energy / duration.

Reports of other tasks than text generation are refused; without the ``config`` there is no count of
tokens. Layout only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.clients import engine
from hetcost.readers.fields import add_warning, inner, shown
from hetcost.readers.nested import figure, statistics, word
from hetcost.readers.streamed import keep_measured
from hetcost.units import JOULES_PER_KWH, MS_PER_S

TOOL = "optimum-benchmark"

_PHASES = ("prefill", "decode")
_TARGETS = ("prefill", "decode", "generate", "forward", "call", "per_token")
_ENGINES = {"pytorch": "PyTorch", "onnxruntime": "ONNX Runtime", "llama_cpp": "llama.cpp"}
_OF_LATENCY = {"unit", "count", "mean"}
_SECONDS, _KWH = "s", "kWh"


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a report of optimum-benchmark, with its configuration or bare."""
    report = record.get("report") if "report" in record else record
    return isinstance(report, Mapping) and any(_is_target(report.get(name)) for name in _TARGETS)


def _is_target(value: Any) -> bool:
    latency = value.get("latency") if isinstance(value, Mapping) else None
    return isinstance(latency, Mapping) and latency.keys() >= _OF_LATENCY


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the report into a row of run columns.

    Raises
    ------
    ReadError
        It is of another task, a unit is another, or a field is not of its kind.
    """
    report = inner(record, "report") if "report" in record else record
    if not all(_is_target(report.get(phase)) for phase in _PHASES):
        message = "no latency of prefill and decode: no text generation"
        raise ReadError(message)
    config = inner(record, "config")
    batch = figure(config, "scenario", "input_shapes", "batch_size")
    tok_in = figure(config, "scenario", "input_shapes", "sequence_length")
    tok_out = figure(config, "scenario", "generate_kwargs", "max_new_tokens")
    count = figure(report, "decode", "latency", "count")
    seconds = _seconds(report)
    out: dict[str, Any] = {
        "tool": TOOL,
        **_subject(config),
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": batch,
        "n_requests": batch * count,
        "completed": batch * count,
        "duration_s": seconds * count,
        "total_in_tok": batch * count * tok_in,
        "total_out_tok": batch * count * tok_out,
        "token_count_source": "requested",
        "reported_out_tok_per_s": figure(report, "decode", "throughput", "value"),
        **_latencies(report, seconds, tok_out),
    }
    _take_energy(report, out, count)
    keep_measured(out)
    return [out]


def _subject(config: Mapping[str, Any]) -> dict[str, Any]:
    backend = word(config, "backend", "name")
    version = word(config, "environment", "optimum_benchmark_version")
    dtypes = (word(config, "backend", f) for f in ("quantization_scheme", "torch_dtype", "dtype"))
    found: dict[str, Any] = {
        "tool_version": version,
        "engine": engine(backend) or _ENGINES.get(backend or "", backend),
        "engine_version": word(config, "backend", "version"),
        "model": word(config, "backend", "model"),
        "weight_dtype": next((dtype for dtype in dtypes if dtype), None),
    }
    if word(config, "backend", "device") != "cuda":
        return found
    if ids := word(config, "backend", "device_ids"):
        found["n_gpus"] = len(ids.split(","))
    found["gpu"] = _card(inner(config, "environment").get("gpu"))
    return found


def _card(named: Any) -> str | None:
    """Return the name that all cards of the machine have."""
    names = {*named} if isinstance(named, list) and all(isinstance(n, str) for n in named) else ()
    return word({"gpu": next(iter(names))}, "gpu") if len(names) == 1 else None


def _seconds(report: Mapping[str, Any]) -> float:
    """Return the mean seconds of a call, from its start to its last token."""
    for target in (*_PHASES, "generate", "per_token"):
        unit = word(report, target, "latency", "unit")
        if unit not in (_SECONDS, None):
            message = f"{target}.latency.unit: {shown(unit)}, where {_SECONDS} belongs"
            raise ReadError(message)
    whole = figure(report, "generate", "latency", "mean")
    parts = sum(figure(report, phase, "latency", "mean") for phase in _PHASES)
    return parts if math.isnan(whole) else whole


def _latencies(report: Mapping[str, Any], seconds: float, tok_out: float) -> dict[str, Any]:
    targets = {"prefill": "ttft", "per_token": "itl", "generate": "e2el"}
    found: dict[str, Any] = {"mean_e2el_ms": seconds * MS_PER_S}
    for target, metric in targets.items():
        found |= statistics(report, target, "latency", metric=metric, ms=MS_PER_S)
    if tok_out > 1:
        decoding = figure(report, "decode", "latency", "mean")
        found["mean_tpot_ms"] = decoding / (tok_out - 1) * MS_PER_S
    found["itl_kind"] = "pooled" if "mean_itl_ms" in found else "request_mean"
    return found


def _take_energy(report: Mapping[str, Any], out: dict[str, Any], count: float) -> None:
    parts = []
    for phase in _PHASES:
        unit = word(report, phase, "energy", "unit")
        if unit not in (_KWH, None):
            message = f"{phase}.energy.unit: {shown(unit)}, where {_KWH} belongs"
            raise ReadError(message)
        parts.append(figure(report, phase, "energy", "gpu"))
    energy = sum(parts) * count * JOULES_PER_KWH
    if energy > 0:
        out["gpu_energy_j"], out["energy_method"] = energy, "counter"
        if out["duration_s"] > 0:
            out["gpu_power_w"] = energy / out["duration_s"]
    elif energy <= 0 and out.get("n_gpus"):
        add_warning(out, "the boards' energy is 0: it was not measured")
