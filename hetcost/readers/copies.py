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


def twins(rows: list[dict[str, Any]], places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the places of rows that are copies, each once, with that of the row to keep."""
    first: dict[str, int] = {}
    forms: dict[tuple[Any, ...], list[int]] = {}
    for place in map(int, places):
        row = rows[place]
        twin = first.setdefault(row["run_id"], place)
        if twin != place:
            yield place, twin
        elif row.get("tool") in _IN_SEVERAL_FORMS and _form(row) < len(_FORMS):
            folder = row["source"].rpartition("/")[0]
            counts = (row["tool"], row.get("completed"), row.get("total_out_tok"))
            forms.setdefault((folder, *counts), []).append(place)
    for members in forms.values():
        yield from _in_other_forms(rows, sorted(members, key=lambda place: _form(rows[place])))


def _in_other_forms(rows: list[dict[str, Any]], members: list[int]) -> Iterator[tuple[int, int]]:
    """Pair rows with fuller forms of them; a run has one row of each form."""
    kept: dict[int, set[int]] = {}
    for place in members:
        form = _form(rows[place])
        twin = next(
            (
                each
                for each, seen in kept.items()
                if form not in seen and _alike(rows[place], rows[each])
            ),
            None,
        )
        if twin is None:
            kept[place] = {form}
        else:
            kept[twin].add(form)
            yield place, twin


def _form(row: dict[str, Any]) -> int:
    name = row["source"].rpartition(":")[0].lower().removesuffix(".gz")
    return next((rank for rank, end in enumerate(_FORMS) if name.endswith(end)), len(_FORMS))


def _alike(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether two rows agree in all that both of them say."""
    for name in _ALIKE:
        one, two = (float(each.get(name) or 0) for each in (row, other))
        if one > 0 and two > 0 and abs(one - two) > _SAME * max(one, two):
            return False
    return True
