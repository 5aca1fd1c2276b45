"""Perspectives, grids, embodied carbon by method and boundary, and SCI."""

import math

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost import published, reference
from hetcost.errors import AssumptionError, ColumnError, UnknownNameError
from hetcost.formulas.embodied import act_embodied, act_memory, murphy_yield_frac
from hetcost.impacts.embodied import METHODS

H100, SXM, RTX = "H100 PCIe 80GB", "H100 SXM 80GB", "RTX 4090"
SUNK = {"perspective": "consequential", "embodied_share_frac": "sunk"}


def _row(gpu=RTX, n_gpus=1, **changes):
    rates = {"out_tok_per_s": 600.0, "all_tok_per_s": 1200.0, "mean_concurrency": 8.0}
    return pd.DataFrame([{"gpu": gpu, "n_gpus": n_gpus, **rates, **changes}])


def _one(rows=None, **fields):
    return hc.evaluate(_row() if rows is None else rows, hc.Scenario(**fields)).iloc[0]


# --- identities, in every row -------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("boundary", ["gate", "end_of_life", "host"])
def test_the_whole_is_operational_and_embodied(runs, method, boundary):
    out = hc.evaluate(runs, hc.Scenario(embodied_method=method, embodied_boundary=boundary))
    for basis in ("out", "all"):
        op, emb, both = (out[f"{s}gco2e_per_mtok_{basis}"] for s in ("op_", "emb_", ""))
        np.testing.assert_allclose(both, op + emb, rtol=1e-12)
        assert (op > 0).all()
        assert (emb > 0).all()
    assert out["carbon_note"].eq("").all()
    assert set(out["emb_boundary"]) == {boundary}


@pytest.mark.parametrize("fields", [{}, {"load_frac": 0.3, "assigned_frac": 0.5, "life_yr": 2.5}])
def test_the_tokens_of_a_life_bear_all_of_its_embodied_carbon(runs, fields):
    out = hc.evaluate(runs, hc.Scenario(**fields))
    life = fields.get("life_yr", out["site"].map({"datacentre": 6, "home": 4}))
    loaded_s = life * 8760 * 3600 * fields.get("assigned_frac", 1) * fields.get("load_frac", 1)
    mtok = out["out_tok_per_s"] * loaded_s / 1e6
    np.testing.assert_allclose(
        out["emb_gco2e_per_mtok_out"] * mtok, out["emb_kgco2e"] * 1000, rtol=1e-12
    )


def test_a_double_life_halves_embodied_and_leaves_operational(runs):
    three, six = (hc.evaluate(runs, hc.Scenario(life_yr=years)) for years in (3, 6))
    ratio = three["emb_gco2e_per_mtok_all"] / six["emb_gco2e_per_mtok_all"]
    np.testing.assert_allclose(ratio, 2, rtol=1e-12)
    pd.testing.assert_series_equal(three["op_gco2e_per_mtok_all"], six["op_gco2e_per_mtok_all"])


def test_a_grid_without_carbon_leaves_embodied_alone(runs):
    out = hc.evaluate(runs, hc.Scenario(gco2e_per_kwh=0))
    assert (out["op_gco2e_per_mtok_out"] == 0).all()
    pd.testing.assert_series_equal(
        out["gco2e_per_mtok_out"], out["emb_gco2e_per_mtok_out"], check_names=False
    )


# --- grid ---------------------------------------------------------------------------------------


def test_losses_on_the_way_are_added_to_generation_alone():
    loss = reference.td_loss_fact("EU27")["value"]
    out = _one()
    assert out["gco2e_per_kwh"] == pytest.approx(242 / (1 - loss))
    assert "T&D loss" in out["grid_basis"]
    assert _one(td_loss_frac=0)["gco2e_per_kwh"] == 242
    assert _one(td_loss_frac=0.2)["gco2e_per_kwh"] == pytest.approx(242 / 0.8)
    consumed = reference.grids().query("consumed").iloc[0]
    out = _one(grid_zone=consumed["zone"], grid_year=int(consumed["year"]))
    assert out["gco2e_per_kwh"] == consumed["gco2e_per_kwh"]
    assert "as consumed" in out["grid_basis"]
    assert _one(gco2e_per_kwh=100)["gco2e_per_kwh"] == 100
    for own in (
        {"gco2e_per_kwh": 100},
        {"perspective": "consequential"} | {"marginal_gco2e_per_kwh": 1},
    ):
        with pytest.raises(AssumptionError, match="an own intensity is at the socket"):
            hc.Scenario(td_loss_frac=0.5, **own)
    assert hc.Scenario.paper().but(gco2e_per_kwh=5).td_loss_frac is None


def test_life_cycle_and_direct_factors_are_never_mixed():
    kept = reference.grids(method="direct")
    assert set(kept["method"]) == {"direct"}
    direct = _one(grid_zone="US", grid_method="direct", td_loss_frac=0)
    assert direct["gco2e_per_kwh"] == kept.set_index(["zone", "year"])["gco2e_per_kwh"]["US", 2023]
    assert "direct" in direct["grid_basis"]
    with pytest.raises(AssumptionError, match="no direct carbon intensity of BR"):
        hc.Scenario(grid_zone="BR", grid_method="direct")
    both = pd.concat(
        hc.evaluate(_row(req_per_s=2.0), hc.Scenario(grid_zone="US", grid_method=method))
        for method in ("lifecycle", "direct")
    )
    with pytest.raises(
        ColumnError, match=r"sci: rows of grid_method 'direct', 'lifecycle' are mixed.*\.query"
    ):
        hc.sci(both)
    with pytest.raises(ColumnError, match="are mixed"):
        published.at_equal_load(
            both.assign(request_rate_per_s=1.0), "gco2e_per_mtok_out", (RTX, 1), (H100, 1)
        )
    with pytest.raises(UnknownNameError, match="method"):
        reference.grids(method="marginal")


def test_market_based_stands_beside_location_based():
    plain, bought = _one(), _one(market_gco2e_per_kwh=10)
    assert "market_op_gco2e_per_mtok_out" not in plain
    assert bought["op_gco2e_per_mtok_out"] == plain["op_gco2e_per_mtok_out"]
    assert bought["gco2e_per_mtok_out"] == plain["gco2e_per_mtok_out"]
    share = bought["market_op_gco2e_per_mtok_out"] / bought["op_gco2e_per_mtok_out"]
    assert share == pytest.approx(10 / plain["gco2e_per_kwh"])


def test_a_profile_of_the_day_has_a_mean_of_one():
    for zone in reference.facts("grid_profiles")["entity"].unique():
        profile = reference.grid_profile(zone)
        assert profile["hour_utc"].tolist() == list(range(24))
        assert profile["relative"].mean() == pytest.approx(1, abs=1e-4)
    with pytest.raises(UnknownNameError, match=r"zone.*'DE'"):
        reference.grid_profile("SE")


# --- perspectives -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"embodied_share_frac": "sunk"}, "embodied_share_frac=0.*attributional.*'shared'"),
        ({"embodied_share_frac": {RTX: 0}}, "embodied_share_frac.*attributional"),
        ({"idle_baseline": "idle"}, "idle_baseline='idle'.*attributional.*'off'"),
        ({"marginal_gco2e_per_kwh": 400}, "marginal_gco2e_per_kwh=400.*average grid"),
        ({"induced_frac": 0.1}, "induced_frac=0.1.*attributional"),
        (SUNK, "induced_frac: a sunk card is not free"),
        (
            SUNK | {"induced_frac": {H100: 0.1}, "embodied_share_frac": {RTX: 0}},
            "sunk cards are 'RTX 4090'; see 'H100",
        ),
        ({"perspective": "consequential", "induced_frac": 0.1}, "belongs to a 'sunk' card"),
        ({"perspective": "consequential", "embodied_share_frac": 0.5}, "'new'.*'sunk'"),
        ({"perspective": "consequential", "embodied_share_frac": "shared"}, "'new'.*'sunk'"),
        (SUNK | {"induced_frac": {RTX: 0.1}}, "every card is 'sunk'.*one number"),
        (
            {"perspective": "consequential", "embodied_share_frac": {RTX: 0, H100: 1}}
            | {"induced_frac": {RTX: 0.1, H100: 0.5}},
            "the sunk cards are 'RTX 4090'; see 'H100 PCIe 80GB'",
        ),
        ({"perspective": "consequential", "idle_baseline": "idle"}, "bought.*'off', or 'sunk'"),
        ({"perspective": "consequential", "market_gco2e_per_kwh": 5}, "contracts"),
    ],
)
def test_a_mixture_of_perspectives_is_refused(fields, told):
    with pytest.raises(AssumptionError, match=f"(?s){told}"):
        hc.Scenario(**fields)


def test_a_sunk_card_bears_what_it_induces():
    new = _one(perspective="consequential")
    sunk = _one(induced_frac=0.1, **SUNK)
    ratio = sunk["emb_gco2e_per_mtok_out"] / new["emb_gco2e_per_mtok_out"]
    assert ratio == pytest.approx(0.1)
    assert sunk["emb_share_frac"] == 0.1
    both = pd.concat([_row(RTX), _row(H100)], ignore_index=True)
    mixed = hc.Scenario(
        perspective="consequential", embodied_share_frac={RTX: "sunk"}, induced_frac={RTX: 0.2}
    )
    assert hc.evaluate(both, mixed)["emb_share_frac"].tolist() == [0.2, 1.0]


def test_the_marginal_grid_or_a_flagged_proxy():
    proxy = _one(perspective="consequential")
    assert proxy["grid_basis"].startswith("average as proxy of marginal; EU27 2023")
    marginal = _one(perspective="consequential", marginal_gco2e_per_kwh=500)
    assert (marginal["gco2e_per_kwh"], marginal["grid_basis"]) == (500, "marginal, scenario")
    assert _one()["perspective"] == "attributional"


def test_a_shared_card_bears_its_time_share():
    new = _one()
    shared = _one(embodied_share_frac="shared", assigned_frac=0.25)
    assert shared["emb_share_frac"] == 0.25
    assert shared["emb_gco2e_per_mtok_out"] == pytest.approx(new["emb_gco2e_per_mtok_out"])
    alone = _one(assigned_frac=0.25)
    assert alone["emb_gco2e_per_mtok_out"] == pytest.approx(4 * new["emb_gco2e_per_mtok_out"])


def test_energies_of_another_baseline_are_refused():
    consequential = hc.Scenario(idle_baseline="idle", induced_frac=0.1, **SUNK)
    energies = hc.with_energy(_row(), consequential)
    with pytest.raises(AssumptionError, match="idle_baseline='idle', the scenario 'off'"):
        hc.with_carbon(energies, hc.Scenario())
    with pytest.raises(AssumptionError, match="power_model='nameplate', the scenario 'load'"):
        hc.with_carbon(hc.with_energy(_row(), hc.Scenario(power_model="nameplate")))
    with pytest.raises(AssumptionError, match="another load_frac"):
        hc.with_carbon(hc.with_energy(_row(), hc.Scenario(load_frac=0.5)))


def test_a_new_card_is_not_counted_as_if_it_stood_idle():
    sunk = {"perspective": "consequential", "idle_baseline": "idle", "induced_frac": {RTX: 0.2}}
    scenario = hc.Scenario(embodied_share_frac={RTX: "sunk"}, **sunk)
    assert hc.evaluate(_row(RTX), scenario)["emb_share_frac"].item() == 0.2
    with pytest.raises(AssumptionError, match="a new H100 PCIe 80GB"):
        hc.evaluate(_row(H100), scenario)


def test_a_scenarios_shares_cannot_be_changed():
    scenario = hc.Scenario(embodied_share_frac={RTX: "shared"})
    with pytest.raises(TypeError, match="cannot be changed"):
        scenario.embodied_share_frac[RTX] = 0.0
    assert isinstance(hash(scenario), int)


def test_an_earlier_evaluation_leaves_nothing_behind():
    bought = hc.sci(hc.evaluate(_row(), hc.Scenario(market_gco2e_per_kwh=9)), R="tok_out")
    again = hc.evaluate(bought, hc.Scenario(grid_zone="FR"))
    assert not [name for name in again if name.startswith(("market_op_", "sci_"))]
    pd.testing.assert_frame_equal(
        again, hc.evaluate(_row(), hc.Scenario(grid_zone="FR")), check_like=True
    )


def test_a_frontier_of_emissions_takes_one_accounting():
    frames = [hc.evaluate(_row(), hc.Scenario(power_model=m)) for m in ("load", "nameplate")]
    mixed = pd.concat(frames, ignore_index=True)
    with pytest.raises(ColumnError, match="rows of power_model 'load', 'nameplate' are mixed"):
        hc.pareto(mixed, minimize=["gco2e_per_mtok_out", "usd_per_mtok_out"])
    assert len(hc.pareto(mixed, minimize="usd_per_mtok_out")) == 2


# --- embodied -----------------------------------------------------------------------------------


def test_golden_dies_after_act():
    at_5nm = {
        quantity: reference.act_fact("5nm", quantity)["value"]
        for quantity in ("epa_kwh_per_cm2", "gpa_gco2e_per_cm2", "mpa_gco2e_per_cm2")
    }
    fab = reference.act_fact("Taiwan", "ci_fab_gco2e_per_kwh")["value"]
    good = reference.act_fact("all dies", "yield_frac")["value"]
    packaging = reference.act_fact("all ICs", "packaging_gco2e_per_ic")["value"]
    assert (fab, good, packaging) == (583, 0.875, 150)
    dies = [
        act_embodied(
            mm2, **at_5nm, ci_fab_gco2e_per_kwh=fab, yield_frac=good, packaging_gco2e=packaging
        )
        for mm2 in (814.0, 608.5)
    ]
    assert [round(kg, 2) for kg in dies] == [22.76, 17.05]
    table = hc.embodied_by_method([RTX], hc.Scenario(embodied_boundary="gate"))
    row = table.set_index("method").loc["act, constant yield"]
    assert "facebookresearch/ACT" in row["source"]
    act = row["kgco2e"]
    smaller = reference.gpu_fact(RTX, "die_mm2")["value"] / 608.5
    die = (dies[1] - 0.15) * smaller + 0.15
    assert act == pytest.approx(die + act_memory(24, 0.4, 12, 150))


def test_golden_manufacturer():
    fact = reference.embodied_fact(SXM, "manufacturer", "gate")
    assert fact["value"] == 1312 / 8 == 164
    out = _one(_row(SXM, 8), embodied_method="manufacturer", embodied_boundary="gate")
    assert out["emb_kgco2e"] == 1312


def test_large_dies_yield_less():
    yields = hc.embodied_by_method([H100, "L4"], hc.Scenario(embodied_boundary="gate"))
    of = yields.set_index(["gpu", "method"])["kgco2e"]
    for gpu in (H100, "L4"):
        assert of[gpu, "act, constant yield"] < of[gpu, "act, poisson yield"]
        assert of[gpu, "act, poisson yield"] < of[gpu, "act, murphy yield"]
    penalty = {g: of[g, "act, murphy yield"] / of[g, "act, constant yield"] for g in (H100, "L4")}
    assert penalty[H100] > penalty["L4"]
    assert round(float(murphy_yield_frac(814.0, 0.1)), 2) == 0.47
    murphy = _one(_row(H100), embodied_method="act", act_yield="murphy", embodied_boundary="gate")
    assert murphy["emb_kgco2e"] == pytest.approx(of[H100, "act, murphy yield"])


def test_boundaries_nest_and_methods_meet_on_one():
    kg = {
        boundary: hc.embodied_by_method(scenario=hc.Scenario(embodied_boundary=boundary))
        for boundary in ("gate", "end_of_life", "host")
    }
    key = ["gpu", "method"]
    merged = kg["gate"].set_index(key)["kgco2e"].to_frame("gate")
    for boundary in ("end_of_life", "host"):
        merged[boundary] = kg[boundary].set_index(key)["kgco2e"]
    own_host = kg["host"]["method"].str.endswith("its own host")
    assert len(merged) == (~own_host).sum()
    assert set(kg["host"].loc[own_host, "gpu"]) >= {"A100 SXM 80GB", "H100 SXM 80GB", "MI300X"}
    assert (merged["gate"] < merged["end_of_life"]).all()
    host = kg["host"][~own_host].set_index(key)["host_kgco2e"]
    np.testing.assert_allclose(merged["host"] - merged["end_of_life"], host)
    assert all(frame["boundary"].eq(name).all() for name, frame in kg.items())
    known = kg["gate"].dropna(subset=["low", "high"])
    assert ((known["low"] <= known["kgco2e"]) & (known["kgco2e"] <= known["high"])).all()


def test_one_card_or_an_unknown_one():
    one = hc.embodied_by_method("4090")
    assert set(one["gpu"]) == {RTX}
    with pytest.raises(UnknownNameError, match="RTX 4091"):
        hc.embodied_by_method("RTX 4091")


def test_where_a_method_knows_no_figure_the_next_steps_in_and_says_so():
    out = _one(_row("B200"))
    assert out["emb_method"].startswith("manufacturer in place of inventory")
    assert "from cradle to gate" in out["emb_method"]
    out = _one(_row("L40S"), embodied_method="manufacturer")
    assert out["emb_method"].startswith("act in place of manufacturer")
    assert "die and memory alone" in out["emb_method"]
    assert _one(_row(H100))["emb_method"].startswith("inventory, with transport and end of life")


def test_a_card_nobody_knows_is_missing_with_a_reason(tmp_path):
    (tmp_path / "gpus.csv").write_text(
        "entity,quantity,value,low,high,unit,source,url,date,licence,quality,note\n"
        "RTX 5060,tdp_w,180,,,W,mine,https://example.org,2026,facts only,A,\n"
        "RTX 5060,tier,consumer,,,text,mine,https://example.org,2026,facts only,A,\n"
    )
    mine = {"tables": tmp_path, "usd_per_gpu_h": {"RTX 5060": 0.1}}
    out = _one(_row("RTX 5060"), **mine)
    assert np.isnan(out["emb_gco2e_per_mtok_out"])
    assert np.isnan(out["gco2e_per_mtok_out"])
    assert out["op_gco2e_per_mtok_out"] > 0
    assert out["carbon_note"] == "no embodied carbon known for RTX 5060"
    own = _one(_row("RTX 5060"), embodied_kgco2e={"RTX 5060": 50}, **mine)
    assert own["emb_kgco2e"] == 50 + reference.site_fact("home", "host_kgco2e_per_gpu")["value"]
    assert own["emb_method"] == "scenario"


def test_own_figures_and_own_hosts():
    out = _one(_row(RTX, 2), embodied_kgco2e={RTX: 80}, host_kgco2e_per_gpu=20, life_yr=5)
    assert out["emb_kgco2e"] == 200
    assert out["emb_gco2e_per_h"] == pytest.approx(200_000 / (5 * 8760))


def test_embodied_carbon_left_out_is_missing_with_a_reason():
    both = pd.concat([_row(RTX), _row(H100)], ignore_index=True)
    own = hc.evaluate(both, hc.Scenario(embodied_method="none", embodied_kgco2e={RTX: 80}))
    assert own["emb_gco2e_per_mtok_out"].notna().tolist() == [True, False]
    out = _one(embodied_method="none")
    assert np.isnan(out["gco2e_per_mtok_out"])
    assert "no method in this scenario" in out["carbon_note"]
    assert out["op_gco2e_per_mtok_out"] > 0


# --- an outside judge ---------------------------------------------------------------------------


def test_ecologits_says_the_same_of_a_dense_14b_model():
    from ecologits.impacts import llm

    judged = llm.compute_llm_impacts(
        model_active_parameter_count=14,
        model_total_parameter_count=14,
        output_token_count=1e6,
        if_electricity_mix_adpe=0,
        if_electricity_mix_pe=0,
        if_electricity_mix_gwp=0.242,
        if_electricity_mix_wue=0,
        datacenter_pue=1.0,
        datacenter_wue=0,
        batch_size=64,
    )
    latency_s = llm.LATENCY_ALPHA * 14 + llm.LATENCY_BETA * 64 + llm.LATENCY_GAMMA
    tok_per_s = 64 / latency_s
    alpha, beta, gamma = llm.GPU_ENERGY_ALPHA, llm.GPU_ENERGY_BETA, llm.GPU_ENERGY_GAMMA
    gpu_j = (alpha * math.exp(beta * 64) * 14 + gamma) / 1000 * 3.6e6
    run = _row(SXM, gpu_power_w=gpu_j * tok_per_s, out_tok_per_s=tok_per_s)
    ours = _one(
        run,
        power_model="measured",
        gco2e_per_kwh=242,
        host_w_load_per_gpu=llm.SERVER_POWER * 1000 / llm.SERVER_GPUS,
        psu_efficiency_frac=1,
        pue=1,
        embodied_kgco2e={SXM: llm.GPU_EMBODIED_IMPACT_GWP},
        host_kgco2e_per_gpu=llm.SERVER_EMBODIED_IMPACT_GWP / llm.SERVER_GPUS,
        life_yr=3,
    )
    assert ours["op_gco2e_per_mtok_out"] == pytest.approx(judged.usage.gwp.value * 1000)
    assert ours["emb_gco2e_per_mtok_out"] == pytest.approx(judged.embodied.gwp.value * 1000)
    assert round(ours["site_j_per_tok_out"], 4) == 0.2893
    assert round(ours["op_gco2e_per_mtok_out"], 2) == 19.45
    assert round(ours["emb_gco2e_per_mtok_out"], 2) == 7.96


# --- SCI ----------------------------------------------------------------------------------------


def test_sci_per_token_is_the_whole_and_per_request_that_of_its_tokens():
    out = hc.evaluate(_row(req_per_s=2.0))
    per_token = hc.sci(out, R="tok_out")["sci_gco2e_per_tok_out"].item()
    assert per_token * 1e6 == pytest.approx(out["gco2e_per_mtok_out"].item())
    per_any = hc.sci(out, R="tok_all")["sci_gco2e_per_tok_all"].item()
    assert per_any * 1e6 == pytest.approx(out["gco2e_per_mtok_all"].item())
    per_request = hc.sci(out)["sci_gco2e_per_request"].item()
    assert per_request == pytest.approx(per_token * 600 / 2)


def test_sci_refuses_what_it_is_not_and_says_what_is_missing():
    with pytest.raises(UnknownNameError, match="R: unknown value 'mile'"):
        hc.sci(hc.evaluate(_row()), R="mile")
    with pytest.raises(ColumnError, match="sci: the frame lacks 'req_per_s'"):
        hc.sci(hc.evaluate(_row()))
    changed = hc.evaluate(_row(), hc.Scenario(perspective="consequential"))
    with pytest.raises(AssumptionError, match="consequential"):
        hc.sci(changed, R="tok_out")
    out = hc.sci(hc.evaluate(_row(req_per_s=np.nan)))
    assert out["sci_note"].item() == "no req_per_s"
    out = hc.sci(hc.evaluate(_row(), hc.Scenario(embodied_method="none")), R="tok_out")
    assert np.isnan(out["sci_gco2e_per_tok_out"].item())
    assert "no method in this scenario" in out["sci_note"].item()
