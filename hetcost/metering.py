"""Energy of runs from power logs: integrated over each run's own time."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import numbers, numbers_or_missing, require
from hetcost.errors import AssumptionError, ColumnError, DataWarning, listing
from hetcost.formulas import above, positive_fraction

Floats = NDArray[np.float64]

GAP_IN_INTERVALS = 5.0  # a longer pause between two samples is a gap, unless the caller says
_FILLED = ("gpu_energy_j", "gpu_power_w")


def attach_power(
    runs: pd.DataFrame,
    power: pd.DataFrame,
    *,
    start_s: str | float = "start_s",
    boards: str = "gpu_uuids",
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
    power : Tidy log: ``t_s gpu_uuid power_w``, any order, any sampling, as
        :func:`~hetcost.read_power` returns it. Its ``scope``, if it has one, must not be
        ``wall``: that is a whole server's. [s], [W]
    start_s : Column of `runs` that holds the starts, or the one start of all. [s]
    boards : Column of `runs` that names the boards of each, parted by blanks; a frame without it
        takes every board of the log.
    min_covered_frac : Least share of a run that every board's log must cover, and of its samples
        in the run that must have power, above 0. [1]
    max_gap_s : Longest pause that is bridged, above 0; five of the board's median intervals if
        None. At least two samples of each board must lie in a run. [s]

    Returns
    -------
    The same rows with ``gpu_energy_j gpu_power_w`` (of all boards; [J], [W]), ``energy_method``
    (``integrated``), ``power_covered_frac`` (of the board covered least) and ``power_note``, why
    a run has no energy. A run that gets nothing keeps what it had.

    Raises
    ------
    ColumnError
        A column is missing or holds what is no number, power is negative, or one board has two
        readings at one time.
    AssumptionError
        The log overlaps no run, holds more boards during a run than the run used, is of power at
        the wall, or an argument is out of range.

    Examples
    --------
    >>> run = pd.DataFrame([{"n_gpus": 1, "start_s": 100.0, "duration_s": 10.0}])
    >>> log = pd.DataFrame({"t_s": [98.0, 103.0, 108.0, 113.0], "gpu_uuid": "a", "power_w": 300.0})
    >>> attach_power(run, log)["gpu_energy_j"].item()
    3000.0
    """
    require(runs, ["n_gpus", "duration_s"], "attach_power")
    require(power, ["t_s", "gpu_uuid", "power_w"], "attach_power")
    positive_fraction(min_covered_frac=min_covered_frac)
    if max_gap_s is not None:
        above(0, max_gap_s=max_gap_s)
    limits = _Limits(min_covered_frac, max_gap_s)
    starts = _starts(runs, start_s)
    ends = starts + numbers(runs, "duration_s")
    log = _log(power)
    shared = _shared_times(starts, ends)
    own = runs[boards] if boards in runs else pd.Series(None, runs.index, dtype="str")
    found = []
    for place, (label, count) in enumerate(zip(runs.index, numbers(runs, "n_gpus"), strict=True)):
        named = own.iloc[place]
        run = _Run(str(label), starts[place], ends[place], count, shared[place], named)
        found.append(_measure(run, log, limits))
    if len(runs) and not any(result.reached for result in found):
        ran = f"{_span(np.concatenate([starts, ends]))}"
        message = (
            f"attach_power: the log ({_span(numbers(power, 't_s'))}) overlaps no run ({ran}): "
            "are both on one clock?"
        )
        raise AssumptionError(message)
    measured = np.array([np.isfinite(result.energy_j) for result in found], dtype=bool)
    added: dict[str, Any] = {}
    for place, name in enumerate(_FILLED):
        values = np.array([result[place] for result in found], dtype="float64")
        added[name] = np.where(measured, values, numbers_or_missing(runs, name))
    covered = [result.covered_frac for result in found]
    added["power_covered_frac"] = np.array(covered, dtype="float64")
    methods = runs["energy_method"] if "energy_method" in runs else pd.Series(None, runs.index)
    added["energy_method"] = methods.astype("str").mask(measured, "integrated")
    notes = pd.Series([result.note for result in found], index=runs.index, dtype="str")
    added["power_note"] = notes.mask(np.isfinite(added["gpu_energy_j"]), "")
    return runs.assign(**added)


class _Limits(NamedTuple):
    min_covered_frac: float
    max_gap_s: float | None


class _Run(NamedTuple):
    """One run: its time, its number of boards, and their names where it states them."""

    label: str
    start_s: float
    end_s: float
    n_gpus: float
    shares_time: bool
    boards: Any


class _Board(NamedTuple):
    """The samples of one board, in order, and the times of those without power."""

    uuid: str
    t_s: Floats
    power_w: Floats
    absent_s: Floats


class _Found(NamedTuple):
    energy_j: float
    power_w: float
    covered_frac: float
    note: str
    reached: bool


def _starts(runs: pd.DataFrame, start_s: str | float) -> Floats:
    if not isinstance(start_s, str):
        if isinstance(start_s, bool) or not isinstance(start_s, (int, float, np.number)):
            message = f"attach_power: start_s={start_s!r}: a column's name or one number of seconds"
            raise AssumptionError(message)
        return np.full(len(runs), float(start_s))
    if start_s not in runs:
        message = (
            f"attach_power: the runs lack '{start_s}', the start of each on the clock of the log; "
            "add it with .assign(), or pass start_s= a column's name or one number"
        )
        raise ColumnError(message)
    return numbers(runs, start_s)


def _log(power: pd.DataFrame) -> list[_Board]:
    if "scope" in power and (power["scope"] == "wall").any():
        message = (
            "attach_power: the log is of power at the wall, of whole servers, not of boards; "
            "keep its rows of scope 'board'"
        )
        raise AssumptionError(message)
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
    absent = log[np.isfinite(log["t_s"]) & log["power_w"].isna()].sort_values("t_s")
    boards = []
    for uuid, samples in usable.drop_duplicates().sort_values("t_s").groupby("gpu_uuid"):
        if (twice := samples["t_s"].duplicated()).any():
            message = (
                f"attach_power: board '{uuid}' has two readings at t_s="
                f"{samples['t_s'][twice].iloc[0]:g}: is it logged at two places?"
            )
            raise ColumnError(message)
        times, watts = (np.asarray(samples[name].to_numpy()) for name in ("t_s", "power_w"))
        without = np.asarray(absent.loc[absent["gpu_uuid"] == uuid, "t_s"].to_numpy())
        boards.append(_Board(str(uuid), times, watts, without))
    return boards


def _shared_times(starts: Floats, ends: Floats) -> NDArray[np.bool_]:
    """Say which runs share time with another."""
    timed = np.flatnonzero(np.isfinite(starts) & np.isfinite(ends))
    order = timed[np.argsort(starts[timed], kind="stable")]
    latest = np.maximum.accumulate(ends[order])
    meets = starts[order][1:] < latest[:-1]
    shared = np.zeros(len(starts), dtype=bool)
    shared[order[1:]] |= meets
    for place in np.flatnonzero(meets):  # the earlier ones that reach into it
        earlier = order[: place + 1]
        shared[earlier[ends[earlier] > starts[order[place + 1]]]] = True
    return shared


def _measure(run: _Run, log: list[_Board], limits: _Limits) -> _Found:
    def nothing(note: str, *, covered: float = np.nan, reached: bool) -> _Found:
        return _Found(np.nan, np.nan, covered, note, reached)

    length = run.end_s - run.start_s
    if not (length > 0 and np.isfinite(length)):
        return nothing("the run has no start or no duration", reached=False)
    named = str(run.boards).split() if pd.notna(run.boards) else None
    parts = {
        board.uuid: _integrated(board, run, limits)
        for board in log
        if named is None or board.uuid in named
    }
    there = {uuid: part for uuid, part in parts.items() if part[1] > 0}
    if not there:
        return nothing("the log holds no two samples in the run", covered=0.0, reached=False)
    if len(there) > run.n_gpus:
        message = (
            f"attach_power: during run {run.label} the log holds {len(there)} boards "
            f"({listing(there)}), the run used {run.n_gpus:g}: keep its own, or name them in "
            "a column of the runs (boards=)"
        )
        raise AssumptionError(message)
    covered = min(seconds for _, seconds in there.values()) / length
    if len(there) < run.n_gpus or np.isnan(run.n_gpus):
        known = f"{len(there)} of {run.n_gpus:g} boards are in the log"
        return nothing(known, covered=covered, reached=True)
    if run.shares_time and named is None:
        known = "another run took place at the same time: name the boards of each (boards=)"
        return nothing(known, covered=covered, reached=True)
    if covered < limits.min_covered_frac:
        known = f"the log covers {covered:.0%} of the run, less than {limits.min_covered_frac:.0%}"
        return nothing(known, covered=covered, reached=True)
    valid = min(_valid_frac(board, run) for board in log if board.uuid in there)
    if valid < limits.min_covered_frac:
        known = (
            f"{valid:.0%} of a board's samples have power, less than {limits.min_covered_frac:.0%}"
        )
        return nothing(known, covered=covered, reached=True)
    power_w = sum(joules / seconds for joules, seconds in there.values())
    return _Found(power_w * length, power_w, covered, "", reached=True)


def _integrated(board: _Board, run: _Run, limits: _Limits) -> tuple[float, float]:
    """Return joules and seconds of a board within a run, gaps left out."""
    first = max(int(np.searchsorted(board.t_s, run.start_s, "right")) - 1, 0)
    last = int(np.searchsorted(board.t_s, run.end_s, "left")) + 1
    times, watts = board.t_s[first:last], board.power_w[first:last]
    inside = (times >= run.start_s) & (times <= run.end_s)
    if inside.sum() < 2:
        return 0.0, 0.0
    longest = limits.max_gap_s
    if longest is None:
        longest = GAP_IN_INTERVALS * float(np.median(np.diff(board.t_s)))
    low, high = (np.clip(side, run.start_s, run.end_s) for side in (times[:-1], times[1:]))
    seconds = np.where(np.diff(times) <= longest, high - low, 0.0)
    mean_w = np.interp([low, high], times, watts).mean(axis=0)
    return float((mean_w * seconds).sum()), float(seconds.sum())


def _valid_frac(board: _Board, run: _Run) -> float:
    """Return the share of a board's samples within a run that have power."""
    counts = [
        np.searchsorted(times, run.end_s, "right") - np.searchsorted(times, run.start_s, "left")
        for times in (board.t_s, board.absent_s)
    ]
    return float(counts[0] / sum(counts))


def _span(times: Floats) -> str:
    known = times[np.isfinite(times)]
    return f"{known.min():g} to {known.max():g} s" if len(known) else "empty"
