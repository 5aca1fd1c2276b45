"""What every verb reads from a run, and how it adds columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hetcost.columns import TOKEN_BASES, numbers, require
from hetcost.impacts.lookups import Cards, Cause, Floats
from hetcost.scenario import Scenario

READ = ["gpu", "n_gpus", *(f"{basis}_tok_per_s" for basis in TOKEN_BASES)]

_SLOWEST, _FASTEST = 1e-12, 1e15  # tok/s; beyond, a rate is no measurement


class Read(NamedTuple):
    """What the verbs read of runs: once for all of them where they follow each other.

    Cards, their number and throughputs by token basis (NaN where they make no sense), and the
    causes why of some rows nothing can be computed.
    """

    cards: Cards
    n_gpus: Floats
    rates: dict[str, Floats]
    causes: list[Cause]


def read(runs: pd.DataFrame, scenario: Scenario, verb: str) -> Read:
    """Read runs; columns that are missing or hold no numbers raise, and so do unknown cards."""
    require(runs, READ, verb)
    n_gpus = numbers(runs, "n_gpus")
    countable = (n_gpus >= 1) & np.isfinite(n_gpus) & (n_gpus % 1 == 0)
    raw = {basis: numbers(runs, f"{basis}_tok_per_s") for basis in TOKEN_BASES}
    rates = {
        basis: np.where((rate > _SLOWEST) & (rate < _FASTEST), rate, np.nan)
        for basis, rate in raw.items()
    }
    lacking = {basis: np.isnan(rate) for basis, rate in rates.items()}
    some = np.logical_or.reduce(list(lacking.values()))
    all_of_them = np.logical_and.reduce(list(lacking.values()))
    causes: list[Cause] = [
        (np.isnan(n_gpus), "the run does not say how many GPUs"),
        (~countable, "n_gpus is not 1 or more"),
    ]
    if some.any():
        if "completed" in runs:
            causes.append((some & (numbers(runs, "completed") == 0), "no completed requests"))
        if "duration_s" in runs:
            causes.append((some & ~(numbers(runs, "duration_s") > 0), "no duration"))
        causes.append((all_of_them, "no throughput"))
        causes += [(mask, f"no {basis}_tok_per_s") for basis, mask in lacking.items()]
    counted = np.where(countable, n_gpus, np.nan)
    return Read(Cards(runs, scenario), counted, rates, causes)


def with_columns(runs: pd.DataFrame, added: Mapping[str, Any]) -> pd.DataFrame:
    """Return the frame with columns added, texts as such."""

    def is_text(value: Any) -> bool:
        return isinstance(value, str) or getattr(value, "dtype", None) == np.dtype("object")

    return runs.assign(
        **{
            name: pd.Series(value, index=runs.index, dtype="str") if is_text(value) else value
            for name, value in added.items()
        }
    )
