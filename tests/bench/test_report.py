import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
_LATER = {"energy_carbon": ["import seaborn"]}  # by the figures that it draws
GROUP, AIM = "make report (all notebooks)", "≤ 2"


def _imports_only(path):
    """Keep of a notebook its kernel and its imports, those that its library makes later too."""
    node = nbformat.read(path, as_version=4)
    lines = ["import hetcost.plots, IPython.display", *_LATER.get(path.stem, [])]
    for cell in node.cells:
        if cell.cell_type == "code":
            found = ast.parse(cell.source).body
            lines += [ast.unparse(s) for s in found if isinstance(s, ast.Import | ast.ImportFrom)]
    node.cells = [nbformat.v4.new_code_cell("\n".join(lines))]
    return node


def imports_only(folder):
    def run(node):
        NotebookClient(node, resources={"metadata": {"path": folder}}).execute()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, [_imports_only(path) for path in NOTEBOOKS]))


def test_baseline(case, tmp_path):
    what = "the same kernels doing only their imports, two at a time"
    case(GROUP, AIM, lambda: imports_only(str(tmp_path)), baseline=what, rounds=3)


def test_ours(case, tmp_path):
    command = [Path(sys.executable).with_name("hetcost"), "report", "--out", tmp_path / "out"]
    case(GROUP, AIM, lambda: subprocess.check_call(command, stdout=subprocess.DEVNULL), rounds=3)
