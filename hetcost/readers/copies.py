"""Copies of a run: the same content twice, or one run that a tool writes in several forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

# These write each run as JSON, as CSV, some request by request as well, side by side; llm-d writes
# a report in YAML beside the result of some.
_IN_SEVERAL_FORMS = ("AIPerf", "GenAI-Perf", "guidellm", "inference-perf", "vllm bench serve")
_FORMS = (".json", ".csv", ".jsonl", ".yaml", ".yml")  # the fullest first
_SAME = 0.01  # each form rounds, and takes the duration a little differently
_ALIKE = ("duration_s", "total_in_tok", "mean_ttft_ms", "mean_e2el_ms")


def twins(
    rows: list[dict[str, Any]], folders: list[str], places: Iterable[int]
) -> Iterator[tuple[int, int]]:
    """Yield the places of rows that are copies, each once, with that of the row to keep.

    A tool's several forms of one run lie in one folder.
    """
    first: dict[str, int] = {}
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place in map(int, places):
        row = rows[place]
        twin = first.setdefault(row["run_id"], place)
        if twin != place:
            yield place, twin
        elif row.get("tool") in _IN_SEVERAL_FORMS and _form(row) < len(_FORMS):
            counts = (row["tool"], row.get("completed"), row.get("total_out_tok"))
            forms.setdefault((folders[place], *counts), []).append(place)
    for members in forms.values():
        if len(members) > 1:
            yield from _in_other_forms(rows, members)


def _in_other_forms(rows: list[dict[str, Any]], members: list[int]) -> Iterator[tuple[int, int]]:
    """Pair rows with fuller forms of them, the nearest first; a run has one row of each form."""
    kept: list[int] = []
    for form in range(len(_FORMS) + 1):
        of_form = [place for place in members if _form(rows[place]) == form]
        pairs = [(_apart(rows[one], rows[two]), one, two) for one in of_form for two in kept]
        paired: dict[int, int] = {}
        for apart, one, two in sorted(pairs):
            if apart <= _SAME and one not in paired and two not in paired.values():
                paired[one] = two
        yield from paired.items()
        kept += [place for place in of_form if place not in paired]


def _form(row: dict[str, Any]) -> int:
    name = row["source"].rpartition(":")[0].lower().removesuffix(".gz")
    return next((rank for rank, end in enumerate(_FORMS) if name.endswith(end)), len(_FORMS))


def _apart(row: dict[str, Any], other: dict[str, Any]) -> float:
    """Return by what share two rows differ at most, in what both of them say."""
    apart = 0.0
    for name in _ALIKE:
        one, two = (float(each.get(name) or 0) for each in (row, other))
        if one > 0 and two > 0:
            apart = max(apart, abs(one - two) / max(one, two))
    return apart
