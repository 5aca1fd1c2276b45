"""Tables of power readings: ``nvidia-smi --query-gpu``, ``rocm-smi --csv``, amd-smi, one's own.

What a column holds, its name says, as ``nvidia-smi`` writes it (``power.draw [W]``) or as loggers
of one's own do (``power_w``, ``gpu_power (mW)``); the unit is the cell's, else that of the name,
else W. Other names are mapped by ``columns={"P": "power_w"}``; of a table without a header the
columns are listed in their order, ``columns=["timestamp", "index", "power.draw"]``.

==============================  ==============================================================
column                          note
==============================  ==============================================================
timestamp, time_utc, t_s, …;    text with or without a zone, or a count since 1970; ``elapsed_s``
date and time                   and boot clocks need ``zero_s=``; none at all needs ``every_s=``
gpu_uuid, uuid; pci.bus_id      which board; else index, gpu, device, card: within its file only
name, gpu_name                  the card, by which power is weighed
power.draw, power_w, …          where one is missing all through, ``.average``, then ``.instant``
energy_j                        a counter
==============================  ==============================================================

``[N/A]`` and the like are missing readings. Rows of other lengths than the first, decimal commas
and text are refused, each with its line. Without a column for the board, rows that come in bunches
are of several boards, which cannot be told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

import numpy as np

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.clock import Clock
from hetcost.power_logs.layout import (
    BUS,
    COUNT,
    DAY,
    SCOPE,
    Column,
    Layout,
    is_row,
    layout_of,
    layout_of_row,
)
from hetcost.power_logs.samples import (
    BOARD,
    ENERGY,
    INDEX,
    MODULE,
    NAME,
    TIME,
    UUID,
    WALL,
    Note,
    Options,
    Sample,
    Sweeps,
    numbered,
)
from hetcost.readers.records import Found

TOOL = "table of power"

_HEAD = 40  # lines among which the header stands
_TELLING = {UUID, BUS, INDEX}
# Of the time from one sweep over the boards to the next, what lies between boards of one sweep;
# if so many intervals are so short, several boards are logged.
_SAME_SWEEP, _BUNCHED = 0.1, 0.3


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is a table of power readings."""
    if options.order is not None:
        return layout_of(options.order, options) is not None
    for _, line in islice(numbered(head), _HEAD):
        delimiter = _delimiter(line)
        try:
            row = read.split(line, delimiter)
        except ReadError:
            continue
        if layout_of(row, options) is not None or is_row(row):
            return True
    return False


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a table, each with its line; or why there is none."""
    table = _Table(options)
    for line, written in numbered(text):
        try:
            table.take(line, written)
        except ReadError as error:
            yield Found(line, reason=str(error))
    yield from table.samples(text)


class _Table:
    """A table as it is read: its header, and rows of cells in order."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.delimiter = ""
        self.layout: Layout | None = None
        self.cells = 0  # of the first row
        self.rows: list[tuple[int, list[str], Layout]] = []
        self.blank: list[int] = []
        self.layouts: dict[str, Layout] = {}
        if options.order is not None:
            self.layout = layout_of(options.order, options)
            self.layouts |= {} if self.layout is None else {"": self.layout}

    def take(self, line: int, written: str) -> None:
        """Take a header or a row.

        Raises
        ------
        ReadError
            It is neither.
        """
        row = read.split(written, self.delimiter or _delimiter(written))
        layout = layout_of(row, self.options) if self.options.order is None else None
        if layout is not None:
            self.layout = self.layouts.setdefault(written, layout)
            self.delimiter = _delimiter(written)
            self.cells = 0
            return
        if self.layout is None:
            self.layout = layout_of_row(row)
            self.layouts |= {} if self.layout is None else {"": self.layout}
        if self.layout is None:
            message = "no row of a table of power readings, and no header before it"
            raise ReadError(message)
        self.delimiter = self.delimiter or _delimiter(written)
        alone = len(row) > 1 and sum(cell != "" for cell in row) == 1
        if alone and self.layout.cell(TIME, row)[:1].isdigit():
            self.blank.append(line)
            return
        self._check_length(row, self.layout)
        self.rows.append((line, row, self.layout))

    def _check_length(self, row: list[str], layout: Layout) -> None:
        if len(row) > layout.width:
            message = f"{len(row)} cells where the header has {layout.width}"
            if self.delimiter == ",":
                message += "; are there decimal commas in it?"
            raise ReadError(message)
        needed = max(column.place for column in layout.powers) if len(layout.powers) == 1 else 0
        if len(row) <= needed or (self.cells and len(row) < self.cells):
            message = f"{len(row)} cells where {self.cells or layout.width} belong"
            raise ReadError(message)
        self.cells = self.cells or len(row)

    def samples(self, text: str) -> Iterator[Found]:
        """Yield what the rows say, with the power column that has readings."""
        if self.blank:
            yield Found(
                self.blank[0], Note(f"{len(self.blank)} rows hold a stamp and nothing else")
            )
        if self.rows and not text.endswith("\n") and self._cut_off():
            line, *_ = self.rows.pop()
            yield Found(line, reason="the last row is cut short: its power has lost its unit")
        power = {id(layout): self._power(layout) for layout in self.layouts.values()}
        sweeps = Sweeps(self.options.clock)
        found = []
        for line, row, layout in self.rows:
            try:
                found.append((line, self._sample(row, layout, power[id(layout)], sweeps)))
            except ReadError as error:
                yield Found(line, reason=str(error))
        unnamed = [row for row in self.rows if not _TELLING & row[2].columns.keys()]
        if unnamed:
            several = any(layout.cell(COUNT, row) not in ("", "1") for _, row, layout in unnamed)
            times = np.array([sample.t_s for _, sample in found])
            if several or _in_bunches(times):
                why = "the machine has" if several else "rows come in bunches:"
                told = (
                    f"{why} several boards, and no column tells them apart; query index or uuid "
                    "as well"
                )
                yield Found(self.rows[0][0], reason=told)
                return
        for line, sample in found:
            yield Found(line, sample)

    def _cut_off(self) -> bool:
        """Say whether the last row has lost the end of its power, by the unit it lacks."""
        if len(self.rows) < 2:
            return False
        last, before = (
            row[column.place] if (column := layout.powers[0]).place < len(row) else ""
            for _, row, layout in (self.rows[-1], self.rows[-2])
        )
        return last[-1:].isdigit() and before[-1:].isalpha()

    def _power(self, layout: Layout) -> Column:
        """Return the first column of power that has readings."""
        for column in layout.powers:
            for _, row, of in self.rows:
                there = of is layout and column.place < len(row)
                if there and not read.is_missing(row[column.place]):
                    return column
        return layout.powers[0]

    def _sample(self, row: list[str], layout: Layout, power: Column, sweeps: Sweeps) -> Sample:
        decimal = self.options.decimal
        cell = row[power.place] if power.place < len(row) else ""
        power_w = read.in_unit(cell, read.WATTS, power.unit or "W", decimal)
        energy = layout.columns.get(ENERGY)
        energy_j = math.nan
        if energy is not None:
            cell = layout.cell(ENERGY, row)
            energy_j = read.in_unit(cell, read.JOULES, energy.unit or "J", decimal)
        board, named = _board(row, layout)
        time = layout.columns.get(TIME)
        if time is None:
            t_s = sweeps.t_s(board)
        else:
            day = layout.cell(DAY, row)
            written = " ".join(filter(None, (day, layout.cell(TIME, row))))
            t_s = _time(written, time.unit, self.options.clock)
        name = layout.cell(NAME, row)
        gpu = None if read.is_missing(name) else name
        scope = layout.cell(SCOPE, row) or BOARD
        if scope not in (BOARD, MODULE, WALL):
            message = f"scope: {scope!r} is none of {BOARD}, {MODULE}, {WALL}"
            raise ReadError(message)
        return Sample(t_s, board, power_w, energy_j, gpu, named, scope)


def _time(cell: str, unit: str, clock: Clock) -> float:
    if read.is_missing(cell):
        message = "a row without its time"
        raise ReadError(message)
    if unit in ("s", "ms", "us", "ns") and cell.replace(".", "", 1).isdigit():
        return clock.count(float(cell), unit)
    return clock.stamp(cell)


def _board(row: list[str], layout: Layout) -> tuple[str, bool]:
    for role in (UUID, BUS, INDEX):
        cell = layout.cell(role, row)
        if not read.is_missing(cell):
            label = "_".join(cell.split())
            return (f"gpu{label}" if label.isdigit() else label), role == UUID
    if _TELLING & layout.columns.keys():
        message = "a row without its board"
        raise ReadError(message)
    return "gpu", False


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _in_bunches(times: np.ndarray) -> bool:
    """Say whether samples of one name are of several boards, by how they follow each other."""
    steps = np.diff(np.sort(times[np.isfinite(times)]))
    if not len(steps):
        return False
    sweep = float(np.quantile(steps, 0.9))
    return float(np.mean(steps <= _SAME_SWEEP * sweep)) >= _BUNCHED
