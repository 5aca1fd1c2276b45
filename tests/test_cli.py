import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from test_runs import GOOD, REFUSED

import hetcost as hc

HETCOST = Path(sys.executable).with_name("hetcost")


def _run(*arguments, cwd):
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run(
        [HETCOST, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, env=environment
    )


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "good.json").write_text(json.dumps(GOOD))
    return tmp_path


BOARDS = [
    argument
    for field in ("power_model=nameplate", "host_w_load_per_gpu=0", "psu_efficiency_frac=1")
    for argument in ("-a", field)
]


def test_tidy_then_cost(results):
    done = _run("tidy", "results", "-o", "runs.csv", "--strict", cwd=results)
    assert (done.returncode, done.stdout) == (0, "1 files: 1 runs, 0 refused: runs.csv\n")
    shown = _run("cost", "runs.csv", "-a", "price_as_of=2025-05", cwd=results)
    assert shown.returncode == 0
    assert "org/model-8B" in shown.stdout
    done = _run(
        "cost", "runs.csv", "-o", "costs.csv", *BOARDS, "-a", "pue={4090: 1.5}", cwd=results
    )
    assert done.returncode == 0, done.stderr
    costs = pd.read_csv(results / "costs.csv")
    # 2 cards at 0.25 USD/h and 600 output tokens a second
    assert costs["usd_per_mtok_out"].item() == pytest.approx(0.5 / 3600 / 600 * 1e6)
    assert costs["site_w_load"].item() == 2 * 450 * 1.5


def test_tidy_prints_refusals_and_is_strict_on_request(results):
    (results / "results" / "bad.json").write_text("{")
    done = _run("tidy", "results", "-o", "runs.csv", cwd=results)
    assert (done.returncode, done.stdout) == (0, "2 files: 1 runs, 1 refused: runs.csv\n")
    assert "refused: bad.json, line 1: " in done.stderr
    before = (results / "runs.csv").read_bytes()
    assert len(hc.load_runs(str(results / "runs.csv"))) == 1
    for paths in (["results", "--strict"], ["nowhere"]):
        done = _run("tidy", *paths, "-o", "runs.csv", cwd=results)
        assert done.returncode == 1
        assert "nothing was written" in done.stderr
        assert (results / "runs.csv").read_bytes() == before, "a good table is not overwritten"


def test_every_refusal_is_one_line_of_the_command(results):
    for name, (content, _, _) in REFUSED.items():
        (results / "results" / f"{name}.json").write_text(content, "utf-8")
    done = _run("tidy", "results", "-o", "runs.csv", cwd=results)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    for name, (_, line, reason) in REFUSED.items():
        assert re.search(rf"refused: {name}\.json, line {line}: .*{reason}", done.stderr), name


def test_an_input_is_never_the_output(results):
    path = results / "results" / "good.json"
    os.link(path, results / "hard.json")
    for output in (path, results / "hard.json"):
        done = _run("tidy", "results", "-o", output, cwd=results)
        assert done.returncode == 2
        assert "choose another output" in done.stderr
    assert json.loads(path.read_text()) == GOOD


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["cost", "none.csv"], "none.csv"),
        (["cost", "ionet"], "'ionet-2025'"),
        (["cost", "ionet-2025", "-a", "pue=0.5"], "pue=0.5: valid values are 1 or more"),
        (["cost", "ionet-2025", "-a", "pu=1"], "no field 'pu'"),
        (["cost", "ionet-2025", "-a", "pue"], "write name=value"),
        (["params", "nothing"], "'sweet_spot'"),
        (["report", "sweet_spot", "-p", "p99_tftt_ms=3"], "'p99_ttft_ms'"),
        (["report", "sweet_spot", "-p", "p99_ttft_ms=fast"], "not of type float"),
        (["tidy", "results", "--sidecar", "none.yaml"], "sidecar none.yaml"),
        (["tidy", "results", "-o", "no/such/folder/runs.csv"], "no/such/folder"),
        (["tidy", "results", "-o", "results"], "a folder, where a file belongs"),
        (["tidy", "results", "-g", "sidecar=x"], "given: unknown value 'sidecar'"),
        (["tidy", "results", "-g", "self=x"], "given: unknown value 'self'"),
    ],
)
def test_an_error_is_one_message_and_exit_code_2(results, arguments, told):
    done = _run(*arguments, cwd=results)
    assert done.returncode == 2, done.stdout
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_diagnose_and_protocol(tmp_path):
    told = _run("diagnose", "ionet-2025", cwd=tmp_path).stdout
    assert "warm_prefix: warning of 51 runs" in told
    assert "do: send fresh prompts to every run" in told
    done = _run("diagnose", "ionet-2025", "-o", "found.csv", cwd=tmp_path)
    assert "findings in found.csv" in done.stdout
    assert len(pd.read_csv(tmp_path / "found.csv")) == len(hc.diagnose(hc.load_runs("ionet-2025")))
    assert "--no-enable-prefix-caching" in _run("protocol", cwd=tmp_path).stdout
    assert "the knee lies between these two" in _run("protocol", "ionet-2025", cwd=tmp_path).stdout


def test_tidy_of_a_table_of_ones_own_from_standard_input(tmp_path):
    table = "gpu,n_gpus,model,tps,all\nRTX 4090,1,m,300,700\n"
    options = ["-c", "tps=out_tok_per_s", "-c", "all=all_tok_per_s", "-g", "engine=vLLM"]
    command = [sys.executable, "-m", "hetcost.cli", "tidy", "-", *options]
    done = subprocess.run(
        command, input=table, capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout == "1 files: 1 runs, 0 refused: runs.csv\n"
    run = hc.load_runs(str(tmp_path / "runs.csv")).iloc[0]
    assert (run["out_tok_per_s"], run["engine"]) == (300, "vLLM")


def test_params_and_claims(tmp_path):
    shown = _run("params", "sweet_spot", cwd=tmp_path).stdout
    assert "p99_ttft_ms float" in shown
    assert "promised P99 time to first token" in shown
    audit = _run("claims", cwd=tmp_path).stdout
    assert "energy-ratio: reproduced (fact)" in audit
    assert "12 not reproduced, 5 reproduced, 4 not computable yet" in audit
