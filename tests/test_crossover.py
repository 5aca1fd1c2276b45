"""Break-evens: where they lie, who wins, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B

import hetcost as hc
from hetcost.crossover.pairs import Along, Problem
from hetcost.errors import AssumptionError, ColumnError, UnknownNameError
from hetcost.impacts import variable_fields

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
    scenario = hc.Scenario(acquisition={"RTX 4090": "own"}, usd_per_gpu_h={"H100 PCIe 80GB": 0.6})
    tie = hc.breakeven(one, PAIR, H100, scenario, vary="load_frac", on="usd_per_h", side="a")
    load = tie["crossing"].item()
    own = _at(one, PAIR, scenario.but(load_frac={"RTX 4090": load}), "usd_per_h")
    assert own == pytest.approx(0.6, rel=1e-9)
    assert (tie["wins_below"].item(), tie["wins_above"].item()) == ("b", "a")
    assert tie["value_at_crossing"].item() == pytest.approx(0.6, rel=1e-9)


OWN = {"acquisition": {"RTX 4090": "own"}, "usd_per_gpu_h": {"H100 PCIe 80GB": 0.9}}
OLD = {"life_yr": {"H100 PCIe 80GB": 0.5, "RTX 4090": 20}}


@pytest.mark.parametrize(
    ("vary", "on", "fields", "side", "bounds"),
    [
        ("gco2e_per_kwh", "gco2e_per_mtok_out", OLD, "both", None),
        ("usd_per_kwh", "usd_per_mtok_out", OWN, "both", (0.0, 9.0)),
        ("pue", "site_j_per_tok_out", {"pue": {"RTX 4090": 1}}, "b", (1.0, 9.0)),
        ("life_yr", "usd_per_mtok_out", OWN | {"value_decay_frac": 0.3}, "a", (0.2, 9.0)),
        ("load_frac", "usd_per_mtok_out", OWN, "a", None),
        ("discount_frac", "usd_per_mtok_out", OWN, "a", (0.0, 9.0)),
        ("psu_efficiency_frac", "it_j_per_tok_out", {}, "b", (0.1, 1.0)),
        ("embodied_share_frac", "emb_gco2e_per_mtok_out", {}, "a", (0.01, 1.0)),
        ("host_kgco2e_per_gpu", "emb_gco2e_per_mtok_out", {}, "b", (0.0, 9000.0)),
        ("usd_per_gpu_h", "usd_per_mtok_out", {}, "a", (0.01, 9.0)),
    ],
)
def test_at_every_crossing_the_two_are_equal(best, vary, on, fields, side, bounds):
    scenario = hc.Scenario(**fields)
    found = hc.breakeven(best, PAIR, H100, scenario, vary=vary, on=on, side=side, bounds=bounds)
    crossings = found.dropna(subset=["crossing"])
    assert len(crossings) > 0
    for _, row in crossings.iterrows():
        cards = {"a": ["RTX 4090"], "b": ["H100 PCIe 80GB"]}.get(side)
        before = getattr(scenario, vary)
        kept = dict(before) if isinstance(before, dict) else {}
        change = row["crossing"] if cards is None else kept | dict.fromkeys(cards, row["crossing"])
        there, rows = scenario.but(**{vary: change}), best[best["model"] == row["model"]]
        a, b = (_at(rows, query, there, on) for query in (PAIR, H100))
        assert a == pytest.approx(b, rel=1e-9)


VARIED = {
    "usd_per_gpu_h": (0.1, 3),
    "tdp_w": (200, 500),
    "pue": (1, 1.7),
    "life_yr": (1, 8),
    "gco2e_per_kwh": (10, 600),
    "marginal_gco2e_per_kwh": (10, 600),
    "embodied_kgco2e": (20, 300),
    "host_kgco2e_per_gpu": (0, 500),
    "host_w_load_per_gpu": (10, 300),
    "host_w_idle_per_gpu": (5, 100),
    "idle_w": (5, 60),
    "capex_usd": (0, 50_000),
    "host_capex_usd_per_gpu": (0, 9000),
    "colo_usd_per_kw_month": (0, 300),
    "hours_per_day": (5, 24),
    "value_decay_frac": (0, 0.5),
}
SCENARIOS = [
    {},
    {"acquisition": "own", "load_frac": 0.6, "power_model": "all_in"},
    {"acquisition": "own", "value_decay_frac": 0.3},
    {
        "acquisition": "own",
        "discount_basis": "nominal",
        "discount_frac": 0.1,
        "inflation_frac": 0.03,
    },
    {"acquisition": "idle", "embodied_share_frac": "shared", "assigned_frac": 0.5},
    {"acquisition": "spot", "embodied_boundary": "gate"},
    {"perspective": "consequential", "marginal_gco2e_per_kwh": 500},
    {
        "perspective": "consequential",
        "embodied_share_frac": "sunk",
        "induced_frac": 0.2,
        "idle_baseline": "idle",
    },
]


@pytest.mark.parametrize(
    "fields",
    [*SCENARIOS[:2], *(pytest.param(each, marks=pytest.mark.slow) for each in SCENARIOS[2:])],
)
def test_what_a_breakeven_computes_is_what_is_evaluated(one, fields):
    scenario = hc.Scenario(**fields)
    pair = pd.concat([one.query(PAIR), one.query(H100)], ignore_index=True)
    problem, compared = Problem(pair, PAIR, H100, scenario, "model", None), 0
    for vary in variable_fields():
        low, high = VARIED.get(vary, (0.1, 0.9))
        there = None
        for on in ("usd_per_h", "site_j_per_tok_out", "gco2e_per_mtok_out"):
            try:
                along = Along(problem, vary, "both", on).checked(low, high)
            except AssumptionError:
                continue
            if there is None:
                there = hc.evaluate(pair, problem.solved.stated(vary, high))
            found = along.values(np.array([float(high)]))[:, 0]
            np.testing.assert_allclose(found, there[on], rtol=1e-9, err_msg=f"{vary}, {on}")
            compared += 1
    assert compared > 50


def test_swapping_a_and_b_mirrors_the_answer(best):
    sunk = hc.Scenario(
        perspective="consequential",
        idle_baseline="idle",
        embodied_share_frac="sunk",
        induced_frac=0.1,
    )
    asked = [
        (sunk, {"vary": "tdp_w", "on": "gpu_j_per_tok_out", "bounds": (5, 1000)}),
        (hc.Scenario(**OLD), {"vary": "gco2e_per_kwh", "on": "gco2e_per_mtok_out"}),
    ]
    other = {"a": "b", "b": "a", "tie": "tie"}
    for scenario, what in asked:
        one = hc.breakeven(best, PAIR, H100, scenario, **what)
        two = hc.breakeven(best, H100, PAIR, scenario, **what)
        np.testing.assert_allclose(one["crossing"], two["crossing"], rtol=1e-9)
        for column in ("wins_below", "wins_above"):
            assert (
                one[column].map(other).tolist() == two[column].tolist() or one[column].isna().any()
            )


def test_where_a_result_is_not_known_it_is_told(one):
    sunk = hc.Scenario(
        perspective="consequential",
        idle_baseline="idle",
        embodied_share_frac="sunk",
        induced_frac=0.1,
    )
    found = hc.breakeven(
        one, PAIR, H100, sunk, vary="tdp_w", on="gpu_j_per_tok_out", bounds=(5, 1000)
    )
    assert "not known at some values between 5 and" in found["note"].iloc[0]


def test_what_changes_other_figures_too_is_to_be_stated_first(one):
    asked = {"vary": "value_decay_frac", "on": "usd_per_h", "bounds": (0.1, 0.9)}
    with pytest.raises(AssumptionError, match="changes 'residual_frac' as well; state it in the"):
        hc.breakeven(one, PAIR, H100, hc.Scenario(acquisition="own"), **asked)


def test_a_number_may_decide_on_one_side_alone(one):
    share = {"embodied_share_frac": {"RTX 4090": "sunk"}, "induced_frac": {"RTX 4090": 0.2}}
    scenario = hc.Scenario(perspective="consequential", **share)
    asked = {"vary": "induced_frac", "on": "emb_gco2e_per_mtok_out"}
    assert hc.breakeven(one, PAIR, H100, scenario, side="a", **asked)["wins_below"].item() == "a"
    with pytest.raises(AssumptionError, match="does not decide"):
        hc.breakeven(one, PAIR, H100, scenario, side="b", **asked)


def test_two_that_tie_over_a_stretch_begin_and_cease_to(one):
    row = one.query(PAIR)
    twins = pd.concat([row, row.assign(mean_concurrency=1.2)], ignore_index=True)
    a, b = "mean_concurrency > 2", "mean_concurrency < 2"
    asked = {"vary": "tdp_w", "on": "gpu_j_per_tok_out", "bounds": (100, 450)}
    found = hc.breakeven(twins, a, b, **asked)
    assert found[["wins_below", "wins_above"]].to_numpy().tolist() == [["tie", "b"]]
    assert 240 < found["crossing"].item() < 260, "246 W is what one request at a time draws"


def test_where_nothing_is_charged_to_either_there_is_no_tie_to_tell(one):
    asked = {"on": "op_gco2e_per_mtok_out"}
    found = hc.breakeven(one, PAIR, H100, vary="gco2e_per_kwh", **asked)
    assert found["note"].item() == "no crossing: b wins throughout"
    vary = ("gco2e_per_kwh", "pue")
    table = hc.breakeven_map(one, PAIR, H100, vary=vary, points=(2, 2), **asked)
    assert table["wins"].tolist() == ["tie", "tie", "b", "b"]


def test_a_number_that_changes_nothing_is_told(one):
    found = hc.breakeven(one, PAIR, H100, vary="usd_per_kwh", on="usd_per_mtok_out")
    assert found["note"].item().endswith("(usd_per_kwh changes nothing here)")


@pytest.mark.parametrize("query", ["gpu == @query", "", None, 3])
def test_a_query_is_of_columns_and_values(one, query):
    with pytest.raises(AssumptionError, match="a query of columns and values belongs here"):
        hc.breakeven(one, query, H100, vary="pue", on="site_j_per_tok_out")


@pytest.mark.parametrize(
    "changes",
    [{"points": (-1, 2)}, {"points": 3}, {"vary": "pue"}, {"bounds": None}, {"side": "a"}],
)
def test_a_map_is_of_two(one, changes):
    asked = {"vary": ("pue", "load_frac"), "on": "site_j_per_tok_out"} | changes
    with pytest.raises(AssumptionError, match=r"breakeven_map: .* belong"):
        hc.breakeven_map(one, PAIR, H100, **asked)


@pytest.mark.parametrize("price", ["1", None, float("inf"), -1, float("nan")])
def test_an_api_has_a_price(one, price):
    with pytest.raises(AssumptionError, match=r"usd_per_mtok_out=.*a price of 0 or more"):
        hc.api_breakeven(one, usd_per_mtok_in=0.1, usd_per_mtok_out=price)


def test_a_price_ratio_is_the_ratio_of_costs_at_equal_prices(one):
    tie = hc.breakeven(one, PAIR, H100, vary="price_ratio", on="usd_per_mtok_out")
    same = hc.Scenario(usd_per_gpu_h={"RTX 4090": 1, "H100 PCIe 80GB": 1})
    a, b = (_at(one, query, same, "usd_per_mtok_out") for query in (PAIR, H100))
    assert tie["crossing"].item() == pytest.approx(b / a)
    assert (tie["wins_below"].item(), tie["wins_above"].item()) == ("a", "b")


def test_without_a_crossing_the_winner_is_told(one):
    dear = hc.Scenario(usd_per_gpu_h={"RTX 4090": 50}, acquisition={"H100 PCIe 80GB": "own"})
    found = hc.breakeven(one, PAIR, H100, dear, vary="usd_per_kwh", on="usd_per_mtok_out")
    row = found.iloc[0]
    assert row["note"] == "no crossing: b wins throughout"
    assert (row["wins_below"], row["wins_above"]) == ("b", "b")
    assert np.isnan(row["crossing"])
    twins = one.query(H100)
    twins = pd.concat([twins, twins.assign(n_gpus=1, repeat=2)])
    found = hc.breakeven(twins, "repeat == 1", "repeat == 2", vary="pue", on="site_j_per_tok_out")
    assert found["note"].item() == "they tie throughout"


def test_several_crossings_are_all_told(one):
    rows = pd.concat([one.query(PAIR), one.query(H100)]).assign(out_tok_per_s=1000.0)
    scenario = hc.Scenario(
        acquisition={"RTX 4090": "own"},
        value_decay_frac=0.08,
        discount_frac=0.1,
        residual_frac=None,
        price_as_of="2025-09",
    )
    years = np.linspace(0.5, 40, 80)
    costs = [_at(rows, PAIR, scenario.but(life_yr={"RTX 4090": y}), "usd_per_h") for y in years]
    level = (min(costs) + min(costs[0], costs[-1])) / 2
    rent = scenario.but(usd_per_gpu_h={"H100 PCIe 80GB": level})
    turns = np.count_nonzero(np.diff(np.sign(np.array(costs) - level)))
    found = hc.breakeven(
        rows, PAIR, H100, rent, vary="life_yr", on="usd_per_h", side="a", bounds=(0.5, 40)
    )
    assert found["crossing"].notna().sum() == turns
    for years in found["crossing"].dropna():
        there = rent.but(life_yr={"RTX 4090": years})
        assert _at(rows, PAIR, there, "usd_per_h") == pytest.approx(level, rel=1e-9)


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
        ({"bounds": ("low", 2)}, AssumptionError, "a low and a higher number"),
        ({"vary": "price_ratio", "side": "a"}, AssumptionError, "a price ratio is of both sides"),
        ({"vary": "marginal_gco2e_per_kwh"}, AssumptionError, "does not belong to perspective"),
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


@pytest.mark.parametrize(
    "vary",
    [("pue", "pue"), ("embodied_share_frac", "induced_frac"), ("price_ratio", "usd_per_gpu_h")],
)
def test_two_numbers_of_a_map_decide_on_different_things(one, vary):
    ends = ((0.1, 0.9), (0.1, 0.9)) if "pue" not in vary else (None, None)
    with pytest.raises(AssumptionError, match="breakeven_map: vary="):
        hc.breakeven_map(one, PAIR, H100, vary=vary, bounds=ends, on="gco2e_per_mtok_out")


def test_a_map_of_one_number_on_either_side(one):
    owned = hc.Scenario(acquisition="own", price_as_of="2025-09")
    table = hc.breakeven_map(
        one,
        PAIR,
        H100,
        owned,
        vary=("load_frac", "load_frac"),
        side=("a", "b"),
        points=(5, 7),
        on="usd_per_mtok_out",
    )
    assert len(table) == 35
    row = table.iloc[12]
    there = owned.but(
        load_frac={"RTX 4090": row["load_frac_a"], "H100 PCIe 80GB": row["load_frac_b"]}
    )
    a, b = (_at(one, query, there, "usd_per_mtok_out") for query in (PAIR, H100))
    assert row["a_over_b"] == pytest.approx(a / b)


def test_a_map_tells_groups_that_lack_a_row(best):
    with pytest.warns(hc.DataWarning, match="groups lack a row"):
        hc.breakeven_map(
            best, PAIR, H100, vary=("pue", "load_frac"), points=(2, 2), on="site_j_per_tok_out"
        )


def test_like_is_compared_with_like(one, runs):
    mixed = pd.concat([one.query(PAIR), runs[runs["model"] == MODEL_14B].query(H100).head(1)])
    with pytest.raises(AssumptionError, match="a is at capacity, b as loaded"):
        hc.breakeven(mixed, PAIR, H100, vary="pue", on="site_j_per_tok_out")


def test_assumptions_of_a_table_do_not_undo_each_other(one):
    twice = {"x": {"low": {"pue": 1.0}}, "y": {"high": {"pue": 1.5}}}
    asked = {"vary": "gco2e_per_kwh", "on": "gco2e_per_mtok_out"}
    for over in (twice, {"x": {}}, {"on": {"one": {"pue": 1.0}}}):
        with pytest.raises(AssumptionError, match="over: "):
            hc.breakeven_table(one, PAIR, H100, over=over, **asked)


def test_hardware_that_costs_nothing_when_idle_beats_an_api_at_any_load(one):
    idle = hc.Scenario(acquisition="idle", price_as_of="2025-09")
    found = hc.api_breakeven(one, idle, usd_per_mtok_in=0.1, usd_per_mtok_out=0.4)
    beats = found[found["api_usd_per_h"] > found["self_usd_per_h"]]
    assert (beats["breakeven_note"] == "the hardware costs less at any load").all()
    assert (beats["breakeven_load_frac"] == 0).all()
