"""Tables of power readings: ``nvidia-smi --query-gpu``, ``rocm-smi --csv``, amd-smi, one's own.

What a column holds, its name says, as ``nvidia-smi`` writes it (``power.draw [W]``) or as loggers
of one's own do (``power_w``, ``gpu_power (mW)``); the unit is the cell's, else that of the name,
else W. Other names are mapped by ``columns={"P": "power_w"}``; of a table without a header the
columns are listed in their order, ``columns=["timestamp", "index", "power.draw"]``.

==============================  ==============================================================
column                          note
==============================  ==============================================================
timestamp, time_utc, t_s, …     text with or without a zone, or a count since 1970; ``elapsed_s``
                                and boot clocks need ``zero_s=``; none at all needs ``every_s=``
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
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from hetcost.errors import ReadError, listing
from hetcost.power_logs import cells as read
from hetcost.power_logs.clock import Clock
from hetcost.power_logs.samples import (
    ENERGY,
    INDEX,
    NAME,
    POWER,
    TIME,
    UUID,
    Note,
    Options,
    Sample,
    Sweeps,
    numbered,
)
from hetcost.readers.records import Found

TOOL = "table of power"

_HEAD = 40  # lines among which the header stands
_BUS = "bus"
_NAMES = {
    TIME: "timestamp|time|time_utc|timestamp_utc|utc|t|datetime|date_time|date|epoch|unix_time"
    "|ts|elapsed|time_stamp",
    UUID: "gpu_uuid|uuid",
    _BUS: "pci.bus_id|gpu_bus_id|pci_bus_id|bus_id",
    INDEX: "index|gpu_index|gpu|gpu_id|id|device|card|device_id|gpu_idx",
    NAME: "name|gpu_name|product_name|gpu_model|gpu_model_name|card_series",
    POWER: "power.draw|power|power_draw|gpu_power|board_power|socket_power|average_socket_power"
    "|current_socket_power|average graphics package power|current socket graphics package power"
    "|power_usage|gpu_power_draw|power.draw.average|power.draw.instant|watts",
    ENERGY: "energy|total_energy|total_energy_consumption|energy_counter",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split("|")}
_RANK = {name: rank for rank, name in enumerate(_NAMES[POWER].split("|"))}
_BRACKETS = re.compile(r"(.*?)\s*[\[(]([^\])]*)[\])]")
_SUFFIX = re.compile(r"(.+)_(w|watts|mw|kw|milliwatts|j|joules|s|sec|seconds|ms|us|ns)")
_UNITS = {"w": "W", "watts": "W", "mw": "mW", "milliwatts": "mW", "kw": "kW", "j": "J"}
_UNITS |= {"joules": "J", "sec": "s", "seconds": "s"}
_PLAIN = re.compile(r"-?[0-9]+(\.[0-9]+)?")  # no name of a column
_STAMPED = re.compile(r"\d{4}[-/]\d{2}[-/]\d{2}[ T]\d{2}:\d{2}:\d{2}")
_WATTS = re.compile(r"[0-9]+[.,]?[0-9]* *m?W")
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F-]{8,}")
_BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")
# Of the time from one sweep over the boards to the next, what lies between boards of one sweep;
# if so many intervals are so short, several boards are logged.
_SAME_SWEEP, _BUNCHED = 0.1, 0.3


class Column(NamedTuple):
    """Where a column stands, and the unit that its name states."""

    place: int
    unit: str
    name: str


class _Layout(NamedTuple):
    """What the columns of a table hold."""

    columns: dict[str, Column]
    powers: list[Column]
    width: int

    def cell(self, role: str, row: Sequence[str]) -> str:
        """Return a row's cell of a role; blank where there is none."""
        column = self.columns.get(role)
        return row[column.place] if column is not None and column.place < len(row) else ""


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is a table of power readings."""
    if options.order is not None:
        return _layout(options.order, options) is not None
    for _, line in islice(numbered(head), _HEAD):
        delimiter = _delimiter(line)
        try:
            row = read.split(line, delimiter)
        except ReadError:
            continue
        if _layout(row, options) is not None or _unnamed(row) is not None:
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
        self.layout: _Layout | None = None
        self.cells = 0  # of the first row
        self.rows: list[tuple[int, list[str], _Layout]] = []
        self.blank: list[int] = []
        if options.order is not None:
            self.layout = _layout(options.order, options)

    def take(self, line: int, written: str) -> None:
        """Take a header or a row.

        Raises
        ------
        ReadError
            It is neither.
        """
        row = read.split(written, self.delimiter or _delimiter(written))
        layout = _layout(row, self.options) if self.options.order is None else None
        if layout is not None:
            self.layout, self.delimiter = layout, _delimiter(written)
            self.cells = 0
            return
        if self.layout is None:
            self.layout = _unnamed(row)
        if self.layout is None:
            message = "no row of a table of power readings, and no header before it"
            raise ReadError(message)
        self.delimiter = self.delimiter or _delimiter(written)
        if sum(cell != "" for cell in row) == 1 and self.layout.cell(TIME, row):
            self.blank.append(line)
            return
        self._check_length(row, self.layout)
        self.rows.append((line, row, self.layout))

    def _check_length(self, row: list[str], layout: _Layout) -> None:
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
        power = {id(row[2]): self._power(row[2]) for row in self.rows}
        sweeps = Sweeps(self.options.clock)
        found = []
        for line, row, layout in self.rows:
            try:
                found.append((line, self._sample(row, layout, power[id(layout)], sweeps)))
            except ReadError as error:
                yield Found(line, reason=str(error))
        known = {INDEX, UUID, _BUS}
        if any(known.isdisjoint(layout.columns) for *_, layout in self.rows):
            times = np.array([sample.t_s for _, sample in found])
            if _in_bunches(times):
                told = (
                    "rows come in bunches: several boards, and no column that tells them apart; "
                    "query index or uuid as well"
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

    def _power(self, layout: _Layout) -> Column:
        """Return the first column of power that has readings."""
        for column in layout.powers:
            for _, row, of in self.rows:
                there = of is layout and column.place < len(row)
                if there and not read.is_missing(row[column.place]):
                    return column
        return layout.powers[0]

    def _sample(self, row: list[str], layout: _Layout, power: Column, sweeps: Sweeps) -> Sample:
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
            t_s = _time(layout.cell(TIME, row), time.unit, self.options.clock)
        name = layout.cell(NAME, row)
        gpu = None if read.is_missing(name) else name
        return Sample(t_s, board, power_w, energy_j, gpu, named)


def _time(cell: str, unit: str, clock: Clock) -> float:
    if read.is_missing(cell):
        message = "a row without its time"
        raise ReadError(message)
    if unit in ("s", "ms", "us", "ns") and cell.replace(".", "", 1).isdigit():
        return clock.count(float(cell), unit)
    return clock.stamp(cell)


def _board(row: list[str], layout: _Layout) -> tuple[str, bool]:
    for role in (UUID, _BUS, INDEX):
        cell = layout.cell(role, row)
        if not read.is_missing(cell):
            label = "_".join(cell.split())
            return (f"gpu{label}" if label.isdigit() else label), role == UUID
        if role in layout.columns and role == INDEX:
            message = "a row without its board"
            raise ReadError(message)
    return "gpu", False


def _layout(row: Sequence[str], options: Options) -> _Layout | None:
    """Return what the columns of a header hold; None if it is none of a table of power."""
    if any(_PLAIN.fullmatch(cell) for cell in row):
        return None
    columns: dict[str, Column] = {}
    powers: list[Column] = []
    mine = [_role(cell, options) for cell in row]
    for place, (role, name, unit) in enumerate(mine):
        if role == POWER:
            powers.append(Column(place, unit, name))
        elif role and role not in columns:
            columns[role] = Column(place, unit, name)
    if UUID in columns and INDEX in columns and columns[INDEX].name == "gpu":
        columns.setdefault(NAME, columns.pop(INDEX))  # as `read_power` names it
    if not powers:
        return None
    powers.sort(key=lambda column: _RANK.get(column.name, -1))
    return _Layout(columns, powers, len(row))


def _role(cell: str, options: Options) -> tuple[str, str, str]:
    """Return what a column is, its bare name, and the unit in it."""
    if cell in options.renamed:
        _, unit = _bare(cell)
        return options.renamed[cell], "", unit
    name, unit = _bare(cell)
    return _ROLES.get(name, ""), name, unit


def _bare(cell: str) -> tuple[str, str]:
    name = cell.lstrip("#").strip()
    unit = ""
    if found := _BRACKETS.fullmatch(name):
        name, unit = found.groups()
        unit = unit if unit in read.WATTS | read.JOULES else _UNITS.get(unit.casefold(), "")
    name = name.casefold()
    if name not in _ROLES and (found := _SUFFIX.fullmatch(name)):
        name, unit = found.group(1), _UNITS.get(found.group(2), found.group(2))
    return name, unit


def _unnamed(row: Sequence[str]) -> _Layout | None:
    """Guess the columns of a row of a table without a header, where only one guess is possible.

    Its power is the one cell in W; its board is told by a UUID or a bus address. A bare whole
    number may be an index or a temperature, so with one the columns must be listed.
    """
    times = [place for place, cell in enumerate(row) if _STAMPED.match(cell)]
    watts = [place for place, cell in enumerate(row) if _WATTS.fullmatch(cell)]
    if len(times) != 1 or len(watts) != 1:
        return None
    columns = {TIME: Column(times[0], "", "")}
    for role, pattern in ((UUID, _UUID), (_BUS, _BUS_ID)):
        for place, cell in enumerate(row):
            if pattern.fullmatch(cell):
                columns.setdefault(role, Column(place, "", ""))
    if len(columns) == 1 and any(cell.isdigit() for cell in row):
        shown = listing(cell for cell in row if cell.isdigit())
        message = (
            f"no header, and {shown} may be an index or something else: pass columns= the fields "
            'of --query-gpu in their order, as ["timestamp", "index", "power.draw"]'
        )
        raise ReadError(message)
    return _Layout(columns, [Column(watts[0], "", "")], len(row))


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _in_bunches(times: np.ndarray) -> bool:
    """Say whether samples of one name are of several boards, by how they follow each other."""
    steps = np.diff(np.sort(times[np.isfinite(times)]))
    if not len(steps):
        return False
    sweep = float(np.quantile(steps, 0.9))
    return float(np.mean(steps <= _SAME_SWEEP * sweep)) >= _BUNCHED
