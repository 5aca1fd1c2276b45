"""llmperf: the summary, the list of single responses, and that both say the same of one run."""

import itertools
import json
import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hetcost.runs import scan_runs

ANSWERS = [  # TTFT s, E2E s, output tokens
    (0.20, 2.20, 101),
    (0.30, 3.30, 101),
    (0.25, 2.75, 101),
    (0.40, 4.40, 101),
    (0.35, 3.85, 101),
]
DURATION_S = 8.0
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]


def _response(ttft, e2el, n_out, n_in=50):
    return {
        "error_code": None,
        "error_msg": "",
        "inter_token_latency_s": e2el / n_out,
        "ttft_s": ttft,
        "end_to_end_latency_s": e2el,
        "request_output_throughput_token_per_s": n_out / e2el,
        "number_total_tokens": n_in + n_out,
        "number_output_tokens": n_out,
        "number_input_tokens": n_in,
    }


def _failure(code=-1):
    return dict.fromkeys(_response(1, 2, 3), 0) | {"error_code": code, "number_output_tokens": 1}


def _summary(answers=ANSWERS, failed=1):
    """Write a run as llmperf sums it up, quantiles taken as pandas takes them."""
    frame = pd.DataFrame(answers, columns=["ttft_s", "end_to_end_latency_s", "tokens"])
    frame["inter_token_latency_s"] = frame["end_to_end_latency_s"] / frame["tokens"]
    frame = frame.rename(columns={"tokens": "number_output_tokens"}).assign(number_input_tokens=50)
    done = len(answers)
    record = {
        "version": "2023-08-31",
        "name": "mine_50_100_summary",
        "model": "org/model-8B",
        "num_concurrent_requests": 2,
    }
    for name, values in frame.items():
        for quantile in (0.25, 0.5, 0.75, 0.9, 0.95, 0.99):
            key = f"results_{name}_quantiles_p{quantile * 100:.0f}"
            record[key] = float(values.quantile(quantile))
        record[f"results_{name}_mean"] = float(values.mean())
        record[f"results_{name}_min"] = str(values.min())
        record[f"results_{name}_max"] = str(values.max())
    return record | {
        "results_num_requests_started": done + failed,
        "results_number_errors": failed,
        "results_error_code_frequency": "{}",
        "results_mean_output_throughput_token_per_s": sum(n for *_, n in answers) / DURATION_S,
        "results_num_completed_requests": done,
        "results_num_completed_requests_per_min": done / DURATION_S * 60,
        "timestamp": 1_735_689_600,
    }


def _write(path, content):
    path.write_text(json.dumps(content, indent=1), "utf-8")
    return path


def _only(scan):
    assert scan.refused.empty, scan.refused.to_string()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def test_a_summary_field_by_field(tmp_path):
    path = _write(tmp_path / "a.json", _summary())
    run = _only(scan_runs(path, gpu="RTX 4090", n_gpus=1))
    expected = {
        "tool": "llmperf",
        "tool_version": "2023-08-31",
        "date": "2025-01-01T00:00:00Z",
        "model": "org/model-8B",
        "gpu": "RTX 4090",
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": 2,
        "n_requests": 6,
        "completed": 5,
        "failed": 1,
        "duration_s": DURATION_S,
        "total_in_tok": 250,
        "total_out_tok": 505,
        "req_per_s": 5 / 8,
        "out_tok_per_s": 505 / 8,
        "all_tok_per_s": 755 / 8,
        "reported_out_tok_per_s": 505 / 8,
        "reported_req_per_s": 5 / 8,
        "mean_ttft_ms": 300.0,
        "p50_ttft_ms": 300.0,
        "p25_ttft_ms": 250.0,
        "p50_e2el_ms": 3300.0,
        "mean_e2el_ms": 3300.0,
        "token_count_source": "retokenized",
    }
    for name, value in expected.items():
        want = pytest.approx(value) if isinstance(value, float) else value
        assert run[name] == want, name
    assert pd.isna(run["engine"])
    for never_said in ("p50_tpot_ms", "mean_itl_ms", "p50_itl_ms", "gpu_energy_j"):
        assert pd.isna(run[never_said]), never_said


def test_inter_token_latency_includes_the_first_token_and_is_no_itl(tmp_path):
    """CASES B22, of a summary."""
    run = _only(scan_runs(_write(tmp_path / "a.json", _summary())))
    assert run["mean_norm_e2el_ms_per_tok"] == pytest.approx(3300 / 101)
    # All answers have 101 tokens, so the mean of TPOT follows from the means.
    assert run["mean_tpot_ms"] == pytest.approx((3300 - 300) / 100)
    lengths = [(ttft, e2el, n + i) for i, (ttft, e2el, n) in enumerate(ANSWERS)]
    mixed = _only(scan_runs(_write(tmp_path / "b.json", _summary(lengths))))
    assert pd.isna(mixed["mean_tpot_ms"])
    single = [(ttft, ttft, 1) for ttft, *_ in ANSWERS]
    assert pd.isna(_only(scan_runs(_write(tmp_path / "c.json", _summary(single))))["mean_tpot_ms"])


def test_a_summary_without_answers_or_without_a_clock(tmp_path):
    nothing = {
        key: math.nan if key.startswith("results_") else value for key, value in _summary().items()
    } | {
        "results_num_requests_started": 3,
        "results_number_errors": 3,
        "results_num_completed_requests": 0,
        "results_num_completed_requests_per_min": 0.0,
        "results_mean_output_throughput_token_per_s": 0.0,
    }
    run = _only(scan_runs(_write(tmp_path / "a.json", nothing)))
    assert "no completed requests" in run["warnings"]
    assert run["failed"] == 3
    for name in ("duration_s", "total_out_tok", "out_tok_per_s", "mean_ttft_ms", "p99_e2el_ms"):
        assert pd.isna(run[name]), name
    zeros = {key: 0 for key, value in nothing.items() if isinstance(value, float)}
    run = _only(scan_runs(_write(tmp_path / "b.json", nothing | zeros)))
    assert pd.isna(run["mean_ttft_ms"]), "a latency of 0 without an answer is none"
    no_clock = _summary() | {"results_num_completed_requests_per_min": None}
    run = _only(scan_runs(_write(tmp_path / "c.json", no_clock)))
    assert "no duration" in run["warnings"]
    assert pd.isna(run["out_tok_per_s"])
    assert run["total_out_tok"] == 505


def test_a_record_has_tpot_of_its_own_and_throughput_worked_out_anew(tmp_path):
    """CASES B22, of single responses."""
    record = {
        "error_code": None,
        "ttft_s": 1.0,
        "end_to_end_latency_s": 5.0,
        "number_output_tokens": 101,
        "inter_token_latency_s": 0.0495,
        "number_input_tokens": 550,
    }
    run = _only(scan_runs(_write(tmp_path / "a.json", [record])))
    assert run["mean_norm_e2el_ms_per_tok"] == pytest.approx(49.5)
    assert run["mean_tpot_ms"] == pytest.approx(40.0)
    assert pd.isna(run["mean_itl_ms"])
    assert pd.isna(run["duration_s"])
    assert "no duration" in run["warnings"]
    assert "request_output_throughput" not in run["warnings"]
    off = record | {
        "end_to_end_latency_s": 4.54,
        "number_output_tokens": 151,
        "request_output_throughput_token_per_s": 11.44,
    }
    run = _only(scan_runs(_write(tmp_path / "b.json", [off, record])))
    assert "is not tokens / E2E in 1 of 2 requests and is not used" in run["warnings"]
    assert "reported_out_tok_per_s" not in run


def test_timeouts_are_failures_and_not_latencies_of_0(tmp_path):
    responses = [_response(*each) for each in ANSWERS] + [_failure(), _failure(429)]
    run = _only(scan_runs(_write(tmp_path / "a.json", responses)))
    assert (run["n_requests"], run["completed"], run["failed"]) == (7, 5, 2)
    assert run["p50_ttft_ms"] == pytest.approx(300.0)
    assert run["total_out_tok"] == 505
    run = _only(scan_runs(_write(tmp_path / "b.json", [_failure(), _failure("busy")])))
    assert (run["completed"], run["failed"]) == (0, 2)
    assert "no completed requests" in run["warnings"]
    assert pd.isna(run["mean_ttft_ms"])


def test_answers_without_tokens_have_no_latencies_per_token(tmp_path):
    silent = _response(0, 1.0, 0.5) | {"number_output_tokens": 0, "inter_token_latency_s": 0}
    one = _response(0.5, 0.5, 1)
    run = _only(scan_runs(_write(tmp_path / "a.json", [silent, one])))
    assert run["mean_ttft_ms"] == pytest.approx(500.0), "a TTFT of 0 is no TTFT"
    assert run["mean_e2el_ms"] == pytest.approx(750.0)
    assert run["mean_norm_e2el_ms_per_tok"] == pytest.approx(500.0)
    assert pd.isna(run["mean_tpot_ms"])


def test_both_files_of_one_run_agree(tmp_path):
    """A known run, written in the tool's two layouts and read back."""
    responses = [_response(*each) for each in ANSWERS] + [_failure()]
    of_summary = _only(scan_runs(_write(tmp_path / "mine_summary.json", _summary())))
    of_list = _only(scan_runs(_write(tmp_path / "mine_individual.json", responses)))
    same = ["n_requests", "completed", "failed", "total_in_tok", "total_out_tok", "mean_tpot_ms"]
    same += ["mean_norm_e2el_ms_per_tok", "mean_in_tok", "mean_out_tok", "arrival"]
    same += [f"{s}_{m}_ms" for s in ("mean", "p50", "p90", "p95", "p99") for m in ("ttft", "e2el")]
    for name in same:
        want = of_summary[name]
        assert of_list[name] == (want if isinstance(want, str) else pytest.approx(want)), name
    ttft = np.array([each[0] for each in ANSWERS]) * 1000
    assert of_list["p90_ttft_ms"] == pytest.approx(np.percentile(ttft, 90))
    tpot = [(e2el - ttft) / (n - 1) * 1000 for ttft, e2el, n in ANSWERS]
    assert of_list["p99_tpot_ms"] == pytest.approx(np.percentile(tpot, 99))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"results_ttft_s_mean": "soon"}, "results_ttft_s_mean: 'soon' is not a number"),
        ({"timestamp": -5}, "timestamp: -5 is no time since 1970"),
        ({"timestamp": 1e300}, "timestamp: 1e\\+300 is no time"),
        ({"results_num_completed_requests": 1.5}, "completed: 1.5 is outside"),
        ({"model": ["a"]}, "model: list where a text belongs"),
    ],
)
def test_a_summary_that_makes_no_sense_is_refused(tmp_path, changes, reason):
    scan = scan_runs(_write(tmp_path / "a.json", _summary() | changes))
    assert scan.runs.empty
    assert scan.refused["reason"].str.contains(reason).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ttft_s": 9.0}, "ttft_s: 9 is above end_to_end_latency_s, 2.2"),
        ({"number_output_tokens": 1.5}, "number_output_tokens: 1.5 is not a whole number"),
        ({"end_to_end_latency_s": -1}, "end_to_end_latency_s: -1 is outside"),
        ({"error_code": []}, "error_code: list where a text belongs"),
    ],
)
def test_a_response_that_makes_no_sense_is_refused_and_the_others_count(tmp_path, changes, reason):
    path = _write(tmp_path / "a.json", [_response(*ANSWERS[0]) | changes, _response(*ANSWERS[1])])
    scan = scan_runs(path)
    assert scan.refused["reason"].item().startswith(reason)
    assert scan.runs["completed"].item() == 1
    assert scan.runs["mean_ttft_ms"].item() == pytest.approx(300.0)


def test_answers_that_are_exactly_alike_are_told(tmp_path):
    answers = [_response(*each) for each in ANSWERS]
    run = _only(scan_runs(_write(tmp_path / "a.json", answers + answers)))
    told = f"{len(ANSWERS)} of {2 * len(ANSWERS)} answers are exactly like others"
    assert told in run["warnings"]
    once = _only(scan_runs(_write(tmp_path / "b.json", answers)))
    assert "like others" not in once["warnings"]


def _spoilt(record):
    """Yield a record with each key removed, and each value replaced by what does not belong."""
    for key in record:
        yield {name: value for name, value in record.items() if name != key}
    for key, value in itertools.product(record, HOSTILE):
        yield record | {key: value}


def test_hostile_summaries_are_rows_or_refusals(tmp_path):
    spoilt = list(_spoilt(_summary()))
    for start in range(0, len(spoilt), 90):
        _write(tmp_path / f"{start}.json", spoilt[start : start + 90])
    scan = scan_runs(tmp_path)
    assert len(scan.runs) + len(scan.refused) == len(spoilt)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) > 20


def test_hostile_responses_are_counted_or_refused_beside_a_good_one(tmp_path):
    spoilt = list(_spoilt(_response(*ANSWERS[0])))
    for index, record in enumerate(spoilt):
        good = _response(0.3, 3.3 + index / 1000, 101)
        _write(tmp_path / f"{index:03}.json", [record, good])
    scan = scan_runs(tmp_path)
    assert scan.refused["reason"].str.len().gt(0).all()
    counted = scan.runs.set_index(scan.runs["source"].str.partition(":")[0])["n_requests"]
    told = scan.refused.groupby("file").size()
    for index in range(len(spoilt)):
        name = f"{index:03}.json"
        assert counted[name] + told.get(name, 0) == 2, name


def test_samples_are_read():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples of llmperf were not read")
    scan = scan_runs(Path(folder) / "formats" / "llmperf")
    assert scan.refused.empty
    summary, single = (scan.runs.iloc[i] for i in scan.runs["source"].argsort())
    assert summary["model"] == "llama2-70b-4096"
    assert (summary["completed"], summary["max_concurrency"]) == (150, 5)
    assert summary["duration_s"] == pytest.approx(50.9226, rel=1e-5)
    assert summary["out_tok_per_s"] == pytest.approx(summary["reported_out_tok_per_s"])
    assert summary["mean_norm_e2el_ms_per_tok"] == pytest.approx(5.384122)
    assert summary["mean_tpot_ms"] == pytest.approx(3.94126, rel=1e-5)
    assert (single["completed"], single["failed"]) == (20, 130)
    assert single["total_out_tok"] == 19 * 151 + 150
    assert single["mean_tpot_ms"] == pytest.approx(20.41473, rel=1e-5)
    assert "in 20 of 20 requests" in single["warnings"]
