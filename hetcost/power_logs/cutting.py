"""Cut samples to the window of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from hetcost.errors import AssumptionError
from hetcost.power_logs.clock import Clock

Between = Sequence[float | str] | None
Tell = Callable[[str], None]


def window_of(between: Between, clock: Clock) -> tuple[float, float] | None:
    """Return begin and end as seconds since 1970.

    Raises
    ------
    AssumptionError
        They are none, or the end is not after the begin.
    """
    if between is None:
        return None
    try:
        ends = tuple(between)
        low, high = (
            clock.stamp(end, month_first=end[2:3] == "-") if isinstance(end, str) else float(end)
            for end in ends
        )
    except (TypeError, ValueError) as error:
        message = f"between={between!r}: begin and end, in seconds since 1970 or as stamps: {error}"
        raise AssumptionError(message) from None
    if not low < high:
        message = f"between={between!r}: the end is not after the begin"
        raise AssumptionError(message)
    return low, high


def cut(samples: pd.DataFrame, window: tuple[float, float], tell: Tell) -> pd.DataFrame:
    """Cut to a window, its ends interpolated; tell what was before and after."""
    low, high = window
    parts = {"before": samples["t_s"] < low, "after": samples["t_s"] > high}
    for where, out in parts.items():
        if out.any():
            gone = samples[out]
            seconds = float(gone["t_s"].max() - gone["t_s"].min())
            mean_w = float(gone.groupby("gpu_uuid")["power_w"].mean().sum())
            tell(
                f"{int(out.sum())} samples {where} the window are cut: {seconds:.4g} s, "
                f"mean {mean_w:.4g} W of all boards"
            )
    kept = []
    for board, mine in samples.groupby("gpu_uuid", sort=False):
        known = mine[mine["power_w"].notna()]
        inside = mine[(mine["t_s"] >= low) & (mine["t_s"] <= high)]
        if inside.empty:
            tell(f"board {board} has no sample in the window")
            continue
        begin, end = known["t_s"].min(), known["t_s"].max()  # NaN where it has no power at all
        if not (begin <= low and end >= high):
            tell(f"board {board}: its log does not cover the window")
        stamps = set(inside["t_s"])
        edges = [edge for edge in window if begin < edge < end and edge not in stamps]
        made = inside.iloc[[0] * len(edges)].assign(t_s=edges, energy_j=np.nan)
        if edges:
            made["power_w"] = np.interp(edges, known["t_s"], known["power_w"])
        kept.append(pd.concat([inside, made]).sort_values("t_s", kind="stable"))
    return pd.concat(kept, ignore_index=True) if kept else samples.iloc[:0]
