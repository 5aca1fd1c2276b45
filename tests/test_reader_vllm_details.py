"""vLLM serving results with arrays of single requests, of sweeps, and with metadata."""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcost.runs import scan_runs

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]
RANDOM = np.random.default_rng(7)
N = 40
TTFTS = RANDOM.gamma(2, 0.05, N)
LENGTHS = RANDOM.integers(2, 30, N)
GAPS = [RANDOM.gamma(4, 0.005, n - 1) for n in LENGTHS]


def _result(ttfts=TTFTS, gaps=GAPS, lengths=None, failed=0, **changes):
    """Write a run as the client of 2025 does with ``--save-detailed``: P99 of three metrics."""
    lengths = [len(each) + 1 for each in gaps] if lengths is None else lengths
    ttfts, gaps = [float(each) for each in ttfts], [[float(gap) for gap in own] for own in gaps]
    n = len(ttfts)
    samples = _samples(ttfts, gaps, lengths)
    record = {
        "date": "20251201-120000",
        "endpoint_type": "vllm",
        "backend": "vllm",
        "label": None,
        "model_id": "org/model-8B",
        "tokenizer_id": "org/model-8B",
        "num_prompts": n + failed,
        "request_rate": 4.0,
        "burstiness": 1.0,
        "max_concurrency": None,
        "duration": 20.0,
        "completed": n,
        "failed": failed,
        "total_input_tokens": 100 * n,
        "total_output_tokens": int(sum(lengths)),
        "request_throughput": n / 20.0,
        "request_goodput": None,
        "output_throughput": sum(lengths) / 20.0,
        "total_token_throughput": (100 * n + sum(lengths)) / 20.0,
        "input_lens": [100] * (n + failed),
        "output_lens": [*map(int, lengths), *[0] * failed],
        "ttfts": [*ttfts, *[0.0] * failed],
        "itls": [*gaps, *[[]] * failed],
        "start_times": [0.25 * i for i in range(n + failed)],
        "generated_texts": ["text"] * (n + failed),
        "errors": [*[""] * n, *["Service Unavailable"] * failed],
    }
    for metric in ("ttft", "tpot", "itl"):
        values = samples[metric] if len(samples[metric]) else np.zeros(1)
        record[f"mean_{metric}_ms"] = float(values.mean())
        record[f"median_{metric}_ms"] = float(np.median(values))
        record[f"p99_{metric}_ms"] = float(np.percentile(values, 99))
    return record | changes


def _samples(ttfts, gaps, lengths):
    """Return the samples of each metric in ms, had by loops."""
    e2els = [ttft + sum(own) for ttft, own in zip(ttfts, gaps, strict=True)]
    tpots = [
        (e2el - ttft) / (n - 1)
        for e2el, ttft, n in zip(e2els, ttfts, lengths, strict=True)
        if n > 1
    ]
    pooled = [gap for own in gaps for gap in own]
    found = {"ttft": ttfts, "tpot": tpots, "itl": pooled, "e2el": e2els}
    return {metric: np.array(values) * 1000 for metric, values in found.items()}


def _write(path, *records):
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    return path


def _read(tmp_path, record, **given):
    scan = scan_runs(_write(tmp_path / "a.json", record), **given)
    assert scan.refused.empty, scan.refused["reason"].tolist()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _warned(run):
    return "" if pd.isna(run["warnings"]) else run["warnings"]


def _without_arrays(record):
    arrays = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts")
    return {key: record[key] for key in record if key not in (*arrays, "errors", "latencies")}


# Arrays


@pytest.mark.parametrize("failed", [0, 3])
def test_statistics_that_the_file_lacks_come_from_its_arrays(tmp_path, failed):
    run = _read(tmp_path, _result(failed=failed))
    samples = _samples(TTFTS, GAPS, LENGTHS)
    for metric, values in samples.items():
        for statistic in STATISTICS:
            expected = (
                values.mean()
                if statistic == "mean"
                else np.percentile(values, float(statistic[1:]))
            )
            assert run[f"{statistic}_{metric}_ms"] == pytest.approx(expected), (statistic, metric)
    assert (run["completed"], run["failed"]) == (N, failed)
    assert "arrays" not in _warned(run)


def test_what_the_file_states_stays(tmp_path):
    run = _read(tmp_path, _result(p90_ttft_ms=123.0, mean_itl_ms=7.0, median_tpot_ms=9.0))
    assert (run["p90_ttft_ms"], run["mean_itl_ms"], run["p50_tpot_ms"]) == (123.0, 7.0, 9.0)


def test_arrays_change_nothing_else(tmp_path):
    record = _result()
    bare = _read(tmp_path, _without_arrays(record)).drop("run_id")
    full = _read(tmp_path, record).drop("run_id")
    filled = [f"{s}_{m}_ms" for s in STATISTICS for m in ("ttft", "tpot", "itl", "e2el")]
    for name in full.index:
        if name in filled and pd.isna(bare[name]):
            assert full[name] > 0
        elif name not in ("mean_concurrency", "warnings"):
            assert pd.isna([full[name], bare[name]]).all() or full[name] == bare[name], name


def test_latencies_of_2026_go_before_sums_of_gaps(tmp_path):
    latencies = [float(ttft + sum(own)) + 0.5 for ttft, own in zip(TTFTS, GAPS, strict=True)]
    run = _read(tmp_path, _result(latencies=latencies))
    assert run["p95_e2el_ms"] == pytest.approx(np.percentile(latencies, 95) * 1000)


def test_one_token_answers_have_no_gaps(tmp_path):
    run = _read(tmp_path, _result([0.05, 0.06], [[], []]))
    assert run["p90_ttft_ms"] == pytest.approx(59.0)
    assert run["p90_e2el_ms"] == pytest.approx(59.0)
    for metric, statistic in itertools.product(("tpot", "itl"), STATISTICS):
        assert pd.isna(run[f"{statistic}_{metric}_ms"])
    # beside a longer answer they do not count
    run = _read(tmp_path, _result([0.05, 0.06], [[], [0.01, 0.03]]))
    assert run["p90_tpot_ms"] == pytest.approx(20.0)


def test_gaps_are_pooled_over_tokens_and_tpot_over_requests(tmp_path):
    run = _read(tmp_path, _result([0.1, 0.1], [[0.1] * 10, [0.01] * 100], mean_tpot_ms=None))
    assert run["mean_tpot_ms"] == pytest.approx(55.0)
    assert run["mean_itl_ms"] == pytest.approx(18.18, abs=0.01)


def test_failed_requests_do_not_count_even_if_their_error_is_blank(tmp_path):
    record = _result(failed=2)
    record["errors"] = [""] * (N + 1) + ["broke off"]
    record["ttfts"][-1], record["itls"][-1] = 99.0, [99.0] * 50
    run = _read(tmp_path, record)
    assert run["p90_ttft_ms"] == pytest.approx(np.percentile(TTFTS, 90) * 1000)
    assert run["p95_itl_ms"] == pytest.approx(np.percentile(np.concatenate(GAPS), 95) * 1000)


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"completed": N - 1}, f"the arrays hold {N} answered requests where {N - 1} are stated"),
        ({"itls": [[0.1]]}, "of unlike lengths"),
        ({"output_lens": None}, "of unlike lengths"),
    ],
)
def test_arrays_that_do_not_fit_are_not_used(tmp_path, changes, warning):
    run = _read(tmp_path, _result(**changes))
    assert warning in run["warnings"]
    assert pd.isna(run["p90_ttft_ms"])
    assert run["p99_ttft_ms"] > 0


def test_an_answer_in_one_piece_is_no_first_token(tmp_path):
    latencies = [1.0, 2.0]
    none = {f"{s}_{m}_ms": None for s in ("mean", "median", "p99") for m in ("ttft", "tpot", "itl")}
    run = _read(tmp_path, _result([0, 0], [[], []], [5, 5], latencies=latencies, **none))
    assert run["mean_e2el_ms"] == pytest.approx(1500.0)
    assert pd.isna(run["mean_ttft_ms"])
    assert pd.isna(run["mean_tpot_ms"])
    assert not run["streaming"]


# Tokens counted by tokenizing anew


def test_before_2025_the_client_counted_tokens_anew(tmp_path):
    bare = _without_arrays(_result())
    old = _read(tmp_path, bare | {"date": "20241205-101010"})
    assert old["token_count_source"] == "retokenized"
    assert "token_count_source" not in _read(tmp_path, bare)
    assert "token_count_source" not in _read(tmp_path, bare | {"date": "-1"})


def test_streamed_tokens_go_before_a_count_of_the_text(tmp_path):
    # 101 tokens of which the tokenizer finds 8 again
    record = _result([0.1], [[0.01] * 100], [8], date="20241205-101010")
    assert record["mean_tpot_ms"] == pytest.approx(1000 / 7)
    run = _read(tmp_path, record)
    for statistic in STATISTICS:
        assert run[f"{statistic}_tpot_ms"] == pytest.approx(10.0)
    assert run["total_out_tok"] == 101
    assert run["token_count_source"] == "client_stream"
    assert "101 output tokens were streamed where 8 are stated" in run["warnings"]
    # a server that counts is believed
    run = _read(tmp_path, record | {"date": "20251205-101010"})
    assert (run["total_out_tok"], run["mean_tpot_ms"]) == (8, pytest.approx(1000 / 7))


def test_tokens_that_came_in_bundles_are_counted_by_the_text(tmp_path):
    record = _result([0.1], [[0.04] * 25], [101], date="20241205-101010", p90_tpot_ms=None)
    run = _read(tmp_path, record)
    assert run["total_out_tok"] == 101
    assert run["p90_tpot_ms"] == pytest.approx(10.0)
    assert run["token_count_source"] == "retokenized"


# Sweeps, metadata, loads


def test_a_sweep_is_its_runs_and_run_0_is_cold(tmp_path):
    runs = [
        _without_arrays(_result(date=f"20251201-12000{number}"))
        | {"run_number": number, "max_concurrency": 8, "tensor_parallel_size": 2}
        for number in range(3)
    ]
    (tmp_path / "summary.json").write_text(json.dumps(runs, indent=4), "utf-8")
    _write(tmp_path / "run=1.json", runs[1])
    warmup = runs[0] | {"run_number": -1, "date": "20251201-115959"}
    _write(tmp_path / "warmup.json", warmup)
    scan = scan_runs(tmp_path)
    assert len(scan.runs) == 4
    assert "the same run as" in scan.refused["reason"].item()
    cold = ["run 0 of a sweep: a cold start" in _warned(run) for _, run in scan.runs.iterrows()]
    assert cold == [False, True, False, False]
    assert scan.runs["phase"].fillna("").tolist() == ["warmup", "", "", ""]
    assert (scan.runs["tensor_parallel"] == 2).all()


def test_metadata_stand_beside_the_result_as_text(tmp_path):
    said = {
        "tp": "2",
        "pp": "1",
        "replicas": "4",
        "gpu_name": "NVIDIA-GeForce-RTX-4090",
        "engine_version": "0.11.0",
        "type": "warmup",
    }
    run = _read(tmp_path, _without_arrays(_result()) | said)
    assert (run["tensor_parallel"], run["pipeline_parallel"], run["replicas"]) == (2, 1, 4)
    assert (run["n_gpus"], run["gpu"]) == (8, "RTX 4090")
    assert (run["engine"], run["engine_version"]) == ("vLLM", "0.11.0")
    assert run["phase"] == "warmup"
    run = _read(tmp_path, _without_arrays(_result()) | {"type": "measure", "tp": None})
    assert pd.isna(run["phase"])
    assert pd.isna(run["tensor_parallel"])


def test_an_engine_behind_a_protocol_can_be_named(tmp_path):
    run = _read(tmp_path, _result(backend="openai-chat", engine="vLLM", vllm_version="0.25.1"))
    assert (run["engine"], run["engine_version"]) == ("vLLM", "0.25.1")
    assert pd.isna(_read(tmp_path, _result(backend="openai-chat"))["engine"])


def test_metadata_that_contradict_are_told(tmp_path):
    run = _read(tmp_path, _result(tp="2", tensor_parallel_size=4))
    assert "tensor_parallel: both 2 and 4 are stated" in run["warnings"]
    cards = {"tp": "2", "pp": "1", "replicas": "1", "gpu_count": "4"}
    run = _read(tmp_path, _result(**cards))
    assert run["n_gpus"] == 4
    assert "4 cards" in run["warnings"]


@pytest.mark.parametrize(
    ("said", "n_gpus"),
    [
        ({"tp": "2", "pp": "1", "dp": "4"}, 8),
        ({"tp": "2", "pp": "1", "data_parallel_size": 4, "replicas": "1"}, 8),
        ({"tp": "2", "pp": "1", "dp": "1", "replicas": "4"}, 8),
        ({"tp": "2", "pp": "1", "dp": "4", "replicas": "4"}, None),
        ({"tp": "2", "pp": "1", "dp": "1"}, None),
        ({"pp": "1", "dp": "4"}, None),
        ({"tp": "2", "pp": "1", "dp": "4", "gpu_count": "8"}, 8),
    ],
)
def test_data_parallelism_takes_cards(tmp_path, said, n_gpus):
    run = _read(tmp_path, _without_arrays(_result()) | said)
    assert run["data_parallel"] == int(said.get("dp", 4))
    assert run["n_gpus"] == n_gpus or (n_gpus is None and pd.isna(run["n_gpus"]))
    both = int(said.get("replicas", 1)) > 1 and run["data_parallel"] > 1
    assert ("the number of cards is left open" in _warned(run)) == both


def test_cards_that_are_given_do_not_make_data_ranks_tensor_parallel(tmp_path):
    record = _without_arrays(_result()) | {"dp": 4, "pp": 1, "replicas": 1}
    assert pd.isna(_read(tmp_path, record, n_gpus=8)["tensor_parallel"])


@pytest.mark.parametrize(("said", "experts"), [("8", 8), (True, None), ("true", None)])
def test_expert_parallelism_is_a_number_or_only_on(tmp_path, said, experts):
    run = _read(tmp_path, _without_arrays(_result()) | {"ep": said, "dp": 8})
    found = run.get("expert_parallel")
    assert found == experts or (experts is None and pd.isna(found))


def test_a_date_with_an_offset_is_written_in_utc(tmp_path):
    record = _without_arrays(_result(date="2025-12-01T12:00:00-07:00"))
    assert _read(tmp_path, record)["date"] == "2025-12-01T19:00:00Z"
    assert _read(tmp_path, record | {"date": "20251201-120000"})["date"] == "2025-12-01T12:00:00"


def test_a_ramp_is_no_single_rate(tmp_path):
    ramp = {"ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 10}
    run = _read(tmp_path, _result(request_rate="inf", **ramp))
    assert pd.isna(run["request_rate_per_s"])
    assert pd.isna(run["arrival"])
    assert "the offered rate goes from 1 to 10 requests/s" in run["warnings"]


def test_infinite_burstiness_is_a_constant_gap(tmp_path):
    run = _read(tmp_path, _result(burstiness=math.inf))
    assert run["arrival"] == "constant"
    assert pd.isna(run["burstiness"])


# What cannot be read


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ttfts": "x"}, "ttfts: str where a list belongs"),
        ({"ttfts": ["x"] * N}, "ttfts: an entry is not a number of at least 0"),
        ({"ttfts": [[1]] * N}, "ttfts: an entry"),
        ({"ttfts": [-1] * N}, "ttfts: an entry"),
        ({"ttfts": [10**400] * N}, "ttfts: an entry"),
        ({"itls": [0.1] * N}, "itls: float where a list belongs"),
        ({"itls": [["x"]] * N}, "itls: an entry"),
        ({"output_lens": [{}] * N}, "output_lens: an entry"),
        ({"errors": {"a": 1}}, "errors: dict where a list belongs"),
        ({"tp": "two"}, "tp: 'two' is not a number"),
        ({"type": []}, "type: list where a text belongs"),
    ],
)
def test_refusals_name_field_and_value(tmp_path, changes, reason):
    scan = scan_runs(_write(tmp_path / "a.json", _result() | changes))
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


def test_hostile_input_is_a_row_or_a_refusal(tmp_path):
    good = _result([0.1, 0.2], [[0.01], [0.02, 0.03]], failed=1) | {
        **{"tp": "1", "pp": "1", "dp": 1, "ep": 1, "replicas": "1", "run_number": 1, "type": "x"},
        **{"engine": "vLLM", "engine_version": "0.25", "latencies": [0.11, 0.25, 0.0]},
        **{"ramp_up_strategy": None, "ramp_up_start_rps": None},
    }
    spoilt = [{each: good[each] for each in good if each != key} for key in good]
    spoilt += [good | {key: value} for key, value in itertools.product(good, HOSTILE)]
    arrays = ("ttfts", "itls", "output_lens", "errors", "latencies")
    for key, value in itertools.product(arrays, HOSTILE):
        spoilt += [good | {key: [*good[key][:2], value]}, good | {key: [value]}]
    spoilt += [good | {"itls": [[0.01], [0.02, value], []]} for value in HOSTILE]
    for start in range(0, len(spoilt), 90):
        _write(tmp_path / f"{start}.json", *spoilt[start : start + 90])
    scan = scan_runs(tmp_path)
    assert len(scan.runs) + len(scan.refused) == len(spoilt)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) >= 20


def test_samples_are_read():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples of vLLM were not read")
    scan = scan_runs(Path(folder) / "formats" / "vllm_serve")
    assert scan.refused.empty
    runs = scan.runs.set_index("model")
    sweep, partial = runs.loc["Qwen/Qwen3.5-9B"], runs.loc[runs.index[runs["failed"] == 102][0]]
    assert (sweep["arrival"], sweep["burstiness"]) == ("gamma", 0.7)
    assert sweep["p95_ttft_ms"] == pytest.approx(3976.631, abs=1e-3)
    assert sweep["req_per_s"] == pytest.approx(0.17532, abs=1e-5)
    assert (partial["completed"], partial["n_requests"]) == (198, 300)
    closed = runs.loc["openai/gpt-oss-120b"]
    assert (closed["arrival"], closed["max_concurrency"]) == ("closed", 64)
    assert pd.isna(closed["p90_ttft_ms"])
