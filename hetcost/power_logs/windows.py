"""Windows of energy → samples: constant power from the start of each to its end."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hetcost.power_logs.samples import BOARD, Note, Sample
from hetcost.readers.records import Found

_ROUNDED_S = 1e-3  # by which the end of a window and the begin of the next may differ


class Window(NamedTuple):
    """Energy of a board over a time, in s since 1970, s and J."""

    line: int
    board: str
    start_s: float
    length_s: float
    energy_j: float
    gpu: str | None = None
    scope: str = BOARD


def samples_of_windows(windows: Iterable[Window], slack_s: float = _ROUNDED_S) -> Iterator[Found]:
    """Yield two samples per window, whose trapezoid is its energy.

    A window within a longer one of its board is left out, and told: its energy is in that one. One
    that overlaps another in part is refused. Where stamps are rounded, windows that overlap by no
    more than `slack_s` are moved apart. [s]
    """
    by_board: dict[str, list[Window]] = {}
    for window in windows:
        by_board.setdefault(window.board, []).append(window)
    within: list[int] = []
    for mine in by_board.values():
        kept: list[Window] = []  # by their starts
        for window in sorted(mine, key=lambda each: (-each.length_s, each.start_s, each.line)):
            place = bisect.bisect(kept, window.start_s, key=lambda each: each.start_s)
            beside = kept[max(place - 1, 0) : place + 1]
            over = max(beside, key=lambda each: _overlap_s(each, window), default=window)
            overlap_s = -math.inf if over is window else _overlap_s(over, window)
            if overlap_s <= min(slack_s, window.length_s / 2):
                kept.insert(place, window)
            elif overlap_s >= window.length_s - slack_s:
                within.append(window.line)
            else:
                told = f"its time overlaps that of line {over.line} in part"
                yield Found(window.line, reason=told)
        yield from _in_order(kept)
    if within:
        told = (
            f"{len(within)} windows lie within longer ones, which hold their energy, and are left "
            f"out; the first is that of line {min(within)}"
        )
        yield Found(min(within), Note(told))


def _overlap_s(one: Window, other: Window) -> float:
    end = min(one.start_s + one.length_s, other.start_s + other.length_s)
    return end - max(one.start_s, other.start_s)


def _in_order(windows: list[Window]) -> Iterator[Found]:
    free_s = -math.inf
    for window in windows:
        start = max(window.start_s, free_s)
        end = start + window.length_s
        power = window.energy_j / window.length_s
        sample = Sample(start, window.board, power, gpu=window.gpu, scope=window.scope, step=True)
        yield Found(window.line, sample)
        # The last moment of this window comes before the first of the next.
        last = math.nextafter(end, -math.inf)
        yield Found(window.line, sample._replace(t_s=last))
        free_s = end
