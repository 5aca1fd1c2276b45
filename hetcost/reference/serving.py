"""What is served and by what: models, and the defaults of inference engines."""

from __future__ import annotations

import re

import pandas as pd

from hetcost.reference.tables import Tables, facts, first_fact

_ENTITY = re.compile(r"(?P<engine>\S+) (?P<version>[^:]+): .*")
_NUMBERS = re.compile(r"\d+")


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
    The rows; none where the engine, or so old a version of it, is not in the table.
    """
    rows = facts("engines", tables)
    rows = rows[rows["quantity"] == quantity]
    parts = rows["entity"].str.extract(_ENTITY)
    rows = rows.assign(of_engine=parts["engine"], of_version=parts["version"].map(_order))
    asked = _order(version)
    rows = rows[(rows["of_engine"] == engine) & (rows["of_version"].map(lambda v: v <= asked))]
    newest = rows["of_version"].max() if len(rows) else ()
    return rows[rows["of_version"] == newest].drop(columns=["of_engine", "of_version"])


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in _NUMBERS.findall(version))
