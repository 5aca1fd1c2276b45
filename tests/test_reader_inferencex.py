"""InferenceX aggregates: whose cards a rate is per, and latencies in seconds."""

import math

import pytest
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, rows_of, spoilt

SINGLE = {
    "hw": "h200-nv_1",
    "conc": 64,
    "image": "lmsysorg/sglang:v0.5.5",
    "model": "org/model-70B",
    "framework": "sglang",
    "precision": "fp8",
    "disagg": False,
    "isl": 1024,
    "osl": 1024,
    "is_multinode": False,
    "tp": 8,
    "ep": 1,
    "dp_attention": "false",
    "tput_per_gpu": 1000.0,
    "output_tput_per_gpu": 480.0,
    "input_tput_per_gpu": 520.0,
    "mean_ttft": 0.25,
    "median_ttft": 0.2,
    "p99_ttft": 0.75,
    "std_ttft": 0.1,
    "mean_tpot": 0.015,
    "p99_tpot": 0.02,
    "p99_intvty": 50.0,
    "mean_itl": 0.014,
    "mean_e2el": 14.0,
}
APART = {
    "hw": "gb200",
    "conc": 2048,
    "model": "org/model-671B",
    "framework": "dynamo-trt",
    "precision": "fp4",
    "disagg": True,
    "num_prefill_gpu": 8,
    "num_decode_gpu": 16,
    "prefill_tp": 8,
    "decode_tp": 16,
    "tput_per_gpu": 1000.0,
    "output_tput_per_gpu": 750.0,
    "input_tput_per_gpu": 1500.0,
}
POWER = {
    "power_valid": 1,
    "power_metric_schema_version": 2,
    "avg_power_w": 600.0,
    "avg_total_gpu_power_w": 4800.0,
    "total_gpu_energy_j": 288_000.0,
    "joules_per_output_token": 1.25,
}


def test_a_run_on_one_node_field_by_field(tmp_path):
    run = row_of(tmp_path / "a.json", [SINGLE])
    check(
        run,
        {
            "tool": "InferenceX",
            "engine": "SGLang",
            "engine_version": "lmsysorg/sglang:v0.5.5",
            "model": "org/model-70B",
            "weight_dtype": "fp8",
            "gpu": "H200 SXM",
            "n_gpus": 8,
            "tensor_parallel": 8,
            "pipeline_parallel": 1,
            "expert_parallel": 1,
            "prefill_gpus": None,
            "dataset": "random 1024/1024",
            "arrival": "closed",
            "request_rate_per_s": math.inf,
            "max_concurrency": 64,
            "out_tok_per_s": 3840.0,
            "all_tok_per_s": 8000.0,
            "mean_ttft_ms": 250.0,
            "p50_ttft_ms": 200.0,
            "p99_ttft_ms": 750.0,
            "mean_tpot_ms": 15.0,
            "mean_itl_ms": 14.0,
            "mean_e2el_ms": 14_000.0,
            "p90_ttft_ms": None,
            "duration_s": None,
            "total_out_tok": None,
            "mean_concurrency": None,
            "gpu_power_w": None,
        },
    )
    assert not [name for name in run.index if "intvty" in name or "std" in name]
    assert "no duration" in run["warnings"]
    assert "a token count is missing" in run["warnings"]


def test_prefill_and_decode_have_cards_of_their_own(tmp_path):
    """CASES B02: output per decode card, input per prefill card, the total per card of all."""
    run = row_of(tmp_path / "a.json", APART)
    check(
        run,
        {
            "n_gpus": 24,
            "prefill_gpus": 8,
            "tensor_parallel": None,
            "out_tok_per_s": 12_000.0,
            "all_tok_per_s": 24_000.0,
            "engine": "TensorRT-LLM",
            "gpu": "GB200",
        },
    )
    assert run["out_tok_per_s"] / run["n_gpus"] == pytest.approx(500)


def test_roles_that_share_their_cards_are_counted_once(tmp_path):
    shared = {key: value for key, value in SINGLE.items() if key != "tp"}
    shared |= {"num_prefill_gpu": 8, "num_decode_gpu": 8}
    check(row_of(tmp_path / "a.json", shared), {"n_gpus": 8, "out_tok_per_s": 3840.0})


def test_rates_that_do_not_add_up_are_missing_and_told(tmp_path):
    run = row_of(tmp_path / "a.json", APART | {"output_tput_per_gpu": 500.0})
    check(run, {"out_tok_per_s": None, "all_tok_per_s": None})
    assert "make 20000 tok/s of 24 cards, the total is 24000" in run["warnings"]


def test_the_first_releases_tell_no_input_rate(tmp_path):
    old = {key: value for key, value in SINGLE.items() if key != "input_tput_per_gpu"}
    check(row_of(tmp_path / "a.json", old), {"out_tok_per_s": 3840.0, "all_tok_per_s": 8000.0})


def test_power_counts_where_the_tool_stands_by_it(tmp_path):
    check(
        row_of(tmp_path / "a.json", SINGLE | POWER),
        {"gpu_power_w": 4800.0, "gpu_energy_j": 288_000.0, "energy_method": "integrated"},
    )
    invalid = row_of(tmp_path / "b.json", SINGLE | POWER | {"power_valid": 0})
    check(invalid, {"gpu_power_w": None, "gpu_energy_j": None, "energy_method": None})
    assert "power_valid is 0" in invalid["warnings"]
    old = row_of(tmp_path / "c.json", SINGLE | {"avg_power_w": 600.0, "joules_per_output_token": 9})
    check(old, {"gpu_power_w": 4800.0, "gpu_energy_j": None})
    assert "without a version" in old["warnings"]


def test_flags_and_numbers_may_be_text(tmp_path):
    """CASES B38."""
    written = APART | {"disagg": "true", "num_prefill_gpu": "8", "conc": "2048"}
    check(row_of(tmp_path / "a.json", written), {"n_gpus": 24, "max_concurrency": 2048})


def test_answers_of_one_token_have_no_gaps(tmp_path):
    """CASES B18."""
    single = SINGLE | {"mean_tpot": 0.0, "p99_tpot": 0.0, "mean_itl": 0.0}
    check(
        row_of(tmp_path / "a.json", single),
        {"mean_tpot_ms": None, "p99_tpot_ms": None, "mean_itl_ms": None, "mean_ttft_ms": 250.0},
    )


def test_a_list_without_runs_is_told(tmp_path):
    """CASES B16."""
    assert reasons_of(tmp_path / "agg_bmk.json", []) == ["no runs in this list"]


def test_a_list_gives_a_row_per_run(tmp_path):
    runs = rows_of(tmp_path / "a.json", [SINGLE, SINGLE | {"conc": 128, "tput_per_gpu": 1001.0}])
    assert sorted(run["max_concurrency"] for run in runs) == [64, 128]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mean_ttft": "soon"}, "mean_ttft: 'soon' is not a number"),
        ({"mean_e2el": -1.0}, "mean_e2el_ms: -1000 is outside"),
        ({"tp": 0}, "n_gpus: 0 is outside"),
        ({"hw": "h100"}, "gpu: 'H100' may mean"),
        ({"disagg": "maybe", "num_prefill_gpu": 1, "num_decode_gpu": 1}, "disagg: 'maybe' is"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(tmp_path, changes, reason):
    assert reasons_of(tmp_path / "a.json", SINGLE | changes)[0].startswith(reason)


def test_a_run_without_a_model_is_refused(tmp_path):
    nameless = {key: value for key, value in SINGLE.items() if key != "model"}
    assert reasons_of(tmp_path / "a.json", nameless) == ["an InferenceX run without 'model'"]


def test_hostile_runs_are_rows_or_refusals(tmp_path):
    records = [*spoilt(SINGLE | POWER), *spoilt(APART)]
    assert_rows_or_reasons(tmp_path, records, at_least=60)
