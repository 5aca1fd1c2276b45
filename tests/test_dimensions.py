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
    "yr = 8760 h = _ = year",
    "month = yr / 12 = _",
):
    ureg.define(unit)

# formula: ({argument: unit}, unit of the result)
FORMULAS = {
    ("cost", "usd_per_h"): ({"usd_per_gpu_h": "USD/h", "n_gpus": ""}, "USD/h"),
    ("cost", "usd_per_mtok"): ({"usd_per_h": "USD/h", "tok_per_s": "tok/s"}, "USD/Mtok"),
    ("cost", "usd_per_api_h"): (
        {
            "in_tok_per_s": "tok/s",
            "out_tok_per_s": "tok/s",
            "usd_per_mtok_in": "USD/Mtok",
            "usd_per_mtok_out": "USD/Mtok",
        },
        "USD/h",
    ),
    ("cost", "mtok_per_h"): ({"tok_per_s": "tok/s"}, "Mtok/h"),
    ("cost", "usd_per_run"): ({"usd_per_h": "USD/h", "duration_s": "s"}, "USD"),
    ("energy", "capped_w"): ({"wanted_w": "W", "limit_w": "W"}, "W"),
    ("energy", "duty_w"): ({"busy_w": "W", "idle_w": "W", "busy_frac": ""}, "W"),
    ("ownership", "crf"): ({"discount_frac": "1/yr", "life_yr": "yr"}, "1/yr"),
    ("ownership", "real_frac"): ({"nominal_frac": "", "inflation_frac": ""}, ""),
    ("ownership", "residual_usd"): ({"capex_usd": "USD", "residual_frac": ""}, "USD"),
    ("ownership", "decayed_frac"): ({"value_decay_frac": "", "life_yr": ""}, ""),
    ("ownership", "usd_per_used_h"): (
        {"usd_per_yr": "USD/yr", "avail_frac": "", "load_frac": ""},
        "USD/h",
    ),
    ("ownership", "colo_usd_per_yr"): (
        {"colo_usd_per_kw_month": "USD/kW/month", "it_w": "W"},
        "USD/yr",
    ),
    ("ownership", "power_usd_per_h"): ({"usd_per_kwh": "USD/kWh", "power_w": "W"}, "USD/h"),
    ("ownership", "spot_usd_per_h"): (
        {"usd_per_h": "USD/h", "interrupts_per_h": "1/h", "restart_h": "h", "lost_h": "h"},
        "USD/h",
    ),
    ("ownership", "wear_usd_per_h"): ({"capex_usd": "USD", "wear_frac": "1/yr"}, "USD/h"),
    ("ownership", "machines_per_replica"): ({"hours_per_day": "h/day", "churn_frac": ""}, ""),
    ("ownership", "with_fee"): ({"usd_per_h": "USD/h", "platform_fee_frac": ""}, "USD/h"),
    ("ownership", "annuity_usd_per_yr"): (
        {
            "capex_usd": "USD",
            "install_usd": "USD",
            "residual_usd": "USD",
            "discount_frac": "1/yr",
            "life_yr": "yr",
        },
        "USD/yr",
    ),
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
EXPONENTIAL = {
    "murphy_yield_frac",
    "poisson_yield_frac",
    "crf",
    "annuity_usd_per_yr",
    "decayed_frac",
    "real_frac",
}
# What pint multiplies and divides to check ours: the formula in words of units.
BY_HAND = {
    "usd_per_h": lambda usd_per_gpu_h, n_gpus: usd_per_gpu_h * n_gpus,
    "usd_per_mtok": lambda usd_per_h, tok_per_s: usd_per_h / tok_per_s,
    "usd_per_api_h": lambda in_tok_per_s, out_tok_per_s, usd_per_mtok_in, usd_per_mtok_out: (
        in_tok_per_s * usd_per_mtok_in + out_tok_per_s * usd_per_mtok_out
    ),
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
    "capped_w": lambda wanted_w, limit_w: min(wanted_w, limit_w),
    "duty_w": lambda busy_w, idle_w, busy_frac: idle_w + busy_frac * (busy_w - idle_w),
    "crf": lambda discount_frac, life_yr: _crf(discount_frac, life_yr),
    "real_frac": lambda nominal_frac, inflation_frac: (
        (nominal_frac - inflation_frac) / (1 + inflation_frac)
    ),
    "residual_usd": lambda capex_usd, residual_frac: capex_usd * residual_frac,
    "decayed_frac": lambda value_decay_frac, life_yr: (
        math.exp(_bare(life_yr) * math.log1p(-_bare(value_decay_frac))) * ureg.dimensionless
    ),
    "usd_per_used_h": lambda usd_per_yr, avail_frac, load_frac: usd_per_yr / avail_frac / load_frac,
    "colo_usd_per_yr": lambda colo_usd_per_kw_month, it_w: colo_usd_per_kw_month * it_w,
    "power_usd_per_h": lambda usd_per_kwh, power_w: usd_per_kwh * power_w,
    "spot_usd_per_h": lambda usd_per_h, interrupts_per_h, restart_h, lost_h: (
        usd_per_h / (1 - interrupts_per_h * restart_h - interrupts_per_h * lost_h)
    ),
    "wear_usd_per_h": lambda capex_usd, wear_frac: capex_usd * wear_frac,
    "machines_per_replica": lambda hours_per_day, churn_frac: (
        (1 + churn_frac) / hours_per_day.to("dimensionless")
    ),
    "with_fee": lambda usd_per_h, platform_fee_frac: usd_per_h / (1 - platform_fee_frac),
    "annuity_usd_per_yr": lambda capex_usd, install_usd, residual_usd, discount_frac, life_yr: (
        (
            capex_usd
            + install_usd
            - residual_usd * (1 + _bare(discount_frac * ureg.yr)) ** -life_yr.magnitude
        )
        * _crf(discount_frac, life_yr)
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
RANGES = {
    "life_yr": (0.5, 30.0),
    "interrupts_per_h": (0.001, 0.1),
    "restart_h": (0.01, 1.0),
    "lost_h": (0.01, 1.0),
    "hours_per_day": (1.0, 24.0),
}


def _bare(quantity):
    return quantity.to("dimensionless").magnitude


def _crf(discount_frac, life_yr):
    rate, years = _bare(discount_frac * ureg.yr), life_yr.magnitude
    return rate * (1 + rate) ** years / ((1 + rate) ** years - 1) / ureg.yr


def _draw(data, argument):
    if argument in SMALL:
        return data.draw(st.floats(min_value=0.01, max_value=100.0))
    if argument in RANGES:
        return data.draw(st.floats(*RANGES[argument]))
    return data.draw(fractions if argument.endswith("_frac") else numbers)


def _sensible(arguments):
    return {name: 0.5 if name.endswith("_frac") else 2.0 for name in arguments}


def _formula(module, name):
    return getattr(import_module(f"{formulas.__name__}.{module}"), name)


def test_every_formula_is_judged():
    for module in ("cost", "energy", "carbon", "embodied", "ownership"):
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
    if name == "real_frac":
        values["nominal_frac"] += values["inflation_frac"]
    quantities = {a: values[a] * ureg(arguments[a] or "dimensionless") for a in arguments}
    expected = BY_HAND[name](**quantities).to(unit).magnitude
    # Two ways to an exponential differ by a little more than rounding.
    rel_tol = 1e-9 if name in EXPONENTIAL else 1e-12
    assert math.isclose(_formula(module, name)(**values), expected, rel_tol=rel_tol)


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
