"""Imports run one way; heavy packages load only where they belong."""

import ast
import subprocess
import sys

import pytest
from conftest import ROOT

FLOORS = [
    {"errors", "units"},
    {"columns", "resources", "parallel", "replacing", "yaml12"},
    {"formulas", "slo", "recording"},
    {"reference"},
    {"findings"},
    {"readers", "scenario"},
    {"runs", "metering"},
    {"impacts", "power_logs"},
    {"pairing"},
    {"frontier", "published", "crossover", "uncertainty"},
    {"claims"},
    {"plots"},
    {"report"},
    {"cli"},
]
FLOOR = {module: height for height, floor in enumerate(FLOORS) for module in floor}
HEAVY = {
    "matplotlib": {"plots"},
    "seaborn": {"plots"},
    "statsmodels": set(),
    "papermill": {"report"},
    "nbconvert": {"report"},
}


def _modules():
    package = ROOT / "hetcost"
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).with_suffix("").parts[0]
        if name != "__init__":
            yield pytest.param(name, path, id=str(path.relative_to(package)))


def _imports(path):
    tree = ast.parse(path.read_text("utf-8"))
    # What only the type checker sees loads nothing.
    tree.body = [
        n for n in tree.body if not (isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n))
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in {path}"
            yield node.module
            if node.module == "hetcost":
                yield from (f"hetcost.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("name", "path"), list(_modules()))
def test_imports_run_one_way(name, path):
    assert name in FLOOR, f"{name} is on no floor: add it to FLOORS"
    for imported in _imports(path):
        parts = imported.split(".")
        if parts[0] == "hetcost" and len(parts) > 1 and parts[1] != "__version__":
            assert FLOOR[parts[1]] < FLOOR[name] or parts[1] == name, f"{name} imports {imported}"
        if parts[0] in HEAVY:
            assert name in HEAVY[parts[0]], f"{name} imports {imported}"


def test_no_module_bears_the_name_of_a_public_function():
    import hetcost as hc

    functions = {n for n in hc.__all__ if callable(getattr(hc, n))}
    assert not functions & set(FLOOR)


def test_import_stays_light():
    code = (
        "import sys, hetcost as hc; hc.evaluate; hc.Scenario; hc.load_runs; hc.pareto;"
        "print(*sorted(m for m in sys.modules if '.' not in m), 'scipy.optimize' in sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    names = set(loaded.stdout.split())
    assert not names & {"matplotlib", "seaborn", "statsmodels", "papermill", "nbconvert"}
    assert "False" in names
