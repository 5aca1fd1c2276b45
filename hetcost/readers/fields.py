"""Typed reading of single fields: numbers written as text are numbers, other text is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.errors import ReadError

_ABSENT = ("", "none", "null", "n/a")
_NUMBER = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE
)


def number(record: Mapping[str, Any], key: str) -> float:
    """Read a number; NaN where it is absent or null.

    Raises
    ------
    ReadError
        The field holds something else.
    """
    value = record.get(key)
    if type(value) is float:
        return value
    if type(value) is int:
        return _as_float(key, value)
    if value is None:
        return math.nan
    if isinstance(value, str):
        written = value.strip()
        if written.casefold() in _ABSENT:
            return math.nan
        if _NUMBER.fullmatch(written):
            return float(written)
    message = f"{key}: {value!r} is not a number"
    raise ReadError(message)


def _as_float(key: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        message = f"{key}: a whole number too large to be one"
        raise ReadError(message) from None


def text(record: Mapping[str, Any], key: str) -> str | None:
    """Read a text; None where it is absent, null or blank.

    Raises
    ------
    ReadError
        The field holds a list or an object.
    """
    value = record.get(key)
    if value is None or isinstance(value, str):
        written = (value or "").strip()
        if not written.isprintable() or not is_unicode(written):
            message = f"{key}: {written!r} is not plain text"
            raise ReadError(message)
        return written or None
    if isinstance(value, (int, float)):
        return str(value)
    message = f"{key}: {type(value).__name__} where a text belongs"
    raise ReadError(message)


def inner(record: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return an object inside an object; an empty one where it is absent or null.

    Raises
    ------
    ReadError
        Something else than an object stands there.
    """
    found = record
    for key in path:
        value = found.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            message = f"{'.'.join(path)}: {type(value).__name__} where an object belongs"
            raise ReadError(message)
        found = value
    return found


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8: half a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
