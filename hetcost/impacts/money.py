"""What a configuration costs to rent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hetcost.formulas import cost
from hetcost.impacts import lookups
from hetcost.impacts.accounting import Read, read, with_columns
from hetcost.scenario import Scenario


def with_cost(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add the rent per hour and per million tokens.

    Parameters
    ----------
    runs : Rows with ``gpu n_gpus out_tok_per_s all_tok_per_s``.
    scenario : Assumptions on prices.

    Returns
    -------
    The same rows with ``reading usd_per_gpu_h price_basis usd_per_h`` [USD/h],
    ``usd_per_mtok_out usd_per_mtok_all`` [USD/Mtok] and ``cost_note``.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    return add_cost(runs, read(runs, lookups.checked(scenario), "with_cost"))


def add_cost(runs: pd.DataFrame, known: Read) -> pd.DataFrame:
    """Add what :func:`with_cost` adds to runs that are read already."""
    cards, n_gpus, rates, causes = known
    price = cards.find(lookups.price)
    usd_per_h = np.asarray(cost.usd_per_h(price.figures, n_gpus))
    added: dict[str, Any] = {
        "reading": runs.get("reading", "as_measured"),
        "usd_per_gpu_h": price.figures,
        "price_basis": price.bases,
        "usd_per_h": usd_per_h,
    }
    for basis, rate in rates.items():
        added[f"usd_per_mtok_{basis}"] = cost.usd_per_mtok(usd_per_h, rate)
    added["cost_note"] = lookups.note(len(runs), [price.cause, *causes])
    return with_columns(runs, added)
