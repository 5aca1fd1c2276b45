"""Draws against what is known of them analytically, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B

import hetcost as hc
from hetcost.errors import AssumptionError, UnknownNameError
from hetcost.uncertainty import indices
from hetcost.uncertainty.factors import triangular

RTX, H100 = "RTX 4090", "H100 PCIe 80GB"
PAIR, ONE = f"gpu == '{RTX}' and n_gpus == 2", f"gpu == '{H100}' and n_gpus == 1"
# Nothing but what is stated here is uncertain.
SURE = {"facts": False}


@pytest.fixture(scope="module")
def one(runs):
    return hc.highest_measured(runs[runs["model"] == MODEL_14B]).reset_index(drop=True)


def _variance(low, mode, high):
    squares = low**2 + mode**2 + high**2
    return (squares - low * mode - low * high - mode * high) / 18


def test_a_triangular_quantile_has_the_mean_and_variance_it_should():
    u = (np.arange(200_000) + 0.5) / 200_000
    drawn = triangular(u, 1.0, 2.0, 5.0)
    assert drawn.mean() == pytest.approx(8 / 3, rel=1e-6)
    assert drawn.var() == pytest.approx(_variance(1, 2, 5), rel=1e-5)
    assert (triangular(u, 3.0, 3.0, 3.0) == 3).all()


def test_a_linear_model_has_its_analytic_variance(one):
    scenario = hc.Scenario(
        gco2e_per_kwh=hc.Range(100, 250, 400), embodied_kgco2e={RTX: hc.Range(30, 60, 120)}
    )
    pair = one.query(PAIR)
    draws = hc.monte_carlo(pair, scenario, on="gco2e_per_mtok_out", n=2**13, **SURE)
    row = hc.evaluate(pair, scenario).iloc[0]
    per_gram = row["op_gco2e_per_mtok_out"] / 250
    card_kg = 2 * 60
    per_kg = row["emb_gco2e_per_mtok_out"] / row["emb_kgco2e"] * 2
    variance = per_gram**2 * _variance(100, 250, 400) + per_kg**2 * _variance(30, 60, 120)
    values = draws.values["gco2e_per_mtok_out"][0]
    assert values.var() == pytest.approx(variance, rel=1e-3)
    host = row["emb_gco2e_per_mtok_out"] * (1 - card_kg / row["emb_kgco2e"])
    mean = per_gram * 250 + per_kg * 70 + host
    told = draws.quantiles().iloc[0]
    assert told["mean"] == pytest.approx(mean, rel=1e-4)
    assert abs(told["mean"] - mean) < 5 * told["mean_se"] + 1e-9
    assert set(draws.factors["factor"]) == {"gco2e_per_kwh", f"embodied_kgco2e of {RTX}"}


def test_without_ranges_every_draw_is_the_result(one):
    draws = hc.monte_carlo(one, n=64, **SURE)
    evaluated = hc.evaluate(one)
    for on, values in draws.values.items():
        np.testing.assert_allclose(values, evaluated[[on]].to_numpy() * np.ones(64), rtol=1e-12)
    assert draws.factors.empty


CONSEQUENTIAL = {"perspective": "consequential"}
SUNK = CONSEQUENTIAL | {"embodied_share_frac": "sunk", "induced_frac": 0.2}
OWN = {"acquisition": "own", "price_as_of": "2025-09"}
# A range of every numeric field, and the assumptions under which it decides on something.
FIELDS = {
    "usd_per_gpu_h": ({RTX: (0.2, 0.3, 0.5)}, "usd_per_mtok_out", {}),
    "tdp_w": ({RTX: (100, 150, 200)}, "site_j_per_tok_out", {}),
    "idle_w": ({RTX: (20, 40, 60)}, "site_j_per_tok_out", {"load_frac": 0.5}),
    "host_w_load_per_gpu": ((20, 40, 90), "site_j_per_tok_out", {}),
    "host_w_idle_per_gpu": ((5, 20, 50), "site_j_per_tok_out", {"load_frac": 0.5}),
    "psu_efficiency_frac": ((0.8, 0.9, 0.95), "it_j_per_tok_out", {"load_frac": 0.5}),
    "pue": ((1, 1.2, 1.6), "site_j_per_tok_all", {}),
    "load_frac": ((0.2, 0.5, 0.9), "gco2e_per_mtok_out", {}),
    "gco2e_per_kwh": ((10, 100, 700), "gco2e_per_mtok_out", {}),
    "marginal_gco2e_per_kwh": ((10, 100, 700), "op_gco2e_per_mtok_out", CONSEQUENTIAL),
    "embodied_kgco2e": ({RTX: (30, 60, 120)}, "emb_gco2e_per_mtok_out", {}),
    "host_kgco2e_per_gpu": ((50, 150, 400), "emb_gco2e_per_mtok_out", {}),
    "life_yr": ((2, 4, 7), "usd_per_mtok_out", OWN | {"value_decay_frac": 0.3}),
    "assigned_frac": ((0.2, 0.5, 1), "emb_gco2e_per_mtok_out", {}),
    "embodied_share_frac": ((0.2, 0.5, 1), "emb_gco2e_per_mtok_out", {}),
    "induced_frac": ((0.05, 0.2, 0.5), "emb_gco2e_per_mtok_out", SUNK),
    "interrupts_per_h": ((0.01, 0.1, 0.5), "usd_per_h", {"acquisition": "spot"}),
    "restart_h": ((0.05, 0.1, 0.5), "usd_per_h", {"acquisition": "spot"}),
    "lost_h": ((0.05, 0.1, 0.5), "usd_per_h", {"acquisition": "spot"}),
    "capex_usd": ({RTX: (1500, 2000, 3500)}, "usd_per_h", OWN),
    "host_capex_usd_per_gpu": ((300, 600, 1200), "usd_per_h", OWN),
    "install_frac": ((0, 0.05, 0.1), "usd_per_h", OWN),
    "residual_frac": ((0.1, 0.3, 0.5), "usd_per_h", OWN),
    "value_decay_frac": ((0.1, 0.3, 0.5), "usd_per_h", OWN),
    "discount_frac": (
        (0.04, 0.08, 0.12),
        "usd_per_h",
        OWN | {"discount_basis": "nominal", "inflation_frac": 0.02},
    ),
    "inflation_frac": (
        (0.0, 0.02, 0.04),
        "usd_per_h",
        OWN | {"discount_basis": "nominal", "discount_frac": 0.1},
    ),
    "upkeep_frac": ((0, 0.05, 0.1), "usd_per_h", OWN),
    "failure_frac": ((0, 0.05, 0.1), "usd_per_h", OWN),
    "spares_frac": ((0, 0.02, 0.1), "usd_per_h", OWN),
    "colo_usd_per_kw_month": ((50, 150, 250), "usd_per_h", OWN),
    "usd_per_kwh": ((0.05, 0.2, 0.5), "usd_per_mtok_out", OWN),
    "avail_frac": ((0.8, 0.95, 1), "usd_per_h", OWN),
    "platform_fee_frac": ((0, 0.1, 0.3), "usd_per_h", OWN),
    "wear_frac": ((0.05, 0.1, 0.3), "usd_per_h", {"acquisition": "idle"}),
    "churn_frac": ((0, 0.2, 0.5), "usd_per_h", {"acquisition": "idle"}),
}
WITHOUT_RESULT = {"hours_per_day", "market_gco2e_per_kwh", "td_loss_frac"}


def _range(ends):
    if isinstance(ends, dict):
        return {card: hc.Range(*each) for card, each in ends.items()}
    return hc.Range(*ends)


def _end(ends, place):
    return {c: e[place] for c, e in ends.items()} if isinstance(ends, dict) else ends[place]


def test_every_numeric_field_is_tried():
    from hetcost.scenario.checks import NUMBERS

    assert set(FIELDS) | WITHOUT_RESULT == {*NUMBERS, "embodied_share_frac"}


@pytest.mark.parametrize("field", FIELDS)
def test_a_draw_is_what_evaluate_says_of_the_scenario_that_was_drawn(one, field):
    ends, on, fields = FIELDS[field]
    base = {name: value for name, value in fields.items() if name != field}
    scenario = hc.Scenario(**base, **{field: _range(ends)})
    spans = hc.tornado(one, PAIR, scenario=scenario, on=on, **SURE)
    assert len(spans) == 1, "it is drawn, and nothing else is"
    row = spans.iloc[0]
    assert row["kind"] == "range"
    for place, end in enumerate(("low", "mode", "high")):
        there = hc.Scenario(**base, **{field: _end(ends, place)})
        said = hc.evaluate(one.query(PAIR), there)[on].item()
        assert row[f"at_{end}"] == pytest.approx(said, rel=1e-9)


@pytest.mark.parametrize(
    ("fields", "ranges"),
    [
        ({}, {"usd_per_kwh": (0.1, 0.2, 0.3)}),
        ({"power_model": "measured"}, {"tdp_w": {RTX: (100, 150, 200)}}),
        ({"embodied_boundary": "gate"}, {"host_kgco2e_per_gpu": (50, 150, 400)}),
        (
            CONSEQUENTIAL | {"marginal_gco2e_per_kwh": 400},
            {"gco2e_per_kwh": (10, 100, 700)},
        ),
    ],
)
def test_a_range_that_decides_nothing_is_told(one, fields, ranges):
    rows = one.assign(gpu_power_w=400.0)
    scenario = hc.Scenario(**fields, **{name: _range(ends) for name, ends in ranges.items()})
    with pytest.warns(hc.DataWarning, match=f"decides nothing here: '{next(iter(ranges))}"):
        draws = hc.monte_carlo(rows, scenario, on="gco2e_per_mtok_out", n=64, **SURE)
    assert draws.factors.empty


def test_what_matters_only_beside_another_is_drawn(one):
    load = {"load_frac": hc.Range(0.2, 1, 1), "idle_w": {RTX: hc.Range(10, 20, 60)}}
    spot = {"interrupts_per_h": hc.Range(0, 0, 0.2), "lost_h": hc.Range(0, 0.5, 2)}
    for fields, on in ((load, "site_j_per_tok_out"), (spot | {"acquisition": "spot"}, "usd_per_h")):
        draws = hc.monte_carlo(one, hc.Scenario(**fields), on=on, n=64, **SURE)
        assert len(draws.factors) == 2, fields


def test_a_fact_of_none_with_a_bound_is_drawn(one):
    factors = hc.monte_carlo(one, hc.Scenario(acquisition="own"), on="usd_per_h", n=64).factors
    spares = factors[factors["factor"] == "spares_frac of home"].iloc[0]
    assert (spares["low"], spares["mode"], spares["high"]) == (0, 0, 0.05)


def test_a_limit_that_is_not_known_leaves_power_by_load_unknown(one):
    scenario = hc.Scenario(tdp_w={RTX: hc.Range(280, 300, 450)})
    draws = hc.monte_carlo(one.query(PAIR), scenario, on="gpu_j_per_tok_out", n=256)
    assert set(draws.factors["factor"]) == {f"tdp_w of {RTX}", f"board power of {RTX}"}
    rate = one.query(PAIR)["out_tok_per_s"].item()
    assert draws.values["gpu_j_per_tok_out"].max() * rate / 2 <= 450


def test_what_is_not_known_in_some_draws_is_told(one):
    choices = {"embodied_method": ["inventory", "none"]}
    draws = hc.monte_carlo(one, on="emb_gco2e_per_mtok_out", n=64, choices=choices, **SURE)
    assert draws.quantiles()["mean"].isna().all()
    assert set(draws.rows["note"]) == {"emb_gco2e_per_mtok_out is not known in 50% of the draws"}
    told = draws.beats(PAIR, ONE, on="emb_gco2e_per_mtok_out").iloc[0]
    assert np.isnan(told["p_a_beats_b"])
    assert "a: emb_gco2e_per_mtok_out is not known in 50% of the draws" in told["note"]


def test_a_single_factor_bears_all_the_variance(one):
    scenario = hc.Scenario(pue={RTX: hc.Range(1, 1.1, 1.3)})
    found = hc.sobol(one, PAIR, scenario=scenario, on="site_j_per_tok_out", n=256, **SURE)
    assert found["first_order"].tolist() == pytest.approx([1], abs=0.02)


def test_what_is_compared_are_two_rows(one):
    for a, b in ((PAIR, PAIR), (None, ONE), ("", ONE)):
        with pytest.raises(AssumptionError, match=r"same row|a query of columns"):
            hc.tornado(one, a, b, on="site_j_per_tok_out")


def test_repeats_of_unknown_seeds_are_told(one):
    rows = pd.concat([one.query(PAIR)] * 2).assign(prompt_seed=np.nan)
    assert "not known" in hc.repeat_noise(rows, "out_tok_per_s")["shows"].item()
    for by in ([], None):
        with pytest.raises(AssumptionError, match="by="):
            hc.repeat_noise(rows, "out_tok_per_s", by=by)


def test_a_shared_card_is_charged_its_time_share_whatever_it_is(one):
    scenario = hc.Scenario(embodied_share_frac="shared", assigned_frac=hc.Range(0.1, 0.3, 0.9))
    with pytest.warns(hc.DataWarning, match="decides nothing here: 'assigned_frac'"):
        draws = hc.monte_carlo(one, scenario, on="emb_gco2e_per_mtok_out", n=64, **SURE)
    assert draws.factors.empty, "it cancels"
    values = draws.values["emb_gco2e_per_mtok_out"]
    expected = hc.evaluate(one, scenario)[["emb_gco2e_per_mtok_out"]].to_numpy()
    np.testing.assert_allclose(values, expected * np.ones(64), rtol=1e-12)


WAYS = ("rent", "spot", "own", "idle")
RUNGS = ("measured", "load", "nameplate", "all_in")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("baseline", ["off", "idle", "in_use"])
def test_what_is_solved_is_what_is_evaluated(one, way, rung, baseline):
    from hetcost.impacts import OUTCOMES, Solved

    scenario = hc.Scenario(
        acquisition=way, power_model=rung, idle_baseline=baseline, price_as_of="2025-09", **SUNK
    )
    rows = one.assign(gpu_power_w=one["n_gpus"].astype(float) * 300)
    evaluated, solved = hc.evaluate(rows, scenario), Solved(rows, scenario, "test")
    for on in OUTCOMES:
        np.testing.assert_allclose(solved.values(on, {})[:, 0], evaluated[on], rtol=1e-12)


def test_draws_are_refused_where_evaluate_refuses(one):
    odd = hc.Scenario(
        perspective="consequential",
        idle_baseline="idle",
        embodied_share_frac={RTX: "sunk"},
        induced_frac={RTX: 0.1},
    )
    for verb in (hc.evaluate, hc.monte_carlo):
        with pytest.raises(AssumptionError, match="a new H100 PCIe 80GB"):
            verb(one, odd)


def test_a_fact_of_two_rows_is_one_draw(one):
    draws = hc.monte_carlo(one, on="gco2e_per_mtok_out", n=256)
    labels = draws.factors["factor"]
    assert not labels.duplicated().any()
    assert "life_yr of home" in set(labels)
    sure = hc.monte_carlo(
        one,
        hc.Scenario(gco2e_per_kwh=hc.Range(50, 200, 700)),
        n=256,
        on="op_gco2e_per_mtok_out",
        **SURE,
    )
    values = sure.values["op_gco2e_per_mtok_out"]
    assert np.corrcoef(values).min() == pytest.approx(1.0), "one grid for all rows"


def test_the_bounds_of_power_are_drawn_between(one):
    draws = hc.monte_carlo(one, on="gpu_j_per_tok_out", n=2**10)
    evaluated = hc.evaluate(one)
    rate = evaluated["out_tok_per_s"].to_numpy()[:, None]
    watts = draws.values["gpu_j_per_tok_out"] * rate
    low, high = (evaluated[f"gpu_w_load_{end}"].to_numpy()[:, None] for end in ("lo", "hi"))
    assert (watts >= low * (1 - 1e-12)).all()
    assert (watts <= high * (1 + 1e-12)).all()
    assert set(draws.factors["factor"]) == {f"board power of {gpu}" for gpu in (RTX, H100)}


def test_quantiles_are_named_by_percentile_and_a_missing_result_has_its_reason(one):
    rows = pd.concat([one, one.head(1).assign(gpu=None)], ignore_index=True)
    draws = hc.monte_carlo(rows, n=64)
    told = draws.quantiles((0.025, 0.5, 0.975))
    assert {"p2_5", "p50", "p97_5"} <= set(told)
    known = told.dropna(subset=["mean"])
    assert (known["p2_5"] <= known["p97_5"]).all()
    assert known["note"].eq("").all()
    missing = told[told["mean"].isna()]
    assert missing["note"].str.contains("the run names no GPU").all()
    with pytest.raises(AssumptionError, match="q=5: levels lie between 0 and 1"):
        draws.quantiles((5,))


def test_what_a_choice_decides_on_is_drawn_by_the_choice(one):
    choices = {"power_model": ["load", "nameplate"]}
    draws = hc.monte_carlo(one, n=512, choices=choices, on="gpu_j_per_tok_out")
    rate = one["out_tok_per_s"].to_numpy()[:, None]
    watts = draws.values["gpu_j_per_tok_out"] * rate
    nameplate = hc.evaluate(one, hc.Scenario(power_model="nameplate"))["gpu_w_load"].to_numpy()
    share = np.isclose(watts, nameplate[:, None]).mean(axis=1)
    assert (share >= 0.45).all()
    with pytest.raises(AssumptionError, match="what has a range as well, 'gco2e_per_kwh'"):
        hc.monte_carlo(
            one,
            hc.Scenario(gco2e_per_kwh=hc.Range(1, 2, 3)),
            choices={"grid_zone": ["SE", "FR"]},
        )


def test_like_seeds_give_like_draws_and_others_differ(one):
    first, again, other = (hc.monte_carlo(one, n=64, seed=seed) for seed in (1, 1, 2))
    for on in first.values:
        np.testing.assert_array_equal(first.values[on], again.values[on])
    on = "gco2e_per_mtok_out"
    assert not np.array_equal(first.values[on], other.values[on])


def test_choices_are_each_as_likely(one):
    choices = {"grid_zone": ["SE", "PL"], "embodied_method": ["inventory", "act"]}
    draws = hc.monte_carlo(one, n=2**10, choices=choices, on="gco2e_per_mtok_out", **SURE)
    assert list(draws.factors["factor"]) == ["grid_zone", "embodied_method"]
    found = np.unique(draws.values["gco2e_per_mtok_out"][0].round(9))
    by_hand = {
        round(hc.evaluate(one, hc.Scenario(grid_zone=z, embodied_method=m)).iloc[0][on], 9)
        for z in choices["grid_zone"]
        for m in choices["embodied_method"]
        for on in ["gco2e_per_mtok_out"]
    }
    np.testing.assert_allclose(sorted(found), sorted(by_hand))


def test_who_beats_whom_on_common_draws(one):
    scenario = hc.Scenario(usd_per_gpu_h={RTX: hc.Range(0.2, 0.5, 0.8)})
    draws = hc.monte_carlo(one, scenario, n=2**13, on="usd_per_mtok_out", **SURE)
    row = draws.beats(PAIR, ONE, on="usd_per_mtok_out").iloc[0]
    tie = hc.breakeven(one, PAIR, ONE, vary="price_ratio", on="usd_per_mtok_out")
    price = tie["crossing"].item() * 2.0
    below = 1 - (0.8 - price) ** 2 / (0.6 * 0.3) if price > 0.5 else (price - 0.2) ** 2 / 0.18
    assert row["p_a_beats_b"] == pytest.approx(below, abs=5e-3)
    assert 0 <= row["p_se"] < 0.01
    assert row["ratio_p5"] < row["ratio_p50"] < row["ratio_p95"]
    same = hc.monte_carlo(one, n=64, on="usd_per_mtok_out", **SURE)
    assert same.beats(PAIR, ONE, on="usd_per_mtok_out")["p_a_beats_b"].item() == 1
    with pytest.raises(UnknownNameError, match=r"on.*'usd_per_mtok_out'"):
        draws.beats(PAIR, ONE, on="gco2e_per_mtok_out")


def test_sobol_indices_of_the_ishigami_function():
    def ishigami(u):
        x = -np.pi + 2 * np.pi * u
        return np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0])

    found = indices(ishigami, 3, n=2**13)
    first, total = [0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437]
    np.testing.assert_allclose(found["first_order"], first, atol=0.01)
    np.testing.assert_allclose(found["total_order"], total, atol=0.01)


def test_sobol_of_a_result_names_what_matters(one):
    scenario = hc.Scenario(gco2e_per_kwh=hc.Range(20, 200, 800), pue=hc.Range(1.0, 1.05, 1.1))
    found = hc.sobol(one, PAIR, scenario=scenario, on="gco2e_per_mtok_out", **SURE)
    assert found["factor"].tolist() == ["gco2e_per_kwh", "pue"]
    assert found["total_order"].sum() == pytest.approx(1, abs=0.05)
    with pytest.raises(AssumptionError, match="nothing that the result rests on is uncertain"):
        hc.sobol(one, PAIR, on="usd_per_mtok_out", **SURE)


def test_the_noise_of_repeats_says_what_it_is(runs):
    noise = hc.repeat_noise(runs, "out_tok_per_s")
    assert (noise["repeats"] >= 2).all()
    assert noise["shows"].str.contains("same seed and prompts").all()
    assert (noise["relative_sd"] < 0.2).all()
    mixed = pd.concat([runs.head(1), runs.head(1).assign(prompt_seed=7)])
    assert "of the prompts" in hc.repeat_noise(mixed, "out_tok_per_s")["shows"].item()


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"n": 100}, AssumptionError, "n=100: a power of two from 64"),
        ({"n": 32}, AssumptionError, "n=32"),
        ({"n": 64.0}, AssumptionError, "n=64.0"),
        ({"n": "64"}, AssumptionError, "n='64'"),
        ({"on": "usd"}, UnknownNameError, "on.*'usd_per_h'"),
        ({"on": []}, AssumptionError, "at least one result"),
        ({"n": 2**40}, AssumptionError, "a power of two from 64 to"),
        ({"seed": -1}, AssumptionError, "seed=-1: a whole number"),
        ({"choices": [1]}, AssumptionError, "options by field of the scenario"),
        (
            {"choices": {"acquisition": ["rent", "own"]}},
            AssumptionError,
            "acquisition decides how results are computed",
        ),
        ({"choices": {"grid_zone": ["SE"]}}, AssumptionError, "a list of two options"),
        ({"choices": {"grid_zone": ["SE", "Germny"]}}, UnknownNameError, "'Germany'"),
        ({"choices": {"act_yield": ["murphy", "poisson"]}}, AssumptionError, "changes nothing"),
        (
            {"choices": {"grid_zone": ["SE", "FR"], "td_loss_frac": [0.0, 0.1]}},
            AssumptionError,
            "several of them decide on 'gco2e_per_kwh'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(one, options, kind, told):
    with pytest.raises(kind, match=f"(?s){told}"):
        hc.monte_carlo(one, **options)


@pytest.mark.parametrize(
    "ends",
    [
        (2, 1, 3),
        (1, 4, 3),
        (float("nan"), 1, 2),
        (0, 1, float("inf")),
        ("1", "10", "2"),
        ("a", 1, 2),
        (None, 1, 2),
    ],
)
def test_a_range_is_in_order(ends):
    with pytest.raises(AssumptionError, match="three numbers in rising order"):
        hc.Range(*ends)


def test_a_range_outside_what_a_field_can_hold_is_refused():
    with pytest.raises(AssumptionError, match="load_frac=0: valid values"):
        hc.Scenario(load_frac=hc.Range(0, 0.5, 1))
    assert hc.Scenario(pue=hc.Range(1, 1.2, 1.5)).of("pue", RTX) == 1.2
