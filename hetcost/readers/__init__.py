"""Result files of load generators → rows in the run columns; what cannot be read is refused.

One module per tool. A reader says which JSON objects are its own (`claims`, by content, never by
file name) and turns one into a row (`row`), raising :class:`~hetcost.errors.ReadError` with the
reason where it cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hetcost.errors import ReadError, listing
from hetcost.readers import vllm


class Reader(Protocol):
    """What a module of this package offers."""

    TOOL: str

    def claims(self, record: Mapping[str, Any]) -> bool:
        """Say whether the object is a result of this tool."""

    def row(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Turn the object into a row of run columns."""


READERS: tuple[Reader, ...] = (vllm,)


def read_record(record: object) -> dict[str, Any]:
    """Turn one JSON value into a row of run columns.

    Raises
    ------
    ReadError
        No reader knows the value, or the reader that does cannot make a row of it.
    """
    if not isinstance(record, Mapping):
        message = f"not a result but a JSON {type(record).__name__}"
        raise ReadError(message)
    for reader in READERS:
        if reader.claims(record):
            return reader.row(record)
    keys = listing(record, 6) or "none"
    tools = listing(reader.TOOL for reader in READERS)
    message = f"not a result of a known tool ({tools}); its keys are {keys}"
    raise ReadError(message)
