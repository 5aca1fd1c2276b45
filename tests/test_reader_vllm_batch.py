"""vLLM throughput and latency results: what they say, and what they never say."""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcost.runs import scan_runs

THROUGHPUT = {
    "elapsed_time": 100.0,
    "num_requests": 10,
    "total_num_tokens": 110_000,
    "requests_per_second": 0.1,
    "tokens_per_second": 1100.0,
}
BATCHES = [0.9, 1.0, 1.1, 1.4]
LATENCY = {
    "avg_latency": 1.1,
    "std_latency": 0.187,
    "latencies": BATCHES,
    "percentiles": {
        str(rank): float(np.percentile(BATCHES, rank)) for rank in (10, 25, 50, 75, 90, 99)
    },
}
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]


def _write(path, *records):
    path.write_text("\n".join(json.dumps(record, indent=4) for record in records), "utf-8")
    return path


def _read(tmp_path, record, **given):
    scan = scan_runs(_write(tmp_path / "a.json", record), **given)
    assert scan.refused.empty, scan.refused["reason"].tolist()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def test_throughput_is_of_input_and_output_together(tmp_path):
    run = _read(tmp_path, THROUGHPUT, gpu="H100 SXM 80GB", n_gpus=8, model="org/model-405B")
    expected = {
        "tool": "vllm bench throughput",
        "engine": "vLLM",
        "model": "org/model-405B",
        "arrival": "burst",
        "request_rate_per_s": math.inf,
        "n_requests": 10,
        "completed": 10,
        "duration_s": 100.0,
        "total_all_tok": 110_000,
        "all_tok_per_s": 1100.0,
        "req_per_s": 0.1,
        "reported_all_tok_per_s": 1100.0,
        "reported_req_per_s": 0.1,
    }
    for name, value in expected.items():
        assert run[name] == value, name
    for never in ("out_tok_per_s", "total_out_tok", "total_in_tok", "mean_e2el_ms", "mean_ttft_ms"):
        assert pd.isna(run[never]), never
    assert "reported_out_tok_per_s" not in run
    assert "a token count is missing" in run["warnings"]
    assert not run["streaming"]


def test_lengths_that_are_given_make_an_output_throughput(tmp_path):
    run = _read(tmp_path, THROUGHPUT, total_in_tok=100_000, total_out_tok=10_000)
    assert run["out_tok_per_s"] == 100.0
    assert run["all_tok_per_s"] == 1100.0


def test_the_file_name_is_not_read(tmp_path):
    path = _write(tmp_path / "in10000_out1000.json", THROUGHPUT)
    assert scan_runs(path).runs["out_tok_per_s"].isna().item()


def test_latencies_are_of_a_batch(tmp_path):
    run = _read(tmp_path, LATENCY)
    assert run["tool"] == "vllm bench latency"
    assert (run["arrival"], run["request_rate_per_s"]) == ("closed", math.inf)
    assert run["mean_e2el_ms"] == pytest.approx(1100.0)
    assert run["duration_s"] == pytest.approx(4.4)
    for rank in (10, 25, 50, 75, 90, 99):
        assert run[f"p{rank}_e2el_ms"] == pytest.approx(np.percentile(BATCHES, rank) * 1000), rank
    assert pd.isna(run["p95_e2el_ms"]), "not in the file, and not made up"
    for never in ("mean_ttft_ms", "mean_tpot_ms", "completed", "out_tok_per_s", "req_per_s"):
        assert pd.isna(run[never]), never
    assert "of whole batches" in run["warnings"]


def test_what_a_batch_held_can_be_given(tmp_path):
    # 4 batches of 8 requests of 128 tokens in and out
    tokens = {"total_in_tok": 4096, "total_out_tok": 4096}
    run = _read(tmp_path, LATENCY, completed=32, **tokens)
    assert run["out_tok_per_s"] == pytest.approx(4096 / 4.4)
    assert run["mean_concurrency"] == pytest.approx(8)


def test_an_early_latency_file_has_no_percentiles(tmp_path):
    run = _read(tmp_path, {"avg_latency": 1.1, "latencies": BATCHES})
    assert pd.isna(run["p99_e2el_ms"])
    run = _read(tmp_path, {key: LATENCY[key] for key in ("avg_latency", "percentiles")})
    assert pd.isna(run["duration_s"])
    assert run["p99_e2el_ms"] > 1100


def test_runs_are_read_back_as_they_were_written(tmp_path):
    first = _read(tmp_path, THROUGHPUT)
    record = {
        "elapsed_time": first["duration_s"],
        "num_requests": int(first["n_requests"]),
        "total_num_tokens": int(first["total_all_tok"]),
        "requests_per_second": first["req_per_s"],
        "tokens_per_second": first["all_tok_per_s"],
    }
    pd.testing.assert_series_equal(_read(tmp_path, record), first)
    first = _read(tmp_path, LATENCY)
    ranks = (10, 25, 50, 75, 90, 99)
    record = {
        "avg_latency": first["mean_e2el_ms"] / 1000,
        "latencies": [first["duration_s"] / 4] * 4,
        "percentiles": {str(rank): first[f"p{rank}_e2el_ms"] / 1000 for rank in ranks},
    }
    again = _read(tmp_path, record)
    unlike = ["run_id"]  # of the last bit of a float
    pd.testing.assert_series_equal(again.drop(unlike), first.drop(unlike))


def test_numbers_written_as_text_are_numbers(tmp_path):
    text = {key: str(value) for key, value in THROUGHPUT.items()}
    assert _read(tmp_path, text)["all_tok_per_s"] == 1100.0
    assert _read(tmp_path, LATENCY | {"avg_latency": "1.1"})["mean_e2el_ms"] == pytest.approx(1100)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (THROUGHPUT | {"elapsed_time": "long"}, "elapsed_time: 'long' is not a number"),
        (THROUGHPUT | {"total_num_tokens": -1}, "total_all_tok: -1"),
        (LATENCY | {"latencies": {"a": 1}}, "latencies: dict where a list belongs"),
        (LATENCY | {"latencies": [1, "x"]}, "latencies: 'x' is not a number"),
        (LATENCY | {"latencies": [1e308, 1e308]}, "duration_s: inf"),
        (LATENCY | {"percentiles": [1]}, "percentiles: list where an object belongs"),
        (LATENCY | {"percentiles": {"50": []}}, "50: a list is not a number"),
        (LATENCY | {"percentiles": {"50": -1}}, "p50_e2el_ms: -1000"),
        (
            {key: THROUGHPUT[key] for key in ("elapsed_time", "tokens_per_second")},
            "a vLLM throughput result without 'num_requests', 'total_num_tokens'",
        ),
    ],
)
def test_refusals_name_field_and_value(tmp_path, record, reason):
    scan = scan_runs(_write(tmp_path / "a.json", record))
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


@pytest.mark.parametrize("good", [THROUGHPUT, LATENCY])
def test_hostile_input_is_a_row_or_a_refusal(tmp_path, good):
    spoilt = [{each: good[each] for each in good if each != key} for key in good]
    spoilt += [good | {key: value} for key, value in itertools.product(good, HOSTILE)]
    spoilt += [LATENCY | {"latencies": [1.0, value]} for value in HOSTILE]
    spoilt += [LATENCY | {"percentiles": {"50": value, "x": value}} for value in HOSTILE]
    _write(tmp_path / "a.json", *spoilt)
    scan = scan_runs(tmp_path)
    assert len(scan.runs) + len(scan.refused) == len(spoilt)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) >= 5


def test_samples_are_read():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: vLLM's throughput and latency were not read")
    scan = scan_runs(Path(folder) / "formats" / "vllm_throughput_latency")
    assert scan.refused.empty
    runs = scan.runs.set_index("tool")
    throughput, latency = runs.loc["vllm bench throughput"], runs.loc["vllm bench latency"]
    # 32 requests of 128 in and 2048 out: 17 times less of them is input
    assert throughput["total_all_tok"] == 32 * (128 + 2048)
    assert throughput["all_tok_per_s"] == pytest.approx(888.5027, abs=1e-4)
    assert pd.isna(throughput["out_tok_per_s"])
    assert latency["p90_e2el_ms"] == pytest.approx(718.138, abs=1e-3)
    assert pd.isna(latency["p95_e2el_ms"])
