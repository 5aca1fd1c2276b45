"""What is served and by what: models, and the defaults of inference engines."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from packaging.version import InvalidVersion, Version

from hetcost.errors import ReferenceDataError
from hetcost.reference.tables import Tables, facts, first_fact

_ENTITY = re.compile(r"(?P<engine>\S+) (?P<version>[^:]+): .*")


def model_fact(model: str, quantity: str, *, tables: Tables = None) -> pd.Series | None:
    """Return the best-sourced row on a model's quantity, its ``value`` a float; None if unknown."""
    return first_fact("models", model, quantity, tables)


def engine_facts(
    engine: str, version: str, quantity: str, *, tables: Tables = None
) -> pd.DataFrame:
    """Return the rows on a default of an engine, one per class of devices.

    Parameters
    ----------
    engine, version : As in runs: ``vLLM``, ``0.8.5``. The newest version of the table that is not
        later is taken.
    quantity : ``gpu_memory_frac``, ``prefix_caching`` …
    tables : Folder of a user's own tables.

    Returns
    -------
    The rows; none where the engine, or so old a version of it, is not in the table, or where the
    version is no release (``main``).

    Raises
    ------
    ReferenceDataError
        A row's entity is not ``ENGINE VERSION: DEVICES``.
    """
    rows = facts("engines", tables)
    rows = rows[rows["quantity"] == quantity]
    parts = rows["entity"].str.extract(_ENTITY)
    orders = parts["version"].map(_order, na_action="ignore").astype("object")
    for entity in rows.loc[orders.isna(), "entity"]:
        message = f"engines: entity {entity!r}: 'ENGINE VERSION: DEVICES' belongs here"
        raise ReferenceDataError(message)
    rows = rows.assign(of_engine=parts["engine"], of_version=orders)
    asked = _order(version)
    rows = rows[rows["of_engine"] == engine]
    known = [asked is not None and each <= asked for each in rows["of_version"]]
    rows = rows.loc[np.array(known, dtype=bool)]
    newest = max(rows["of_version"], default=None)
    return rows[rows["of_version"] == newest].drop(columns=["of_engine", "of_version"])


def _order(version: str) -> Version | None:
    try:
        return Version(version)
    except InvalidVersion:
        return None
