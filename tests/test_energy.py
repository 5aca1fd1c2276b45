"""The power ladder, the boundaries and the idle baselines."""

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost import published, reference
from hetcost.columns import check
from hetcost.errors import AssumptionError
from hetcost.formulas.energy import capped_w, load_w
from hetcost.reference.tables import LOAD_FRAC

H100, RTX = "H100 PCIe 80GB", "RTX 4090"
BOUNDARIES = ("gpu", "it", "site")
LADDER = ("load", "nameplate", "all_in")
SUNK = {"perspective": "consequential", "embodied_share_frac": "sunk", "induced_frac": 0.1}


def _row(gpu=RTX, n_gpus=1, concurrency=8.0, **changes):
    rates = {"out_tok_per_s": 600.0, "all_tok_per_s": 1200.0, "mean_concurrency": concurrency}
    return pd.DataFrame([{"gpu": gpu, "n_gpus": n_gpus, **rates, **changes}])


def _energy(rows, **fields):
    return hc.with_energy(rows, hc.Scenario(**fields))


def _one(rows, **fields):
    return _energy(rows, **fields).iloc[0]


@pytest.mark.parametrize("rung", LADDER)
@pytest.mark.parametrize(
    "baseline",
    [{}, SUNK | {"idle_baseline": "idle"}, SUNK | {"idle_baseline": "in_use"}],
    ids=lambda b: b.get("idle_baseline", "off"),
)
def test_each_boundary_holds_the_one_within_and_pue_is_applied_once(runs, rung, baseline):
    out = check(_energy(runs, power_model=rung, **baseline))
    pue = out["site"].map({"datacentre": 1.58, "home": 1.0}).astype(float)
    for basis in ("out", "all"):
        gpu, it, site = (out[f"{boundary}_j_per_tok_{basis}"] for boundary in BOUNDARIES)
        assert (it >= gpu).all()
        np.testing.assert_allclose(site, pue * it, rtol=1e-12)
    assert out["energy_note"].eq("").all()
    assert set(out["energy_boundary"]) == {"servers"}
    assert (out["site_w_idle"] < out["site_w_load"]).all()


def test_the_rungs_in_order(runs):
    watts = {rung: _energy(runs, power_model=rung) for rung in LADDER}
    boards = {rung: frame["gpu_w_load"] for rung, frame in watts.items()}
    assert (boards["load"] <= boards["nameplate"]).all()
    assert (boards["nameplate"] == boards["all_in"]).all()
    assert (watts["nameplate"]["site_w_load"] < watts["all_in"]["site_w_load"]).all()
    qualities = {
        rung: frame["power_quality"].str.partition(",")[0] for rung, frame in watts.items()
    }
    assert [set(qualities[rung]) for rung in LADDER] == [{"load"}, {"nameplate"}, {"all-in"}]


def test_the_studys_energy_ratios():
    def ratio(scenario, pair_load, h100_load):
        joules = published.table2_runs().pipe(hc.evaluate, scenario)
        of = joules.groupby(["gpu", "n_gpus", "request_rate_per_s"])["site_j_per_tok_all"].first()
        return of[RTX, 2, pair_load] / of[H100, 1, h100_load]

    own = published.boards_own_power()
    assert round(ratio(hc.Scenario.paper(), 4, 16), 2) == 3.10
    assert round(ratio(own, 4, 16), 2) == 6.19
    assert round(ratio(own, 4, 4), 1) == 2.9
    assert set(own.tdp_w) == set()


# --- power by load ------------------------------------------------------------------------------


def test_watts_run_straight_in_log2_of_concurrency_and_end_at_the_limit():
    at, watts = [8, 32], [400.0, 500.0]
    assert load_w(16.0, at, watts) == pytest.approx(450.0)
    assert load_w(1.0, at, watts) == 400.0, "flat below the first point"
    assert load_w(640.0, at, watts) == 500.0, "flat above the last"
    assert capped_w(load_w(32.0, at, watts), 450.0) == 450.0
    with pytest.raises(AssumptionError, match="mean_concurrency=0"):
        load_w(0.0, at, watts)


def test_a_measured_curve_is_the_boards_own():
    out = _one(_row("H100 SXM 80GB", concurrency=22.0))
    curve = reference.load_facts("H100 SXM 80GB").set_index("at_concurrency")
    assert out["gpu_w_load"] == pytest.approx(curve["value"][22])
    assert (out["gpu_w_load_lo"], out["gpu_w_load_hi"]) == tuple(curve.loc[22, ["low", "high"]])
    assert out["power_quality"] == "load, own curve, quality B"
    between = _one(_row("H100 SXM 80GB", concurrency=np.sqrt(8 * 22)))["gpu_w_load"]
    assert between == pytest.approx((curve["value"][8] + curve["value"][22]) / 2)


@pytest.mark.parametrize("concurrency", [1.0, 22.0, 500.0])
def test_the_pcie_board_takes_the_sxm_boards_watts_up_to_its_own_limit(concurrency):
    out = _one(_row(H100, concurrency=concurrency))
    sxm = _one(_row("H100 SXM 80GB", concurrency=concurrency))["gpu_w_load"]
    assert out["gpu_w_load"] == min(sxm, 350.0)
    assert out["power_quality"] == "load, watts of H100 SXM 80GB, quality D"
    assert (out["gpu_w_load_lo"], out["gpu_w_load_hi"]) == (0.55 * 350, 350)
    unlimited = _one(_row(H100, concurrency=concurrency), tdp_w={H100: 5000})
    assert unlimited["gpu_w_load"] == pytest.approx(sxm)


def test_a_card_with_one_point_takes_the_shape_through_it():
    shape = reference.load_facts("datacentre boards", LOAD_FRAC).set_index("at_concurrency")[
        "value"
    ]
    for concurrency in (8, 22, 90, 300):
        watts = _one(_row(RTX, concurrency=float(concurrency)))["gpu_w_load"]
        assert watts == pytest.approx(246 * shape[concurrency] / shape[8])
    out = _one(_row(RTX, concurrency=1.0))
    assert out["gpu_w_load"] == pytest.approx(246), "its own measured point"
    assert (out["gpu_w_load_lo"], out["gpu_w_load_hi"]) == (pytest.approx(246), 450)


def test_a_card_without_any_point_takes_the_shape_of_its_limit():
    shape = reference.load_facts("datacentre boards", LOAD_FRAC).set_index("at_concurrency")[
        "value"
    ]
    out = _one(_row("L40S", n_gpus=2, concurrency=90.0))
    assert out["gpu_w_load"] == pytest.approx(2 * 350 * shape[90])
    assert "shape of datacentre boards, quality D" in out["power_quality"]


def test_a_power_limit_of_ones_own_caps_every_curve(runs):
    out = _energy(runs, tdp_w={H100: 200, RTX: 150})
    limit = out["gpu"].map({H100: 200, RTX: 150}) * out["n_gpus"].astype(float)
    for column in ("gpu_w_load", "gpu_w_load_lo", "gpu_w_load_hi"):
        assert (out[column] <= limit).all()


@pytest.mark.parametrize("concurrency", [np.nan, 0.0, -1.0, np.inf])
def test_without_a_concurrency_power_by_load_is_missing_and_says_what_to_do(concurrency):
    out = _one(_row(concurrency=concurrency))
    assert np.isnan(out["site_j_per_tok_out"])
    assert "no mean_concurrency" in out["energy_note"]
    assert "nameplate" in out["energy_note"]
    assert _one(_row(concurrency=concurrency), power_model="nameplate")["site_j_per_tok_out"] > 0
    bare = _row().drop(columns="mean_concurrency")
    assert "no mean_concurrency" in _one(bare)["energy_note"]


# --- measured power -----------------------------------------------------------------------------


def test_measured_power_is_the_runs_own():
    rows = pd.concat(
        [
            _row(n_gpus=2, gpu_power_w=500.0, energy_method="counter"),
            _row(n_gpus=2, gpu_energy_j=6_000.0, duration_s=10.0),
            _row(n_gpus=2),
            _row(n_gpus=2, power_note="the log covers 40% of the run, less than 90%"),
        ],
        ignore_index=True,
    )
    out = _energy(rows, power_model="measured")
    assert out["gpu_w_load"].tolist()[:2] == [500.0, 600.0]
    assert out["power_quality"][0] == "measured, counter"
    assert out["power_quality"][1] == "measured, method not stated"
    assert out.loc[2:, "site_j_per_tok_out"].isna().all(), "no other rung steps in unasked"
    assert "no measured power" in out["energy_note"][2]
    assert "covers 40%" in out["energy_note"][3]
    np.testing.assert_allclose(out["gpu_j_per_tok_out"][:2], [500 / 600, 1.0])


# --- boundaries ---------------------------------------------------------------------------------


def test_site_by_kind_and_by_hand():
    out = _energy(pd.concat([_row(RTX), _row(H100)], ignore_index=True))
    assert out["site"].tolist() == ["home", "datacentre"]
    h100 = out.iloc[1]
    assert h100["site_w_load"] == pytest.approx(1.58 * (350 + 150) / 0.94)
    assert h100["site_w_idle"] == pytest.approx(1.58 * (87 + 75) / 0.94)
    moved = _one(_row(RTX), site="datacentre")
    assert moved["site"] == "datacentre"
    assert moved["site_w_load"] == pytest.approx(1.58 * (246 + 150) / 0.94)
    apart = _energy(pd.concat([_row(RTX), _row(H100)]), site={RTX: "hyperscale"})
    assert apart["site"].tolist() == ["hyperscale", "datacentre"], "the other by its tier"


def test_pue_is_of_the_year_of_the_grid():
    def pue(year):
        frame = _one(_row(H100), grid_zone="DE", grid_year=year)
        return round(frame["site_j_per_tok_out"] / frame["it_j_per_tok_out"], 2)

    assert [pue(2023), pue(2024), pue(2025)] == [1.58, 1.56, 1.54]


def test_provisioned_power_is_stated_at_the_plug():
    out = _one(_row(H100), power_model="all_in", pue=1.0)
    assert out["site_w_load"] == 350 + 575
    assert _one(_row("B200"), power_model="all_in", pue=1.0)["site_w_load"] == 1000 + 787.5
    own = _one(_row(H100), power_model="all_in", pue=1.0, host_w_load_per_gpu=150)
    assert own["site_w_load"] == pytest.approx((350 + 150) / 0.94), "an own host is behind the PSU"


def test_below_one_request_in_flight_the_board_idles_in_between():
    half, one = (_one(_row(RTX, concurrency=c)) for c in (0.5, 1.0))
    assert half["gpu_w_load"] == pytest.approx((246 + 63) / 2)
    assert one["gpu_w_load"] == pytest.approx(246)
    assert half["gpu_w_load_lo"] <= half["gpu_w_load"] <= half["gpu_w_load_hi"]


def test_each_server_sees_its_part_of_the_requests():
    alone = _one(_row("H100 SXM 80GB", concurrency=22.0))["gpu_w_load"]
    eight = _one(_row("H100 SXM 80GB", n_gpus=8, concurrency=8 * 22.0, replicas=8))["gpu_w_load"]
    assert eight == pytest.approx(8 * alone)


def test_a_curve_without_bounds_is_given_wide_ones():
    out = _one(_row("RTX 3090", concurrency=1.0))
    assert out["gpu_w_load_lo"] < out["gpu_w_load"] < out["gpu_w_load_hi"]


def test_replacing_the_grid_by_its_own_number_changes_no_energy(runs):
    zone = hc.evaluate(runs, hc.Scenario(grid_zone="DE", grid_year=2025))
    grams = zone["gco2e_per_kwh"].iloc[0]
    own = hc.evaluate(runs, hc.Scenario(grid_year=2025, gco2e_per_kwh=grams))
    for column in ("site_j_per_tok_out", "gco2e_per_mtok_out"):
        np.testing.assert_allclose(own[column], zone[column], rtol=1e-12)


def test_idle_hours_of_one_card_do_not_trouble_another(monkeypatch):
    from hetcost.impacts import lookups

    known = lookups.reference.idle_fact
    monkeypatch.setattr(
        lookups.reference,
        "idle_fact",
        lambda gpu, **k: None if gpu == RTX else known(gpu, **k),
    )
    both = pd.concat([_row(RTX), _row(H100)], ignore_index=True)
    out = _energy(both, load_frac={H100: 0.5})
    assert out["energy_note"].tolist() == ["", ""]
    assert out["site_j_per_tok_out"].notna().all()


def test_what_is_known_of_the_boards_stays_where_the_site_is_not_known(tmp_path):
    (tmp_path / "sites.csv").write_text(
        "entity,quantity,value,low,high,unit,source,url,date,licence,quality,note\n"
        "garage,pue,1.1,,,1,mine,https://example.org,2026,facts only,A,\n"
    )
    out = _one(_row(RTX), tables=tmp_path, site="garage")
    assert out["gpu_j_per_tok_out"] == pytest.approx(246 / 600)
    assert np.isnan(out["it_j_per_tok_out"])
    assert out["energy_note"] == "no host_w_load_per_gpu of a site of kind garage is known"


def test_figures_of_ones_own_go_before_the_tables_and_leave_other_cards_alone():
    rows = pd.concat([_row(RTX), _row(H100)], ignore_index=True)
    own = {"pue": {RTX: 1.2}, "host_w_load_per_gpu": {RTX: 10}, "psu_efficiency_frac": {RTX: 0.8}}
    out, plain = _energy(rows, **own), _energy(rows)
    assert out["site_w_load"][0] == pytest.approx(1.2 * (246 + 10) / 0.8)
    assert out["site_w_load"][1] == plain["site_w_load"][1]


def test_boards_alone_say_so():
    out = _one(_row(), host_w_load_per_gpu=0, psu_efficiency_frac=1)
    assert out["energy_boundary"] == "boards"
    assert out["it_j_per_tok_out"] == out["gpu_j_per_tok_out"]


# --- what would be without the service ----------------------------------------------------------


def test_idle_hours_are_charged_to_the_loaded_ones():
    whole, half = (_one(_row(H100), load_frac=u) for u in (1.0, 0.5))
    extra = half["site_j_per_tok_out"] - whole["site_j_per_tok_out"]
    assert extra == pytest.approx(whole["site_w_idle"] / 600)
    assert half["site_w_load"] == whole["site_w_load"], "what the machine draws is what it draws"


def test_each_baseline_counts_what_it_says():
    off, idle, in_use = (
        _one(_row(RTX), idle_baseline=baseline, **SUNK) for baseline in ("off", "idle", "in_use")
    )
    assert off["site_j_per_tok_out"] == pytest.approx(off["site_w_load"] / 600)
    above_idle = idle["site_w_load"] - idle["site_w_idle"]
    assert idle["site_j_per_tok_out"] == pytest.approx(above_idle / 600)
    assert off["site_w_idle"] - idle["site_w_idle"] == pytest.approx((63 - 18.5) / 0.9)
    assert off["idle_basis"] == "weights loaded, quality C"
    assert idle["idle_basis"] == "bare, quality C", "without the service no model is loaded"
    assert in_use["site_j_per_tok_out"] == pytest.approx((246 - 18.5) / 0.9 / 600)
    assert in_use["gpu_j_per_tok_out"] == pytest.approx(idle["gpu_j_per_tok_out"])


def test_a_baseline_above_the_load_is_missing_with_a_reason():
    out = _one(_row(RTX), tdp_w={RTX: 15}, idle_baseline="idle", **SUNK)
    assert np.isnan(out["site_j_per_tok_out"])
    assert out["energy_note"] == "no more power under load than idle"


def test_an_unknown_idle_power_matters_only_where_it_is_used(monkeypatch):
    from hetcost.impacts import lookups

    monkeypatch.setattr(lookups.reference, "idle_fact", lambda *_, **__: None)
    assert _one(_row(RTX))["site_j_per_tok_out"] > 0
    for fields in ({"load_frac": 0.5}, SUNK | {"idle_baseline": "idle"}):
        out = _one(_row(RTX), **fields)
        assert np.isnan(out["site_j_per_tok_out"])
        assert out["energy_note"] == "no idle power of RTX 4090 is known"
