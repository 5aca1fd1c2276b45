"""A number of a scenario that is not known exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

from hetcost.errors import AssumptionError


class _Ends(NamedTuple):
    low: float
    mode: float
    high: float


class Range(_Ends):
    """Bounds of a number and its likeliest value; results of single rows take the latter.

    Parameters
    ----------
    low, mode, high : Least, likeliest and largest value, in the unit of the field.

    Raises
    ------
    AssumptionError
        They are no numbers, or not in that order.

    Examples
    --------
    >>> Range(0.5, 0.7, 0.9).mode
    0.7
    """

    __slots__ = ()

    def __new__(cls, low: float, mode: float | None = None, high: float | None = None) -> Range:
        """Check the order."""
        try:
            ends = float(low), float(mode), float(high)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            ends = (math.nan, math.nan, math.nan)
        if not all(map(math.isfinite, ends)) or not ends[0] <= ends[1] <= ends[2]:
            message = (
                f"Range({low!r}, {mode!r}, {high!r}): three numbers in rising order belong here"
            )
            raise AssumptionError(message)
        return super().__new__(cls, *ends)


def likeliest(value: object) -> object:
    """Return the mode of a range, and anything else as it is."""
    return value.mode if isinstance(value, Range) else value
