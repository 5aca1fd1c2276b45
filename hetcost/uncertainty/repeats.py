"""What repeats of one configuration show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from hetcost.columns import numbers, require
from hetcost.errors import AssumptionError
from hetcost.pairing import keys_of

_UNKNOWN = "noise of the system, and of the prompts if the seeds differed: they are not known"
_SAME = "noise of the system alone: same seed and prompts"
_OTHER = "noise of the system and of the prompts"
_CONFIGURATION = ("model", "gpu", "n_gpus", "request_rate_per_s")


def repeat_noise(
    runs: pd.DataFrame, on: str, by: str | Sequence[str] = _CONFIGURATION
) -> pd.DataFrame:
    """Return how far repeats of one configuration and load lie apart.

    Repeats of one seed send the same prompts at the same times: what they show is the noise of
    the system, not how another sample of users would be served.

    Parameters
    ----------
    runs : Rows with `on` and the columns of `by`; ``prompt_seed`` where it is known.
    on : What was measured, such as ``out_tok_per_s``.
    by : Columns that make repeats of each other.

    Returns
    -------
    One row per configuration that was repeated: `by`, ``repeats mean relative_sd`` and ``shows``.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    AssumptionError
        `by` names no column.
    """
    keys = keys_of(by)
    if not keys:
        message = "repeat_noise: by=[]: which columns make repeats of each other?"
        raise AssumptionError(message)
    require(runs, [*keys, on], "repeat_noise")
    seeds = runs["prompt_seed"] if "prompt_seed" in runs else pd.Series(None, index=runs.index)
    frame = runs[keys].assign(value=numbers(runs, on), seed=seeds.to_numpy())
    groups = frame.groupby(keys, dropna=False)
    table = groups["value"].agg(repeats="count", mean="mean", sd="std").reset_index()
    table["seeds"] = groups["seed"].nunique(dropna=False).to_numpy()
    table["seeded"] = groups["seed"].count().to_numpy() == groups["seed"].size().to_numpy()
    table = table[table["repeats"] > 1].reset_index(drop=True)
    table["relative_sd"] = table["sd"] / table["mean"]
    shows = np.select([~table["seeded"], table["seeds"] == 1], [_UNKNOWN, _SAME], _OTHER)
    return table.assign(shows=shows)[[*keys, "repeats", "mean", "relative_sd", "shows"]]
