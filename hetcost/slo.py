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


def meets_slo(frame: pd.DataFrame, slo: SLO) -> pd.DataFrame:
    """Say of every row whether its measured percentiles keep the SLO; drop nothing.

    A failed request is a miss. Where more failed than a percentile leaves room for, it is
    broken, whatever the survivors' latency; where fewer did, the survivors' percentile is lower
    than that of all requests: it can break a limit but not prove that it is kept.

    Parameters
    ----------
    frame : Runs, one row each; columns named as the SLO's limits. [ms]
    slo : The limits.

    Returns
    -------
    The frame with ``slo`` (text), ``meets_slo`` (nullable boolean: missing where a metric is)
    and ``slo_note`` (the limit broken, or the metric missing).
    """
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
        kept &= ~broken
        known &= ~(unmeasured | survivors)
        _add(notes, (values > limit) & ~too_many, f"{name} above {limit:g}")
        _add(notes, too_many, f"{name}: too many requests failed")
        _add(notes, unmeasured, f"{name} not measured")
        _add(notes, survivors, f"{name} is known only for the requests that succeeded")
    unanswered = (completed == 0) & kept & known
    _add(notes, unanswered, "no completed requests")
    known &= ~unanswered
    verdict = pd.Series(kept, index=frame.index).astype("boolean").mask(kept & ~known)
    return frame.assign(
        slo=str(slo), meets_slo=verdict, slo_note=pd.Series(notes, index=frame.index, dtype="str")
    )


def _failed(frame: pd.DataFrame, completed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return failed requests: those counted, or those sent that did not come back, if more."""
    failed, sent = _numbers(frame, "failed"), _numbers(frame, "n_requests")
    return np.nan_to_num(np.fmax(np.fmax(failed, sent - completed), 0))


def _numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    require(frame, [name], "meets_slo")
    return numbers(frame, name)


def _add(notes: NDArray[np.object_], where: Any, text: str) -> None:
    for index in np.flatnonzero(where):
        notes[index] = f"{notes[index]}; {text}" if notes[index] else text
