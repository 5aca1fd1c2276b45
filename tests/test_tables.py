"""A user's own tables of facts, laid over ours."""

import pandas as pd
import pytest
from conftest import ROOT
from test_cli import _run

import hetcost as hc
from hetcost.errors import AmbiguousNameError, ReferenceDataError, UnknownNameError
from hetcost.reference import tables

HEADER = ",".join(tables.FACT_COLUMNS)
BOARDS = {
    "power_model": "nameplate",
    "host_w_load_per_gpu": 0,
    "host_w_idle_per_gpu": 0,
    "psu_efficiency_frac": 1,
    "pue": 1,
}
OWN = "our contract,https://example.org/contract,{date},facts only,A,"


def _table(folder, name, *rows):
    folder.mkdir(exist_ok=True)
    lines = [
        f"{entity},{what},{value},,,{unit},{OWN.format(date=date)}"
        for entity, what, value, unit, date in rows
    ]
    (folder / f"{name}.csv").write_text("\n".join([HEADER, *lines]) + "\n", "utf-8")
    return folder


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "own"
    _table(
        folder,
        "gpus",
        ("RTX 4090", "tdp_w", 350, "W", "2026"),
        ("RTX 5060", "tdp_w", 180, "W", "2026"),
    )
    _table(folder, "gpu_aliases", ("RTX 5060", "alias", "NVIDIA GeForce RTX 5060", "text", "2026"))
    _table(
        folder,
        "prices",
        ("RTX 4090", "alternative_usd_per_gpu_h", 0.2, "USD/GPU/h", "2025-05"),
        ("RTX 5060", "alternative_usd_per_gpu_h", 0.05, "USD/GPU/h", "2025-04"),
    )
    return _table(folder, "grids", ("XX", "lifecycle_gco2e_per_kwh", 11, "gCO2e/kWh", "2023"))


def _row(gpu):
    rates = {"out_tok_per_s": 100.0, "all_tok_per_s": 200.0, "mean_concurrency": 8.0}
    return pd.DataFrame([{"gpu": gpu, "n_gpus": 1, **rates}])


def test_own_facts_go_before_ours_and_the_rest_stays(own):
    mine = hc.Scenario(tables=own, **BOARDS)
    rtx = hc.evaluate(_row("RTX 4090"), mine).iloc[0]
    assert (rtx["usd_per_gpu_h"], rtx["site_w_load"]) == (0.2, 350)
    h100 = hc.evaluate(_row("H100 PCIe 80GB"), mine).iloc[0]
    assert (h100["usd_per_gpu_h"], h100["site_w_load"]) == (2.0, 350)
    assert hc.evaluate(_row("RTX 4090")).iloc[0]["usd_per_gpu_h"] == 0.25, "ours are as before"


def test_a_card_and_a_zone_of_ones_own(own):
    mine = hc.Scenario(tables=own, grid_zone="XX", td_loss_frac=0, **BOARDS | {"pue": 1.5})
    row = hc.evaluate(_row("NVIDIA GeForce RTX 5060"), mine).iloc[0]
    assert (row["usd_per_gpu_h"], row["site_w_load"], row["gco2e_per_kwh"]) == (0.05, 270, 11)
    by_load = hc.evaluate(_row("NVIDIA GeForce RTX 5060"), hc.Scenario(tables=own)).iloc[0]
    assert 0 < by_load["gpu_w_load"] < 180
    assert by_load["carbon_note"] == "no embodied carbon known for RTX 5060"
    with pytest.raises(UnknownNameError):
        hc.evaluate(_row("RTX 5060"))
    with pytest.raises(UnknownNameError):
        hc.Scenario(grid_zone="XX")


def test_facts_used_tell_their_origin(own):
    runs = pd.concat([_row("RTX 4090"), _row("H100 PCIe 80GB")])
    used = hc.facts_used(runs, hc.Scenario(tables=own, usd_per_gpu_h={"H100 PCIe 80GB": 3}))
    origin = used.set_index(["entity", "quantity"])["origin"]
    assert origin["RTX 4090", "tdp_w"] == str(own / "gpus.csv")
    assert origin["H100 PCIe 80GB", "tdp_w"] == "hetcost"
    assert origin["H100 PCIe 80GB", "usd_per_gpu_h"] == "scenario"
    assert origin["EU27", "lifecycle_gco2e_per_kwh"] == "hetcost"
    values = pd.to_numeric(used.loc[used["unit"] != "text", "value"])
    assert (values.dropna() > 0).all()
    asked = {"tdp_w", "idle_loaded_w", "pue", "life_yr", "psu_efficiency_frac", "td_loss_frac"}
    assert asked <= set(used["quantity"])
    assert not used.duplicated(["entity", "quantity", "date", "source"]).any()
    boards = hc.facts_used(runs, hc.Scenario(**BOARDS, embodied_method="none"))
    assert set(boards.loc[boards["entity"] == "RTX 4090", "quantity"]) == {
        "alternative_usd_per_gpu_h",
        "tdp_w",
        "tier",
        "idle_loaded_w",
    }
    stated = boards[boards["source"] == "scenario"].set_index("quantity")["value"]
    assert stated.to_dict() == {**BOARDS, "embodied_method": "none"}


@pytest.mark.parametrize(
    ("table", "row", "told"),
    [
        ("prices", ("RTX 4090", "alternative_usd_per_gpu_h", -1, "USD/GPU/h", "2025"), "line 2"),
        ("prices", ("RTX 4090", "spot_usd_per_gpu_h", 1, "USD/GPU/h", "2025"), "quantity is none"),
        ("prices", ("RTX 4090", "alternative_usd_per_gpu_h", 1, "EUR", "2025"), "unit is not"),
        ("grids", ("DE", "lifecycle_gco2e_per_kwh", 1, "gCO2e/kWh", "undated"), "date is none"),
    ],
)
def test_own_tables_are_checked_as_ours_are(tmp_path, table, row, told):
    own = _table(tmp_path / "own", table, row)
    with pytest.raises(ReferenceDataError, match=told):
        tables.facts(table, own)


def test_a_shifted_row_or_a_name_written_otherwise_is_told(own):
    path = own / "gpus.csv"
    good = path.read_text()
    path.write_text(good.replace("A,\n", "A,,\n", 1))
    with pytest.raises(ReferenceDataError, match="not a table"):
        tables.facts("gpus", own)
    path.write_text(good.replace("RTX 4090,", "rtx 4090,"))
    with pytest.raises(ReferenceDataError, match="'rtx 4090' is written 'RTX 4090'"):
        tables.facts("gpus", own)


def test_a_folder_without_tables_is_told(tmp_path):
    with pytest.raises(ReferenceDataError, match=r"none of 'gpus\.csv'"):
        tables.facts("gpus", tmp_path)


def test_an_alias_that_means_two_cards(tmp_path):
    own = _table(tmp_path / "own", "gpu_aliases", ("L4", "alias", "RTX 4090", "text", "2026"))
    with pytest.raises(AmbiguousNameError, match="'L4'"):
        hc.evaluate(_row("RTX 4090"), hc.Scenario(tables=own))


def test_the_commands_take_own_tables(own, tmp_path):
    done = _run("--tables", own, "cost", "ionet-2025", "-o", "c.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    costs = pd.read_csv(tmp_path / "c.csv")
    assert set(costs.loc[costs["gpu"] == "RTX 4090", "usd_per_gpu_h"]) == {0.2}
    assert costs["gpu_w_load_hi"].max() <= 8 * 350
    assert _run("--tables", "nowhere", "claims", cwd=tmp_path).returncode == 2


@pytest.mark.slow
def test_a_report_shows_the_origin_of_own_facts(own, tmp_path):
    done = _run("--tables", own, "report", "sweet_spot", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert str(own / "prices.csv") in index
    assert "our contract" in index
    assert (ROOT / "data" / "reference" / "prices.csv").exists()
