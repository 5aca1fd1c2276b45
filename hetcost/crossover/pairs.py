"""Two options in every group of a frame, and what is compared of them as a number varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import one_accounting, require
from hetcost.errors import AssumptionError, listing, unknown_name
from hetcost.impacts import Solved, evaluate, figures_of
from hetcost.scenario import Scenario

Floats = NDArray[np.float64]
Pair = tuple[float, float]
Side = Literal["both", "a", "b"]

PRICE_RATIO = "price_ratio"
USUAL_BOUNDS: Mapping[str, Pair] = {  # where is looked, unless the caller says
    "gco2e_per_kwh": (0.0, 1000.0),
    "marginal_gco2e_per_kwh": (0.0, 1000.0),
    "load_frac": (0.01, 1.0),
    "assigned_frac": (0.01, 1.0),
    "embodied_share_frac": (0.0, 1.0),
    "induced_frac": (0.0, 1.0),
    "pue": (1.0, 2.0),
    "usd_per_kwh": (0.0, 1.0),
    "life_yr": (1.0, 10.0),
    "discount_frac": (0.0, 0.3),
    PRICE_RATIO: (0.01, 10.0),
}
_NAMED = ["gpu", "n_gpus", "request_rate_per_s"]


class Problem:
    """Two options in every group, and what their results are computed from."""

    def __init__(
        self,
        runs: pd.DataFrame,
        a: str,
        b: str,
        scenario: Scenario | None,
        by: str | Sequence[str],
        pick: str | None,
    ) -> None:
        self.keys = [by] if isinstance(by, str) else list(by)
        self.scenario = Scenario() if scenario is None else scenario
        require(runs, self.keys, "breakeven")
        if pick not in (None, "cheapest"):
            raise unknown_name("pick", pick, ["cheapest"])
        places = runs.reset_index(drop=True)
        sides = {name: _matched(places, query, name) for name, query in (("a", a), ("b", b))}
        self.groups: list[dict[str, Any]] = []
        self.lacking: list[dict[str, Any]] = []
        chosen: dict[str, list[int]] = {"a": [], "b": []}
        for key, members in _grouped(places, self.keys):
            group = dict(zip(self.keys, key, strict=True))
            found = {name: members.index.intersection(rows) for name, rows in sides.items()}
            if not any(len(rows) for rows in found.values()):
                continue
            empty = [name for name, rows in found.items() if not len(rows)]
            if empty:
                self.lacking.append({**group, "note": f"{' and '.join(empty)}: no row here"})
                continue
            one = {
                name: _one(places.loc[rows], name, group, pick, self.scenario)
                for name, rows in found.items()
            }
            if one["a"] == one["b"]:
                same = name_of(places.iloc[one["a"]])
                message = f"a and b are the same row{_where(group)}: {same}"
                raise AssumptionError(message)
            self.groups.append(group)
            for name, place in one.items():
                chosen[name].append(place)
        if not self.groups:
            message = f"breakeven: no group of {listing(self.keys)} has a row of a and one of b"
            raise AssumptionError(message)
        self.rows = places.loc[[*chosen["a"], *chosen["b"]]].reset_index(drop=True)
        self.solved = Solved(self.rows, self.scenario, "breakeven")
        self.evaluated = one_accounting(evaluate(self.rows, self.scenario), "breakeven")

    def split(self, values: Floats) -> tuple[Floats, Floats]:
        """Part values of all rows into those of a and of b."""
        return values[: len(self.groups)], values[len(self.groups) :]


class Along(NamedTuple):
    """One number of a problem that is varied on one side or both."""

    problem: Problem
    vary: str
    side: Side
    on: str

    def changed(self, x: Floats) -> dict[str, Floats]:
        """Return the figures that change, of rows by values."""
        if self.side not in ("both", "a", "b"):
            raise unknown_name("side", self.side, ["both", "a", "b"])
        figures, count = self.problem.solved.figures, len(self.problem.groups)
        if self.vary == PRICE_RATIO:
            rent = figures["usd_per_gpu_h"]
            ratio = np.broadcast_to(rent[count:, np.newaxis], (count, len(x))) * x
            fixed = np.broadcast_to(rent[count:, np.newaxis], (count, len(x)))
            return {"usd_per_gpu_h": np.concatenate([ratio, fixed])}
        is_a = (np.arange(2 * count) < count)[:, np.newaxis]
        moves = {"both": is_a | ~is_a, "a": is_a, "b": ~is_a}[self.side]
        return {
            name: np.where(moves, x, figures[name][:, np.newaxis])
            for name in figures_of(self.vary, more=[PRICE_RATIO])
        }

    def values(self, x: Floats) -> Floats:
        """Return what is compared, of rows by values of the varied number."""
        return self.problem.solved.values(self.on, self.changed(x))

    def gap(self, place: int, x: float) -> float:
        """Return a less b of one group."""
        of_a, of_b = self.problem.split(self.values(np.array([x])))
        return float(of_a[place, 0] - of_b[place, 0])


def _matched(runs: pd.DataFrame, query: str, name: str) -> pd.Index:
    try:
        rows = runs.query(query).index
    except Exception as error:  # whatever pandas makes of the text
        message = f"{name}: '{query}' is no query: {error}"
        raise AssumptionError(message) from None
    if rows.empty:
        cards = listing(sorted(runs["gpu"].dropna().unique())) if "gpu" in runs else "none"
        message = f"{name}: '{query}' matches no row; the cards are {cards}"
        raise AssumptionError(message)
    return rows


def _grouped(runs: pd.DataFrame, keys: list[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    if not keys:
        return [((), runs)]
    groups = runs.groupby(keys, dropna=False, sort=True)
    return [(key if isinstance(key, tuple) else (key,), rows) for key, rows in groups]


def _one(
    rows: pd.DataFrame, name: str, group: dict[str, Any], pick: str | None, scenario: Scenario
) -> int:
    if len(rows) == 1:
        return int(rows.index.to_numpy()[0])
    if pick is None:
        found = "; ".join(name_of(row) for _, row in rows.head(6).iterrows())
        more = f" and {len(rows) - 6} more" if len(rows) > 6 else ""
        message = (
            f"{name} matches {len(rows)} rows{_where(group)}: {found}{more}; "
            "narrow the query, or pick='cheapest'"
        )
        raise AssumptionError(message)
    costs = evaluate(rows, scenario)["usd_per_mtok_out"]
    place = int(np.nanargmin(costs)) if costs.notna().any() else 0
    return int(rows.index.to_numpy()[place])


def name_of(row: pd.Series) -> str:
    """Return what a row is called in messages and tables."""
    parts = [
        f"{row[key]:g}" if isinstance(row[key], float) else str(row[key])
        for key in _NAMED
        if key in row
    ]
    card, count, *rate = [*parts, *[""] * (2 - len(parts))]
    return f"{count}x {card}" + (f" at {rate[0]}/s" if rate else "")


def _where(group: dict[str, Any]) -> str:
    return f" of {', '.join(map(str, group.values()))}" if group else ""


def checked_bounds(vary: str, bounds: Pair | None) -> Pair:
    """Return where to look for a number, the usual bounds if none are given."""
    figures_of(vary, more=[PRICE_RATIO])
    if bounds is None:
        if vary not in USUAL_BOUNDS:
            message = f"breakeven: say where to look for {vary}: bounds=(low, high)"
            raise AssumptionError(message)
        return USUAL_BOUNDS[vary]
    low, high = bounds
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        message = f"bounds={bounds!r}: a low and a higher number belong here"
        raise AssumptionError(message)
    for end in bounds if vary != PRICE_RATIO else ():
        Scenario.check_number(vary, end)
    return float(low), float(high)
