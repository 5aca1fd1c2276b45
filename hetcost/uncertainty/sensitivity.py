"""What moves a result most: one factor at a time, and shares of its variance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import one_accounting, require
from hetcost.errors import AssumptionError
from hetcost.impacts import Solved, evaluate
from hetcost.pairing import name_of, single_row
from hetcost.scenario import Scenario
from hetcost.uncertainty.draws import TOLD, changed_by, power_of_two, prepared
from hetcost.uncertainty.factors import Changed, Factor, Floats

_ENDS = np.array([0.0, 1.0])


def tornado(
    runs: pd.DataFrame,
    a: str,
    b: str | None = None,
    scenario: Scenario | None = None,
    *,
    on: str,
    facts: bool = True,
    choices: Mapping[str, Sequence[Any]] | None = None,
) -> pd.DataFrame:
    """Move one factor at a time to its ends, and see what a result does.

    Parameters
    ----------
    runs, scenario, facts, choices : As for :func:`monte_carlo`.
    a : Query that matches one row.
    on : The result.
    b : Query that matches one other row: the result is then that of `a` over that of `b`.

    Returns
    -------
    One row per factor, widest first: ``factor low mode high`` (of the factor), ``at_low at_high``
    (the result there; of a choice, its least and largest), ``at_mode`` and ``span``.

    Raises
    ------
    UnknownNameError, AssumptionError
        As :func:`monte_carlo`; or a query does not match one row.
    """
    solved, factors, result = _compared(runs, a, b, scenario, on, facts, choices)
    at_mode = float(result({})[0])
    table = []
    for factor in factors:
        is_choice = factor.told["kind"] == "choice"
        changed: Changed = {}
        factor.into(changed, solved.kept, factor.levels if is_choice else _ENDS)
        found = result(changed)
        ends = (found.min(), found.max()) if is_choice else (found[0], found[-1])
        row = {**factor.told, "at_low": float(ends[0]), "at_high": float(ends[1])}
        table.append({**row, "at_mode": at_mode, "span": float(abs(ends[1] - ends[0]))})
    columns = [*TOLD[:5], "at_low", "at_mode", "at_high", "span", "source"]
    frame = pd.DataFrame(table, columns=columns)
    return frame.sort_values("span", ascending=False, kind="stable").reset_index(drop=True)


def sobol(
    runs: pd.DataFrame,
    a: str,
    b: str | None = None,
    scenario: Scenario | None = None,
    *,
    on: str,
    n: int = 2**10,
    seed: int = 0,
    facts: bool = True,
    choices: Mapping[str, Sequence[Any]] | None = None,
) -> pd.DataFrame:
    """Part the variance of a result among its factors.

    Parameters
    ----------
    runs, a, scenario, on, b, facts, choices : As for :func:`tornado`.
    n : Base draws, a power of two; the result is computed n times the factors plus two.
    seed : Of the draws.

    Returns
    -------
    One row per factor, weightiest first: ``factor first_order total_order`` (shares of the
    variance: by the factor alone, and with all its interactions).

    Raises
    ------
    UnknownNameError, AssumptionError
        As :func:`tornado`; or nothing is uncertain.
    """
    solved, factors, result = _compared(runs, a, b, scenario, on, facts, choices)
    if not factors:
        message = "sobol: nothing that the result rests on is uncertain"
        raise AssumptionError(message)

    def computed(points: Floats) -> Floats:
        return result(changed_by(solved, factors, points.T))

    found = indices(computed, len(factors), n=n, seed=seed)
    found.insert(0, "factor", [factor.told["factor"] for factor in factors])
    return found.sort_values("total_order", ascending=False, kind="stable").reset_index(drop=True)


def indices(
    function: Callable[[Floats], Floats], dimensions: int, *, n: int, seed: int = 0
) -> pd.DataFrame:
    """Return Sobol' indices of a function of independent uniform numbers between 0 and 1.

    Parameters
    ----------
    function : Takes an array of dimensions by points, returns one number per point.
    dimensions : How many numbers it takes.
    n : Base draws, a power of two.
    seed : Of the draws.

    Returns
    -------
    One row per dimension: ``first_order total_order``. [1]

    Raises
    ------
    AssumptionError
        `n` is no power of two.

    References
    ----------
    .. [1] A. Saltelli et al., Variance based sensitivity analysis of model output, Comput. Phys.
       Commun. 181 (2010), as in scipy.stats.sobol_indices.
    """
    from scipy.stats import sobol_indices, uniform

    found = sobol_indices(
        func=lambda x: np.array(function(x[:dimensions]), ndmin=2),
        n=power_of_two(n, 2),
        dists=[uniform()] * max(dimensions, 2),  # of one dimension SciPy makes no table
        rng=np.random.default_rng(seed),
    )
    first, total = (np.ravel(x)[:dimensions] for x in (found.first_order, found.total_order))
    return pd.DataFrame({"first_order": first, "total_order": total})


def _compared(
    runs: pd.DataFrame,
    a: str,
    b: str | None,
    scenario: Scenario | None,
    on: str,
    facts: bool,
    choices: Mapping[str, Sequence[Any]] | None,
) -> tuple[Solved, list[Factor], Callable[[Changed], Floats]]:
    """Return one row, or two to divide, with their factors and the result over changes."""
    require(runs, [], "runs")
    places = runs.reset_index(drop=True)
    queries = {"a": a} if b is None else {"a": a, "b": b}
    rows = [single_row(places, query, name) for name, query in queries.items()]
    if len(rows) != len(set(rows)):
        message = f"a and b are the same row: {name_of(places.iloc[rows[0]])}"
        raise AssumptionError(message)
    chosen = places.iloc[rows].reset_index(drop=True)
    one_accounting(evaluate(chosen, scenario), "on")
    solved, factors = prepared(chosen, scenario, [on], facts, choices)

    def result(changed: Changed) -> Floats:
        values = solved.values(on, changed)
        return np.asarray(values[0] / values[1] if len(rows) > 1 else values[0])

    return solved, factors, result
