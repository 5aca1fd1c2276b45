"""What a reader of power logs yields: samples, windows of energy, and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from hetcost.errors import AssumptionError, unknown_name
from hetcost.power_logs.clock import Clock

BOARD, MODULE, WALL = "board", "module", "wall"
TIME, UUID, INDEX, NAME, POWER, ENERGY = (
    "timestamp",
    "gpu_uuid",
    "index",
    "name",
    "power_w",
    "energy_j",
)
ROLES = (TIME, UUID, INDEX, NAME, POWER, ENERGY)

Columns = Mapping[str, str] | Sequence[str] | None


class Sample(NamedTuple):
    """One reading of one board.

    ``t_s`` since 1970 [s], ``power_w`` [W], ``energy_j`` a counter's reading [J]. ``board`` is its
    UUID where ``named``, else what tells it apart within its file. ``gpu`` is the card's name as
    written, ``endpoint`` where it was read of several places. ``step``: power is constant up to
    the next sample of the same window.
    """

    t_s: float
    board: str
    power_w: float
    energy_j: float = math.nan
    gpu: str | None = None
    named: bool = False
    scope: str = BOARD
    endpoint: str = ""
    step: bool = False


class Note(NamedTuple):
    """What is to be told of a file as a whole."""

    text: str


class Options(NamedTuple):
    """What the caller says of logs that they do not say themselves."""

    clock: Clock
    decimal: str = "."
    columns: Columns = None

    @property
    def order(self) -> list[str] | None:
        """Names of the columns of tables without a header."""
        given = self.columns
        return None if given is None or isinstance(given, Mapping) else list(given)

    @property
    def renamed(self) -> Mapping[str, str]:
        """Names of columns in a table, and ours that they mean."""
        return self.columns if isinstance(self.columns, Mapping) else {}


def checked(clock: Clock, decimal: str, columns: Columns) -> Options:
    """Return options, if they make sense.

    Raises
    ------
    AssumptionError
        A value is none of the valid ones.
    UnknownNameError
        A name of a column leads to none of ours.
    """
    if decimal not in (".", ","):
        message = f"decimal={decimal!r}: valid values are '.' and ','"
        raise AssumptionError(message)
    if columns is not None:
        names = list(columns) if isinstance(columns, (Mapping, Sequence)) else [None]
        if isinstance(columns, (str, bytes)) or not all(isinstance(name, str) for name in names):
            message = (
                f"columns={columns!r}: names of columns and ours that they mean, or, of a table "
                "without a header, the names of its columns in their order"
            )
            raise AssumptionError(message)
        if isinstance(columns, Mapping):
            for name in columns.values():
                if name not in ROLES:
                    raise unknown_name("columns", name, ROLES)
    return Options(clock, decimal, columns)


class Sweeps:
    """Times of samples without stamps: the n-th of each board is of the n-th sweep."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, int] = {}

    def t_s(self, board: str) -> float:
        """Return the time of the next sample of a board.

        Raises
        ------
        ReadError
            It is not known when sampling began, or how often.
        """
        place = self._seen.get(board, 0)
        self._seen[board] = place + 1
        return self._clock.nth(place)


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text that are not blank, with their numbers."""
    for line, raw in enumerate(text.split("\n"), start=1):
        if written := raw.strip():
            yield line, written
