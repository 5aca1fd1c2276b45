"""Notebooks are thin and stripped; executed, they say what they should."""

import os
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

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
    assert len(node.cells) <= 20
    for source in code:
        assert not re.search(r"^\s*(def|class) ", source, re.MULTILINE)
        assert len(source.splitlines()) <= 14
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
            assert default == fields[match[1]].default, f"{match[1]}: not the Scenario's default"


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
    stems = {figure.rsplit("/", 1)[-1] for figure in rendered.figures}
    assert stems == {
        f"{n}.{k}" for n in ("scaling", "cost-latency", "models") for k in ("png", "svg")
    }
    assert {table.rsplit("/", 1)[-1] for table in rendered.tables} == {
        "table2.csv",
        "sweet-spots.csv",
    }


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
