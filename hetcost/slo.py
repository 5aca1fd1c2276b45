"""Service-level objectives: percentile limits on latency that a request is owed."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import STATISTICS, numbers, require
from hetcost.errors import AssumptionError, UnknownNameError, listing, nearest_first

_LIMIT = re.compile(r"p(?P<percentile>\d{1,3}(?:_\d+)?)_(?P<metric>ttft|tpot|e2el)_ms")
_ROUNDING = 1e-9  # of a request
_SURVIVORS = "{} is known only for the requests that succeeded"
METRIC_NAMES = {"ttft": "TTFT", "tpot": "TPOT", "e2el": "E2E"}
_EXAMPLES = [
    f"{statistic}_{metric}_ms"
    for metric in METRIC_NAMES
    for statistic in STATISTICS
    if statistic != "mean"
]


@dataclass(frozen=True, init=False, repr=False)
class SLO:
    """Limits in milliseconds on percentiles of TTFT, TPOT and E2E latency, all to be kept.

    Parameters
    ----------
    **limits_ms : Limits by column name: ``p99_ttft_ms=300``, ``p50_e2el_ms=20_000``,
        ``p99_9_tpot_ms=80``. Without limits every run that completed requests complies.

    Raises
    ------
    UnknownNameError
        A name is not a percentile of TTFT, TPOT or E2E; the message lists the nearest.
    AssumptionError
        A limit is not a number above 0.

    Examples
    --------
    >>> chat = SLO(p99_ttft_ms=300, p99_tpot_ms=50)
    >>> print(chat)
    P99 TPOT ≤ 50 ms, P99 TTFT ≤ 300 ms
    >>> chat.limits["p99_ttft_ms"]
    300.0
    """

    _limits: tuple[tuple[str, float], ...]

    def __init__(self, **limits_ms: float) -> None:
        for name, limit in limits_ms.items():
            _check_limit(name, limit)
        limits = sorted((name, float(limit)) for name, limit in limits_ms.items())
        object.__setattr__(self, "_limits", tuple(limits))

    @property
    def limits(self) -> dict[str, float]:
        """Limits by column name, in ms."""
        return dict(self._limits)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"SLO({', '.join(f'{name}={limit:.12g}' for name, limit in self._limits)})"

    def __str__(self) -> str:
        """Return it as people write it."""
        parts = []
        for name, limit in self._limits:
            percentile, metric = split_limit(name)
            parts.append(f"P{percentile:g} {METRIC_NAMES[metric]} ≤ {limit:,.12g} ms")
        return ", ".join(parts) or "no latency limit"


def split_limit(name: str) -> tuple[float, str]:
    """Split ``p99_9_ttft_ms`` into 99.9 and ``ttft``."""
    match = _LIMIT.fullmatch(name)
    if match is None:
        message = (
            f"SLO: unknown limit '{name}'; a limit is a percentile of TTFT, TPOT or E2E in ms, "
            f"such as {listing(nearest_first(name, _EXAMPLES), 4)}"
        )
        raise UnknownNameError(message)
    return float(match["percentile"].replace("_", ".")), match["metric"]


def _check_limit(name: str, limit: float) -> None:
    percentile, _ = split_limit(name)
    if not 0 < percentile <= 100:
        message = f"SLO: {name}: a percentile lies above 0 and at most at 100"
        raise AssumptionError(message)
    is_number = isinstance(limit, Real) and not isinstance(limit, bool)
    if not is_number or not 0 < limit < sys.float_info.max:
        message = f"SLO: {name}={limit!r}: a limit is a number of milliseconds above 0"
        raise AssumptionError(message)


def meets_slo(frame: pd.DataFrame, slo: SLO, *, confidence: float | None = None) -> pd.DataFrame:
    """Say of every row whether its measured percentiles keep the SLO; drop nothing.

    A failed request is a miss. Where more failed than a percentile leaves room for, it is
    broken, whatever the survivors' latency; where fewer did, the survivors' percentile is lower
    than that of all requests: it can break a limit but not prove that it is kept.

    Parameters
    ----------
    frame : Runs, one row each; columns named as the SLO's limits. [ms]
    slo : The limits.
    confidence : Confidence, such as 0.95, with which a limit must be kept or broken by the
        percentile of all requests that might have come, not of those that did. The bound is free
        of any distribution, but takes requests to be independent, which those of one queue are
        not quite: it is an order statistic, taken from the percentiles that the row
        has (ranked linearly, as numpy and the load generators do). Where too few requests were
        measured the answer is missing: undetermined. The 99th percentile of 200 requests has no
        upper bound at 95 %; 299 would be needed.

    Returns
    -------
    The frame with ``slo`` (text), ``meets_slo`` (nullable boolean: missing where a metric is, or
    where the confidence cannot be had) and ``slo_note`` (the limit broken, the metric missing, or
    what is undetermined).

    Raises
    ------
    AssumptionError
        `slo` is not an SLO, or the confidence is not between 0 and 1.
    """
    if confidence is not None and not (isinstance(confidence, Real) and 0 < confidence < 1):
        message = f"meets_slo: confidence={confidence!r}: valid values are between 0 and 1"
        raise AssumptionError(message)
    if not isinstance(slo, SLO):
        message = f"meets_slo: {slo!r} is not an SLO"
        raise AssumptionError(message)
    kept = np.ones(len(frame), dtype=bool)
    known = np.ones(len(frame), dtype=bool)
    notes = np.full(len(frame), "", dtype=object)
    completed = _numbers(frame, "completed")
    failed = _failed(frame, completed)
    sent = np.nan_to_num(completed) + failed
    for name, limit in slo.limits.items():
        percentile, _ = split_limit(name)
        values = _numbers(frame, name)
        values = np.where(values >= 0, values, np.nan)
        allowed = sent * (100 - percentile) / 100
        too_many = failed > allowed + _ROUNDING
        broken = (values > limit) | too_many
        unmeasured = np.isnan(values) & ~broken
        survivors = (failed > 0) & ~broken & ~unmeasured
        if confidence is not None:
            above, below, lost = _confident(frame, name, limit, sent, completed, confidence)
            kept &= ~above
            known &= above | below
            sure = f"at {100 * confidence:.6g} %"
            _add(notes, above & ~lost, f"{name} above {limit:g} {sure}")
            _add(notes, lost, f"{name}: too many requests failed, {sure}")
            unsure = ~(above | below)
            _add(notes, unsure & np.isnan(values), f"{name} not measured")
            what = _undetermined(name, sent, np.isnan(completed), sure)
            _add_each(notes, unsure & ~np.isnan(values), what)
            continue
        kept &= ~broken
        known &= ~(unmeasured | survivors)
        _add(notes, (values > limit) & ~too_many, f"{name} above {limit:g}")
        _add(notes, too_many, f"{name}: too many requests failed")
        _add(notes, unmeasured, f"{name} not measured")
        _add(notes, survivors, _SURVIVORS.format(name))
    unanswered = (completed == 0) & kept & known
    _add(notes, unanswered, "no completed requests")
    known &= ~unanswered
    verdict = pd.Series(kept, index=frame.index).astype("boolean").mask(kept & ~known)
    return frame.assign(
        slo=str(slo), meets_slo=verdict, slo_note=pd.Series(notes, index=frame.index, dtype="str")
    )


def _confident(
    frame: pd.DataFrame,
    name: str,
    limit: float,
    sent: NDArray[np.float64],
    completed: NDArray[np.float64],
    confidence: float,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Say of which rows the percentile is known to lie above or below a limit, or to be lost.

    Of n requests, the number that lie below the p-quantile is binomial: the k-th smallest is an
    upper bound with the probability that at most k - 1 lie below it. A measured
    percentile of that rank or above is a bound as well; and likewise from below. Failed requests
    rank above all others: where the lower bound is one of them, the percentile is lost.
    """
    from scipy.stats import binom

    percentile, metric = split_limit(name)
    share = percentile / 100
    counted = np.nan_to_num(completed)
    upper = binom.ppf(confidence, sent, share) + 1  # smallest k with P(below < k) >= confidence
    lower = binom.ppf(1 - confidence, sent, share)  # largest k with P(below >= k) >= confidence
    below = np.zeros(len(frame), dtype=bool)
    lost = (lower > counted) & ~np.isnan(completed)
    above = lost.copy()
    for column in frame.columns:
        match = _LIMIT.fullmatch(str(column))
        if match is None or match["metric"] != metric:
            continue
        rank = split_limit(str(column))[0] / 100 * (counted - 1) + 1
        values = _numbers(frame, str(column))
        below |= (rank >= upper) & (upper <= counted) & (values <= limit) & (values >= 0)
        above |= (rank <= lower) & (lower >= 1) & (values > limit)
    return above, below, lost


def _undetermined(
    name: str, sent: NDArray[np.float64], uncounted: NDArray[np.bool_], sure: str
) -> NDArray[np.object_]:
    percentile, metric = split_limit(name)
    what = f"P{percentile:g} {METRIC_NAMES[metric]}"
    texts = [
        f"{name} undetermined: the {what} of {count:.0f} requests is not bounded by what was "
        f"measured, {sure}"
        for count in sent
    ]
    unknown = f"{name} undetermined: how many requests completed is not known"
    return np.where(uncounted, unknown, np.array(texts, dtype=object))


def _failed(frame: pd.DataFrame, completed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return failed requests: those counted, or those sent that did not come back, if more.

    Those that the end of the run cut off were neither answered nor failed.
    """
    failed, sent = _numbers(frame, "failed"), _numbers(frame, "n_requests")
    sent = sent - np.nan_to_num(_numbers(frame, "cut_off"))
    return np.nan_to_num(np.fmax(np.fmax(failed, sent - completed), 0))


def _numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    require(frame, [name], "meets_slo")
    return numbers(frame, name)


def _add(notes: NDArray[np.object_], where: Any, text: str) -> None:
    _add_each(notes, where, np.full(len(notes), text, dtype=object))


def _add_each(notes: NDArray[np.object_], where: Any, texts: NDArray[np.object_]) -> None:
    for index in np.flatnonzero(where):
        notes[index] = f"{notes[index]}; {texts[index]}" if notes[index] else texts[index]
