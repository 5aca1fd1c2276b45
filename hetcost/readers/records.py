"""JSON values of a text, one after the other, with the line each begins on.

Files grow by appending, so a `.json` may hold several objects and the last may be cut short;
what does not parse is reported and the reading goes on behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

_DECODER = json.JSONDecoder()
_BLANK = " \t\r\n"


class Found(NamedTuple):
    """A JSON value and the line it begins on, or the reason why there is none."""

    line: int
    value: Any = None
    reason: str = ""


def json_records(text: str) -> Iterator[Found]:
    """Yield the values of a text; a list gives its entries.

    Parameters
    ----------
    text : JSON, JSON Lines, or several objects in a row, possibly amid other lines.

    Yields
    ------
    The values, or a reason where a stretch of text is not JSON (once per stretch).
    """
    if not text.strip():
        yield Found(1, reason="the file is empty")
        return
    position, line = 0, 1
    while (start := _next(text, position, _BLANK + ",")) < len(text):
        line += text.count("\n", position, start)
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            position = _resume(text, start)
            yield Found(line, reason=_reason(error, text, position))
        else:
            yield from _entries(line, value)
        line += text.count("\n", start, position)


def _entries(line: int, value: Any) -> Iterator[Found]:
    if not isinstance(value, list):
        yield Found(line, value)
    elif not value:
        yield Found(line, reason="no runs in this list")
    else:
        for entry in value:
            yield Found(line, entry)


def _next(text: str, position: int, skipped: str) -> int:
    while position < len(text) and text[position] in skipped:
        position += 1
    return position


def _resume(text: str, start: int) -> int:
    """Find the next line behind `start` that begins with an object."""
    position = text.find("\n", start)
    while position != -1:
        first = _next(text, position, _BLANK)
        if text[first : first + 1] == "{":
            return first
        position = text.find("\n", first)
    return len(text)


def _reason(error: Exception, text: str, end: int) -> str:
    if isinstance(error, json.JSONDecodeError):
        open_ended = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip())
        cut = end >= len(text) and open_ended
        return "the JSON is cut short" if cut else f"not JSON: {error.msg}"
    return "nested too deeply to be a result"
