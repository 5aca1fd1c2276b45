"""macOS ``powermetrics`` text: power of the GPU in an Apple chip.

A block per sample: ``*** Sampled system activity (Fri Nov 10 12:37:08 2023 +0100) (104.51ms
elapsed) ***`` and, in it, ``GPU Power: 153 mW``, the mean since the sample before. Stamps are cut
to whole seconds, so samples follow each other by what elapsed. ``scope`` is ``module``: the GPU
alone, without the memory it shares. CPU, ANE, DRAM and package power are not read: no boards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import MODULE, Options, numbered
from hetcost.power_logs.windows import Window, samples_of_windows
from hetcost.readers.fields import shown
from hetcost.readers.records import Found
from hetcost.units import MS_PER_S

TOOL = "powermetrics"

_BLOCK = re.compile(r"\*+ Sampled system activity \((.+?)\) \(([0-9.]+)ms elapsed\) \*+")
_BEGIN = "Sampled system activity ("
_POWER = re.compile(r"GPU Power: (.+)")
_STAMP_S = 1.0  # stamps are cut to whole seconds
_LAG_S = 0.5  # by which samples may fall behind their stamps before they are set anew


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is of powermetrics."""
    return _BEGIN in head


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of a log, each with its line; or why there is none."""
    windows: list[Window] = []
    begun: tuple[int, float, float] | None = None  # line, end, length
    for line, written in numbered(text):
        try:
            if _BEGIN in written:
                if begun is not None:
                    yield Found(begun[0], reason="a sample without GPU power")
                before_s = windows[-1].start_s + windows[-1].length_s if windows else None
                begun = None
                begun = (line, *_time(written, before_s, options))
            elif begun is not None and (power := _POWER.fullmatch(written)):
                _, end_s, length_s = begun
                energy_j = read.in_unit(power.group(1), read.WATTS, "") * length_s
                windows.append(
                    Window(begun[0], "gpu", end_s - length_s, length_s, energy_j, scope=MODULE)
                )
                begun = None
        except ReadError as error:
            yield Found(line, reason=str(error))
    if begun is not None:
        yield Found(begun[0], reason="the last sample is cut short: no GPU power")
    yield from samples_of_windows(windows, _STAMP_S)


def _time(written: str, before_s: float | None, options: Options) -> tuple[float, float]:
    """Return end and length of a sample: behind the one before, unless the stamp says otherwise."""
    block = _BLOCK.fullmatch(written)
    if block is None:
        message = f"{shown(written)} is no begin of a sample"
        raise ReadError(message)
    stamp_s = options.clock.stamp(block.group(1))
    length_s = float(read.quantity(block.group(2))[0]) / MS_PER_S
    if not length_s > 0:
        message = f"{block.group(2)} ms is no length of a sample"
        raise ReadError(message)
    if before_s is not None and -_LAG_S <= before_s + length_s - stamp_s <= _STAMP_S + _LAG_S:
        return before_s + length_s, length_s
    return stamp_s, length_s
