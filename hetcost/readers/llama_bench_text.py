"""llama-bench (llama.cpp) tables: CSV, and Markdown amid log lines.

The CSV has the fields of the JSON (see :mod:`hetcost.readers.llama_bench`) as its header. The
Markdown table has fewer, most of them only where they differ from their defaults:

==========================  =========================  ==========================================
cell or line                field                      note
==========================  =========================  ==========================================
model, backend              model_type, backends
ngl, sm, ts, dev            n_gpu_layers, split_mode,  ``sm`` is ``layer`` where it is not told
                            tensor_split, devices
main_gpu, type_k, type_v    the same
test                        n_prompt, n_gen, n_depth   ``pp512``, ``tg128``, ``pp512+tg128 @ d64``
t/s                         avg_ts                     mean ± standard deviation
``build: commit (number)``  build_commit,              the line below the table
                            build_number
``ggml_…`` lists of         gpu_info                   the list above the table
devices
==========================  =========================  ==========================================

It has no time of the test: duration is tokens / speed. Other lines are left out; in a CSV they are
refused from the header on. Tables of llama-benchy, which measures a server, are not these.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.llama_bench import TOOL, claims, rows
from hetcost.readers.records import Found

__all__ = ["TOOL", "claims_text", "rows_of_text"]

_MARKDOWN = {"model", "backend", "test", "t/s"}
_FIELDS = {
    "model": "model_type",
    "backend": "backends",
    "ngl": "n_gpu_layers",
    "sm": "split_mode",
    "ts": "tensor_split",
    "dev": "devices",
}
_TEST = re.compile(r"(?:pp ?(\d{1,9}))?\+?(?:tg ?(\d{1,9}))?(?: @ d(\d{1,9}))?")
_SPEED = re.compile(r"(\d+(?:\.\d+)?)(?:\s.*)?")
_RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")
_BUILD = re.compile(r"build: (\w+) \((\d+)\)")
_LIST = re.compile(r"ggml_\w+: found \d+ .*devices", re.IGNORECASE)
_CARD = re.compile(r"Device \d+: ([^,]+)|ggml_vulkan: \d+ = (.+?) \([^()]*\) \|.*")


def claims_text(head: str) -> bool:
    """Say whether a text that begins so holds a table of llama-bench."""
    return ("avg_ts" in head or "t/s" in head) and any(
        _is_header(_csv_cells(line)) or set(_markdown_cells(line)) >= _MARKDOWN
        for line in head.split("\n")
        if "avg_ts" in line or "t/s" in line
    )


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield a row per test, with its line; or why there is none."""
    nothing = True
    for found in _Tables(text.split("\n")).found():
        nothing = False
        yield found
    if nothing:
        yield Found(1, reason="no runs in this file")


class _Tables:
    """What was read so far of the tables of a text."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = [line.strip() for line in lines]
        self._csv: list[str] = []
        self._markdown: list[str] = []
        self._cards: list[str] = []
        self._waiting: list[tuple[int, dict[str, str]]] = []  # for the build below their table

    def found(self) -> Iterator[Found]:
        for place, line in enumerate(self._lines, start=1):
            if not line:
                continue
            if build := _BUILD.fullmatch(line):
                yield from self._told({"build_commit": build[1], "build_number": build[2]})
                self._cards = []
            elif _LIST.match(line):
                self._cards = []
            elif card := _CARD.match(line):
                self._cards.append(card[1] or card[2])
            elif line.startswith("|"):
                yield from self._take_markdown(place, line)
            elif self._csv or "avg_ts" in line:
                yield from self._take_csv(place, line)
        yield from self._told({})

    def _take_markdown(self, place: int, line: str) -> Iterator[Found]:
        cells = _markdown_cells(line)
        if set(cells) >= _MARKDOWN:
            yield from self._told({})
            self._markdown = cells
        elif place < len(self._lines) and _RULE.fullmatch(self._lines[place]):
            self._markdown = []  # the header of another table
        elif self._markdown and not _RULE.fullmatch(line):
            if len(cells) == len(self._markdown):
                record = dict(zip(self._markdown, cells, strict=True))
                self._waiting.append((place, record | {"gpu_info": ", ".join(self._cards)}))
            else:
                yield Found(place, reason=_ragged(cells, self._markdown))

    def _take_csv(self, place: int, line: str) -> Iterator[Found]:
        cells = _csv_cells(line)
        if _is_header(cells):
            self._csv = cells
        elif self._csv and len(cells) != len(self._csv):
            yield Found(place, reason=_ragged(cells, self._csv))
        elif self._csv:
            yield _row(place, dict(zip(self._csv, cells, strict=True)))

    def _told(self, build: dict[str, str]) -> Iterator[Found]:
        for place, cells in self._waiting:
            try:
                record = _record(cells)
            except ReadError as error:
                yield Found(place, reason=str(error))
            else:
                yield _row(place, record | build)
        self._waiting = []


def _row(place: int, record: dict[str, Any]) -> Found:
    try:
        return Found(place, rows(record)[0])
    except ReadError as error:
        return Found(place, reason=str(error))


def _record(cells: dict[str, str]) -> dict[str, str]:
    """Name the cells of a Markdown row as the fields of the JSON are."""
    test, speed = _TEST.fullmatch(cells["test"]), _SPEED.fullmatch(cells["t/s"])
    if test is None or speed is None:
        name = "test" if test is None else "t/s"
        message = f"{name}: {cells[name]!r} is not what llama-bench writes there"
        raise ReadError(message)
    n_prompt, n_gen, n_depth = (count or "0" for count in test.groups())
    return {
        "split_mode": "layer",
        **{_FIELDS.get(name, name): value for name, value in cells.items()},
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": n_depth,
        "avg_ts": speed[1],
    }


def _is_header(cells: Sequence[str]) -> bool:
    return claims(dict.fromkeys(cells)) and len(set(cells)) == len(cells)


def _csv_cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return []


def _markdown_cells(line: str) -> list[str]:
    """Part a row of a table; a row that does not end in `|` was cut short and has none."""
    line = line.strip()
    if len(line) < 2 or line[0] != "|" or line[-1] != "|":
        return []
    return [cell.strip() for cell in line[1:-1].split("|")]


def _ragged(cells: Sequence[str], header: Sequence[str]) -> str:
    return f"{len(cells)} cells where the table has {len(header)}: cut short, or no row of it"
