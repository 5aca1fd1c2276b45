"""What the columns of a table of power hold, by their names, or by a row without any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hetcost.errors import ReadError, listing
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import ENERGY, INDEX, NAME, POWER, TIME, UUID, Options

BUS, DAY, SCOPE = "bus", "date", "scope"
COUNT = "count"  # of the boards of the machine
_NAMES = {
    TIME: "timestamp|time|time_utc|timestamp_utc|utc|t|datetime|date_time|epoch|unix_time"
    "|ts|elapsed|time_stamp",
    DAY: "date|day",
    SCOPE: "scope",
    COUNT: "count",
    UUID: "gpu_uuid|uuid",
    BUS: "pci.bus_id|gpu_bus_id|pci_bus_id|bus_id",
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
_LIST_THEM = (
    "pass columns= the fields of --query-gpu in their order, as "
    '["timestamp", "index", "power.draw"]'
)


class Column(NamedTuple):
    """Where a column stands, and the unit that its name states."""

    place: int
    unit: str
    name: str


class Layout(NamedTuple):
    """What the columns of a table hold."""

    columns: dict[str, Column]
    powers: list[Column]
    width: int

    def cell(self, role: str, row: Sequence[str]) -> str:
        """Return a row's cell of a role; blank where there is none."""
        column = self.columns.get(role)
        return row[column.place] if column is not None and column.place < len(row) else ""


def layout_of(row: Sequence[str], options: Options) -> Layout | None:
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
    if TIME not in columns and DAY in columns:
        columns[TIME] = columns.pop(DAY)
    powers.sort(key=lambda column: _RANK.get(column.name, -1))
    return Layout(columns, powers, len(row))


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


def layout_of_row(row: Sequence[str]) -> Layout | None:
    """Guess the columns of a row of a table without a header, where only one guess is possible.

    Its power is the one cell in W; its board is told by a UUID or a bus address. A bare whole
    number may be an index or a temperature, so with one the columns must be listed.
    """
    if not is_row(row):
        return None
    times = [place for place, cell in enumerate(row) if _STAMPED.match(cell)]
    watts = [place for place, cell in enumerate(row) if _WATTS.fullmatch(cell)]
    if len(watts) != 1:
        message = f"no header, and {len(watts)} cells in W: {_LIST_THEM}"
        raise ReadError(message)
    columns = {TIME: Column(times[0], "", "")}
    for role, pattern in ((UUID, _UUID), (BUS, _BUS_ID)):
        for place, cell in enumerate(row):
            if pattern.fullmatch(cell):
                columns.setdefault(role, Column(place, "", ""))
    if len(columns) == 1 and any(cell.isdigit() for cell in row):
        shown = listing(cell for cell in row if cell.isdigit())
        message = f"no header, and {shown} may be an index or something else: {_LIST_THEM}"
        raise ReadError(message)
    return Layout(columns, [Column(watts[0], "", "")], len(row))


def is_row(row: Sequence[str]) -> bool:
    """Say whether a row may be of a table without a header: one stamp, and numbers."""
    stamps = sum(_STAMPED.match(cell) is not None for cell in row)
    numbers = [cell for cell in row if _WATTS.fullmatch(cell) or _PLAIN.fullmatch(cell)]
    return stamps == 1 and len(numbers) > 0
