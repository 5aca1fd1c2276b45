"""Which facts and assumptions a result rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from hetcost import reference
from hetcost.columns import require
from hetcost.impacts import lookups, power
from hetcost.impacts.figures import FINDERS
from hetcost.impacts.lookups import GIVEN
from hetcost.impacts.money import NEEDED
from hetcost.reference.tables import PROVENANCE
from hetcost.scenario import BY_TIER, Scenario

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
    What the scenario states otherwise than the default one has ``scenario`` as its source, the
    field as its quantity, and ``all`` or a card as its entity.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`hetcost.evaluate`.
    """
    scenario = lookups.checked(scenario)
    require(runs, ["gpu"], "facts_used")
    cards = sorted(set(lookups.canonical(runs["gpu"].dropna().unique(), scenario)))
    rows = [_row(fact) for card in cards for fact in _facts(card, scenario)]
    rows += [_row(fact) for fact in lookups.intensity(scenario).facts]
    rows += _stated(scenario, cards)
    listed = pd.DataFrame(rows, columns=_COLUMNS)
    return listed.drop_duplicates(["entity", "quantity", "date", "source"]).reset_index(drop=True)


def _facts(card: str, scenario: Scenario) -> Iterator[pd.Series]:
    """Yield every fact that is looked up of a card."""
    if scenario.of("site", card) in (None, BY_TIER):
        yield from _known(reference.gpu_fact(card, "tier", tables=scenario.tables))
    if scenario.power_model != "measured":
        yield from lookups.tdp(card, scenario).facts
    if scenario.power_model == "load":
        yield from power.curve(card, scenario).facts
    for name in _names(card, scenario):
        yield from FINDERS[name](card, scenario).facts
    if lookups.site_kind(card, scenario) != "home":
        yield from _known(reference.gpu_fact(card, "datacentre_licence", tables=scenario.tables))


def _names(card: str, scenario: Scenario) -> list[str]:
    idle = "idle_w" if scenario.idle_baseline == "off" else "idle_bare_w"
    names = [*NEEDED[lookups.way(card, scenario)]]
    names += ["host_w_load", "host_w_idle", "psu_efficiency_frac", "pue", idle]
    if scenario.embodied_method != "none" or card in scenario.embodied_kgco2e:
        names += ["card_kgco2e", "host_kgco2e_per_gpu", "life_yr"]
    return names


def _known(fact: pd.Series | None) -> list[pd.Series]:
    return [] if fact is None else [fact]


def _row(fact: pd.Series) -> dict[str, object]:
    return {name: fact[name] for name in _COLUMNS}


def _stated(scenario: Scenario, cards: list[str]) -> list[dict[str, object]]:
    """Return what the scenario states otherwise than the default one, of these cards or of all."""
    rows = []
    for name, field in type(scenario).model_fields.items():
        value = getattr(scenario, name)
        if value == field.default or name == "tables":
            continue
        of_cards = value.items() if isinstance(value, Mapping) else [("all", value)]
        for entity, stated in of_cards:
            if entity in (*cards, "all"):
                row = {"entity": entity, "quantity": name, "value": stated, "date": ""}
                rows.append({**row, "source": GIVEN, "origin": GIVEN})
    return rows
