import pickle

import pytest
from pydantic import ValidationError

import hetcost as hc
from hetcost.errors import AssumptionError, HetcostError, UnknownNameError
from hetcost.yaml12 import read_yaml


def test_paper_is_the_studys_assumptions_exactly(paper):
    h100, rtx = (paper[paper["gpu"] == gpu] for gpu in ("H100 PCIe 80GB", "RTX 4090"))
    for rows, usd, watts in ((h100, 2.00, 700), (rtx, 0.25, 450)):
        assert (rows["usd_per_gpu_h"] == usd).all()
        assert (rows["site_w_load"] == watts * rows["n_gpus"].astype(float)).all()
    assert (paper["gco2e_per_kwh"] == 242).all()
    assert (paper["energy_boundary"] == "boards").all()
    assert hc.Scenario.paper().pue == 1.0


def test_the_default_differs_from_the_paper_in_energy_and_carbon_and_not_in_cost(runs):
    ours, theirs = hc.evaluate(runs), hc.evaluate(runs, hc.Scenario.paper())
    assert (ours["usd_per_h"] == theirs["usd_per_h"]).all()
    default = hc.Scenario()
    assert (default.power_model, default.embodied_method) == ("load", "inventory")
    assert (ours["energy_boundary"] == "servers").all()
    assert (ours["gco2e_per_mtok_out"] > ours["op_gco2e_per_mtok_out"]).all()


def test_fields_speak_of_cards():
    mine = hc.Scenario(load_frac={"4090": 0.5}, life_yr=3, embodied_share_frac={"4090": "shared"})
    assert (mine.of("load_frac", "RTX 4090"), mine.of("load_frac", "L4")) == (0.5, None)
    assert (mine.of("life_yr", "L4"), mine.of("pue", "L4")) == (3, None)
    assert hc.Scenario(life_yr={4090: 3}) == hc.Scenario(life_yr={"RTX 4090": 3}), "as YAML has it"
    assert repr(hc.Scenario(pue=1.2)) == "Scenario(pue=1.2)"
    assert hc.Scenario(embodied_share_frac="0.3").embodied_share_frac == 0.3, "as a shell writes it"


@pytest.mark.parametrize(
    ("fields", "kind", "told"),
    [
        ({"price_clas": "x"}, UnknownNameError, "no field 'price_clas'.*first: 'price_class'"),
        ({"price_class": "altrnative"}, UnknownNameError, "price_class.*first: 'alternative'"),
        ({"price_as_of": "May"}, AssumptionError, "price_as_of='May'.*YYYY-MM"),
        ({"price_as_of": "2025-13"}, AssumptionError, "price_as_of"),
        ({"price_as_of": "2025-02-30"}, AssumptionError, "price_as_of"),
        ({"tables": "/nowhere"}, AssumptionError, "tables=.*no such folder"),
        ({"usd_per_gpu_h": {"RTX 4090": -1}}, AssumptionError, r"'RTX 4090'\]=-1: valid values"),
        ({"usd_per_gpu_h": {"RTX 4091": 1}}, UnknownNameError, "usd_per_gpu_h.*first: 'RTX 4090'"),
        ({"usd_per_gpu_h": {"H100": 1}}, UnknownNameError, "may mean.*'H100 SXM 80GB'"),
        ({"usd_per_gpu_h": {"4090": 1, "RTX 4090": 2}}, AssumptionError, "given twice"),
        ({"usd_per_gpu_h": 3}, AssumptionError, "usd_per_gpu_h=3"),
        ({"tdp_w": {"RTX 4090": 0}}, AssumptionError, "watts above 0"),
        ({"tdp_w": {"RTX 4090": float("nan")}}, AssumptionError, "watts above 0"),
        ({"pue": 0.99}, AssumptionError, "pue=0.99: valid values are 1 or more"),
        ({"pue": {"RTX 4090": 0.5}}, AssumptionError, "1 or more"),
        ({"pue": "high"}, AssumptionError, "pue='high'"),
        ({"pue": float("inf")}, AssumptionError, "pue=inf"),
        ({"pue": 1e308}, AssumptionError, "pue=1e"),
        ({"grid_zone": "Germny"}, UnknownNameError, "grid_zone.*first: 'Germany'"),
        ({"grid_year": 1990}, AssumptionError, "grid_year=1990.*'2023'"),
        ({"gco2e_per_kwh": -1}, AssumptionError, "0 or more gCO2e/kWh"),
        ({"gco2e_per_kwh": 50, "grid_zone": "FR"}, AssumptionError, "exclude each other"),
        ({"power_model": "loud"}, UnknownNameError, "power_model.*first: 'load'"),
        ({"perspective": "both"}, UnknownNameError, "perspective.*'attributional'"),
        ({"grid_method": "marginal"}, UnknownNameError, "grid_method.*'lifecycle'"),
        ({"embodied_method": "lca"}, UnknownNameError, "embodied_method.*'inventory'"),
        ({"embodied_boundary": "grave"}, UnknownNameError, "embodied_boundary.*'gate'"),
        ({"act_yield": "seeds"}, UnknownNameError, "act_yield.*'poisson'"),
        ({"idle_baseline": "on"}, UnknownNameError, "idle_baseline.*'off'"),
        ({"site": "garage"}, UnknownNameError, "site.*'home'"),
        ({"site": {"RTX 4090": "garage"}}, UnknownNameError, r"site\['RTX 4090'\].*'home'"),
        ({"tdp_w": 300}, AssumptionError, "tdp_w=300: a mapping by card belongs here"),
        ({"embodied_share_frac": [1]}, AssumptionError, "embodied_share_frac=.1."),
        ({"embodied_kgco2e": {"L4": 0}}, AssumptionError, "kgCO2e above 0"),
        ({"pue": {"RTX 4090": "x"}}, AssumptionError, r"pue\['RTX 4090'\]='x'"),
        ({"acquisition": "steal"}, UnknownNameError, "acquisition.*'rent'"),
        ({"residual_frac": 0.1, "value_decay_frac": 0.2}, AssumptionError, "exclude each other"),
        ({"discount_basis": "nominal"}, AssumptionError, "give discount_frac and inflation_frac"),
        ({"inflation_frac": 0.02}, AssumptionError, "belongs to discount_basis='nominal'"),
        ({"discount_frac": -0.01}, AssumptionError, "discount_frac=-0.01"),
        ({"avail_frac": 0}, AssumptionError, "avail_frac=0: valid values are above 0"),
        ({"hours_per_day": 25}, AssumptionError, "hours_per_day=25"),
        ({"life_yr": 0}, AssumptionError, "life_yr=0: valid values are years above 0"),
        ({"life_yr": {"RTX 4090": -1}}, AssumptionError, r"life_yr\['RTX 4090'\]=-1"),
        ({"load_frac": 0}, AssumptionError, "load_frac=0: valid values are above 0, at most 1"),
        ({"load_frac": 1.5}, AssumptionError, "load_frac=1.5"),
        ({"assigned_frac": -0.1}, AssumptionError, "assigned_frac=-0.1"),
        ({"embodied_share_frac": 1.1}, AssumptionError, "embodied_share_frac=1.1"),
        ({"embodied_share_frac": "used"}, AssumptionError, "'new', 'sunk', 'shared' or 0 to 1"),
        ({"embodied_share_frac": None}, AssumptionError, "'new', 'sunk', 'shared' or 0 to 1"),
        ({"psu_efficiency_frac": 0}, AssumptionError, "psu_efficiency_frac=0"),
        ({"td_loss_frac": 1}, AssumptionError, "td_loss_frac=1: valid values are 0 or more, below"),
        ({"host_w_load_per_gpu": -5}, AssumptionError, "host_w_load_per_gpu=-5"),
        ({"marginal_gco2e_per_kwh": -1}, AssumptionError, "marginal_gco2e_per_kwh=-1"),
        ({"market_gco2e_per_kwh": "green"}, AssumptionError, "market_gco2e_per_kwh='green'"),
    ],
)
def test_nonsense_names_field_value_and_what_is_valid(fields, kind, told):
    with pytest.raises(kind, match=f"(?s){told}") as caught:
        hc.Scenario(**fields)
    assert isinstance(caught.value, HetcostError)


def test_aliases_become_canonical():
    scenario = hc.Scenario(grid_zone="germany", usd_per_gpu_h={"4090": 0.3})
    assert scenario.grid_zone == "DE"
    assert scenario.usd_per_gpu_h == {"RTX 4090": 0.3}
    assert hc.Scenario(grid_zone="NA").grid_zone == "NA", "Namibia is not missing"


def test_a_scenario_cannot_be_changed_but_yields_others():
    base = hc.Scenario(pue=1.2)
    with pytest.raises(ValidationError, match="frozen"):
        base.pue = 1.0
    assert base.but(pue=1.1).pue == 1.1
    assert base.pue == 1.2
    assert base.but() == base
    assert pickle.loads(pickle.dumps(base)) == base
    prices = {"RTX 4090": 0.3}
    mine = hc.Scenario(usd_per_gpu_h=prices)
    prices["RTX 4090"] = 9.0
    assert mine.usd_per_gpu_h == {"RTX 4090": 0.3}
    with pytest.raises(TypeError, match="cannot be changed"):
        mine.usd_per_gpu_h["RTX 4090"] = 9.0
    with pytest.raises(TypeError, match="cannot be changed"):
        mine.usd_per_gpu_h.update({"RTX 4090": 9.0})
    assert pickle.loads(pickle.dumps(mine)) == mine
    assert len({mine, hc.Scenario(usd_per_gpu_h={"4090": 0.3}), base}) == 2


def test_zone_and_own_intensity_replace_each_other():
    own = hc.Scenario(grid_zone="FR").but(gco2e_per_kwh=50)
    assert (own.grid_zone, own.grid_year, own.gco2e_per_kwh) == (None, 2023, 50)
    back = own.but(grid_zone="DE")
    assert (back.grid_zone, back.grid_year, back.gco2e_per_kwh) == ("DE", 2023, None)
    assert hc.Scenario(grid_zone="FR").but(gco2e_per_kwh=None).grid_zone == "FR"
    with pytest.raises(AssumptionError, match="give a zone"):
        back.but(grid_zone=None)
    with pytest.raises(AssumptionError, match="exclude"):
        own.but(grid_zone="DE", gco2e_per_kwh=1)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("010", 10),
        ("-5", -5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1:30", "1:30"),
        ("1_0", "1_0"),
        ("0x1F", "0x1F"),
        ("2025-05", "2025-05"),
        ("NO", "NO"),
        ("true", True),
        ("true story", "true story"),
        ("~", None),
    ],
)
def test_yaml_is_read_as_people_mean_it(text, read):
    (value,) = read_yaml(f"a: {text}").values()
    assert value == read
    assert type(value) is type(read)


def test_a_key_that_stands_twice_in_yaml_is_refused():
    for text in ("gpu: RTX 4090\ngpu: H200", "a: {b: 1, b: 1}"):
        with pytest.raises(AssumptionError, match="stands twice"):
            read_yaml(text)


def test_a_scenario_goes_to_yaml_and_back(tmp_path):
    for scenario in (
        hc.Scenario(),
        hc.Scenario.paper(),
        hc.Scenario(gco2e_per_kwh=5, pue={"4090": 1.1}),
    ):
        scenario.to_yaml(tmp_path / "s.yaml")
        assert hc.Scenario.from_yaml(tmp_path / "s.yaml") == scenario
    (tmp_path / "s.yaml").write_text("grid_zone: NO\nprice_as_of: 2025-05-07\n")
    norway = hc.Scenario.from_yaml(tmp_path / "s.yaml")
    assert (norway.grid_zone, norway.price_as_of) == ("NO", "2025-05-07")
    for text in ("- 1", "pue: 0.5", "pu: 1", "{", ""):
        (tmp_path / "s.yaml").write_text(text)
        with pytest.raises(HetcostError):
            hc.Scenario.from_yaml(tmp_path / "s.yaml")


def test_the_newest_price_not_later_is_taken(runs):
    def usd(as_of):
        out = hc.evaluate(runs, hc.Scenario(price_as_of=as_of))
        rows = out[["gpu", "usd_per_gpu_h", "price_basis"]].itertuples(index=False)
        return {gpu: (usd, basis) for gpu, usd, basis in rows}

    assert usd("2025-05")["H100 PCIe 80GB"] == (2.00, "alternative, 2025-05")
    assert usd("2025-11-13")["H100 PCIe 80GB"] == (2.00, "alternative, 2025-05")
    assert usd("2025-11-14")["H100 PCIe 80GB"] == (1.99, "alternative, 2025-11-14")
    assert usd("2025-12")["RTX 4090"] == (0.25, "alternative, 2025-05")
    assert usd("2026")["RTX 4090"][1] == "alternative, 2026-08-22"
    before = hc.evaluate(runs, hc.Scenario(price_as_of="2025-04"))
    assert before["usd_per_h"].isna().all()
    assert before["cost_note"].str.contains("as of 2025-04").all()
