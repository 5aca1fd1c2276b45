"""Zeus: windows of its monitor (``log_file=``), and power by time of its power monitor.

=======================================  =====================================================
column                                   note
=======================================  =====================================================
start_time                               a boot clock in most versions: needs ``zero_s=``
elapsed_time                             s
gpu0_energy, gpu1_energy …               J in the window, one board each; of CPU and DRAM no board
time; power0, power1 … or gpu0_power …   of the power monitor, and of loggers that write so: s, W
=======================================  =====================================================

Energy below zero means that the counter was reset within the window: the line is refused. Of
windows in windows the longest stays. Boards are known by index, within their file only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Options, Sample, numbered
from hetcost.power_logs.windows import Window, samples_of_windows
from hetcost.readers.records import Found

TOOL = "Zeus"

_WINDOWS = ("start_time", "window_name", "elapsed_time")
_ENERGY = re.compile(r"gpu(\d+)_energy")
_TIMES = ("time", "timestamp")
_POWER = re.compile(r"gpu_?(\d+)_power(?:_w|_draw)?|power_?(\d+)(?:_w)?")
_SHORTEST_S = 1e-3


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is of Zeus."""
    names = _header(head)
    return names[:3] == list(_WINDOWS) or bool(
        names[:1]
        and names[0] in _TIMES
        and len(names) > 1
        and all(map(_POWER.fullmatch, names[1:]))
    )


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a log, each with its line; or why there is none."""
    names = _header(text)
    windows: list[Window] = []
    for line, written in list(numbered(text))[1:]:
        cells = read.split(written, ",")
        if cells == names:
            continue
        try:
            if len(cells) != len(names):
                message = f"{len(cells)} cells where the header has {len(names)}"
                raise ReadError(message)  # noqa: TRY301  one place that tells the line
            row = dict(zip(names, cells, strict=True))
            if names[0] in _TIMES:
                for sample in _powers(row, options):
                    yield Found(line, sample)
            else:
                windows += _windows(line, row, options)
        except ReadError as error:
            yield Found(line, reason=str(error))
    yield from samples_of_windows(windows)


def _header(text: str) -> list[str]:
    first = next(numbered(text), (1, ""))[1]
    try:
        return [name.casefold() for name in read.split(first, ",")]
    except ReadError:
        return []


def _powers(row: dict[str, str], options: Options) -> Iterator[Sample]:
    t_s = options.clock.stamp(row.get("time") or row.get("timestamp", ""))
    for name, cell in row.items():
        if found := _POWER.fullmatch(name):
            index = found.group(1) or found.group(2)
            yield Sample(t_s, f"gpu{index}", read.in_unit(cell, read.WATTS, "W"))


def _windows(line: int, row: dict[str, str], options: Options) -> list[Window]:
    start_s = options.clock.stamp(row["start_time"])
    length_s, _ = read.quantity(row["elapsed_time"])
    if not length_s > _SHORTEST_S:
        message = f"elapsed_time: {row['elapsed_time']!r} s is no length of a window"
        raise ReadError(message)
    found = []
    for name, cell in row.items():
        if board := _ENERGY.fullmatch(name):
            energy_j, _ = read.quantity(cell)
            if energy_j < 0:
                message = f"{name}: {energy_j:g} J: the counter was reset in this window"
                raise ReadError(message)
            found.append(Window(line, f"gpu{board.group(1)}", start_s, length_s, energy_j))
    if not found:
        message = "no energy of a board (gpu0_energy …)"
        raise ReadError(message)
    return found
