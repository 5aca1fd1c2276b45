"""``nvidia-smi dmon``: columns under ``# gpu pwr …``, and why ``pmon`` says nothing of power.

========  ==========================================================================
column    note
========  ==========================================================================
gpu       index, within its file only: dmon writes no UUID
pwr       W, whole numbers; ``-`` where there is no reading. ``-s p`` writes it
Date      ``-o D``, as 20260131; needed, with Time, unless ``zero_s= every_s=`` say when
Time      ``-o T``, local: needs ``timezone=``
========  ==========================================================================

Headers are repeated in long logs; ``--format csv`` parts cells by commas. ``pmon`` logs processes:
their shares of a board's use, and no watts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Options, Sample, Sweeps, numbered
from hetcost.readers.records import Found

TOOL = "nvidia-smi dmon"

_HEADER = re.compile(r"#\s*(?:date[\s,]+)?(?:time[\s,]+)?gpu[\s,]", re.IGNORECASE)
_APART = re.compile(r"[\s,]+")


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is a log of dmon or pmon."""
    return any(_HEADER.match(line) for _, line in numbered(head))


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a log, each with its line; or why there is none."""
    names: list[str] = []
    trouble = ""
    sweeps = Sweeps(options.clock)
    for line, written in numbered(text):
        if written.startswith("#"):
            if _HEADER.match(written):
                names = [name.casefold() for name in _cells(written.lstrip("# "))]
                if "pwr" not in names and not trouble:
                    trouble = (
                        "pmon logs processes, not power: log with nvidia-smi dmon -s p -o DT"
                        if "pid" in names
                        else "dmon without power: log with -s p -o DT"
                    )
                    yield Found(line, reason=trouble)
            continue
        if names and "pwr" not in names:
            continue
        try:
            yield Found(line, _sample(names, _cells(written), options, sweeps))
        except ReadError as error:
            yield Found(line, reason=str(error))


def _cells(line: str) -> list[str]:
    return [cell for cell in _APART.split(line.strip()) if cell]


def _sample(names: list[str], cells: list[str], options: Options, sweeps: Sweeps) -> Sample:
    if len(cells) != len(names):
        message = f"{len(cells)} cells where the header has {len(names)}"
        raise ReadError(message)
    row = dict(zip(names, cells, strict=True))
    if not row["gpu"].isdigit():
        message = f"gpu: {row['gpu'][:20]!r} is no index"
        raise ReadError(message)
    board = f"gpu{row['gpu']}"
    power_w = read.in_unit(row["pwr"], read.WATTS, "W")
    if "time" not in row and "date" not in row:
        return Sample(sweeps.t_s(board), board, power_w)
    if "date" not in row or "time" not in row:
        message = "a stamp without day or without time: log with -o DT"
        raise ReadError(message)
    return Sample(options.clock.stamp(f"{row['date']} {row['time']}"), board, power_w)
