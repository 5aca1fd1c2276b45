"""Tables of facts: one per row, checked, a user's own laid over ours."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

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
GRID_QUANTITY = "lifecycle_gco2e_per_kwh"

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
OURS = "hetcost"

Tables = str | os.PathLike[str] | None

_DATED = ("prices", "grids")
_DATE = re.compile(r"[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


def facts(table: str, tables: Tables = None) -> pd.DataFrame:
    """Return every row of a reference table, disagreements and known errors included.

    Parameters
    ----------
    table : ``gpus``, ``gpu_aliases``, ``prices`` or ``grids``.
    tables : Folder with a user's own ``TABLE.csv`` of the same shape. Where it states a fact
        (entity and quantity; for prices and grids also the date), ours on it are left out.

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
    ours = _load(data_dir() / "reference" / f"{table}.csv", table, OURS)
    if tables is None:
        return ours.copy()
    path = _own_table(Path(tables), table)
    if path is None:
        return ours.copy()
    own = _load(path, table, str(path))
    _check_names(own, ours, path.name)
    key = ["entity", "quantity", *(["date"] if table in _DATED else [])]
    stated = pd.MultiIndex.from_frame(own[key])
    replaced = pd.MultiIndex.from_frame(ours[key]).isin(stated) & (ours["unit"] != "text")
    return pd.concat([own, ours[~replaced]], ignore_index=True)


def best(rows: pd.DataFrame, by: Iterable[str] = ("entity", "quantity")) -> pd.DataFrame:
    """Keep one row per key: best quality first, then table order; rows known wrong never."""
    usable = rows[rows["quality"] != "X"]
    ranked = usable.sort_values("quality", kind="stable")
    return ranked.drop_duplicates(list(by)).sort_index()


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


def _load(path: Path, table: str, origin: str) -> pd.DataFrame:
    stat = path.stat()
    return _read(path, table, origin, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=32)
def _read(path: Path, table: str, origin: str, _mtime_ns: int, _size: int) -> pd.DataFrame:
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
    refuse(~frame["quantity"].isin(list(units)), f"quantity is none of {listing(units)}")
    refuse(frame["unit"] != frame["quantity"].map(units), f"unit is not as in {units}")
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
    refuse((low > value) | (value > high) | (low > high), "low <= value <= high does not hold")
    unstated = (frame["value"] == "") & ((frame["low"] == "") | (frame["high"] == ""))
    refuse(unstated, "neither a value nor both bounds are given")
    key = ["entity", "quantity", "date", "source"]
    refuse(frame.loc[~text].duplicated(key), f"a second row for the same {', '.join(key)}")
    refuse(frame.loc[text].duplicated(["entity", "quantity", "value"]), "a second such row")
