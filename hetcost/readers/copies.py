"""Copies of a run: the same content twice, or one run that a tool writes in several forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

# These write each run as JSON, as CSV, some request by request as well, side by side.
_IN_SEVERAL_FORMS = ("AIPerf", "GenAI-Perf", "guidellm")
_FORMS = (".json", ".csv", ".jsonl")  # the fullest first
_SAME = 0.01  # of the duration, which each form takes a little differently


def twins(rows: list[dict[str, Any]], places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the places of rows that are copies, each once, with that of the row to keep."""
    first: dict[str, int] = {}
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place in map(int, places):
        row = rows[place]
        twin = first.setdefault(row["run_id"], place)
        if twin != place:
            yield place, twin
        elif row.get("tool") in _IN_SEVERAL_FORMS:
            folder = row["source"].rpartition("/")[0]
            counts = (row["tool"], row.get("completed"), row.get("total_out_tok"))
            forms.setdefault((folder, *counts), []).append(place)
    for members in forms.values():
        kept, *others = sorted(members, key=lambda place: _form(rows[place]))
        for place in others:
            if _form(rows[place]) != _form(rows[kept]) and _as_long(rows[place], rows[kept]):
                yield place, kept


def _form(row: dict[str, Any]) -> int:
    name = row["source"].rpartition(":")[0].lower().removesuffix(".gz")
    return next((rank for rank, end in enumerate(_FORMS) if name.endswith(end)), len(_FORMS))


def _as_long(row: dict[str, Any], other: dict[str, Any]) -> bool:
    one, two = (float(each.get("duration_s") or 0) for each in (row, other))
    return abs(one - two) <= _SAME * max(one, two)
