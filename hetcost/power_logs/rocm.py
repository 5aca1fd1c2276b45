"""``rocm-smi --json``: objects by card, one object per poll, without a time.

Power is under ``Average Graphics Package Power (W)`` or ``Current Socket Graphics Package Power
(W)``; where both stand, one may be ``N/A``. ``Unique ID`` tells the board, ``Card series`` or
``Card Series`` its kind. Polls have no stamps: ``zero_s= every_s=``. ``rocm-smi --csv`` is a table
(:mod:`hetcost.power_logs.tables`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Options, Sample, Sweeps
from hetcost.readers.fields import inner, text

TOOL = "rocm-smi"

_CARD = re.compile(r"card\d+")
_POWER = (
    "Average Graphics Package Power (W)",
    "Current Socket Graphics Package Power (W)",
)


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether an object is what rocm-smi says of cards."""
    return any(_CARD.fullmatch(key) for key in record)


class Reader:
    """Objects of one file, in order."""

    def __init__(self, options: Options) -> None:
        self._sweeps = Sweeps(options.clock)

    def samples(self, record: Mapping[str, Any]) -> Iterator[Sample]:
        """Yield the samples in an object, one per card.

        Raises
        ------
        ReadError
            No card has power, or a field is not of its kind.
        """
        cards = {key: inner(record, key) for key in record if _CARD.fullmatch(key)}
        if not any(key in card for card in cards.values() for key in _POWER):
            message = "no power: poll rocm-smi with --showpower"
            raise ReadError(message)
        for key, card in cards.items():
            uuid = text(card, "Unique ID")
            named = uuid is not None and not read.is_missing(uuid)
            board = str(uuid) if named else key
            gpu = text(card, "Card series") or text(card, "Card Series")
            yield Sample(self._sweeps.t_s(board), board, _power_w(card), gpu=gpu, named=named)


def _power_w(card: Mapping[str, Any]) -> float:
    for key in _POWER:
        power_w = read.in_unit(text(card, key) or "", read.WATTS, "W")
        if not math.isnan(power_w):
            return power_w
    return math.nan
