"""Where two options tie: over a price, a grid, a utilisation, or any number of a scenario."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost.crossover.api import api_breakeven
from hetcost.crossover.pairs import (
    PRICE_RATIO,
    Along,
    Floats,
    Pair,
    Problem,
    Side,
    checked_bounds,
)
from hetcost.errors import AssumptionError, DataWarning
from hetcost.impacts import checked, figures_of
from hetcost.pairing import name_of, why_missing
from hetcost.scenario import Scenario

__all__ = ["api_breakeven", "breakeven", "breakeven_map", "breakeven_table"]

_SAME = 1e-13  # relative difference that is rounding
_POINTS = 513  # at which the sign of the difference is looked at before roots are refined


def breakeven(
    runs: pd.DataFrame,
    a: str,
    b: str,
    scenario: Scenario | None = None,
    *,
    vary: str,
    on: str,
    side: Side = "both",
    bounds: Pair | None = None,
    by: str | Sequence[str] = "model",
    pick: Literal["cheapest"] | None = None,
) -> pd.DataFrame:
    """Find where two options tie, as one number of the scenario varies.

    Parameters
    ----------
    runs : Runs, or configurations at capacity (:func:`hetcost.highest_measured`).
    a, b : Queries in pandas' syntax; each is to match one row per group.
    scenario : Assumptions; the varied number is replaced.
    vary : A numeric field of the scenario; or ``price_ratio``, the rent of a card of `a` over that
        of a card of `b`.
    on : What is compared, less is better: ``usd_per_mtok_out``, ``gco2e_per_mtok_out`` …
    side : Whose number is varied: of ``both``, of ``a`` or of ``b`` alone.
    bounds : Where to look; usual bounds of the number if None. Two crossings closer together than
        a 512th of them are not told apart.
    by : Columns that make the groups.
    pick : ``cheapest`` takes the row of least ``usd_per_mtok_out`` where a query matches several.

    Returns
    -------
    One row per group and crossing: the columns of `by`, ``a b`` (what they are), ``on vary side
    lowest highest``, ``crossing`` (the varied number; NaN if there is none), ``value_at_crossing``
    (of `on`), ``wins_below wins_above`` (``a``, ``b`` or ``tie``), ``cost_basis`` and ``note``:
    who wins throughout, or what is not known.

    Raises
    ------
    UnknownNameError
        `vary` or `on` is none of those that can be computed; the message lists them.
    AssumptionError
        Bounds are reversed or needed; a query is none, matches nothing, or several rows of a
        group; or both match the same row.

    Examples
    --------
    >>> import hetcost as hc
    >>> runs = hc.of_model(hc.load_runs("ionet-2025"), "DeepSeek-R1-Distill-Qwen-14B")
    >>> runs = hc.highest_measured(runs)
    >>> pair, h100 = "gpu == 'RTX 4090' and n_gpus == 2", "gpu == 'H100 PCIe 80GB' and n_gpus == 1"
    >>> tie = breakeven(runs, pair, h100, vary="price_ratio", on="usd_per_mtok_out")
    >>> round(tie["crossing"].item(), 3)
    0.261
    """
    problem = Problem(runs, a, b, scenario, by, pick)
    low, high = checked_bounds(vary, bounds)
    along = Along(problem, vary, side, on).checked(low, high)
    grid = np.linspace(low, high, _POINTS)
    values = along.values(grid)
    rows = [
        row
        for place, group in enumerate(problem.groups)
        for row in _crossings(along, place, group, grid, values)
    ]
    told: dict[str, Any] = {"on": on, "vary": vary, "side": side, "lowest": low, "highest": high}
    columns = ["a", "b", *told, "crossing", "value_at_crossing", "wins_below", "wins_above"]
    table = pd.DataFrame([*rows, *problem.lacking]).assign(**told)
    return table.reindex(columns=[*problem.keys, *columns, "cost_basis", "note"])


def breakeven_map(
    runs: pd.DataFrame,
    a: str,
    b: str,
    scenario: Scenario | None = None,
    *,
    vary: tuple[str, str],
    on: str,
    side: tuple[Side, Side] = ("both", "both"),
    bounds: tuple[Pair | None, Pair | None] = (None, None),
    points: tuple[int, int] = (200, 200),
    by: str | Sequence[str] = "model",
    pick: Literal["cheapest"] | None = None,
) -> pd.DataFrame:
    """Say which of two options wins over two numbers that vary together.

    Parameters
    ----------
    runs, a, b, scenario, on, by, pick : As for :func:`breakeven`.
    vary, side, bounds : As there, one of each per number.
    points : How many values of each are taken, evenly spaced.

    Returns
    -------
    One row per group and pair of values: the columns of `by`, the two varied numbers (of one on
    either side, with ``_a`` and ``_b``), ``a_over_b`` (ratio of `on`; 1 where they tie, NaN where
    it is not known) and ``wins``. Groups that lack a row are counted in a :class:`DataWarning`.

    Raises
    ------
    UnknownNameError, AssumptionError
        As :func:`breakeven`; or both numbers decide on the same.
    """
    first, second = _two(vary, "vary")
    counts = [_count(n) for n in _two(points, "points")]
    overlap = first == second or set(figures_of(first)) & set(figures_of(second))
    if overlap and sorted(side) != ["a", "b"]:
        message = f"breakeven_map: vary={vary!r}: two numbers, or one on either side, belong here"
        raise AssumptionError(message)
    if PRICE_RATIO in vary and "usd_per_gpu_h" in vary:
        message = f"breakeven_map: vary={vary!r}: the rents decide on the price ratio"
        raise AssumptionError(message)
    problem = Problem(runs, a, b, scenario, by, pick)
    ends = [
        checked_bounds(name, limits)
        for name, limits in zip(vary, _two(bounds, "bounds"), strict=True)
    ]
    axes = [np.linspace(*limits, count) for limits, count in zip(ends, counts, strict=True)]
    x, y = (side_.ravel() for side_ in np.meshgrid(*axes, indexing="ij"))
    alongs = [
        Along(problem, name, which, on).checked(*limits)
        for name, which, limits in zip(vary, _two(side, "side"), ends, strict=True)
    ]
    changed = alongs[1].changed(y, alongs[0].changed(x))
    names = [first, second] if first != second else [f"{first}_{which}" for which in side]
    of_a, of_b = problem.split(problem.solved.values(on, changed))
    frames = []
    for place, group in enumerate(problem.groups):
        both_free = (of_a[place] == 0) & (of_b[place] == 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(both_free, 1.0, of_a[place] / of_b[place])
        wins = np.select([ratio < 1, ratio > 1, ratio == 1], ["a", "b", "tie"], "")
        frame = pd.DataFrame({names[0]: x, names[1]: y, "a_over_b": ratio, "wins": wins})
        frames.append(frame.assign(**{key: group[key] for key in problem.keys}))
    if problem.lacking:
        message = f"breakeven_map: {len(problem.lacking)} groups lack a row of a or of b"
        warnings.warn(message, DataWarning, stacklevel=2)
    table = pd.concat(frames, ignore_index=True)
    return table[[*problem.keys, *names, "a_over_b", "wins"]]


def breakeven_table(
    runs: pd.DataFrame,
    a: str,
    b: str,
    scenario: Scenario | None = None,
    *,
    over: Mapping[str, Mapping[str, Mapping[str, Any]]],
    vary: str,
    on: str,
    side: Side = "both",
    bounds: Pair | None = None,
    by: str | Sequence[str] = "model",
    pick: Literal["cheapest"] | None = None,
) -> pd.DataFrame:
    """Repeat :func:`breakeven` under every combination of assumptions.

    Parameters
    ----------
    runs, a, b, scenario, vary, on, side, bounds, by, pick : As for :func:`breakeven`.
    over : By name of an assumption, its choices by label, each a change of the scenario:
        ``{"host": {"none": {"embodied_boundary": "gate"}, "shared": {}}}``.

    Returns
    -------
    The rows of :func:`breakeven`, with a column per assumption before them.

    Raises
    ------
    UnknownNameError, AssumptionError
        As :func:`breakeven`.
    """
    base = checked(scenario)
    fields = [{name for change in choices.values() for name in change} for choices in over.values()]
    if not all(over.values()) or sum(map(len, fields)) != len(set().union(*fields)):
        message = "over: every assumption has a choice, and no two of them change the same field"
        raise AssumptionError(message)
    tables = []
    for labels in itertools.product(*over.values()):
        changes: dict[str, Any] = {}
        for choices, label in zip(over.values(), labels, strict=True):
            changes |= choices[label]
        there = base.but(**changes)
        found = breakeven(
            runs, a, b, there, vary=vary, on=on, side=side, bounds=bounds, by=by, pick=pick
        )
        for place, (name, label) in enumerate(zip(over, labels, strict=True)):
            if name in found:
                message = f"over: '{name}' is a column of the result already"
                raise AssumptionError(message)
            found.insert(place, name, label)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def _crossings(
    along: Along, place: int, group: dict[str, Any], grid: Floats, values: Floats
) -> list[dict[str, Any]]:
    from scipy.optimize import brentq

    problem = along.problem
    of_a, of_b = (side[place] for side in problem.split(values))
    known = np.isfinite(of_a - of_b)
    free = known & (of_a == 0) & (of_b == 0)  # nothing is charged to either: no tie to tell of
    told = known & ~free if (known & ~free).any() else known
    apart = np.where(np.isclose(of_a, of_b, rtol=_SAME, atol=0), 0.0, of_a - of_b)
    x, signs = grid[told], np.sign(apart[told])
    a, b = (problem.evaluated.iloc[i] for i in (place, place + len(problem.groups)))
    said = {**group, "a": name_of(a), "b": name_of(b), "cost_basis": a["cost_basis"]}
    gaps = _gaps(grid, known)
    if not known.any():
        notes = [f"{side}: {why_missing(row, along.on)}" for side, row in (("a", a), ("b", b))]
        unknown = [note for note in notes if not note.endswith(": ")]
        return [{**said, "note": "; ".join(["not known", *unknown])}]
    roots = _ends_of_ties(x, signs)
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        ends = float(x[i]), float(x[i + 1])
        root = brentq(lambda at: along.gap(place, at), *ends, xtol=1e-13, rtol=1e-14)
        roots.append(float(root))
    if not roots:
        wins = _winner(float(signs[0]))
        told = f"no crossing: {wins} wins throughout" if signs[0] else "they tie throughout"
        if np.ptp(of_a[known]) == np.ptp(of_b[known]) == 0:
            told += f" ({along.vary} changes nothing here)"
        return [{**said, "wins_below": wins, "wins_above": wins, "note": told + gaps}]
    rows = []
    for root in sorted(roots):
        below, above = signs[x < root], signs[x > root]
        at = along.values(np.array([root]))[place, 0]
        row = {**said, "crossing": root, "value_at_crossing": float(at), "note": gaps.lstrip("; ")}
        row["wins_below"] = _winner(float(below[-1])) if len(below) else "tie"
        row["wins_above"] = _winner(float(above[0])) if len(above) else "tie"
        rows.append(row)
    return rows


def _ends_of_ties(x: Floats, signs: Floats) -> list[float]:
    """Return where two that tie over a stretch begin and cease to, inside the bounds."""
    if not signs.any():
        return []
    ties = np.flatnonzero(signs == 0)
    stretches = np.split(ties, np.flatnonzero(np.diff(ties) > 1) + 1) if len(ties) else []
    ends = {(int(part[0]), int(part[-1])) for part in stretches}
    inside = {
        end
        for first, last in ends
        for end in (first, last)
        if first == last or 0 < end < len(x) - 1
    }
    return [float(x[end]) for end in inside]


def _two(given: Any, name: str) -> Any:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        message = f"breakeven_map: {name}={given!r}: two of them belong here"
        raise AssumptionError(message)
    return given


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < 2:
        message = f"breakeven_map: points={n!r}: a whole number from 2 belongs here"
        raise AssumptionError(message)
    return n


def _gaps(grid: Floats, known: NDArray[np.bool_]) -> str:
    """Say where the results are not known."""
    if known.all() or not known.any():
        return ""
    lacking = grid[~known]
    return f"; not known at some values between {lacking.min():g} and {lacking.max():g}"


def _winner(sign: float) -> str:
    return "tie" if sign == 0 else "a" if sign < 0 else "b"
