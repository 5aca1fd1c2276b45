"""MLPerf's power log, ``spl.txt`` of SPEC PTDaemon: a whole server, measured at the wall.

Each line is pairs of names and values, ``Time,07-23-2024 15:47:16.858,Watts,172.9,…``. Stamps are
of the director's clock, month first, without a zone (``timezone=``). The log begins before the run
and ends after it: cut it with ``between=`` (``power_begin`` and ``power_end`` of the run's
``mlperf_log_detail.txt``). ``scope`` is ``wall``: no boards, so :func:`~hetcost.attach_power`
refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import WALL, Options, Sample, numbered
from hetcost.readers.records import Found

TOOL = "PTDaemon"

_LINE = re.compile(r"^Time,[^,\n]*,Watts,", re.MULTILINE)


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is a log of PTDaemon."""
    return _LINE.search(head) is not None


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a log, each with its line; or why there is none."""
    for line, written in numbered(text):
        try:
            cells = read.split(written, ",")
            pairs = dict(zip(cells[::2], cells[1::2], strict=False))
            if "Time" not in pairs or "Watts" not in pairs:
                message = "a line without Time and Watts"
                raise ReadError(message)  # noqa: TRY301  one place that tells the line
            t_s = options.clock.stamp(pairs["Time"], month_first=True)
            power_w = read.in_unit(pairs["Watts"], read.WATTS, "W")
        except ReadError as error:
            yield Found(line, reason=str(error))
        else:
            yield Found(line, Sample(t_s, "wall", power_w, scope=WALL))
