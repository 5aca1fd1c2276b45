"""How sure a result is: draws, what moves it most, and which conclusions survive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import numbers, require
from hetcost.errors import AssumptionError, unknown_name
from hetcost.impacts import OUTCOMES, Solved
from hetcost.pairing import name_of, pair_rows, single_row
from hetcost.scenario import Scenario
from hetcost.uncertainty.factors import Asked, Changed, Factor, Floats, find_factors

__all__ = ["Draws", "indices", "monte_carlo", "repeat_noise", "sobol", "tornado"]

_REPLICATES = 8  # independent scramblings, whose spread is the error of the rest
_CHUNK = 2**17  # rows times draws that are computed at once
_LOW, _HIGH = 0.05, 0.95
_CONFIGURATION = ["model", "gpu", "n_gpus", "request_rate_per_s"]


class Draws:
    """Results of rows over common draws of everything that is not known exactly.

    Attributes
    ----------
    rows : The rows, in their order.
    values : By result, an array of rows by draws.
    factors : One row per thing that was drawn: ``factor low mode high source``.
    """

    def __init__(
        self, rows: pd.DataFrame, values: Mapping[str, Floats], factors: pd.DataFrame
    ) -> None:
        self.rows, self.values, self.factors = rows, values, factors

    def quantiles(self, q: Sequence[float] = (_LOW, 0.5, _HIGH)) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of every row and result.

        Returns
        -------
        The rows, once per result, with ``on mean sd`` and ``q05`` …, and ``mean_se``: the standard
        error of the mean, from the spread of independent replicates. NaN where the result is.
        """
        frames = []
        for on, values in self.values.items():
            parts = {f"q{round(100 * level):02d}": _quantile(values, level) for level in q}
            mean = values.mean(axis=1)
            by_replicate = values.reshape(len(values), _REPLICATES, -1).mean(axis=2)
            error = by_replicate.std(axis=1, ddof=1) / np.sqrt(_REPLICATES)
            stated = {"on": on, "mean": mean, "sd": values.std(axis=1), **parts, "mean_se": error}
            frames.append(self.rows.assign(**stated))
        return pd.concat(frames, ignore_index=True)

    def beats(self, a: str, b: str, *, on: str, by: str | Sequence[str] = "model") -> pd.DataFrame:
        """Return how often a row of `a` is below a row of `b`, on common draws.

        Where choices between methods are among the factors, this is a share of assumptions and
        no probability.

        Parameters
        ----------
        a, b : Queries in pandas' syntax; each is to match one row per group.
        on : Result that is compared, less is better.
        by : Columns that make the groups.

        Returns
        -------
        One row per group that both match: the columns of `by`, ``a b on p_a_beats_b`` and its
        standard error ``p_se``, and the quantiles of a over b ``ratio_q05 ratio_q50 ratio_q95``.

        Raises
        ------
        UnknownNameError, AssumptionError
            `on` was not drawn; or as :func:`hetcost.breakeven`.
        """
        if on not in self.values:
            raise unknown_name("on", on, self.values)
        table = []
        pairs = pair_rows(self.rows, a, b, by)
        for group, i, j in zip(pairs.groups, pairs.a, pairs.b, strict=True):
            of_a, of_b = self.values[on][i], self.values[on][j]
            known = np.isfinite(of_a) & np.isfinite(of_b)
            wins = np.where(known, (of_a < of_b) + 0.5 * (of_a == of_b), np.nan)
            shares = wins.reshape(_REPLICATES, -1).mean(axis=1)
            ratio = of_a / of_b
            named = {"a": name_of(self.rows.iloc[i]), "b": name_of(self.rows.iloc[j])}
            row = {**group, **named, "on": on, "p_a_beats_b": float(shares.mean())}
            row["p_se"] = shares.std(ddof=1) / np.sqrt(_REPLICATES)
            for level in (_LOW, 0.5, _HIGH):
                row[f"ratio_q{round(100 * level):02d}"] = float(np.quantile(ratio, level))
            table.append(row)
        return pd.DataFrame([*table, *pairs.lacking])


def monte_carlo(
    runs: pd.DataFrame,
    scenario: Scenario | None = None,
    *,
    on: str | Sequence[str] = ("usd_per_mtok_out", "gco2e_per_mtok_out"),
    n: int = 2**14,
    seed: int = 0,
    facts: bool = True,
    choices: Mapping[str, Sequence[Any]] | None = None,
) -> Draws:
    """Draw everything that is not known exactly, and compute results of every row.

    A number of the scenario that is a :class:`Range`, and a fact of the tables with bounds, is
    drawn from a triangular distribution; what enters several rows is one draw for all of them.
    Points are Sobol', scrambled anew in each of eight replicates.

    Parameters
    ----------
    runs : Rows as for :func:`hetcost.evaluate`.
    scenario : Assumptions, with ranges where they are not known exactly.
    on : Results: columns of cost, energy or emissions per token.
    n : Draws, a power of two from 64.
    seed : Of the scramblings; like seeds give like draws.
    facts : Whether facts of the tables are drawn between their bounds as well.
    choices : By field of the scenario, assumptions that are each as likely:
        ``{"embodied_method": ["inventory", "act"], "grid_zone": ["FR", "PL"]}``.

    Returns
    -------
    The draws; ``.quantiles()`` and ``.beats()`` tell what follows.

    Raises
    ------
    UnknownNameError
        A result is none that can be computed.
    AssumptionError
        `n` is no power of two, or a choice changes nothing.

    Examples
    --------
    >>> import hetcost as hc
    >>> runs = hc.highest_measured(hc.load_runs("ionet-2025"))
    >>> draws = monte_carlo(runs, on="gco2e_per_mtok_out", n=256)
    >>> len(draws.quantiles()) == len(runs)
    True
    """
    names = [on] if isinstance(on, str) else list(on)
    if not (isinstance(n, int) and n >= 64 and n & (n - 1) == 0):
        message = f"n={n!r}: a power of two from 64 belongs here"
        raise AssumptionError(message)
    solved, factors = _prepared(runs, scenario, names, facts, choices)
    points = _points(len(factors), n, seed)
    values = {name: np.empty((len(runs), n)) for name in names}
    width = max(1, _CHUNK // max(len(runs), 1))
    for start in range(0, n, width):
        part = slice(start, min(start + width, n))
        changed = _changed(solved, factors, points[part])
        for name in names:
            values[name][:, part] = solved.values(name, changed)
    told = pd.DataFrame([factor.told for factor in factors], columns=_TOLD)
    return Draws(runs.reset_index(drop=True), values, told)


def tornado(
    runs: pd.DataFrame,
    a: str,
    scenario: Scenario | None = None,
    *,
    on: str,
    b: str | None = None,
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
        steps = np.linspace(0.0, 1.0, _STEPS) if factor.told.get("low") is None else _ENDS
        changed: Changed = {}
        factor.into(changed, solved.figures, steps)
        found = result(changed)
        ends = (found[0], found[-1]) if len(found) == len(_ENDS) else (found.min(), found.max())
        row = {**factor.told, "at_low": float(ends[0]), "at_high": float(ends[1])}
        table.append({**row, "at_mode": at_mode, "span": float(abs(ends[1] - ends[0]))})
    columns = [*_TOLD[:4], "at_low", "at_mode", "at_high", "span", "source"]
    frame = pd.DataFrame(table, columns=columns)
    return frame.sort_values("span", ascending=False, kind="stable").reset_index(drop=True)


def sobol(
    runs: pd.DataFrame,
    a: str,
    scenario: Scenario | None = None,
    *,
    on: str,
    b: str | None = None,
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
        return result(_changed(solved, factors, points.T))

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

    if not (isinstance(n, int) and n >= 2 and n & (n - 1) == 0):
        message = f"n={n!r}: a power of two belongs here"
        raise AssumptionError(message)
    found = sobol_indices(
        func=lambda x: np.array(function(x), ndmin=2),
        n=n,
        dists=[uniform()] * dimensions,
        rng=np.random.default_rng(seed),
    )
    first, total = (np.ravel(x) for x in (found.first_order, found.total_order))
    return pd.DataFrame({"first_order": first, "total_order": total})


def repeat_noise(
    runs: pd.DataFrame, on: str, by: str | Sequence[str] = tuple(_CONFIGURATION)
) -> pd.DataFrame:
    """Return how far repeats of one configuration and load lie apart.

    Repeats of one seed send the same prompts at the same times: what they show is the noise of
    the system, not how another sample of users would be served.

    Parameters
    ----------
    runs : Rows with `on` and the columns of `by`; ``prompt_seed`` where it is known.
    on : What was measured, such as ``out_tok_per_s``.
    by : Columns that make repeats of each other.

    Returns
    -------
    One row per configuration that was repeated: `by`, ``repeats mean relative_sd`` and ``shows``.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    """
    keys = [by] if isinstance(by, str) else list(by)
    require(runs, [*keys, on], "repeat_noise")
    seeds = runs["prompt_seed"] if "prompt_seed" in runs else pd.Series(None, index=runs.index)
    frame = runs[keys].assign(value=numbers(runs, on), seed=seeds.to_numpy())
    groups = frame.groupby(keys, dropna=False)
    table = groups["value"].agg(repeats="count", mean="mean", sd="std").reset_index()
    table["seeds"] = groups["seed"].nunique(dropna=False).to_numpy()
    table = table[table["repeats"] > 1].reset_index(drop=True)
    table["relative_sd"] = table["sd"] / table["mean"]
    same = "noise of the system alone: same seed and prompts"
    shows = np.where(table["seeds"] == 1, same, "noise of the system and of the prompts")
    return table.assign(shows=shows)[[*keys, "repeats", "mean", "relative_sd", "shows"]]


_TOLD = ["factor", "low", "mode", "high", "source"]
_ENDS = np.array([0.0, 1.0])
_STEPS = 64


def _prepared(
    runs: pd.DataFrame,
    scenario: Scenario | None,
    names: Sequence[str],
    facts: bool,
    choices: Mapping[str, Sequence[Any]] | None,
) -> tuple[Solved, list[Factor]]:
    for name in names:
        if name not in OUTCOMES:
            raise unknown_name("on", name, OUTCOMES)
    solved = Solved(runs, Scenario() if scenario is None else scenario, "monte_carlo")
    return solved, find_factors(runs, solved, Asked(names, facts, choices or {}))


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
    places = runs.reset_index(drop=True)
    rows = [single_row(places, query, name) for name, query in (("a", a), ("b", b)) if query]
    chosen = places.iloc[rows].reset_index(drop=True)
    solved, factors = _prepared(chosen, scenario, [on], facts, choices)

    def result(changed: Changed) -> Floats:
        values = solved.values(on, changed)
        return np.asarray(values[0] / values[1] if len(rows) > 1 else values[0])

    return solved, factors, result


def _changed(solved: Solved, factors: Sequence[Factor], points: Floats) -> Changed:
    changed: Changed = {}
    for factor, u in zip(factors, points.T, strict=True):
        factor.into(changed, solved.kept, u)
    return changed


def _points(dimensions: int, n: int, seed: int) -> Floats:
    from scipy.stats import qmc

    if not dimensions:
        return np.empty((n, 0))
    seeds = np.random.SeedSequence(seed).spawn(_REPLICATES)
    parts = [
        qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(one)).random(
            n // _REPLICATES
        )
        for one in seeds
    ]
    return np.concatenate(parts)


def _quantile(values: Floats, level: float) -> Floats:
    return np.array([np.quantile(row, level) for row in values])
