import subprocess
import sys

USED = "import hetcost as hc; hc.load_runs, hc.evaluate, hc.Scenario, hc.SLO, hc.pareto"


def _run(code):
    subprocess.check_call([sys.executable, "-c", code])


def test_lazy_baseline(case):
    case(
        "import hetcost",
        "≤ 1.25",
        lambda: _run("import pandas"),
        baseline="import pandas",
        rounds=9,
    )


def test_lazy_ours(case):
    case("import hetcost", "≤ 1.25", lambda: _run("import hetcost"), rounds=9)


def test_used_baseline(case):
    case(
        "import hetcost, main names used",
        "-",
        lambda: _run("import pandas"),
        baseline="import pandas",
        rounds=9,
    )


def test_used_ours(case):
    case("import hetcost, main names used", "-", lambda: _run(USED), rounds=9)
