"""The rows worth choosing: sweet spots under an SLO, and the Pareto frontier."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.columns import TOKEN_BASES, numbers, one_accounting, require
from hetcost.errors import AssumptionError, ColumnError, DataWarning, listing, unknown_name

Rule = Literal["cheapest"]

_SWEEPS, _SWEEPERS = 2, 4


def sweet_spots(
    frame: pd.DataFrame,
    by: str | Sequence[str] = ("model", "gpu", "n_gpus"),
    *,
    rule: Rule = "cheapest",
    basis: str = "out",
) -> pd.DataFrame:
    """Take the cheapest row of each group among those that keep the SLO.

    Parameters
    ----------
    frame : Evaluated rows that went through :func:`hetcost.meets_slo`.
    by : Columns that make the groups.
    rule : ``cheapest``: lowest cost per million tokens; the first of equals is taken.
    basis : Token basis of the cost: ``out`` or ``all``.

    Returns
    -------
    One row per group, with the columns of the frame, in the order of the frame. A group in
    which no row is known to keep the SLO at a known cost has none; a :class:`DataWarning`
    names it.

    Raises
    ------
    ColumnError
        ``meets_slo``, the cost or a grouping column is missing.
    UnknownNameError
        An unknown rule or basis.
    """
    if rule not in get_args(Rule):
        raise unknown_name("rule", rule, get_args(Rule))
    if basis not in TOKEN_BASES:
        raise unknown_name("basis", basis, TOKEN_BASES)
    keys = list(dict.fromkeys([by] if isinstance(by, str) else by))
    cost = f"usd_per_mtok_{basis}"
    require(frame, [*keys, cost, "meets_slo"], "sweet_spots")
    if not keys:
        message = "sweet_spots: by names no column"
        raise AssumptionError(message)
    if not pd.api.types.is_bool_dtype(frame["meets_slo"]):
        message = f"sweet_spots: meets_slo is {frame['meets_slo'].dtype}, not boolean"
        raise ColumnError(message)
    # By position, so that an index with repeated labels does no harm.
    plain = frame[keys].reset_index(drop=True).assign(_cost=numbers(frame, cost))
    fits = frame["meets_slo"].fillna(False).to_numpy(dtype=bool) & plain["_cost"].notna().to_numpy()
    ranked = plain[fits].sort_values("_cost", kind="stable")
    spots = frame.iloc[np.sort(ranked.drop_duplicates(keys).index.to_numpy())]
    groups = frame[keys].drop_duplicates()
    without = groups.merge(spots[keys], how="left", on=keys, indicator="_found")
    without = without.loc[without["_found"] == "left_only", keys]
    if not without.empty:
        names = [", ".join(map(str, row)) for row in without.itertuples(index=False)]
        message = (
            f"{len(names)} of {len(groups)} groups have no row that is known to keep the SLO at a "
            f"known cost: {listing(names)}"
        )
        warnings.warn(message, DataWarning, stacklevel=2)
    return spots


def head_to_head(spots: pd.DataFrame, *, basis: str = "out") -> pd.DataFrame:
    """Set each model's cheapest card against the cheapest of any other kind.

    Parameters
    ----------
    spots : Sweet spots, as :func:`sweet_spots` gives them.
    basis : Token basis of the cost: ``out`` or ``all``.

    Returns
    -------
    One row per model with spots on two kinds of card or more: ``model gpu n_gpus`` and cost of
    the cheapest, ``other_gpu other_n_gpus`` of the next kind, ``saving_frac``.
    """
    cost = f"usd_per_mtok_{basis}"
    require(spots, ["model", "gpu", "n_gpus", cost], "head_to_head")
    by_card = (
        spots.reset_index(drop=True)
        .sort_values(cost, kind="stable")
        .drop_duplicates(["model", "gpu"])
    )
    columns = ["model", "gpu", "n_gpus", cost]
    first = by_card.drop_duplicates("model")[columns]
    second = by_card.drop(first.index).drop_duplicates("model")[columns]
    both = first.merge(second.add_prefix("other_"), left_on="model", right_on="other_model")
    saving = 1 - both[cost] / both[f"other_{cost}"]
    return both.drop(columns=["other_model"]).assign(saving_frac=saving).sort_values("model")


def pareto(
    frame: pd.DataFrame,
    *,
    minimize: str | Sequence[str] = (),
    maximize: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Keep the rows that no other row dominates.

    A row dominates another if it is at least as good in every column and better in one.
    Exact; rows equal in all columns are kept together or not at all.

    Parameters
    ----------
    frame : Any frame.
    minimize, maximize : Columns of numbers where less, or more, is better.

    Returns
    -------
    The rows of the frontier, in the order of the frame. Rows with a missing value are set
    apart; a :class:`DataWarning` says how many.

    Raises
    ------
    ColumnError
        A column is missing, or energies or emissions of different accounting are mixed.
    AssumptionError
        No column is given, or one is given both ways.
    """
    less = [minimize] if isinstance(minimize, str) else list(minimize)
    more = [maximize] if isinstance(maximize, str) else list(maximize)
    if not less and not more:
        message = "pareto: give at least one column to minimize or maximize"
        raise AssumptionError(message)
    if both := set(less) & set(more):
        message = f"pareto: {listing(sorted(both))} cannot be minimized and maximized at once"
        raise AssumptionError(message)
    require(frame, [*less, *more], "pareto")
    if any("gco2e" in name or "_j_per_tok" in name for name in (*less, *more)):
        one_accounting(frame, "pareto")
    raw = np.column_stack([numbers(frame, name) for name in (*less, *more)])
    values = raw * np.array([1.0] * len(less) + [-1.0] * len(more))
    complete = ~np.isnan(values).any(axis=1)
    if not complete.all():
        message = f"pareto: {(~complete).sum()} of {len(frame)} rows lack a value and are set apart"
        warnings.warn(message, DataWarning, stacklevel=2)
    positions = np.flatnonzero(complete)
    return frame.iloc[np.sort(positions[_undominated(values[complete])])]


def _undominated(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the positions of the rows that no row dominates; less is better.

    Each survivor in turn strikes out what it dominates. The order changes nothing but the time
    it takes: rows that are low all over strike out most, so a few of them go first, before
    copies are sought and the rest is sorted.
    """
    positions = np.arange(len(values))
    for _ in range(_SWEEPS if len(values) else 0):
        few = min(_SWEEPERS, len(positions)) - 1
        first = np.argpartition(_sums(values[positions]), few)[: few + 1]
        for lowest in values[positions[first]]:
            positions = positions[_survive(values[positions], lowest)]
    points, copies = np.unique(values[positions], axis=0, return_inverse=True)
    alive = np.argsort(_sums(points), kind="stable")
    points, done = points[alive], 0
    while done < len(points):
        keep = _survive(points, points[done])
        alive, points = alive[keep], points[keep]
        done = int(keep[: done + 1].sum())
    return positions[np.isin(copies.ravel(), alive)]


def _sums(points: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # of opposite infinities
        return np.asarray(points.sum(axis=1))


def _survive(points: NDArray[np.float64], candidate: NDArray[np.float64]) -> NDArray[np.bool_]:
    survive = np.asarray((points == candidate).all(axis=1))
    for column, limit in enumerate(candidate):
        survive |= points[:, column] < limit
    return survive
