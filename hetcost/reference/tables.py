"""Tables of facts: one per row, checked, a user's own laid over ours."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from hetcost.errors import ReferenceDataError, listing, unknown_name
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
GRID_METHODS = ("lifecycle", "direct")
GRID_SUFFIX = "_gco2e_per_kwh"
CONSUMED_SUFFIX = f"_consumption{GRID_SUFFIX}"
EMBODIED_METHODS = ("inventory", "manufacturer", "boavizta", "parametric", "literature")
EMBODIED_BOUNDARIES = ("gate", "end_of_life", "host")
EMBODIED_SUFFIX = "_kgco2e"
LOAD_W, LOAD_FRAC = "load_w_at_", "load_frac_at_"
HOURS = tuple(range(24))
PROFILE_HOUR = "lifecycle_rel_h"

UNITS: dict[str, dict[str, str]] = {
    "gpus": {
        "vendor": "text",
        "tier": "text",
        "form_factor": "text",
        "tdp_w": "W",
        "memory_gb": "GB",
        "bandwidth_gb_per_s": "GB/s",
        "fp16_tflop_per_s": "TFLOP/s",
        "die_mm2": "mm2",
        "datacentre_licence": "text",
    },
    "gpu_aliases": {"alias": "text"},
    "prices": {
        f"{price_class}{PRICE_SUFFIX}": "USD/GPU/h"
        for price_class in ("alternative", "hyperscaler", "marketplace")
    },
    "grids": {
        "name": "text",
        "alpha3": "text",
        **{
            f"{method}{suffix}": "gCO2e/kWh"
            for method in GRID_METHODS
            for suffix in (GRID_SUFFIX, CONSUMED_SUFFIX)
        },
    },
    "grid_profiles": {f"{PROFILE_HOUR}{hour:02d}": "1" for hour in HOURS},
    "power": {
        "idle_bare_w": "W",
        "idle_loaded_w": "W",
        "load_frac": "1",
        "watts_of": "text",
    },
    "sites": {
        "pue": "1",
        "host_w_load_per_gpu": "W/GPU",
        "host_w_idle_per_gpu": "W/GPU",
        "host_w_max_per_gpu": "W/GPU",
        "psu_efficiency_frac": "1",
        "life_yr": "yr",
        "host_kgco2e_per_gpu": "kgCO2e/GPU",
        "td_loss_frac": "1",
    },
    "embodied": {
        **{
            f"{method}_{boundary}{EMBODIED_SUFFIX}": "kgCO2e"
            for method in EMBODIED_METHODS
            for boundary in EMBODIED_BOUNDARIES
        },
        "end_of_life_per_gate": "1",
    },
    "act": {
        "epa_kwh_per_cm2": "kWh/cm2",
        "gpa_gco2e_per_cm2": "gCO2e/cm2",
        "mpa_gco2e_per_cm2": "gCO2e/cm2",
        "defects_per_cm2": "1/cm2",
        "ci_fab_gco2e_per_kwh": "gCO2e/kWh",
        "yield_frac": "1",
        "packaging_gco2e_per_ic": "gCO2e",
        "memory_kgco2e_per_gb": "kgCO2e/GB",
        "node": "text",
        "fab": "text",
        "memory": "text",
        "memory_ics": "1",
    },
    "capex": {
        "capex_usd": "USD",
        "launch_usd": "USD",
        "used_usd": "USD",
        "host_capex_usd_per_gpu": "USD/GPU",
        "install_frac": "1",
        "residual_frac": "1",
        "discount_frac": "1",
        "upkeep_frac": "1",
        "failure_frac": "1",
        "spares_frac": "1",
        "colo_usd_per_kw_month": "USD/kW/month",
        "avail_frac": "1",
        "wear_frac": "1",
        "hours_per_day": "h",
        "churn_frac": "1",
        "interrupts_per_h": "1/h",
        "restart_h": "h",
        "lost_h": "h",
    },
    "electricity": {
        f"{sector}_{currency}_per_kwh": f"{currency.upper()}/kWh"
        for sector in ("residential", "commercial", "industrial", "business")
        for currency in ("usd", "eur", "gbp", "cad")
    },
    "models": {
        "params_b": "10^9",
        "active_params_b": "10^9",
        **dict.fromkeys(
            ("n_layers", "hidden_size", "n_heads", "n_kv_heads", "head_dim", "vocab_size"), "1"
        ),
        "weight_gb": "GB",
        "kv_bytes_per_tok": "B/tok",
        "max_position": "tok",
        "native_dtype": "text",
        "sliding_window": "text",
    },
    "engines": {
        "max_num_seqs": "1",
        "max_num_batched_tok": "tok",
        "gpu_memory_frac": "1",
        "block_tok": "tok",
        "chunked_prefill": "text",
        "prefix_caching": "text",
    },
}
# Quantities with a number in their name, by table: what they look like, and their unit.
PATTERNS = {"power": {rf"{LOAD_W}[1-9]\d*": "W", rf"{LOAD_FRAC}[1-9]\d*": "1"}}
# What a value must be besides 0 or more: a fraction is at most 1 in any case.
_AT_LEAST_ONE = ("pue", "end_of_life_per_gate")
_ABOVE_ZERO = (
    "tdp_w",
    "psu_efficiency_frac",
    "life_yr",
    "yield_frac",
    "avail_frac",
    "hours_per_day",
    "die_mm2",
)
OURS = "hetcost"
PROVENANCE = ["source", "url", "licence", "quality", "note", "origin"]

Tables = str | os.PathLike[str] | None

_DATED = ("prices", "grids", "grid_profiles", "sites", "capex", "electricity")
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


def facts(table: str, tables: Tables = None) -> pd.DataFrame:
    """Return every row of a reference table, disagreements and known errors included.

    Parameters
    ----------
    table : ``gpus``, ``gpu_aliases``, ``prices``, ``grids``, ``grid_profiles``, ``power``,
        ``sites``, ``embodied``, ``act``, ``capex``, ``electricity``, ``models`` or ``engines``.
    tables : Folder with a user's own ``TABLE.csv`` of the same shape. Where it states a fact
        (entity and quantity; of prices, grids, grid profiles, sites, capex and electricity also
        the date), ours on it are left out.

    Returns
    -------
    One fact per row: ``entity quantity value low high unit source url date licence quality
    note origin``; ``value`` is text, since some facts are; ``low`` and ``high`` are numbers or
    NaN; ``origin`` is ``hetcost`` or the user's file.

    Raises
    ------
    UnknownNameError
        There is no such table.
    ReferenceDataError
        A row breaks the contract (the message names file, line and what is wrong), or the
        user's folder holds none of the tables.
    """
    if table not in UNITS:
        raise unknown_name("table", table, UNITS)
    return _facts(table, tables).copy()


def _facts(table: str, tables: Tables) -> pd.DataFrame:
    """Return the rows of a table, not to be changed: the same frame as long as the files are."""
    return _joined(_files(table, tables))


class _File(NamedTuple):
    """A file, and what changes with its content."""

    path: Path
    mtime_ns: int
    size: int


class _Files(NamedTuple):
    """Our file of a table, and the user's own if there is one."""

    table: str
    ours: _File
    own: _File | None


def _files(table: str, tables: Tables) -> _Files:
    def seen(path: Path) -> _File:
        stat = path.stat()
        return _File(path, stat.st_mtime_ns, stat.st_size)

    own = None if tables is None else _own_table(Path(tables), table)
    ours = seen(data_dir() / "reference" / f"{table}.csv")
    return _Files(table, ours, None if own is None else seen(own))


@lru_cache(maxsize=64)
def _joined(files: _Files) -> pd.DataFrame:
    table = files.table
    ours = _read(files.ours.path, table, OURS)
    if files.own is None:
        return ours
    own = _read(files.own.path, table, str(files.own.path))
    _check_names(own, ours, files.own.path.name)
    key = ["entity", "quantity", *(["date"] if table in _DATED else [])]
    stated = pd.MultiIndex.from_frame(own[key])
    replaced = pd.MultiIndex.from_frame(ours[key]).isin(stated) & (ours["unit"] != "text")
    return pd.concat([own, ours[~replaced]], ignore_index=True)


def rows_on(table: str, entity: str, tables: Tables = None) -> pd.DataFrame:
    """Return the rows of a table that state facts of one entity."""
    files = _files(table, tables)
    return _joined(files).take(_places(files).get(entity, []))


@lru_cache(maxsize=64)
def _places(files: _Files) -> dict[str, list[int]]:
    entities = _joined(files)["entity"]
    return {str(entity): list(rows) for entity, rows in entities.groupby(entities).indices.items()}


def best(rows: pd.DataFrame, by: Iterable[str] = ("entity", "quantity")) -> pd.DataFrame:
    """Keep one row per key: best quality first, then table order; rows known wrong never."""
    usable = rows[rows["quality"] != "X"]
    ranked = usable.sort_values("quality", kind="stable")
    return ranked.drop_duplicates(list(by)).sort_index()


def first_fact(table: str, entity: str, quantity: str, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on a quantity of an entity; None if unknown.

    ``value`` is a float (NaN where only bounds are known), or text where the unit is ``text``.
    """
    fact = _first(_files(table, tables), entity, quantity)
    return None if fact is None else fact.copy()


@lru_cache(maxsize=4096)
def _first(files: _Files, entity: str, quantity: str) -> pd.Series | None:
    rows = _joined(files).take(_places(files).get(entity, []))
    rows = best(rows[rows["quantity"] == quantity])
    return None if rows.empty else with_number(rows.iloc[0])


def numbered(table: str, entity: str, prefix: str, tables: Tables = None) -> pd.DataFrame:
    """Return the best-sourced rows on quantities with a number after a prefix, that rising.

    The number is ``at``; ``value`` is a float. Rows without a value are left out.
    """
    return _numbered(_files(table, tables), entity, prefix).copy()


@lru_cache(maxsize=1024)
def _numbered(files: _Files, entity: str, prefix: str) -> pd.DataFrame:
    rows = _joined(files).take(_places(files).get(entity, []))
    rows = best(rows[rows["quantity"].str.startswith(prefix)])
    at = rows["quantity"].str.removeprefix(prefix).astype(float)
    value = pd.to_numeric(rows["value"].where(rows["value"] != ""))
    return rows.assign(at=at, value=value).dropna(subset=["value"]).sort_values("at")


def with_number(row: pd.Series) -> pd.Series:
    """Return the row with its value as a float, unless it is text."""
    if row["unit"] == "text":
        return row
    return pd.Series({**row.to_dict(), "value": float(row["value"] or "nan")})


def _unit(table: str, quantity: str) -> str | None:
    """Return the unit of a quantity of a table; None if it has no such quantity."""
    for pattern, unit in PATTERNS.get(table, {}).items():
        if re.fullmatch(pattern, quantity):
            return unit
    return UNITS[table].get(quantity)


def _own_table(folder: Path, table: str) -> Path | None:
    known = [f"{name}.csv" for name in UNITS]
    if not any((folder / name).is_file() for name in known):
        message = f"tables={str(folder)!r}: none of {listing(known)} is there"
        raise ReferenceDataError(message)
    path = folder / f"{table}.csv"
    return path if path.is_file() else None


def name_key(text: object) -> str:
    """Return what of a name counts when names are compared: letters and digits, lower case."""
    return re.sub(r"[\W_]", "", str(text).casefold())


def _check_names(own: pd.DataFrame, ours: pd.DataFrame, file: str) -> None:
    written = {name_key(entity): entity for entity in ours["entity"].unique()}
    for entity in own["entity"].unique():
        known = written.get(name_key(entity), entity)
        if known != entity:
            message = f"{file}: '{entity}' is written '{known}'"
            raise ReferenceDataError(message)


def _read(path: Path, table: str, origin: str) -> pd.DataFrame:
    try:
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            frame = pd.read_csv(path, dtype="str", keep_default_na=False, index_col=False)
    except (ValueError, pd.errors.ParserWarning) as error:
        message = f"{path.name}: not a table: {error}"
        raise ReferenceDataError(message) from None
    if tuple(frame.columns) != FACT_COLUMNS:
        message = f"{path.name}: the header must read {','.join(FACT_COLUMNS)}"
        raise ReferenceDataError(message)
    _check(frame, table, path.name)
    for bound in ("low", "high"):
        frame[bound] = pd.to_numeric(frame[bound].where(frame[bound] != ""))
    return frame.assign(origin=origin)


def _check(frame: pd.DataFrame, table: str, file: str) -> None:
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
    names = {name: _unit(table, name) for name in frame["quantity"].unique()}
    known = [*units, *(pattern for pattern in PATTERNS.get(table, {}))]
    refuse(frame["quantity"].map(names).isna(), f"quantity is none of {listing(known)}")
    refuse(frame["unit"] != frame["quantity"].map(names), f"unit is not as in {units}")
    refuse(~frame["quality"].isin(list(QUALITIES)), f"quality is none of {', '.join(QUALITIES)}")
    dated = frame["date"].map(lambda date: _DATE.fullmatch(date) is not None)
    timeless = (frame["date"] == "undated") & (table not in _DATED)
    refuse(~(dated | timeless), "date is none of YYYY, YYYY-MM, YYYY-MM-DD, undated")
    text = frame["unit"] == "text"
    for name in ("value", "low", "high"):
        numbers = pd.to_numeric(frame[name], errors="coerce")
        must = (frame[name] != "") & ~text
        refuse(
            must & ~(numbers.between(0, float("inf"), inclusive="left")),
            f"'{name}' is no number of 0 or more",
        )
    value, low, high = (
        pd.to_numeric(frame[bound].where(~text), errors="coerce")
        for bound in ("value", "low", "high")
    )
    fraction = frame["quantity"].str.endswith("_frac") | frame["quantity"].str.contains("_frac_at_")
    refuse(fraction & (value > 1), "a fraction is at most 1")
    refuse(frame["quantity"].isin(_AT_LEAST_ONE) & (value < 1), "it is at least 1")
    positive = frame["quantity"].isin(_ABOVE_ZERO) | frame["quantity"].str.startswith("load_")
    refuse(positive & (value <= 0), "it is above 0")
    refuse((low > value) | (value > high) | (low > high), "low <= value <= high does not hold")
    unstated = (frame["value"] == "") & ((frame["low"] == "") | (frame["high"] == ""))
    refuse(unstated, "neither a value nor both bounds are given")
    key = ["entity", "quantity", "date", "source"]
    refuse(frame.loc[~text].duplicated(key), f"a second row for the same {', '.join(key)}")
    refuse(frame.loc[text].duplicated(["entity", "quantity", "value"]), "a second such row")
