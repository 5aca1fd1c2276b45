"""InferenceX (InferenceMAX) aggregates ``agg_*.json``: a list of runs, rates per card.

==============================  ==================  ===============================================
field                           column              note
==============================  ==================  ===============================================
hw                              gpu                 without the name of the runner: ``h200-nv_1``
model, precision                model, weight_dtype
framework                       engine              ``dynamo-`` before it is a router
image                           engine_version      the container
conc                            max_concurrency     a closed loop, always
isl, osl                        dataset             nominal: prompts are up to a fifth shorter
tp, pp, ep                      tensor_parallel …   n_gpus is tp · pp
num_{prefill,decode}_gpu        n_gpus              their sum where the roles have cards each
num_prefill_gpu                 prefill_gpus        there
output_tput_per_gpu             out_tok_per_s       × decode cards, or × all
input_tput_per_gpu              all_tok_per_s       × prefill cards, or × all, and output
tput_per_gpu                    all_tok_per_s       × all cards, where input is not told apart
{mean,median,pNN}_{metric}      {stat}_{metric}_ms  s
avg_total_gpu_power_w           gpu_power_w         of all boards; else avg_power_w × cards
total_gpu_energy_j              gpu_energy_j        J, from version 2 on
==============================  ==================  ===============================================

Output is per *decode* card, input per *prefill* card and the total per card of the whole
deployment, so the three do not add up, and a price per output token from the first leaves the
prefill cards out. Here each is multiplied by its own cards. If the total then differs by more than
1 %, the cards they were divided by are not known: all rates are missing, and the row says so.

There are neither token counts nor duration nor number of requests: throughput is as stated, and
nothing follows for ``mean_concurrency``. Latencies are in **seconds**, though the names lost their
unit; ``…_intvty`` is 1 / TPOT and not read. Energy and power count where the file calls them valid
or says nothing of it; joules per token meant a role before version 2 and are not read. A mean watt
per card without a version is taken times the cards, with a warning.

Layout only: the public files have no licence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.columns import LATENCIES
from hetcost.readers.clients import engine
from hetcost.readers.fields import add_warning, flag, need, number, text
from hetcost.readers.streamed import keep_measured
from hetcost.units import MS_PER_S

TOOL = "InferenceX"

_NEEDED = ("model", "tput_per_gpu", "conc")
_ROUTER = "dynamo-"
_STATISTIC = re.compile(rf"(mean|median|p\d{{1,2}}(?:\.\d+)?)_({'|'.join(LATENCIES)})")
_CARD = re.compile(r"((?:gb|[abh]|mi)\d{2,3}x?)(?:[-_].*)?", re.IGNORECASE)
_WHOLE_DEPLOYMENT = 2  # version of the power metrics from which they are of all boards
_SAME = 0.01  # of the total and the sum of input and output


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether the object is an aggregated run of InferenceX."""
    return "tput_per_gpu" in record and "conc" in record


def rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn the run into a row of run columns.

    Raises
    ------
    ReadError
        A needed field is absent, or a field is not of its kind.
    """
    need(record, _NEEDED, "an InferenceX run")
    framework = (text(record, "framework") or "").casefold()
    out: dict[str, Any] = {
        "tool": TOOL,
        "engine": engine(framework.removeprefix(_ROUTER)),
        "engine_version": text(record, "image"),
        "model": text(record, "model"),
        "weight_dtype": text(record, "precision"),
        "gpu": _card(text(record, "hw")),
        "dataset": _dataset(record),
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": number(record, "conc"),
        "completed": math.nan,
        "total_out_tok": math.nan,
        "itl_kind": "pooled",
        **_shape(record),
    }
    _take_rates(record, out)
    _take_power(record, out)
    for key in record:
        if match := _STATISTIC.fullmatch(key):
            rank = "p50" if match[1] == "median" else match[1].replace(".", "_")
            out[f"{rank}_{match[2]}_ms"] = number(record, key) * MS_PER_S
    keep_measured(out)
    return [out]


def _card(written: str | None) -> str | None:
    match = _CARD.fullmatch(written or "")
    return match[1].upper() if match else written


def _dataset(record: Mapping[str, Any]) -> str | None:
    tok_in, tok_out = number(record, "isl"), number(record, "osl")
    return f"random {tok_in:g}/{tok_out:g}" if tok_in + tok_out > 0 else None


def _shape(record: Mapping[str, Any]) -> dict[str, float]:
    prefill, decode = (number(record, f"num_{role}_gpu") for role in ("prefill", "decode"))
    if prefill + decode > 0 and flag(record, "disagg") is not False:
        return {"n_gpus": prefill + decode, "prefill_gpus": prefill}
    tensor, pipeline = number(record, "tp"), number(record, "pp")
    pipeline = 1.0 if math.isnan(pipeline) else pipeline
    cards = tensor * pipeline
    return {
        "n_gpus": decode if math.isnan(cards) else cards,
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "expert_parallel": number(record, "ep"),
    }


def _take_rates(record: Mapping[str, Any], out: dict[str, Any]) -> None:
    """Multiply each rate by the cards it was divided by."""
    cards, prefill = out["n_gpus"], out.get("prefill_gpus", math.nan)
    apart = not math.isnan(prefill)
    whole = number(record, "tput_per_gpu") * cards
    made = number(record, "output_tput_per_gpu") * (cards - prefill if apart else cards)
    taken = number(record, "input_tput_per_gpu") * (prefill if apart else cards)
    if abs(made + taken - whole) > _SAME * whole:
        add_warning(
            out,
            f"input and output make {made + taken:.6g} tok/s of {cards:g} cards, the total is "
            f"{whole:.6g}: which cards they are per is not known, and throughput is missing",
        )
        return
    out["out_tok_per_s"] = made
    out["all_tok_per_s"] = whole if math.isnan(taken) else made + taken


def _take_power(record: Mapping[str, Any], out: dict[str, Any]) -> None:
    valid = number({"power_valid": _as_number(record.get("power_valid"))}, "power_valid")
    each = number(record, "avg_power_w")
    whole, energy = number(record, "avg_total_gpu_power_w"), number(record, "total_gpu_energy_j")
    if valid == 0:
        add_warning(out, "power_valid is 0: the tool does not stand by its power, left out")
        return
    version = number(record, "power_metric_schema_version")
    power = each * out["n_gpus"] if math.isnan(whole) else whole
    if not power > 0:
        return
    if math.isnan(version):
        add_warning(out, "power is a mean per card times the cards, without a version")
    out["gpu_power_w"], out["energy_method"] = power, "integrated"
    if version >= _WHOLE_DEPLOYMENT and energy > 0:
        out["gpu_energy_j"] = energy


def _as_number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value
