"""Notebooks are thin and stripped; executed, they say what they should."""

import json
import os
import re
import shutil
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from conftest import ROOT
from test_runs import GOOD

import hetcost as hc

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LITERAL = re.compile(r"(\w+): (str|int|float|bool|list|dict)(\[.*\])? = .+  # .+")


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    return request.param, nbformat.read(request.param, as_version=4)


def _parameters(node):
    return [c for c in node.cells if "parameters" in c.metadata.get("tags", [])]


def test_it_is_stripped_and_runs_on_any_python3(notebook):
    path, node = notebook
    assert path.stat().st_size < 20 * 1024
    assert node.metadata["kernelspec"]["name"] == "python3"
    assert set(node.metadata) <= {"kernelspec", "language_info"}
    for cell in node.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert set(cell.metadata) <= {"tags"}
    nbformat.validate(node)


def test_it_is_thin(notebook):
    _, node = notebook
    code = [cell.source for cell in node.cells if cell.cell_type == "code"]
    assert len(node.cells) <= 26  # energy_carbon asks of power, boundary, making, grid and load
    for source in code:
        assert not re.search(r"^\s*(def|class) ", source, re.MULTILINE)
        assert len(source.splitlines()) <= 16
    assert node.cells[0].source.startswith("# ")
    assert node.cells[0].source.splitlines()[0].endswith("?"), "the title asks the question"
    assert "hc.report.say(" in code[-1], "the last cell says the answer"


def test_its_parameters_are_typed_literals_with_comments(notebook):
    _, node = notebook
    (cell,) = _parameters(node)
    fields = hc.Scenario.model_fields
    for line in cell.source.splitlines():
        match = LITERAL.fullmatch(line)
        assert match, line
        if match[1] in fields:
            default = eval(line.partition(" = ")[2].partition("  # ")[0])
            wanted = fields[match[1]].default
            assert default == ("" if wanted is None else wanted), f"{match[1]}: not the default"


def _render(tmp_path, notebook, parameters):
    """Run a copy from another folder, so that nothing leans on the checkout's."""
    copy = shutil.copy(notebook, tmp_path)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        return hc.report.render(copy, parameters, out=tmp_path / "out")
    finally:
        os.chdir(before)


def test_sweet_spot_answers_the_question(tmp_path):
    rendered = _render(tmp_path, ROOT / "notebooks" / "sweet_spot.ipynb", {})
    cost, energy, carbon, answer = rendered.findings
    assert "0.1111" in cost
    assert "6.19" in energy
    assert "15.63" in carbon
    assert "RTX 4090 for 5 of the 5 models" in answer
    stems = {Path(figure[kind]).name for figure in rendered.figures for kind in ("png", "svg")}
    assert stems == {
        f"{n}.{k}" for n in ("scaling", "cost-latency", "models") for k in ("png", "svg")
    }
    assert {table.rsplit("/", 1)[-1] for table in rendered.tables} == {
        "table2.csv",
        "sweet-spots.csv",
    }


def test_energy_carbon_answers_the_question(tmp_path):
    rendered = _render(tmp_path, ROOT / "notebooks" / "energy_carbon.ipynb", {})
    nameplate, default, reading = rendered.findings
    assert "6.2 times" in nameplate
    assert "3.1 times with the study's watts" in nameplate
    assert "each it is 2.9 times" in nameplate
    assert "take 0.93 times an H100's energy at 4 requests/s each (0.85 to 2.1" in default
    assert "1.93 with both in a datacentre" in default
    assert "79 + 6 against 85 + 7 gCO2e per million output tokens" in default
    assert "at 4 requests/s turns on watts and site, both assumed" in reading
    assert "none with 2× RTX 4090" in reading
    titles = {Path(figure["png"]).stem: figure["title"] for figure in rendered.figures}
    assert set(titles) == {
        "energy",
        "power-ladder",
        "boundaries",
        "embodied",
        "carbon",
        "equal-load",
    }
    assert "0.9 to 1.5 times an H100's energy at 4, 1.8 to 3.1" in titles["power-ladder"]
    assert "1.8 for boards, 1.5 for servers, 0.9 for sites" in titles["boundaries"]
    assert "0 of 5 loads" in titles["equal-load"]
    folder = tmp_path / "out" / "energy_carbon" / "tables"
    table = pd.read_csv(folder / "table3.csv")
    assert table["op_gco2e_per_mtok_all"].round(2).tolist() == [
        15.7,
        48.4,
        15.63,
        48.38,
        7.81,
        48.38,
    ]
    ladder = pd.read_csv(folder / "power-ladder.csv")
    assert ladder["at least (W)"].notna().sum() == 3, "only power by load has bounds"
    assert "The rung 'measured' is not drawn: no measured power" in _page(tmp_path, rendered)


def _page(tmp_path, rendered):
    return (tmp_path / "out" / rendered.name / rendered.page).read_text("utf-8")


def test_ownership_answers_the_question(tmp_path):
    rendered = _render(tmp_path, ROOT / "notebooks" / "ownership.ipynb", {})
    grids, costs = rendered.findings
    assert "No one intensity parts a pool from a new H100" in grids
    assert "Of 1,728 combinations 54 % favour the H100 at any (64 %" in grids
    assert "9 % the pool" in grids
    assert "half of these at 3 to 20 gCO2e/kWh" in grids
    assert "France" in grids
    assert "rented 0.171 against 0.358" in costs
    assert "owned 0.139 against 0.336" in costs
    titles = {Path(figure["png"]).stem: figure["title"] for figure in rendered.figures}
    assert set(titles) == {"ownership", "utilisation", "use-and-electricity", "grid-crossings"}
    assert "0.48 times an H100's if rented, 0.41 if owned, 1.09 in its" in titles["ownership"]
    assert "from 29 % of the hours on" in titles["utilisation"]
    folder = tmp_path / "out" / "ownership" / "tables"
    table = pd.read_csv(folder / "grid-crossings.csv")
    by_grid = table["crossing"].notna()
    assert (table["less"] == "by grid").equals(by_grid)
    assert table.loc[~by_grid, "note"].str.startswith("no crossing").all()
    ways = pd.read_csv(folder / "ways.csv").set_index(["way", "name"])
    owned = ways.loc["owned"]
    shares = owned[["gpu_usd_per_h", "host_usd_per_h", "power_usd_per_h"]].sum(axis=1)
    assert shares.tolist() == pytest.approx(owned["usd_per_h"].tolist())
    moved = ways.loc["owned, all in a datacentre"]["licence_note"]
    assert "not for datacentre deployment" in moved["2× RTX 4090"]
    ties = pd.read_csv(folder / "use.csv")
    assert ties["loaded share at the tie"].round(2).tolist()[3:] == [0.31, 0.93, 0.74]
    assert "NVIDIA" in _page(tmp_path, rendered)


def test_uncertainty_answers_the_question(tmp_path):
    rendered = _render(tmp_path, ROOT / "notebooks" / "uncertainty.ipynb", {})
    *won, last = rendered.findings
    assert len(won) == 6
    assert "Cost, rented" in won[0]
    assert "below for 4 of 4 at 1×" in won[0]
    assert "undecided for 4 of 4 at 1× (probability" in won[2]
    assert "above for 4 of 4 at 1×, 3 of 3 at 2×" in won[3]
    assert all("probability" not in said for said in won[4:]), "choices are no draws"
    assert "host's power, datacentre" in last
    titles = {Path(figure["png"]).stem: figure["title"] for figure in rendered.figures}
    assert set(titles) == {"wins", "tornado-cost", "tornado-carbon", "sobol-carbon"}
    assert "2× RTX 4090 emit 1.71 times an H100" in titles["tornado-carbon"]
    folder = tmp_path / "out" / "uncertainty" / "tables"
    shares = pd.read_csv(folder / "wins.csv")
    assert len(shares) == 6 * 11
    assert shares["p_a_beats_b"].between(0, 1).all()
    spread = pd.read_csv(folder / "quantiles.csv")
    assert (spread["p5"] <= spread["p50"]).all()
    assert (spread["p50"] <= spread["p95"]).all()
    assert "0 are known to" in _page(tmp_path, rendered)


@pytest.mark.slow
def test_ownership_with_other_parameters(tmp_path):
    other = {
        "model": "DeepSeek-R1-Distill-Llama-8B",
        "price_as_of": "2025-12",
        "grid_zone": "US",
        "methods": ["inventory", "act"],
        "zones": ["FR", "DE"],
        "offered_per_s": 8.0,
        "api_usd_per_mtok_out": 0.05,
    }
    rendered = _render(tmp_path, ROOT / "notebooks" / "ownership.ipynb", other)
    grids, costs = rendered.findings
    assert "Of 1,152 combinations" in grids
    assert "RTX 4090 against an H100 PCIe" in costs
    api = pd.read_csv(tmp_path / "out" / rendered.name / "tables" / "api.csv")
    assert api["breakeven_note"].str.contains("the API costs less at any load").any()


@pytest.mark.slow
def test_uncertainty_with_other_parameters(tmp_path):
    other = {
        "model": "DeepSeek-R1-Distill-Llama-8B",
        "count": 1,
        "zones": ["FR", "PL"],
        "rent_rtx_4090": [0.2, 0.25, 0.25],
        "draws": 256,
        "sure": 0.99,
    }
    rendered = _render(tmp_path, ROOT / "notebooks" / "uncertainty.ipynb", other)
    titles = {Path(figure["png"]).stem: figure["title"] for figure in rendered.figures}
    assert titles["tornado-cost"].startswith("Owned, RTX 4090 cost")


@pytest.mark.slow
def test_energy_carbon_with_other_parameters(tmp_path):
    other = {
        "basis": "all",
        "grid_zone": "FR",
        "power_model": "nameplate",
        "zones": ["FR", "DE"],
        "p99_ttft_ms": 1.0,
    }
    rendered = _render(tmp_path, ROOT / "notebooks" / "energy_carbon.ipynb", other)
    nameplate, assumed, reading = rendered.findings
    assert "3.1 times with the study's watts" in nameplate
    assert "power by nameplate" in assumed
    assert "On the FR grid of 2023" in assumed
    assert "each at its best load: none" in reading
    assert {source["entity"] for source in rendered.sources} >= {"FR", "DE"}


@pytest.mark.slow
def test_energy_carbon_as_a_consequence_with_nothing_embodied(tmp_path):
    other = {
        "perspective": "consequential",
        "idle_baseline": "in_use",
        "embodied_method": "none",
        "embodied_share_frac": 0.0,
        "induced_frac": "0.2",
    }
    rendered = _render(tmp_path, ROOT / "notebooks" / "energy_carbon.ipynb", other)
    assert "unknown" in rendered.findings[1]
    titles = {figure["title"] for figure in rendered.figures}
    assert "Embodied carbon is not counted" in titles


@pytest.mark.slow
def test_energy_carbon_without_a_power_log_says_so(tmp_path):
    with pytest.raises(hc.HetcostError, match="no measured power"):
        _render(tmp_path, ROOT / "notebooks" / "energy_carbon.ipynb", {"power_model": "measured"})


@pytest.mark.slow
def test_sweet_spot_where_no_price_is_known(tmp_path):
    rendered = _render(
        tmp_path, ROOT / "notebooks" / "sweet_spot.ipynb", {"price_class": "hyperscaler"}
    )
    page = (tmp_path / "out" / rendered.name / rendered.page).read_text("utf-8")
    assert "runs without a cost: no hyperscaler price for RTX 4090 as of 2025-05" in page


@pytest.mark.slow
def test_sweet_spot_on_ones_own_runs(tmp_path):
    hc.load_runs("ionet-2025").assign(model="<b>my model").to_csv(tmp_path / "my.csv", index=False)
    mine = {"study": "my.csv", "model": "<b>my model"}
    rendered = _render(tmp_path, ROOT / "notebooks" / "sweet_spot.ipynb", mine)
    page = (tmp_path / "out" / rendered.name / rendered.page).read_text("utf-8")
    assert "<b>" not in page


@pytest.mark.slow
def test_sweet_spot_with_other_parameters(tmp_path):
    other = {"p99_ttft_ms": 40.0, "basis": "all", "model": "microsoft/phi-4", "grid_zone": "FR"}
    rendered = _render(tmp_path, ROOT / "notebooks" / "sweet_spot.ipynb", other)
    assert "P99 TTFT ≤ 40 ms" in rendered.findings[-1]
    assert "input and output tokens" in rendered.findings[-1]


@pytest.mark.slow
def test_sweet_spot_where_no_run_keeps_the_slo(tmp_path):
    rendered = _render(tmp_path, ROOT / "notebooks" / "sweet_spot.ipynb", {"p99_ttft_ms": 1.0})
    assert "no card" in rendered.findings[-1]


OWN = ROOT / "notebooks" / "your_benchmarks.ipynb"


def _own(tmp_path, **parameters):
    rendered = _render(tmp_path, OWN, parameters)
    for said in [*rendered.findings, *(figure["title"] for figure in rendered.figures)]:
        assert "nan" not in re.split(r"\W+", said), said
    tables = tmp_path / "out" / rendered.name
    read = {Path(name).stem: pd.read_csv(tables / name) for name in rendered.tables}
    return rendered, {Path(f["png"]).stem: f["title"] for f in rendered.figures}, read


def _vllm(folder, name="a.json", **changes):
    folder.mkdir(exist_ok=True)
    record = {**GOOD, **changes}
    kept = {key: value for key, value in record.items() if value is not ...}
    (folder / name).write_text(json.dumps(kept), "utf-8")
    return folder / name


def test_your_benchmarks_answers_the_question(tmp_path):
    rendered, titles, tables = _own(tmp_path)
    answer, following = rendered.findings
    runs = hc.load_runs("ionet-2025")
    found = hc.diagnose(runs)
    grave = found[found["severity"] != "note"]
    sound = 130 - grave["run_id"].nunique()
    check, number = next(grave["check"].value_counts().items())
    assert titles == {
        "own-findings": f"{sound} of 130 runs passed without error or warning; most often found: "
        f"{check.replace('_', ' ')}, in {number}",
        "own-cost-latency": "DeepSeek-R1-Distill-Qwen-14B costs from 0.171 USD per million output "
        "tokens; within P99 TTFT ≤ 500 ms from 0.279 USD",
        "own-scaling": "Answered: up to 7.46 requests/s by H100 PCIe; least of 4 configurations: "
        "3.89 requests/s by 2× RTX 4090",
    }
    assert "of the cheapest (2× RTX 4090, 16/s) the checks found: burst, few requests" in answer
    assert "(alternative, 2025-05; EU27 2023, life-cycle" in answer
    assert "offer 2× RTX 4090 2 requests/s, 300 in all" in following
    uses = tables["uses"].set_index("use")
    assert uses.columns.tolist() == ["stand", "spoilt", "spoilt by", "not known", "lacks"]
    assert uses["stand"].tolist() == [8, 8, 0]
    assert "8 for throughput at a steady load, 8 for first-token latency, 0 for P99" in answer
    assert len(tables["runs"]) == 130
    assert len(tables["findings"]) == len(found)
    assert tables["checks"]["runs"].sum() == len(found)
    assert len(tables["cheapest"]) == len(tables["read"]) == len(tables["next-loads"]) == 24
    assert "missing" not in tables
    assert {"H100 PCIe 80GB", "EU27"} <= {source["entity"] for source in rendered.sources}


@pytest.mark.slow
def test_your_benchmarks_on_a_result_that_names_no_card(tmp_path):
    path = _vllm(tmp_path / "files", gpu_name=..., gpu_count=...)
    rendered, titles, tables = _own(tmp_path, path=str(path))
    assert "tokens of model-8B is unknown: the run names no GPU" in " ".join(rendered.findings)
    assert titles == {
        "own-findings": "1 of 1 run passed without error or warning",
        "own-scaling": "Answered: up to 4 requests/s by an unnamed card",
    }
    assert tables["missing"]["missing"].tolist() == ["cost", "energy", "carbon"]
    assert set(tables["missing"]["reason"]) == {"the run names no GPU"}
    assert "0 kinds of card" in _page(tmp_path, rendered)


@pytest.mark.slow
def test_your_benchmarks_on_a_folder_with_a_bad_file(tmp_path):
    _vllm(tmp_path / "files", gpu_name=..., gpu_count=...)
    (tmp_path / "files" / "bad.json").write_text('{"backend": ', "utf-8")
    given = {"gpu": "RTX 4090", "n_gpus": 2}
    rendered, titles, tables = _own(tmp_path, path=str(tmp_path / "files"), **given)
    assert rendered.findings[0] == "1 entry could not be read, and is in no figure."
    assert tables["refused"]["file"].tolist() == ["bad.json"]
    assert "model-8B costs from 0.231 USD" in titles["own-cost-latency"]  # 2 · 0.25 / (600 · 3600)
    assert "model-8B" in " ".join(rendered.findings)


@pytest.mark.slow
def test_your_benchmarks_on_a_table_without_percentiles(tmp_path):
    runs = hc.load_runs("ionet-2025")
    card = runs[runs["model"].str.endswith("Llama-8B") & (runs["gpu"] == "RTX 4090")]
    card = card[card["n_gpus"] == 1].drop(columns=runs.filter(regex=r"^p\d").columns)
    card.to_csv(tmp_path / "my.csv", index=False)
    rendered, titles, tables = _own(tmp_path, path="my.csv")
    assert titles["own-cost-latency"].endswith("no run is known to keep P99 TTFT ≤ 500 ms")
    assert "5 runs: 1 model, 1 kind of card, 5 loads" in _page(tmp_path, rendered)
    assert tables["missing"]["missing"].tolist() == ["slo"]
    uses = tables["uses"].set_index("use")
    assert uses.loc["P99 of first-token latency", "stand"] == 0
    assert "p99 ttft ms" in uses.loc["P99 of first-token latency", "lacks"]


@pytest.mark.slow
def test_your_benchmarks_on_one_run_of_hostile_names(tmp_path):
    one = hc.load_runs("ionet-2025").head(1)
    one.assign(model="<b>$my model", source="<b>here").to_csv(tmp_path / "my.csv", index=False)
    rendered, titles, _ = _own(tmp_path, path="my.csv", basis="all", p99_ttft_ms=1.0)
    assert "<b>" not in _page(tmp_path, rendered)
    assert "1 run: 1 model, 1 kind of card, 1 load" in _page(tmp_path, rendered)
    assert titles["own-findings"].startswith(("0 of 1 run ", "1 of 1 run "))
    assert "per million input and output tokens; no run is known to" in titles["own-cost-latency"]
    assert "least of" not in titles["own-scaling"]


@pytest.mark.slow
def test_your_benchmarks_on_closed_loads_and_unknown_cards(tmp_path):
    closed = {"request_rate": "inf", "num_prompts": 600, "completed": 600}
    for limit in (1, 8):
        run = {"max_concurrency": limit, "duration": 600.0 / limit, "mean_ttft_ms": 40.0 + limit}
        _vllm(tmp_path / "files", f"{limit}.json", **closed, **run)
    _vllm(tmp_path / "files", "other.json", gpu_name="Abacus 3000", model_id=None, num_prompts=201)
    rendered, titles, tables = _own(tmp_path, path=str(tmp_path / "files"))
    assert "own-scaling" not in titles
    assert "of the cheapest (2× RTX 4090, 8 in flight)" in " ".join(rendered.findings)
    assert tables["read"]["loads"].tolist() == ["1 in flight, 8 in flight", "4/s"]
    reasons = tables["missing"].set_index("missing")["reason"]
    assert reasons["cost"] == "Abacus 3000: not the name of one card that is known"
    assert tables["runs"]["gpu"].tolist().count("Abacus 3000") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"path": "ionet-2024"}, "study: unknown value 'ionet-2024'.*'ionet-2025'"),
        ({"path": "no/where"}, "no/where: no such file or folder"),
        ({"path": "nowhere.csv"}, "nowhere.csv: no such file or folder"),
        ({"basis": "in"}, "basis: unknown value 'in'"),
        ({"gpu": "H100"}, "'H100' may mean"),
    ],
)
def test_your_benchmarks_says_what_is_wrong_with_a_parameter(tmp_path, parameters, said):
    with pytest.raises(hc.HetcostError, match=said):
        _render(tmp_path, OWN, parameters)


@pytest.mark.slow
def test_your_benchmarks_refuses_runs_of_another_card_than_given(tmp_path):
    rendered, _, tables = _own(tmp_path, gpu="RTX 4090")
    assert rendered.findings[0] == "70 entries could not be read, and are in no figure."
    assert set(tables["runs"]["gpu"]) == {"RTX 4090"}
