"""Operational and embodied emissions per million tokens, and the Software Carbon Intensity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import SCI_UNITS, TOKEN_BASES, numbers, one_accounting, require
from hetcost.errors import AssumptionError, unknown_name
from hetcost.formulas import carbon
from hetcost.impacts import lookups, model
from hetcost.impacts.accounting import READ, read, with_columns
from hetcost.impacts.figures import Figures
from hetcost.impacts.lookups import Cause, Floats
from hetcost.scenario import Scenario
from hetcost.scenario.checks import SHARES
from hetcost.units import JOULES_PER_KWH, SECONDS_PER_HOUR

_DERIVED = ("market_op_", "sci_")  # of an earlier evaluation, if not added anew


def with_carbon(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add operational and embodied emissions per million tokens.

    Parameters
    ----------
    runs : Rows with ``gpu n_gpus out_tok_per_s all_tok_per_s`` and
        ``site_j_per_tok_{out,all}``, as :func:`with_energy` adds them.
    scenario : Assumptions on the grid and on embodied carbon.

    Returns
    -------
    The same rows with ``perspective gco2e_per_kwh grid_method grid_basis emb_method emb_boundary
    emb_kgco2e emb_share_frac emb_gco2e_per_h``, ``{op_,emb_,}gco2e_per_mtok_{out,all}``
    [gCO2e/Mtok] and ``carbon_note``; ``market_op_gco2e_per_mtok_{out,all}`` where the scenario
    states a market-based intensity. Operational emissions are location-based.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    AssumptionError
        The energies were computed under assumptions that are not the scenario's, or a card that
        is bought for the service is counted as if it stood idle without it.
    """
    scenario = lookups.checked(scenario)
    require(runs, [*READ, *(f"site_j_per_tok_{basis}" for basis in TOKEN_BASES)], "with_carbon")
    of = Figures(runs, read(runs, scenario, "with_carbon"))
    _check_energies(runs, of)
    return add_carbon(runs, of)


def add_carbon(runs: pd.DataFrame, of: Figures) -> pd.DataFrame:
    """Add what :func:`with_carbon` adds to runs that are read already."""
    scenario, rates = of.scenario, of.known.rates
    check_bought(of)
    grid = lookups.intensity(scenario)
    per_h, emb_columns, causes = _embodied(of)
    added: dict[str, Any] = {
        "perspective": scenario.perspective,
        "gco2e_per_kwh": grid.value,
        "grid_method": scenario.grid_method,
        "grid_basis": grid.basis,
        **emb_columns,
    }
    for basis, rate in rates.items():
        site_j = numbers(runs, f"site_j_per_tok_{basis}")
        operational = carbon.op_gco2e_per_mtok(site_j, grid.value)
        emb = carbon.emb_gco2e_per_mtok(per_h, rate)
        added[f"op_gco2e_per_mtok_{basis}"] = operational
        added[f"emb_gco2e_per_mtok_{basis}"] = emb
        added[f"gco2e_per_mtok_{basis}"] = carbon.gco2e_per_mtok(operational, emb)
        if scenario.market_gco2e_per_kwh is not None:
            market = carbon.op_gco2e_per_mtok(site_j, scenario.market_gco2e_per_kwh)
            added[f"market_op_gco2e_per_mtok_{basis}"] = market
    lacking: list[Cause] = [(bool(grid.missing), grid.missing), *causes]
    added["carbon_note"] = _after(runs, lookups.note(len(runs), lacking))
    stale = [n for n in runs if str(n).startswith(_DERIVED) and n not in added]
    return with_columns(runs.drop(columns=stale), added)


def sci(evaluated: pd.DataFrame, R: str = "request") -> pd.DataFrame:
    """Add the Software Carbon Intensity, (E·I + M) per functional unit, after ISO/IEC 21031.

    Parameters
    ----------
    evaluated : Rows of :func:`evaluate`, attributional and location-based.
    R : Functional unit: ``request``, ``tok_out`` or ``tok_all``.

    Returns
    -------
    The same rows with ``sci_gco2e_per_{R}`` [gCO2e per unit] and ``sci_note``, why it is missing.

    Raises
    ------
    ColumnError
        A column is missing, or rows of different accounting are mixed.
    AssumptionError
        The rows are consequential: SCI counts a share of what exists.

    Examples
    --------
    >>> from hetcost.impacts import evaluate
    >>> row = {"gpu": "RTX 4090", "n_gpus": 1, "out_tok_per_s": 600.0, "all_tok_per_s": 1200.0}
    >>> per_token = sci(evaluate(pd.DataFrame([row | {"mean_concurrency": 8.0}])), R="tok_out")
    >>> bool(per_token["sci_gco2e_per_tok_out"].item() > 0)
    True
    """
    if not isinstance(R, str) or R not in SCI_UNITS:
        raise unknown_name("R", R, SCI_UNITS)
    rates = {"request": "req_per_s", "tok_out": "out_tok_per_s", "tok_all": "all_tok_per_s"}
    joules, intensity, embodied_h = "site_j_per_tok_out", "gco2e_per_kwh", "emb_gco2e_per_h"
    needed = [joules, "out_tok_per_s", intensity, embodied_h, "perspective", rates[R]]
    require(evaluated, needed, "sci")
    one_accounting(evaluated, "sci")
    if (evaluated["perspective"] == "consequential").any():
        message = "sci: perspective='consequential'; SCI takes rows of the attributional one"
        raise AssumptionError(message)
    watts = numbers(evaluated, joules) * numbers(evaluated, "out_tok_per_s")
    served = numbers(evaluated, rates[R]) * SECONDS_PER_HOUR
    served = np.where((served > 0) & np.isfinite(served), served, np.nan)
    value = carbon.sci_gco2e(
        watts * SECONDS_PER_HOUR / JOULES_PER_KWH,
        numbers(evaluated, intensity),
        numbers(evaluated, embodied_h),
        served,
    )
    reasons = evaluated.get("carbon_note", pd.Series("", index=evaluated.index)).fillna("")
    why = np.where(np.isnan(served), f"no {rates[R]}", reasons.to_numpy(dtype=object))
    note = np.where(np.isnan(value), why, "").astype(object)
    return with_columns(evaluated, {f"sci_gco2e_per_{R}": value, "sci_note": note})


def _after(runs: pd.DataFrame, note: Any) -> Any:
    """Write a note behind the one on energy, which carbon rests on."""
    if "energy_note" not in runs or not (before := runs["energy_note"].fillna("")).any():
        return note
    said = pd.Series(note, index=runs.index, dtype="str")
    said = said.where(said != before, "")
    return before + np.where((before != "") & (said != ""), "; ", "") + said


def _embodied(of: Figures) -> tuple[Floats, dict[str, Any], list[Cause]]:
    """Return embodied grams per loaded hour, the columns that state them, and the causes."""
    per_h = model.emb_gco2e_per_h(of)
    columns = {
        "emb_method": of.looked_up("card_kgco2e").bases,
        "emb_boundary": of.scenario.embodied_boundary,
        "emb_kgco2e": model.emb_kgco2e(of),
        "emb_share_frac": model.share_frac(of),
        "emb_gco2e_per_h": per_h,
    }
    needed = ("card_kgco2e", "host_kgco2e_per_gpu", "life_yr", "share_frac")
    return per_h, columns, [of.looked_up(name).cause for name in needed]


def _check_energies(runs: pd.DataFrame, of: Figures) -> None:
    """Refuse energies that were computed under other assumptions than the scenario's."""
    for name in ("idle_baseline", "power_model"):
        asked = getattr(of.scenario, name)
        for found in runs[name].dropna().unique() if name in runs else ():
            if found != asked:
                message = (
                    f"with_carbon: the energies count {name}='{found}', the scenario '{asked}' "
                    f"({of.scenario.perspective}): evaluate both under one"
                )
                raise AssumptionError(message)
    if "load_frac" in runs:
        given = numbers(runs, "load_frac")
        if (np.isfinite(given) & (given != of["load_frac"])).any():
            message = "with_carbon: the energies count another load_frac: evaluate both under one"
            raise AssumptionError(message)


def check_bought(of: Figures) -> None:
    """Refuse a card that is bought for the service, but counted as if it stood idle without."""
    if of.scenario.idle_baseline == "off":
        return
    for card in of.cards.names:
        if of.scenario.of("embodied_share_frac", card) in (None, SHARES["new"]):
            message = (
                f"idle_baseline='{of.scenario.idle_baseline}' and a new {card}: a machine that is "
                "bought for the service would not stand idle; 'off', or 'sunk' with induced_frac"
            )
            raise AssumptionError(message)
