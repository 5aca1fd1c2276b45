"""ML.ENERGY v2 and v3: joules per output token come out as they were measured."""

import math

import pytest
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, rows_of, samples, spoilt

import hetcost as hc
from hetcost.runs import scan_runs

V2 = {
    "Model": "org/model-7B",
    "GPU": "NVIDIA H100 80GB HBM3",
    "TP": 2,
    "PP": 1,
    "Energy/req (J)": 50.0,
    "Avg TPOT (s)": 0.025,
    "Token tput (tok/s)": 2000.0,
    "Avg Output Tokens": 400.0,
    "Avg BS (reqs)": 60.5,
    "Max BS (reqs)": 64,
}
RUN = {
    "gpu_model": "B200",
    "num_gpus": 8,
    "max_num_seqs": 128,
    "avg_batch_size": 120.25,
    "output_throughput_tokens_per_sec": 4000.0,
    "energy_per_token_joules": 0.75,
    "energy_per_request_joules": 600.0,
    "avg_power_watts": 3000.0,
    "avg_output_len": 800.0,
    "median_itl_ms": 28.0,
    "p90_itl_ms": 30.0,
    "p95_itl_ms": 31.0,
    "p99_itl_ms": 35.0,
    "parallelization": {"tensor_parallel": 8, "expert_parallel": 1, "data_parallel": 1},
}
V3 = {"model_id": "org/model-70B", "task": "chat", "configurations": [RUN]}


def test_a_run_of_v2_field_by_field(tmp_path):
    check(
        row_of(tmp_path / "a.json", V2),
        {
            "tool": "ML.ENERGY",
            "model": "org/model-7B",
            "gpu": "H100 SXM 80GB",
            "n_gpus": 2,
            "tensor_parallel": 2,
            "pipeline_parallel": 1,
            "arrival": "closed",
            "request_rate_per_s": math.inf,
            "max_concurrency": 64,
            "mean_concurrency": 60.5,
            "mean_out_tok": 400.0,
            "mean_tpot_ms": 25.0,
            "out_tok_per_s": 2000.0,
            "gpu_power_w": 250.0,  # 50 J / 400 tokens × 2000 tokens/s
            "energy_method": "counter",
            "gpu_energy_j": None,
            "mean_ttft_ms": None,
            "duration_s": None,
            "all_tok_per_s": None,
        },
    )


def test_a_run_of_v3_field_by_field(tmp_path):
    check(
        row_of(tmp_path / "a.json", V3),
        {
            "model": "org/model-70B",
            "gpu": "B200",
            "n_gpus": 8,
            "tensor_parallel": 8,
            "expert_parallel": 1,
            "data_parallel": 1,
            "dataset": "chat",
            "max_concurrency": 128,
            "mean_concurrency": 120.25,
            "mean_out_tok": 800.0,
            "out_tok_per_s": 4000.0,
            "gpu_power_w": 3000.0,
            "energy_method": "counter",
            "gpu_energy_j": None,
            "p50_itl_ms": 28.0,
            "p99_itl_ms": 35.0,
            "mean_itl_ms": None,
            "mean_tpot_ms": None,
        },
    )


@pytest.mark.parametrize(("record", "joules"), [(V2, 50 / 400), (V3, 0.75)])
def test_joules_per_token_come_out_as_measured(tmp_path, record, joules):
    run = scan_runs(_file(tmp_path, record)).runs
    evaluated = hc.with_energy(run, hc.Scenario(power_model="measured")).iloc[0]
    assert evaluated["gpu_j_per_tok_out"] == pytest.approx(joules)
    assert evaluated["power_quality"] == "measured, counter"


def _file(folder, record):
    row_of(folder / "a.json", record)
    return folder / "a.json"


def test_energy_of_the_run_where_requests_are_counted(tmp_path):
    counted = V3 | {"configurations": [RUN | {"num_requests": 1000}]}
    check(
        row_of(tmp_path / "a.json", counted),
        {"gpu_energy_j": 600_000.0, "total_out_tok": 800_000, "completed": 1000},
    )


def test_watts_that_contradict_the_joules_give_way(tmp_path):
    odd = V3 | {"configurations": [RUN | {"avg_power_watts": 375.0}]}
    run = row_of(tmp_path / "a.json", odd)
    check(run, {"gpu_power_w": 3000.0})
    assert "the file says 375 W" in run["warnings"]
    only = V3 | {"configurations": [RUN | {"energy_per_token_joules": None}]}
    check(row_of(tmp_path / "b.json", only), {"gpu_power_w": 3000.0})


def test_energy_of_0_was_not_measured(tmp_path):
    """CASES B47."""
    run = row_of(tmp_path / "a.json", V2 | {"Energy/req (J)": 0})
    check(run, {"gpu_power_w": None, "energy_method": None})
    assert "no energy was measured" in run["warnings"]


def test_each_configuration_is_a_run(tmp_path):
    two = V3 | {"configurations": [RUN, RUN | {"max_num_seqs": 256}]}
    runs = rows_of(tmp_path / "a.json", two)
    assert sorted(run["max_concurrency"] for run in runs) == [128, 256]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (V2 | {"TP": 0}, "n_gpus: 0 is outside"),
        (V2 | {"Avg TPOT (s)": "fast"}, "Avg TPOT (s): 'fast' is not a number"),
        (V3 | {"configurations": [RUN, 3]}, "configuration 2: int where an object belongs"),
        (
            V3 | {"configurations": [RUN | {"parallelization": 1}]},
            "configuration 1: parallelization: int where an object belongs",
        ),
        (
            {key: value for key, value in V2.items() if key != "Token tput (tok/s)"},
            "an ML.ENERGY run without 'Token tput (tok/s)'",
        ),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(tmp_path, record, reason):
    assert reasons_of(tmp_path / "a.json", record)[0].startswith(reason)


def test_hostile_runs_are_rows_or_refusals(tmp_path):
    assert_rows_or_reasons(tmp_path, [*spoilt(V2), *spoilt(V3)], at_least=40)


def test_samples_are_read():
    scan = scan_runs(samples("mlenergy"))
    assert scan.refused.empty
    check(
        scan.runs.iloc[0],
        {
            "gpu": "H100 SXM 80GB",
            "n_gpus": 1,
            "out_tok_per_s": 2025.9592574317421,
            "gpu_power_w": 47.86783463337666 / 425.6305 * 2025.9592574317421,
        },
    )
