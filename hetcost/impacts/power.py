"""Watts of a configuration by rung of the power ladder, and energy per token at each boundary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.columns import numbers
from hetcost.formulas import energy
from hetcost.impacts import lookups
from hetcost.impacts.lookups import Cards, Cause, Floats, Known
from hetcost.reference.tables import LOAD_FRAC
from hetcost.scenario import Scenario

SHAPE = "datacentre boards"
UNKNOWN_CURVE = "boards without a curve"


class Curve(NamedTuple):
    """Watts of a board by concurrency, with bounds; and what they rest on."""

    at_concurrency: Floats
    watts: Floats
    low: Floats
    high: Floats
    basis: str
    facts: tuple[pd.Series, ...]


class BoardPower(NamedTuple):
    """Watts of all boards of each row, and the cause where they are missing."""

    watts: Floats
    low: Floats
    high: Floats
    quality: Any
    causes: list[Cause]


def boards(runs: pd.DataFrame, cards: Cards, n_gpus: Floats) -> BoardPower:
    """Return the power of all boards under load, by the scenario's rung."""
    rung = cards.scenario.power_model
    if rung == "measured":
        return _measured(runs)
    if rung == "load":
        return _by_load(runs, cards, n_gpus)
    word = "nameplate" if rung == "nameplate" else "all-in"
    limits = [lookups.tdp(card, cards.scenario) for card in cards.names]
    tdp = cards.laid_out([known._replace(basis=f"{word}, {known.basis}") for known in limits])
    watts = np.asarray(energy.nameplate_gpu_w(tdp.figures, n_gpus))
    unknown = np.full(len(runs), np.nan)
    return BoardPower(watts, unknown, unknown, tdp.bases, [tdp.cause])


def curve(gpu: str, limit: Known, scenario: Scenario) -> Curve:
    """Return a board's watts by concurrency.

    Its own measured curve; else the watts of a board with the same die; else the shape of
    datacentre boards, as a fraction of the limit, drawn through the board's own point if it has
    one. Watts are cut off at the board's limit. Borrowed curves carry the bounds of boards
    without a curve.
    """
    tables = scenario.tables
    own = reference.load_facts(gpu, tables=tables)
    if len(own) > 1:
        return _curve(own, limit, 1.0, f"load, own curve, quality {own['quality'].max()}")
    sibling = reference.power_fact(gpu, "watts_of", tables=tables)
    if sibling is not None:
        borrowed = reference.load_facts(sibling["value"], tables=tables)
        told = f"load, watts of {sibling['value']}, quality {sibling['quality']}"
        return _with_wide_bounds(_curve(borrowed, limit, 1.0, told, (sibling,)), limit, scenario)
    shape = reference.load_facts(SHAPE, LOAD_FRAC, tables=tables)
    if own.empty:
        told = "load, shape of datacentre boards, quality D"
        return _with_wide_bounds(_curve(shape, limit, limit.value, told), limit, scenario)
    point = own.iloc[0]
    there = np.interp(
        np.log2(point["at_concurrency"]), np.log2(shape["at_concurrency"]), shape["value"]
    )
    told = "load, shape of datacentre boards through its own point, quality D"
    scaled = _curve(shape, limit, point["value"] / there, told, (point,))
    return _with_wide_bounds(scaled, limit, scenario)


def host_load(gpu: str, scenario: Scenario) -> Known:
    """Return the host's power per card under load, in W; on the all-in rung what is provisioned."""
    own = scenario.of("host_w_load_per_gpu", gpu)
    provisioned = scenario.power_model == "all_in" and own is None
    return lookups.sited("host_w_max_per_gpu" if provisioned else "host_w_load_per_gpu")(
        gpu, scenario
    )


def psu_under_load(gpu: str, scenario: Scenario) -> Known:
    """Return the power supply's efficiency; 1 on the all-in rung, which is stated at the plug."""
    if scenario.power_model == "all_in":
        return Known(1.0)
    return lookups.sited("psu_efficiency_frac")(gpu, scenario)


def _by_load(runs: pd.DataFrame, cards: Cards, n_gpus: Floats) -> BoardPower:
    concurrency = (
        numbers(runs, "mean_concurrency")
        if "mean_concurrency" in runs
        else np.full(len(runs), np.nan)
    )
    known = np.isfinite(concurrency) & (concurrency > 0)
    per_board = np.full((3, len(runs)), np.nan)
    found: list[Known] = []
    for code, card in enumerate(cards.names):
        limit = lookups.tdp(card, cards.scenario)
        drawn = None if limit.missing else curve(card, limit, cards.scenario)
        found.append(limit if drawn is None else Known(1.0, drawn.basis))
        if drawn is None:
            continue
        rows = (cards.codes == code) & known
        for side, points in enumerate((drawn.watts, drawn.low, drawn.high)):
            per_board[side, rows] = energy.load_w(
                concurrency[rows], drawn.at_concurrency, points, limit.value
            )
    looked_up = cards.laid_out(found)
    unknown = "no mean_concurrency, which power_model='load' needs ('nameplate' does not)"
    watts, low, high = per_board * n_gpus
    return BoardPower(watts, low, high, looked_up.bases, [looked_up.cause, (~known, unknown)])


def _measured(runs: pd.DataFrame) -> BoardPower:
    def column(name: str) -> Floats:
        return numbers(runs, name) if name in runs else np.full(len(runs), np.nan)

    watts = column("gpu_power_w")
    with np.errstate(divide="ignore", invalid="ignore"):
        from_energy = column("gpu_energy_j") / column("duration_s")
    watts = np.where(np.isnan(watts), from_energy, watts)
    watts = np.where(np.isfinite(watts) & (watts > 0), watts, np.nan)
    causes: list[Cause] = []
    if "power_note" in runs:
        said = runs["power_note"].fillna("").to_numpy(dtype=object)
        causes.append((np.isnan(watts) & (said != ""), said))
    causes.append((np.isnan(watts), "no measured power: neither gpu_power_w nor gpu_energy_j"))
    methods = runs.get("energy_method", pd.Series("", index=runs.index)).fillna("")
    words = "measured, " + methods.where(methods != "", "method not stated").astype("str")
    unknown = np.full(len(runs), np.nan)
    return BoardPower(watts, unknown, unknown, words.array, causes)


def _curve(
    points: pd.DataFrame, limit: Known, scale: float, basis: str, more: tuple[pd.Series, ...] = ()
) -> Curve:
    facts = (*(row for _, row in points.iterrows()), *more, *limit.facts)

    def scaled(name: str) -> Floats:
        filled = points[name].fillna(points["value"])
        return np.asarray(filled.to_numpy(dtype="float64") * scale)

    at = np.asarray(points["at_concurrency"].to_numpy(dtype="float64"))
    return Curve(at, scaled("value"), scaled("low"), scaled("high"), basis, facts)


def _with_wide_bounds(drawn: Curve, limit: Known, scenario: Scenario) -> Curve:
    fact = reference.power_fact(UNKNOWN_CURVE, "load_frac", tables=scenario.tables)
    if fact is None:
        return drawn
    capped = np.minimum(drawn.watts, limit.value)
    return drawn._replace(
        low=np.minimum(capped, fact["low"] * limit.value),
        high=np.maximum(capped, fact["high"] * limit.value),
        facts=(*drawn.facts, fact),
    )
