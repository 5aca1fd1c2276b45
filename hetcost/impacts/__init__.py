"""From measured runs to cost, energy and carbon: the verbs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hetcost.columns import TOKEN_BASES, numbers, require
from hetcost.formulas import carbon, cost, energy
from hetcost.impacts import lookups
from hetcost.impacts.lookups import Cause, Floats, facts_used, note
from hetcost.scenario import Scenario

__all__ = ["evaluate", "facts_used", "with_carbon", "with_cost", "with_energy"]

_READ = ["gpu", "n_gpus", *(f"{basis}_tok_per_s" for basis in TOKEN_BASES)]
_SLOWEST, _FASTEST = 1e-12, 1e15  # tok/s; beyond, a rate is no measurement
_NO_EMBODIED = "embodied carbon: no method in this scenario"


def evaluate(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add cost, energy and carbon to every run.

    Parameters
    ----------
    runs : One row per run or configuration, with ``gpu n_gpus out_tok_per_s all_tok_per_s``.
    scenario : Assumptions; the default scenario where none is given.

    Returns
    -------
    The same rows with the columns of :func:`with_cost`, :func:`with_energy` and
    :func:`with_carbon`. What cannot be computed is NaN, with the reason in ``cost_note``,
    ``energy_note`` or ``carbon_note``.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    UnknownNameError
        Cards are not in the table of GPUs; the message lists the nearest.

    Examples
    --------
    >>> run = {"gpu": "RTX 4090", "n_gpus": 2, "out_tok_per_s": 624.0, "all_tok_per_s": 1250.6}
    >>> evaluated = evaluate(pd.DataFrame([run]), Scenario.paper())
    >>> round(evaluated["usd_per_mtok_all"].item(), 3)
    0.111
    """
    scenario = lookups.checked(scenario)
    return runs.pipe(with_cost, scenario).pipe(with_energy, scenario).pipe(with_carbon, scenario)


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
    scenario = lookups.checked(scenario)
    require(runs, _READ, "with_cost")
    (price,) = lookups.by_card(runs, scenario, lookups.price)
    n_gpus, rates, causes = _measured(runs)
    usd_per_h = np.asarray(cost.usd_per_h(price.figures, n_gpus))
    added: dict[str, Any] = {
        "reading": runs.get("reading", "as_measured"),
        "usd_per_gpu_h": price.figures,
        "price_basis": price.bases,
        "usd_per_h": usd_per_h,
    }
    for basis, rate in rates.items():
        added[f"usd_per_mtok_{basis}"] = cost.usd_per_mtok(usd_per_h, rate)
    added["cost_note"] = note(len(runs), [price.cause, *causes])
    return _with(runs, added)


def with_energy(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add power and energy per token of the boards, the IT equipment and the site.

    The nameplate rung lets every board draw its TDP, and counts nothing but boards as IT
    equipment (``energy_boundary`` says so): ``it_`` equals ``gpu_``, ``site_`` is PUE times it.

    Parameters
    ----------
    runs : Rows with ``gpu n_gpus out_tok_per_s all_tok_per_s``.
    scenario : Assumptions on power and site.

    Returns
    -------
    The same rows with ``power_model power_quality energy_boundary site_w_load`` [W],
    ``{gpu,it,site}_j_per_tok_{out,all}`` [J/tok] and ``energy_note``.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    scenario = lookups.checked(scenario)
    require(runs, _READ, "with_energy")
    tdp, pue = lookups.by_card(runs, scenario, lookups.tdp, lookups.pue)
    n_gpus, rates, causes = _measured(runs)
    gpu_w = energy.nameplate_gpu_w(tdp.figures, n_gpus)
    watts = {"gpu": gpu_w, "it": gpu_w, "site": energy.site_w(gpu_w, pue.figures)}
    added: dict[str, Any] = {
        "power_model": scenario.power_model,
        "power_quality": tdp.bases,
        "energy_boundary": "boards",
        "site_w_load": watts["site"],
    }
    for basis, rate in rates.items():
        for boundary, power_w in watts.items():
            added[f"{boundary}_j_per_tok_{basis}"] = energy.j_per_tok(power_w, rate)
    added["energy_note"] = note(len(runs), [tdp.cause, pue.cause, *causes])
    return _with(runs, added)


def with_carbon(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """Add operational emissions per million tokens; embodied ones are told to be missing.

    Parameters
    ----------
    runs : Rows with ``site_j_per_tok_{out,all}``, as :func:`with_energy` adds them.
    scenario : Assumptions on the grid.

    Returns
    -------
    The same rows with ``gco2e_per_kwh grid_basis``, ``{op_,emb_,}gco2e_per_mtok_{out,all}``
    [gCO2e/Mtok] and ``carbon_note``. No embodied method is modelled yet: ``emb_`` and the sum
    are NaN.

    Raises
    ------
    ColumnError
        A column is missing, or holds what is no number.
    """
    scenario = lookups.checked(scenario)
    require(runs, [f"site_j_per_tok_{basis}" for basis in TOKEN_BASES], "with_carbon")
    grid = lookups.intensity(scenario)
    added: dict[str, Any] = {"gco2e_per_kwh": grid.value, "grid_basis": grid.basis}
    embodied = np.full(len(runs), np.nan)
    for basis in TOKEN_BASES:
        site_j = numbers(runs, f"site_j_per_tok_{basis}")
        operational = carbon.op_gco2e_per_mtok(site_j, grid.value)
        added[f"op_gco2e_per_mtok_{basis}"] = operational
        added[f"emb_gco2e_per_mtok_{basis}"] = embodied
        added[f"gco2e_per_mtok_{basis}"] = carbon.gco2e_per_mtok(operational, embodied)
    always = "; ".join(reason for reason in (grid.missing, _NO_EMBODIED) if reason)
    added["carbon_note"] = always
    if "energy_note" in runs and (said := runs["energy_note"].fillna("")).any():
        joined = said + "; " + always
        added["carbon_note"] = joined.where(said != "", always)
    return _with(runs, added)


def _measured(runs: pd.DataFrame) -> tuple[Floats, dict[str, Floats], list[Cause]]:
    """Return cards, throughputs by token basis (NaN where they make no sense), and the causes."""
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
    return np.where(countable, n_gpus, np.nan), rates, causes


def _with(runs: pd.DataFrame, added: Mapping[str, Any]) -> pd.DataFrame:
    def is_text(value: Any) -> bool:
        return isinstance(value, str) or getattr(value, "dtype", None) == np.dtype("object")

    return runs.assign(
        **{
            name: pd.Series(value, index=runs.index, dtype="str") if is_text(value) else value
            for name, value in added.items()
        }
    )
