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


@pytest.mark.parametrize("on", ["usd_per_mtok_all", "site_j_per_tok_out", "gco2e_per_mtok_all"])
@pytest.mark.parametrize("fields", [{}, {"acquisition": "own", "price_as_of": "2025-09"}])
def test_a_draw_is_what_evaluate_says_of_the_scenario_that_was_drawn(one, on, fields):
    ranges = {"pue": hc.Range(1.0, 1.2, 1.6), "load_frac": hc.Range(0.2, 0.5, 0.9)}
    ranges |= {"life_yr": hc.Range(2, 4, 7), "usd_per_kwh": hc.Range(0.1, 0.2, 0.5)}
    low, high = (
        hc.evaluate(one, hc.Scenario(**fields, **{k: r[end] for k, r in ranges.items()}))[on]
        for end in (0, 2)
    )
    spans = hc.tornado(one, PAIR, hc.Scenario(**fields, **ranges), on=on, **SURE)
    for _, factor in spans.iterrows():
        name = factor["factor"]
        for end in ("low", "high"):
            fixed = {k: r.mode for k, r in ranges.items()} | {name: factor[end]}
            there = hc.evaluate(one.query(PAIR), hc.Scenario(**fields, **fixed))[on].item()
            assert factor[f"at_{end}"] == pytest.approx(there, rel=1e-9)
    assert low.notna().all()
    assert high.notna().all()


def test_a_fact_of_two_rows_is_one_draw(one):
    draws = hc.monte_carlo(one, on="gco2e_per_mtok_out", n=256)
    labels = draws.factors["factor"]
    assert not labels.duplicated().any()
    assert "life_yr of home" in set(labels)
    grid = hc.monte_carlo(
        one, hc.Scenario(gco2e_per_kwh=hc.Range(50, 200, 700)), n=256, on="op_gco2e_per_mtok_out"
    )
    sure = hc.monte_carlo(
        one,
        hc.Scenario(gco2e_per_kwh=hc.Range(50, 200, 700)),
        n=256,
        on="op_gco2e_per_mtok_out",
        **SURE,
    )
    values = sure.values["op_gco2e_per_mtok_out"]
    assert np.corrcoef(values).min() == pytest.approx(1.0), "one grid for all rows"
    assert grid.values["op_gco2e_per_mtok_out"].shape == values.shape


def test_the_bounds_of_power_are_drawn_between(one):
    draws = hc.monte_carlo(one, on="gpu_j_per_tok_out", n=2**10)
    evaluated = hc.evaluate(one)
    rate = evaluated["out_tok_per_s"].to_numpy()[:, None]
    watts = draws.values["gpu_j_per_tok_out"] * rate
    low, high = (evaluated[f"gpu_w_load_{end}"].to_numpy()[:, None] for end in ("lo", "hi"))
    assert (watts >= low * (1 - 1e-12)).all()
    assert (watts <= high * (1 + 1e-12)).all()
    assert set(draws.factors["factor"]) == {f"board power of {gpu}" for gpu in (RTX, H100)}


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
    assert row["ratio_q05"] < row["ratio_q50"] < row["ratio_q95"]
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
    found = hc.sobol(one, PAIR, scenario, on="gco2e_per_mtok_out", **SURE)
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
        ({"on": "usd"}, UnknownNameError, "on.*'usd_per_h'"),
        ({"choices": {"grid_zone": ["SE"]}}, AssumptionError, "needs two options"),
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


@pytest.mark.parametrize("ends", [(2, 1, 3), (1, 4, 3), (float("nan"), 1, 2)])
def test_a_range_is_in_order(ends):
    with pytest.raises(AssumptionError, match="low <= mode <= high does not hold"):
        hc.Range(*ends)


def test_a_range_outside_what_a_field_can_hold_is_refused():
    with pytest.raises(AssumptionError, match="load_frac=0: valid values"):
        hc.Scenario(load_frac=hc.Range(0, 0.5, 1))
    assert hc.Scenario(pue=hc.Range(1, 1.2, 1.5)).of("pue", RTX) == 1.2
