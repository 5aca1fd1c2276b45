"""ML.ENERGY leaderboard: JSON of one run (v2), and of all runs of a model (v3).

===================  ============================  ================  ==========================
v2                   v3, of ``configurations``     column            note
===================  ============================  ================  ==========================
Model                model_id, above the list      model
GPU                  gpu_model                     gpu
TP · PP              num_gpus                      n_gpus
TP, PP               parallelization               tensor_parallel …
Max BS (reqs)        max_num_seqs                  max_concurrency   the server's limit
Avg BS (reqs)        avg_batch_size                mean_concurrency  requests in the batch
Token tput (tok/s)   output_throughput_…_per_sec   out_tok_per_s     as stated
Avg Output Tokens    avg_output_len                mean_out_tok
Avg TPOT (s)         (nothing)                     mean_tpot_ms
(nothing)            {median,pNN}_itl_ms           {stat}_itl_ms
Energy/req (J) ÷     energy_per_token_joules       gpu_power_w       × output throughput, where no
Avg Output Tokens                                                    watts are told
(nothing)            avg_power_watts               gpu_power_w       of all boards
(nothing)            num_requests, where told      gpu_energy_j      × energy_per_request_joules
===================  ============================  ================  ==========================

Energy is measured by Zeus, from the boards' counters (``counter``), while the batch is full, and is
per *output* token of all cards. A run has neither duration nor token counts: throughput is as
stated, and the boards' mean power is joules per token × tokens per second, so that joules per token
come out as they were measured. ``gpu_energy_j`` is missing unless requests are counted. Where watts
and joules per token of a file disagree by more than 5 % it says so, and the joules count.

Requests fill the batch all the time: a closed loop. ``parallelization`` names tensor, expert and
data parallelism; cards that share a layer under expert or data parallelism are as stated.

v3 is layout only. v1 (a table of joules per response) has no throughput and is not read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.fields import add_warning, need, number, text
from hetcost.readers.nested import figure, total
from hetcost.units import MS_PER_S

TOOL = "ML.ENERGY"

_V2 = ("Energy/req (J)", "Token tput (tok/s)", "Avg Output Tokens")
_V3 = ("energy_per_token_joules", "output_throughput_tokens_per_sec")
_SHAPE = {
    "tensor_parallel": "tensor_parallel",
    "expert_parallel": "expert_parallel",
    "data_parallel": "data_parallel",
}
_ITL = {"mean_itl_ms": "mean_itl_ms", "median_itl_ms": "p50_itl_ms"} | {
    f"p{rank}_itl_ms": f"p{rank}_itl_ms" for rank in (90, 95, 99)
}
_CLOSED: dict[str, Any] = {"tool": TOOL, "arrival": "closed", "request_rate_per_s": math.inf}
_APART = 0.05  # of joules per token and of watts ÷ tokens per second


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is a run of v2, or a model's runs of v3."""
    runs = record.get("configurations")
    return _V2[0] in record or (
        isinstance(runs, list) and any(isinstance(run, Mapping) and _V3[0] in run for run in runs)
    )


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the object into a row of run columns for each run.

    Raises
    ------
    ReadError
        A run lacks a needed field, or a field is not of its kind.
    """
    if _V2[0] in record:
        return [_of_v2(record)]
    runs = record["configurations"]
    try:
        return [_numbered(place, run, record) for place, run in enumerate(runs, start=1)]
    except ReadError as error:
        message = f"{error}; none of the {len(runs)} configurations is read"
        raise ReadError(message) from None


def _of_v2(record: Mapping[str, Any]) -> dict[str, Any]:
    need(record, _V2, "an ML.ENERGY run")
    tensor, pipeline = (number(record, name) for name in ("TP", "PP"))
    length, rate = number(record, "Avg Output Tokens"), number(record, "Token tput (tok/s)")
    each = number(record, "Energy/req (J)") / length if length > 0 else math.nan
    out: dict[str, Any] = {
        **_CLOSED,
        "model": text(record, "Model"),
        "gpu": text(record, "GPU"),
        "n_gpus": tensor * pipeline,
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "replicas": 1,
        "max_concurrency": number(record, "Max BS (reqs)"),
        "mean_concurrency": number(record, "Avg BS (reqs)"),
        "mean_out_tok": length,
        "mean_tpot_ms": number(record, "Avg TPOT (s)") * MS_PER_S or math.nan,
        "out_tok_per_s": rate,
    }
    _take_energy(out, each, math.nan)
    return out


def _numbered(place: int, run: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        message = f"configuration {place}: {type(run).__name__} where an object belongs"
        raise ReadError(message)
    try:
        return _of_v3(run, record)
    except ReadError as error:
        message = f"configuration {place}: {error}"
        raise ReadError(message) from None


def _of_v3(run: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    need(run, _V3, "an ML.ENERGY run")
    length, answered = number(run, "avg_output_len"), number(run, "num_requests")
    out: dict[str, Any] = {
        **_CLOSED,
        "model": text(run, "model_id") or text(record, "model_id"),
        "weight_dtype": text(run, "weight_precision") or text(record, "weight_precision"),
        "gpu": text(run, "gpu_model"),
        "n_gpus": number(run, "num_gpus"),
        **{name: figure(run, "parallelization", key) for key, name in _SHAPE.items()},
        "dataset": text(run, "task") or text(record, "task"),
        "max_concurrency": number(run, "max_num_seqs"),
        "mean_concurrency": number(run, "avg_batch_size"),
        "completed": answered,
        "total_out_tok": total(length, answered),
        "mean_out_tok": length,
        "out_tok_per_s": number(run, "output_throughput_tokens_per_sec"),
        **{name: number(run, key) or math.nan for key, name in _ITL.items()},
    }
    _take_energy(out, number(run, "energy_per_token_joules"), number(run, "avg_power_watts"))
    if (energy := number(run, "energy_per_request_joules") * answered) > 0:
        out["gpu_energy_j"] = energy
    return out


def _take_energy(out: dict[str, Any], each: float, stated: float) -> None:
    """Take the boards' power from joules per output token, or as it is stated."""
    power = each * out["out_tok_per_s"]
    apart = abs(stated - power) > _APART * power
    if apart:
        add_warning(
            out,
            f"the file says {stated:.6g} W, but joules per token × throughput make {power:.6g} W; "
            "the latter count",
        )
    if math.isnan(power) or (stated > 0 and not apart):
        power = stated
    if power > 0:
        out["gpu_power_w"], out["energy_method"] = power, "counter"
    else:
        add_warning(out, "no energy was measured")
