"""Reports: parameters are checked, failures told, names harmless, files where they belong."""

import datetime as dt
import json
import sys
from pathlib import Path

import jsonschema
import nbformat
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from matplotlib.figure import Figure

import hetcost as hc
from hetcost.errors import DataWarning, ReportError, UnknownNameError
from hetcost.report import outputs, parameters, rendering
from hetcost.report.provenance import sha256

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


TRAPS = """\
union: float | None = None  # what papermill's inspection does not see
hashed: str = "a # b"  # a hash in a string
a = 1; b = "x"  # two on a line
made = dict(k=1)  # a call
many: list[int] = [1,
    2]  # over two lines
"""


def test_what_papermills_own_inspection_does_not_see(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "assert union == 2.0 and hashed == 'c # d'")
    node = nbformat.read(path, as_version=4)
    node.cells[1].source = TRAPS
    nbformat.write(node, path)
    found = {p.name: p for p in hc.report.inspect(path)}
    assert list(found) == ["union", "hashed", "a", "b", "made", "many"]
    assert found["hashed"][1:] == ("str", '"a # b"', "a hash in a string")
    assert (found["a"].type, found["b"].type, found["made"].type) == ("int", "str", "Any")
    assert parameters.fitting(path, {"union": "2"}) == {"union": 2.0}
    assert parameters.fitting(path, {"union": None}) == {"union": None}
    with pytest.raises(ReportError, match=r"union='x' is not of type float \| None"):
        parameters.fitting(path, {"union": "x"})
    hc.report.render(path, {"union": 2, "hashed": "c # d"}, out=tmp_path / "out")


def test_tuples_paths_and_dates_arrive_as_what_a_notebook_can_take(tmp_path):
    path = _notebook(tmp_path / "a.ipynb")
    given = {"many": ("a", (Path("b"),)), "name": dt.date(2025, 5, 1), "limit": np.float64(2)}
    assert parameters.fitting(path, given) == {
        "many": ["a", ["b"]],
        "name": "2025-05-01",
        "limit": 2.0,
    }
    with pytest.raises(ReportError, match="a set cannot be passed"):
        parameters.fitting(path, {"many": {1}})


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
    front = hc.report.write_index(tmp_path / "out")
    files = (rendered.page, rendered.executed, *rendered.tables, "report.json", ".record.jsonl")
    assert _written(tmp_path) - {"a{b}.ipynb"} == {
        "out/index.html",
        "out/manifest.json",
        *(f"out/{rendered.name}/{file}" for file in files),
    }
    page = (tmp_path / "out" / rendered.name / rendered.page).read_text("utf-8")
    for html in (page, front.read_text("utf-8")):
        assert "<script" not in html
        assert "<img src=x" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<i>Which" not in page.partition("<main>")[0]
    assert "<i>Which" not in front.read_text("utf-8")
    assert "<b>x" not in page
    table = pd.read_csv(tmp_path / "out" / rendered.name / rendered.tables[0])
    assert table["model"].tolist()[:4] == [*hostile[:2], "'=cmd()", hostile[3]]


def test_two_renders_differ_in_nothing_but_time_stamps(tmp_path):
    source = (
        "import pandas as pd, hetcost as hc, matplotlib.pyplot as plt\n"
        "fig, ax = plt.subplots(); ax.plot([1, 2], [limit, 4])\n"
        "hc.report.save_figure(fig, 'line')\n"
        "print('a'); print('b')\n"
        "hc.report.show_table(pd.DataFrame({'a': [1.5]}), 'table')"
    )
    path = _notebook(tmp_path / "a.ipynb", source)
    contents = []
    for out in (tmp_path / "one", tmp_path / "two" / "deeper"):
        hc.report.render(path, {"limit": 2.5}, out=out)
        hc.report.write_index(out)
        files = {name: (out / name).read_bytes() for name in _written(out)}
        node = json.loads(files["a--limit=2.5/a.ipynb"])
        for stamp in ("start_time", "end_time", "duration"):
            del node["metadata"]["papermill"][stamp]
        files["a--limit=2.5/a.ipynb"] = node
        manifest = json.loads(files["manifest.json"])
        del manifest["created"]
        files["manifest.json"] = manifest
        contents.append(files)
    assert contents[0] == contents[1]
    assert len(contents[0]) == 9


def test_the_executed_copy_keeps_its_parameters_and_the_manifest_its_inputs(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "assert limit == 2.5")
    given = {"limit": 2.5, "name": str(ROOT / "README.md")}
    rendered = hc.report.render(path, given, out=tmp_path / "out")
    folder = tmp_path / "out" / rendered.name
    executed = nbformat.read(folder / rendered.executed, as_version=4)
    assert executed.metadata["papermill"]["parameters"] == given
    hc.report.write_index(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    schema = ROOT / "hetcost" / "report" / "manifest.schema.json"
    jsonschema.validate(manifest, json.loads(schema.read_text("utf-8")))
    assert manifest["hetcost_version"] == hc.__version__
    (report,) = manifest["reports"]
    assert report["parameters"] == given
    assert report["files"] == {str(ROOT / "README.md"): sha256(ROOT / "README.md")}
    run_table = ROOT / "data" / "runs" / "ionet-2025.csv"
    assert manifest["inputs"]["runs/ionet-2025.csv"] == sha256(run_table)
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
    front = hc.report.write_index(tmp_path / "out")
    assert "No finished report" in front.read_text("utf-8")


def test_a_cell_that_never_ends_is_ended(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "import time; time.sleep(600)")
    with pytest.raises(ReportError, match=r"a\.ipynb: a cell took longer than 2 s"):
        hc.report.render(path, out=tmp_path / "out", timeout=2)


def test_a_kernel_that_dies_is_told(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "import os; os._exit(1)")
    with pytest.raises(ReportError, match=r"a\.ipynb: the kernel died"):
        hc.report.render(path, out=tmp_path / "out")


def test_the_kernel_is_this_python_whatever_a_kernelspec_says(tmp_path, monkeypatch):
    spec = tmp_path / "kernels" / "python3"
    spec.mkdir(parents=True)
    other = {"argv": ["/bin/false", "{connection_file}"], "display_name": "x", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(other))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    path = _notebook(
        tmp_path / "a.ipynb", f"import sys; assert sys.executable == {sys.executable!r}"
    )
    with pytest.warns(DataWarning, match=r"'python3' starts /bin/false; the report runs in"):
        hc.report.render(path, out=tmp_path / "out")


def test_files_that_hetcost_did_not_write_stay(tmp_path):
    source = "import hetcost as hc, pandas as pd\n"
    source += "hc.report.save_table(pd.DataFrame({'a': [1]}), f'{name}')"
    path = _notebook(tmp_path / "a.ipynb", source)
    out = tmp_path / "out"
    foreign = [out / "mine.txt", out / "a" / "mine.txt", out / "a" / "tables" / "mine.csv"]
    foreign[-1].parent.mkdir(parents=True)
    for file in foreign:
        file.write_text("mine")
    hc.report.render(path, out=out)
    assert (out / "a" / "tables" / "a.csv").exists()
    _notebook(path, source.replace("{name}", "other"))
    rendered = hc.report.render(path, out=out)
    assert rendered.tables == ["tables/other.csv"]
    assert not (out / "a" / "tables" / "a.csv").exists(), "an older report gives way"
    assert all(file.read_text() == "mine" for file in foreign)


def test_what_is_not_ours_is_neither_overwritten_nor_followed(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "pass")
    precious = tmp_path / "precious"
    precious.write_text("mine")
    for name in ("a.html", "a.ipynb", ".lock"):
        folder = tmp_path / name.replace(".", "-") / "a"
        folder.mkdir(parents=True)
        (folder / name).symlink_to(precious)
        with pytest.raises(ReportError):
            hc.report.render(path, out=folder.parent)
        assert precious.read_text() == "mine"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    with pytest.raises(ReportError, match="is not hetcost's"):
        list(hc.report.render_many([hc.report.Job(path, {}, tmp_path / "site")]))
    (tmp_path / "c").mkdir()
    with pytest.raises(ReportError, match="holds the notebook itself"):
        hc.report.render(_notebook(tmp_path / "c" / "c.ipynb"), out=tmp_path)


def test_two_reports_into_one_folder_at_once(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "pass")
    with (
        rendering._own_folder((tmp_path / "out" / "a").resolve()),
        pytest.raises(ReportError, match="another process is writing"),
    ):
        hc.report.render(path, out=tmp_path / "out")


def test_a_full_disk_is_told_and_the_old_index_stays(tmp_path, monkeypatch):
    hc.report.write_index(tmp_path)
    (tmp_path / "index.html").write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ReportError, match="No space left on device"):
        hc.report.write_index(tmp_path)
    assert (tmp_path / "index.html").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["index.html", "manifest.json"]


def test_reports_that_finish_are_kept_when_others_fail(tmp_path):
    good = _notebook(tmp_path / "good.ipynb", "pass")
    bad = _notebook(tmp_path / "bad.ipynb", "1 / 0")
    jobs = [hc.report.Job(path, {}, tmp_path / "out") for path in (bad, good)]
    done = {Path(d.job.notebook).stem: d for d in hc.report.render_many(jobs)}
    assert isinstance(done["bad"].error, ReportError)
    assert done["good"].result.name == "good"
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "good.ipynb" in page
    assert "bad.ipynb" not in page


def test_reports_that_would_share_a_folder_are_refused_before_any_runs(tmp_path):
    path = _notebook(tmp_path / "a.ipynb", "1 / 0")
    jobs = [hc.report.Job(path, {}, tmp_path / "out")] * 2
    with pytest.raises(ReportError, match="2 reports would share"):
        list(hc.report.render_many(jobs))


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
        assert cell in html, cell


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    path = _notebook(tmp_path / "a.ipynb")
    (tmp_path / "file").write_text("here")
    with pytest.raises(ReportError, match="cannot write to"):
        hc.report.render(path, out=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "here"
