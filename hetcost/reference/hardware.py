"""What cards and the sites that house them draw, and what it took to make them."""

from __future__ import annotations

import pandas as pd

from hetcost.errors import ReferenceDataError
from hetcost.reference.tables import (
    EMBODIED_BOUNDARIES,
    EMBODIED_METHODS,
    EMBODIED_SUFFIX,
    LOAD_W,
    PROVENANCE,
    Tables,
    best,
    facts,
    first_fact,
    numbered,
    rows_on,
    with_number,
)

_ANY_CARD = "any card"


def power_fact(entity: str, quantity: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on the power of a board, or of a class of boards."""
    return first_fact("power", entity, quantity, tables)


def load_facts(entity: str, prefix: str = LOAD_W, *, tables: Tables = None) -> pd.DataFrame:
    """Return the points of a board's power by load, concurrency rising.

    Parameters
    ----------
    entity : A card, or ``datacentre boards`` for the shape they share.
    prefix : ``load_w_at_`` (watts) or ``load_frac_at_`` (fraction of the board's limit).
    tables : Folder of a user's own tables.

    Returns
    -------
    The best-sourced row per point, with ``at_concurrency`` and ``value`` as floats; empty where
    nothing is known.
    """
    points = numbered("power", entity, prefix, tables)
    return points.rename(columns={"at": "at_concurrency"})


def idle_fact(gpu: str, *, bare: bool, tables: Tables = None) -> pd.Series | None:
    """Return the row on a card's idle power, bare or with weights loaded; the other if unknown."""
    order = ("idle_bare_w", "idle_loaded_w") if bare else ("idle_loaded_w", "idle_bare_w")
    for quantity in order:
        fact = power_fact(gpu, quantity, tables=tables)
        if fact is not None and pd.notna(fact["value"]):
            return fact
    return None


def site_kinds(tables: Tables = None) -> list[str]:
    """Return the kinds of site that figures are known of."""
    rows = facts("sites", tables)
    return list(rows.loc[rows["quantity"] == "pue", "entity"].unique())


def site_fact(
    site: str, quantity: str, year: int | None = None, *, tables: Tables = None
) -> pd.Series | None:
    """Return the best-sourced row on a kind of site.

    Parameters
    ----------
    site : A kind of site.
    quantity : ``pue``, ``host_w_load_per_gpu`` …
    year : Of figures that are stated by year, the newest not later is taken; where all are
        later, or no year is given, the best-sourced of them.
    tables : Folder of a user's own tables.
    """
    if year is None:
        return first_fact("sites", site, quantity, tables)
    rows = rows_on("sites", site, tables)
    rows = rows[rows["quantity"] == quantity]
    years = rows["date"].str[:4].astype(int)
    if (years <= year).any():
        rows = rows[years == years[years <= year].max()]
    rows = best(rows)
    return None if rows.empty else with_number(rows.iloc[0])


def capex_of_site(site: str, quantity: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on what owning costs at a kind of site."""
    return first_fact("capex", site, quantity, tables)


def embodied(tables: Tables = None) -> pd.DataFrame:
    """Return every published figure of the embodied carbon of a card.

    Returns
    -------
    ``gpu method boundary kgco2e low high date source url licence quality note origin``, one row
    per card, method, boundary and source. Boundaries: ``gate`` (cradle to gate), ``end_of_life``
    (and transport and end of life), ``host`` (and a share of the host). [kgCO2e per card]
    """
    rows = facts("embodied", tables)
    parts = {
        f"{method}_{boundary}{EMBODIED_SUFFIX}": (method, boundary)
        for method in EMBODIED_METHODS
        for boundary in EMBODIED_BOUNDARIES
    }
    rows = rows[rows["quantity"].isin(list(parts)) & (rows["quality"] != "X")]
    out = rows.assign(
        method=[parts[quantity][0] for quantity in rows["quantity"]],
        boundary=[parts[quantity][1] for quantity in rows["quantity"]],
        kgco2e=pd.to_numeric(rows["value"].where(rows["value"] != "")),
    )
    lead = ["gpu", "method", "boundary", "kgco2e", "low", "high", "date"]
    return out.rename(columns={"entity": "gpu"})[lead + PROVENANCE].reset_index(drop=True)


def embodied_fact(
    gpu: str, method: str, boundary: str, *, tables: Tables = None
) -> pd.Series | None:
    """Return the best-sourced row on a card's embodied carbon by a method at a boundary."""
    fact = first_fact("embodied", gpu, f"{method}_{boundary}{EMBODIED_SUFFIX}", tables)
    return None if fact is None or pd.isna(fact["value"]) else fact


def end_of_life_fact(*, tables: Tables = None) -> pd.Series:
    """Return the row on what transport and end of life add: a ratio to cradle to gate."""
    fact = first_fact("embodied", _ANY_CARD, "end_of_life_per_gate", tables)
    if fact is None or not fact["value"] >= 1:
        message = f"embodied.csv: no usable end_of_life_per_gate of '{_ANY_CARD}'"
        raise ReferenceDataError(message)
    return fact


def act_fact(entity: str, quantity: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on a parameter of the ACT model."""
    return first_fact("act", entity, quantity, tables)
