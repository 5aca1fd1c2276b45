"""Watts that the boards of a configuration draw, by rung of the power ladder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.columns import numbers, numbers_or_missing
from hetcost.errors import ReferenceDataError
from hetcost.formulas import energy
from hetcost.impacts import lookups
from hetcost.impacts.lookups import Cards, Cause, Floats, Known
from hetcost.reference.tables import LOAD_FRAC, LOAD_W
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

    The wanted power is ``wanted_w`` and ``wanted_frac`` times the limit: one of them is 0. Below
    one request in flight the board idles in between: ``busy_frac`` of the time it is busy, which
    that mean is at most. Bounds are NaN where none are known.
    """

    wanted_w: Floats
    wanted_frac: Floats
    limit_w: Floats
    busy_frac: Floats
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
    none, one, unknown = (np.broadcast_to(x, len(runs)) for x in (0.0, 1.0, np.nan))
    return Drawn(none, one, tdp.figures, one, unknown, unknown, tdp.bases, [tdp.cause])


def curve(gpu: str, scenario: Scenario) -> Curve:
    """Return a board's power by concurrency.

    Its own measured curve; else the watts of a board with the same die; else the shape of
    datacentre boards, as a fraction of the limit, drawn through the board's own point if it has
    one. The borrowed ones carry the bounds of boards without a curve.
    """
    tables = scenario.tables
    own = reference.load_facts(gpu, tables=tables)
    if len(own) > 1:
        along = _curve(own, f"load, own curve, quality {own['quality'].max()}")
        bounded = own[["low", "high"]].notna().all(axis=None)
        return along if bounded else _widened(along, scenario)
    sibling = reference.power_fact(gpu, "watts_of", tables=tables)
    if sibling is not None:
        points = _points(reference.gpu_name(sibling["value"], "watts_of", tables=tables), scenario)
        told = f"load, watts of {sibling['value']}, quality {sibling['quality']}"
        return _widened(_curve(points, told, sibling), scenario)
    shape = _curve(_points(SHAPE, scenario, LOAD_FRAC), "")
    if own.empty:
        told = f"load, shape of {SHAPE}, quality D"
        return _widened(shape._replace(basis=told, of_limit=True), scenario)
    point = own.iloc[0]
    there = energy.load_w(point["at_concurrency"], shape.at_concurrency, shape.value)
    told = f"load, shape of {SHAPE} through its own point, quality D"
    value = shape.value * (point["value"] / float(np.asarray(there)))
    through = shape._replace(value=value, basis=told, facts=(*shape.facts, point))
    return _widened(through, scenario)


def host_load(gpu: str, scenario: Scenario) -> Known:
    """Return the host's power per card under load, in W; on the all-in rung what is provisioned."""
    if not _provisioned(gpu, scenario):
        return lookups.sited("host_w_load_per_gpu")(gpu, scenario)
    own = reference.site_fact(gpu, "host_w_max_per_gpu", tables=scenario.tables)
    if own is not None:  # the servers of this very card
        return lookups.known_by(own, f"provisioned host of {gpu}")
    return lookups.sited("host_w_max_per_gpu")(gpu, scenario)


def at_plug(gpu: str, scenario: Scenario) -> Known:
    """Return 1 where the power under load is stated at the plug, as what is provisioned is."""
    return Known(float(_provisioned(gpu, scenario)))


def _provisioned(gpu: str, scenario: Scenario) -> bool:
    return scenario.power_model == "all_in" and scenario.of("host_w_load_per_gpu", gpu) is None


def _by_load(runs: pd.DataFrame, cards: Cards) -> Drawn:
    concurrency = numbers_or_missing(runs, "mean_concurrency")
    if "replicas" in runs:  # each server sees its part of the requests
        concurrency = concurrency / np.fmax(numbers(runs, "replicas"), 1)
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
    unknown = "no mean_concurrency above 0, which power_model='load' needs ('nameplate' does not)"
    idle = cards.find(lookups.idle(bare=False))
    low, high = np.minimum(low, laid.figures), np.minimum(high, laid.figures)
    causes: list[Cause] = [laid.cause, (~known, unknown)]
    busy = np.where(known, np.minimum(concurrency, 1.0), np.nan)
    if (busy < 1).any():
        causes.append(((busy < 1) & np.isnan(idle.figures), idle.cause[1]))
        low, high = (busy * bound + (1 - busy) * idle.figures for bound in (low, high))
    return Drawn(wanted_w, wanted_frac, laid.figures, busy, low, high, laid.bases, causes)


def _measured(runs: pd.DataFrame, n_gpus: Floats) -> Drawn:
    power, joules = (numbers_or_missing(runs, name) for name in ("gpu_power_w", "gpu_energy_j"))
    with np.errstate(divide="ignore", invalid="ignore"):
        from_energy = joules / numbers_or_missing(runs, "duration_s")
    sound, stated = np.isfinite(power) & (power > 0), ~(np.isnan(power) & np.isnan(joules))
    watts = np.where(sound, power, from_energy)
    watts = np.where(np.isfinite(watts) & (watts > 0), watts, np.nan)
    causes: list[Cause] = []
    if "power_note" in runs:
        said = runs["power_note"].fillna("").to_numpy(dtype=object)
        causes.append((np.isnan(watts) & (said != ""), said))
    causes.append((np.isnan(watts) & stated, "the measured power is not above 0"))
    causes.append((np.isnan(watts), "no measured power: neither gpu_power_w nor gpu_energy_j"))
    methods = runs.get("energy_method", pd.Series("", index=runs.index)).fillna("")
    words = "measured, " + methods.where(methods != "", "method not stated").astype("str")
    none, one, unknown = (np.broadcast_to(x, len(runs)) for x in (0.0, 1.0, np.nan))
    each = watts / n_gpus
    return Drawn(each, none, each, one, unknown, unknown, words.array, causes)


def _points(entity: str, scenario: Scenario, prefix: str = LOAD_W) -> pd.DataFrame:
    points = reference.load_facts(entity, prefix, tables=scenario.tables)
    if points.empty:
        message = f"power.csv: '{entity}' has no {prefix}N, which other boards borrow"
        raise ReferenceDataError(message)
    return points


def _curve(points: pd.DataFrame, basis: str, *more: pd.Series) -> Curve:
    def column(name: str) -> Floats:
        return np.asarray(points[name].fillna(points["value"]).to_numpy(dtype="float64"))

    at = np.asarray(points["at_concurrency"].to_numpy(dtype="float64"))
    facts = (*(row for _, row in points.iterrows()), *more)
    return Curve(at, column("value"), column("low"), column("high"), False, None, basis, facts)


def _widened(along: Curve, scenario: Scenario) -> Curve:
    fact = reference.power_fact(UNKNOWN_CURVE, "load_frac", tables=scenario.tables)
    if fact is None:
        message = f"power.csv: '{UNKNOWN_CURVE}' has no load_frac"
        raise ReferenceDataError(message)
    return along._replace(wide=(fact["low"], fact["high"]), facts=(*along.facts, fact))
