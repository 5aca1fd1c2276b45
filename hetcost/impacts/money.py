"""What a configuration costs: rented, owned, interrupted, or idle otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hetcost import reference
from hetcost.formulas import cost, ownership
from hetcost.impacts import lookups, model
from hetcost.impacts.accounting import read, with_columns
from hetcost.impacts.figures import Figures
from hetcost.impacts.lookups import Cause, Floats, Known
from hetcost.scenario import Scenario

NEEDED = {
    "rent": ("usd_per_gpu_h",),
    "spot": ("usd_per_gpu_h", "interrupts_per_h", "restart_h", "lost_h"),
    "idle": (
        "capex_usd",
        "wear_frac",
        "usd_per_kwh",
        "churn_frac",
        "hours_per_day",
        "idle_bare_w",
        "host_w_idle",
    ),
    "own": (
        "capex_usd",
        "host_capex_usd_per_gpu",
        "install_frac",
        "residual_frac",
        "discount_frac",
        "life_yr",
        "upkeep_frac",
        "failure_frac",
        "spares_frac",
        "colo_usd_per_kw_month",
        "usd_per_kwh",
        "avail_frac",
    ),
}
_SHARES = ("gpu_usd_per_h", "host_usd_per_h", "power_usd_per_h")


def with_cost(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add the cost of an hour in use and of a million tokens.

    Parameters
    ----------
    runs : Rows with ``gpu n_gpus out_tok_per_s all_tok_per_s``; where hardware is owned or idle
        otherwise, also what :func:`with_energy` reads.
    scenario : Assumptions on how hardware is had, and on prices.

    Returns
    -------
    The same rows with ``reading cost_basis acquisition usd_per_gpu_h price_basis usd_per_h``
    [USD/h], the shares ``gpu_usd_per_h host_usd_per_h power_usd_per_h`` of owned hardware,
    ``machines_per_replica`` of idle machines, ``usd_per_mtok_out usd_per_mtok_all`` [USD/Mtok],
    ``licence_note`` and ``cost_note``. ``cost_basis`` is ``at capacity`` where the reading is
    ``highest_measured``, and ``as loaded`` otherwise.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    return add_cost(runs, Figures(runs, read(runs, lookups.checked(scenario), "with_cost")))


def add_cost(runs: pd.DataFrame, of: Figures) -> pd.DataFrame:
    """Add what :func:`with_cost` adds to runs that are read already."""
    ways = ways_of(of)
    usd = model.usd_per_h(of, ways)
    reading = runs.get("reading", "as_measured")
    added: dict[str, Any] = {
        "reading": reading,
        "cost_basis": _cost_basis(reading),
        "acquisition": of.cards.texts([lookups.way(card, of.scenario) for card in of.cards.names]),
        "usd_per_gpu_h": usd["usd_per_h"] / of["n_gpus"],
        "price_basis": of.cards.texts([_price_basis(of, card) for card in of.cards.names]),
        "usd_per_h": usd["usd_per_h"],
    }
    if set(ways) - {"rent"}:
        added |= {share: usd[share] + np.zeros(len(runs)) for share in _SHARES}
    if "idle" in ways:
        machines = ownership.machines_per_replica(of["hours_per_day"], of["churn_frac"])
        added["machines_per_replica"] = np.where(ways["idle"], machines, np.nan)
    for basis, rate in of.known.rates.items():
        added[f"usd_per_mtok_{basis}"] = cost.usd_per_mtok(usd["usd_per_h"], rate)
    added["licence_note"] = of.cards.texts([_licence(of, card) for card in of.cards.names])
    causes = [
        (ways[way] & cause[0], cause[1])
        for way in ways
        for cause in (*(of.looked_up(name).cause for name in NEEDED[way]), *_powered(of, way))
    ]
    if (of.cards.codes < 0).any():
        causes.insert(0, (of.cards.codes < 0, "the run names no GPU"))
    added["cost_note"] = lookups.note(len(runs), [*causes, *of.known.causes])
    stale = [name for name in (*_SHARES, "machines_per_replica") if name not in added]
    return with_columns(runs.drop(columns=stale, errors="ignore"), added)


def ways_of(of: Figures) -> dict[str, Any]:
    """Return by way of acquisition which rows are had that way."""
    names = np.array([*(lookups.way(card, of.scenario) for card in of.cards.names), ""])
    by_row = names[of.cards.codes]
    ways = {way: by_row == way for way in model.WAYS if (by_row == way).any()}
    return ways or {"rent": np.zeros(len(by_row), dtype=bool)}


def _powered(of: Figures, way: str) -> list[Cause]:
    """Return the causes why the power of what is owned is not known."""
    if way not in ("own", "idle"):
        return []
    site = ("host_w_load", "psu_efficiency_frac", "pue")
    causes = [*of.drawn.causes, *(of.looked_up(name).cause for name in site)]
    if way == "own":
        part = of["load_frac"] < 1
        idling = (of.looked_up(name).cause for name in ("idle_w", "host_w_idle"))
        causes += [(part & mask, why) for mask, why in idling]
    if way == "idle":
        extra: Floats = model.load_w(of) - model.idle_w(of, bare=True)
        causes.append((extra < 0, "no more power under load than idle"))
    return causes


def _price_basis(of: Figures, card: str) -> str:
    def known(name: str) -> Known:
        return of.looked_up(name).known[of.cards.names.index(card)]

    way = lookups.way(card, of.scenario)
    if way in ("rent", "spot"):
        return known("usd_per_gpu_h").basis
    said = [known("capex_usd").basis, f"electricity: {known('usd_per_kwh').basis}"]
    if way == "own":
        rate = f"{100 * known('discount_frac').value:.4g} % a year"
        inflation = f"nominal, inflation {100 * known('inflation_frac').value:.4g} %"
        nominal = of.scenario.discount_basis == "nominal"
        said.insert(1, f"{rate} {inflation if nominal else 'real'}")
    return "; ".join(filter(None, said))


def _licence(of: Figures, card: str) -> str:
    if lookups.site_kind(card, of.scenario) == "home":
        return ""
    fact = reference.gpu_fact(card, "datacentre_licence", tables=of.scenario.tables)
    return "" if fact is None else str(fact["value"])


def _cost_basis(reading: Any) -> Any:
    if isinstance(reading, str):
        return "as loaded"
    return np.where(reading == "highest_measured", "at capacity", "as loaded").astype(object)
