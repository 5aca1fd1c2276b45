"""From measured runs to cost, energy and carbon: the verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hetcost import reference
from hetcost.columns import TOKEN_BASES, numbers, require
from hetcost.errors import AssumptionError, UnknownNameError
from hetcost.formulas import carbon, cost, energy
from hetcost.scenario import Scenario

Floats = NDArray[np.float64]

_GIVEN = "scenario"
_SLOWEST = 1e-12  # tok/s; below, a rate is a rounding residue and its inverse no number
_PROVENANCE = ["source", "url", "date", "licence", "quality", "origin"]
_NO_EMBODIED = "embodied carbon: no method in this scenario"


class _Known(NamedTuple):
    """A figure and what it rests on, or NaN and why it is missing."""

    value: float
    basis: str = ""
    missing: str = ""
    fact: pd.Series | None = None


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
        A column is missing.
    UnknownNameError
        A card is not in the table of GPUs; the message lists the nearest.
    """
    scenario = _checked(scenario)
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
    scenario = _checked(scenario)
    require(runs, ["gpu", "n_gpus", *_rates()], "with_cost")

    usd_per_gpu_h, basis, missing = _looked_up(runs, scenario, _price)
    n_gpus, note = _n_gpus(runs, missing)
    usd_per_h = np.asarray(cost.usd_per_h(usd_per_gpu_h, n_gpus))
    added: dict[str, Any] = {
        "reading": runs.get("reading", "as_measured"),
        "usd_per_gpu_h": usd_per_gpu_h,
        "price_basis": basis,
        "usd_per_h": usd_per_h,
    }
    for token in TOKEN_BASES:
        rate = _throughput(runs, token)
        added[f"usd_per_mtok_{token}"] = cost.usd_per_mtok(usd_per_h, rate)
    added["cost_note"] = _noted(runs, note)
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
    scenario = _checked(scenario)
    require(runs, ["gpu", "n_gpus", *_rates()], "with_energy")

    tdp_w, quality, no_tdp = _looked_up(runs, scenario, _tdp)
    site_pue, _, no_pue = _looked_up(runs, scenario, _pue)
    n_gpus, note = _n_gpus(runs, _first(no_tdp, no_pue))
    gpu_w = energy.nameplate_gpu_w(tdp_w, n_gpus)
    watts = {"gpu": gpu_w, "it": gpu_w, "site": energy.site_w(gpu_w, site_pue)}
    added: dict[str, Any] = {
        "power_model": scenario.power_model,
        "power_quality": quality,
        "energy_boundary": "boards",
        "site_w_load": watts["site"],
    }
    for token in TOKEN_BASES:
        rate = _throughput(runs, token)
        for boundary, power_w in watts.items():
            added[f"{boundary}_j_per_tok_{token}"] = energy.j_per_tok(power_w, rate)
    added["energy_note"] = _noted(runs, note)
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
        A column is missing.
    """
    scenario = _checked(scenario)
    require(runs, [f"site_j_per_tok_{token}" for token in TOKEN_BASES], "with_carbon")
    grid = _intensity(scenario)
    added: dict[str, Any] = {"gco2e_per_kwh": grid.value, "grid_basis": grid.basis}
    embodied = np.full(len(runs), np.nan)
    for token in TOKEN_BASES:
        site_j = _floats(runs, f"site_j_per_tok_{token}")
        operational = carbon.op_gco2e_per_mtok(site_j, grid.value)
        added[f"op_gco2e_per_mtok_{token}"] = operational
        added[f"emb_gco2e_per_mtok_{token}"] = embodied
        added[f"gco2e_per_mtok_{token}"] = carbon.gco2e_per_mtok(operational, embodied)
    note = np.full(len(runs), "", dtype=object)
    if "energy_note" in runs:
        note = np.asarray(runs["energy_note"].fillna(""), dtype=object)
    always = "; ".join(reason for reason in (grid.missing, _NO_EMBODIED) if reason)
    added["carbon_note"] = np.where(note == "", always, note + f"; {always}")
    return _with(runs, added)


def facts_used(runs: pd.DataFrame, scenario: Scenario | None = None) -> pd.DataFrame:
    """List the facts and assumptions that :func:`evaluate` looks up for these runs.

    Parameters
    ----------
    runs : Rows with ``gpu``.
    scenario : Assumptions.

    Returns
    -------
    One row per fact: ``entity quantity value unit source url date licence quality origin``. What
    the scenario gives instead of a table has ``scenario`` as its source.

    Raises
    ------
    ColumnError, UnknownNameError
        As :func:`evaluate`.
    """
    scenario = _checked(scenario)
    require(runs, ["gpu"], "facts_used")
    cards = sorted(set(_cards(runs["gpu"].dropna().unique(), scenario)))
    price = f"{scenario.price_class}_usd_per_gpu_h"
    looked_up = [
        *((card, price, "USD/GPU/h", _price(card, scenario)) for card in cards),
        *((card, "tdp_w", "W", _tdp(card, scenario)) for card in cards),
        (scenario.grid_zone, "gco2e_per_kwh", "gCO2e/kWh", _intensity(scenario)),
    ]
    columns = ["entity", "quantity", "value", "unit", *_PROVENANCE]
    rows = []
    for entity, quantity, unit, known in looked_up:
        if known.fact is not None:
            rows.append({name: known.fact[name] for name in columns})
        elif not known.missing:
            given = {"entity": entity or "all", "quantity": quantity, "value": known.value}
            rows.append({**given, "unit": unit, "source": _GIVEN, "origin": _GIVEN})
    return pd.DataFrame(rows, columns=columns)


def _checked(scenario: Scenario | None) -> Scenario:
    if scenario is None:
        return Scenario()
    if not isinstance(scenario, Scenario):
        message = f"scenario: {scenario!r} is not a Scenario"
        raise AssumptionError(message)
    return scenario


def _rates() -> list[str]:
    return [f"{token}_tok_per_s" for token in TOKEN_BASES]


def _price(gpu: str, scenario: Scenario) -> _Known:
    if gpu in scenario.usd_per_gpu_h:
        return _Known(scenario.usd_per_gpu_h[gpu], _GIVEN)
    kind, as_of = scenario.price_class, scenario.price_as_of
    fact = reference.price_fact(gpu, kind, as_of, tables=scenario.tables)
    wanted = f"{kind} price for {gpu} as of {as_of}"
    if fact is None:
        return _Known(np.nan, missing=f"no {wanted}")
    if np.isnan(fact["value"]):
        bounds = f"{fact['low']:g}-{fact['high']:g} USD/h"
        missing = f"only a range ({bounds}) is known as {wanted}"
        return _Known(np.nan, missing=missing, fact=fact)
    return _Known(fact["value"], f"{kind}, {fact['date']}", fact=fact)


def _tdp(gpu: str, scenario: Scenario) -> _Known:
    if gpu in scenario.tdp_w:
        return _Known(scenario.tdp_w[gpu], f"nameplate, {_GIVEN}")
    fact = reference.gpu_fact(gpu, "tdp_w", tables=scenario.tables)
    if fact is None:
        return _Known(np.nan, missing=f"no TDP known for {gpu}")
    return _Known(fact["value"], f"nameplate, quality {fact['quality']}", fact=fact)


def _pue(gpu: str, scenario: Scenario) -> _Known:
    if not isinstance(scenario.pue, Mapping):
        return _Known(scenario.pue)
    if gpu in scenario.pue:
        return _Known(scenario.pue[gpu])
    return _Known(np.nan, missing=f"pue is not given for {gpu}")


def _intensity(scenario: Scenario) -> _Known:
    if scenario.gco2e_per_kwh is not None:
        return _Known(scenario.gco2e_per_kwh, _GIVEN)
    zone, year = str(scenario.grid_zone), int(scenario.grid_year or 0)
    fact = reference.grid_fact(zone, year, tables=scenario.tables)
    if fact is None:  # the tables changed under the scenario
        return _Known(np.nan, missing=f"no carbon intensity of {zone} in {year}")
    basis = f"{zone} {year}, life-cycle, quality {fact['quality']}"
    return _Known(fact["value"], basis, fact=fact)


def _looked_up(
    runs: pd.DataFrame, scenario: Scenario, find: Callable[[str, Scenario], _Known]
) -> tuple[Floats, NDArray[np.object_], NDArray[np.object_]]:
    """Look a figure up once per card; return values, bases and reasons, row by row."""
    codes, names = pd.factorize(runs["gpu"])
    cards = _cards(names, scenario)
    known = [find(card, scenario) for card in cards]
    known.append(_Known(np.nan, missing="the run names no GPU"))
    values = np.array([entry.value for entry in known], dtype=np.float64)
    bases = np.array([entry.basis for entry in known], dtype=object)
    reasons = np.array([entry.missing for entry in known], dtype=object)
    return values[codes], bases[codes], reasons[codes]


def _cards(names: Iterable[Any], scenario: Scenario) -> list[str]:
    """Return canonical names; those that are unknown or ambiguous raise, all at once."""
    cards, wrong = [], []
    for name in names:
        try:
            cards.append(reference.gpu_name(name, tables=scenario.tables))
        except UnknownNameError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        message = "\n  ".join([f"{len(wrong)} GPUs are not in the tables:", *map(str, wrong)])
        raise UnknownNameError(message)
    return cards


def _n_gpus(runs: pd.DataFrame, note: NDArray[np.object_]) -> tuple[Floats, NDArray[np.object_]]:
    n_gpus = _floats(runs, "n_gpus")
    fits = (n_gpus >= 1) & np.isfinite(n_gpus)
    unknown = np.full(len(runs), "the run does not say how many GPUs", dtype=object)
    unknown[n_gpus < 1] = "n_gpus is below 1"
    return np.where(fits, n_gpus, np.nan), np.where((note == "") & ~fits, unknown, note)


def _first(*notes: NDArray[np.object_]) -> NDArray[np.object_]:
    out = notes[0]
    for note in notes[1:]:
        out = np.where(out == "", note, out)
    return out


def _throughput(runs: pd.DataFrame, token: str) -> Floats:
    rate = _floats(runs, f"{token}_tok_per_s")
    return np.where((rate > _SLOWEST) & np.isfinite(rate), rate, np.nan)


def _noted(runs: pd.DataFrame, note: NDArray[np.object_]) -> NDArray[np.object_]:
    """Complete the reasons: what the look-ups did not miss may still lack a throughput."""
    lacking = {token: np.isnan(_throughput(runs, token)) for token in TOKEN_BASES}
    idle = np.logical_or.reduce(list(lacking.values()))
    if not idle.any():
        return note
    reasons = np.full(len(runs), "no throughput", dtype=object)
    for token, missing in lacking.items():
        reasons[missing & ~np.logical_and.reduce(list(lacking.values()))] = f"no {token}_tok_per_s"
    if "duration_s" in runs:
        reasons[~(_floats(runs, "duration_s") > 0)] = "no duration"
    if "completed" in runs:
        reasons[_floats(runs, "completed") == 0] = "no completed requests"
    return np.where((note == "") & idle, reasons, note)


def _floats(runs: pd.DataFrame, name: str) -> Floats:
    return numbers(runs, name)


def _with(runs: pd.DataFrame, added: Mapping[str, Any]) -> pd.DataFrame:
    def is_text(value: Any) -> bool:
        return isinstance(value, str) or getattr(value, "dtype", None) == np.dtype("object")

    return runs.assign(
        **{
            name: pd.Series(value, index=runs.index, dtype="str") if is_text(value) else value
            for name, value in added.items()
        }
    )
