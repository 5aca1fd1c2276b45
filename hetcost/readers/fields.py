"""Typed reading of single fields: numbers written as text are numbers, other text is refused."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hetcost.errors import ReadError, listing

INFERRED = "_inferred"  # of a row: names of columns that the file does not state as such
LAST_S = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC).timestamp()  # of the epoch

_SHOWN = 80  # letters of a text in a message
_ABSENT = ("", "none", "null", "n/a")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NUMBER = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.IGNORECASE
)


def need(record: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    """Raise a ReadError unless an object has all the fields that make it `what` it is."""
    absent = [key for key in keys if key not in record]
    if absent:
        message = f"{what} without {listing(absent)}"
        raise ReadError(message)


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
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):  # NumPy's
        return float(value)
    message = f"{key}: {shown(value)} is not a number"
    raise ReadError(message)


def shown(value: Any) -> str:
    """Return what a message shows of a value; of one that holds others, its kind.

    Examples
    --------
    >>> shown("long"), shown([[0] * 9])
    ("'long'", 'a list')
    """
    if isinstance(value, (str, bool, int, float)):
        written = repr(value[:_SHOWN] if isinstance(value, str) else value)
        return f"{written} …" if isinstance(value, str) and len(value) > _SHOWN else written
    return f"a {type(value).__name__}"


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
        The field holds a flag, a list or an object.
    """
    value = record.get(key)
    if value is None or isinstance(value, str):
        written = (value or "").strip()
        if not written.isprintable() or not (written.isascii() or is_unicode(written)):
            message = f"{key}: {shown(written)} is not plain text"
            raise ReadError(message)
        return written or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if value != value else str(value)
    message = f"{key}: {type(value).__name__} where a text belongs"
    raise ReadError(message)


def flag(record: Mapping[str, Any], key: str) -> bool | None:
    """Read what is true or false; None where it is absent or null.

    Raises
    ------
    ReadError
        The field holds something else.
    """
    if isinstance(value := record.get(key), bool):
        return value
    written = (text(record, key) or "").casefold()
    if written in _ABSENT:
        return None
    if written not in _FLAGS:
        message = f"{key}: {shown(value)} is neither true nor false"
        raise ReadError(message)
    return _FLAGS[written]


def date(record: Mapping[str, Any], key: str) -> str | None:
    """Read a date: in UTC and with ``Z`` where its offset is stated, else as it is written.

    Raises
    ------
    ReadError
        The field holds a list or an object.
    """
    written = text(record, key)
    try:
        when = dt.datetime.fromisoformat(written or "")
        return _in_utc(when) if when.tzinfo else written
    except (ValueError, OverflowError):  # not ISO 8601, or before the year 1 in UTC
        return written


def date_utc(epoch_s: float, key: str) -> str | None:
    """Write seconds since 1970 as a date in UTC; None where they are missing.

    Parameters
    ----------
    epoch_s : The time. [s]
    key : The field that it was read from.

    Raises
    ------
    ReadError
        It is not between the years 1970 and 9999.
    """
    if math.isnan(epoch_s):
        return None
    if not 0 <= epoch_s <= LAST_S:
        message = f"{key}: {epoch_s:g} is no time since 1970 in seconds"
        raise ReadError(message)
    return _in_utc(dt.datetime.fromtimestamp(int(epoch_s), dt.UTC))


def _in_utc(when: dt.datetime) -> str:
    bare = when.astimezone(dt.UTC).replace(tzinfo=None)
    return f"{bare.isoformat(timespec='seconds')}Z"


def add_warning(row: dict[str, Any], *told: str) -> None:
    """Add to the warnings of a row, each once; blank ones are none."""
    had = row.get("warnings") or ""
    parts = had.split("; ")
    if new := [each for each in dict.fromkeys(told) if each and each not in parts]:
        row["warnings"] = "; ".join([had, *new] if had else new)


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


def printable(text: str) -> str:
    """Return a text as it can be printed on one line: what cannot is escaped."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def is_unicode(text: str) -> bool:
    """Say whether a text can be written as UTF-8: half a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
