"""Checks of the load that a run was under, and of what its latencies stand for."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pandas as pd

from hetcost.columns import LATENCIES, numbers_or_missing
from hetcost.findings.check import Check, Floats, Mask, Texts, is_said, series_of, texts

_STEADY = 0.5  # share of a run during which requests still arrive
_BEHIND = 0.1  # of the offered load that is not achieved, the wait for the last answer left out
_ANSWERS = 10  # mean answers one after the other that a steady run lasts
_AT_LIMIT = 0.8  # requests in flight over the most that the client allows
_CONFIDENCE = 0.95
_MERGED = 1.02  # mean ITL over mean TPOT


def least_requests(share: float) -> int:
    """Return from how many requests on a percentile has an upper bound at 95 % confidence.

    Examples
    --------
    >>> least_requests(0.99)
    299
    """
    return math.ceil(math.log(1 - _CONFIDENCE) / math.log(share))


def sent(runs: pd.DataFrame) -> Floats:
    """Return the requests sent; those completed where a tool does not say."""
    told = numbers_or_missing(runs, "n_requests")
    return np.where(np.isnan(told), numbers_or_missing(runs, "completed"), told)


def saturated(runs: pd.DataFrame) -> pd.Series:
    """Say which runs fell behind their load; missing where that is not known.

    By more than the wait for a last answer explains, which is taken to be the mean latency at
    the quietest load of the series, and by more than a tenth, or than the scatter of so few
    random arrivals. Where all requests come at once, the server is behind at once.
    """
    rate, number = numbers_or_missing(runs, "request_rate_per_s"), sent(runs)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        e2e_s = numbers_or_missing(runs, "mean_concurrency") / numbers_or_missing(runs, "req_per_s")
        quiet_s = pd.Series(e2e_s).groupby(series_of(runs)).transform("min").to_numpy()
        busy_s = numbers_or_missing(runs, "duration_s") - quiet_s
        kept = 1 - np.fmax(_BEHIND, NormalDist().inv_cdf(_CONFIDENCE) * _scatter(runs, number))
        behind = number < kept * rate * busy_s
        known = (busy_s > 0) & ~np.isnan(number) & ~np.isnan(rate)
    return pd.Series(behind, runs.index, dtype="boolean").where(known)


def _scatter(runs: pd.DataFrame, number: Floats) -> Floats:
    """Return by how much the time that arrivals take scatters, as a share of it."""
    shape = np.nan_to_num(numbers_or_missing(runs, "burstiness"), nan=1.0, posinf=np.inf)
    constant = is_said(runs, "arrival", "constant")
    return np.where(constant, 0.0, 1 / np.sqrt(number * shape))


def client_limited(runs: pd.DataFrame, behind: pd.Series | None = None) -> Mask:
    """Say of which runs the client's limit of requests in flight, not their rate, was the load.

    `behind` is what :func:`saturated` says, if that is known.
    """
    behind = saturated(runs) if behind is None else behind
    with np.errstate(invalid="ignore"):
        full = numbers_or_missing(runs, "mean_concurrency") >= _AT_LIMIT * numbers_or_missing(
            runs, "max_concurrency"
        )
    fell = behind.fillna(value=False).to_numpy(dtype=bool)
    return np.asarray(full & fell & np.isfinite(numbers_or_missing(runs, "request_rate_per_s")))


def merged(runs: pd.DataFrame) -> Mask:
    """Say of which runs stream chunks were merged: gaps between chunks exceed time per token.

    ITL is averaged over tokens and TPOT over requests, which differ where lengths do. So time per
    token is taken from E2E, which weighs tokens alike, wherever it is known.
    """
    gaps, each = numbers_or_missing(runs, "mean_itl_ms"), numbers_or_missing(runs, "mean_tpot_ms")
    with np.errstate(divide="ignore", invalid="ignore"):
        streamed_ms = numbers_or_missing(runs, "mean_e2el_ms") - numbers_or_missing(
            runs, "mean_ttft_ms"
        )
        by_token = streamed_ms / (numbers_or_missing(runs, "mean_out_tok") - 1)
    by_request = is_said(runs, "itl_kind", "request_mean")
    weighed = np.isfinite(by_token) & (by_token > 0) & ~by_request
    return np.asarray(gaps > _MERGED * np.where(weighed, by_token, each))


def _burst(runs: pd.DataFrame) -> Texts:
    duration = numbers_or_missing(runs, "duration_s")
    rate, achieved = (numbers_or_missing(runs, n) for n in ("request_rate_per_s", "req_per_s"))
    offline = np.isnan(numbers_or_missing(runs, "mean_ttft_ms"))
    limited = np.isinf(rate) & (offline | ~np.isnan(numbers_or_missing(runs, "max_concurrency")))
    behind = saturated(runs)
    limited |= client_limited(runs, behind)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        arriving = sent(runs) / rate
        share = 100 * arriving / duration
        drained = (share < 100 * _STEADY) & ~limited
    words = {True: "saturated", False: "not saturated"}
    state = behind.map(words).fillna("saturation unknown").to_numpy(dtype=object)
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
        needed = least_requests(share)
        said = f"{name.upper()} of {{completed:.0f}} requests, {needed} bound it at 95 %"
        told = texts(runs, quoted & (completed < needed), said, completed=completed)
        out = np.where(out == "", told, out)
    return out


def _survivors(runs: pd.DataFrame) -> Texts:
    failed, number = numbers_or_missing(runs, "failed"), numbers_or_missing(runs, "n_requests")
    said = "{failed:.0f} of {number:.0f} requests failed, latencies are of the others"
    return texts(runs, failed > 0, said, failed=failed, number=number)


def _client_limit(runs: pd.DataFrame) -> Texts:
    flight, limit, rate = (
        numbers_or_missing(runs, name)
        for name in ("mean_concurrency", "max_concurrency", "request_rate_per_s")
    )
    said = "{flight:.3g} of at most {limit:.0f} requests in flight: {rate:.3g}/s were not offered"
    values = {"flight": flight, "limit": limit, "rate": rate}
    return texts(runs, client_limited(runs), said, **values)


def _short(runs: pd.DataFrame) -> Texts:
    duration, rate = (numbers_or_missing(runs, name) for name in ("duration_s", "req_per_s"))
    with np.errstate(divide="ignore", invalid="ignore"):
        e2e_s = numbers_or_missing(runs, "mean_concurrency") / rate
        short = duration < _ANSWERS * e2e_s
    said = "a run of {duration:.4g} s, an answer takes {e2e_s:.4g} s"
    return texts(runs, short, said, duration=duration, e2e_s=e2e_s)


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
        "short_run",
        "note",
        _short,
        "the server fills at the beginning and drains at the end: few answers make a run's "
        "throughput lower than the one it sustains",
        "measure for two minutes or more",
    ),
    Check(
        "survivors",
        "warning",
        _survivors,
        "percentiles leave out the requests that were worst, and cost is per answered token",
        "count failures as misses, as meets_slo does",
    ),
    Check(
        "client_limit",
        "warning",
        _client_limit,
        "requests waited at the client, unmeasured: this is a closed load of so many in flight, "
        "and its latencies are not those of users who arrive at that rate",
        "read it as a closed load, or raise the client's limit",
    ),
    Check(
        "merged_chunks",
        "warning",
        _merged,
        "several tokens came in one chunk: the host, the client or speculative decoding, not the "
        "card's speed, made the tails of TTFT, ITL and TPOT",
        "do not compare this run's tails; measure from a client that keeps up",
    ),
)
