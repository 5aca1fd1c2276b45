"""Break-evens: where they lie, who wins, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B

import hetcost as hc
from hetcost.errors import AssumptionError, ColumnError, UnknownNameError

PAIR = "gpu == 'RTX 4090' and n_gpus == 2"
H100 = "gpu == 'H100 PCIe 80GB' and n_gpus == 1"


@pytest.fixture(scope="module")
def best(runs):
    return hc.highest_measured(runs)


@pytest.fixture(scope="module")
def one(best):
    return best[best["model"] == MODEL_14B]


def _at(frame, query, scenario, on):
    return hc.evaluate(frame.query(query), scenario)[on].item()


def test_own_equals_rent_at_the_utilisation_it_reports(one):
    scenario = hc.Scenario(acquisition={"H100 PCIe 80GB": "own"}, price_as_of="2025-09")
    rented = one.query(H100).assign(n_gpus=1)
    both = pd.concat([one.query(H100), one.query(PAIR)])
    tie = hc.breakeven(both, H100, PAIR, scenario, vary="load_frac", on="usd_per_h", side="a")
    assert tie["crossing"].isna().all(), "an H100 never costs as little as the pair"
    rent = hc.evaluate(rented, hc.Scenario(price_as_of="2025-09"))["usd_per_h"].item()
    target = hc.Scenario(acquisition={"RTX 4090": "own"}, usd_per_gpu_h={"H100 PCIe 80GB": 0.6})
    tie = hc.breakeven(both, PAIR, H100, target, vary="load_frac", on="usd_per_h", side="a")
    load = tie["crossing"].item()
    own = _at(both, PAIR, target.but(load_frac={"RTX 4090": load}), "usd_per_h")
    assert own == pytest.approx(0.6, rel=1e-9)
    assert (tie["wins_below"].item(), tie["wins_above"].item()) == ("b", "a")
    assert tie["value_at_crossing"].item() == pytest.approx(0.6, rel=1e-9)
    assert rent > 0


@pytest.mark.parametrize(
    ("vary", "on", "fields"),
    [
        ("gco2e_per_kwh", "gco2e_per_mtok_out", {"life_yr": {"H100 PCIe 80GB": 1}, "pue": 1}),
        ("usd_per_kwh", "usd_per_mtok_out", {"acquisition": {"RTX 4090": "own"}}),
        ("pue", "site_j_per_tok_out", {"pue": {"RTX 4090": 1}}),
        ("life_yr", "usd_per_mtok_all", {"acquisition": "own", "price_as_of": "2025-09"}),
        ("discount_frac", "usd_per_mtok_all", {"acquisition": {"RTX 4090": "own"}}),
    ],
)
def test_at_every_crossing_the_two_are_equal(best, vary, on, fields):
    scenario = hc.Scenario(**fields)
    side = "b" if vary == "pue" else "both"
    bounds = (1.0, 8.0) if vary == "pue" else (0.0, 8.0) if vary == "usd_per_kwh" else None
    found = hc.breakeven(best, PAIR, H100, scenario, vary=vary, on=on, side=side, bounds=bounds)
    crossings = found.dropna(subset=["crossing"])
    assert len(crossings) or (found["note"] != "").all()
    for _, row in crossings.iterrows():
        change = {vary: row["crossing"]}
        if side == "b":
            change = {vary: {"RTX 4090": 1, "H100 PCIe 80GB": row["crossing"]}}
        there, rows = scenario.but(**change), best[best["model"] == row["model"]]
        a, b = (_at(rows, query, there, on) for query in (PAIR, H100))
        assert a == pytest.approx(b, rel=1e-9)


def test_a_price_ratio_is_the_ratio_of_costs_at_equal_prices(one):
    tie = hc.breakeven(one, PAIR, H100, vary="price_ratio", on="usd_per_mtok_out")
    same = hc.Scenario(usd_per_gpu_h={"RTX 4090": 1, "H100 PCIe 80GB": 1})
    a, b = (_at(one, query, same, "usd_per_mtok_out") for query in (PAIR, H100))
    assert tie["crossing"].item() == pytest.approx(b / a)
    assert (tie["wins_below"].item(), tie["wins_above"].item()) == ("a", "b")


def test_without_a_crossing_the_winner_is_told(one):
    found = hc.breakeven(one, PAIR, H100, vary="gco2e_per_kwh", on="op_gco2e_per_mtok_out")
    assert found["note"].item() in ("", "no crossing: b wins throughout")
    dear = hc.Scenario(usd_per_gpu_h={"RTX 4090": 50})
    found = hc.breakeven(one, PAIR, H100, dear, vary="usd_per_kwh", on="usd_per_mtok_out")
    row = found.iloc[0]
    assert row["note"] == "no crossing: b wins throughout"
    assert (row["wins_below"], row["wins_above"]) == ("b", "b")
    assert np.isnan(row["crossing"])
    twins = one.query(H100)
    twins = pd.concat([twins, twins.assign(n_gpus=1, repeat=2)])
    found = hc.breakeven(twins, "repeat == 1", "repeat == 2", vary="pue", on="usd_per_h")
    assert found["note"].item() == "neither: they tie"


def test_several_crossings_are_all_told(one):
    rows = pd.concat([one.query(PAIR), one.query(H100)]).assign(out_tok_per_s=1000.0)
    scenario = hc.Scenario(
        acquisition={"RTX 4090": "own"},
        usd_per_gpu_h={"H100 PCIe 80GB": 0.35},
        price_as_of="2025-09",
        value_decay_frac=0.05,
        upkeep_frac={"RTX 4090": 0.0},
    )
    costs = [
        _at(rows, PAIR, scenario.but(life_yr={"RTX 4090": years}), "usd_per_h")
        for years in (1, 3, 10)
    ]
    found = hc.breakeven(rows, PAIR, H100, scenario, vary="life_yr", on="usd_per_h", side="a")
    signs = np.sign(np.array(costs) - 0.35)
    assert found["crossing"].notna().sum() >= np.abs(np.diff(signs)).sum() / 2


def test_groups_without_one_side_are_told(best):
    found = hc.breakeven(best, PAIR, H100, vary="price_ratio", on="usd_per_mtok_out")
    lacking = found[found["note"].str.contains("matches no row here")]
    assert len(lacking) > 0
    assert set(found["model"]) >= set(best.query(H100)["model"])


def test_what_cannot_be_computed_is_told(one):
    found = hc.breakeven(
        one.assign(mean_concurrency=np.nan), PAIR, H100, vary="pue", on="site_j_per_tok_out"
    )
    assert "not known; a: no mean_concurrency" in found["note"].item()


def test_the_map_agrees_with_the_line(one):
    scenario = hc.Scenario(acquisition={"RTX 4090": "own"}, usd_per_gpu_h={"H100 PCIe 80GB": 1.2})
    table = hc.breakeven_map(
        one,
        PAIR,
        H100,
        scenario,
        vary=("usd_per_kwh", "load_frac"),
        side=("both", "a"),
        points=(21, 31),
        on="usd_per_mtok_out",
    )
    assert len(table) == 21 * 31
    for price in (0.0, 0.5, 1.0):
        line = hc.breakeven(
            one,
            PAIR,
            H100,
            scenario.but(usd_per_kwh=price),
            vary="load_frac",
            side="a",
            on="usd_per_mtok_out",
        )["crossing"].item()
        row = table[np.isclose(table["usd_per_kwh"], price)]
        assert ((row["load_frac"] > line) == (row["wins"] == "a")).all()


def test_a_table_of_assumptions_has_every_combination(one):
    over = {
        "method": {m: {"embodied_method": m} for m in ("inventory", "act")},
        "site": {"apart": {}, "together": {"site": "datacentre"}},
    }
    table = hc.breakeven_table(
        one, PAIR, H100, over=over, vary="gco2e_per_kwh", on="gco2e_per_mtok_out"
    )
    pairs = set(zip(table["method"], table["site"], strict=True))
    assert pairs == {(m, s) for m in ("inventory", "act") for s in ("apart", "together")}


def test_an_api_pays_below_the_load_it_reports(one):
    for scenario in (hc.Scenario(), hc.Scenario(acquisition="own", price_as_of="2025-09")):
        found = hc.api_breakeven(one, scenario, usd_per_mtok_in=0.1, usd_per_mtok_out=0.4)
        for (_, row), (_, run) in zip(found.iterrows(), one.iterrows(), strict=True):
            load = row["breakeven_load_frac"]
            if np.isnan(load):
                assert row["breakeven_note"] == "the API costs less at any load"
                continue
            there = scenario.but(load_frac=load)
            own = hc.evaluate(pd.DataFrame([run]), there)["usd_per_h"].item()
            own *= load if scenario.acquisition == "own" else 1
            assert own == pytest.approx(row["api_usd_per_h"] * load, rel=1e-9)
            assert row["breakeven_out_tok_per_s"] == pytest.approx(load * run["out_tok_per_s"])
    free = hc.api_breakeven(one, usd_per_mtok_in=0, usd_per_mtok_out=0)
    assert free["breakeven_load_frac"].isna().all()


@pytest.mark.parametrize(
    ("changes", "kind", "told"),
    [
        ({"bounds": (2.0, 1.0)}, AssumptionError, "a low and a higher number belong here"),
        ({"bounds": (0.5, 2.0)}, AssumptionError, "pue=0.5: valid values are 1 or more"),
        ({"bounds": (1.0, np.inf)}, AssumptionError, "a low and a higher number"),
        ({"vary": "pu"}, UnknownNameError, "vary.*first: 'pue'"),
        ({"vary": "price_class"}, UnknownNameError, "vary"),
        ({"vary": "colo_usd_per_kw_month"}, AssumptionError, "say where to look"),
        ({"on": "usd_per_token"}, UnknownNameError, "on.*'usd_per_mtok_out'"),
        ({"side": "left"}, UnknownNameError, "side.*'both'"),
        ({"pick": "best"}, UnknownNameError, "pick.*'cheapest'"),
        ({"a": "gpu == 'TPU'"}, AssumptionError, "a: .* matches no row; the cards are 'H100"),
        ({"a": "gpu = 3 +"}, AssumptionError, "a: .* is no query"),
        ({"a": "gpu == 'RTX 4090'"}, AssumptionError, "a matches 3 rows of .*: 2x RTX 4090"),
        ({"a": H100}, AssumptionError, "a and b are the same row"),
        ({"by": "colour"}, ColumnError, "lacks 'colour'"),
    ],
)
def test_what_makes_no_sense_is_refused(one, changes, kind, told):
    asked = {"a": PAIR, "b": H100, "vary": "pue", "on": "site_j_per_tok_out"} | changes
    a, b = asked.pop("a"), asked.pop("b")
    with pytest.raises(kind, match=f"(?s){told}"):
        hc.breakeven(one, a, b, **asked)


def test_the_cheapest_of_several_is_picked_when_asked(one):
    found = hc.breakeven(
        one, "gpu == 'RTX 4090'", H100, vary="price_ratio", on="usd_per_mtok_out", pick="cheapest"
    )
    assert found["a"].item().startswith("2x RTX 4090"), "two cards cost least per token"


def test_by_nothing_there_is_one_group(one):
    found = hc.breakeven(one, PAIR, H100, vary="price_ratio", on="usd_per_mtok_out", by=[])
    assert len(found) == 1


def test_two_numbers_of_a_map_differ(one):
    with pytest.raises(AssumptionError, match="two different numbers"):
        hc.breakeven_map(one, PAIR, H100, vary=("pue", "pue"), on="site_j_per_tok_out")
