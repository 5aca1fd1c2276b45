"""Watts that the boards of a configuration draw, by rung of the power ladder."""

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
    """Power of a board by concurrency: ``value``, in watts or as a fraction of its limit.

    Bounds are curves as well, or a fraction of the limit whatever the load (``wide``).
    """

    at_concurrency: Floats
    value: Floats
    low: Floats
    high: Floats
    of_limit: bool
    wide: tuple[float, float] | None
    basis: str
    facts: tuple[pd.Series, ...]


class Drawn(NamedTuple):
    """What one board of each row would draw without its limit, and bounds with it.

    The wanted power is ``wanted_w`` and ``wanted_frac`` times the limit: one of them is 0.
    Bounds are NaN where none are known.
    """

    wanted_w: Floats
    wanted_frac: Floats
    limit_w: Floats
    low_w: Floats
    high_w: Floats
    quality: Any
    causes: list[Cause]


def drawn(runs: pd.DataFrame, cards: Cards, n_gpus: Floats) -> Drawn:
    """Return the power of a board under load, by the scenario's rung."""
    rung = cards.scenario.power_model
    if rung == "measured":
        return _measured(runs, n_gpus)
    if rung == "load":
        return _by_load(runs, cards)
    word = "nameplate" if rung == "nameplate" else "all-in"
    limits = [lookups.tdp(card, cards.scenario) for card in cards.names]
    tdp = cards.laid_out([known._replace(basis=f"{word}, {known.basis}") for known in limits])
    none, unknown = np.zeros(len(runs)), np.full(len(runs), np.nan)
    return Drawn(none, none + 1, tdp.figures, unknown, unknown, tdp.bases, [tdp.cause])


def curve(gpu: str, scenario: Scenario) -> Curve:
    """Return a board's power by concurrency.

    Its own measured curve; else the watts of a board with the same die; else the shape of
    datacentre boards, as a fraction of the limit, drawn through the board's own point if it has
    one. The borrowed ones carry the bounds of boards without a curve.
    """
    tables = scenario.tables
    own = reference.load_facts(gpu, tables=tables)
    if len(own) > 1:
        return _curve(own, f"load, own curve, quality {own['quality'].max()}")
    sibling = reference.power_fact(gpu, "watts_of", tables=tables)
    if sibling is not None:
        points = reference.load_facts(sibling["value"], tables=tables)
        told = f"load, watts of {sibling['value']}, quality {sibling['quality']}"
        return _widened(_curve(points, told, sibling), scenario)
    shape = _curve(reference.load_facts(SHAPE, LOAD_FRAC, tables=tables), "")
    if own.empty:
        told = "load, shape of datacentre boards, quality D"
        return _widened(shape._replace(basis=told, of_limit=True), scenario)
    point = own.iloc[0]
    there = energy.load_w(point["at_concurrency"], shape.at_concurrency, shape.value)
    told = "load, shape of datacentre boards through its own point, quality D"
    value = shape.value * (point["value"] / float(np.asarray(there)))
    through = shape._replace(value=value, basis=told, facts=(*shape.facts, point))
    return _widened(through, scenario)


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


def _by_load(runs: pd.DataFrame, cards: Cards) -> Drawn:
    concurrency = _column(runs, "mean_concurrency")
    known = np.isfinite(concurrency) & (concurrency > 0)
    wanted_w, wanted_frac, low, high = (np.full(len(runs), np.nan) for _ in range(4))
    limits = []
    for code, card in enumerate(cards.names):
        along, limit = curve(card, cards.scenario), lookups.tdp(card, cards.scenario)
        limits.append(limit._replace(basis=along.basis))
        rows = (cards.codes == code) & known
        unit = limit.value if along.of_limit else 1.0

        def at_load(
            points: Floats, here: Floats = concurrency[rows], along: Curve = along
        ) -> Floats:
            return np.asarray(energy.load_w(here, along.at_concurrency, points))

        value = at_load(along.value)
        wanted_w[rows] = 0.0 if along.of_limit else value
        wanted_frac[rows] = value if along.of_limit else 0.0
        if along.wide is None:
            low[rows], high[rows] = at_load(along.low) * unit, at_load(along.high) * unit
        else:
            least, most = (frac * limit.value for frac in along.wide)
            low[rows] = np.minimum(value * unit, least)
            high[rows] = np.maximum(value * unit, most)
    laid = cards.laid_out(limits)
    unknown = "no mean_concurrency, which power_model='load' needs ('nameplate' does not)"
    low, high = np.minimum(low, laid.figures), np.minimum(high, laid.figures)
    causes: list[Cause] = [laid.cause, (~known, unknown)]
    return Drawn(wanted_w, wanted_frac, laid.figures, low, high, laid.bases, causes)


def _measured(runs: pd.DataFrame, n_gpus: Floats) -> Drawn:
    watts = _column(runs, "gpu_power_w")
    with np.errstate(divide="ignore", invalid="ignore"):
        from_energy = _column(runs, "gpu_energy_j") / _column(runs, "duration_s")
    watts = np.where(np.isnan(watts), from_energy, watts)
    watts = np.where(np.isfinite(watts) & (watts > 0), watts, np.nan)
    causes: list[Cause] = []
    if "power_note" in runs:
        said = runs["power_note"].fillna("").to_numpy(dtype=object)
        causes.append((np.isnan(watts) & (said != ""), said))
    causes.append((np.isnan(watts), "no measured power: neither gpu_power_w nor gpu_energy_j"))
    methods = runs.get("energy_method", pd.Series("", index=runs.index)).fillna("")
    words = "measured, " + methods.where(methods != "", "method not stated").astype("str")
    none, unknown = np.zeros(len(runs)), np.full(len(runs), np.nan)
    each = watts / n_gpus
    return Drawn(each, none, each, unknown, unknown, words.array, causes)


def _column(runs: pd.DataFrame, name: str) -> Floats:
    return numbers(runs, name) if name in runs else np.full(len(runs), np.nan)


def _curve(points: pd.DataFrame, basis: str, *more: pd.Series) -> Curve:
    def column(name: str) -> Floats:
        return np.asarray(points[name].fillna(points["value"]).to_numpy(dtype="float64"))

    at = np.asarray(points["at_concurrency"].to_numpy(dtype="float64"))
    facts = (*(row for _, row in points.iterrows()), *more)
    return Curve(at, column("value"), column("low"), column("high"), False, None, basis, facts)


def _widened(along: Curve, scenario: Scenario) -> Curve:
    fact = reference.power_fact(UNKNOWN_CURVE, "load_frac", tables=scenario.tables)
    if fact is None:  # a user's own table without it
        return along
    return along._replace(wide=(fact["low"], fact["high"]), facts=(*along.facts, fact))
