"""Facts of the world with their sources: cards, prices, sites, grids; and the names of them.

Every table in ``data/reference`` has one fact per row. Where several rows state the same
fact, the best quality wins (A, B, C, D), then the order in the table; rows of quality X are
known to be wrong and are kept so that published figures can be rebuilt.
"""

from __future__ import annotations

import calendar

import pandas as pd

from hetcost.errors import ReferenceDataError
from hetcost.reference.grids import (
    ANY_ZONE,
    grid_fact,
    grid_facts,
    grid_profile,
    grid_years,
    grids,
    td_loss_fact,
)
from hetcost.reference.hardware import (
    act_fact,
    capex_of_site,
    embodied,
    embodied_fact,
    end_of_life_fact,
    idle_fact,
    load_facts,
    power_fact,
    site_fact,
    site_kinds,
)
from hetcost.reference.names import gpu_name, zone_code
from hetcost.reference.serving import engine_facts, model_fact
from hetcost.reference.tables import (
    PRICE_SUFFIX,
    PROVENANCE,
    UNITS,
    Tables,
    best,
    facts,
    first_fact,
    rows_on,
    with_number,
)

__all__ = [
    "act_fact",
    "best",
    "capex_fact",
    "capex_of_site",
    "electricity_fact",
    "embodied",
    "embodied_fact",
    "end_of_life_fact",
    "engine_facts",
    "facts",
    "gpu_fact",
    "gpu_name",
    "gpus",
    "grid_fact",
    "grid_facts",
    "grid_profile",
    "grid_years",
    "grids",
    "idle_fact",
    "last_day",
    "load_facts",
    "model_fact",
    "power_fact",
    "price_classes",
    "price_fact",
    "prices",
    "site_fact",
    "site_kinds",
    "study_facts",
    "study_tdp_w",
    "td_loss_fact",
    "zone_code",
]

STUDY = "A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047"


def gpus(tables: Tables = None) -> pd.DataFrame:
    """Return one row per card, one column per quantity: the best-sourced value of each.

    Parameters
    ----------
    tables : Folder of a user's own tables.

    Returns
    -------
    Index ``gpu``; columns ``vendor tier form_factor tdp_w memory_gb bandwidth_gb_per_s
    fp16_tflop_per_s die_mm2 datacentre_licence`` (W, GB, GB/s, dense TFLOP/s, mm²; text); NaN
    where no source was found.

    Examples
    --------
    >>> gpus().loc["H100 PCIe 80GB", "tdp_w"]
    np.float64(350.0)
    """
    rows = best(facts("gpus", tables))
    wide = rows.pivot(index="entity", columns="quantity", values="value")
    wide = wide.reindex(columns=list(UNITS["gpus"]), index=rows["entity"].unique())
    for quantity, unit in UNITS["gpus"].items():
        if unit != "text":
            wide[quantity] = wide[quantity].astype("float64")
    return wide.rename_axis(index="gpu", columns=None)


def gpu_fact(gpu: str, quantity: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on a card's quantity, its ``value`` a float; None if unknown."""
    return first_fact("gpus", gpu, quantity, tables)


def study_facts() -> pd.DataFrame:
    """Return the rows of ``gpus`` on what the published study assumed, wrong ones too."""
    rows = facts("gpus")
    return rows[(rows["quantity"] == "tdp_w") & (rows["source"] == STUDY)]


def study_tdp_w() -> dict[str, float]:
    """Return the board power that the published study assumed, by card, in W."""
    rows = study_facts()
    if rows.empty:
        message = f"gpus.csv: no tdp_w with the source '{STUDY}'"
        raise ReferenceDataError(message)
    return dict(zip(rows["entity"], rows["value"].astype(float), strict=True))


def prices(tables: Tables = None) -> pd.DataFrame:
    """Return every rental price.

    Parameters
    ----------
    tables : Folder of a user's own tables.

    Returns
    -------
    ``gpu price_class usd_per_gpu_h low high date source url licence quality note origin``, one
    row per card, class, date and source. [USD per GPU and hour]
    """
    rows = facts("prices", tables)
    out = rows.assign(
        price_class=rows["quantity"].str.removesuffix(PRICE_SUFFIX),
        usd_per_gpu_h=pd.to_numeric(rows["value"].where(rows["value"] != "")),
    )
    lead = ["gpu", "price_class", "usd_per_gpu_h", "low", "high", "date"]
    return out.rename(columns={"entity": "gpu"})[lead + PROVENANCE]


def price_classes() -> list[str]:
    """Return the kinds of provider that prices are known of."""
    return [quantity.removesuffix(PRICE_SUFFIX) for quantity in UNITS["prices"]]


def price_fact(
    gpu: str, price_class: str, as_of: str, *, tables: Tables = None
) -> pd.Series | None:
    """Return the newest row on a card's price that is not later than a date.

    A date of a month or a year counts as that period's last day. ``value`` is a float, NaN
    where only ``low`` and ``high`` are known. None where there is no such row.
    """
    rows = rows_on("prices", gpu, tables)
    return _newest(rows[rows["quantity"] == f"{price_class}{PRICE_SUFFIX}"], as_of)


def capex_fact(gpu: str, as_of: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the newest row on a card's purchase price that is not later than a date."""
    rows = rows_on("capex", gpu, tables)
    return _newest(rows[rows["quantity"] == "capex_usd"], as_of)


def electricity_fact(zone: str | None, *, home: bool, tables: Tables = None) -> pd.Series | None:
    """Return the row on the price of a kilowatt-hour: the zone's, or any zone's.

    At home the residential price is taken, elsewhere the industrial, commercial or business
    one. [USD/kWh]
    """
    sectors = ("residential",) if home else ("industrial", "commercial", "business")
    for entity in (zone, ANY_ZONE):
        for sector in sectors:
            fact = first_fact("electricity", str(entity), f"{sector}_usd_per_kwh", tables)
            if fact is not None:
                return fact
    return None


def _newest(rows: pd.DataFrame, as_of: str) -> pd.Series | None:
    rows = rows[rows["quality"] != "X"]
    ends = rows["date"].map(last_day)
    rows, ends = rows[ends <= last_day(as_of)], ends[ends <= last_day(as_of)]
    if rows.empty:
        return None
    newest = rows[ends == ends.max()].sort_values("quality", kind="stable")
    return with_number(newest.iloc[0])


def last_day(date: str) -> str:
    """Return the last day of a year, a month or a day, in ISO form.

    Examples
    --------
    >>> last_day("2025"), last_day("2024-02"), last_day("2025-05-07")
    ('2025-12-31', '2024-02-29', '2025-05-07')
    """
    if len(date) == len("2025"):
        return f"{date}-12-31"
    if len(date) == len("2025-05"):
        year, month = date.split("-")
        return f"{date}-{calendar.monthrange(int(year), int(month))[1]:02d}"
    return date
