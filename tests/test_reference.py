"""The contract of the tables of facts."""

import shutil

import pandas as pd
import pytest

from hetcost import reference, resources
from hetcost.errors import ReferenceDataError, UnknownNameError
from hetcost.reference import tables

TABLES = list(tables.UNITS)


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_unit_source_date_licence_and_quality(table):
    rows = reference.facts(table)
    assert not rows.empty
    for name in ("entity", "quantity", "unit", "source", "url", "date", "licence", "quality"):
        assert (rows[name].str.strip() != "").all(), name
    addressed = rows["url"].str.startswith("https://")
    kept = rows["url"] == "observation; address not kept"
    assumed = rows["source"] == "assumption of this project"
    assert (addressed | kept | assumed).all()
    assert rows.loc[kept, "quality"].isin(["C", "D", "X"]).all()
    assert set(rows.loc[assumed, "quality"]) <= {"D"}
    assert (rows.loc[assumed, "url"] == "none").all()
    between = rows[["value", "low", "high"]].apply(pd.to_numeric, errors="coerce").dropna()
    assert ((between["low"] <= between["value"]) & (between["value"] <= between["high"])).all()


def test_the_seventeen_cards_with_their_quantities():
    gpus = reference.gpus()
    assert len(gpus) == 17
    complete = ["vendor", "tier", "form_factor", "tdp_w", "memory_gb"]
    assert gpus[[*complete, "bandwidth_gb_per_s"]].notna().all(axis=None)
    assert set(gpus.index[gpus["fp16_tflop_per_s"].isna()]) == {"RTX 6000 Ada", "A10G"}
    assert set(gpus["tier"]) == {"consumer", "workstation", "datacenter"}


def test_the_h100_pcies_power_is_the_boards_and_the_studys_is_kept_apart():
    rows = reference.facts("gpus").query("entity == 'H100 PCIe 80GB' and quantity == 'tdp_w'")
    assert dict(zip(rows["value"], rows["quality"], strict=True)) == {"350": "A", "700": "X"}
    assert reference.gpus()["tdp_w"]["H100 PCIe 80GB"] == 350
    assert reference.study_tdp_w() == {"H100 PCIe 80GB": 700.0, "RTX 4090": 450.0}


def test_names_of_other_tables_are_canonical():
    gpus = set(reference.gpus().index)
    assert set(reference.facts("gpu_aliases")["entity"]) == gpus
    assert set(reference.facts("prices")["entity"]) <= gpus
    siblings = reference.facts("power").query("quantity == 'watts_of'")
    assert set(siblings["entity"]) | set(siblings["value"]) <= gpus
    classes = {"datacentre boards", "boards without a curve"}
    assert set(reference.facts("power")["entity"]) <= gpus | classes
    act = reference.facts("act")
    for quantity, defines in (("node", "epa_kwh_per_cm2"), ("memory", "memory_kgco2e_per_gb")):
        named = act[act["quantity"] == quantity]
        assert set(named["entity"]) == gpus
        assert set(named["value"]) <= set(act.loc[act["quantity"] == defines, "entity"])


def test_every_card_has_an_idle_power_and_a_load_curve_has_its_points_in_order():
    for gpu in reference.gpus().index:
        assert reference.idle_fact(gpu, bare=True)["value"] > 0
        points = reference.load_facts(gpu)
        assert points["at_concurrency"].is_monotonic_increasing
        assert (points["value"] > 0).all()


def test_a_site_kind_has_all_its_figures():
    for kind in reference.site_kinds():
        for quantity in tables.UNITS["sites"]:
            if quantity != "td_loss_frac":
                assert reference.site_fact(kind, quantity)["value"] > 0, (kind, quantity)
    assert reference.site_kinds() == ["datacentre", "hyperscale", "home"]
    assert reference.site_fact("datacentre", "pue", 2024)["value"] == 1.56
    assert reference.td_loss_fact("DE")["entity"] == "any zone"


def test_every_zone_has_a_recent_intensity_and_a_name():
    grids = reference.grids()
    assert grids["zone"].nunique() >= 200
    assert (grids["year"] >= 2022).all()
    assert grids["name"].notna().all()
    assert (grids["gco2e_per_kwh"] > 0).all()
    row = grids.query("zone == 'EU27' and year == 2023")
    assert row["gco2e_per_kwh"].item() == 242
    assert not grids.duplicated(["zone", "year"]).any()


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("NVIDIA-H100-PCIe", "H100 PCIe 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM 80GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("h100 pcie 80gb", "H100 PCIe 80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100 SXM 80GB"),
    ],
)
def test_aliases(written, canonical):
    assert reference.gpu_name(written) == canonical


def test_ambiguous_names_list_what_they_may_mean():
    with pytest.raises(UnknownNameError, match=r"'H100 PCIe 80GB'.*'H100 SXM 80GB'"):
        reference.gpu_name("H100")
    with pytest.raises(UnknownNameError, match="A100 PCIe 80GB"):
        reference.gpu_name("NVIDIA A100")


@pytest.mark.parametrize("written", ["DE", "de", "DEU", "Germany", "germany"])
def test_zones_go_by_code_and_name(written):
    assert reference.zone_code(written) == "DE"


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    shutil.copytree(resources.data_dir(), tmp_path / "data")
    monkeypatch.setattr(tables, "data_dir", lambda: tmp_path / "data")
    return tmp_path / "data" / "reference"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("quantity,value", "quantity,worth", "the header must read"),
        (",W,", ",kW,", "unit is not"),
        (",350,", ",many,", "'value' is no number"),
        (",350,", ",-350,", "'value' is no number of 0 or more"),
        (",2022-11-30,", ",last winter,", "date is none of"),
        (",facts only,A,", ",facts only,AA,", "quality is none of"),
        (",facts only,A,", ",,A,", "'licence' is empty"),
    ],
)
def test_a_broken_row_is_refused_with_file_and_line(own_data, old, new, told):
    path = own_data / "gpus.csv"
    lines = path.read_text("utf-8").splitlines()
    target = (
        0
        if old.startswith("quantity")
        else next(n for n, line in enumerate(lines) if "PB-11133" in line)
    )
    assert old in lines[target]
    lines[target] = lines[target].replace(old, new, 1)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    where = (
        "gpus.csv" if target == 0 else rf"gpus\.csv, line {target + 1} \(H100 PCIe 80GB, tdp_w\)"
    )
    with pytest.raises(ReferenceDataError, match=f"{where}: {told}"):
        reference.facts("gpus")


def test_a_doubled_row_is_refused(own_data):
    path = own_data / "prices.csv"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1]]) + "\n", "utf-8")
    with pytest.raises(ReferenceDataError, match="a second row for the same"):
        reference.facts("prices")


def test_an_edited_table_is_seen_at_once(own_data):
    assert reference.price_fact("RTX 4090", "alternative", "2025-05")["value"] == 0.25
    path = own_data / "prices.csv"
    text = path.read_text("utf-8").replace(
        "RTX 4090,alternative_usd_per_gpu_h,0.25,", "RTX 4090,alternative_usd_per_gpu_h,0.3125,"
    )
    path.write_text(text, "utf-8")
    assert reference.price_fact("RTX 4090", "alternative", "2025-05")["value"] == 0.3125


@pytest.mark.parametrize(
    ("version", "defaults"),
    [
        ("0.7.2", set()),
        ("0.7.3", {"off"}),
        ("0.9.2rc1", {"on", "off"}),
        ("v0.8.5.post1", {"on", "off"}),
        ("0.9.2", {"on"}),
        ("99.0", {"on"}),
        ("main-abc123", set()),
        ("", set()),
    ],
)
def test_an_engines_defaults_are_those_of_the_newest_release_not_later(version, defaults):
    found = reference.engine_facts("vLLM", version, "prefix_caching")["value"]
    assert set(found) == defaults
    assert reference.engine_facts("TGI", version, "prefix_caching").empty


def test_an_engine_row_that_names_no_devices_is_refused(own_data):
    path = own_data / "engines.csv"
    rows = path.read_text("utf-8").splitlines()
    old = next(row for row in rows if row.startswith("vLLM 0.9.2: all other CUDA devices,prefix"))
    path.write_text("\n".join([*rows, "Mine 7" + old[old.index(",") :]]), "utf-8")
    with pytest.raises(ReferenceDataError, match="'Mine 7': 'ENGINE VERSION: DEVICES'"):
        reference.engine_facts("vLLM", "0.9.2", "prefix_caching")


def test_a_models_facts():
    model = "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"
    fact = reference.model_fact(model, "kv_bytes_per_tok")
    assert fact["value"] == 2 * 48 * 8 * 128 * 2, "K and V, layers, heads, their size, 16 bits"
    assert reference.model_fact(model, "shoe_size") is None
    assert reference.model_fact("nobody/nothing", "kv_bytes_per_tok") is None
