"""What owned, interrupted and idle hardware costs."""

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost import reference
from hetcost.errors import AssumptionError
from hetcost.formulas import ownership

H100, RTX = "H100 PCIe 80GB", "RTX 4090"
# The example of a textbook: 30,000 USD, 600 W loaded and 150 W idle at the site.
BARE = {
    "power_model": "nameplate",
    "tdp_w": {H100: 600},
    "idle_w": {H100: 150},
    "host_w_load_per_gpu": 0,
    "host_w_idle_per_gpu": 0,
    "psu_efficiency_frac": 1,
    "pue": 1,
}
GOLDEN = BARE | {
    "acquisition": "own",
    "capex_usd": {H100: 30_000},
    "host_capex_usd_per_gpu": 0,
    "install_frac": 0,
    "residual_frac": 0.2,
    "discount_frac": 0.08,
    "life_yr": 4,
    "load_frac": 0.5,
    "avail_frac": 0.98,
    "upkeep_frac": 0.05,
    "failure_frac": 0,
    "spares_frac": 0,
    "colo_usd_per_kw_month": 0,
    "usd_per_kwh": 0.12,
}


def _row(gpu=H100, n_gpus=1, **changes):
    rates = {"out_tok_per_s": 600.0, "all_tok_per_s": 1200.0, "mean_concurrency": 8.0}
    return pd.DataFrame([{"gpu": gpu, "n_gpus": n_gpus, **rates, **changes}])


def _one(rows=None, **fields):
    return hc.with_cost(_row() if rows is None else rows, hc.Scenario(**fields)).iloc[0]


def test_golden_own_usd_per_used_hour():
    out = _one(**GOLDEN)
    assert round(out["usd_per_h"], 3) == 2.239
    assert out["power_usd_per_h"] == pytest.approx(0.09)
    assert out["host_usd_per_h"] == 0
    assert out["usd_per_mtok_out"] == pytest.approx(out["usd_per_h"] / 3600 / 600 * 1e6)


def test_the_annuity_by_hand():
    rate = 0.08 * 1.08**4 / (1.08**4 - 1)
    assert float(ownership.crf(0.08, 4)) == pytest.approx(rate)
    yearly = (30_000 - 6_000 / 1.08**4) * rate + 1_500
    by_hand = yearly / (8760 * 0.98 * 0.5) + 0.12 * (600 + 150) / 1000
    assert _one(**GOLDEN)["usd_per_h"] == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("rate", [0.0, 1e-12, 1e-9, 1e-6])
def test_the_recovery_factor_runs_to_one_over_the_life(rate):
    for life in (1.0, 4.0, 6.5):
        assert float(ownership.crf(rate, life)) == pytest.approx(1 / life, rel=1e-5)


def test_shares_add_up_and_each_cost_moves_its_own():
    base = _one(**GOLDEN)
    shares = ["gpu_usd_per_h", "host_usd_per_h", "power_usd_per_h"]
    assert base[shares].sum() == pytest.approx(base["usd_per_h"])
    host = _one(**GOLDEN | {"host_capex_usd_per_gpu": 4_000, "colo_usd_per_kw_month": 150})
    assert host["gpu_usd_per_h"] == base["gpu_usd_per_h"]
    space = 150 * 12 * 0.6 / (8760 * 0.98 * 0.5)
    card = base["gpu_usd_per_h"] * 4_000 / 30_000
    assert host["host_usd_per_h"] == pytest.approx(card + space)
    power = _one(**GOLDEN | {"usd_per_kwh": 0.24})
    assert power["power_usd_per_h"] == pytest.approx(2 * base["power_usd_per_h"])
    failing = _one(**GOLDEN | {"failure_frac": 0.09, "spares_frac": 0.02})
    assert failing["gpu_usd_per_h"] > base["gpu_usd_per_h"]
    fee = _one(**GOLDEN | {"platform_fee_frac": 0.2})
    assert fee["usd_per_h"] == pytest.approx(base["usd_per_h"] / 0.8)


def test_residual_value_fixed_or_by_market_decay():
    kept = (1 - 0.3) ** 4
    decayed = {k: v for k, v in GOLDEN.items() if k != "residual_frac"} | {"value_decay_frac": 0.3}
    assert _one(**decayed)["usd_per_h"] == pytest.approx(
        _one(**GOLDEN | {"residual_frac": kept})["usd_per_h"]
    )


def test_a_nominal_rate_is_made_real():
    nominal = {"discount_frac": 0.10, "discount_basis": "nominal", "inflation_frac": 0.02}
    real = GOLDEN | {"discount_frac": 1.10 / 1.02 - 1}
    assert _one(**GOLDEN | nominal)["usd_per_h"] == pytest.approx(_one(**real)["usd_per_h"])


def test_spot_pays_for_what_is_lost():
    rent = _one(usd_per_gpu_h={H100: 2.0})["usd_per_h"]
    spot = {"interrupts_per_h": 0.1, "restart_h": 0.1, "lost_h": 0.05}
    out = _one(acquisition="spot", usd_per_gpu_h={H100: 2.0}, **spot)
    assert out["usd_per_h"] == pytest.approx(rent / (1 - 0.1 * 0.15))
    with pytest.raises(AssumptionError, match=r"lost_frac=1.5: valid values are below 1"):
        _one(acquisition="spot", interrupts_per_h=10, restart_h=0.1, lost_h=0.05)


def test_an_idle_machine_costs_its_extra_watts_and_wear():
    idle = BARE | {"acquisition": "idle", "capex_usd": {H100: 30_000}, "usd_per_kwh": 0.3}
    out = _one(**idle, wear_frac=0.1, churn_frac=0, hours_per_day=24)
    wear, power = 3_000 / 8760, 0.3 * (600 - 150) / 1000
    assert out["usd_per_h"] == pytest.approx(wear + power)
    assert out["machines_per_replica"] == 1
    part = _one(**idle, wear_frac=0.1, churn_frac=0.25, hours_per_day=12)
    assert part["machines_per_replica"] == pytest.approx(2.5)
    assert part["usd_per_h"] == pytest.approx(1.25 * (wear + power)), "churn runs more replicas"
    fee = _one(**idle, wear_frac=0.1, churn_frac=0, hours_per_day=24, platform_fee_frac=0.25)
    assert fee["usd_per_h"] == pytest.approx((wear + power) / 0.75)


def test_each_card_is_had_in_its_own_way(runs):
    out = hc.evaluate(runs, hc.Scenario(acquisition={RTX: "own", H100: "rent"}))
    assert set(out.loc[out["gpu"] == RTX, "acquisition"]) == {"own"}
    rented = out[out["gpu"] == H100]
    assert set(rented["acquisition"]) == {"rent"}
    assert rented["host_usd_per_h"].isna().all(), "a rent is not split"
    plain = hc.evaluate(runs)
    assert "gpu_usd_per_h" not in plain
    pd.testing.assert_series_equal(
        rented["usd_per_mtok_out"], plain.loc[rented.index, "usd_per_mtok_out"]
    )
    assert out["cost_note"].eq("").all()


def test_what_is_not_known_is_missing_with_a_reason():
    out = _one(_row("A10G"), acquisition="own")
    assert np.isnan(out["usd_per_h"])
    assert out["cost_note"] == "no purchase price of A10G as of 2025-05 is known"
    out = _one(_row(mean_concurrency=np.nan), acquisition="own")
    assert "no mean_concurrency" in out["cost_note"]
    assert _one(_row(mean_concurrency=np.nan))["usd_per_h"] > 0, "a rent needs no power"


def test_the_newest_purchase_price_not_later_is_taken():
    def basis(as_of):
        return _one(_row(RTX), acquisition="own", price_as_of=as_of)["price_basis"]

    assert basis("2025-05").startswith("2024")
    assert basis("2025-09").startswith("2025-08")


def test_the_rate_is_named_real_or_nominal():
    real = _one(_row(RTX), acquisition="own")["price_basis"]
    assert real == (
        "2024, quality B; 8 % a year real; electricity: EU27 2025-06, residential, quality C"
    )
    nominal = {"discount_basis": "nominal", "discount_frac": 0.1, "inflation_frac": 0.02}
    told = _one(_row(RTX), acquisition="own", **nominal)["price_basis"]
    assert "10 % a year nominal, inflation 2 %" in told


def test_electricity_by_zone_and_site():
    home = reference.electricity_fact("EU27", home=True)
    assert (home["quantity"], home["entity"]) == ("residential_usd_per_kwh", "EU27")
    assert reference.electricity_fact("US-TX", home=False)["quantity"].startswith("industrial")
    assert reference.electricity_fact("FR", home=False)["entity"] == "any zone"
    assert reference.electricity_fact(None, home=True)["entity"] == "any zone"


def test_both_bases_are_named(runs):
    best = hc.highest_measured(runs)
    assert set(hc.with_cost(best)["cost_basis"]) == {"at capacity"}
    assert set(hc.with_cost(runs)["cost_basis"]) == {"as loaded"}
    assert len(best) == len(runs.groupby(["model", "gpu", "n_gpus"]))
    top = runs.groupby(["model", "gpu", "n_gpus"])["out_tok_per_s"].max()
    chosen = best.set_index(["model", "gpu", "n_gpus"])["out_tok_per_s"]
    pd.testing.assert_series_equal(chosen.sort_index(), top.sort_index())
    unknown = runs.head(1).assign(model="other", out_tok_per_s=np.nan)
    with pytest.warns(hc.DataWarning, match="1 configurations have no throughput"):
        assert len(hc.highest_measured(pd.concat([runs, unknown]))) == len(best)


def test_a_licence_that_restricts_is_told_where_it_does(runs):
    at_home = hc.with_cost(runs)
    assert at_home["licence_note"].eq("").all()
    moved = hc.with_cost(runs, hc.Scenario(site="datacentre"))
    told = moved.groupby("gpu")["licence_note"].first()
    assert "not for datacentre" in told[RTX]
    assert told[H100] == ""


def test_facts_used_on_owning():
    used = hc.facts_used(_row(RTX), hc.Scenario(acquisition="own"))
    needed = {"capex_usd", "residual_frac", "discount_frac", "upkeep_frac", "colo_usd_per_kw_month"}
    assert needed <= set(used["quantity"])
    assert "residential_usd_per_kwh" in set(used["quantity"])
    assert "alternative_usd_per_gpu_h" not in set(used["quantity"])
