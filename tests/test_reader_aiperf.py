"""Summaries and per-request exports of AIPerf, summaries of GenAI-Perf, as JSON and CSV."""

import copy
import csv
import io
import json
import os
import random
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.readers import aiperf, aiperf_requests, genai_csv
from hetcost.readers.pooled import Pooled

NS = 10**9
START = 1_760_000_000 * NS  # 2025-10-09T08:53:20 UTC
UUIDS = ("GPU-aaaa", "GPU-bbbb")
NOT_A_NUMBER = "@1e400@"
HOSTILE = ["", "x", [], {}, -1, NOT_A_NUMBER, None, True]
STATS = ("avg", "p50", "p90", "p95", "p99")


def _stats(unit, *values):
    return {"unit": unit} | dict(zip(STATS, values, strict=False))


def _board(uuid, low=1.0, high=1.002, watts=100.0, name="NVIDIA GeForce RTX 4090", use=90.0):
    return {
        "gpu_index": 0,
        "gpu_name": name,
        "gpu_uuid": uuid,
        "metrics": {
            "gpu_power_usage": {"unit": "W", "avg": watts, "max": 2 * watts},
            "energy_consumption": {"unit": "MJ", "avg": 1.01, "min": low, "max": high},
            "gpu_utilization": {"unit": "%", "avg": use, "max": use},
        },
    }


AIPERF = {
    "request_throughput": {"unit": "requests/sec", "avg": 2.0},
    "request_latency": _stats("ms", 2000.0, 1900.0, 2500.0, 2600.0, 2700.0),
    "request_count": {"unit": "requests", "avg": 40.0},
    "error_request_count": None,
    "time_to_first_token": _stats("ms", 20.0, 19.0, 30.0, 35.0, 40.0) | {"p25": 15.0, "std": 4.0},
    "inter_token_latency": _stats("ms", 20.0, 19.5, 21.0, 22.0, 23.0),
    "inter_chunk_latency": _stats("ms", 19.0, 18.0, 25.0, 30.0, 45.0),
    "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0},
    "output_sequence_length": {"unit": "tokens", "avg": 100.0, "p50": 100.0},
    "input_sequence_length": {"unit": "tokens", "avg": 300.0, "p50": 300.0},
    "goodput": {"unit": "requests/sec", "avg": 1.5},
    "benchmark_duration": {"unit": "sec", "avg": 20.0},
    "total_isl": {"unit": "tokens", "avg": 12000.0},
    "total_osl": {"unit": "tokens", "avg": 4000.0},
    "input_config": {
        "endpoint": {"model_names": ["org/model-8B"], "streaming": True},
        "input": {"random_seed": 7},
        "loadgen": {"concurrency": 4, "arrival_pattern": "concurrency_burst"},
    },
    "was_cancelled": False,
    "error_summary": [],
    "start_time": "2025-10-09T10:53:20.125000",
    "telemetry_data": {
        "endpoints": {
            "localhost:9400": {"gpus": {"gpu_0": _board(UUIDS[0]), "gpu_1": _board(UUIDS[1])}},
            "localhost:9402": {"gpus": {"gpu_0": _board(UUIDS[0])}},
        }
    },
}
GENAI = {
    "request_throughput": {"unit": "requests/sec", "avg": 1.0},
    "request_latency": {"unit": "ms", "avg": 1000.0, "p25": 900.0, "p75": 1100.0, "p99": 1500.0},
    "time_to_first_token": {"unit": "ms", "avg": 50.0, "p90": 70.0, "p99": 80.0},
    "inter_token_latency": {"unit": "ms", "avg": 10.0, "p99": 12.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 96.0},
    "output_sequence_length": {"unit": "tokens", "avg": 96.0, "p99": 99.0},
    "input_sequence_length": {"unit": "tokens", "avg": 200.5, "p99": 210.0},
    "request_count": {"unit": "count", "avg": 30},
    "input_config": {
        "model": ["org/model-8B"],
        "backend": "tensorrtllm",
        "service_kind": "triton",
        "endpoint": None,
        "streaming": True,
        "random_seed": 0,
        "concurrency": 1,
        "request_rate": None,
        "prompt_source": "synthetic",
    },
}


def _write(path, *records):
    lines = (json.dumps(record).replace(f'"{NOT_A_NUMBER}"', "1e400") for record in records)
    path.write_text("\n".join(lines), "utf-8")
    return path


def _run(path, **given):
    scan = hc.scan_runs(path, **given)
    assert scan.refused.empty, list(scan.refused["reason"])
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _but(record, changes):
    """Return a copy with values changed by dotted path; None takes the key out."""
    out = copy.deepcopy(record)
    for path, value in changes.items():
        *way, last = path.split("/")
        place = out
        for key in way:
            place = place[key]
        if value is None:
            place.pop(last)
        else:
            place[last] = value
    return out


def _assert_values(run, expected):
    for name, value in expected.items():
        if value is None:
            assert name not in run or pd.isna(run[name]), name
        elif isinstance(value, float):
            assert run[name] == pytest.approx(value), name
        else:
            assert run[name] == value, name


def test_an_aiperf_summary_field_by_field(tmp_path):
    run = _run(_write(tmp_path / "a.json", AIPERF))
    _assert_values(
        run,
        {
            "tool": "AIPerf",
            "date": "2025-10-09T10:53:20.125000",
            "model": "org/model-8B",
            "engine": None,
            "gpu": "RTX 4090",
            "n_gpus": 2,
            "arrival": "closed",
            "request_rate_per_s": np.inf,
            "max_concurrency": 4,
            "prompt_seed": 7,
            "n_requests": 40,
            "completed": 40,
            "failed": 0,
            "duration_s": 20.0,
            "total_in_tok": 12000,
            "total_out_tok": 4000,
            "out_tok_per_s": 200.0,
            "all_tok_per_s": 800.0,
            "goodput_per_s": 1.5,
            "reported_out_tok_per_s": 200.0,
            "reported_req_per_s": 2.0,
            "mean_ttft_ms": 20.0,
            "p25_ttft_ms": 15.0,
            "p50_ttft_ms": 19.0,
            "p99_ttft_ms": 40.0,
            "mean_e2el_ms": 2000.0,
            "p95_e2el_ms": 2600.0,
            "streaming": True,
            "token_count_source": "retokenized",
            "gpu_power_w": 200.0,
            "gpu_energy_j": 4000.0,
            "energy_method": "counter",
            "warnings": None,
        },
    )
    assert "std_ttft_ms" not in run


def test_itl_of_aiperf_is_tpot_and_gaps_between_chunks_are_itl(tmp_path):
    run = _run(_write(tmp_path / "a.json", AIPERF))
    _assert_values(
        run,
        {"mean_tpot_ms": 20.0, "p99_tpot_ms": 23.0, "mean_itl_ms": 19.0, "p99_itl_ms": 45.0}
        | {"itl_kind": "pooled"},
    )
    alone = _run(_write(tmp_path / "b.json", _but(AIPERF, {"inter_chunk_latency": None})))
    _assert_values(alone, {"mean_tpot_ms": 20.0, "mean_itl_ms": None, "itl_kind": "request_mean"})


def test_genai_perf_states_no_p50_and_no_duration(tmp_path):  # B37
    run = _run(_write(tmp_path / "a.json", GENAI), gpu="RTX 4090", n_gpus=1)
    _assert_values(
        run,
        {
            "tool": "GenAI-Perf",
            "model": "org/model-8B",
            "engine": "TensorRT-LLM",
            "dataset": "synthetic",
            "arrival": "closed",
            "max_concurrency": 1,
            "prompt_seed": 0,
            "completed": 30,
            "failed": None,
            "n_requests": None,
            "duration_s": 30.0,
            "total_in_tok": 6015,
            "total_out_tok": 2880,
            "p50_e2el_ms": None,
            "p75_e2el_ms": 1100.0,
            "p90_ttft_ms": 70.0,
            "p99_tpot_ms": 12.0,
            "itl_kind": "request_mean",
        },
    )
    by_requests = _but(GENAI, {"output_token_throughput": None})
    assert _run(_write(tmp_path / "b.json", by_requests))["duration_s"] == 30.0


def test_the_first_genai_perf_wrote_nanoseconds_text_and_pooled_gaps(tmp_path):
    record = {
        "request_throughput": {"unit": "request per sec", "avg": "2.5"},
        "request_latency": {"unit": "ns", "avg": "80000000.0", "p99": "90000000"},
        "time_to_first_token": {"unit": "ns", "avg": "20000000", "p50": "19000000"},
        "inter_token_latency": {"unit": "ns", "avg": "4000000", "p99": "100000000"},
        "output_token_throughput": {"unit": "tokens per sec", "avg": "40"},
        "num_output_token": {"unit": "tokens", "avg": "16.0"},
        "num_input_token": {"unit": "tokens", "avg": "550"},
        "input_config": {"model": "gpt2", "service_kind": "openai", "backend": "vllm"},
    }
    run = _run(_write(tmp_path / "a.json", record))
    _assert_values(
        run,
        {
            "model": "gpt2",
            "engine": None,
            "mean_e2el_ms": 80.0,
            "p50_ttft_ms": 19.0,
            "mean_itl_ms": 4.0,
            "p99_itl_ms": 100.0,
            "mean_tpot_ms": None,
            "itl_kind": "pooled",
            "completed": None,
            "out_tok_per_s": None,
            "reported_out_tok_per_s": 40.0,
        },
    )
    assert "the number of completed requests is missing" in run["warnings"]


@pytest.mark.parametrize(
    ("unit", "factor"), [("ns", 1e-6), ("us", 1e-3), ("ms", 1.0), ("sec", 1e3), ("s", 1e3)]
)
def test_times_are_converted_by_the_unit_that_is_stated(tmp_path, unit, factor):
    changes = {"time_to_first_token/unit": unit, "benchmark_duration/unit": unit}
    changes["request_latency/avg"] = 50_000.0
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, changes)))
    assert run["p50_ttft_ms"] == pytest.approx(19.0 * factor)
    assert run["duration_s"] == pytest.approx(0.02 * factor)
    assert run["mean_e2el_ms"] == 50_000.0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"time_to_first_token/unit": "tokens"}, "time_to_first_token.unit: 'tokens'"),
        ({"request_latency/unit": None}, "request_latency.unit: None"),
        ({"request_latency/p99": "fast"}, "request_latency.p99: 'fast' is not a number"),
        ({"request_count": 5}, "request_count: int where an object belongs"),
        ({"error_summary": 3}, "error_summary"),
        ({"telemetry_data/endpoints/localhost:9400/gpus/gpu_0": 1}, "gpu_0: int"),
    ],
)
def test_what_is_not_of_its_kind_is_refused(tmp_path, changes, reason):
    scan = hc.scan_runs(_write(tmp_path / "a.json", _but(AIPERF, changes)))
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


@pytest.mark.parametrize(
    ("loadgen", "expected"),
    [
        ({"request_rate": 5.0}, (5.0, "poisson", None, None)),
        ({"request_rate": 5, "arrival_pattern": "constant"}, (5.0, "constant", None, None)),
        (
            {"request_rate": 5, "arrival_pattern": "gamma", "arrival_smoothness": 0.5},
            (5.0, "gamma", 0.5, None),
        ),
        ({"request_rate": 5, "request_rate_mode": "gamma"}, (5.0, "gamma", 1.0, None)),
        ({"request_rate": 5, "concurrency": 8}, (5.0, "poisson", None, 8)),
        ({"concurrency": 8}, (np.inf, "closed", None, 8)),
        ({"request_rate": "inf", "concurrency": 8}, (np.inf, "closed", None, 8)),
        ({"request_rate": "inf"}, (np.inf, "burst", None, None)),
        ({"request_rate_mode": "concurrency_burst"}, (np.inf, "closed", None, None)),
        ({"request_rate": 5, "type": "user_centric"}, (5.0, None, None, None)),
        ({}, (None, None, None, None)),
    ],
)
def test_arrivals(tmp_path, loadgen, expected):
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, {"input_config/loadgen": loadgen})))
    names = ("request_rate_per_s", "arrival", "burstiness", "max_concurrency")
    _assert_values(run, dict(zip(names, expected, strict=True)))


def test_newer_layouts_of_the_options(tmp_path):
    phases = [
        {"name": "warmup", "type": "concurrency", "concurrency": 64},
        {"name": "load", "kind": "profiling", "type": "gamma", "rate": 30, "smoothness": 2},
    ]
    config = {
        "models": {"items": [{"name": "org/model-8B"}]},
        "endpoint": {"streaming": True, "use_server_token_count": True},
        "phases": phases,
    }
    newer = AIPERF | {"aiperf_version": "0.12.0", "input_config": config}
    newer["run_info"] = {"random_seed": 44}
    _assert_values(
        _run(_write(tmp_path / "a.json", newer)),
        {
            "tool_version": "0.12.0",
            "model": "org/model-8B",
            "request_rate_per_s": 30.0,
            "arrival": "gamma",
            "burstiness": 2.0,
            "max_concurrency": None,
            "prompt_seed": 44,
            "token_count_source": "server",
        },
    )
    nested = {
        "model_names": ["org/model-8B"],
        "endpoint": {"backend": "vllm", "service_kind": "triton", "streaming": True},
        "perf_analyzer": {"stimulus": {"request_rate": 3.0}},
        "input": {"prompt_source": "file"},
    }
    _assert_values(
        _run(_write(tmp_path / "b.json", GENAI | {"input_config": nested})),
        {
            "engine": "vLLM",
            "model": "org/model-8B",
            "dataset": "file",
            "arrival": "constant",
            "request_rate_per_s": 3.0,
        },
    )
    several = _but(AIPERF, {"input_config/endpoint/model_names": ["a", "b"]})
    assert pd.isna(_run(_write(tmp_path / "c.json", several))["model"])


def test_requests_that_failed_are_counted_where_either_field_says_so(tmp_path):  # B13
    stated = AIPERF | {"error_request_count": {"unit": "requests", "avg": 10.0}}
    _assert_values(_run(_write(tmp_path / "a.json", stated)), {"failed": 10, "n_requests": 50})
    listed = AIPERF | {"error_summary": [{"error_details": {}, "count": 2}, {"count": 3}]}
    listed["was_cancelled"] = True
    run = _run(_write(tmp_path / "b.json", listed))
    _assert_values(run, {"failed": 5, "n_requests": 45})
    assert "the run was cancelled" in run["warnings"]
    silent = _but(AIPERF, {"error_summary": None, "error_request_count": None})
    _assert_values(_run(_write(tmp_path / "c.json", silent)), {"failed": None, "n_requests": None})


def test_a_run_without_completed_requests_has_no_latencies(tmp_path):  # B10, B11
    zero = {"request_count/avg": 0.0, "total_isl/avg": 0.0, "total_osl/avg": 0.0}
    zero |= {f"{tag}/avg": 0.0 for tag in ("request_latency", "time_to_first_token", "goodput")}
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, zero)))
    assert run["completed"] == 0
    assert "no completed requests" in run["warnings"]
    names = ("ttft", "tpot", "itl", "e2el")
    missing = [f"{stat}_{name}_ms" for stat in ("mean", "p50", "p99") for name in names]
    _assert_values(run, dict.fromkeys([*missing, "goodput_per_s", "out_tok_per_s"]))


def test_a_summary_of_nothing_but_failures_is_a_run(tmp_path):  # B11
    record = {"input_config": AIPERF["input_config"], "error_summary": [{"count": 64}]}
    run = _run(_write(tmp_path / "a.json", record | {"start_time": "2025-10-09T10:53:20"}))
    _assert_values(run, {"tool": "AIPerf", "completed": 0, "failed": 64, "max_concurrency": 4})
    assert "no completed requests" in run["warnings"]


def test_the_first_aiperf_kept_metrics_under_records(tmp_path):
    tags = [tag for tag, metric in AIPERF.items() if isinstance(metric, dict) and "unit" in metric]
    names = {"time_to_first_token": "ttft"}
    record = {key: value for key, value in AIPERF.items() if key not in tags}
    record["records"] = {names.get(tag, tag): AIPERF[tag] for tag in tags}
    run = _run(_write(tmp_path / "a.json", record))
    today = _run(_write(tmp_path / "b.json", AIPERF))
    pd.testing.assert_series_equal(run.drop(["source"]), today.drop(["source"]))


def test_one_token_answers_have_no_time_per_token(tmp_path):  # B18
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, {"total_osl/avg": 40.0})))
    _assert_values(run, {"mean_tpot_ms": None, "p99_itl_ms": None, "mean_ttft_ms": 20.0})


def test_answers_that_were_not_streamed_have_no_first_token(tmp_path):  # B26
    whole = {"time_to_first_token": AIPERF["request_latency"], "inter_token_latency": None}
    whole["inter_chunk_latency"] = None
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, whole)))
    _assert_values(run, {"mean_ttft_ms": None, "p99_ttft_ms": None, "mean_e2el_ms": 2000.0})
    assert run["streaming"] is np.False_
    assert "answers were not streamed" in run["warnings"]
    said = _but(GENAI, {"input_config/streaming": False})
    run = _run(_write(tmp_path / "b.json", said))
    _assert_values(run, {"mean_ttft_ms": None, "mean_tpot_ms": None, "warnings": None})
    # A long prompt with a short answer was streamed all the same.
    long = _but(AIPERF, {"time_to_first_token/avg": 1990.0, "inter_token_latency/avg": 0.1})
    assert _run(_write(tmp_path / "c.json", long))["mean_ttft_ms"] == 1990.0


def test_totals_are_had_from_mean_lengths_where_they_are_not_stated(tmp_path):
    bare = {"total_isl": None, "total_osl": None, "benchmark_duration": None}
    run = _run(_write(tmp_path / "a.json", _but(AIPERF, bare)))
    _assert_values(run, {"total_in_tok": 12000, "total_out_tok": 4000, "duration_s": 20.0})
    counted = bare | {"output_sequence_length/count": 20, "input_sequence_length/sum": 11999.0}
    run = _run(_write(tmp_path / "b.json", _but(AIPERF, counted)))
    _assert_values(run, {"total_in_tok": 11999, "total_out_tok": 2000})


@pytest.mark.parametrize(
    "goodput", [{"unit": "%", "avg": 75.0}, {"unit": "requests/sec", "avg": -1.0}]
)
def test_goodput_is_a_rate_that_was_measured(tmp_path, goodput):
    run = _run(_write(tmp_path / "a.json", AIPERF | {"goodput": goodput}))
    assert pd.isna(run["goodput_per_s"])
    named = _but(GENAI, {"request_goodput": {"unit": "requests/sec", "avg": 0.4}})
    assert _run(_write(tmp_path / "b.json", named))["goodput_per_s"] == 0.4


def _telemetry(*gpus):
    listed = {f"gpu_{index}": gpu for index, gpu in enumerate(gpus)}
    return AIPERF | {"telemetry_data": {"endpoints": {"a:1": {"gpus": listed}}}}


def test_counter_and_mean_power_disagree(tmp_path):  # B52
    run = _run(_write(tmp_path / "a.json", _telemetry(_board("a", 1.0, 1.00158, watts=100.0))))
    _assert_values(run, {"gpu_energy_j": 1580.0, "gpu_power_w": 100.0})
    assert run["energy_method"] == "counter"
    assert "energy by the counter differs from mean power × time" in run["warnings"]


def test_newer_telemetry_gives_the_difference_and_names_the_vendor(tmp_path):
    gpu = _board("a")
    gpu["metrics"] = {
        "nvidia_power_usage": {"unit": "W", "avg": 100.0},
        "nvidia_energy_consumption": {"unit": "MJ", "avg": 0.002, "min": None},
    }
    run = _run(_write(tmp_path / "a.json", _telemetry(gpu)))
    _assert_values(run, {"gpu_energy_j": 2000.0, "gpu_power_w": 100.0, "warnings": None})


def test_units_of_energy_tell_mega_from_milli(tmp_path):
    gpu = _board("a")
    gpu["metrics"]["energy_consumption"] = {"unit": "mJ", "min": 0.0, "max": 2e6}
    gpu["metrics"]["gpu_power_usage"] = {"unit": "kW", "avg": 0.1}
    run = _run(_write(tmp_path / "a.json", _telemetry(gpu)))
    _assert_values(run, {"gpu_energy_j": 2000.0, "gpu_power_w": 100.0})
    gpu["metrics"]["energy_consumption"]["unit"] = "kWh"
    scan = hc.scan_runs(_write(tmp_path / "b.json", _telemetry(gpu)))
    assert "energy_consumption.unit: 'kWh'" in scan.refused["reason"].item()


@pytest.mark.parametrize("counter", [(1.0, 1.0), (1.0, None)], ids=["stood still", "half"])
def test_a_board_whose_counter_measured_nothing_leaves_the_sum_open(tmp_path, counter):  # B47
    run = _run(_write(tmp_path / "a.json", _telemetry(_board("a"), _board("b", *counter))))
    _assert_values(
        run, {"gpu_energy_j": None, "energy_method": None, "gpu_power_w": 200.0, "n_gpus": 2}
    )


def test_boards_of_several_kinds_are_told(tmp_path):
    gpus = (_board("a"), _board("b", name="NVIDIA L4"))
    run = _run(_write(tmp_path / "a.json", _telemetry(*gpus)), gpu="RTX 4090")
    assert "boards of several kinds: NVIDIA GeForce RTX 4090, NVIDIA L4" in run["warnings"]


def test_boards_that_did_nothing_are_not_of_the_run(tmp_path):
    idle = _board("b", high=1.0004, watts=20.0, name="NVIDIA L4", use=0.0)
    run = _run(_write(tmp_path / "a.json", _telemetry(_board("a"), idle)))
    _assert_values(run, {"gpu": "RTX 4090", "n_gpus": 1, "gpu_energy_j": 2000.0})
    assert run["gpu_power_w"] == 100.0
    assert run["warnings"] == "1 of 2 boards did nothing and do not count: NVIDIA L4 (20 W)"
    # where the use is not known a board counts
    del idle["metrics"]["gpu_utilization"]
    run = _run(_write(tmp_path / "b.json", _telemetry(_board("a"), idle)))
    _assert_values(run, {"n_gpus": 2, "gpu_power_w": 120.0})
    # a machine that did nothing at all is another one
    run = _run(_write(tmp_path / "c.json", _telemetry(_board("a", use=0.0))))
    _assert_values(run, {"gpu": None, "n_gpus": None, "gpu_energy_j": None, "gpu_power_w": None})
    assert "1 of 1 boards did nothing" in run["warnings"]


def test_what_is_given_goes_before_what_telemetry_shows(tmp_path):
    path = _write(tmp_path / "a.json", AIPERF)
    run = _run(path, n_gpus=1)
    _assert_values(run, {"n_gpus": 1, "gpu": "RTX 4090", "tool": "AIPerf"})
    _assert_values(run, dict.fromkeys(["gpu_energy_j", "gpu_power_w", "energy_method"]))
    assert "n_gpus: telemetry shows 2, given was 1" in run["warnings"]
    assert "energy and power are of other boards" in run["warnings"]
    other = _run(path, gpu="L4", n_gpus=2)
    _assert_values(other, {"n_gpus": 2, "gpu": "L4", "gpu_energy_j": None})
    agreed = _run(path, gpu="4090", n_gpus=2)
    _assert_values(agreed, {"gpu_energy_j": 4000.0, "warnings": None})
    assert run["run_id"] == agreed["run_id"]
    clash = hc.scan_runs(path, completed=3)
    assert "completed: the file says 40.0, given was 3.0" in clash.refused["reason"].item()


def test_a_start_with_an_offset_is_written_in_utc(tmp_path):
    record = AIPERF | {"start_time": "2025-10-09T10:53:20.125+02:00"}
    assert _run(_write(tmp_path / "a.json", record))["date"] == "2025-10-09T08:53:20Z"


def test_telemetry_of_genai_perf_goes_by_metric(tmp_path):
    stats = {
        "gpu_power_usage": {"unit": "W", "gpu0": {"avg": 100.0}, "gpu1": {"avg": 90.0}},
        "energy_consumption": {
            "unit": "MJ",
            "gpu0": {"avg": 0.5, "min": 0.1, "max": 0.103},
            "gpu1": {"avg": 0.5, "min": 0.2, "max": 0.2027},
        },
    }
    run = _run(_write(tmp_path / "a.json", GENAI | {"telemetry_stats": stats}), gpu="4090")
    _assert_values(
        run, {"n_gpus": 2, "gpu": "RTX 4090", "gpu_power_w": 190.0, "gpu_energy_j": 5700.0}
    )
    assert pd.isna(run["warnings"])


# ---------------------------------------------------------------------------------------------
# per-request exports


def _request(start_s, ttft, gaps, *, tok_in=100, tok_out=None, **metadata):
    tok_out = len(gaps) + 1 if tok_out is None else tok_out
    e2el = ttft + sum(gaps)
    metrics = {
        "input_sequence_length": {"value": tok_in, "unit": "tokens"},
        "output_sequence_length": {"value": tok_out, "unit": "tokens"},
        "time_to_first_token": {"value": ttft, "unit": "ms"},
        "request_latency": {"value": e2el, "unit": "ms"},
    }
    if gaps:
        metrics["inter_chunk_latency"] = {"value": gaps, "unit": "ms"}
        metrics["inter_token_latency"] = {"value": sum(gaps) / (tok_out - 1), "unit": "ms"}
    start = START + round(start_s * NS)
    stamps = {"request_start_ns": start, "request_end_ns": start + round(e2el * 1e6)}
    stamps |= {"benchmark_phase": "profiling", "was_cancelled": False}
    return {"metadata": stamps | metadata, "metrics": metrics, "error": None}


def _failed(start_s, lasted_s=0.5):
    start = START + round(start_s * NS)
    return {
        "metadata": {
            "request_start_ns": start,
            "request_end_ns": start + round(lasted_s * NS),
            "benchmark_phase": "profiling",
            "was_cancelled": True,
        },
        "metrics": {"error_isl": {"value": 550, "unit": "tokens"}},
        "error": {"code": 499, "type": "RequestCancellationError"},
    }


def _many(n=40, seed=1):
    rng = np.random.default_rng(seed)
    gaps = [rng.gamma(4.0, 5.0, rng.integers(1, 60)).tolist() for _ in range(n)]
    firsts = rng.gamma(3.0, 10.0, n).tolist()
    pairs = enumerate(zip(firsts, gaps, strict=True))
    return [_request(0.25 * i, first, gap, tok_in=100 + i) for i, (first, gap) in pairs]


def _of(requests, tag):
    values = [each["metrics"][tag]["value"] for each in requests if tag in each["metrics"]]
    return np.array(
        [x for value in values for x in (value if isinstance(value, list) else [value])]
    )


def _exact(values, percent):
    """Return a percentile, linear between neighbours, without numpy's own."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


TAGS = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2el": "request_latency",
}


def test_requests_are_summed_up_exactly(tmp_path):
    requests = _many()
    run = _run(_write(tmp_path / "a.jsonl", *requests), model="org/model-8B", gpu="L4", n_gpus=1)
    end = max(each["metadata"]["request_end_ns"] for each in requests)
    _assert_values(
        run,
        {
            "source": "a.jsonl:1",
            "tool": "AIPerf",
            "model": "org/model-8B",
            "date": "2025-10-09T08:53:20Z",
            "n_requests": 40,
            "completed": 40,
            "failed": 0,
            "duration_s": (end - START) / NS,
            "total_in_tok": int(_of(requests, "input_sequence_length").sum()),
            "total_out_tok": int(_of(requests, "output_sequence_length").sum()),
            "itl_kind": "pooled",
            "streaming": True,
            "arrival": None,
            "request_rate_per_s": None,
            "warnings": None,
        },
    )
    for metric, tag in TAGS.items():
        values = _of(requests, tag)
        assert run[f"mean_{metric}_ms"] == pytest.approx(values.mean()), metric
        for percent in (50, 90, 95, 99):
            expected = _exact(values, percent)
            assert run[f"p{percent}_{metric}_ms"] == pytest.approx(expected, rel=1e-12), metric


def test_pooled_gaps_are_not_the_mean_of_requests(tmp_path):  # B21
    requests = [_request(0, 50.0, [100.0] * 10), _request(1, 50.0, [10.0] * 100)]
    run = _run(_write(tmp_path / "a.jsonl", *requests))
    _assert_values(run, {"mean_tpot_ms": 55.0, "mean_itl_ms": 2000 / 110})


@pytest.mark.parametrize(
    "parts",
    [
        [[18.349402, 17.0], [0.0], [4294.967295, 4294.967296]],
        [[18.349402] * 5, [9000.5, 5000.25, 7000.0], [4000.0]],
        [[18.349402, 9000.5], [1 / 3, 2 / 3, 12_000 / 7], [20.0, 5000.0]],
        [[7000.0]],
        [[7.0]],
    ],
    ids=["edge", "long ones", "odd ones", "a long one", "one"],
)
def test_pooled_gaps_of_any_length_are_exact(parts):
    pooled = Pooled()
    for part in parts:
        pooled.extend(np.array(part))
    values = [value for part in parts for value in part]
    assert len(pooled) == len(values)
    assert pooled.mean() == pytest.approx(np.mean(values), rel=1e-14)
    percents = [0, 12.5, 50, 75, 90, 99, 100]
    expected = [_exact(values, percent) for percent in percents]
    assert pooled.percentiles(percents) == pytest.approx(expected, rel=1e-14)


def test_warmup_does_not_count_and_failures_do(tmp_path):
    requests = [
        _request(-5, 900.0, [90.0] * 9, benchmark_phase="warmup"),
        _request(1, 20.0, [10.0] * 10),
        _failed(3),
        _request(2, 40.0, [10.0] * 10),
        {**_request(2.5, 1.0, [1.0]), "metrics": None},
        _request(2.6, 1.0, [1.0], was_cancelled=True),
    ]
    run = _run(_write(tmp_path / "a.jsonl", *requests))
    _assert_values(
        run,
        {
            "completed": 2,
            "failed": 3,
            "n_requests": 5,
            "total_in_tok": 200,
            "total_out_tok": 22,
            "mean_ttft_ms": 30.0,
            "duration_s": 2.5,
            "date": "2025-10-09T08:53:21Z",
        },
    )


def test_when_all_requests_fail_there_are_no_latencies(tmp_path):
    run = _run(_write(tmp_path / "a.jsonl", _failed(0), _failed(1)))
    _assert_values(run, {"completed": 0, "failed": 2, "p99_e2el_ms": None, "itl_kind": None})
    assert "no completed requests" in run["warnings"]


def test_a_file_of_warmup_alone_is_no_run(tmp_path):
    warm = _request(0, 9.0, [9.0], benchmark_phase="warmup")
    scan = hc.scan_runs(_write(tmp_path / "a.jsonl", warm, warm))
    assert scan.runs.empty
    assert scan.refused["reason"].item() == "no request of the profiling phase could be read"


def test_units_of_single_requests(tmp_path):
    request = _request(0, 20.0, [10.0, 30.0])
    metrics = request["metrics"]
    metrics["time_to_first_token"] = {"value": "0.02", "unit": "sec"}
    metrics["inter_chunk_latency"] = {"value": [10_000, "30000"], "unit": "us"}
    metrics["request_latency"] = {"value": 60_000_000, "unit": "ns"}
    _assert_values(
        _run(_write(tmp_path / "a.jsonl", request)),
        {"mean_ttft_ms": 20.0, "p50_itl_ms": 20.0, "mean_e2el_ms": 60.0},
    )


def test_answers_of_one_token_or_in_one_piece(tmp_path):
    one = _request(0, 20.0, [])
    one["metrics"]["inter_token_latency"] = {"value": 0.0, "unit": "ms"}
    _assert_values(
        _run(_write(tmp_path / "a.jsonl", one)),
        {"mean_tpot_ms": None, "mean_itl_ms": None, "itl_kind": None, "mean_ttft_ms": 20.0},
    )
    whole = _request(0, 20.0, [10.0] * 4)
    for tag in ("time_to_first_token", "inter_chunk_latency", "inter_token_latency"):
        del whole["metrics"][tag]
    _assert_values(
        _run(_write(tmp_path / "b.jsonl", whole)),
        {"mean_ttft_ms": None, "streaming": None, "mean_e2el_ms": 60.0},
    )


def test_a_missing_length_is_not_0(tmp_path):
    bare = _request(1, 20.0, [10.0])
    del bare["metrics"]["output_sequence_length"]
    run = _run(_write(tmp_path / "a.jsonl", _request(0, 20.0, [10.0]), bare))
    _assert_values(run, {"total_in_tok": 200, "total_out_tok": None})
    assert run["warnings"] == "a token count is missing"


BROKEN = {
    "gap as text": ({"metrics/inter_chunk_latency/value": [1.0, "x"]}, "'x' is not a number"),
    "gap below 0": ({"metrics/inter_chunk_latency/value": [1.0, -2.0]}, "a gap that is negative"),
    "no gap": ({"metrics/inter_chunk_latency/value": [1.0, None]}, "missing"),
    "endless gap": ({"metrics/inter_chunk_latency/value": [NOT_A_NUMBER]}, "infinite"),
    "one gap": ({"metrics/inter_chunk_latency/value": 3.0}, "float where a list"),
    "gaps in beats": ({"metrics/inter_chunk_latency/unit": "beats"}, "'beats' is no unit"),
    "below 0": ({"metrics/request_latency/value": -4.0}, "-4 is negative"),
    "no start": ({"metadata/request_start_ns": None}, "request_start_ns: None is no time"),
    "long ago": ({"metadata/request_start_ns": 10**30}, "is no time in ns"),
    "ended before": ({"metadata/request_end_ns": START}, "it lasted -1000 ms by its stamps"),
    "another end": ({"metadata/request_end_ns": START + 9 * NS}, "it lasted 8000 ms by its stamps"),
    "other phase": ({"metadata/benchmark_phase": "cooldown"}, "neither profiling nor warmup"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_request_is_refused_and_the_run_says_so(tmp_path, case):
    changes, reason = BROKEN[case]
    good, bad = _request(0, 20.0, [10.0]), _but(_request(1, 90.0, [1.0]), changes)
    scan = hc.scan_runs(_write(tmp_path / "a.jsonl", good, bad))
    assert list(scan.refused["line"]) == [2]
    assert reason in scan.refused["reason"].item()
    run = scan.runs.iloc[0]
    _assert_values(run, {"completed": 1, "mean_ttft_ms": 20.0})
    assert run["warnings"] == "1 requests of the file could not be read"


def test_the_order_of_requests_changes_nothing(tmp_path):
    requests = _many(200)
    run = _run(_write(tmp_path / "a.jsonl", *requests))
    random.Random(1).shuffle(requests)
    again = _run(_write(tmp_path / "a.jsonl", *requests))
    assert run["run_id"] == again["run_id"]


def test_a_request_that_stands_twice_counts_once(tmp_path):
    requests = [_request(i, 20.0, [10.0], x_request_id=f"r{i}") for i in range(3)]
    scan = hc.scan_runs(_write(tmp_path / "a.jsonl", *requests, *requests))
    assert scan.runs["completed"].item() == 3
    assert scan.refused["reason"].tolist() == [f"request r{i} stands twice" for i in range(3)]


def test_the_last_line_may_be_cut_short(tmp_path):  # B35
    lines = [json.dumps(_request(i, 20.0, [10.0])) for i in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines)[:-40], "utf-8")
    scan = hc.scan_runs(tmp_path)
    assert scan.runs["completed"].item() == 2
    assert scan.refused["line"].item() == 3


def test_files_beside_the_results_are_refused_with_their_keys(tmp_path):
    gpu = {"timestamp_ns": START, "dcgm_url": "http://a:1/metrics", "gpu_uuid": "GPU-a"}
    _write(tmp_path / "gpu_telemetry_export.jsonl", gpu | {"telemetry_data": {"a": 1.0}})
    _write(tmp_path / "inputs.json", {"data": [{"session_id": "a", "payloads": []}]})
    raw = {"metadata": {"request_start_ns": START}, "payload": {}, "responses": []}
    _write(tmp_path / "profile_export_raw.jsonl", raw)
    _write(tmp_path / "slices.json", {"timeslices": [AIPERF], "input_config": {}})
    scan = hc.scan_runs(tmp_path)
    assert scan.runs.empty
    assert len(scan.refused) == 4
    assert scan.refused["reason"].str.startswith("not a result of a known tool").all()
    assert "'timestamp_ns', 'dcgm_url'" in scan.refused["reason"][0]


# ---------------------------------------------------------------------------------------------
# CSV

GENAI_CSV = (
    "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\r\n"
    "Time To First Token (ms),50.00,20.00,80.00,79.00,75.00,70.00,60.00,49.00,40.00\r\n"
    'Request Latency (ms),"1,000.25",900.00,"1,500.00","1,490.00",-1,-1.00,,999.00,950.00\r\n'
    "Inter Token Latency (ms),10.00,9.00,12.00,11.90,11.50,11.00,10.50,10.00,9.50\r\n"
    "Output Sequence Length (tokens),96.00,90.00,99.00,99.00,98.00,98.00,97.00,96.00,95.00\r\n"
    "Input Sequence Length,200.50,200.00,210.00,209.00,208.00,207.00,201.00,200.00,200.00\r\n"
    "\r\n"
    "Metric,Value\r\n"
    "Output Token Throughput (tokens/sec),96.00\r\n"
    "Request Throughput (per sec),1.00\r\n"
    "Request Goodput (per sec),-1.00\r\n"
    "Request Count (count),30.00\r\n"
    "\r\n"
    "Metric,GPU,avg,min,max,p99,p95,p90,p75,p50,p25\r\n"
    "GPU Power Usage (W),gpu0,45.85,45.20,46.50,46.49,46.44,46.37,46.17,45.85,45.53\r\n"
    "GPU Power Usage (W),gpu1,40.15,40.00,46.50,46.49,46.44,46.37,46.17,45.85,45.53\r\n"
    "Energy Consumption (MJ),gpu0,0.55,0.50,0.60,0.60,0.59,0.59,0.57,0.55,0.53\r\n"
    "\r\n"
    "Metric,GPU,Value\r\n"
    "GPU Power Limit (W),gpu0,250.00\r\n"
)


def test_blocks_of_genai_perf(tmp_path):
    (tmp_path / "a.csv").write_text(GENAI_CSV, "utf-8", newline="")
    run = _run(tmp_path / "a.csv", gpu="L4", model="org/model-8B")
    _assert_values(
        run,
        {
            "tool": "GenAI-Perf",
            "source": "a.csv:1",
            "completed": 30,
            "duration_s": 30.0,
            "total_in_tok": 6015,
            "total_out_tok": 2880,
            "goodput_per_s": None,
            "mean_e2el_ms": 1000.25,
            "p99_e2el_ms": 1490.0,
            "p95_e2el_ms": None,
            "p90_e2el_ms": None,
            "p75_e2el_ms": None,
            "p50_ttft_ms": 49.0,
            "p99_tpot_ms": 11.9,
            "itl_kind": "request_mean",
            "n_gpus": 2,
            "gpu_power_w": 86.0,
            "gpu_energy_j": None,
            "energy_method": None,
        },
    )


def _csv_of(record):
    """Write a summary as AIPerf writes its CSV: two decimals, blocks, boards."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    metrics = {tag: m for tag, m in record.items() if isinstance(m, dict) and "unit" in m}
    wide = {tag: metric for tag, metric in metrics.items() if "p50" in metric}
    names = ["avg", "min", "max", "p1", "p50", "p90", "p95", "p99", "std"]

    def title(tag, unit):
        shown = "" if unit in ("requests", "count") else f" ({unit})"
        return tag.replace("_", " ").title().replace(" To ", " to ") + shown

    def cells(metric):
        return [f"{metric[name]:.2f}" if name in metric else "" for name in names]

    writer.writerow(["Metric", *names])
    writer.writerows([title(tag, m["unit"]), *cells(m)] for tag, m in wide.items())
    writer.writerows([[], ["Metric", "Value"]])
    writer.writerows(
        [title(tag, m["unit"]), f"{m['avg']:.2f}"] for tag, m in metrics.items() if tag not in wide
    )
    writer.writerow(["Total Gpu Power (2 GPUs) (W)", "200.00"])
    writer.writerows([[], [], ["Endpoint", "GPU_Index", "GPU_Name", "GPU_UUID", "Metric", *names]])
    for url, endpoint in record["telemetry_data"]["endpoints"].items():
        for gpu in endpoint["gpus"].values():
            shown = [url, gpu["gpu_index"], gpu["gpu_name"], gpu["gpu_uuid"]]
            for tag, metric in gpu["metrics"].items():
                writer.writerow([*shown, title(tag, metric["unit"]), *cells(metric)])
    return buffer.getvalue()


def test_the_csv_says_what_the_json_says(tmp_path):
    json_run = _run(_write(tmp_path / "a.json", AIPERF))
    (tmp_path / "b.csv").write_text(_csv_of(AIPERF), "utf-8", newline="")
    csv_run = _run(tmp_path / "b.csv")
    only_json = {"run_id", "source", "date", "model", "arrival", "request_rate_per_s"}
    only_json |= {"max_concurrency", "prompt_seed", "failed", "n_requests", "prefix_state"}
    only_json |= {"gpu_energy_j", "energy_method", "streaming", "token_count_source"}
    only_json |= {"p25_ttft_ms"}
    for name in json_run.index.difference(list(only_json)):
        ours, theirs = csv_run.get(name), json_run[name]
        assert (pd.isna(ours) and pd.isna(theirs)) or ours == theirs, name
    assert csv_run["n_gpus"] == 2
    assert pd.isna(csv_run["gpu_energy_j"])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(ms),50.00", "(min),50.00", "time_to_first_token.unit: 'min'"),
        ("(ms),50.00", "(ms),fast", "time_to_first_token.avg: 'fast' is not a number"),
        ("(ms),10.00,", "(ms),10.00,1,1,", "a row of 12 cells under 10 titles"),
        ("Input Sequence Length,", "Request Latency (ms),", "stands twice"),
        ("Request Throughput (per sec),1.00", '"' + "x" * 200_000 + '",1', "field larger"),
        ("Request Throughput (per sec),1.00", '"",1', "is no title"),
    ],
)
def test_tables_that_are_damaged(tmp_path, old, new, reason):
    assert old in GENAI_CSV
    (tmp_path / "a.csv").write_text(GENAI_CSV.replace(old, new, 1), "utf-8", newline="")
    scan = hc.scan_runs(tmp_path)
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


def test_tables_of_others_are_not_claimed():
    for head in ("Metric,Value\nloss,0.3\n", "Metric,avg,min,max\nsales,1,1,1\n", "a,b\n1,2\n", ""):
        assert not genai_csv.claims_text(head)
    assert genai_csv.claims_text(GENAI_CSV)


# ---------------------------------------------------------------------------------------------
# round trip, hostile input, samples, memory


def _summary_of(requests):
    """Write requests up as AIPerf does."""
    end = max(each["metadata"]["request_end_ns"] for each in requests)
    seconds = (end - START) / NS
    record = {
        "request_count": {"unit": "requests", "avg": float(len(requests))},
        "benchmark_duration": {"unit": "sec", "avg": seconds},
        "error_summary": [],
    }
    for tag in TAGS.values():
        values = _of(requests, tag)
        record[tag] = {"unit": "ms", "avg": values.mean()}
        record[tag] |= {f"p{p}": _exact(values, p) for p in (50, 90, 95, 99)}
    for tag, name in {"total_isl": "input", "total_osl": "output"}.items():
        total = float(_of(requests, f"{name}_sequence_length").sum())
        record[tag] = {"unit": "tokens", "avg": total}
    return record


def test_summary_and_requests_of_one_run_agree(tmp_path):
    requests = _many(seed=5)
    one = _run(_write(tmp_path / "a.jsonl", *requests))
    other = _run(_write(tmp_path / "a.json", _summary_of(requests)))
    for name in one.index.drop(["run_id", "source", "date"]).intersection(other.index):
        ours, theirs = one[name], other[name]
        if isinstance(theirs, float):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, err_msg=name)
        elif name != "streaming":
            assert (pd.isna(ours) and pd.isna(theirs)) or ours == theirs, name


def _places(value, way=()):
    for key in value if isinstance(value, dict) else range(len(value)):
        yield (*way, key)
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key], (*way, key))


def _mutants(record):
    """Yield the record with each key taken out and each value replaced."""
    for *way, last in _places(record):
        for value in (KeyError, *HOSTILE):
            mutant = copy.deepcopy(record)
            place = mutant
            for key in way:
                place = place[key]
            if value is KeyError:
                del place[last]
            else:
                place[last] = value
            yield mutant


SMALL = _but(
    {tag: AIPERF[tag] for tag in AIPERF if tag not in ("output_sequence_length", "goodput")},
    {"telemetry_data/endpoints/localhost:9402": None, "error_request_count": None}
    | {"telemetry_data/endpoints/localhost:9400/gpus/gpu_1": None, "inter_chunk_latency": None},
) | {"error_summary": [{"count": 2}], "telemetry_stats": {"amd_power": {"unit": "W", "gpu0": {}}}}


@pytest.mark.parametrize("record", [SMALL, GENAI], ids=["AIPerf", "GenAI-Perf"])
def test_no_hostile_summary_raises_or_is_lost(tmp_path, record):
    names = set()
    for number, mutant in enumerate(_mutants(record)):
        names.add(_write(tmp_path / f"{number:04}.json", mutant).name)
    scan = hc.scan_runs(tmp_path)
    found = {*scan.refused["file"], *(source.rpartition(":")[0] for source in scan.runs["source"])}
    assert found == names
    assert (scan.refused["reason"].str.len() > 5).all()
    twins = scan.refused["reason"].str.startswith("the same run as").sum()
    assert len(scan.runs) + twins > len(names) / 10


def test_no_hostile_request_raises_or_is_lost(tmp_path):
    good = [_request(0, 20.0, [10.0, 12.0]), _request(1, 30.0, [9.0])]
    for number, mutant in enumerate(_mutants(_request(2, 25.0, [5.0, 6.0]))):
        _write(tmp_path / f"{number:04}.jsonl", *good, mutant)
    scan = hc.scan_runs(tmp_path)
    twins = scan.refused["reason"].str.startswith("the same run as")
    refused = scan.refused[~twins].groupby("file").size()
    runs = scan.runs.assign(file=scan.runs["source"].str.rpartition(":")[0])
    for file, sent in zip(runs["file"], runs["n_requests"], strict=True):
        assert sent + refused.get(file, 0) == 3, file
    named = {*runs["file"], *scan.refused["file"]}
    assert len(named) == number + 1


def test_no_hostile_table_raises_or_is_lost(tmp_path):
    lines = GENAI_CSV.split("\r\n")
    cells = [(row, column) for row in range(len(lines)) for column in (0, 1, 3)]
    count = 0
    for row, column in cells:
        parts = lines[row].split(",")
        if column >= len(parts) or '"' in lines[row]:
            continue
        for value in ("", "x", "[]", "{}", "-1", "1e400", "null", "true", '"'):
            changed = [*parts[:column], value, *parts[column + 1 :]]
            text = "\r\n".join([*lines[:row], ",".join(changed), *lines[row + 1 :]])
            count += 1
            (tmp_path / f"{count:04}.csv").write_text(text, "utf-8", newline="")
    scan = hc.scan_runs(tmp_path)
    named = {*scan.refused["file"], *(source.rpartition(":")[0] for source in scan.runs["source"])}
    assert len(named) == count


SAMPLES = os.environ.get("HETCOST_SAMPLES", "")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="HETCOST_SAMPLES is not set")


def _samples():
    return Path(SAMPLES) / "formats" / "aiperf"


@needs_samples
def test_the_published_summary():
    run = _run(_samples() / "qwen_concurrency1__profile_export_aiperf.json")
    _assert_values(
        run,
        {
            "tool": "AIPerf",
            "model": "Qwen/Qwen3-0.6B",
            "gpu": "RTX 6000 Ada",
            "n_gpus": 1,
            "arrival": "closed",
            "max_concurrency": 1,
            "completed": 64,
            "failed": 0,
            "duration_s": 255.560172701,
            "total_in_tok": 6400,
            "total_out_tok": 12799,
            "out_tok_per_s": 50.08213863971112,
            "mean_tpot_ms": 18.19909533160138,
            "p99_itl_ms": 20.8811646,
            "gpu_energy_j": 26114.932,
            "gpu_power_w": 129.8854497206704,
            "energy_method": "counter",
        },
    )
    assert run["gpu_power_w"] * run["duration_s"] == pytest.approx(33_194, rel=1e-3)
    assert "differs from mean power × time" in run["warnings"]


@needs_samples
def test_the_published_requests():
    path = _samples() / "qwen_concurrency1__profile_export.jsonl"
    run = _run(path, model="Qwen/Qwen3-0.6B")
    requests = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    _assert_values(run, {"completed": 10, "total_in_tok": 1000, "total_out_tok": 2000})
    assert run["p99_itl_ms"] == pytest.approx(_exact(_of(requests, "inter_chunk_latency"), 99))
    assert run["duration_s"] == pytest.approx(39.387528910)


@needs_samples
def test_published_telemetry_is_no_request():
    scan = hc.scan_runs(_samples() / "qwen_concurrency1__gpu_telemetry_export.jsonl")
    assert scan.runs.empty
    (reason,) = scan.refused["reason"]
    assert "'timestamp_ns', 'dcgm_url'" in reason
    assert reason.endswith("of its 19 other entries")


@needs_samples
def test_results_of_other_tools_are_not_claimed():
    from hetcost.readers.records import json_records

    seen = 0
    for path in sorted((Path(SAMPLES) / "formats").rglob("*.*")):
        if path.parent.name == "aiperf":
            continue
        text = path.read_text("utf-8")
        assert not genai_csv.claims_text(text[:65536]), path
        if path.suffix in (".json", ".jsonl"):
            for found in json_records(text):
                if isinstance(found.value, dict):
                    seen += 1
                    assert not aiperf.claims(found.value), path
                    assert not aiperf_requests.claims_request(found.value), path
    assert seen > 10


@pytest.mark.slow
def test_a_large_file_is_read_in_little_memory(tmp_path):
    """60 MB hold ten million gaps, as Python objects several times as much."""
    gaps = [float(f"{gap:.1f}") for gap in np.random.default_rng(3).uniform(10, 99, 2000)]
    line = json.dumps(_request(0, 20.0, gaps), separators=(",", ":"))
    copies = 60_000_000 // len(line)
    with (tmp_path / "a.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for _ in range(copies))
    tracemalloc.start()
    try:
        run = _run(tmp_path / "a.jsonl")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run["completed"] == copies
    assert run["p50_itl_ms"] == pytest.approx(np.percentile(gaps, 50), abs=0.1)
    assert peak < 200 * 2**20
