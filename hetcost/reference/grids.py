"""Carbon intensity of electricity by zone: annual, by hour of the day, and losses on the way."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from hetcost.errors import AssumptionError, unknown_name
from hetcost.reference.names import zone_code
from hetcost.reference.tables import (
    CONSUMED_SUFFIX,
    GRID_METHODS,
    GRID_SUFFIX,
    HOURS,
    PROFILE_HOUR,
    PROVENANCE,
    Tables,
    best,
    facts,
    first_fact,
    rows_on,
    with_number,
)

ANY_ZONE = "any zone"
_ZONE_YEAR = ["entity", "date"]


def grids(tables: Tables = None, *, method: str = "lifecycle") -> pd.DataFrame:
    """Return the best-sourced carbon intensity per zone and year.

    Parameters
    ----------
    tables : Folder of a user's own tables.
    method : ``lifecycle`` or ``direct`` emissions; the two are never put into one frame.

    Returns
    -------
    ``zone name year gco2e_per_kwh low high method consumed source url licence quality note
    origin``; annual means. ``consumed`` says whether the figure is of consumption, losses on the
    way and trade counted, or of generation. [gCO2e/kWh]
    """
    rows = facts("grids", tables)
    values = _of_method(rows, method)
    names = rows[rows["quantity"] == "name"].drop_duplicates("entity")
    out = values.assign(
        name=values["entity"].map(names.set_index("entity")["value"]),
        year=values["date"].astype(int),
        gco2e_per_kwh=values["value"].astype(float),
        method=method,
        consumed=values["quantity"].str.endswith(CONSUMED_SUFFIX),
    )
    lead = ["zone", "name", "year", "gco2e_per_kwh", "low", "high", "method", "consumed"]
    return out.rename(columns={"entity": "zone"})[lead + PROVENANCE].reset_index(drop=True)


def _of_method(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """Keep one row per zone and year, of generation where there is one, else of consumption."""
    if method not in GRID_METHODS:
        raise unknown_name("method", method, GRID_METHODS)
    found = [
        best(rows[(rows["quantity"] == f"{method}{suffix}") & (rows["value"] != "")], _ZONE_YEAR)
        for suffix in (GRID_SUFFIX, CONSUMED_SUFFIX)
    ]
    return pd.concat(found).drop_duplicates(_ZONE_YEAR).sort_index()


def grid_years(zone: str, *, tables: Tables = None, method: str = "lifecycle") -> list[int]:
    """Return the years of which a zone's carbon intensity is known."""
    rows = _of_method(rows_on("grids", zone, tables), method)
    return sorted(int(year) for year in rows["date"])


def grid_fact(
    zone: str, year: int, *, tables: Tables = None, method: str = "lifecycle"
) -> pd.Series | None:
    """Return the best-sourced row on a zone's carbon intensity in a year; None if unknown."""
    rows = rows_on("grids", zone, tables)
    rows = _of_method(rows[rows["date"] == str(year)], method)
    return None if rows.empty else with_number(rows.iloc[0])


def td_loss_fact(zone: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the row on the share of electricity lost on the way: the zone's, or any zone's."""
    for entity in (zone, ANY_ZONE):
        fact = first_fact("sites", entity, "td_loss_frac", tables)
        if fact is not None:
            return fact
    return None


def grid_profile(zone: str, *, tables: Tables = None) -> pd.DataFrame:
    """Return the mean shape of a zone's carbon intensity over the day.

    Parameters
    ----------
    zone : Code, alpha-3 code or name.
    tables : Folder of a user's own tables.

    Returns
    -------
    24 rows: ``hour_utc relative low high`` and the source; ``relative`` is intensity over its
    mean of the day, so that it multiplies any annual value. [1]

    Raises
    ------
    UnknownNameError
        There is no profile of that zone; the message lists those there are.
    """
    rows = facts("grid_profiles", tables)
    code = zone_code(zone, tables=tables)
    names = {f"{PROFILE_HOUR}{hour:02d}": hour for hour in HOURS}
    own = best(rows_on("grid_profiles", code, tables))
    if own.empty:
        raise unknown_name("zone", zone, rows["entity"].unique())
    out = own.assign(hour_utc=own["quantity"].map(names), relative=own["value"].astype(float))
    lead = ["hour_utc", "relative", "low", "high", "date"]
    return out[lead + PROVENANCE].sort_values("hour_utc").reset_index(drop=True)


def grid_facts(
    zones: Iterable[str], year: int, *, tables: Tables = None, method: str = "lifecycle"
) -> pd.DataFrame:
    """Return the best-sourced rows on the carbon intensity of several zones in a year.

    Parameters
    ----------
    zones : Codes, alpha-3 codes or names.
    year : Calendar year.
    tables : Folder of a user's own tables.
    method : ``lifecycle`` or ``direct``.

    Returns
    -------
    One fact per zone, in their order, with ``name`` and ``gco2e_per_kwh``.

    Raises
    ------
    UnknownNameError
        There is no such zone; the message lists the nearest.
    AssumptionError
        No intensity of a zone is known for that year.
    """
    names = grids(tables, method=method).drop_duplicates("zone").set_index("zone")["name"]
    rows = []
    for written in zones:
        zone = zone_code(written, tables=tables)
        fact = grid_fact(zone, year, tables=tables, method=method)
        if fact is None:
            message = f"zones: no {method} carbon intensity of {zone} in {year}"
            raise AssumptionError(message)
        rows.append({**fact, "name": names[zone], "gco2e_per_kwh": fact["value"]})
    return pd.DataFrame(rows)
