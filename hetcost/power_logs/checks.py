"""What is wrong with samples as a whole: units, boards told twice, counters reset, gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from hetcost.errors import AmbiguousNameError, UnknownNameError, listing
from hetcost.metering import GAP_IN_INTERVALS
from hetcost.power_logs.samples import BOARD
from hetcost.reference import facts, gpu_fact, gpu_name
from hetcost.reference.tables import Tables

Refuse = Callable[[pd.DataFrame, str], None]
Tell = Callable[[str], None]

# A reading over the board's limit by more is none in watts: limits can be raised by a third, and
# are overshot for moments only.
_OVER_LIMIT = 2.0
_LIKELY = {"milliwatts": 1e-3, "hundredths of a watt": 1e-2, "tenths of a watt": 1e-1}
_LIKELY_OVER = 1.2  # of the limit, what a right reading may be at most
_LIKELY_FROM_W = 5.0  # the least a board draws
_PAUSE_S = 1e-3  # between windows of energy that do not follow each other
_ALMOST_NONE_W = 1.0  # the highest reading of a board that is less was not in watts


def limit_w(name: str | None, tables: Tables) -> tuple[float, str]:
    """Return the power limit of a card and what it is the limit of; of an unknown one, of any."""
    names: list[str] = []
    if name is not None:
        try:
            names = [gpu_name(name, tables=tables)]
        except AmbiguousNameError as error:
            names = error.choices
        except UnknownNameError:
            names = []
    known = [gpu_fact(card, "tdp_w", tables=tables) for card in names]
    watts = [float(fact["value"]) for fact in known if fact is not None]
    if watts:
        return max(watts), f"the limit of {' or '.join(names)}"
    rows = facts("gpus", tables)
    rows = rows[(rows["quantity"] == "tdp_w") & (rows["quality"] != "X") & (rows["value"] != "")]
    return rows["value"].astype(float).max(), "the highest limit of any card in data/reference"


def check_units(samples: pd.DataFrame, tables: Tables, refuse: Refuse) -> pd.DataFrame:
    """Refuse readings that cannot be watts: of a whole board with the likely unit, or each."""
    kept = []
    limits: dict[str | None, tuple[float, str]] = {}
    for board, mine in samples.groupby("gpu_uuid", sort=False):
        watts = mine["power_w"].to_numpy()
        known = watts[np.isfinite(watts)]
        if not len(known) or mine["scope"].iloc[0] != BOARD:
            kept.append(mine)
            continue
        names = mine["gpu"].dropna()
        name = names.iloc[0] if len(names) else None
        limit, of = limits.setdefault(name, limits.get(name) or limit_w(name, tables))
        over = np.nan_to_num(watts) > _OVER_LIMIT * limit
        typical = float(np.median(known))
        if over.sum() * 2 >= len(known):
            fits = [
                f"{unit} ({typical * factor:.4g} W)"
                for unit, factor in _LIKELY.items()
                if known.max() * factor <= _LIKELY_OVER * limit
                and typical * factor >= _LIKELY_FROM_W
            ]
            likely = f"; likely {' or '.join(fits)}" if fits else ""
            told = f"board {board}: {typical:.6g} W is far over {limit:g} W, {of}{likely}"
            refuse(mine, told)
        elif known.max() == 0:
            refuse(mine, f"board {board}: 0 W all through, which no board draws: no sensor?")
        elif known.max() < _ALMOST_NONE_W:
            told = f"board {board}: at most {known.max():.4g} W, which no board draws"
            refuse(mine, f"{told}; likely kilowatts ({typical * 1e3:.4g} W)")
        else:
            for _, one in mine[over].iterrows():
                told = f"board {board}: {one['power_w']:.6g} W is far over {limit:g} W, {of}"
                refuse(one.to_frame().T, told)
            kept.append(mine[~over])
    return pd.concat(kept) if kept else samples.iloc[:0]


def one_endpoint(samples: pd.DataFrame, tell: Tell) -> pd.DataFrame:
    """Keep each board's samples from one place at a time: that of the most."""
    drop = np.zeros(len(samples), dtype=bool)
    for board, places in samples.groupby("gpu_uuid", sort=False).indices.items():
        mine = samples.iloc[places]
        places_of: dict[tuple[str, str], Any] = {}
        for key, own in mine.groupby(["source", "endpoint"], sort=False).indices.items():
            places_of[key] = own  # type: ignore[index]
        times = mine["t_s"].to_numpy()
        spans: list[tuple[float, float]] = []
        for (file, endpoint), own in sorted(places_of.items(), key=_fewest_last):
            low, high = float(times[own].min()), float(times[own].max())
            if not any(low <= end and begin <= high for begin, end in spans):
                spans.append((low, high))
                continue
            drop[places[own]] = True
            tell(
                f"board {board} is logged at {len(places_of)} places at a time: {len(own)} samples "
                f"of {f'{endpoint} in ' if endpoint else ''}{file} are left out"
            )
    return samples[~drop]


def _fewest_last(item: tuple[tuple[str, str], Any]) -> int:
    return -len(item[1])


def one_reading(samples: pd.DataFrame, refuse: Refuse, tell: Tell) -> pd.DataFrame:
    """Keep one reading of a board at a time: means where stamps are whole seconds."""
    ordered = samples.sort_values(["gpu_uuid", "t_s", "line"], kind="stable", ignore_index=True)
    same = ordered.duplicated(["gpu_uuid", "t_s", "power_w", "energy_j"])
    ordered = ordered[~same].reset_index(drop=True)
    twice = ordered.duplicated(["gpu_uuid", "t_s"], keep=False)
    if not (same.any() or twice.any()):
        return ordered
    if same.any():
        tell(f"{int(same.sum())} samples stand twice and count once")
    if not twice.any():
        return ordered
    whole = ordered["t_s"] % 1 == 0
    coarse = whole.groupby(ordered["gpu_uuid"]).transform("all")
    for _, mine in ordered[twice & ~coarse].groupby(["gpu_uuid", "t_s"]):
        first = mine["line"].iloc[0]
        refuse(mine.iloc[1:], f"a second reading of its board at the time of line {first}")
    ordered = ordered[~(twice & ~coarse) | ~ordered.duplicated(["gpu_uuid", "t_s"])]
    shared = twice.reindex(ordered.index) & coarse.reindex(ordered.index)
    if not shared.any():
        return ordered.reset_index(drop=True)
    tell(f"{int(shared.sum())} readings share a stamp of whole seconds and are averaged")
    means = ordered.groupby(["gpu_uuid", "t_s"])["power_w"].transform("mean")
    ordered = ordered.assign(power_w=means)
    return ordered[~ordered.duplicated(["gpu_uuid", "t_s"])].reset_index(drop=True)


def cut_at_resets(samples: pd.DataFrame, tell: Tell) -> pd.DataFrame:
    """Keep of each board's energy counter the longest stretch without a reset."""
    energy = samples["energy_j"].to_numpy(dtype="float64", copy=True)
    for board, places in samples.groupby("gpu_uuid", sort=False).indices.items():
        places = places[np.isfinite(energy[places])]
        if len(places) and not energy[places].any():
            energy[places] = np.nan
            tell(f"board {board}: its energy counter is 0 all through: no counter")
            continue
        resets = np.flatnonzero(np.diff(energy[places]) < 0) + 1
        if not len(resets):
            continue
        stretches = np.split(places, resets)
        longest = max(stretches, key=len)
        energy[np.setdiff1d(places, longest)] = np.nan
        tell(
            f"board {board}: its energy counter was reset {len(resets)} times; of "
            f"{len(places)} readings the {len(longest)} of the longest stretch without are kept"
        )
    return samples.assign(energy_j=energy)


def power_from_counter(samples: pd.DataFrame) -> pd.DataFrame:
    """Give boards that only have an energy counter its mean power from reading to reading."""
    made = []
    for _, mine in samples.groupby("gpu_uuid", sort=False):
        counted = mine[np.isfinite(mine["energy_j"])]
        if np.isfinite(mine["power_w"]).any() or len(counted) < 2:
            made.append(mine)
            continue
        seconds, joules = (np.diff(counted[name]) for name in ("t_s", "energy_j"))
        start = counted.iloc[:-1].assign(power_w=joules / seconds)
        # The last moment of each interval comes before the first of the next.
        end = counted.iloc[1:].assign(power_w=joules / seconds)
        end = end.assign(t_s=np.nextafter(end["t_s"].to_numpy(), -np.inf))
        end.iloc[-1, end.columns.get_loc("t_s")] = counted["t_s"].iloc[-1]
        both = pd.concat([start, end.assign(energy_j=np.nan)]).sort_values("t_s", kind="stable")
        both = both.assign(step=True)
        both.iloc[-1, both.columns.get_loc("energy_j")] = counted["energy_j"].iloc[-1]
        without = mine[~np.isfinite(mine["energy_j"])]
        made.append(pd.concat([both, without]).sort_values("t_s", kind="stable"))
    return pd.concat(made) if made else samples


def missing(samples: pd.DataFrame) -> Iterator[str]:
    """Tell which boards lack how many readings."""
    lacking = samples["power_w"].isna().groupby(samples["gpu_uuid"]).agg(["sum", "size"])
    for board, (absent, size) in lacking[lacking["sum"] > 0].iterrows():
        yield f"board {board}: {absent} of {size} samples have no power"


def gaps(samples: pd.DataFrame) -> Iterator[str]:
    """Tell the pauses of each board that are longer than five of its median intervals."""
    for board, mine in samples[samples["step"]].groupby("gpu_uuid", sort=False):
        pauses = np.diff(mine["t_s"].to_numpy())[1::2]
        if (pauses := pauses[pauses > _PAUSE_S]).size:
            yield (
                f"board {board}: {len(pauses)} pauses of {pauses.sum():.4g} s in all between "
                "windows of energy, in which nothing was measured"
            )
    told = []
    total, number = 0.0, 0
    sampled = samples[~samples["step"] & samples["power_w"].notna()]
    for board, mine in sampled.groupby("gpu_uuid", sort=False):
        steps = np.diff(mine["t_s"].to_numpy())
        if not len(steps):
            continue
        long = steps[steps > GAP_IN_INTERVALS * np.median(steps)]
        if len(long):
            told.append(board)
            total, number = total + float(long.sum()), number + len(long)
    if told:
        yield (
            f"{number} gaps of {total:.4g} s in all, longer than {GAP_IN_INTERVALS:g} of a board's "
            f"median intervals: {listing(told, 4)}"
        )


def set_back(samples: pd.DataFrame) -> Iterator[str]:
    """Tell of boards whose stamps go back in the order of their file: the clock was set."""
    sampled = samples[~samples["step"]]
    steps = sampled.groupby(["source", "endpoint", "gpu_uuid"], sort=False)["t_s"].diff()
    if (back := steps < 0).any():
        files = sampled.loc[back, "source"].unique()
        yield f"stamps go back {int(back.sum())} times ({listing(files, 4)}): was the clock set?"
