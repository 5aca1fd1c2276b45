"""Checks of a run's own figures against each other."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.columns import LATENCIES, numbers_or_missing
from hetcost.findings.check import Check, Texts, column, texts

_APART = 0.05  # of a rate that the tool states and the one that is had from tokens and time
_IDENTITY = 0.15  # of E2E and what TTFT and TPOT make of it
_LITTLE = 1.5  # factor between requests in flight and the limit that the client kept
_LEAST_W, _OVER_LIMIT = 5.0, 1.2  # plausible power of a board: W, and times its limit
_PERCENTILE = re.compile(r"p(\d+(?:_\d+)?)_(ttft|tpot|itl|e2el)_ms")


def _rate_differs(runs: pd.DataFrame) -> Texts:
    out = np.full(len(runs), "", dtype=object)
    for name in ("out_tok_per_s", "all_tok_per_s", "req_per_s"):
        if (reported := f"reported_{name}") in runs:
            told, had = numbers_or_missing(runs, reported), numbers_or_missing(runs, name)
            with np.errstate(divide="ignore", invalid="ignore"):
                apart = np.abs(told / had - 1) > _APART
            said = f"the tool reports {{told:.6g}} {name}, from tokens and time it is {{had:.6g}}"
            out = np.where(out == "", texts(runs, apart, said, told=told, had=had), out)
    return out


def _token_sum(runs: pd.DataFrame) -> Texts:
    parts = numbers_or_missing(runs, "total_in_tok") + numbers_or_missing(runs, "total_out_tok")
    whole = numbers_or_missing(runs, "total_all_tok")
    said = "{whole:.0f} tokens in all, but {parts:.0f} in and out"
    return texts(runs, np.abs(whole - parts) > 0, said, whole=whole, parts=parts)


def _identity(runs: pd.DataFrame) -> Texts:
    e2e, ttft, tpot, length = (
        numbers_or_missing(runs, name)
        for name in ("mean_e2el_ms", "mean_ttft_ms", "mean_tpot_ms", "mean_out_tok")
    )
    made = ttft + (length - 1) * tpot
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(made / e2e - 1) > _IDENTITY
    said = "mean E2E is {e2e:.6g} ms, TTFT + (n - 1) TPOT makes {made:.6g} ms"
    return texts(runs, apart, said, e2e=e2e, made=made)


def _little(runs: pd.DataFrame) -> Texts:
    flight = numbers_or_missing(runs, "mean_concurrency")
    limit = numbers_or_missing(runs, "max_concurrency")
    closed = (column(runs, "arrival") == "closed").to_numpy(dtype=bool)
    with np.errstate(invalid="ignore"):
        apart = closed & ((flight > limit * _LITTLE) | (flight < limit / _LITTLE))
    said = "{flight:.3g} requests were in flight on average, the client kept {limit:.0f}"
    return texts(runs, apart, said, flight=flight, limit=limit)


def _ttft_over_e2e(runs: pd.DataFrame) -> Texts:
    first, whole = (
        numbers_or_missing(runs, "mean_ttft_ms"),
        numbers_or_missing(runs, "mean_e2el_ms"),
    )
    said = "mean TTFT {first:.6g} ms is above mean E2E {whole:.6g} ms"
    return texts(runs, first > whole * (1 + 1e-9), said, first=first, whole=whole)


def _percentile_order(runs: pd.DataFrame) -> Texts:
    out = np.full(len(runs), "", dtype=object)
    for metric in LATENCIES:
        found = [_PERCENTILE.fullmatch(str(name)) for name in runs]
        ranked = sorted(
            (float(match[1].replace("_", ".")), match[0])
            for match in found
            if match and match[2] == metric
        )
        highest = np.full(len(runs), -np.inf)
        for _, name in ranked:
            values = numbers_or_missing(runs, name)
            fallen = values < highest * (1 - 1e-9)
            said = f"{name} {{value:.6g}} is below a lower percentile, {{highest:.6g}}"
            told = texts(runs, fallen, said, value=values, highest=highest)
            out = np.where(out == "", told, out)
            highest = np.fmax(highest, values)
    return out


def _gpu_identity(runs: pd.DataFrame) -> Texts:
    n_gpus, tensor, pipeline, replicas = (
        numbers_or_missing(runs, name)
        for name in ("n_gpus", "tensor_parallel", "pipeline_parallel", "replicas")
    )
    made = tensor * pipeline * replicas + np.nan_to_num(numbers_or_missing(runs, "prefill_gpus"))
    said = "{n_gpus:.0f} cards, but tensor · pipeline · replicas (and prefill) makes {made:.0f}"
    return texts(runs, np.abs(n_gpus - made) > 0, said, n_gpus=n_gpus, made=made)


def _power(runs: pd.DataFrame) -> Texts:
    each = numbers_or_missing(runs, "gpu_power_w") / numbers_or_missing(runs, "n_gpus")
    limits = {card: _limit_w(card) for card in column(runs, "gpu").dropna().unique()}
    limit = column(runs, "gpu").map(limits).to_numpy(dtype="float64", na_value=np.nan)
    with np.errstate(invalid="ignore"):
        odd = (each < _LEAST_W) | (each > limit * _OVER_LIMIT)
    return texts(
        runs, odd, "{each:.4g} W a board, of a limit of {limit:.0f} W", each=each, limit=limit
    )


def _limit_w(card: str) -> float:
    fact = reference.gpu_fact(card, "tdp_w")
    return float("nan") if fact is None else float(fact["value"])


CHECKS = (
    Check(
        "token_sum",
        "error",
        _token_sum,
        "cost per token rests on these counts",
        "find out which count is right, and correct the file",
    ),
    Check(
        "rate_differs",
        "warning",
        _rate_differs,
        "costs rest on tokens over time; the tool's own figure counts or times something else",
        "do not compare the tool's figure with ours; look up what it means",
    ),
    Check(
        "e2e_identity",
        "warning",
        _identity,
        "a latency, or the number of tokens, is not what its name says",
        "check units and token counts; trust E2E and TTFT before TPOT",
    ),
    Check(
        "littles_law",
        "warning",
        _little,
        "rate times latency is what was in flight: a unit is wrong, or the client did not keep up",
        "check the units of latency and the client's load",
    ),
    Check(
        "ttft_over_e2e",
        "error",
        _ttft_over_e2e,
        "a first token cannot come after the last one",
        "leave these latencies out",
    ),
    Check(
        "percentile_order",
        "error",
        _percentile_order,
        "percentiles cannot fall: columns are mixed up",
        "leave these latencies out",
    ),
    Check(
        "gpu_identity",
        "warning",
        _gpu_identity,
        "cost, energy and carbon are per card",
        "state n_gpus and the parallel sizes as they were",
    ),
    Check(
        "power",
        "warning",
        _power,
        "energy rests on it: it may be of one board, of the host, or in another unit",
        "check what the meter covered, and its unit",
    ),
)
