"""Which facts and assumptions a result rests on."""

from __future__ import annotations

import pandas as pd

from hetcost.columns import require
from hetcost.impacts import lookups, power
from hetcost.impacts.figures import FINDERS
from hetcost.impacts.lookups import GIVEN, Finder, Known
from hetcost.impacts.money import NEEDED
from hetcost.reference.tables import PRICE_SUFFIX, PROVENANCE
from hetcost.scenario import Scenario

_OWN = {  # figures that are called otherwise where a scenario states them
    "host_w_load": ("host_w_load_per_gpu", "W/GPU"),
    "host_w_idle": ("host_w_idle_per_gpu", "W/GPU"),
    "card_kgco2e": ("embodied_kgco2e", "kgCO2e"),
    "host_kgco2e": ("host_kgco2e_per_gpu", "kgCO2e/GPU"),
    "idle_w": ("idle_w", "W"),
    "life_yr": ("life_yr", "yr"),
    "capex_usd": ("capex_usd", "USD"),
    "host_capex_usd_per_gpu": ("host_capex_usd_per_gpu", "USD/GPU"),
    "usd_per_kwh": ("usd_per_kwh", "USD/kWh"),
    "colo_usd_per_kw_month": ("colo_usd_per_kw_month", "USD/kW/month"),
}
_COLUMNS = ["entity", "quantity", "value", "unit", "date", *PROVENANCE]


def facts_used(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """List the facts and assumptions that :func:`hetcost.evaluate` looks up for these runs.

    Parameters
    ----------
    runs : Rows with ``gpu``.
    scenario : Assumptions.

    Returns
    -------
    One row per fact: ``entity quantity value unit date source url licence quality note origin``.
    What the scenario gives instead of a table has ``scenario`` as its source.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`hetcost.evaluate`.
    """
    scenario = lookups.checked(scenario)
    require(runs, ["gpu"], "facts_used")
    cards = sorted(set(lookups.canonical(runs["gpu"].dropna().unique(), scenario)))
    rows = [
        row
        for card in cards
        for name, unit, find in _finders(card, scenario)
        for row in _rows(card, name, unit, find(card, scenario))
    ]
    grid = lookups.intensity(scenario)
    rows += _rows(scenario.grid_zone or "all", "gco2e_per_kwh", "gCO2e/kWh", grid)
    listed = pd.DataFrame(rows, columns=_COLUMNS)
    return listed.drop_duplicates(["entity", "quantity", "date", "source"]).reset_index(drop=True)


def _finders(card: str, scenario: Scenario) -> list[tuple[str, str, Finder]]:
    """Return what is looked up of a card: name and unit of an own figure, and its finder."""
    way = scenario.way_of(card)
    names = [*NEEDED[way], "host_w_load", "psu_efficiency_frac", "pue", "idle_w", "host_w_idle"]
    if scenario.embodied_method != "none" or scenario.embodied_kgco2e:
        names += ["card_kgco2e", "host_kgco2e", "life_yr"]
    finders: list[tuple[str, str, Finder]] = []
    if scenario.power_model != "measured":
        finders.append(("tdp_w", "W", lookups.tdp))
    if scenario.power_model == "load":
        finders.append(("load_w", "W", _curve))
    own = _OWN | {"usd_per_gpu_h": (f"{scenario.price_class}{PRICE_SUFFIX}", "USD/GPU/h")}
    return finders + [(*own.get(name, (name, "1")), FINDERS[name]) for name in names]


def _curve(gpu: str, scenario: Scenario) -> Known:
    return Known(float("nan"), facts=power.curve(gpu, scenario).facts)


def _rows(entity: str, quantity: str, unit: str, known: Known) -> list[dict[str, object]]:
    if known.facts:
        return [{name: fact[name] for name in _COLUMNS} for fact in known.facts]
    if known.basis != GIVEN and not known.basis.startswith(f"{GIVEN};"):
        return []
    given = {"entity": entity, "quantity": quantity, "value": known.value, "unit": unit}
    return [{**given, "date": "", "source": GIVEN, "origin": GIVEN}]
