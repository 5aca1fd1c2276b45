"""Checks of a run's own figures against each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.columns import LATENCIES, STATISTICS, numbers_or_missing
from hetcost.findings.check import Check, Floats, Texts, column, is_said, texts
from hetcost.units import MS_PER_S

_APART = 0.05  # of a rate that the tool states and the one that is had from tokens and time
_IDENTITY = 0.15  # of E2E and what TTFT and TPOT make of it
_ROUNDS = 5  # requests of each of those in flight
_OVER, _FAR_UNDER = 1.5, 1 / 3  # requests in flight over the limit that the client kept
_LEAST_W, _OVER_LIMIT = 5.0, 1.2  # plausible power of a board: W, and times its limit
_SMALLEST = 4.0  # weights of 16 bits over those of 4
_LEAST_MS = 0.02  # 50,000 tokens a second in one answer
_UNLIKE = 50.0  # ITL over TPOT, or the reverse: the ratio of units is 1000
_SHORTCUTS = 20  # weights of 4 bits instead of 16, times tokens that a step may yield
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
    by_token = ttft + (length - 1) * numbers_or_missing(runs, "mean_itl_ms")
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (np.abs(made / e2e - 1) > _IDENTITY) & ~(np.abs(by_token / e2e - 1) <= _IDENTITY)
    said = "mean E2E is {e2e:.6g} ms, TTFT + (n - 1) TPOT makes {made:.6g} ms"
    return texts(runs, apart, said, e2e=e2e, made=made)


def _little(runs: pd.DataFrame) -> Texts:
    flight = numbers_or_missing(runs, "mean_concurrency")
    most, number = (numbers_or_missing(runs, n) for n in ("max_concurrency", "n_requests"))
    limit = np.where(np.isnan(most), np.nan, np.fmin(most, number))
    closed = is_said(runs, "arrival", "closed")
    with np.errstate(invalid="ignore"):
        rounds = number / limit >= _ROUNDS  # fewer are a burst that drains
        apart = closed & ((flight > limit * _OVER) | (rounds & (flight < limit * _FAR_UNDER)))
    said = "{flight:.3g} requests were in flight on average, the client kept {limit:.0f}"
    return texts(runs, apart, said, flight=flight, limit=limit)


def _ttft_over_e2e(runs: pd.DataFrame) -> Texts:
    out = np.full(len(runs), "", dtype=object)
    for statistic in STATISTICS:
        first = numbers_or_missing(runs, f"{statistic}_ttft_ms")
        whole = numbers_or_missing(runs, f"{statistic}_e2el_ms")
        name = statistic if statistic == "mean" else statistic.upper()
        said = f"{name} TTFT {{first:.6g}} ms is above {name} E2E {{whole:.6g}} ms"
        told = texts(runs, first > whole * (1 + 1e-9), said, first=first, whole=whole)
        out = np.where(out == "", told, out)
    return out


def _counts(runs: pd.DataFrame) -> Texts:
    number, completed, failed = (
        numbers_or_missing(runs, name) for name in ("n_requests", "completed", "failed")
    )
    cut_off = np.nan_to_num(numbers_or_missing(runs, "cut_off"))
    told = completed + failed + cut_off
    said = "{number:.0f} requests sent, but {told:.0f} completed, failed or cut off"
    out = texts(runs, np.abs(told - number) > 0, said, number=number, told=told)
    more = texts(
        runs,
        completed > number,
        "{completed:.0f} requests completed of {number:.0f} sent",
        completed=completed,
        number=number,
    )
    good, rate = numbers_or_missing(runs, "goodput_per_s"), numbers_or_missing(runs, "req_per_s")
    said = "a goodput of {good:.6g}/s is more than all {rate:.6g} requests/s"
    above = texts(runs, good > rate * (1 + _APART), said, good=good, rate=rate)
    return np.where(out == "", np.where(more == "", above, more), out)


def _units(runs: pd.DataFrame) -> Texts:
    """Compare latencies with the run's length, and with the time that reading the weights takes."""
    duration, out = numbers_or_missing(runs, "duration_s") * MS_PER_S, np.full(len(runs), "", "O")
    for name in (f"{statistic}_{metric}_ms" for metric in LATENCIES for statistic in STATISTICS):
        latency = numbers_or_missing(runs, name)
        said = f"{name} of {{latency:.6g}} ms is longer than the run, {{duration:.6g}} ms"
        longer = latency > duration * (1 + _APART)
        told = texts(runs, longer, said, latency=latency, duration=duration)
        out = np.where(out == "", told, out)
    gaps, each = numbers_or_missing(runs, "mean_itl_ms"), numbers_or_missing(runs, "mean_tpot_ms")
    said = "mean ITL of {gaps:.4g} ms and mean TPOT of {each:.4g} ms"
    unlike = (gaps < each / _UNLIKE) | (gaps > each * _UNLIKE)
    out = np.where(out == "", texts(runs, unlike, said, gaps=gaps, each=each), out)
    said = "mean TPOT of {each:.4g} ms: no token comes so fast"
    out = np.where(out == "", texts(runs, each < _LEAST_MS, said, each=each), out)
    least = _weights_ms(runs) / _SHORTCUTS
    said = "mean TPOT of {each:.4g} ms: to read the weights alone takes {weights:.4g} ms"
    values = {"each": each, "weights": least * _SHORTCUTS}
    return np.where(out == "", texts(runs, each < least, said, **values), out)


def _weights_ms(runs: pd.DataFrame) -> Floats:
    """Return how long the cards take to read the weights that a token needs."""
    weights, active, parameters = (
        _by_name(runs, "model", partial(reference.model_fact, quantity=quantity))
        for quantity in ("weight_gb", "active_params_b", "params_b")
    )
    bandwidth = _by_name(runs, "gpu", partial(reference.gpu_fact, quantity="bandwidth_gb_per_s"))
    with np.errstate(divide="ignore"):
        rate = bandwidth * numbers_or_missing(runs, "n_gpus")
        return np.asarray(MS_PER_S * weights * active / parameters / rate)


def _value(fact: pd.Series | None) -> float:
    return float("nan") if fact is None else float(fact["value"])


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
    least = np.nan_to_num(tensor, nan=1.0) * np.nan_to_num(pipeline, nan=1.0)
    made = np.where(np.isnan(made) & (least > n_gpus), least, made)
    # Copies of the attention have cards of their own, or share those of tensor parallelism.
    copied = made * np.nan_to_num(numbers_or_missing(runs, "data_parallel"), nan=1.0)
    apart = (np.abs(n_gpus - made) > 0) & (np.abs(n_gpus - copied) > 0)
    said = "{n_gpus:.0f} cards, but tensor · pipeline · replicas (and prefill) makes {made:.0f}"
    return texts(runs, apart, said, n_gpus=n_gpus, made=made)


def _memory(runs: pd.DataFrame) -> Texts:
    """Compare the weights with the memory of the cards; of an unknown format, with a quarter."""
    n_gpus, replicas = (numbers_or_missing(runs, name) for name in ("n_gpus", "replicas"))
    cards = n_gpus / np.fmax(np.nan_to_num(replicas, nan=1.0), 1.0)
    known = is_said(runs, "weight_dtype", "float16") | is_said(runs, "weight_dtype", "bfloat16")
    weights = _by_name(runs, "model", partial(reference.model_fact, quantity="weight_gb"))
    memory = cards * _by_name(runs, "gpu", partial(reference.gpu_fact, quantity="memory_gb"))
    held = weights / np.where(known, 1.0, _SMALLEST)
    said = "weights of {held:.4g} GB or more, and cards of {memory:.4g} GB in all"
    return texts(runs, held > memory, said, held=held, memory=memory)


def _by_name(runs: pd.DataFrame, name: str, fact: Callable[[str], pd.Series | None]) -> Floats:
    """Return a fact of what a column names; looked up once for each name."""
    values = {each: _value(fact(each)) for each in column(runs, name).dropna().unique()}
    return column(runs, name).map(values).to_numpy(dtype="float64", na_value=np.nan)


def _power(runs: pd.DataFrame) -> Texts:
    each = numbers_or_missing(runs, "gpu_power_w") / numbers_or_missing(runs, "n_gpus")
    limit = _by_name(runs, "gpu", partial(reference.gpu_fact, quantity="tdp_w"))
    with np.errstate(invalid="ignore"):
        odd = (each < _LEAST_W) | (each > limit * _OVER_LIMIT)
    return texts(
        runs, odd, "{each:.4g} W a board, of a limit of {limit:.0f} W", each=each, limit=limit
    )


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
        "a latency or a number of tokens is not what its name says, or lengths vary so widely "
        "that TPOT, a mean over requests, is not the mean time of a token",
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
        "request_counts",
        "error",
        _counts,
        "throughput, failures and cost per request rest on these counts",
        "find out which count is right, and correct the file",
    ),
    Check(
        "latency_units",
        "error",
        _units,
        "no request outlasts its run and no token comes faster than weights are read: "
        "the unit is not ms",
        "check the unit of each latency, and correct the file",
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
        "memory",
        "error",
        _memory,
        "the model does not fit: the card, the number of cards or the model is another",
        "state gpu, n_gpus and weight_dtype as they were",
    ),
    Check(
        "power",
        "warning",
        _power,
        "energy rests on it: it may be of one board, of the host, or in another unit",
        "check what the meter covered, and its unit",
    ),
)
