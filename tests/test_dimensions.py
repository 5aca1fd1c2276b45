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
for unit in ("USD = [currency]", "tok = [token]", "Mtok = 1e6 tok", "gCO2e = [emission]"):
    ureg.define(unit)

# formula: ({argument: unit}, unit of the result)
FORMULAS = {
    ("cost", "usd_per_h"): ({"usd_per_gpu_h": "USD/h", "n_gpus": ""}, "USD/h"),
    ("cost", "usd_per_mtok"): ({"usd_per_h": "USD/h", "tok_per_s": "tok/s"}, "USD/Mtok"),
    ("cost", "mtok_per_h"): ({"tok_per_s": "tok/s"}, "Mtok/h"),
    ("cost", "usd_per_run"): ({"usd_per_h": "USD/h", "duration_s": "s"}, "USD"),
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
}
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
}
numbers = st.floats(min_value=1.0, max_value=1e6, allow_nan=False)


def _formula(module, name):
    return getattr(import_module(f"{formulas.__name__}.{module}"), name)


def test_every_formula_is_judged():
    for module in ("cost", "energy", "carbon"):
        found = import_module(f"hetcost.formulas.{module}")
        public = {
            name
            for name, value in inspect.getmembers(found, inspect.isfunction)
            if value.__module__ == found.__name__ and not name.startswith("_")
        }
        assert public == {name for where, name in FORMULAS if where == module}


@pytest.mark.parametrize(("module", "name"), list(FORMULAS))
@given(data=st.data())
def test_units(module, name, data):
    arguments, unit = FORMULAS[module, name]
    values = {argument: data.draw(numbers) for argument in arguments}
    quantities = {a: values[a] * ureg(arguments[a] or "dimensionless") for a in arguments}
    expected = BY_HAND[name](**quantities).to(unit).magnitude
    assert math.isclose(_formula(module, name)(**values), expected, rel_tol=1e-12)


@pytest.mark.parametrize(("module", "name"), list(FORMULAS))
def test_nonsense_is_refused_by_name(module, name):
    arguments, _ = FORMULAS[module, name]
    for wrong in arguments:
        values = dict.fromkeys(arguments, 2.0) | {wrong: -1.0}
        with pytest.raises(AssumptionError, match=rf"{wrong}=-1: valid values are"):
            _formula(module, name)(**values)


@pytest.mark.parametrize(
    ("module", "name", "argument"),
    [("cost", "usd_per_mtok", "tok_per_s"), ("energy", "j_per_tok", "tok_per_s")],
)
def test_a_rate_of_zero_is_no_division(module, name, argument):
    arguments, _ = FORMULAS[module, name]
    with pytest.raises(AssumptionError, match="above 0"):
        _formula(module, name)(**(dict.fromkeys(arguments, 2.0) | {argument: 0.0}))
