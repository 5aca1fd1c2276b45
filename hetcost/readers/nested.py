"""Figures that stand deep in an object, and the statistics that tools write of a latency."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.readers.fields import inner, number, text

_MEANS, _MEDIANS = ("mean", "average"), ("p50", "median")
_PERCENTILE = re.compile(r"p(\d{1,2})(?:[.p](\d{1,3}))?")


def figure(record: Mapping[str, Any], *path: str) -> float:
    """Read a number inside objects; NaN where it is absent. Messages name its whole path.

    Raises
    ------
    ReadError
        The field holds something else, or something else than an object leads to it.

    Examples
    --------
    >>> figure({"load": {"rate": "2.5"}}, "load", "rate")
    2.5
    """
    where = ".".join(path)
    return number({where: inner(record, *path[:-1]).get(path[-1])}, where)


def word(record: Mapping[str, Any], *path: str) -> str | None:
    """Read a text inside objects; None where it is absent.

    Raises
    ------
    ReadError
        The field holds something else, or something else than an object leads to it.
    """
    where = ".".join(path)
    return text({where: inner(record, *path[:-1]).get(path[-1])}, where)


def total(mean: float, count: float) -> float:
    """Return the tokens of all requests from their mean, which was taken over whole numbers.

    Examples
    --------
    >>> total(200.68333333333334, 60)
    12041.0
    """
    product = mean * count
    return float(round(product)) if math.isfinite(product) else product


def statistics(
    record: Mapping[str, Any], *path: str, metric: str, ms: float = 1.0
) -> dict[str, float]:
    """Return mean and percentiles of a latency as run columns; nothing of what is absent.

    Parameters
    ----------
    record : What holds the object of statistics: ``mean`` or ``average``, ``p50`` or ``median``,
        ``p99``, and ``p99.9`` or ``p99p9``.
    *path : The way to that object.
    metric : The latency: ttft, tpot, itl or e2el.
    ms : Milliseconds in its unit.

    Raises
    ------
    ReadError
        A statistic is no number, or something else than an object leads to it.
    """
    found: dict[str, float] = {}
    for key in inner(record, *path):
        name = _column(key, metric)
        if name is not None and not math.isnan(value := figure(record, *path, key)):
            found.setdefault(name, value * ms)
    return found


def _column(key: str, metric: str) -> str | None:
    if key in _MEANS:
        return f"mean_{metric}_ms"
    if key in _MEDIANS:
        return f"p50_{metric}_ms"
    match = _PERCENTILE.fullmatch(key)
    if match is None or not (int(match[1]) or int(match[2] or 0)):
        return None
    rank = str(int(match[1])) if match[2] is None else f"{int(match[1])}_{match[2]}"
    return f"p{rank}_{metric}_ms"
