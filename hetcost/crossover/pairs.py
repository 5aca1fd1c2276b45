"""Two options in every group, and what is compared of them as a number varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import one_accounting, require
from hetcost.errors import AssumptionError, listing, unknown_name
from hetcost.impacts import Solved, evaluate, figures_of, variable_fields
from hetcost.pairing import keys_of, pair_rows
from hetcost.scenario import Scenario

Floats = NDArray[np.float64]
Pair = tuple[float, float]
Side = Literal["both", "a", "b"]

PRICE_RATIO = "price_ratio"
_PROBE = 0.37  # where between its bounds a number is tried out
USUAL_BOUNDS: Mapping[str, Pair] = {  # where is looked, unless the caller says
    "gco2e_per_kwh": (0.0, 1000.0),
    "marginal_gco2e_per_kwh": (0.0, 1000.0),
    "load_frac": (0.01, 1.0),
    "assigned_frac": (0.01, 1.0),
    "embodied_share_frac": (0.01, 1.0),
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
        self.keys = keys_of(by)
        require(runs, [], "breakeven")
        self.scenario = Scenario() if scenario is None else scenario
        if pick not in (None, "cheapest"):
            raise unknown_name("pick", pick, ["cheapest"])
        places = runs.reset_index(drop=True)
        pairs = pair_rows(places, a, b, by, self._cheapest if pick else None)
        self.groups, self.lacking = pairs.groups, pairs.lacking
        self.rows = places.loc[[*pairs.a, *pairs.b]].reset_index(drop=True)
        self.solved = Solved(self.rows, self.scenario, "breakeven")
        self.evaluated = one_accounting(evaluate(self.rows, self.scenario), "breakeven")
        bases = self.evaluated["cost_basis"]
        for place, group in enumerate(self.groups):
            of_a, of_b = bases.iloc[place], bases.iloc[place + len(self.groups)]
            if of_a != of_b:
                message = f"breakeven: a is {of_a}, b {of_b}, of {group}: compare like with like"
                raise AssumptionError(message)

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

    def checked(self, low: float, high: float) -> Along:
        """Return it if results are computed from the number under this scenario.

        Raises
        ------
        UnknownNameError, AssumptionError
            There is no such number or side; the scenario cannot hold it; something else decides
            in its place; or other figures change with it.
        """
        if self.side not in ("both", "a", "b"):
            raise unknown_name("side", self.side, ["both", "a", "b"])
        solved, names = self.problem.solved, figures_of(self.vary)
        if self.vary == PRICE_RATIO:
            if self.side != "both":
                message = f"side={self.side!r}: a price ratio is of both sides"
                raise AssumptionError(message)
            if not np.isin(solved.ways_by_row, ["rent", "spot"]).all():
                message = (
                    "vary='price_ratio': it is of rents, and some of these cards are not rented"
                )
                raise AssumptionError(message)
            return self
        if not names:
            raise unknown_name("vary", self.vary, [*variable_fields(), PRICE_RATIO])
        probe = low + (high - low) * _PROBE
        there = Solved(self.problem.rows, solved.stated(self.vary, probe), "breakeven").figures
        rows = self._moves()[:, 0]
        if not all(np.isclose(there[name][rows], probe).all() for name in names):
            message = (
                f"vary={self.vary!r}: it does not decide under this scenario, "
                f"{self.problem.scenario!r}"
            )
            raise AssumptionError(message)
        beside = [
            name
            for name in solved.read_by(self.on, {}) - set(names)
            if not np.array_equal(there[name][rows], solved.figures[name][rows], equal_nan=True)
        ]
        if beside:
            message = (
                f"vary={self.vary!r}: to state it changes {listing(sorted(beside))} as well; "
                "state it in the scenario, then vary it"
            )
            raise AssumptionError(message)
        return self

    def changed(self, x: Floats, before: Mapping[str, Floats] | None = None) -> dict[str, Floats]:
        """Return the figures that change, of rows by values; on top of others that have."""
        figures, count = self.problem.solved.figures, len(self.problem.groups)
        if self.vary == PRICE_RATIO:
            rent = np.broadcast_to(figures["usd_per_gpu_h"][count:, np.newaxis], (count, len(x)))
            return {**(before or {}), "usd_per_gpu_h": np.concatenate([rent * x, rent])}
        moves = self._moves()
        changed = dict(before or {})
        for name in figures_of(self.vary):
            now = changed.get(name, figures[name][:, np.newaxis])
            changed[name] = np.where(moves, x, now)
        return changed

    def _moves(self) -> NDArray[np.bool_]:
        """Say whose number is varied, as a column of rows."""
        count = len(self.problem.groups)
        is_a = (np.arange(2 * count) < count)[:, np.newaxis]
        return {"both": is_a | ~is_a, "a": is_a, "b": ~is_a}[self.side]

    def values(self, x: Floats) -> Floats:
        """Return what is compared, of rows by values of the varied number."""
        return self.problem.solved.values(self.on, self.changed(x))

    def gap(self, place: int, x: float) -> float:
        """Return a less b of one group."""
        of_a, of_b = self.problem.split(self.values(np.array([x])))
        return float(of_a[place, 0] - of_b[place, 0])


def checked_bounds(vary: str, bounds: Pair | None) -> Pair:
    """Return where to look for a number, the usual bounds if none are given."""
    if vary != PRICE_RATIO and not (isinstance(vary, str) and figures_of(vary)):
        raise unknown_name("vary", vary, [*variable_fields(), PRICE_RATIO])
    if bounds is None:
        if vary not in USUAL_BOUNDS:
            message = f"breakeven: say where to look for {vary}: bounds=(low, high)"
            raise AssumptionError(message)
        return USUAL_BOUNDS[vary]
    try:
        low, high = (float(end) for end in bounds)
    except (TypeError, ValueError):
        message = f"bounds={bounds!r}: a low and a higher number belong here"
        raise AssumptionError(message) from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        message = f"bounds={bounds!r}: a low and a higher number belong here"
        raise AssumptionError(message)
    for end in (low, high) if vary != PRICE_RATIO else ():
        Scenario.check_number(vary, end)
    return low, high
