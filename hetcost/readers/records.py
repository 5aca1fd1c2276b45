"""JSON values of a text, one after the other, with the line each begins on.

Files grow by appending, so a `.json` may hold several objects and the last may be cut short;
what does not parse is reported and the reading goes on behind it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        for key, value in pairs:
            if found[key] != value and (found[key] == found[key] or value == value):
                message = f"'{key}' stands twice, with different values"
                raise _TwiceError(message)
    return found


class _TwiceError(ValueError):
    """A key of an object stands twice."""


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
_BLANK = " \t\r\n"
# Reading over line ends costs the length of the file each time it fails: after so many failures
# only objects that stand on one line are tried.
_MOST_FAILURES = 50


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
    position, line, failures, found = 0, 1, 0, False
    end_of_text = len(text.rstrip())
    this_line = _Line(text, 0)
    while (start := _next(text, position, _BLANK + ",")) < len(text):
        line += text.count("\n", position, start)
        found = True
        if start >= this_line.end:
            this_line = _Line(text, start)
        try:
            value, position = this_line.decode(start, over_lines=failures < _MOST_FAILURES)
        except (ValueError, RecursionError) as error:
            failures += 1
            position = _resume(text, start)
            yield Found(line, reason=_reason(error, cut=position >= end_of_text))
        else:
            yield from _entries(line, value)
        line += text.count("\n", start, position)
    if not found:
        yield Found(1, reason="no runs in this file")


def json_lines(lines: Iterable[str | None]) -> Iterator[Found]:
    """Yield the values of JSON Lines as they come, or a reason where a line is none.

    A line that is too long to be read stands for itself as None.
    """
    found = False
    for number, line in enumerate(lines, start=1):
        if line is None:
            found = True
            yield Found(number, reason="the line is too long to be read")
            continue
        if not line.strip():
            continue
        found = True
        try:
            yield from _entries(number, _DECODER.decode(line.strip()))
        except (ValueError, RecursionError) as error:
            yield Found(number, reason=_reason(error, cut=not line.endswith("\n")))
    if not found:
        yield Found(1, reason="the file is empty")


class _Line:
    """The line that a position lies on, cut out once for all the values on it."""

    def __init__(self, text: str, position: int) -> None:
        self.text, self.begin = text, position
        end = text.find("\n", position)
        self.end = len(text) if end == -1 else end
        self.content = text[position : self.end]

    def decode(self, start: int, *, over_lines: bool) -> tuple[Any, int]:
        """Decode the value at `start`: within its line if it ends there, else beyond."""
        try:
            value, end = _DECODER.raw_decode(self.content, start - self.begin)
        except json.JSONDecodeError as error:
            open_ended = error.msg.startswith("Unterminated") or error.pos >= len(self.content)
            if self.end == len(self.text) or not open_ended or not over_lines:
                raise
            return _DECODER.raw_decode(self.text, start)
        return value, self.begin + end


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


def _reason(error: Exception, *, cut: bool) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply to be a result"
    if isinstance(error, _TwiceError):
        return str(error)
    if not isinstance(error, json.JSONDecodeError):
        return "not JSON: a number of too many digits"
    open_ended = error.msg.startswith("Unterminated") or error.pos >= len(error.doc.rstrip())
    return "the JSON is cut short" if cut and open_ended else f"not JSON: {error.msg}"
