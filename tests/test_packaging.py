"""The wheel carries data and notebooks; a checkout reads its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

TREE = ("hetcost", "data", "notebooks", "pyproject.toml", "README.md", "LICENSE")


def _copy(folder):
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def _price(checkout):
    code = (
        "import hetcost as hc; r = hc.evaluate(hc.load_runs('ionet-2025'));"
        "print(r[r.gpu == 'RTX 4090'].usd_per_gpu_h.iloc[0])"
    )
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, cwd=checkout, env=environment, text=True).strip()


def test_an_edited_table_of_a_checkout_is_seen(tmp_path):
    checkout = _copy(tmp_path)
    assert _price(checkout) == "0.25"
    prices = checkout / "data" / "reference" / "prices.csv"
    row = "RTX 4090,alternative_usd_per_gpu_h,"
    prices.write_text(prices.read_text("utf-8").replace(f"{row}0.25,", f"{row}0.3125,"), "utf-8")
    assert _price(checkout) == "0.3125"


@pytest.mark.slow
def test_the_wheel_runs_a_report_outside_of_any_checkout(tmp_path):
    (tmp_path / "src").mkdir()
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.check_call([*build, "-w", tmp_path, _copy(tmp_path / "src")])
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "hetcost/data/reference/prices.csv",
        "hetcost/data/runs/ionet-2025.csv",
        "hetcost/notebooks/sweet_spot.ipynb",
        "hetcost/report/template/style.css",
        "hetcost/report/manifest.schema.json",
        "hetcost/py.typed",
    ):
        assert name in names
    assert not any(name.startswith(("data/", "notebooks/", "tests/")) for name in names)

    # An environment of its own that borrows the dependencies, and nothing from a network.
    env = tmp_path / "env"
    subprocess.check_call([sys.executable, "-m", "venv", env])
    python = env / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel]
    subprocess.check_call(install)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(env)}))
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    shutil.rmtree(tmp_path / "src")
    where = "import hetcost; print(hetcost.__file__)"
    assert str(env) in subprocess.check_output([python, "-c", where], cwd=tmp_path, text=True)
    done = subprocess.run(
        [env / "bin" / "hetcost", "report", "sweet_spot", "--out", "out"],
        cwd=tmp_path,
        env=os.environ | {"JUPYTER_PATH": str(Path(sys.prefix, "share", "jupyter"))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "0.1111 and 0.1845 USD" in done.stdout
    assert (tmp_path / "out" / "index.html").is_file()
