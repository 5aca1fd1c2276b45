"""Monte Carlo on common draws of everything that is not known exactly."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hetcost.errors import AssumptionError, unknown_name
from hetcost.impacts import OUTCOMES, Solved, checked, evaluate
from hetcost.pairing import name_of, pair_rows, why_missing
from hetcost.scenario import Scenario
from hetcost.uncertainty.factors import Asked, Changed, Factor, Floats, find_factors

REPLICATES = 8  # independent scramblings, whose spread is the error of the rest
TOLD = ["factor", "kind", "low", "mode", "high", "source"]
QUANTILES = (0.05, 0.5, 0.95)
MOST = 2**24  # draws
_LEAST = 64  # draws
_CHUNK = 2**17  # rows times draws that are computed at once


class Draws:
    """Results of rows over common draws of everything that is not known exactly.

    Attributes
    ----------
    rows : The rows, in their order, with ``note``: why results of a row are missing.
    values : By result, an array of rows by draws.
    factors : One row per thing that was drawn: ``factor kind low mode high source``; the kind is
        ``range`` (of the scenario), ``fact``, ``power`` (of boards, one draw for all loads; its
        mode differs by load) or ``choice``.
    """

    def __init__(
        self, rows: pd.DataFrame, values: Mapping[str, Floats], factors: pd.DataFrame
    ) -> None:
        self.rows, self.values, self.factors = rows, values, factors

    def quantiles(self, q: Sequence[float] = QUANTILES) -> pd.DataFrame:
        """Return mean, standard deviation and quantiles of every row and result.

        Parameters
        ----------
        q : Levels between 0 and 1.

        Returns
        -------
        The rows, once per result, with ``on mean sd``, the quantiles by percentile (``p5 p50 p95``)
        and ``mean_se``: the standard error of the mean, from the spread of independent replicates.
        NaN where the result is not known in every draw, with the reason in ``note``.

        Raises
        ------
        AssumptionError
            A level lies outside 0 to 1.
        """
        names = [_percentile(level) for level in q]
        frames = []
        for on, values in self.values.items():
            quantiles = _quantiles(values, q)
            mean = values.mean(axis=1)
            parts = values.reshape(len(values), REPLICATES, values.shape[1] // REPLICATES)
            error = parts.mean(axis=2).std(axis=1, ddof=1) / np.sqrt(REPLICATES)
            stated = {"on": on, "mean": mean, "sd": values.std(axis=1), "mean_se": error}
            frames.append(self.rows.assign(**stated, **dict(zip(names, quantiles, strict=True))))
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
        standard error ``p_se``, percentiles of a over b, ``ratio_p5 ratio_p50 ratio_p95``, and
        ``note``: why they are missing.

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
            shares = wins.reshape(REPLICATES, -1).mean(axis=1)
            named = {"a": name_of(self.rows.iloc[i]), "b": name_of(self.rows.iloc[j])}
            row = {**group, **named, "on": on, "p_a_beats_b": float(shares.mean())}
            row["p_se"] = shares.std(ddof=1) / np.sqrt(REPLICATES)
            for level, value in zip(
                QUANTILES, _quantiles(of_a[np.newaxis] / of_b, QUANTILES), strict=True
            ):
                row[f"ratio_{_percentile(level)}"] = float(value[0])
            notes = {"a": self.rows["note"].iloc[i], "b": self.rows["note"].iloc[j]}
            said = [f"{side}: {note}" for side, note in notes.items() if note]
            table.append({**row, "note": "" if known.all() else "; ".join(said)})
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
    n : Draws, a power of two from 64 to 2²⁴.
    seed : Of the scramblings; like seeds give like draws.
    facts : Whether facts of the tables are drawn between their bounds as well.
    choices : By field of the scenario, assumptions that are each as likely:
        ``{"embodied_method": ["inventory", "act"], "grid_zone": ["FR", "PL"]}``. What differs
        between the options is drawn by the choice alone, without bounds of its own.

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
    names = [on] if isinstance(on, str) else list(on or [])
    count = power_of_two(n, _LEAST)
    solved, factors = prepared(runs, scenario, names, facts, choices)
    points = sobol_points(len(factors), count, seed)
    values = {name: np.empty((len(runs), count)) for name in names}
    width = max(1, _CHUNK // max(len(runs), 1))
    for start in range(0, count, width):
        part = slice(start, min(start + width, count))
        changed = changed_by(solved, factors, points[part])
        for name in names:
            values[name][:, part] = solved.values(name, changed)
    told = pd.DataFrame([factor.told for factor in factors], columns=TOLD)
    evaluated = evaluate(runs, solved.scenario)
    notes = [
        "; ".join(
            dict.fromkeys(
                filter(None, (_why_unknown(row, name, values[name][place]) for name in names))
            )
        )
        for place, (_, row) in enumerate(evaluated.iterrows())
    ]
    rows = runs.reset_index(drop=True).assign(note=pd.Series(notes, dtype="str"))
    return Draws(rows, values, told)


def _why_unknown(row: pd.Series, name: str, values: Floats) -> str:
    share = np.mean(~np.isfinite(values))
    if not share:
        return ""
    if share == 1:
        return why_missing(row, name) or f"{name} is not known in any draw"
    return f"{name} is not known in {share:.0%} of the draws"


def prepared(
    runs: pd.DataFrame,
    scenario: Scenario | None,
    names: Sequence[str],
    facts: bool,
    choices: Mapping[str, Sequence[Any]] | None,
) -> tuple[Solved, list[Factor]]:
    """Return rows that can be solved, and what their results rest on that is uncertain."""
    if not names:
        message = "on: at least one result belongs here"
        raise AssumptionError(message)
    for name in names:
        if name not in OUTCOMES:
            raise unknown_name("on", name, OUTCOMES)
    if not isinstance(choices, Mapping | None):
        message = f"choices={choices!r}: options by field of the scenario belong here"
        raise AssumptionError(message)
    solved = Solved(runs, checked(scenario), "monte_carlo")
    return solved, find_factors(runs, solved, Asked(names, facts, choices or {}))


def changed_by(solved: Solved, factors: Sequence[Factor], points: Floats) -> Changed:
    """Return the figures by draws, points given as draws by factors."""
    changed: Changed = {}
    for factor, u in zip(factors, points.T, strict=True):
        factor.into(changed, solved.kept, u)
    return changed


def sobol_points(dimensions: int, n: int, seed: int) -> Floats:
    """Return scrambled Sobol' points of all replicates, draws by dimensions."""
    from scipy.stats import qmc

    if not dimensions:
        return np.empty((n, 0))
    if not isinstance(seed, int) or seed < 0:
        message = f"seed={seed!r}: a whole number of 0 or more belongs here"
        raise AssumptionError(message)
    seeds = np.random.SeedSequence(seed).spawn(REPLICATES)
    parts = [
        qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(one)).random(n // REPLICATES)
        for one in seeds
    ]
    return np.concatenate(parts)


def power_of_two(n: Any, least: int) -> int:
    """Return a number of draws, or refuse it."""
    try:
        count = operator.index(n)
    except TypeError:
        count = 0
    if not least <= count <= MOST or count & (count - 1):
        message = f"n={n!r}: a power of two from {least} to {MOST} belongs here"
        raise AssumptionError(message)
    return count


def _percentile(level: float) -> str:
    return f"p{100 * level:.6g}".replace(".", "_")


def _quantiles(values: Floats, levels: Sequence[float]) -> Floats:
    for level in levels:
        if not 0 <= level <= 1:
            message = f"q={level!r}: levels lie between 0 and 1"
            raise AssumptionError(message)
    found = [np.quantile(row, levels) for row in values]
    return np.array(found).reshape(len(values), len(levels)).T
