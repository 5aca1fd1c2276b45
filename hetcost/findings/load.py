"""Checks of the load that a run was under, and of what its latencies stand for."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from hetcost.columns import LATENCIES, numbers_or_missing
from hetcost.findings.check import Check, Texts, series_of, texts

_STEADY = 0.5  # share of a run during which requests still arrive
_KEPT_UP = 0.9  # achieved over offered load, the wait for the last answer left out
_CONFIDENCE = 0.95
MERGED = 1.02  # mean ITL over mean TPOT


def arrivals_s(runs: pd.DataFrame) -> np.ndarray:
    """Return how long requests kept arriving; 0 where all came at once, NaN where not known."""
    return numbers_or_missing(runs, "n_requests") / numbers_or_missing(runs, "request_rate_per_s")


def saturated(runs: pd.DataFrame) -> np.ndarray:
    """Say which runs fell behind their load by more than the wait for a last answer explains.

    That wait is taken to be the mean latency at the quietest load of the series.
    """
    sent = numbers_or_missing(runs, "n_requests")
    with np.errstate(divide="ignore", invalid="ignore"):
        e2e_s = numbers_or_missing(runs, "mean_concurrency") / numbers_or_missing(runs, "req_per_s")
        quiet_s = pd.Series(e2e_s).groupby(series_of(runs)).transform("min").to_numpy()
        busy_s = numbers_or_missing(runs, "duration_s") - quiet_s
        behind = sent / busy_s < _KEPT_UP * numbers_or_missing(runs, "request_rate_per_s")
    return np.asarray(behind)


def merged(runs: pd.DataFrame) -> np.ndarray:
    """Say of which runs stream chunks were merged: gaps between chunks exceed time per token."""
    gaps = numbers_or_missing(runs, "mean_itl_ms")
    return np.asarray(gaps > MERGED * numbers_or_missing(runs, "mean_tpot_ms"))


def _burst(runs: pd.DataFrame) -> Texts:
    arriving, duration = arrivals_s(runs), numbers_or_missing(runs, "duration_s")
    rate, achieved = (numbers_or_missing(runs, n) for n in ("request_rate_per_s", "req_per_s"))
    offline = np.isnan(numbers_or_missing(runs, "mean_ttft_ms"))
    limited = np.isinf(rate) & (offline | ~np.isnan(numbers_or_missing(runs, "max_concurrency")))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 100 * arriving / duration
        drained = (share < 100 * _STEADY) & ~limited
    state = np.where(saturated(runs), "saturated", "not saturated").astype(object)
    said = (
        "burst: requests arrive for {arriving:.4g} of {duration:.4g} s ({share:.0f} %), {state}, "
        "{achieved:.3g} of {rate:.3g}/s achieved"
    )
    values = {"arriving": arriving, "duration": duration, "share": share, "state": state}
    return texts(runs, drained, said, **values, achieved=achieved, rate=rate)


def _few(runs: pd.DataFrame) -> Texts:
    completed = numbers_or_missing(runs, "completed")
    out = np.full(len(runs), "", dtype=object)
    for share in (0.99, 0.95, 0.9):
        name = f"p{100 * share:.0f}"
        quoted = np.zeros(len(runs), dtype=bool)
        for metric in LATENCIES:
            quoted |= ~np.isnan(numbers_or_missing(runs, f"{name}_{metric}_ms"))
        needed = math.ceil(math.log(1 - _CONFIDENCE) / math.log(share))
        said = f"{name.upper()} of {{completed:.0f}} requests, {needed} bound it at 95 %"
        told = texts(runs, quoted & (completed < needed), said, completed=completed)
        out = np.where(out == "", told, out)
    return out


def _survivors(runs: pd.DataFrame) -> Texts:
    failed, sent = numbers_or_missing(runs, "failed"), numbers_or_missing(runs, "n_requests")
    said = "{failed:.0f} of {sent:.0f} requests failed, latencies are of the others"
    return texts(runs, failed > 0, said, failed=failed, sent=sent)


def _merged(runs: pd.DataFrame) -> Texts:
    gaps, each = (numbers_or_missing(runs, n) for n in ("mean_itl_ms", "mean_tpot_ms"))
    said = "merged stream chunks: mean ITL {gaps:.3g} ms, mean TPOT {each:.3g} ms"
    return texts(runs, merged(runs), said, gaps=gaps, each=each)


CHECKS = (
    Check(
        "burst",
        "warning",
        _burst,
        "throughput and latency are those of a queue that drains, not of that load: "
        "cost at it is a lower bound on throughput's side, latency grows with the run's length",
        "send more requests, so that arrivals last most of the run; read it as a burst until then",
    ),
    Check(
        "few_requests",
        "note",
        _few,
        "a percentile of few requests is nearly the worst of them and has no upper bound",
        "measure more requests; ask meets_slo with confidence=",
    ),
    Check(
        "survivors",
        "warning",
        _survivors,
        "percentiles leave out the requests that were worst, and cost is per answered token",
        "count failures as misses, as meets_slo does",
    ),
    Check(
        "merged_chunks",
        "warning",
        _merged,
        "the host or the client, not the card, made the tails of TTFT, ITL and TPOT",
        "do not compare this run's tails; measure from a client that keeps up",
    ),
)
