"""Facts of the world with their sources: cards, prices, grids; and the names they go by.

Every table in ``data/reference`` has one fact per row. Where several rows state the same
fact, the best quality wins (A, B, C, D), then the order in the table; rows of quality X are
known to be wrong and are kept so that published figures can be rebuilt.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import pandas as pd

from hetcost.errors import (
    AmbiguousNameError,
    ReferenceDataError,
    listing,
    unknown_name,
)
from hetcost.resources import data_dir

FACT_COLUMNS = (
    "entity",
    "quantity",
    "value",
    "low",
    "high",
    "unit",
    "source",
    "url",
    "date",
    "licence",
    "quality",
    "note",
)
QUALITIES = "ABCDX"
PRICE_SUFFIX = "_usd_per_gpu_h"
GRID_QUANTITY = "lifecycle_gco2e_per_kwh"
STUDY = "A. Ribeiro de Almeida, AIBC 2025, doi:10.1145/3775043.3775047"

UNITS: dict[str, dict[str, str]] = {
    "gpus": {
        "vendor": "text",
        "tier": "text",
        "form_factor": "text",
        "tdp_w": "W",
        "idle_w": "W",
        "memory_gb": "GB",
        "bandwidth_gb_per_s": "GB/s",
        "fp16_tflop_per_s": "TFLOP/s",
        "die_mm2": "mm2",
    },
    "gpu_aliases": {"alias": "text"},
    "prices": {
        f"{price_class}{PRICE_SUFFIX}": "USD/GPU/h"
        for price_class in ("alternative", "hyperscaler", "marketplace")
    },
    "grids": {"name": "text", "alpha3": "text", GRID_QUANTITY: "gCO2e/kWh"},
}
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


def facts(table: str) -> pd.DataFrame:
    """Return every row of a reference table, disagreements and known errors included.

    Parameters
    ----------
    table : ``gpus``, ``gpu_aliases``, ``prices`` or ``grids``.

    Returns
    -------
    One fact per row: ``entity quantity value low high unit source url date licence quality
    note``; ``value`` is text, since some facts are; ``low`` and ``high`` are numbers or NaN.

    Raises
    ------
    UnknownNameError
        There is no such table.
    ReferenceDataError
        A row breaks the contract; the message names file, line and what is wrong.
    """
    if table not in UNITS:
        raise unknown_name("table", table, UNITS)
    path = data_dir() / "reference" / f"{table}.csv"
    stat = path.stat()
    return _read_facts(path, table, stat.st_mtime_ns, stat.st_size).copy()


@lru_cache(maxsize=32)
def _read_facts(path: Path, table: str, _mtime_ns: int, _size: int) -> pd.DataFrame:
    frame = pd.read_csv(path, dtype="str", keep_default_na=False)
    if tuple(frame.columns) != FACT_COLUMNS:
        message = f"{path.name}: the header must read {','.join(FACT_COLUMNS)}"
        raise ReferenceDataError(message)
    _check_facts(frame, table, path.name)
    for bound in ("low", "high"):
        frame[bound] = pd.to_numeric(frame[bound].where(frame[bound] != ""))
    return frame


def _check_facts(frame: pd.DataFrame, table: str, file: str) -> None:
    units = UNITS[table]

    def refuse(wrong: pd.Series, what: str) -> None:
        if wrong.any():
            index = int(wrong[wrong].index[0])
            row = frame.loc[index]
            where = f"{file}, line {index + 2} ({row['entity']}, {row['quantity']})"
            message = f"{where}: {what}"
            raise ReferenceDataError(message)

    for name in ("entity", "source", "url", "date", "licence"):
        refuse(frame[name].str.strip() == "", f"'{name}' is empty")
    refuse(~frame["quantity"].isin(list(units)), f"quantity is none of {listing(units)}")
    refuse(frame["unit"] != frame["quantity"].map(units), f"unit is not as in {units}")
    refuse(~frame["quality"].isin(list(QUALITIES)), f"quality is none of {', '.join(QUALITIES)}")
    dated = (frame["date"] == "undated") | frame["date"].map(
        lambda date: _DATE.fullmatch(date) is not None
    )
    refuse(~dated, "date is none of YYYY, YYYY-MM, YYYY-MM-DD, undated")
    for name in ("value", "low", "high"):
        numbers = pd.to_numeric(frame[name], errors="coerce")
        must = (frame[name] != "") & (frame["unit"] != "text")
        refuse(must & ~(numbers >= 0), f"'{name}' is no number of 0 or more")
    unstated = (frame["value"] == "") & ((frame["low"] == "") | (frame["high"] == ""))
    refuse(unstated, "neither a value nor both bounds are given")
    text = frame["unit"] == "text"
    key = ["entity", "quantity", "date", "source"]
    refuse(frame.loc[~text].duplicated(key), f"a second row for the same {', '.join(key)}")
    refuse(frame.loc[text].duplicated(["entity", "quantity", "value"]), "a second such row")


def best(rows: pd.DataFrame, by: Iterable[str] = ("entity", "quantity")) -> pd.DataFrame:
    """Keep one row per key: best quality first, then table order; rows known wrong never."""
    usable = rows[rows["quality"] != "X"]
    ranked = usable.sort_values("quality", kind="stable")
    return ranked.drop_duplicates(list(by)).sort_index()


def gpus() -> pd.DataFrame:
    """Return one row per card, one column per quantity: the best-sourced value of each.

    Returns
    -------
    Index ``gpu``; columns ``vendor tier form_factor tdp_w idle_w memory_gb bandwidth_gb_per_s
    fp16_tflop_per_s die_mm2`` (W, GB, GB/s, dense TFLOP/s, mm²); NaN where no source was found.

    Examples
    --------
    >>> gpus().loc["H100 PCIe 80GB", "tdp_w"]
    np.float64(350.0)
    """
    rows = best(facts("gpus"))
    wide = rows.pivot(index="entity", columns="quantity", values="value")
    wide = wide.reindex(columns=list(UNITS["gpus"]), index=rows["entity"].unique())
    for quantity, unit in UNITS["gpus"].items():
        if unit != "text":
            wide[quantity] = wide[quantity].astype("float64")
    return wide.rename_axis(index="gpu", columns=None)


def gpu_fact(gpu: str, quantity: str) -> pd.Series | None:
    """Return the best-sourced row of a card's quantity, its ``value`` a float; None if unknown."""
    rows = facts("gpus")
    rows = best(rows[(rows["entity"] == gpu) & (rows["quantity"] == quantity)])
    return None if rows.empty else _as_number(rows.iloc[0])


def study_tdp_w() -> dict[str, float]:
    """Return the board power that the published study assumed, by card, in W."""
    rows = facts("gpus")
    rows = rows[(rows["quantity"] == "tdp_w") & (rows["source"] == STUDY)]
    return dict(zip(rows["entity"], rows["value"].astype(float), strict=True))


def prices() -> pd.DataFrame:
    """Return every rental price: ``gpu price_class usd_per_gpu_h low high date source …``.

    Returns
    -------
    One row per card, class, date and source. [USD per GPU and hour]
    """
    rows = facts("prices")
    out = rows.assign(
        price_class=rows["quantity"].str.removesuffix(PRICE_SUFFIX),
        usd_per_gpu_h=pd.to_numeric(rows["value"].where(rows["value"] != "")),
    )
    lead = ["gpu", "price_class", "usd_per_gpu_h", "low", "high", "date"]
    rest = ["source", "url", "licence", "quality", "note"]
    return out.rename(columns={"entity": "gpu"})[lead + rest]


def price_fact(gpu: str, price_class: str, as_of: str) -> pd.Series | None:
    """Return the newest price of a card and class that is not later than a date.

    A date of a month or a year counts as that period's last day. None where there is none.
    """
    rows = prices()
    rows = rows[(rows["gpu"] == gpu) & (rows["price_class"] == price_class)]
    rows = rows[(rows["quality"] != "X") & (rows["date"] != "undated")]
    ends = rows["date"].map(last_day)
    rows = rows[ends <= last_day(as_of)]
    if rows.empty:
        return None
    ends = rows["date"].map(last_day)
    newest = rows[ends == ends.max()].sort_values("quality", kind="stable")
    return pd.Series(newest.iloc[0])


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


def grids() -> pd.DataFrame:
    """Return the best-sourced carbon intensity per zone and year.

    Returns
    -------
    ``zone name year gco2e_per_kwh low high source date …``; life-cycle factors,
    generation-based, annual mean. [gCO2e/kWh]
    """
    rows = facts("grids")
    values = best(rows[rows["quantity"] == GRID_QUANTITY], ("entity", "date"))
    names = rows[rows["quantity"] == "name"].drop_duplicates("entity")
    out = values.assign(
        name=values["entity"].map(names.set_index("entity")["value"]),
        year=values["date"].astype(int),
        gco2e_per_kwh=values["value"].astype(float),
    )
    lead = ["zone", "name", "year", "gco2e_per_kwh", "low", "high"]
    rest = ["source", "url", "licence", "quality", "note"]
    return out.rename(columns={"entity": "zone"})[lead + rest].reset_index(drop=True)


def gpu_name(text: str, field: str = "gpu") -> str:
    """Return the canonical name of a card from any spelling or alias of it.

    Parameters
    ----------
    text : The name as written.
    field : What to call it in the error.

    Raises
    ------
    UnknownNameError
        No card goes by that name; the message lists the nearest.
    AmbiguousNameError
        Several cards do; the message lists them.

    Examples
    --------
    >>> gpu_name("NVIDIA-H100-PCIe"), gpu_name("rtx4090")
    ('H100 PCIe 80GB', 'RTX 4090')
    """
    rows = facts("gpu_aliases")
    names = facts("gpus")["entity"].unique()
    pairs = [*zip(names, names, strict=True), *zip(rows["value"], rows["entity"], strict=True)]
    return _resolve(field, text, pairs, choices=names)


def zone_code(text: str) -> str:
    """Return the code of a grid zone from its code, alpha-3 code or English name.

    Raises
    ------
    UnknownNameError
        There is no such zone; the message lists the nearest.

    Examples
    --------
    >>> zone_code("DEU"), zone_code("germany")
    ('DE', 'DE')
    """
    rows = facts("grids")
    codes = rows["entity"].unique()
    named = rows[rows["unit"] == "text"]
    pairs = [*zip(codes, codes, strict=True), *zip(named["value"], named["entity"], strict=True)]
    return _resolve("grid_zone", text, pairs, choices=[alias for alias, _ in pairs])


def _resolve(field: str, text: str, pairs: list[tuple[str, str]], choices: Iterable[str]) -> str:
    """Find the one entity that a name or alias stands for; case and punctuation do not count."""
    key = _key(text)
    found = list(dict.fromkeys(entity for alias, entity in pairs if _key(alias) == key))
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousNameError(field, text, found)
    raise unknown_name(field, text, choices)


def _key(text: object) -> str:
    return re.sub(r"[\W_]", "", str(text).casefold())


def _as_number(row: pd.Series) -> pd.Series:
    return pd.Series({**row.to_dict(), "value": float(row["value"] or "nan")})
