"""codecarbon ``emissions.csv``: energy of the boards by run; its power and rates are not read.

================================  =============================================================
column                            note
================================  =============================================================
timestamp, duration               end of the run, local, in whole seconds (``timezone=``); s
gpu_energy                        kWh of all boards: shared out evenly, as their sum is what counts
gpu_count, gpu_model              ``8``, or ``8 x NVIDIA H100 …``
gpu_power, emissions_rate         not read: the last sample, and kW or g/s in older versions
cpu_energy, ram_energy            not read: no boards, and RAM is a model by its size
================================  =============================================================

A board of which 0 kWh is told in over a second was not measured. Rows of one run that were written
as it went hold each other: the longest stays. codecarbon 1 does not write ``gpu_energy``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Options, numbered
from hetcost.power_logs.windows import Window, samples_of_windows
from hetcost.readers.records import Found

TOOL = "codecarbon"

_OWN = {"timestamp", "duration", "emissions"}
_STAMP_S = 1.0  # stamps are cut to whole seconds
_SHORTEST_S = 1e-3
_COUNTED = re.compile(r"(\d+)\s*[xX]\s*(.+)")


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is a table of emissions."""
    return set(_header(head)) >= _OWN


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a table, each with its line; or why there is none."""
    names = _header(text)
    if "gpu_energy" not in names:
        yield Found(1, reason="no gpu_energy: codecarbon writes it from version 2 on")
        return
    windows: list[Window] = []
    for line, written in list(numbered(text))[1:]:
        try:
            cells = read.split(written, ",")
            if cells == names:
                continue
            if len(cells) != len(names):
                message = f"{len(cells)} cells where the header has {len(names)}"
                raise ReadError(message)  # noqa: TRY301  one place that tells the line
            windows += _windows(line, dict(zip(names, cells, strict=True)), options)
        except ReadError as error:
            yield Found(line, reason=str(error))
    yield from samples_of_windows(windows, _STAMP_S)


def _header(text: str) -> list[str]:
    first = next(numbered(text), (1, ""))[1]
    try:
        return read.split(first, ",")
    except ReadError:
        return []


def _windows(line: int, row: dict[str, str], options: Options) -> list[Window]:
    energy_j = read.in_unit(row["gpu_energy"], read.JOULES, "kWh")
    length_s, _ = read.quantity(row["duration"])
    if not length_s > _SHORTEST_S:
        message = f"duration: {row['duration']!r} s is no length of a run"
        raise ReadError(message)
    count, name = _boards(row)
    if not energy_j > 0:
        lacks = "its energy was not measured" if count else "no board was seen"
        message = f"gpu_energy is {row['gpu_energy'] or 'missing'}: {lacks}"
        raise ReadError(message)
    end_s = options.clock.stamp(row["timestamp"])
    each = energy_j / max(count, 1)
    return [
        Window(line, f"gpu{index}", end_s - length_s, length_s, each, name)
        for index in range(max(count, 1))
    ]


def _boards(row: dict[str, str]) -> tuple[int, str | None]:
    """Return the number of boards and the name they share."""
    model = row.get("gpu_model", "")
    found = _COUNTED.fullmatch(model) or _COUNTED.fullmatch(row.get("gpu_count", ""))
    name = found.group(2) if found else model
    number, _ = read.quantity(row.get("gpu_count", "") if found is None else found.group(1))
    if number != number:
        return (1 if name else 0), name or None
    if number != int(number) or number > 10_000:
        message = f"gpu_count: {number:g} is no number of boards"
        raise ReadError(message)
    return int(number), name or None
