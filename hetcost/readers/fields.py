"""Typed reading of single fields: numbers written as text are numbers, other text is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError

_ABSENT = ("", "none", "null", "n/a")


def number(record: Mapping[str, Any], key: str) -> float:
    """Read a number; NaN where it is absent or null.

    Raises
    ------
    ReadError
        The field holds something else.
    """
    value = record.get(key)
    if type(value) is float or type(value) is int:
        return value
    if value is None:
        return math.nan
    if isinstance(value, str):
        if value.strip().casefold() in _ABSENT:
            return math.nan
        try:
            return float(value)
        except ValueError:
            pass
    message = f"{key}: {value!r} is not a number"
    raise ReadError(message)


def text(record: Mapping[str, Any], key: str) -> str | None:
    """Read a text; None where it is absent, null or blank.

    Raises
    ------
    ReadError
        The field holds a list or an object.
    """
    value = record.get(key)
    if value is None or isinstance(value, str):
        return (value or "").strip() or None
    if isinstance(value, (int, float)):
        return str(value)
    message = f"{key}: {type(value).__name__} where a text belongs"
    raise ReadError(message)
