"""Pure functions of numbers, arrays or Series: one cited equation each.

Everything the world decides (prices, watts, grams) is an argument; the only numbers written
here are the conversions of :mod:`hetcost.units`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hetcost.errors import AssumptionError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Numeric: TypeAlias = float | NDArray[np.float64] | pd.Series[float]


def at_least(low: float, **values: Numeric) -> None:
    """Raise :class:`AssumptionError` if any value lies below `low`; missing values pass."""
    for name, value in values.items():
        if _least(value) < low:
            _refuse(np.asarray(value) < low, name, value, f"at least {low:g}")


def above(low: float, **values: Numeric) -> None:
    """Raise :class:`AssumptionError` if any value is not above `low`; missing values pass."""
    for name, value in values.items():
        if _least(value) <= low:
            _refuse(np.asarray(value) <= low, name, value, f"above {low:g}")


def below(high: float, **values: Numeric) -> None:
    """Raise :class:`AssumptionError` if any value is not below `high`; missing values pass."""
    for name, value in values.items():
        _refuse(np.asarray(value) >= high, name, value, f"below {high:g}")


def fraction(**values: Numeric) -> None:
    """Raise :class:`AssumptionError` if any value lies outside 0..1; missing values pass."""
    for name, value in values.items():
        wrong = (np.asarray(value) < 0) | (np.asarray(value) > 1)
        _refuse(wrong, name, value, "0 to 1")


def positive_fraction(**values: Numeric) -> None:
    """Raise :class:`AssumptionError` if any value is not above 0 and at most 1."""
    for name, value in values.items():
        wrong = (np.asarray(value) <= 0) | (np.asarray(value) > 1)
        _refuse(wrong, name, value, "above 0, at most 1")


def _least(value: Numeric) -> float:
    """Return the least value, missing ones left out; inf of none."""
    return float(np.fmin.reduce(np.asarray(value, dtype="float64"), axis=None, initial=np.inf))


def _refuse(wrong: NDArray[np.bool_], name: str, value: Numeric, valid: str) -> None:
    if wrong.any():
        worst = float(np.asarray(value)[wrong].flat[0])
        message = f"{name}={worst:g}: valid values are {valid}"
        raise AssumptionError(message)
