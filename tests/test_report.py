"""Reports: parameters are checked, failures told, names harmless, files where they belong."""

import json
import os

import nbformat
import pandas as pd
import pytest
from conftest import ROOT
from matplotlib.figure import Figure

import hetcost as hc
from hetcost.errors import ReportError, UnknownNameError
from hetcost.report import outputs, parameters, rendering

PARAMETERS = """\
name: str = "a"  # a name
limit: float = 1.5  # a limit
count: int = 3  # a count
flag: bool = True  # a flag
many: list = [1, 2]  # some
"""


def _notebook(path, *sources, title="# A question"):
    cells = [nbformat.v4.new_markdown_cell(title)]
    cells += [nbformat.v4.new_code_cell(source) for source in (PARAMETERS, *sources)]
    cells[1].metadata["tags"] = ["parameters"]
    node = nbformat.v4.new_notebook(cells=cells)
    node.metadata["kernelspec"] = {"name": "python3", "language": "python", "display_name": "x"}
    nbformat.write(node, path)
    return path


def _written(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_parameters_are_listed_as_the_notebook_states_them(tmp_path):
    found = hc.report.inspect(_notebook(tmp_path / "a.ipynb"))
    assert [(p.name, p.type, p.default, p.help) for p in found][1] == (
        "limit",
        "float",
        "1.5",
        "a limit",
    )
    assert len(found) == 5


def test_given_parameters_become_the_declared_types(tmp_path):
    path = _notebook(tmp_path / "a.ipynb")
    text = {"name": "7", "limit": "2", "count": "4", "flag": "false", "many": "[3]"}
    typed = {"name": "7", "limit": 2.0, "count": 4, "flag": False, "many": [3]}
    assert parameters.fitting(path, text) == typed
    assert parameters.fitting(path, typed) == typed
    assert parameters.fitting(path, {"limit": 2}) == {"limit": 2.0}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"limt": 1}, "unknown value 'limt'; valid choices, nearest first: 'limit', "),
        ({"limit": "high"}, "limit='high' is not of type float"),
        ({"count": "4.5"}, "count='4.5' is not of type int"),
        ({"count": True}, "count=True is not of type int"),
        ({"flag": "maybe"}, "flag='maybe' is not of type bool"),
        ({"many": "3"}, "many='3' is not of type list"),
        ({"name": 3}, "name=3 is not of type str"),
    ],
)
def test_a_misspelt_parameter_or_wrong_type_is_refused_before_anything_runs(tmp_path, given, told):
    path = _notebook(tmp_path / "a.ipynb", "raise SystemExit")
    with pytest.raises((ReportError, UnknownNameError), match=told.replace(".", r"\.")):
        hc.report.render(path, given, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_notebooks_that_are_not_there(tmp_path):
    with pytest.raises(UnknownNameError, match="'sweet_spot'"):
        hc.report.inspect("sweet_spots")
    with pytest.raises(ReportError, match="no such notebook"):
        hc.report.inspect(tmp_path / "none.ipynb")
    (tmp_path / "bad.ipynb").write_text("{}")
    with pytest.raises(ReportError, match=r"bad\.ipynb: not a notebook"):
        hc.report.inspect(tmp_path / "bad.ipynb")


def test_a_report_escapes_names_and_writes_nothing_outside_its_folder(tmp_path):
    hostile = ["<script>alert(1)</script>", "../../etc/passwd", "=cmd()", r"a$b\frac$"]
    source = (
        "import pandas as pd, hetcost as hc\n"
        f"names = {hostile!r} + [name]\n"
        "table = hc.report.show_table(pd.DataFrame({'model': names, '<b>x': 1.5}), 'names')\n"
        "hc.report.say(' '.join(names))\n"
        "table"
    )
    path = _notebook(tmp_path / "a{b}.ipynb", source, title="# <i>Which</i> & why?")
    given = {"name": "../../../up<img src=x>"}
    rendered = hc.report.render(path, given, out=tmp_path / "out")
    index = hc.report.write_index([rendered], tmp_path / "out")
    assert _written(tmp_path) - {"a{b}.ipynb"} == {
        "out/index.html",
        "out/manifest.json",
        f"out/{rendered.page}",
        f"out/{rendered.executed}",
        f"out/{rendered.tables[0]}",
    }
    page = (tmp_path / "out" / rendered.page).read_text("utf-8")
    for html in (page, index.read_text("utf-8")):
        assert "<script" not in html
        assert "<img src=x" not in html
        assert "<i>Which" not in html.partition("<main>")[0]
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<b>x" not in page
    table = pd.read_csv(tmp_path / "out" / rendered.tables[0])
    assert table["model"].tolist()[2] == "'=cmd()"
    assert table["model"].tolist()[:2] == hostile[:2]


def test_the_executed_copy_keeps_its_parameters_and_the_manifest_its_inputs(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "assert limit == 2.5")
    rendered = hc.report.render(path, {"limit": 2.5}, out=tmp_path / "out")
    executed = nbformat.read(tmp_path / "out" / rendered.executed, as_version=4)
    assert executed.metadata["papermill"]["parameters"] == {"limit": 2.5}
    hc.report.write_index([rendered], tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["hetcost_version"] == hc.__version__
    assert manifest["reports"][0]["parameters"] == {"limit": 2.5}
    run_table = ROOT / "data" / "runs" / "ionet-2025.csv"
    assert manifest["inputs"]["runs/ionet-2025.csv"] == rendering._sha256(run_table)
    assert "reference/prices.csv" in manifest["inputs"]


def test_a_failing_cell_is_told_and_the_partly_executed_notebook_kept(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "print('before')", "1 / 0", "print('after')")
    with pytest.raises(ReportError, match=r"a\.ipynb, cell \d: ZeroDivisionError") as caught:
        hc.report.render(path, out=tmp_path / "out")
    kept = tmp_path / "out" / "a" / "a.ipynb"
    assert str(kept) in str(caught.value)
    cells = [cell for cell in nbformat.read(kept, as_version=4).cells if cell.cell_type == "code"]
    assert any("before" in str(cell.outputs) for cell in cells)
    assert not any("after\n" in str(cell.outputs) for cell in cells)


def test_folder_names_are_harmless_and_never_alike():
    names = [
        rendering._folder_name("nb", {"a": value})
        for value in ("x", "../x", "/x", "x/", "y" * 200, "y" * 201, "ü", "a b", "a_b")
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert set(name) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-"
        )
        assert len(name) < 100
    assert rendering._folder_name("nb", {}) == "nb"


def test_the_environment_is_left_as_it_was(tmp_path):
    before = dict(os.environ)
    with pytest.raises(RuntimeError), rendering._environment(tmp_path):
        raise RuntimeError
    assert dict(os.environ) == before


def test_the_same_figure_gives_the_same_bytes(tmp_path, monkeypatch):
    files = []
    for folder in ("one", "two"):
        monkeypatch.setenv(outputs.REPORT_DIR, str(tmp_path / folder))
        figure = Figure()
        figure.subplots().plot([1, 2], [3, 4], label="x")
        hc.report.save_figure(figure, "line")
        files.append([p.read_bytes() for p in sorted((tmp_path / folder / "figures").iterdir())])
    assert files[0] == files[1]
    assert len(files[0]) == 2


@pytest.mark.parametrize("name", ["../up", "a/b", "", "A B", ".hidden", "ü"])
def test_a_figures_name_is_no_path(name, tmp_path, monkeypatch):
    monkeypatch.setenv(outputs.REPORT_DIR, str(tmp_path))
    with pytest.raises(ReportError, match="is no name of a figure"):
        hc.report.save_figure(Figure(), name)
    with pytest.raises(ReportError, match="is no name of a figure"):
        hc.report.save_table(pd.DataFrame(), name)


def test_tables_show_the_digits_that_matter():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [1234.5, None], "c": [0.0123456, 0.5], "d": "x"})
    html = hc.report.show_table(table, "t").to_html()
    for cell in (">1<", ">1,234<", ">–<", ">0.0123<", ">x<"):
        assert cell in html.replace(">1,235<", ">1,234<"), cell


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    path = _notebook(tmp_path / "a.ipynb")
    (tmp_path / "file").write_text("here")
    with pytest.raises(ReportError, match="cannot write to"):
        hc.report.render(path, out=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "here"
