"""SGLang bench_serving JSON Lines: layouts of 2024, 0.5 and 2026, and what is wrong in them."""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcost.runs import scan_runs

OLD = {
    "backend": "sglang",
    "dataset_name": "random",
    "request_rate": 2.0,
    "max_concurrency": None,
    "total_input_tokens": 40_000,
    "total_output_tokens": 20_000,
    "total_output_tokens_retokenized": 19_900,
    "mean_e2e_latency_ms": 5000.0,
    "median_e2e_latency_ms": 4800.0,
    "median_ttft_ms": 200.0,
    "median_itl_ms": 40.0,
    "output_throughput": 200.0,
    "sharegpt_output_len": None,
    "random_input_len": 1024,
    "random_output_len": 512,
    "random_range_ratio": 0.0,
    "duration": 100.0,
    "completed": 200,
}
SERVER = {
    "model_path": "org/model-8B",
    "version": "0.5.5",
    "tp_size": 2,
    "pp_size": 1,
    "dp_size": 1,
    "ep_size": 1,
    "enable_dp_attention": False,
    "kv_cache_dtype": "auto",
    "max_total_num_tokens": 300_000,
    "internal_states": [{"avg_spec_accept_length": None}],
}
TIMES = {
    f"{statistic}_{metric}_ms": value + shift
    for metric, value in {"e2e_latency": 5000.0, "ttft": 240.0, "tpot": 48.0, "itl": 48.0}.items()
    for shift, statistic in enumerate(["mean", "median", "std", "p99"])
}
NEW = (
    {key: OLD[key] for key in OLD if not key.endswith("_ms")}
    | TIMES
    | {
        "tag": None,
        "request_rate": math.inf,
        "max_concurrency": 16,
        "server_info": SERVER,
        "total_input_text_tokens": 40_000,
        "total_input_vision_tokens": 0,
        "request_throughput": 2.0,
        "input_throughput": 400.0,
        "total_throughput": 600.0,
        "p95_itl_ms": 50.5,
        "concurrency": 10.0,
        "accept_length": None,
        "max_output_tokens_per_s": 400.0,
        "max_concurrent_requests": 20,
    }
)
LATEST = NEW | {
    f"p{rank}_{metric}_ms": NEW[f"median_{metric}_ms"] + rank / 100
    for metric in ("e2e_latency", "ttft", "tpot", "itl")
    for rank in (90, 95)
}
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]


def _write(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def _read(tmp_path, record, **given):
    scan = scan_runs(_write(tmp_path / "a.jsonl", record), **given)
    assert scan.refused.empty, scan.refused["reason"].tolist()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _warned(run):
    return "" if pd.isna(run["warnings"]) else run["warnings"]


def test_the_layout_of_2024_field_by_field(tmp_path):
    run = _read(tmp_path, OLD, gpu="RTX 4090", n_gpus=1)
    expected = {
        "tool": "sglang bench_serving",
        "engine": "SGLang",
        "dataset": "random",
        "gpu": "RTX 4090",
        "n_gpus": 1,
        "arrival": "poisson",
        "request_rate_per_s": 2.0,
        "completed": 200,
        "duration_s": 100.0,
        "total_in_tok": 40_000,
        "total_out_tok": 20_000,
        "out_tok_per_s": 200.0,
        "all_tok_per_s": 600.0,
        "req_per_s": 2.0,
        "mean_concurrency": 10.0,
        "p50_ttft_ms": 200.0,
        "p50_itl_ms": 40.0,
        "mean_e2el_ms": 5000.0,
        "p50_e2el_ms": 4800.0,
        "itl_kind": "pooled",
        "reported_out_tok_per_s": 200.0,
    }
    for name, value in expected.items():
        assert run[name] == value, name
    for absent in (
        *("model", "engine_version", "max_concurrency", "failed", "n_requests", "date"),
        *("mean_ttft_ms", "p99_ttft_ms", "p90_e2el_ms", "mean_tpot_ms", "p50_tpot_ms"),
    ):
        assert pd.isna(run[absent]), absent
    assert "token_count_source" not in run
    assert _warned(run) == ""


def test_the_layout_of_2025_field_by_field(tmp_path):
    run = _read(tmp_path, NEW, gpu="H100 PCIe 80GB")
    expected = {
        "engine": "SGLang",
        "engine_version": "0.5.5",
        "model": "org/model-8B",
        "n_gpus": 2,
        "tensor_parallel": 2,
        "pipeline_parallel": 1,
        "replicas": 1,
        "expert_parallel": 1,
        "kv_tokens": 300_000,
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": 16,
        "mean_ttft_ms": 240.0,
        "p50_ttft_ms": 241.0,
        "p99_ttft_ms": 243.0,
        "mean_tpot_ms": 48.0,
        "p99_tpot_ms": 51.0,
        "p95_itl_ms": 50.5,
        "p99_e2el_ms": 5003.0,
        "reported_all_tok_per_s": 600.0,
        "reported_req_per_s": 2.0,
    }
    for name, value in expected.items():
        assert run[name] == value, name
    for absent in ("p90_ttft_ms", "p95_ttft_ms", "p90_itl_ms", "p95_e2el_ms", "tool_version"):
        assert pd.isna(run[absent]), absent


def test_the_layout_of_2026_has_p90_and_p95(tmp_path):
    run = _read(tmp_path, LATEST)
    for metric, written in {"ttft": "ttft", "tpot": "tpot", "e2el": "e2e_latency"}.items():
        for rank in (90, 95):
            assert run[f"p{rank}_{metric}_ms"] == LATEST[f"p{rank}_{written}_ms"]


def test_a_run_is_read_back_as_it_was_written(tmp_path):
    first = _read(tmp_path, LATEST, gpu="RTX 4090")
    told = {"e2el": "e2e_latency"}
    record = {
        "backend": "sglang",
        "server_info": {
            "model_path": first["model"],
            "version": first["engine_version"],
            "tp_size": int(first["tensor_parallel"]),
            "pp_size": int(first["pipeline_parallel"]),
            "dp_size": int(first["replicas"]),
            "ep_size": int(first["expert_parallel"]),
            "max_total_num_tokens": int(first["kv_tokens"]),
        },
        "dataset_name": first["dataset"],
        "request_rate": first["request_rate_per_s"],
        "max_concurrency": int(first["max_concurrency"]),
        "completed": int(first["completed"]),
        "duration": first["duration_s"],
        "total_input_tokens": int(first["total_in_tok"]),
        "total_output_tokens": int(first["total_out_tok"]),
        "output_throughput": first["out_tok_per_s"],
        "total_throughput": first["all_tok_per_s"],
        "request_throughput": first["req_per_s"],
    }
    for metric in ("ttft", "tpot", "itl", "e2el"):
        for statistic in ("mean", "p50", "p90", "p95", "p99"):
            word = "median" if statistic == "p50" else statistic
            key = f"{word}_{told.get(metric, metric)}_ms"
            record[key] = first[f"{statistic}_{metric}_ms"]
    again = _read(tmp_path, record, gpu="RTX 4090")
    pd.testing.assert_series_equal(again, first)


def test_appended_lines_are_runs_and_infinite_rates_are_bursts(tmp_path):
    burst = OLD | {"request_rate": math.inf}
    path = _write(tmp_path / "a.jsonl", OLD, burst)
    assert "Infinity" in path.read_text("utf-8")
    runs = scan_runs(path).runs
    assert list(runs["arrival"]) == ["poisson", "burst"]
    assert list(runs["request_rate_per_s"]) == [2.0, math.inf]
    assert list(runs["source"]) == ["a.jsonl:1", "a.jsonl:2"]


def test_a_replayed_trace_has_no_rate(tmp_path):
    run = _read(tmp_path, NEW | {"request_rate": "trace"})
    assert pd.isna(run["request_rate_per_s"])
    assert pd.isna(run["arrival"])


@pytest.mark.parametrize(
    ("backend", "engine"),
    [("sglang-oai-chat", "SGLang"), ("vllm-chat", "vLLM"), ("gserver", None)],
)
def test_the_backend_is_the_engine(tmp_path, backend, engine):
    run = _read(tmp_path, NEW | {"backend": backend})
    assert run["engine"] == engine or (engine is None and pd.isna(run["engine"]))
    assert pd.isna(run["engine_version"]) == (engine != "SGLang")


# Retokenized answers


def test_a_requested_length_in_place_of_a_count_gives_way_to_the_answers(tmp_path):
    run = _read(tmp_path, NEW | {"total_output_tokens_retokenized": 12_000})
    assert run["total_out_tok"] == 12_000
    assert run["out_tok_per_s"] == 120.0
    assert run["token_count_source"] == "retokenized"
    assert "20000 output tokens are stated, but 12000" in run["warnings"]
    assert pd.isna(run["mean_tpot_ms"]), "it rests on the other count"
    assert run["mean_itl_ms"] == 48.0
    assert run["reported_out_tok_per_s"] == 200.0


def test_the_warning_says_where_the_gaps_speak_for_the_stated_count(tmp_path):
    # (5000 − 240) / 48 + 1 = 100.2 tokens a request: as stated
    stated = _read(tmp_path, NEW | {"total_output_tokens_retokenized": 10_000})
    assert "the gaps are rather of the former" in stated["warnings"]
    anew = _read(tmp_path, NEW | {"total_output_tokens_retokenized": 10_000, "mean_itl_ms": 97.0})
    assert "the gaps are rather" not in anew["warnings"]


@pytest.mark.parametrize("anew", [20_400, 19_600, 0, None])
def test_counts_that_are_much_the_same_are_left(tmp_path, anew):
    run = _read(tmp_path, NEW | {"total_output_tokens_retokenized": anew})
    assert run["total_out_tok"] == 20_000
    assert run["mean_tpot_ms"] == 48.0
    assert "token_count_source" not in run


def test_a_missing_count_is_had_from_the_answers(tmp_path):
    run = _read(tmp_path, NEW | {"total_output_tokens": None})
    assert run["total_out_tok"] == 19_900
    assert run["token_count_source"] == "retokenized"


# Zeros that are none


def test_answers_in_one_piece_have_an_e2e_latency_only(tmp_path):
    whole = {"mean_ttft_ms": 4990.0, "median_ttft_ms": 4999.0, "p99_ttft_ms": 5003.0}
    gaps = {f"{each}_itl_ms": 0.0 for each in ("mean", "median", "std", "p95", "p99")}
    run = _read(tmp_path, NEW | whole | gaps | {"p99_e2e_latency_ms": None})
    assert not run["streaming"]
    assert (run["mean_e2el_ms"], run["p99_e2el_ms"]) == (5000.0, 5003.0)
    for metric in ("ttft", "tpot", "itl"):
        for statistic in ("mean", "p50", "p95", "p99"):
            assert pd.isna(run[f"{statistic}_{metric}_ms"])
    assert "itl_kind" not in run


def test_the_layout_of_2024_is_judged_by_its_medians(tmp_path):
    run = _read(tmp_path, OLD | {"median_ttft_ms": 4800.0, "median_itl_ms": 0.0})
    assert not run["streaming"]
    assert pd.isna(run["p50_ttft_ms"])


def test_a_long_wait_before_a_short_answer_is_no_answer_in_one_piece(tmp_path):
    # 9 gaps of 5 ms behind 4950 ms in the queue
    short = {"total_output_tokens": 2000, "total_output_tokens_retokenized": 2000}
    queued = short | {"mean_ttft_ms": 4955.0, "mean_itl_ms": 5.0}
    run = _read(tmp_path, NEW | queued)
    assert run["mean_ttft_ms"] == 4955.0
    assert "streaming" not in run
    run = _read(tmp_path, NEW | queued | {"mean_itl_ms": 480.0})
    assert run["mean_ttft_ms"] == 4955.0, "a contradiction that stays"
    assert "mean ITL 480 ms, mean TPOT 48 ms" in run["warnings"]


def test_one_token_answers_have_a_first_token_and_no_gaps(tmp_path):
    one = {"total_output_tokens": 200, "total_output_tokens_retokenized": 200}
    run = _read(tmp_path, NEW | one | {"mean_ttft_ms": 5000.0, "mean_itl_ms": 0.0})
    assert run["mean_ttft_ms"] == 5000.0
    assert pd.isna(run["mean_itl_ms"])
    assert pd.isna(run["mean_tpot_ms"])
    assert "streaming" not in run


def test_a_run_without_answers_has_no_latencies(tmp_path):
    none = {"completed": 0, "total_output_tokens": 0, "total_output_tokens_retokenized": 0}
    zeros = {key: 0.0 for key in NEW if key.endswith("_ms")}
    run = _read(tmp_path, NEW | none | zeros)
    assert "no completed requests" in run["warnings"]
    assert pd.isna(run["p99_ttft_ms"])
    assert pd.isna(run["out_tok_per_s"])


# Cards


@pytest.mark.parametrize(
    ("shape", "n_gpus", "replicas"),
    [
        ({"tp_size": 4, "pp_size": 2}, 8, 1),
        ({"tp_size": 2, "dp_size": 4}, 8, 4),
        ({"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}, 8, 1),
        ({"tp_size": "2", "pp_size": None, "dp_size": None}, 2, 1),
    ],
)
def test_cards_of_a_server(tmp_path, shape, n_gpus, replicas):
    run = _read(tmp_path, NEW | {"server_info": SERVER | shape})
    assert (run["n_gpus"], run["replicas"]) == (n_gpus, replicas)
    shared = shape.get("enable_dp_attention", False)
    assert (run.get("data_parallel") == 8) == shared
    assert pd.isna(run["kv_tokens"]) == (shape.get("dp_size") in (4, 8))


def test_prefill_and_decode_servers_are_added_up(tmp_path):
    parted = {"prefill": [SERVER, SERVER], "decode": [SERVER | {"tp_size": 4}]}
    run = _read(tmp_path, NEW | {"server_info": parted})
    assert (run["n_gpus"], run["prefill_gpus"]) == (8, 4)
    assert run["model"] == "org/model-8B"
    assert pd.isna(run["tensor_parallel"])


def test_a_server_that_says_nothing_of_cards_leaves_them_open(tmp_path):
    run = _read(tmp_path, NEW | {"server_info": {"version": "0.4.9"}}, n_gpus=4)
    assert (run["n_gpus"], run["engine_version"]) == (4, "0.4.9")
    said = NEW | {"server_info": SERVER | {"kv_cache_dtype": "fp8_e5m2"}}
    assert _read(tmp_path, said)["kv_dtype"] == "fp8_e5m2"
    assert pd.isna(_read(tmp_path, NEW | {"server_info": None})["n_gpus"])


def test_the_cached_share_is_of_the_prompts(tmp_path):
    report = {"total_prompt_tokens": 40_000, "total_cached_tokens": 10_000}
    assert _read(tmp_path, NEW | {"cache_report": report})["cached_frac"] == 0.25


# What cannot be read


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"duration": "long"}, "duration: 'long' is not a number"),
        ({"server_info": [1]}, "server_info: list where an object belongs"),
        ({"server_info": {"decode": "x"}}, "server_info.decode: a list of objects belongs here"),
        ({"median_ttft_ms": []}, r"median_ttft_ms: a list is not a number"),
        ({"total_output_tokens": -1}, "total_out_tok: -1"),
    ],
)
def test_refusals_name_field_and_value(tmp_path, changes, reason):
    scan = scan_runs(_write(tmp_path / "a.jsonl", OLD | changes))
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


def test_a_result_without_a_needed_field_is_refused(tmp_path):
    for key in ("completed", "duration", "total_input_tokens", "total_output_tokens"):
        rest = {each: value for each, value in OLD.items() if each != key}
        scan = scan_runs(_write(tmp_path / "a.jsonl", rest))
        assert f"an SGLang result without '{key}'" in scan.refused["reason"].item()


@pytest.mark.parametrize("good", [OLD, LATEST])
def test_hostile_input_is_a_row_or_a_refusal(tmp_path, good):
    spoilt = [{each: good[each] for each in good if each != key} for key in good]
    spoilt += [good | {key: value} for key, value in itertools.product(good, HOSTILE)]
    if "server_info" in good:
        spoilt += [
            good | {"server_info": SERVER | {key: value}}
            for key, value in itertools.product(SERVER, HOSTILE)
        ]
    for start in range(0, len(spoilt), 90):
        _write(tmp_path / f"{start}.jsonl", *spoilt[start : start + 90])
    scan = scan_runs(tmp_path)
    assert len(scan.runs) + len(scan.refused) == len(spoilt)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) >= 10


# Published files


def test_samples_are_read():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples of SGLang were not read")
    scan = scan_runs(Path(folder) / "formats" / "sglang_bench_serving")
    assert scan.refused.empty
    runs = scan.runs
    assert set(runs["tool"]) == {"sglang bench_serving"}
    np.testing.assert_allclose(runs["out_tok_per_s"], runs["reported_out_tok_per_s"])
    online = runs[runs["source"].str.startswith("llama_405b")]
    assert list(online["arrival"].unique()) == ["poisson"]
    one = online[online["request_rate_per_s"] == 1].iloc[0]
    assert one["completed"] == 300
    assert one["p50_ttft_ms"] == pytest.approx(218.808, abs=1e-3)
    assert one["mean_concurrency"] == pytest.approx(23.02, abs=0.01)
    assert (runs["arrival"] == "burst").sum() == len(runs) - len(online)
