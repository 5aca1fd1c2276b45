"""Which facts and assumptions a result rests on."""

from __future__ import annotations

import pandas as pd

from hetcost.columns import require
from hetcost.impacts import embodied, lookups, power
from hetcost.impacts.lookups import GIVEN, Finder, Known
from hetcost.reference.tables import PRICE_SUFFIX, PROVENANCE
from hetcost.scenario import Scenario

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
        for quantity, unit, find in _finders(scenario)
        for card in cards
        for row in _rows(card, quantity, unit, find(card, scenario))
    ]
    grid = lookups.intensity(scenario)
    rows += _rows(scenario.grid_zone or "all", "gco2e_per_kwh", "gCO2e/kWh", grid)
    listed = pd.DataFrame(rows, columns=_COLUMNS)
    return listed.drop_duplicates(["entity", "quantity", "date", "source"]).reset_index(drop=True)


def _finders(scenario: Scenario) -> list[tuple[str, str, Finder]]:
    finders: list[tuple[str, str, Finder]] = [
        (f"{scenario.price_class}{PRICE_SUFFIX}", "USD/GPU/h", lookups.price)
    ]
    if scenario.power_model != "measured":
        finders.append(("tdp_w", "W", lookups.tdp))
    if scenario.power_model == "load":
        finders.append(("load_w", "W", _curve))
    finders += [
        ("idle_w", "W", lookups.idle),
        ("host_w_load_per_gpu", "W/GPU", power.host_load),
        ("host_w_idle_per_gpu", "W/GPU", lookups.sited("host_w_idle_per_gpu")),
        ("psu_efficiency_frac", "1", lookups.sited("psu_efficiency_frac")),
        ("pue", "1", lookups.sited("pue")),
    ]
    if scenario.embodied_method != "none" or scenario.embodied_kgco2e:
        finders += [
            ("embodied_kgco2e", "kgCO2e", embodied.card_kgco2e),
            ("host_kgco2e_per_gpu", "kgCO2e/GPU", embodied.host_kgco2e),
            ("life_yr", "yr", lookups.sited("life_yr")),
        ]
    return finders


def _curve(gpu: str, scenario: Scenario) -> Known:
    limit = lookups.tdp(gpu, scenario)
    if limit.missing:
        return limit
    return Known(float("nan"), facts=power.curve(gpu, limit, scenario).facts)


def _rows(entity: str, quantity: str, unit: str, known: Known) -> list[dict[str, object]]:
    if known.facts:
        return [{name: fact[name] for name in _COLUMNS} for fact in known.facts]
    if known.basis != GIVEN and not known.basis.startswith(f"{GIVEN};"):
        return []
    given = {"entity": entity, "quantity": quantity, "value": known.value, "unit": unit}
    return [{**given, "date": "", "source": GIVEN, "origin": GIVEN}]
