"""What the verbs look up: once per card, with what each figure rests on or why it is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost import reference
from hetcost.columns import require
from hetcost.errors import AssumptionError, UnknownNameError
from hetcost.reference.tables import PRICE_SUFFIX
from hetcost.scenario import Scenario

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Cause = tuple[Mask | bool, str | NDArray[np.object_]]

GIVEN = "scenario"

_PROVENANCE = ["source", "url", "date", "licence", "quality", "origin"]


class Known(NamedTuple):
    """A figure and what it rests on, or NaN and why it is missing."""

    value: float
    basis: str = ""
    missing: str = ""
    fact: pd.Series | None = None


class LookedUp(NamedTuple):
    """A figure for every row: values, bases, and the cause of those that are missing."""

    figures: Floats
    bases: Any
    cause: Cause


def price(gpu: str, scenario: Scenario) -> Known:
    """Return the rent of a card, in USD per hour."""
    if gpu in scenario.usd_per_gpu_h:
        return Known(scenario.usd_per_gpu_h[gpu], GIVEN)
    kind, as_of = scenario.price_class, scenario.price_as_of
    fact = reference.price_fact(gpu, kind, as_of, tables=scenario.tables)
    wanted = f"{kind} price for {gpu} as of {as_of}"
    if fact is None:
        return Known(np.nan, missing=f"no {wanted}")
    if np.isnan(fact["value"]):
        bounds = f"{fact['low']:g}-{fact['high']:g} USD/h"
        missing = f"only a range ({bounds}) is known as {wanted}"
        return Known(np.nan, missing=missing, fact=fact)
    return Known(fact["value"], f"{kind}, {fact['date']}", fact=fact)


def tdp(gpu: str, scenario: Scenario) -> Known:
    """Return the thermal design power of a card, in W."""
    if gpu in scenario.tdp_w:
        return Known(scenario.tdp_w[gpu], f"nameplate, {GIVEN}")
    fact = reference.gpu_fact(gpu, "tdp_w", tables=scenario.tables)
    if fact is None:
        return Known(np.nan, missing=f"no TDP known for {gpu}")
    return Known(fact["value"], f"nameplate, quality {fact['quality']}", fact=fact)


def pue(gpu: str, scenario: Scenario) -> Known:
    """Return the PUE of the site that houses a card."""
    if not isinstance(scenario.pue, Mapping):
        return Known(scenario.pue)
    if gpu in scenario.pue:
        return Known(scenario.pue[gpu])
    return Known(np.nan, missing=f"pue is not given for {gpu}")


def intensity(scenario: Scenario) -> Known:
    """Return the carbon intensity of the electricity, in gCO2e per kWh."""
    if scenario.gco2e_per_kwh is not None:
        return Known(scenario.gco2e_per_kwh, GIVEN)
    zone, year = str(scenario.grid_zone), int(scenario.grid_year or 0)
    fact = reference.grid_fact(zone, year, tables=scenario.tables)
    if fact is None:  # the tables changed under the scenario
        return Known(np.nan, missing=f"no carbon intensity of {zone} in {year}")
    basis = f"{zone} {year}, life-cycle, quality {fact['quality']}"
    return Known(fact["value"], basis, fact=fact)


def by_card(
    runs: pd.DataFrame, scenario: Scenario, *finders: Callable[[str, Scenario], Known]
) -> list[LookedUp]:
    """Look figures up once per card, and lay them out by row."""
    codes, names = pd.factorize(runs["gpu"])
    cards = canonical(names, scenario)
    unnamed = codes < 0
    return [_laid_out(codes, unnamed, [find(card, scenario) for card in cards]) for find in finders]


def _laid_out(codes: NDArray[np.intp], unnamed: Mask, known: list[Known]) -> LookedUp:
    # A code of -1, of a row that names no card, takes the last entry.
    entries = [*known, Known(np.nan, missing="the run names no GPU")]
    values = np.array([entry.value for entry in entries])
    bases = pd.array([entry.basis for entry in entries], dtype="str").take(codes)
    cause: Cause = (False, "")
    if unnamed.any() or any(entry.missing for entry in known):
        reasons = np.array([entry.missing for entry in entries], dtype=object)
        cause = (np.array([bool(entry.missing) for entry in entries])[codes], reasons[codes])
    return LookedUp(values[codes], bases, cause)


def note(rows: int, causes: Iterable[Cause]) -> Any:
    """Write the first cause that holds of each row; a plain "" where none holds of any."""
    written: NDArray[np.object_] | None = None
    for mask, text in causes:
        if not np.any(mask):
            continue
        if written is None:
            written = np.full(rows, "", dtype=object)
        where = np.asarray(mask) & (written == "")
        written[where] = text if isinstance(text, str) else text[where]
    return "" if written is None else written


def canonical(names: Iterable[Any], scenario: Scenario) -> list[str]:
    """Return canonical names; those that are unknown or ambiguous raise, all at once."""
    cards, wrong = [], []
    for name in names:
        try:
            cards.append(reference.gpu_name(name, tables=scenario.tables))
        except UnknownNameError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        message = "\n  ".join([f"{len(wrong)} GPUs are not in the tables:", *map(str, wrong)])
        raise UnknownNameError(message)
    return cards


def checked(scenario: Scenario | None) -> Scenario:
    """Return the scenario, the default one for None."""
    if scenario is None:
        return Scenario()
    if not isinstance(scenario, Scenario):
        message = f"scenario: {scenario!r} is not a Scenario"
        raise AssumptionError(message)
    return scenario


def facts_used(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """List the facts and assumptions that :func:`hetcost.evaluate` looks up for these runs.

    Parameters
    ----------
    runs : Rows with ``gpu``.
    scenario : Assumptions.

    Returns
    -------
    One row per fact: ``entity quantity value unit source url date licence quality origin``. What
    the scenario gives instead of a table has ``scenario`` as its source.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`hetcost.evaluate`.
    """
    scenario = checked(scenario)
    require(runs, ["gpu"], "facts_used")
    cards = sorted(set(canonical(runs["gpu"].dropna().unique(), scenario)))
    rent = f"{scenario.price_class}{PRICE_SUFFIX}"
    looked_up = [
        *((card, rent, "USD/GPU/h", price(card, scenario)) for card in cards),
        *((card, "tdp_w", "W", tdp(card, scenario)) for card in cards),
        (scenario.grid_zone, "gco2e_per_kwh", "gCO2e/kWh", intensity(scenario)),
    ]
    columns = ["entity", "quantity", "value", "unit", *_PROVENANCE]
    rows = []
    for entity, quantity, unit, known in looked_up:
        if known.fact is not None:
            rows.append({name: known.fact[name] for name in columns})
        elif not known.missing:
            given = {"entity": entity or "all", "quantity": quantity, "value": known.value}
            rows.append({**given, "unit": unit, "source": GIVEN, "origin": GIVEN})
    return pd.DataFrame(rows, columns=columns)
