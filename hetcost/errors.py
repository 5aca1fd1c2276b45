"""What hetcost raises and warns: errors say what was wrong, where, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HetcostError(ValueError):
    """Base of every error that hetcost raises on purpose."""


class ColumnError(HetcostError):
    """A frame lacks columns, or holds values outside a column's bounds."""


class ReferenceDataError(HetcostError):
    """A table of facts breaks its contract."""


class UnknownNameError(HetcostError):
    """A name is not among the valid ones."""


class AmbiguousNameError(UnknownNameError):
    """A name means more than one thing; `choices` are those it may mean."""

    def __init__(self, field: str, name: str, choices: list[str]) -> None:
        super().__init__(f"{field}: '{name}' may mean {listing(choices)}; say which")
        self.choices = choices


class AssumptionError(HetcostError):
    """An assumption or argument makes no sense; the message names field, value, valid range."""


class ReadError(HetcostError):
    """A result file, or a part of one, could not be read."""


class ReportError(HetcostError):
    """A notebook could not be rendered into a report."""


class DataWarning(UserWarning):
    """Rows were set apart or could not be used; the message says which."""


def nearest_first(name: object, choices: Iterable[object]) -> list[str]:
    """Sort the valid names by likeness to what was written, so that the likely one leads."""
    text = str(name).casefold()

    def unlikeness(choice: str) -> tuple[float, str]:
        other = choice.casefold()
        ratio = difflib.SequenceMatcher(None, text, other).ratio()
        return (-ratio - (text in other), choice)

    return sorted((str(choice) for choice in choices), key=unlikeness)


def listing(choices: Iterable[object], most: int = 12) -> str:
    """Write names as `'a', 'b', 'c' … (n more)`."""
    names = [f"'{choice}'" for choice in choices]
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" … ({rest} more)" if rest > 0 else "")


def unknown_name(field: str, value: object, choices: Iterable[object]) -> UnknownNameError:
    """Build the error for a name nobody knows: field, value, valid choices, nearest first."""
    nearest = listing(nearest_first(value, choices))
    message = f"{field}: unknown value {value!r}; valid choices, nearest first: {nearest}"
    return UnknownNameError(message)
