"""Where two options tie: over a price, a grid, a utilisation, or any number of a scenario."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from hetcost.crossover.pairs import (
    Along,
    Floats,
    Pair,
    Problem,
    Side,
    checked_bounds,
)
from hetcost.errors import AssumptionError
from hetcost.formulas.cost import usd_per_api_h
from hetcost.impacts import Solved
from hetcost.pairing import name_of
from hetcost.scenario import Scenario

__all__ = ["api_breakeven", "breakeven", "breakeven_map", "breakeven_table"]

_POINTS = 513  # at which the sign of the difference is looked at before roots are refined
_HALVINGS = 60


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
    along = Along(problem, vary, side, on)
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
    One row per group and pair of values: the columns of `by`, the two varied numbers, ``a_over_b``
    (ratio of `on`; 1 where they tie) and ``wins``.

    Raises
    ------
    UnknownNameError, AssumptionError
        As :func:`breakeven`; or both numbers are the same.
    """
    first, second = vary
    if first == second:
        message = f"breakeven_map: vary={vary!r}: two different numbers belong here"
        raise AssumptionError(message)
    problem = Problem(runs, a, b, scenario, by, pick)
    axes = [
        np.linspace(*checked_bounds(name, limits), count)
        for name, limits, count in zip(vary, bounds, points, strict=True)
    ]
    x, y = (side_.ravel() for side_ in np.meshgrid(*axes, indexing="ij"))
    alongs = [Along(problem, name, s, on) for name, s in zip(vary, side, strict=True)]
    changed = alongs[0].changed(x) | alongs[1].changed(y)
    of_a, of_b = problem.split(problem.solved.values(on, changed))
    frames = []
    for place, group in enumerate(problem.groups):
        ratio = of_a[place] / of_b[place]
        wins = np.select([ratio < 1, ratio > 1, ratio == 1], ["a", "b", "tie"], "")
        frame = pd.DataFrame({first: x, second: y, "a_over_b": ratio, "wins": wins})
        frames.append(frame.assign(**{key: group[key] for key in problem.keys}))
    table = pd.concat(frames, ignore_index=True)
    return table[[*problem.keys, first, second, "a_over_b", "wins"]]


def breakeven_table(
    runs: pd.DataFrame,
    a: str,
    b: str,
    scenario: Scenario | None = None,
    *,
    over: Mapping[str, Mapping[str, Mapping[str, Any]]],
    vary: str,
    on: str,
    bounds: Pair | None = None,
    by: str | Sequence[str] = "model",
    pick: Literal["cheapest"] | None = None,
) -> pd.DataFrame:
    """Repeat :func:`breakeven` under every combination of assumptions.

    Parameters
    ----------
    runs, a, b, scenario, vary, on, bounds, by, pick : As for :func:`breakeven`.
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
    base = Scenario() if scenario is None else scenario
    tables = []
    for labels in itertools.product(*over.values()):
        changes: dict[str, Any] = {}
        for choices, label in zip(over.values(), labels, strict=True):
            changes |= choices[label]
        found = breakeven(
            runs, a, b, base.but(**changes), vary=vary, on=on, bounds=bounds, by=by, pick=pick
        )
        for place, (name, label) in enumerate(zip(over, labels, strict=True)):
            found.insert(place, name, label)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def api_breakeven(
    runs: pd.DataFrame,
    scenario: Scenario | None = None,
    *,
    usd_per_mtok_in: float,
    usd_per_mtok_out: float,
) -> pd.DataFrame:
    """Find the load from which hosting a model oneself costs less than an API.

    Hardware that is rented or owned is paid around the clock; the API by the token. The load is a
    share of what the run served, with its mix of input and output tokens.

    Parameters
    ----------
    runs : Runs, best of configurations at capacity (:func:`hetcost.highest_measured`).
    scenario : Assumptions on the hardware; its ``load_frac`` is what is solved for.
    usd_per_mtok_in, usd_per_mtok_out : Prices of the API. [USD/Mtok]

    Returns
    -------
    The rows with ``api_usd_per_h`` (the same tokens from the API, at the run's load) [USD/h],
    ``self_usd_per_h`` (the hardware at that load) [USD/h], ``breakeven_load_frac`` (NaN where
    there is none) [1], ``breakeven_out_tok_per_s`` [tok/s] and ``breakeven_note``.

    Raises
    ------
    AssumptionError
        A price is negative.
    """
    base = Scenario() if scenario is None else scenario
    solved = Solved(runs, base, "api_breakeven")
    out = solved.figures["out_tok_per_s"]
    both = solved.figures["all_tok_per_s"]
    api = np.asarray(usd_per_api_h(both - out, out, usd_per_mtok_in, usd_per_mtok_out))

    def own_usd_per_h(load_frac: Floats) -> Floats:
        """Cost of an hour on the clock, used or not, at a share of the run's load."""
        used = solved.values("usd_per_h", {"load_frac": load_frac})
        on_the_clock = np.isin(solved.ways_by_row, ["rent", "spot"])[:, np.newaxis]
        return np.where(on_the_clock, used, used * load_frac)

    full = own_usd_per_h(np.ones((len(runs), 1)))[:, 0]
    low, high = np.full(len(runs), np.finfo(float).eps), np.ones(len(runs))
    pays = api > full
    for _ in range(_HALVINGS):  # of every row at once: what is gained rises with the load
        middle = (low + high) / 2
        gains = api * middle > own_usd_per_h(middle[:, np.newaxis])[:, 0]
        low, high = np.where(gains, low, middle), np.where(gains, middle, high)
    load = np.where(pays, high, np.nan)
    known = np.isfinite(api) & np.isfinite(full)
    note = np.select(
        [~known, ~pays], ["cost or throughput is not known", "the API costs less at any load"], ""
    )
    return runs.assign(
        api_usd_per_h=api,
        self_usd_per_h=full,
        breakeven_load_frac=load,
        breakeven_out_tok_per_s=load * out,
        breakeven_note=pd.Series(note.astype(object), index=runs.index, dtype="str"),
    )


def _crossings(
    along: Along, place: int, group: dict[str, Any], grid: Floats, values: Floats
) -> list[dict[str, Any]]:
    from scipy.optimize import brentq

    problem = along.problem
    of_a, of_b = (side[place] for side in problem.split(values))
    gap = of_a - of_b
    a, b = (problem.evaluated.iloc[i] for i in (place, place + len(problem.groups)))
    said = {**group, "a": name_of(a), "b": name_of(b), "cost_basis": a["cost_basis"]}
    if np.isnan(gap).all():
        notes = [f"{side}: {_why(row, along.on)}" for side, row in (("a", a), ("b", b))]
        unknown = [note for note in notes if not note.endswith(": ")]
        return [{**said, "note": "not known; " + "; ".join(unknown)}]
    signs = np.sign(gap)
    roots = [float(grid[i]) for i in np.flatnonzero(signs == 0)]
    for i in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        ends = float(grid[i]), float(grid[i + 1])
        root = brentq(lambda x: along.gap(place, x), *ends, xtol=1e-13, rtol=1e-14)
        roots.append(float(root))
    if (signs == 0).all() or not roots:
        wins = "neither: they tie" if (signs == 0).all() else _winner(signs[signs != 0][0])
        throughout = f"no crossing: {wins} wins throughout" if len(wins) == 1 else wins
        side = wins if len(wins) == 1 else "tie"
        return [{**said, "wins_below": side, "wins_above": side, "note": throughout}]
    rows = []
    for root in sorted(roots):
        below, above = signs[(grid < root) & (signs != 0)], signs[(grid > root) & (signs != 0)]
        at = along.values(np.array([root]))[place, 0]
        row = {**said, "crossing": root, "value_at_crossing": float(at), "note": ""}
        row["wins_below"] = _winner(below[-1]) if len(below) else "tie"
        row["wins_above"] = _winner(above[0]) if len(above) else "tie"
        rows.append(row)
    return rows


def _winner(sign: float) -> str:
    return "a" if sign < 0 else "b"


def _why(row: pd.Series, on: str) -> str:
    kind = "cost" if on.startswith("usd") else "energy" if "_j_per_" in on else "carbon"
    return str(row[f"{kind}_note"])
