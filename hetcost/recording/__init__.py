"""Record board power while a command runs: a log that :func:`hetcost.read_power` reads back."""

from __future__ import annotations

from hetcost.recording.log import Recorded, record, run
from hetcost.recording.readings import NoBoardError

__all__ = ["NoBoardError", "Recorded", "record", "run"]
