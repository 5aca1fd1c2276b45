"""Against an API that is paid by the token: the load from which one's own hardware pays."""

from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd

from hetcost.errors import AssumptionError
from hetcost.formulas.cost import usd_per_api_h
from hetcost.impacts import Solved, checked, evaluate
from hetcost.scenario import Scenario


def api_breakeven(
    runs: pd.DataFrame,
    scenario: Scenario | None = None,
    *,
    usd_per_mtok_in: float,
    usd_per_mtok_out: float,
) -> pd.DataFrame:
    """Find the load from which hosting a model oneself costs less than an API.

    Hardware that is rented or owned is paid around the clock; the API by the token. The load is a
    share of what the run served, with its mix of input and output tokens.

    Parameters
    ----------
    runs : Runs, best of configurations at capacity (:func:`hetcost.highest_measured`).
    scenario : Assumptions on the hardware; its ``load_frac`` is what is solved for.
    usd_per_mtok_in, usd_per_mtok_out : Prices of the API. [USD/Mtok]

    Returns
    -------
    The rows with ``api_usd_per_h`` (the same tokens from the API, at the run's load) [USD/h],
    ``self_usd_per_h`` (the hardware at that load) [USD/h], ``breakeven_load_frac`` (NaN where
    there is none) [1], ``breakeven_out_tok_per_s`` [tok/s] and ``breakeven_note``.

    Raises
    ------
    AssumptionError
        A price is no number, or negative.
    """
    for name, price in {"in": usd_per_mtok_in, "out": usd_per_mtok_out}.items():
        if not isinstance(price, Real) or not 0 <= price < float("inf"):
            message = f"usd_per_mtok_{name}={price!r}: a price of 0 or more belongs here"
            raise AssumptionError(message)
    solved = Solved(runs, checked(scenario), "api_breakeven")
    out = solved.figures["out_tok_per_s"]
    both = solved.figures["all_tok_per_s"]
    api = np.asarray(usd_per_api_h(both - out, out, usd_per_mtok_in, usd_per_mtok_out))

    used, used_at_half = (
        solved.values("usd_per_h", {"load_frac": np.full((1, 1), u)})[:, 0] for u in (1.0, 0.5)
    )
    # The cost of an hour on the clock is a straight line over the load. Rent is paid as well when
    # nothing is served; of what is owned the rest is known from two loads.
    rented = np.isin(solved.ways_by_row, ["rent", "spot"])
    half = np.where(rented, used, used_at_half * 0.5)
    fixed, rising = 2 * half - used, 2 * (used - half)
    with np.errstate(divide="ignore", invalid="ignore"):
        load = fixed / (api - rising)
    known, pays = np.isfinite(api) & np.isfinite(used), api > used
    reasons = evaluate(runs, solved.scenario)["cost_note"].to_numpy(dtype=object)
    note = np.select([~known, ~pays, fixed <= 0], [reasons, _API, _OWN], "").astype(object)
    load = np.where(known & pays, np.maximum(load, 0.0), np.nan)
    return runs.assign(
        api_usd_per_h=api,
        self_usd_per_h=used,
        breakeven_load_frac=load,
        breakeven_out_tok_per_s=load * out,
        breakeven_note=pd.Series(note, index=runs.index, dtype="str"),
    )


_API = "the API costs less at any load"
_OWN = "the hardware costs less at any load"
