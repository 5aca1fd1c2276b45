"""Energy of runs from power logs: integrated over each run's own time."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import numbers, require
from hetcost.errors import AssumptionError, ColumnError, DataWarning, listing

Floats = NDArray[np.float64]

_GAP_IN_INTERVALS = 5.0  # a longer pause between two samples is a gap, unless the caller says
_FILLED = ("gpu_energy_j", "gpu_power_w", "power_covered_frac")


def attach_power(
    runs: pd.DataFrame,
    power: pd.DataFrame,
    *,
    start_s: str | float = "start_s",
    min_covered_frac: float = 0.9,
    max_gap_s: float | None = None,
) -> pd.DataFrame:
    """Fill the energy of runs from a log of board power.

    Power is integrated by trapezoids over the true stamps, per board, from the run's start to
    its end; boards are summed. A pause longer than `max_gap_s` is not bridged. What lies in
    gaps is taken to draw the mean of the rest, as far as at least `min_covered_frac` of the run
    is covered.

    Parameters
    ----------
    runs : Rows with ``n_gpus duration_s`` and the start of each run on the clock of the log.
    power : Tidy log: ``t_s gpu_uuid power_w``, any order, any sampling. [s], [W]
    start_s : Column of `runs` that holds the starts, or the one start of all. [s]
    min_covered_frac : Least share of a run that every board's log must cover. [1]
    max_gap_s : Longest pause that is bridged; five of the board's median intervals if None. [s]

    Returns
    -------
    The same rows with ``gpu_energy_j gpu_power_w`` (of all boards; [J], [W]), ``energy_method``
    (``integrated``), ``power_covered_frac`` (of the board covered least) and ``power_note``, why
    a run got nothing. A run that the log does not reach keeps what it had.

    Raises
    ------
    ColumnError
        A column is missing or holds what is no number, power is negative, or one board has two
        readings at one time.
    AssumptionError
        The log overlaps no run, or holds more boards during a run than the run used.

    Examples
    --------
    >>> run = pd.DataFrame([{"n_gpus": 1, "start_s": 100.0, "duration_s": 10.0}])
    >>> log = pd.DataFrame({"t_s": [98.0, 103.0, 108.0, 113.0], "gpu_uuid": "a", "power_w": 300.0})
    >>> attach_power(run, log)["gpu_energy_j"].item()
    3000.0
    """
    require(runs, ["n_gpus", "duration_s"], "attach_power")
    require(power, ["t_s", "gpu_uuid", "power_w"], "attach_power")
    starts = _starts(runs, start_s)
    durations, expected = numbers(runs, "duration_s"), numbers(runs, "n_gpus")
    boards = _boards(power, max_gap_s)
    windows = [
        _Window(start, start + duration) for start, duration in zip(starts, durations, strict=True)
    ]
    found = [
        _measure(window, boards, count, min_covered_frac, str(label))
        for window, count, label in zip(windows, expected, runs.index, strict=True)
    ]
    if len(runs) and not any(result.reached for result in found):
        ran = f"{np.nanmin(starts):g} to {np.nanmax(starts + durations):g} s"
        message = (
            f"attach_power: the log ({_span(power)}) overlaps no run ({ran}): "
            "are both on one clock?"
        )
        raise AssumptionError(message)
    reached = np.array([result.reached for result in found], dtype=bool)
    added: dict[str, Any] = {}
    for place, name in enumerate(_FILLED):
        values = np.array([result[place] for result in found], dtype="float64")
        before = numbers(runs, name) if name in runs else np.full(len(runs), np.nan)
        added[name] = np.where(reached, values, before)
    methods = runs["energy_method"] if "energy_method" in runs else pd.Series(None, runs.index)
    measured = np.array([np.isfinite(result.energy_j) for result in found], dtype=bool)
    added["energy_method"] = methods.astype("str").mask(reached, None).mask(measured, "integrated")
    notes = [result.note for result in found]
    added["power_note"] = pd.Series(notes, index=runs.index, dtype="str")
    return runs.assign(**added)


class _Window(NamedTuple):
    start_s: float
    end_s: float


class _Board(NamedTuple):
    """The samples of one board, in order, and the longest pause that is bridged."""

    uuid: str
    t_s: Floats
    power_w: Floats
    max_gap_s: float


class _Found(NamedTuple):
    energy_j: float
    power_w: float
    covered_frac: float
    note: str
    reached: bool


def _starts(runs: pd.DataFrame, start_s: str | float) -> Floats:
    if not isinstance(start_s, str):
        return np.full(len(runs), float(start_s))
    if start_s not in runs:
        message = (
            f"attach_power: the runs lack '{start_s}', the start of each on the clock of the log; "
            "add it with .assign(), or pass start_s= a column's name or one number"
        )
        raise ColumnError(message)
    return numbers(runs, start_s)


def _boards(power: pd.DataFrame, max_gap_s: float | None) -> list[_Board]:
    log = pd.DataFrame({"t_s": numbers(power, "t_s"), "power_w": numbers(power, "power_w")}).assign(
        gpu_uuid=power["gpu_uuid"].to_numpy()
    )
    if (negative := log["power_w"] < 0).any():
        row = int(np.argmax(negative))
        message = (
            f"attach_power: power_w={log['power_w'][row]:g} in row {row} of the log is negative"
        )
        raise ColumnError(message)
    usable = log[np.isfinite(log["t_s"]) & np.isfinite(log["power_w"]) & log["gpu_uuid"].notna()]
    if len(usable) < len(log):
        message = (
            f"attach_power: {len(log) - len(usable)} of {len(log)} samples lack time, board or "
            "power and are left out"
        )
        warnings.warn(message, DataWarning, stacklevel=3)
    boards = []
    for uuid, samples in usable.drop_duplicates().sort_values("t_s").groupby("gpu_uuid"):
        if (twice := samples["t_s"].duplicated()).any():
            message = (
                f"attach_power: board '{uuid}' has two readings at t_s="
                f"{samples['t_s'][twice].iloc[0]:g}: is it logged at two places?"
            )
            raise ColumnError(message)
        times = np.asarray(samples["t_s"].to_numpy())
        pause = float(np.median(np.diff(times))) * _GAP_IN_INTERVALS if len(times) > 1 else 0.0
        watts = np.asarray(samples["power_w"].to_numpy())
        boards.append(_Board(str(uuid), times, watts, pause if max_gap_s is None else max_gap_s))
    return boards


def _measure(
    window: _Window, boards: list[_Board], expected: float, min_covered_frac: float, run: str
) -> _Found:
    def nothing(note: str, *, covered: float = np.nan, reached: bool) -> _Found:
        return _Found(np.nan, np.nan, covered, note, reached)

    length = window.end_s - window.start_s
    if not (length > 0 and np.isfinite(length)):
        return nothing("the run has no start or no duration", reached=False)
    parts = {board.uuid: _integrated(board, window) for board in boards}
    there = {uuid: part for uuid, part in parts.items() if part[1] > 0}
    if not there:
        return nothing("the log does not reach the run", covered=0.0, reached=False)
    if len(there) > expected:
        message = (
            f"attach_power: during run {run} the log holds {len(there)} boards "
            f"({listing(there)}), the run used {expected:g}: keep its own"
        )
        raise AssumptionError(message)
    covered = min(seconds for _, seconds in there.values()) / length
    if len(there) < expected or np.isnan(expected):
        known = f"{len(there)} of {expected:g} boards are in the log"
        return nothing(known, covered=covered, reached=True)
    if covered < min_covered_frac:
        known = f"the log covers {covered:.0%} of the run, less than {min_covered_frac:.0%}"
        return nothing(known, covered=covered, reached=True)
    power_w = sum(joules / seconds for joules, seconds in there.values())
    return _Found(power_w * length, power_w, covered, "", reached=True)


def _integrated(board: _Board, window: _Window) -> tuple[float, float]:
    """Return joules and seconds of a board within a window, gaps left out."""
    before, after = board.t_s[:-1], board.t_s[1:]
    bridged = after - before <= board.max_gap_s
    low = np.clip(before, window.start_s, window.end_s)
    high = np.clip(after, window.start_s, window.end_s)
    seconds = np.where(bridged, high - low, 0.0)
    watts = np.interp([low, high], board.t_s, board.power_w).mean(axis=0)
    return float((watts * seconds).sum()), float(seconds.sum())


def _span(power: pd.DataFrame) -> str:
    times = numbers(power, "t_s")
    return (
        "empty"
        if not np.isfinite(times).any()
        else f"{np.nanmin(times):g} to {np.nanmax(times):g} s"
    )
