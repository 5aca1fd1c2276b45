"""Statistics of latencies; gaps of all the requests of a run are kept in little room.

Clocks tick in nanoseconds, so most gaps are whole ones below 4.3 s and fit in four bytes. Longer
gaps are kept beside them; if any is no whole nanosecond, all are kept as they are.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hetcost.columns import STATISTICS
from hetcost.units import MS_PER_S, NS_PER_S

_NS_PER_MS = NS_PER_S / MS_PER_S
_LONG_NS = 2.0**32
_RANKS = {name: float(name[1:]) for name in STATISTICS if name != "mean"}
_WHOLE = 1e-3  # ns; what is closer to a whole nanosecond is one


class Pooled:
    """Values in ms, added bit by bit; they are asked for once, at the end."""

    def __init__(self) -> None:
        self._short_ns, self._ms = array("I"), array("d")
        self._whole = True

    def __len__(self) -> int:
        """Count the values."""
        return len(self._short_ns) + len(self._ms)

    def extend(self, values: NDArray[np.float64]) -> None:
        """Add values in ms."""
        exact = values * _NS_PER_MS
        ns = np.rint(exact)
        if self._whole and (np.abs(ns - exact) > _WHOLE).any():
            self._ms.frombytes((self._short() / _NS_PER_MS).tobytes())
            self._short_ns, self._whole = array("I"), False
        short = (ns < _LONG_NS) & self._whole
        self._short_ns.frombytes(ns[short].astype(self._short().dtype).tobytes())
        self._ms.frombytes(values[~short].tobytes())

    def mean(self) -> float:
        """Average the values, in ms."""
        short, others = self._short().sum(dtype="uint64"), math.fsum(self._ms)
        return float(short / _NS_PER_MS + others) / len(self)

    def percentiles(self, percents: Sequence[float]) -> list[float]:
        """Take percentiles in ms, linear between neighbours.

        The values are reordered where they lie: a copy might not fit.
        """
        places = [(len(self) - 1) * percent / 100 for percent in percents]
        ranks = {rank for place in places for rank in (math.floor(place), math.ceil(place))}
        at = self._ranked(sorted(ranks))
        return [
            at[math.floor(place)] + place % 1 * (at[math.ceil(place)] - at[math.floor(place)])
            for place in places
        ]

    def _ranked(self, ranks: list[int]) -> dict[int, float]:
        """Return the values of these ranks; the ones kept in ms are above all the short ones."""
        short, others = self._short(), np.asarray(self._ms)
        first = [rank for rank in ranks if rank < len(short)]
        rest = [rank - len(short) for rank in ranks[len(first) :]]
        if first:
            short.partition(first)
        if rest:
            others.partition(rest)
        found = [short[rank] / _NS_PER_MS for rank in first] + [others[rank] for rank in rest]
        return dict(zip(ranks, map(float, found), strict=True))

    def _short(self) -> NDArray[np.unsignedinteger]:
        return np.asarray(self._short_ns)


def statistics_ms(metric: str, values: Pooled | NDArray[np.float64]) -> dict[str, float]:
    """Return mean and percentiles of latencies as run columns; nothing of no values.

    Parameters
    ----------
    metric : The latency: ttft, tpot, itl or e2el.
    values : Its values, pooled or as an array. [ms]
    """
    if not len(values):
        return {}
    ranks = list(_RANKS.values())
    if isinstance(values, Pooled):
        at = values.percentiles(ranks)
    else:
        at = np.percentile(values, ranks).tolist()
    found = {"mean": values.mean()} | dict(zip(_RANKS, at, strict=True))
    return {f"{name}_{metric}_ms": float(value) for name, value in found.items()}
