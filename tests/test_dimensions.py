"""pint as an independent judge of every formula's units."""

import inspect
import math
from importlib import import_module

import pint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hetcost import formulas
from hetcost.errors import AssumptionError

ureg = pint.UnitRegistry()
for unit in (
    "USD = [currency]",
    "tok = [token]",
    "Mtok = 1e6 tok",
    "gCO2e = [emission]",
    "kgCO2e = 1e3 gCO2e",
    "GB = [information]",
    "yr = 8760 h",
):
    ureg.define(unit)

# formula: ({argument: unit}, unit of the result)
FORMULAS = {
    ("cost", "usd_per_h"): ({"usd_per_gpu_h": "USD/h", "n_gpus": ""}, "USD/h"),
    ("cost", "usd_per_mtok"): ({"usd_per_h": "USD/h", "tok_per_s": "tok/s"}, "USD/Mtok"),
    ("cost", "mtok_per_h"): ({"tok_per_s": "tok/s"}, "Mtok/h"),
    ("cost", "usd_per_run"): ({"usd_per_h": "USD/h", "duration_s": "s"}, "USD"),
    ("energy", "it_w"): ({"gpu_w": "W", "host_w": "W", "psu_efficiency_frac": ""}, "W"),
    ("energy", "charged_w"): ({"w_load": "W", "w_idle": "W", "load_frac": ""}, "W"),
    ("energy", "incremental_w"): ({"w_load": "W", "w_idle": "W"}, "W"),
    ("energy", "nameplate_gpu_w"): ({"tdp_w": "W", "n_gpus": ""}, "W"),
    ("energy", "site_w"): ({"it_w": "W", "pue": ""}, "W"),
    ("energy", "j_per_tok"): ({"power_w": "W", "tok_per_s": "tok/s"}, "J/tok"),
    ("energy", "mtok_per_kwh"): ({"j_per_tok": "J/tok"}, "Mtok/kWh"),
    ("carbon", "op_gco2e_per_mtok"): (
        {"site_j_per_tok": "J/tok", "gco2e_per_kwh": "gCO2e/kWh"},
        "gCO2e/Mtok",
    ),
    ("carbon", "gco2e_per_mtok"): (
        {"op_gco2e_per_mtok": "gCO2e/Mtok", "emb_gco2e_per_mtok": "gCO2e/Mtok"},
        "gCO2e/Mtok",
    ),
    ("carbon", "consumed_gco2e_per_kwh"): (
        {"generated_gco2e_per_kwh": "gCO2e/kWh", "td_loss_frac": ""},
        "gCO2e/kWh",
    ),
    ("carbon", "emb_gco2e_per_h"): (
        {
            "kgco2e": "kgCO2e",
            "life_yr": "yr",
            "assigned_frac": "",
            "load_frac": "",
            "share_frac": "",
        },
        "gCO2e/h",
    ),
    ("carbon", "emb_gco2e_per_mtok"): (
        {"emb_gco2e_per_h": "gCO2e/h", "tok_per_s": "tok/s"},
        "gCO2e/Mtok",
    ),
    ("carbon", "sci_gco2e"): (
        {
            "energy_kwh": "kWh",
            "gco2e_per_kwh": "gCO2e/kWh",
            "emb_gco2e": "gCO2e",
            "functional_units": "",
        },
        "gCO2e",
    ),
    ("embodied", "act_embodied"): (
        {
            "die_mm2": "mm^2",
            "epa_kwh_per_cm2": "kWh/cm^2",
            "gpa_gco2e_per_cm2": "gCO2e/cm^2",
            "mpa_gco2e_per_cm2": "gCO2e/cm^2",
            "ci_fab_gco2e_per_kwh": "gCO2e/kWh",
            "yield_frac": "",
            "packaging_gco2e": "gCO2e",
        },
        "kgCO2e",
    ),
    ("embodied", "act_memory"): (
        {
            "memory_gb": "GB",
            "memory_kgco2e_per_gb": "kgCO2e/GB",
            "memory_ics": "",
            "packaging_gco2e": "gCO2e",
        },
        "kgCO2e",
    ),
    ("embodied", "murphy_yield_frac"): ({"die_mm2": "mm^2", "defects_per_cm2": "1/cm^2"}, ""),
    ("embodied", "poisson_yield_frac"): ({"die_mm2": "mm^2", "defects_per_cm2": "1/cm^2"}, ""),
}
# Their curve has points, which are no single quantity: tests of the power ladder judge them.
CURVES = {("energy", "load_w")}
# What pint multiplies and divides to check ours: the formula in words of units.
BY_HAND = {
    "usd_per_h": lambda usd_per_gpu_h, n_gpus: usd_per_gpu_h * n_gpus,
    "usd_per_mtok": lambda usd_per_h, tok_per_s: usd_per_h / tok_per_s,
    "mtok_per_h": lambda tok_per_s: tok_per_s,
    "usd_per_run": lambda usd_per_h, duration_s: usd_per_h * duration_s,
    "nameplate_gpu_w": lambda tdp_w, n_gpus: tdp_w * n_gpus,
    "site_w": lambda it_w, pue: it_w * pue,
    "j_per_tok": lambda power_w, tok_per_s: power_w / tok_per_s,
    "mtok_per_kwh": lambda j_per_tok: 1 / j_per_tok,
    "op_gco2e_per_mtok": lambda site_j_per_tok, gco2e_per_kwh: site_j_per_tok * gco2e_per_kwh,
    "gco2e_per_mtok": lambda op_gco2e_per_mtok, emb_gco2e_per_mtok: (
        op_gco2e_per_mtok + emb_gco2e_per_mtok
    ),
    "it_w": lambda gpu_w, host_w, psu_efficiency_frac: (gpu_w + host_w) / psu_efficiency_frac,
    "charged_w": lambda w_load, w_idle, load_frac: w_load + w_idle / load_frac - w_idle,
    "incremental_w": lambda w_load, w_idle: w_load - w_idle,
    "consumed_gco2e_per_kwh": lambda generated_gco2e_per_kwh, td_loss_frac: (
        generated_gco2e_per_kwh / (1 - td_loss_frac)
    ),
    "emb_gco2e_per_h": lambda kgco2e, life_yr, assigned_frac, load_frac, share_frac: (
        share_frac * kgco2e / (life_yr * assigned_frac * load_frac)
    ),
    "emb_gco2e_per_mtok": lambda emb_gco2e_per_h, tok_per_s: emb_gco2e_per_h / tok_per_s,
    "sci_gco2e": lambda energy_kwh, gco2e_per_kwh, emb_gco2e, functional_units: (
        (energy_kwh * gco2e_per_kwh + emb_gco2e) / functional_units
    ),
    "act_embodied": lambda **k: (
        k["die_mm2"]
        * (
            k["ci_fab_gco2e_per_kwh"] * k["epa_kwh_per_cm2"]
            + k["gpa_gco2e_per_cm2"]
            + k["mpa_gco2e_per_cm2"]
        )
        / k["yield_frac"]
        + k["packaging_gco2e"]
    ),
    "act_memory": lambda memory_gb, memory_kgco2e_per_gb, memory_ics, packaging_gco2e: (
        memory_gb * memory_kgco2e_per_gb + memory_ics * packaging_gco2e
    ),
    "murphy_yield_frac": lambda die_mm2, defects_per_cm2: (
        ((1 - math.exp(-_bare(die_mm2 * defects_per_cm2))) / (die_mm2 * defects_per_cm2)) ** 2
    ),
    "poisson_yield_frac": lambda die_mm2, defects_per_cm2: (
        math.exp(-_bare(die_mm2 * defects_per_cm2)) * ureg.dimensionless
    ),
}
numbers = st.floats(min_value=1.0, max_value=1e6, allow_nan=False)
fractions = st.floats(min_value=0.01, max_value=0.99, allow_nan=False)
SMALL = {"die_mm2", "defects_per_cm2"}  # an exponent is made of them


def _bare(quantity):
    return quantity.to("dimensionless").magnitude


def _draw(data, argument):
    if argument in SMALL:
        return data.draw(st.floats(min_value=0.01, max_value=100.0))
    return data.draw(fractions if argument.endswith("_frac") else numbers)


def _sensible(arguments):
    return {name: 0.5 if name.endswith("_frac") else 2.0 for name in arguments}


def _formula(module, name):
    return getattr(import_module(f"{formulas.__name__}.{module}"), name)


def test_every_formula_is_judged():
    for module in ("cost", "energy", "carbon", "embodied"):
        found = import_module(f"hetcost.formulas.{module}")
        public = {
            name
            for name, value in inspect.getmembers(found, inspect.isfunction)
            if value.__module__ == found.__name__ and not name.startswith("_")
        }
        assert public == {name for where, name in CURVES | set(FORMULAS) if where == module}


@pytest.mark.parametrize(("module", "name"), list(FORMULAS))
@given(data=st.data())
def test_units(module, name, data):
    arguments, unit = FORMULAS[module, name]
    values = {argument: _draw(data, argument) for argument in arguments}
    if name == "incremental_w":
        values["w_load"] += values["w_idle"]
    quantities = {a: values[a] * ureg(arguments[a] or "dimensionless") for a in arguments}
    expected = BY_HAND[name](**quantities).to(unit).magnitude
    assert math.isclose(_formula(module, name)(**values), expected, rel_tol=1e-9)


@pytest.mark.parametrize(("module", "name"), list(FORMULAS))
def test_nonsense_is_refused_by_name(module, name):
    arguments, _ = FORMULAS[module, name]
    for wrong in arguments:
        values = _sensible(arguments) | {wrong: -1.0}
        with pytest.raises(AssumptionError, match=rf"{wrong}=-1: valid values are"):
            _formula(module, name)(**values)


@pytest.mark.parametrize(
    ("module", "name", "argument"),
    [
        ("cost", "usd_per_mtok", "tok_per_s"),
        ("energy", "j_per_tok", "tok_per_s"),
        ("energy", "it_w", "psu_efficiency_frac"),
        ("carbon", "emb_gco2e_per_h", "life_yr"),
        ("carbon", "emb_gco2e_per_h", "load_frac"),
        ("embodied", "act_embodied", "yield_frac"),
    ],
)
def test_a_rate_of_zero_is_no_division(module, name, argument):
    arguments, _ = FORMULAS[module, name]
    with pytest.raises(AssumptionError, match="above 0"):
        _formula(module, name)(**(_sensible(arguments) | {argument: 0.0}))
