"""Identities that hold in every row, and what happens where a figure is missing."""

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.columns import COLUMNS, check
from hetcost.errors import AmbiguousNameError, ColumnError, UnknownNameError
from hetcost.slo import meets_slo

NO_RATE = {"out_tok_per_s": np.nan, "all_tok_per_s": np.nan}
NUMBERS = ["usd_per_mtok_out", "usd_per_mtok_all", "site_j_per_tok_all", "op_gco2e_per_mtok_all"]


def _row(**changes):
    base = {"gpu": "RTX 4090", "n_gpus": 2, "out_tok_per_s": 600.0, "all_tok_per_s": 1250.0}
    return pd.DataFrame([base | {"mean_concurrency": 8.0} | changes])


def test_verbs_return_new_frames_and_leave_theirs_alone(runs):
    before = runs.copy(deep=True)
    evaluated = hc.evaluate(runs)
    pd.testing.assert_frame_equal(runs, before)
    assert len(evaluated) == len(runs)
    pd.testing.assert_frame_equal(evaluated[runs.columns], runs)


def test_every_column_is_in_the_dictionary_and_within_its_bounds(runs):
    evaluated = runs.pipe(hc.evaluate).pipe(meets_slo, hc.SLO(p99_ttft_ms=500))
    assert set(evaluated.columns) <= set(COLUMNS)
    check(evaluated)


@pytest.mark.parametrize("pue", [1.0, 1.3, {"H100 PCIe 80GB": 1.2, "RTX 4090": 1.05}])
def test_site_is_pue_times_it_and_it_at_least_the_boards(runs, pue):
    out = hc.evaluate(runs, hc.Scenario(pue=pue))
    factor = out["gpu"].map(pue) if isinstance(pue, dict) else pue
    for basis in ("out", "all"):
        it = out[f"it_j_per_tok_{basis}"]
        np.testing.assert_allclose(out[f"site_j_per_tok_{basis}"], it * factor, rtol=1e-12)
        assert (it >= out[f"gpu_j_per_tok_{basis}"]).all()
    joules_per_s = out["site_j_per_tok_all"] * out["all_tok_per_s"]
    np.testing.assert_allclose(joules_per_s, out["site_w_load"], rtol=1e-12)


def test_both_bases_pay_the_same_bill(paper):
    for rate in ("usd_per_mtok", "site_j_per_tok", "op_gco2e_per_mtok"):
        bills = [paper[f"{rate}_{b}"] * paper[f"{b}_tok_per_s"] for b in ("out", "all")]
        np.testing.assert_allclose(*bills, rtol=1e-12)


def test_double_price_doubles_cost_and_nothing_else(runs):
    single = hc.Scenario(usd_per_gpu_h={"RTX 4090": 0.3, "H100 PCIe 80GB": 2.2})
    double = single.but(usd_per_gpu_h={"RTX 4090": 0.6, "H100 PCIe 80GB": 4.4})
    one, two = hc.evaluate(runs, single), hc.evaluate(runs, double)
    np.testing.assert_allclose(two["usd_per_mtok_out"], 2 * one["usd_per_mtok_out"], rtol=1e-12)
    pd.testing.assert_series_equal(one["site_j_per_tok_out"], two["site_j_per_tok_out"])
    pd.testing.assert_series_equal(one["op_gco2e_per_mtok_out"], two["op_gco2e_per_mtok_out"])


def test_a_grid_without_carbon_leaves_no_operational_emissions(runs):
    out = hc.evaluate(runs, hc.Scenario(gco2e_per_kwh=0))
    assert (out["op_gco2e_per_mtok_all"] == 0).all()
    assert (out["grid_basis"] == "scenario").all()


def test_the_paper_counts_no_embodied_carbon_which_is_missing_and_no_zero(paper):
    for stage in ("emb_gco2e_per_mtok_out", "gco2e_per_mtok_out"):
        assert paper[stage].isna().all()
    assert paper["carbon_note"].str.contains("embodied").all()


def test_results_state_what_they_rest_on(runs):
    out = hc.evaluate(runs, hc.Scenario(usd_per_gpu_h={"RTX 4090": 0.3}))
    rtx = out[out["gpu"] == "RTX 4090"].iloc[0]
    h100 = out[out["gpu"] == "H100 PCIe 80GB"].iloc[0]
    assert rtx["price_basis"] == "scenario"
    assert h100["price_basis"] == "alternative, 2025-05"
    assert h100["power_quality"] == "load, watts of H100 SXM 80GB, quality D"
    assert h100["energy_boundary"] == "servers"
    assert h100["grid_basis"].startswith("EU27 2023, life-cycle, quality B; T&D loss")
    assert h100["perspective"] == "attributional"
    assert h100["idle_baseline"] == "off"
    assert h100["emb_method"].startswith("inventory")
    assert h100["reading"] == "as_measured"
    paper_h100 = hc.evaluate(runs, hc.Scenario.paper()).loc[h100.name]
    assert paper_h100["power_quality"] == "nameplate, scenario"
    assert paper_h100["grid_basis"] == "EU27 2023, life-cycle, quality B"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"out_tok_per_s": 0.0, "all_tok_per_s": 0.0}, "no throughput"),
        (
            {"out_tok_per_s": np.nan, "all_tok_per_s": np.nan, "completed": 0},
            "no completed requests",
        ),
        ({"out_tok_per_s": np.nan, "all_tok_per_s": np.nan, "duration_s": 0.0}, "no duration"),
        ({"n_gpus": 0}, "n_gpus is not 1 or more"),
        ({"out_tok_per_s": np.inf, "all_tok_per_s": np.inf}, "no throughput"),
        ({"n_gpus": None}, "the run does not say how many GPUs"),
        ({"gpu": None}, "the run names no GPU"),
        ({"gpu": "RTX 5090"}, "no alternative price for RTX 5090 as of 2025-05"),
    ],
)
def test_a_row_that_cannot_be_computed_is_kept_with_nan_and_the_reason(changes, reason):
    good_and_bad = pd.concat([_row(), _row(**changes)], ignore_index=True)
    out = hc.evaluate(good_and_bad)
    assert len(out) == 2
    assert np.isnan(out.loc[1, "usd_per_mtok_out"])
    assert reason in out.loc[1, "cost_note"]
    assert out.loc[0, NUMBERS].notna().all()
    assert out.loc[0, "cost_note"] == ""


def test_a_price_known_as_a_range_only_is_missing_and_the_range_is_told():
    out = hc.evaluate(_row(gpu="H100 PCIe 80GB"), hc.Scenario(price_class="hyperscaler"))
    assert np.isnan(out["usd_per_h"].item())
    assert "8-10 USD/GPU/h" in out["cost_note"].item()


def test_unknown_and_ambiguous_cards_raise_with_the_choices():
    with pytest.raises(UnknownNameError, match="nearest first: 'RTX 4090'"):
        hc.evaluate(_row(gpu="RTX 4091"))
    two = pd.concat([_row(gpu="RTX 4091"), _row(gpu="TPU"), _row()])
    with pytest.raises(UnknownNameError, match=r"2 GPUs are not in the tables:\n.*4091.*\n.*TPU"):
        hc.evaluate(two)
    with pytest.raises(AmbiguousNameError, match="'H100 PCIe 80GB', 'H100 SXM 80GB'"):
        hc.evaluate(_row(gpu="H100"))


def test_a_missing_column_is_named():
    with pytest.raises(ColumnError, match="with_cost: the frame lacks 'n_gpus'"):
        hc.with_cost(_row().drop(columns="n_gpus"))
    with pytest.raises(ColumnError, match="with_carbon: the frame lacks 'site_j_per_tok_out'"):
        hc.with_carbon(_row())


def test_an_empty_frame_goes_through():
    assert hc.evaluate(_row().iloc[:0]).empty


def test_row_order_and_index_change_nothing(paper, runs):
    shuffled = runs.sample(frac=1, random_state=7)
    out = hc.evaluate(shuffled, hc.Scenario.paper()).sort_index()
    pd.testing.assert_frame_equal(out, paper)
