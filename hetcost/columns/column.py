"""One entry of the data dictionary, and short ways to write one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "number", "count", "flag"]


@dataclass(frozen=True)
class Column:
    """One entry of the data dictionary."""

    name: str
    kind: Kind
    unit: str
    label: str
    meaning: str
    low: float = -math.inf
    high: float = math.inf
    infinite: bool = False


def text(name: str, meaning: str, label: str = "") -> Column:
    """Describe a column of text."""
    return Column(name, "text", "", label or name.replace("_", " "), meaning)


def count(name: str, meaning: str, label: str = "", low: float = 0) -> Column:
    """Describe a column of whole numbers."""
    return Column(name, "count", "1", label or name.replace("_", " "), meaning, low)


def number(
    name: str, unit: str, label: str, meaning: str, high: float = math.inf, low: float = 0
) -> Column:
    """Describe a column of numbers."""
    return Column(name, "number", unit, label, meaning, low, high)
