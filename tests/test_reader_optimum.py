"""optimum-benchmark: a batch answered again and again, and energy of the boards in kWh."""

import math

import pytest
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, spoilt


def _latency(mean, count=10):
    return {
        "unit": "s",
        "count": count,
        "total": mean * count,
        "mean": mean,
        "p50": mean,
        "p90": mean * 1.1,
        "p95": mean * 1.2,
        "p99": mean * 1.3,
        "stdev": 0.0,
    }


def _energy(gpu):
    return {"unit": "kWh", "cpu": 9e-5, "ram": 9e-6, "gpu": gpu, "total": gpu + 9.9e-5}


REPORT = {
    "prefill": {"latency": _latency(0.05), "energy": _energy(1e-5)},
    "decode": {
        "latency": _latency(1.95),
        "throughput": {"unit": "tokens/s", "value": 4 * 39 / 1.95},
        "energy": _energy(4e-5),
        "efficiency": {"unit": "tokens/kWh", "value": 3e6},
    },
    "per_token": {"latency": _latency(0.05, count=390)},
}
RESULT = {
    "config": {
        "name": "pytorch_generate",
        "backend": {
            "name": "pytorch",
            "version": "2.5.1",
            "model": "org/model-1B",
            "device": "cuda",
            "device_ids": "0,1",
            "torch_dtype": "float16",
            "quantization_scheme": None,
        },
        "scenario": {
            "name": "inference",
            "input_shapes": {"batch_size": 4, "sequence_length": 128},
            "generate_kwargs": {"max_new_tokens": 40, "min_new_tokens": 40},
        },
        "environment": {
            "gpu": ["NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"],
            "gpu_count": 2,
            "optimum_benchmark_version": "0.6.0",
        },
    },
    "report": REPORT,
}


def _but(target, **changes):
    return RESULT | {"report": REPORT | {target: REPORT.get(target, {}) | changes}}


def test_a_result_field_by_field(tmp_path):
    run = row_of(tmp_path / "a.json", RESULT)
    check(
        run,
        {
            "tool": "optimum-benchmark",
            "tool_version": "0.6.0",
            "engine": "PyTorch",
            "engine_version": "2.5.1",
            "model": "org/model-1B",
            "weight_dtype": "float16",
            "gpu": "A100 SXM 80GB",
            "n_gpus": 2,
            "arrival": "closed",
            "request_rate_per_s": math.inf,
            "max_concurrency": 4,
            "completed": 40,
            "duration_s": 20.0,
            "total_in_tok": 5120,
            "total_out_tok": 1600,
            "out_tok_per_s": 80.0,
            "all_tok_per_s": 336.0,
            "reported_out_tok_per_s": 80.0,
            "mean_concurrency": 4.0,
            "mean_ttft_ms": 50.0,
            "p99_ttft_ms": 65.0,
            "mean_tpot_ms": 50.0,
            "p50_tpot_ms": None,
            "p90_itl_ms": 55.0,
            "mean_e2el_ms": 2000.0,
            "p99_e2el_ms": None,
            "gpu_energy_j": 1800.0,  # 5e-5 kWh a call × 10 × 3.6e6
            "gpu_power_w": 90.0,
            "energy_method": "counter",
            "token_count_source": "requested",
            "itl_kind": "pooled",
        },
    )


def test_the_whole_call_is_timed_where_it_is_told(tmp_path):
    check(
        row_of(tmp_path / "a.json", _but("generate", latency=_latency(2.1))),
        {"mean_e2el_ms": 2100.0, "p90_e2el_ms": 2310.0, "duration_s": 21.0},
    )


def test_energy_of_0_was_not_measured(tmp_path):
    """CASES B47."""
    none = RESULT | {
        "report": REPORT
        | {
            "prefill": REPORT["prefill"] | {"energy": _energy(0.0)},
            "decode": REPORT["decode"] | {"energy": _energy(0.0)},
        }
    }
    run = row_of(tmp_path / "a.json", none)
    check(run, {"gpu_energy_j": None, "gpu_power_w": None, "energy_method": None})
    assert "the boards' energy is 0" in run["warnings"]
    unmeasured = RESULT | {
        "report": {
            name: {key: value for key, value in target.items() if key != "energy"}
            for name, target in REPORT.items()
        }
    }
    run = row_of(tmp_path / "b.json", unmeasured)
    check(run, {"gpu_energy_j": None, "warnings": None})


def test_energy_of_processor_and_memory_is_not_the_boards(tmp_path):
    """CASES B51."""
    assert row_of(tmp_path / "a.json", RESULT)["gpu_energy_j"] == pytest.approx(5e-4 * 3.6e6)


def test_a_bare_report_has_latencies_and_no_tokens(tmp_path):
    run = row_of(tmp_path / "a.json", REPORT)
    check(run, {"mean_ttft_ms": 50.0, "mean_e2el_ms": 2000.0, "total_out_tok": None})
    check(run, {"out_tok_per_s": None, "mean_tpot_ms": None})
    assert "a token count is missing" in run["warnings"]


def test_a_processor_is_no_card(tmp_path):
    host = RESULT["config"]["backend"] | {"device": "cpu", "device_ids": None}
    result = RESULT | {"config": RESULT["config"] | {"backend": host}}
    check(row_of(tmp_path / "a.json", result), {"gpu": None, "n_gpus": None})


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (
            _but("prefill", latency=_latency(0.05) | {"unit": "ms"}),
            "prefill.latency.unit: 'ms', where s belongs",
        ),
        (
            _but("decode", energy=_energy(1e-5) | {"unit": "Wh"}),
            "decode.energy.unit: 'Wh', where kWh belongs",
        ),
        ({"report": {"forward": {"latency": _latency(0.1)}}}, "no latency of prefill and decode"),
        (_but("decode", latency=_latency(1.95) | {"mean": "x"}), "decode.latency.mean: 'x' is not"),
        (_but("decode", latency=_latency(-2.0)), "duration_s: -19.5 is outside"),
    ],
)
def test_a_result_that_makes_no_sense_is_refused(tmp_path, result, reason):
    assert reasons_of(tmp_path / "a.json", result)[0].startswith(reason)


def test_hostile_results_are_rows_or_refusals(tmp_path):
    assert_rows_or_reasons(tmp_path, spoilt(RESULT), at_least=40)
