"""Cells of logs → numbers: units, what stands for a missing reading, decimal commas."""

from __future__ import annotations

import csv
import math
import re

from hetcost.errors import ReadError
from hetcost.readers.fields import shown

# Of one watt, one joule; an empty unit is that of the column.
WATTS = {"W": 1.0, "watts": 1.0, "mW": 1e-3, "milliwatts": 1e-3, "uW": 1e-6, "µW": 1e-6, "kW": 1e3}
JOULES = {"J": 1.0, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6, "Wh": 3.6e3, "kWh": 3.6e6}

_MISSING = frozenset(
    ("", "-", "--", "n/a", "na", "nan", "none", "null", "unknown", "unknown error", "err!")
)
_NUMBER = re.compile(r"([+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\D*)")
# Values that DCGM gives for "blank": of 32 and 64 bits, and of floats.
_BLANK_INT32, _BLANK_FLOAT, _LARGEST_32 = 0x7FFFFFF0, 140737488355328.0, 2**32 - 1


def is_missing(cell: str) -> bool:
    """Say whether a cell stands for no reading: blank, a dash, N/A, or anything in brackets.

    Examples
    --------
    >>> is_missing("[Not Supported]"), is_missing("0.00 W")
    (True, False)
    """
    return (cell[:1] == "[" and cell[-1:] == "]") or cell.strip().casefold() in _MISSING


def quantity(cell: str, decimal: str = ".") -> tuple[float, str]:
    """Read a number and the unit behind it; NaN where it stands for no reading.

    Raises
    ------
    ReadError
        It is no number, or has the other decimal sign.
    """
    if is_missing(cell):
        return math.nan, ""
    found = _NUMBER.fullmatch(cell.strip())
    if found is None:
        message = f"{shown(cell)} is no number"
        raise ReadError(message)
    written, unit = found.groups()
    other = "," if decimal == "." else "."
    if other in written:
        kind = "comma" if other == "," else "point"
        message = f"{shown(cell)}: a decimal {kind}, where decimal={decimal!r}"
        raise ReadError(message)
    value = float(written.replace(decimal, "."))
    if math.isinf(value):
        message = f"{shown(cell)} is no number that can be measured"
        raise ReadError(message)
    return value, unit.strip()


def in_unit(cell: str, units: dict[str, float], unit: str, decimal: str = ".") -> float:
    """Read a quantity in the base unit; the unit is the cell's, else the column's.

    Raises
    ------
    ReadError
        It is no number, is negative, or has a unit that is none of those.
    """
    value, own = quantity(cell, decimal)
    if math.isnan(value):
        return value
    factor = units.get(own or unit)
    if factor is None:
        message = f"{shown(cell)}: the unit is none of {', '.join(units)}"
        raise ReadError(message)
    if value < 0:
        message = f"{shown(cell)} is negative"
        raise ReadError(message)
    return value * factor


def unless_blank(value: float) -> float:
    """Return a value of DCGM; NaN for one that means that there is none.

    Examples
    --------
    >>> unless_blank(9223372036854775794), unless_blank(52.6)
    (nan, 52.6)
    """
    blank_32 = _BLANK_INT32 <= value <= _BLANK_INT32 + 0xF or value == _LARGEST_32
    return math.nan if blank_32 or value >= _BLANK_FLOAT else value


def split(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, without blanks around them.

    Raises
    ------
    ReadError
        A quote is left open.
    """
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    try:
        cells = next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True))
    except csv.Error as error:
        message = f"no row of a table: {error}"
        raise ReadError(message) from None
    return [cell.strip() for cell in cells]
