"""Two options in every group, and what is compared of them as a number varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import one_accounting
from hetcost.errors import AssumptionError, unknown_name
from hetcost.impacts import Solved, evaluate, figures_of
from hetcost.pairing import pair_rows
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
        if pick not in (None, "cheapest"):
            raise unknown_name("pick", pick, ["cheapest"])
        places = runs.reset_index(drop=True)
        pairs = pair_rows(places, a, b, by, self._cheapest if pick else None)
        self.groups, self.lacking = pairs.groups, pairs.lacking
        self.rows = places.loc[[*pairs.a, *pairs.b]].reset_index(drop=True)
        self.solved = Solved(self.rows, self.scenario, "breakeven")
        self.evaluated = one_accounting(evaluate(self.rows, self.scenario), "breakeven")

    def _cheapest(self, rows: pd.DataFrame) -> int:
        costs = evaluate(rows, self.scenario)["usd_per_mtok_out"]
        place = int(np.nanargmin(costs)) if costs.notna().any() else 0
        return int(rows.index.to_numpy()[place])

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
