"""trtllm-bench: report JSON, with and without streaming."""

import math

import pytest
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, samples, spoilt

from hetcost.runs import scan_runs

PERCENTILES = {"p50": 40.0, "p90": 50.0, "p95": 60.0, "p99": 70.0, "average": 42.0}
REPORT = {
    "engine": {
        "model": "org/model-8B",
        "version": "1.0.0",
        "dtype": "bfloat16",
        "kv_cache_dtype": "FP8",
        "quantization": "FP8",
    },
    "machine": {"name": "NVIDIA H100 80GB HBM3", "memory.total": 79.1},
    "world_info": {
        "tp_size": 2,
        "pp_size": 1,
        "ep_size": None,
        "world_size": 2,
        "kv_cache_percentage": 0.9,
        "issue_rate": 1.1e16,
    },
    "request_info": {
        "num_requests": 100,
        "avg_num_concurrent_requests": 10.0,
        "avg_input_length": 50.5,
        "avg_output_length": 20.25,
    },
    "performance": {
        "total_latency_ms": 5000.0,
        "avg_request_latency_ms": 500.0,
        "request_throughput_req_s": 20.0,
        "system_output_throughput_tok_s": 405.0,
        "system_total_throughput_tok_s": 1415.0,
        "output_throughput_per_gpu_tok_s": 202.5,
        "request_latency_percentiles_ms": {"p50": 480.0, "p99": 700.0, "minimum": 1.0},
    },
    "streaming_metrics": {
        "token_output_speed_tok_s": 99.0,
        "avg_ttft_ms": 42.0,
        "avg_tpot_ms": 24.0,
        "ttft_percentiles": PERCENTILES,
        "tpot_percentiles": {"p50": 23.0, "p99": 31.0},
    },
}


def test_a_report_field_by_field(tmp_path):
    check(
        row_of(tmp_path / "a.json", REPORT),
        {
            "tool": "trtllm-bench",
            "tool_version": "1.0.0",
            "engine": "TensorRT-LLM",
            "engine_version": "1.0.0",
            "model": "org/model-8B",
            "weight_dtype": "FP8",
            "kv_dtype": "FP8",
            "gpu": "H100 SXM 80GB",
            "n_gpus": 2,
            "tensor_parallel": 2,
            "pipeline_parallel": 1,
            "replicas": 1,
            "expert_parallel": None,
            "n_requests": 100,
            "completed": 100,
            "failed": None,
            "duration_s": 5.0,
            "total_in_tok": 5050,
            "total_out_tok": 2025,
            "out_tok_per_s": 405.0,
            "all_tok_per_s": 1415.0,
            "req_per_s": 20.0,
            "reported_out_tok_per_s": 405.0,
            "mean_concurrency": 10.0,
            "mean_ttft_ms": 42.0,
            "p95_ttft_ms": 60.0,
            "mean_tpot_ms": 24.0,
            "p99_tpot_ms": 31.0,
            "p90_tpot_ms": None,
            "mean_itl_ms": None,
            "mean_e2el_ms": 500.0,
            "p99_e2el_ms": 700.0,
            "itl_kind": "request_mean",
            "gpu_energy_j": None,
        },
    )


def test_the_issue_rate_is_no_rate(tmp_path):
    """CASES B33: 1.1e16 requests per second are as fast as possible."""
    run = row_of(tmp_path / "a.json", REPORT)
    assert (run["request_rate_per_s"], run["arrival"]) == (math.inf, "closed")
    all_at_once = REPORT | {
        "request_info": REPORT["request_info"] | {"avg_num_concurrent_requests": 60.0}
    }
    assert row_of(tmp_path / "b.json", all_at_once)["arrival"] == "burst"


def test_throughput_is_tokens_over_time_and_no_mean_of_ratios(tmp_path):
    """CASES B61, and FORMATS 1.4."""
    fast = {"system_output_throughput_tok_s": 810.0}
    run = row_of(tmp_path / "a.json", REPORT | {"performance": REPORT["performance"] | fast})
    check(run, {"out_tok_per_s": 405.0, "reported_out_tok_per_s": 810.0})
    assert "the tool reports 810" in run["warnings"]


def test_answers_that_were_not_streamed_have_e2e_alone(tmp_path):
    whole = {key: value for key, value in REPORT.items() if key != "streaming_metrics"}
    run = row_of(tmp_path / "a.json", whole)
    check(run, {"mean_ttft_ms": None, "mean_tpot_ms": None, "p50_e2el_ms": 480.0})
    assert not run["streaming"]


def test_an_older_report_names_neither_machine_nor_quantization(tmp_path):
    old = {key: value for key, value in REPORT.items() if key != "machine"}
    old["engine"] = old["engine"] | {"quantization": None, "kv_cache_dtype": None}
    check(
        row_of(tmp_path / "a.json", old),
        {"gpu": None, "weight_dtype": "bfloat16", "kv_dtype": None},
    )


@pytest.mark.parametrize(
    ("block", "changes", "reason"),
    [
        ("performance", {"total_latency_ms": "soon"}, "performance.total_latency_ms: 'soon' is"),
        ("request_info", {"num_requests": 1.5}, "completed: 1.5 is outside"),
        ("world_info", {"world_size": 0}, "n_gpus: 0 is outside"),
        ("engine", {"model": ["a"]}, "engine.model: list where a text belongs"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(tmp_path, block, changes, reason):
    odd = REPORT | {block: REPORT[block] | changes}
    assert reasons_of(tmp_path / "a.json", odd)[0].startswith(reason)


def test_a_report_without_a_block_is_refused(tmp_path):
    cut = {key: value for key, value in REPORT.items() if key != "world_info"}
    (reason,) = reasons_of(tmp_path / "a.json", cut)
    assert reason == "a trtllm-bench report without 'world_info'"


def test_hostile_reports_are_rows_or_refusals(tmp_path):
    assert_rows_or_reasons(tmp_path, spoilt(REPORT), at_least=40)


def test_samples_are_read():
    scan = scan_runs(samples("trtllm_bench"))
    assert scan.refused.empty
    check(
        scan.runs.iloc[0],
        {
            "model": "nvidia/Llama-3.1-8B-Instruct-FP8",
            "completed": 15_000,
            "total_out_tok": 3_840_000,
            "out_tok_per_s": 3_840_000 / 167.594662501,
            "p99_e2el_ms": 1459.248182,
            "arrival": "closed",
            "gpu": None,
        },
    )
