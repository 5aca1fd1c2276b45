"""inference-perf: a stage is a run; its summary and its Prometheus twin are none."""

import math

import pytest
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, samples, spoilt, write

from hetcost.runs import scan_runs


def _stats(mean):
    return {"mean": mean, "min": mean / 2, "p0.1": mean / 2, "median": mean, "p99.9": mean * 2}


STAGE = {
    "load_summary": {
        "count": 52,
        "send_duration": 24.0,
        "requested_rate": 2.0,
        "achieved_rate": 2.1,
    },
    "successes": {
        "count": 50,
        "latency": {
            "request_latency": _stats(0.5) | {"p90": 0.6, "p99": 0.9},
            "time_to_first_token": _stats(0.1),
            "time_per_output_token": _stats(0.01),
            "inter_token_latency": _stats(0.01),
            "normalized_time_per_output_token": _stats(0.0122),
        },
        "throughput": {
            "input_tokens_per_sec": 400.0,
            "output_tokens_per_sec": 82.0,
            "total_tokens_per_sec": 482.0,
            "requests_per_sec": 2.0,
        },
        "prompt_len": _stats(200.02),
        "output_len": _stats(41.0),
    },
    "failures": {"count": 2, "request_latency": None, "prompt_len": None},
}
SUMMARY = STAGE | {"load_summary": {"count": 52, "schedule_delay": _stats(0.001)}}
TWIN = {
    "load_summary": {},
    "successes": {
        "count": 1140,
        "rate": 14.4,
        "prompt_len": {"mean": 4936},
        "queue_len": {"mean": 0},
        "request_latency": {"mean": 2.57},
        "kv_cache_usage_percentage": {"mean": 0.0},
    },
    "failures": {},
}


def _with(**latencies):
    answered = STAGE["successes"]
    return STAGE | {"successes": answered | {"latency": answered["latency"] | latencies}}


def test_a_stage_field_by_field(tmp_path):
    run = row_of(tmp_path / "a.json", STAGE)
    check(
        run,
        {
            "tool": "inference-perf",
            "arrival": None,
            "request_rate_per_s": 2.0,
            "n_requests": 52,
            "completed": 50,
            "failed": 2,
            "duration_s": 25.0,
            "total_in_tok": 10_001,
            "total_out_tok": 2050,
            "out_tok_per_s": 82.0,
            "req_per_s": 2.0,
            "reported_out_tok_per_s": 82.0,
            "reported_all_tok_per_s": 482.0,
            "mean_ttft_ms": 100.0,
            "p50_ttft_ms": 100.0,
            "p0_1_ttft_ms": 50.0,
            "p99_9_ttft_ms": 200.0,
            "mean_tpot_ms": 10.0,
            "mean_itl_ms": 10.0,
            "mean_e2el_ms": 500.0,
            "p90_e2el_ms": 600.0,
            "p99_e2el_ms": 900.0,
            "mean_norm_e2el_ms_per_tok": 12.2,
            "itl_kind": "pooled",
            "model": None,
            "gpu": None,
        },
    )
    assert "contradicts" not in (run["warnings"] or "")


def test_tpot_that_contradicts_e2e_gives_way(tmp_path):
    """CASES B23: 5 ms where E2E and TTFT make 10 ms."""
    events = _with(time_per_output_token=_stats(0.005), inter_token_latency=_stats(0.005))
    run = row_of(tmp_path / "a.json", events)
    check(run, {"mean_tpot_ms": 10.0, "p50_tpot_ms": None, "mean_itl_ms": None})
    assert run["itl_kind"] == "request_mean"
    assert "mean TPOT of 5 ms contradicts E2E and TTFT, which make 10 ms" in run["warnings"]


def test_answers_that_were_not_streamed_have_e2e_alone(tmp_path):
    """CASES B26: null, and a TTFT that is E2E."""
    gaps = ("time_to_first_token", "time_per_output_token", "inter_token_latency")
    run = row_of(tmp_path / "a.json", _with(**dict.fromkeys(gaps)))
    check(run, {"mean_ttft_ms": None, "mean_tpot_ms": None, "mean_e2el_ms": 500.0})
    assert not run["streaming"]
    first = _with(
        time_to_first_token=_stats(0.5),
        **dict.fromkeys(("time_per_output_token", "inter_token_latency"), _stats(0.0)),
    )
    run = row_of(tmp_path / "b.json", first)
    check(run, {"mean_ttft_ms": None, "mean_tpot_ms": None, "mean_e2el_ms": 500.0})


def test_the_time_of_sending_is_not_that_of_the_run(tmp_path):
    answered = STAGE["successes"] | {"throughput": {}}
    run = row_of(tmp_path / "a.json", STAGE | {"successes": answered})
    check(run, {"duration_s": None, "out_tok_per_s": None, "total_out_tok": 2050})
    assert "no duration" in run["warnings"]


def test_a_load_of_so_many_at_once_is_a_closed_loop(tmp_path):
    closed = STAGE | {"load_summary": {"count": 52, "send_duration": 24.0, "concurrency": 8}}
    check(
        row_of(tmp_path / "a.json", closed),
        {"arrival": "closed", "request_rate_per_s": math.inf, "max_concurrency": 8},
    )


def test_nothing_is_counted_twice(tmp_path):
    for name, content in {
        "stage_0_lifecycle_metrics.json": STAGE,
        "stage_0_prometheus_metrics.json": TWIN,
        "summary_lifecycle_metrics.json": SUMMARY,
        "summary_prometheus_metrics.json": TWIN,
    }.items():
        write(tmp_path / name, content)
    scan = scan_runs(tmp_path)
    assert scan.runs["source"].tolist() == ["stage_0_lifecycle_metrics.json:1"]
    reasons = dict(zip(scan.refused["file"], scan.refused["reason"], strict=True))
    assert reasons.pop("summary_lifecycle_metrics.json").startswith("a summary of all stages")
    assert len(reasons) == 2
    assert all(reason.startswith("the server's counters") for reason in reasons.values())


def test_a_stage_without_an_answer(tmp_path):
    """CASES B10."""
    failed = {
        "load_summary": STAGE["load_summary"] | {"count": 20},
        "successes": {"count": 0, "latency": dict.fromkeys(STAGE["successes"]["latency"])},
        "failures": {"count": 20},
    }
    run = row_of(tmp_path / "a.json", failed)
    check(run, {"completed": 0, "failed": 20, "out_tok_per_s": None, "mean_ttft_ms": None})
    assert "no completed requests" in run["warnings"]


@pytest.mark.parametrize(
    ("stage", "reason"),
    [
        (_with(request_latency={"mean": "x"}), "successes.latency.request_latency.mean: 'x'"),
        (_with(request_latency=[1]), "successes.latency.request_latency: list where an object"),
        (STAGE | {"failures": {"count": -1}}, "failed: -1 is outside"),
    ],
)
def test_a_stage_that_makes_no_sense_is_refused(tmp_path, stage, reason):
    assert reasons_of(tmp_path / "a.json", stage)[0].startswith(reason)


def test_hostile_stages_are_rows_or_refusals(tmp_path):
    assert_rows_or_reasons(tmp_path, spoilt(STAGE), at_least=24)


def test_samples_are_read():
    scan = scan_runs(samples("inference_perf"))
    run = scan.runs.iloc[0]
    assert len(scan.runs) == 1
    assert len(scan.refused) == 3, "the twin, the summary and the configuration"
    check(run, {"completed": 60, "total_out_tok": 3741, "request_rate_per_s": 1.0})
    check(run, {"mean_tpot_ms": (483.22820343310013 - 33.31898592878133) / 61.35})
    assert run["out_tok_per_s"] == pytest.approx(run["reported_out_tok_per_s"])
