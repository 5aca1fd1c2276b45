"""What README and Makefile promise."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from conftest import ROOT
from test_runs import GOOD

import hetcost as hc

README = (ROOT / "README.md").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def _blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_readmes_session_runs_as_written(monkeypatch):
    monkeypatch.chdir(os.sep)
    namespace = {}
    session = compile(_blocks("python")[0], "README.md", "exec")
    with pytest.warns(hc.DataWarning, match="groups have no row that is known to keep the SLO"):
        exec(session, namespace)
    spots = namespace["spots"]
    assert isinstance(spots, pd.DataFrame)
    assert spots["meets_slo"].all()
    assert not spots.duplicated(["model", "gpu", "n_gpus"]).any()


def test_the_readmes_own_runs_are_read_as_written(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    bare = {key: value for key, value in GOOD.items() if not key.startswith("gpu")}
    (tmp_path / "results" / "a.json").write_text(json.dumps(bare), "utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(compile(_blocks("python")[2], "README.md", "exec"), namespace)
    assert namespace["scan"].refused.empty
    assert len(namespace["scan"].runs) == 1


def test_the_readmes_other_sessions_run_as_written(monkeypatch):
    monkeypatch.chdir(os.sep)
    namespace = {}
    exec(compile(_blocks("python")[1], "README.md", "exec"), namespace)
    assert namespace["draws"].values["usd_per_mtok_out"].min() > 0


def test_the_readmes_log_of_power_is_read_as_written(tmp_path, monkeypatch):
    rows = [f"{1_770_000_000 + second},GPU-0,310" for second in range(100)]
    (tmp_path / "power.csv").write_text("\n".join(["t_s,gpu_uuid,power_w", *rows, ""]), "utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(compile(_blocks("python")[3], "README.md", "exec"), namespace)
    assert namespace["measured"]["gpu_power_w"].item() == 310


def test_the_readme_counts_the_verdicts_as_they_are():
    counts = hc.audit_claims()["verdict"].value_counts()
    said = re.search(r"finds (\d+) reproduced by those runs, (\d+) not, and (\d+) not", README)
    verdicts = ["reproduced", "not reproduced", "not computable yet"]
    assert [int(n) for n in said.groups()] == [counts[verdict] for verdict in verdicts]


def test_every_make_target_of_the_readme_exists():
    for target in set(re.findall(r"`?make ([a-z-]+)", README)):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target


def test_every_command_of_the_readme_exists():
    from hetcost.cli import app

    known = {command.callback.__name__ for command in app.registered_commands}
    used = {word for block in _blocks("console") for word in re.findall(r"hetcost (\w+)", block)}
    assert used == known


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "data/README.md"])
def test_links_within_the_repository_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")):
        if not target.startswith("https://"):
            assert (path.parent / target).exists(), target


def test_constraints_pin_exact_versions_and_name_no_index():
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)


def test_the_project_names_no_registry_and_no_machine():
    tracked = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".md", ".toml", ".txt", ".ipynb"}]
    for path in tracked:
        parts = path.relative_to(ROOT).parts
        if parts[0] in {".venv", "build", "dist", ".git"} or path == Path(__file__):
            continue
        text = path.read_text("utf-8")
        assert "/home/" not in text, path
        assert "--index-url" not in text, path
