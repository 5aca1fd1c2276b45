"""GuideLLM: both layouts of the JSON, the CSV, and that they say the same of one run."""

import copy
import csv
import io
import itertools
import json
import math
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.readers import guidellm, guidellm_csv
from hetcost.runs import scan_runs

START = 1_750_000_000.0  # 2025-06-15T15:06:40 UTC
ANSWERED = [  # start, first token, last token and end in s after START, tokens in and out
    (0.0, 0.50, 2.50, 2.60, 100, 41),
    (1.0, 1.60, 4.60, 4.70, 120, 61),
    (2.0, 2.40, 3.40, 3.50, 110, 21),
    (3.0, 3.80, 7.80, 8.00, 130, 101),
]
CUT_OFF = [(5.0, 6.00, 9.90, 10.0, 140, 10)]
RANKS = {
    "p001": 0.1, "p01": 1, "p05": 5, "p10": 10, "p25": 25, "p50": 50, "p75": 75, "p90": 90,
    "p95": 95, "p99": 99, "p999": 99.9,
}  # fmt: skip
CELL = ("min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max")
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]
SAMPLES = os.environ.get("HETCOST_SAMPLES")


def _summary(values, weights=None, *, product=False):
    """Sum up as GuideLLM does: the value at which the weights reach a share of their sum."""
    weights = [1] * len(values) if weights is None else weights
    if not sum(weights):
        zeros = dict.fromkeys(("mean", "median", "min", "max", "count", "total_sum"), 0.0)
        return zeros | {"percentiles": dict.fromkeys(RANKS, 0.0)}
    order = np.argsort(values, kind="stable")
    ordered, shares = np.array(values)[order], np.cumsum(np.array(weights)[order]) / sum(weights)
    ranks = {
        key: float(ordered[np.searchsorted(shares, rank / 100 - 1e-12)])
        for key, rank in RANKS.items()
    }
    mean = float(np.average(values, weights=weights))
    return {
        "mean": mean,
        "median": ranks["p50"],
        "min": float(ordered[0]),
        "max": float(ordered[-1]),
        "count": len(values),
        "total_sum": mean * len(values) if product else float(sum(values)),
        "percentiles": ranks,
    }


def _metric(by_status, value, weight=None, *, product=False):
    groups = by_status | {"total": list(itertools.chain(*by_status.values()))}
    return {
        status: _summary(
            [value(*each) for each in requests],
            None if weight is None else [weight(*each) for each in requests],
            product=product,
        )
        for status, requests in groups.items()
    }


def _metrics(by_status, *, norm, product):
    def metric(value, weight=None):
        return _metric(by_status, value, weight, product=product)

    return {
        "request_latency": metric(lambda start, first, last, end, *_: end - start),
        "prompt_token_count": metric(lambda *each: each[4]),
        "output_token_count": metric(lambda *each: each[5]),
        "time_to_first_token_ms": metric(lambda start, first, *_: 1000 * (first - start)),
        "time_per_output_token_ms": metric(
            lambda start, first, last, end, tok_in, n: (
                1000 * (last - (start if norm else first)) / max(n, 1)
            ),
            lambda *each: each[5],
        ),
        "inter_token_latency_ms": metric(
            lambda start, first, last, end, tok_in, n: 1000 * (last - first) / max(n - 1, 1),
            lambda *each: max(each[5] - 1, 0),
        ),
        "output_tokens_per_second": metric(lambda *each: 30.0),
        "tokens_per_second": metric(lambda *each: 90.0),
        "requests_per_second": metric(lambda *each: 0.4),
        "request_concurrency": metric(lambda *each: 1.8),
    }


def _totals(by_status):
    counts = {status: len(requests) for status, requests in by_status.items()}
    return counts | {"total": sum(counts.values())}


def _split(answered, cut_off, errored):
    return {"successful": answered, "errored": errored, "incomplete": cut_off}


def old_run(strategy=None, answered=ANSWERED, cut_off=CUT_OFF, errored=()):
    """Write a run as 0.2 does, without p50."""
    by_status = _split(answered, cut_off, list(errored))
    metrics = _metrics(by_status, norm=False, product=False)
    for statuses in metrics.values():
        for summary in statuses.values():
            del summary["percentiles"]["p50"]
    return {
        "type_": "generative_benchmark",
        "args": {
            "profile": {"type_": "sweep", "random_seed": 7},
            "strategy": strategy or {"type_": "constant", "rate": 2.5, "initial_burst": True},
        },
        "run_stats": {"requests_made": {"successful": 1, "total": 1}},
        "worker": {"backend_type": "openai_http", "backend_model": "org/model-8B"},
        "request_loader": {"data": "prompt_tokens=100,output_tokens=50"},
        "metrics": metrics,
        "start_time": START,
        "end_time": START + 10.0,
        "duration": 10.0,
        "request_totals": _totals(by_status),
    }


def new_run(strategy=None, answered=ANSWERED, cut_off=CUT_OFF, errored=()):
    """Write a run as 0.6 does, with sums that are means times counts."""
    by_status = _split(answered, cut_off, list(errored))
    metrics = _metrics(by_status, norm=True, product=True)
    metrics["total_token_count"] = _metric(by_status, lambda *each: each[4] + each[5])
    metrics["request_streaming_iterations_count"] = _metric(by_status, lambda *each: each[5])
    return {
        "type_": "generative_benchmark",
        "config": {
            "run_index": 0,
            "strategy": strategy
            or {"type_": "constant", "worker_count": 1, "max_concurrency": 512, "rate": 2.5},
            "backend": {"target": "http://host:8000", "model": "org/model-8B"},
        },
        "metrics": {"request_totals": _totals(by_status), **metrics},
        "start_time": START,
        "duration": 10.0,
        "warmup_duration": 0.0,
        "cooldown_duration": 0.0,
    }


def report(*runs, **args):
    return {
        "metadata": {"version": 1, "guidellm_version": "0.6.0"},
        "args": {"backend": "openai_http", "data": ["a.jsonl", "b.jsonl"], "random_seed": 9} | args,
        "benchmarks": list(runs),
    }


def table(*runs, strategies=()):
    """Write runs as the CSV of 0.6: three header rows, those of the first run."""
    headers, lines = None, []
    done = list(strategies) or [run["config"]["strategy"] for run in runs]
    for index, run in enumerate(runs):
        cells = _cells(run, index, done)
        headers = headers or [key for key, _ in cells]
        lines.append([value for _, value in cells])
    out = io.StringIO()
    csv.writer(out).writerows([*zip(*headers, strict=True), *lines])
    return out.getvalue()


def _cells(run, index, done):
    metrics = run["metrics"]
    cells = [
        (("Run Info", "Run Index", ""), index),
        (("Run Info", "Profile", ""), json.dumps({"completed_strategies": done})),
        (("Run Info", "Backend", ""), json.dumps(run["config"]["backend"])),
        (("Benchmark", "Strategy", ""), run["config"]["strategy"]["type_"]),
        (("Timings", "Measure Start Time", ""), "2025-06-15 15:06:40"),
        (("Timings", "Duration", "Sec"), run["duration"]),
        (("Timings", "Warmup", "Sec"), 0.0),
        (("Timings", "Cooldown", "Sec"), 0.0),
    ]
    for status in ("successful", "incomplete", "errored", "total"):
        count = metrics["request_totals"][status]
        cells.append((("Request Counts", status.capitalize(), ""), count))
    for name, (group, unit) in guidellm_csv._METRICS.items():
        for status in ("successful", "incomplete", "errored"):
            summary = metrics[name][status]
            if summary["total_sum"] == 0:
                continue
            figures = summary | summary["percentiles"]
            values = ", ".join(str(figures[key]) for key in CELL)
            column = f"{status.capitalize()} {unit}"
            cells += [
                ((group, column, "Mean"), summary["mean"]),
                ((group, column, "Median"), summary["median"]),
                ((group, column, "Std Dev"), 1.0),
                ((group, column, "Percentiles"), f"[{values}]"),
            ]
    metadata = json.dumps({"guidellm_version": "0.6.0"})
    cells.append((("Runtime Info", "Metadata", ""), metadata))
    cells.append((("Runtime Info", "Arguments", ""), json.dumps(report()["args"])))
    return cells


def _scan(tmp_path, content, name="benchmarks.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return scan_runs(path, gpu="RTX 4090", n_gpus=1)


def _only(scan):
    assert scan.refused.empty, list(scan.refused["reason"])
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _with(run, path, value):
    changed = copy.deepcopy(run)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


EXPECTED = {
    "tool": "guidellm",
    "date": "2025-06-15T15:06:40Z",
    "model": "org/model-8B",
    "gpu": "RTX 4090",
    "arrival": "constant",
    "request_rate_per_s": 2.5,
    "n_requests": 5,
    "completed": 4,
    "failed": 0,
    "duration_s": 10.0,
    "total_in_tok": 600,
    "total_out_tok": 234,
    "mean_in_tok": 115.0,  # of the four that were answered
    "mean_out_tok": 56.0,
    "mean_concurrency": 1.8,
    "out_tok_per_s": 23.4,
    "all_tok_per_s": 83.4,
    "req_per_s": 0.4,
    "mean_ttft_ms": 575.0,  # 500, 600, 400, 800
    "p0_1_ttft_ms": 400.0,
    "p50_ttft_ms": 500.0,
    "p99_ttft_ms": 800.0,
    "mean_e2el_ms": 3200.0,  # 2.6, 3.7, 1.5, 5.0 s
    "p50_e2el_ms": 2600.0,
    "p99_9_e2el_ms": 5000.0,
    "mean_tpot_ms": 1000 * 10 / 220,  # 10 s of decoding for 40 + 60 + 20 + 100 gaps
    "p5_tpot_ms": 40.0,  # the request of 101 tokens holds 100 of the 220 gaps
    "p50_tpot_ms": 50.0,
    "itl_kind": "request_mean",
    "reported_out_tok_per_s": 30.0,
    "reported_all_tok_per_s": 90.0,
    "reported_req_per_s": 0.4,
}
OLD = {
    "dataset": "prompt_tokens=100,output_tokens=50",
    "prompt_seed": 7,
    "tool_version": None,
    "max_concurrency": None,
    "engine": None,
}
NEW = {
    "dataset": "a.jsonl, b.jsonl",
    "prompt_seed": 9,
    "tool_version": "0.6.0",
    "max_concurrency": 512,
    "streaming": True,
    "engine": None,
    # 2.5, 3.6, 1.4 and 4.8 s to the last token, for 224 tokens
    "mean_norm_e2el_ms_per_tok": 1000 * (2.5 + 3.6 + 1.4 + 4.8) / 224,
}


def _check(run, expected):
    for name, value in expected.items():
        if value is None:
            assert pd.isna(run[name]), name
        elif isinstance(value, float):
            assert run[name] == pytest.approx(value), name
        else:
            assert run[name] == value, name
    assert not any("_itl_" in name and pd.notna(run[name]) for name in run.index)


def test_a_known_run_in_both_layouts_and_as_a_table_comes_back(tmp_path):
    old = _only(_scan(tmp_path, {"benchmarks": [old_run()]}))
    new = _only(_scan(tmp_path, report(new_run())))
    _check(old, EXPECTED | OLD)
    _check(new, EXPECTED | NEW)
    assert "mean_norm_e2el_ms_per_tok" not in old, "0.2 leaves the first token out"
    csv_run = _only(_scan(tmp_path, table(new_run()), "benchmarks.csv"))
    unlike = {"run_id", "source", "warnings", "reported_out_tok_per_s", "reported_all_tok_per_s"}
    unlike |= {name for name in new.index if name.startswith("p99_9_")}
    unlike |= {"date", "mean_concurrency"}
    assert csv_run["date"] == "2025-06-15T15:06:40", "local time"
    assert csv_run["mean_concurrency"] == pytest.approx(0.4 * 3.2), "there is no figure of all"
    assert csv_run["source"] == "benchmarks.csv:4"
    for name in set(new.index) - unlike:
        both_missing = pd.isna(csv_run[name]) and pd.isna(new[name])
        assert both_missing or csv_run[name] == new[name], name


@pytest.mark.parametrize(
    ("strategy", "arrival", "rate", "limit"),
    [
        ({"type_": "synchronous"}, "closed", np.inf, 1),
        ({"type_": "concurrent", "streams": 16}, "closed", np.inf, 16),
        ({"type_": "throughput", "max_concurrency": None}, "burst", np.inf, None),
        ({"type_": "throughput", "max_concurrency": 512}, "closed", np.inf, 512),
        ({"type_": "constant", "rate": "1.25", "max_concurrency": None}, "constant", 1.25, None),
        ({"type_": "poisson", "rate": 4.0, "max_concurrency": 64}, "poisson", 4.0, 64),
        ({"type_": "trace", "rate": 3.0}, None, 3.0, None),
    ],
)
def test_strategies(tmp_path, strategy, arrival, rate, limit):
    expected = {"arrival": arrival, "request_rate_per_s": rate, "max_concurrency": limit}
    _check(_only(_scan(tmp_path, {"benchmarks": [old_run(strategy)]})), expected)
    _check(_only(_scan(tmp_path, report(new_run(strategy)))), expected)
    _check(_only(_scan(tmp_path, table(new_run(strategy)), "b.csv")), expected)


def test_a_load_that_rises_is_told(tmp_path):
    strategy = {"type_": "concurrent", "streams": 8, "rampup_duration": 5.0}
    run = _only(_scan(tmp_path, report(new_run(strategy))))
    assert "the load rises over the first 5 s" in run["warnings"]


def test_b14_throughput_is_of_all_requests_and_latency_of_the_successful_ones(tmp_path):
    whole = _only(_scan(tmp_path, report(new_run(cut_off=[]))))
    run = _only(_scan(tmp_path, report(new_run())))
    assert (whole["out_tok_per_s"], run["out_tok_per_s"]) == (22.4, 23.4)
    for each in (whole, run):
        assert each["p99_ttft_ms"] == pytest.approx(800.0), "not the 1000 of the one cut off"
    assert "1 of 5 requests were cut off by the end of the run" in run["warnings"]
    told = "140 of 600 input tokens and 10 of 234 output tokens are of requests that did not"
    assert told in run["warnings"]
    assert "cut off" not in str(whole["warnings"])
    rates = {"successful": {"mean": 800.0}, "incomplete": {"mean": 150.0}, "total": {"mean": 950.0}}
    stated = _with(new_run(), ["metrics", "output_tokens_per_second"], rates)
    assert _only(_scan(tmp_path, report(stated)))["reported_out_tok_per_s"] == 950.0


def test_b29_the_median_serves_where_p50_is_absent_and_nothing_is_interpolated(tmp_path):
    run = old_run()
    ranks = run["metrics"]["time_to_first_token_ms"]["successful"]["percentiles"]
    assert "p50" not in ranks
    del ranks["p95"]
    read = _only(_scan(tmp_path, {"benchmarks": [run]}))
    assert read["p50_ttft_ms"] == 500.0
    assert pd.isna(read["p95_ttft_ms"])
    names = ["p0_1", "p1", "p5", "p10", "p25", "p75", "p90", "p99", "p99_9"]
    assert all(pd.notna(read[f"{name}_ttft_ms"]) for name in names)


def test_b61_throughput_is_tokens_over_duration_and_the_tools_figure_stays_beside_it(tmp_path):
    run = _with(new_run(), ["duration"], 60.0)
    run["metrics"]["output_token_count"] = {"total": {"total_sum": 600}}
    run["metrics"]["output_tokens_per_second"] = {"total": {"mean": 40.0}}
    read = _only(_scan(tmp_path, report(run)))
    assert (read["out_tok_per_s"], read["reported_out_tok_per_s"]) == (10.0, 40.0)
    assert "40 out_tok_per_s" in read["warnings"]


def test_b62_tpot_is_the_inter_token_latency(tmp_path):
    figures = {
        "request_latency": 10.0,
        "time_to_first_token_ms": 9000.0,
        "output_token_count": 101,
        "time_per_output_token_ms": 99.0,
        "inter_token_latency_ms": 10.0,
    }
    run = new_run()
    run["metrics"] |= {name: {"successful": {"mean": mean}} for name, mean in figures.items()}
    read = _only(_scan(tmp_path, report(run)))
    assert read["mean_tpot_ms"] == 10.0
    assert read["mean_e2el_ms"] == 10_000.0
    assert read["mean_norm_e2el_ms_per_tok"] == 99.0
    older = old_run()
    older["metrics"] |= run["metrics"]
    older = _only(_scan(tmp_path, {"benchmarks": [older]}))
    assert older["mean_tpot_ms"] == 10.0
    assert "mean_norm_e2el_ms_per_tok" not in older


def test_sums_from_means_are_whole_again(tmp_path):
    path = ["metrics", "output_token_count", "total", "total_sum"]
    for written, whole in ((786.9999999999999, 787), (2252.0000000000005, 2252)):
        assert _only(_scan(tmp_path, report(_with(new_run(), path, written))))["total_out_tok"] == (
            whole
        )
    scan = _scan(tmp_path, report(_with(new_run(), path, 786.4)))
    assert "total_out_tok: 786.4 is outside" in scan.refused["reason"].item()


@pytest.mark.parametrize("layout", [old_run, new_run])
def test_a_run_without_answers_has_a_row_and_no_latencies(tmp_path, layout):
    errored = [(0.0, 0.0, 0.0, 1.0, 0, 0)] * 3
    run = layout(answered=[], cut_off=[], errored=errored)
    read = _only(_scan(tmp_path, report(run)))
    assert (read["completed"], read["failed"], read["n_requests"]) == (0, 3, 3)
    assert read["total_out_tok"] == 0
    assert "no completed requests" in read["warnings"]
    assert "streaming" not in read
    assert pd.isna(read["out_tok_per_s"])
    assert not any(pd.notna(read[name]) for name in read.index if name.endswith("_ms"))


def test_answers_of_one_token_have_no_time_per_token(tmp_path):
    answered = [(*each[:5], 1) for each in ANSWERED]
    read = _only(_scan(tmp_path, report(new_run(answered=answered, cut_off=[]))))
    assert pd.isna(read["mean_tpot_ms"])
    assert "itl_kind" not in read
    assert read["mean_ttft_ms"] == pytest.approx(575.0)


def _whole_answers():
    run = new_run(cut_off=[])
    for name in ("request_streaming_iterations_count", "time_to_first_token_ms"):
        run["metrics"][name] = _metric(_split(ANSWERED, [], []), lambda *_: 0.0)
    itl = _metric(_split(ANSWERED, [], []), lambda *_: 0.0, lambda *each: each[5] - 1)
    run["metrics"]["inter_token_latency_ms"] = itl
    return run


@pytest.mark.parametrize("form", ["json", "csv"])
def test_answers_that_came_whole_have_no_first_token(tmp_path, form):
    run = _whole_answers()
    content = table(run) if form == "csv" else report(run)
    read = _only(_scan(tmp_path, content, f"b.{form}"))
    assert not read["streaming"]
    assert not any(pd.notna(read[name]) for name in read.index if "_ttft_" in name)
    assert not any(pd.notna(read[name]) for name in read.index if "_tpot_" in name)
    assert read["mean_e2el_ms"] == pytest.approx(3200.0)
    assert read["mean_norm_e2el_ms_per_tok"] == pytest.approx(NEW["mean_norm_e2el_ms_per_tok"])


def test_first_tokens_at_0_ms_and_edges_of_the_window_are_told(tmp_path):
    answered = [*ANSWERED, (4.0, 4.0, 6.0, 6.0, 100, 11)]
    run = new_run(answered=answered) | {"warmup_duration": 2.0}
    told = _only(_scan(tmp_path, report(run)))["warnings"]
    assert "TTFT counts answers without a first token as 0 ms" in told
    assert "edges of the measuring window" in told


def test_tokens_that_nobody_counted_are_missing(tmp_path):
    run = new_run()
    run["metrics"]["prompt_token_count"] = _metric(_split(ANSWERED, [], []), lambda *_: 0.0)
    read = _only(_scan(tmp_path, report(run)))
    assert pd.isna(read["total_in_tok"])
    assert pd.isna(read["all_tok_per_s"])
    assert read["out_tok_per_s"] == pytest.approx(23.4)


def test_every_entry_is_a_run_and_a_bad_one_is_named(tmp_path):
    strategies = [{"type_": "synchronous"}, *({"type_": "constant", "rate": r} for r in (1.0, 2.0))]
    runs = [new_run(each) for each in strategies]
    read = _scan(tmp_path, report(*runs)).runs
    assert list(read["request_rate_per_s"]) == [1.0, 2.0, np.inf]
    assert list(read["repeat"]) == [1, 1, 1]
    scan = _scan(tmp_path, report(runs[0], _with(runs[1], ["duration"], "long")))
    assert scan.refused["reason"].item() == "benchmark 2: duration: 'long' is not a number"
    alone = _only(_scan(tmp_path, old_run()))
    assert alone["completed"] == 4, "an entry by itself is a run too"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"benchmarks": []}, "no runs in this file"),
        ({"benchmarks": {"a": 1}}, "benchmarks: dict where a list belongs"),
        ({"benchmarks": [new_run(), 3]}, "benchmark 2: int where an object belongs"),
        ({"benchmarks": [new_run() | {"start_time": 1e300}]}, r"start_time: 1e\+300 is no time"),
        ({"benchmarks": [{"type_": "generative_benchmark"}]}, "without 'metrics', 'duration'"),
        ({"args": [1]}, "args: list where an object belongs"),
    ],
)
def test_refusals(tmp_path, change, reason):
    scan = _scan(tmp_path, report(new_run()) | change)
    assert scan.runs.empty
    assert scan.refused["reason"].str.contains(reason).all()
    assert len(scan.refused) == 1


def test_what_the_file_states_of_engine_model_date_and_data(tmp_path):
    run = new_run()
    run["config"]["backend"]["model"] = None
    run["start_time"] = -1.0
    read = _only(_scan(tmp_path, report(run, backend="vllm_python", data=[{"a": 1}])))
    assert read["engine"] == "vLLM"
    assert pd.isna(read["model"])
    assert pd.isna(read["date"])
    assert pd.isna(read["dataset"])
    older = _with(old_run(), ["worker", "backend_model"], "None")
    assert pd.isna(_only(_scan(tmp_path, {"benchmarks": [older]}))["model"])
    lines = _only(_scan(tmp_path, report(new_run(), data="prompts:\n  one")))
    assert lines["dataset"] == "prompts: one"


def test_seconds_since_1970_are_read_as_utc_wherever_we_are(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        run = _only(_scan(tmp_path, report(new_run())))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert run["date"] == "2025-06-15T15:06:40Z"


def test_a_date_is_in_utc_where_its_zone_is_known(tmp_path):
    for written, date in {
        "2025-06-15 17:06:40": "2025-06-15T17:06:40",
        "2025-06-15T17:06:40.25+02:00": "2025-06-15T15:06:40Z",
        0: None,
    }.items():
        read = _only(_scan(tmp_path, report(new_run() | {"start_time": written})))
        assert read["date"] == date or (date is None and pd.isna(read["date"]))
    scan = _scan(tmp_path, report(new_run() | {"start_time": "yesterday"}))
    assert "start_time: 'yesterday' is not a number" in scan.refused["reason"].item()


def test_the_json_and_the_table_of_one_run_are_one_run(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps(report(new_run())))
    (tmp_path / "b.csv").write_text(table(new_run()))
    scan = scan_runs(tmp_path)
    assert list(scan.runs["source"]) == ["b.json:1"]
    assert scan.refused["reason"].item() == "the same run as b.json:1"


def test_a_run_that_stands_askew_in_the_table_is_refused_and_the_others_stay(tmp_path):
    first, second = new_run(cut_off=[]), new_run({"type_": "constant", "rate": 9.0})
    scan = _scan(tmp_path, table(first, second, first | {"duration": 11.0}), "b.csv")
    assert list(scan.runs["duration_s"]) == [10.0, 11.0]
    assert scan.refused["line"].item() == 5
    assert "the run stands askew under the headers" in scan.refused["reason"].item()


def _lines(text):
    return list(csv.reader(io.StringIO(text)))


def _text(lines):
    out = io.StringIO()
    csv.writer(out).writerows(lines)
    return out.getvalue()


def test_as_many_cells_under_other_headers_are_found_out(tmp_path):
    cut_off, failed = new_run(), new_run(cut_off=[], errored=CUT_OFF)
    scan = _scan(tmp_path, table(cut_off, failed), "b.csv")
    assert len(scan.runs) == 1
    reason = scan.refused["reason"].item()
    assert "Request Latency of incomplete requests, but there are none" in reason
    lines = _lines(table(new_run()))
    place = lines[1].index("Successful Input Tokens")
    lines[3][place] = "7"
    reason = _scan(tmp_path, _text(lines), "b.csv").refused["reason"].item()
    assert "168 input and 234 output tokens are not 834" in reason


def test_failed_requests_of_a_table(tmp_path):
    failed = [(1.0, 1.0, 1.0, 1.5, 0, 0), (2.0, 2.0, 2.0, 2.5, 0, 0)]
    run = new_run(cut_off=[], errored=failed)
    read = _only(_scan(tmp_path, table(run), "b.csv"))
    assert (read["n_requests"], read["completed"], read["failed"]) == (6, 4, 2)
    assert read["total_out_tok"] == 224
    assert "reported_out_tok_per_s" not in read, "that of the answered ones is another figure"


def test_tables_that_are_aligned_over_all_runs_are_read(tmp_path):
    first, second = new_run(cut_off=[]), new_run({"type_": "constant", "rate": 9.0})
    keys = [key for key, _ in _cells(second, 1, [])]
    done = [run["config"]["strategy"] for run in (first, second)]
    rows = [dict(_cells(run, index, done)) for index, run in enumerate((first, second))]
    lines = [*zip(*keys, strict=True), *([row.get(key, "") for key in keys] for row in rows)]
    scan = _scan(tmp_path, _text(lines), "b.csv")
    assert scan.refused.empty
    assert list(scan.runs["total_out_tok"]) == [224, 234]
    assert list(scan.runs["request_rate_per_s"]) == [2.5, 9.0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines[:3], "no runs in this file"),
        (lambda lines: lines[:2], "no runs in this file"),
        (lambda lines: [*lines[:3], ["x" * 200_000]], "not CSV: field larger than field limit"),
        (lambda lines: [*lines[:3], lines[3][:-1]], "cells under"),
    ],
)
def test_tables_without_a_run(tmp_path, change, reason):
    scan = _scan(tmp_path, _text(change(_lines(table(new_run())))), "b.csv")
    assert scan.runs.empty
    assert reason in scan.refused["reason"].item()


def test_a_strategy_that_the_profile_does_not_tell_has_no_rate(tmp_path):
    read = _only(_scan(tmp_path, table(new_run(), strategies=[{"type_": "poisson"}]), "b.csv"))
    assert read["arrival"] == "constant"
    assert pd.isna(read["request_rate_per_s"])


def _paths(value, before=()):
    if before:
        yield before
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _paths(each, (*before, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _paths(each, (*before, index))


def _spoiled(record):
    """Yield the record with each key removed, and with each value replaced; as JSON."""
    for path in list(_paths(record)):
        inner = record
        for key in path[:-1]:
            inner = inner[key]
        good = inner[path[-1]]
        for bad in HOSTILE:
            inner[path[-1]] = bad
            yield json.dumps(record)
        del inner[path[-1]]
        yield json.dumps(record)
        inner.update({path[-1]: good}) if isinstance(inner, dict) else inner.insert(path[-1], good)


def _slim(record):
    """Keep of like figures one or two: the others go the same way."""
    metrics = record["benchmarks"][0]["metrics"]
    for name in ("requests_per_second", "tokens_per_second", "output_token_count"):
        del metrics[name]
    for name in metrics.keys() - {"request_totals"}:
        metrics[name] = {status: metrics[name][status] for status in ("successful", "total")}
        for summary in metrics[name].values():
            summary["percentiles"] = {"p90": summary["percentiles"]["p90"]}
    return record


def _assert_none_is_lost(folder, parts, suffix, first_line):
    """Write parts of 100 lines, of which each refusal is told, and find a row or reason of each."""
    places = set()
    for number, part in enumerate(parts):
        (folder / f"{number}.{suffix}").write_text("\n".join(part))
        lines = range(first_line, len(part) + 1)
        places |= {f"{number}.{suffix}:{line}" for line in lines}
    scan = scan_runs(folder, gpu="RTX 4090", n_gpus=1)
    refused = scan.refused["file"] + ":" + scan.refused["line"].astype(str)
    assert len(places) > 1000
    assert {*scan.runs["source"], *refused} == places
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) > 10


@pytest.mark.parametrize("layout", [old_run, new_run])
def test_hostile_reports_are_rows_or_refusals(tmp_path, layout):
    lines = list(_spoiled(_slim(report(layout()))))
    parts = [lines[start : start + 100] for start in range(0, len(lines), 100)]
    _assert_none_is_lost(tmp_path, parts, "jsonl", 1)


def test_hostile_tables_are_rows_or_refusals(tmp_path):
    *headers, good = table(new_run()).splitlines()
    cells = next(csv.reader([good]))
    hostile = [*map(str, HOSTILE), "[1, 2]", "{", "[" * 5000, '{"a": ' + "9" * 5000 + "}", "\x00"]
    runs = [
        _text([[*cells[:place], bad, *cells[place + 1 :]]]).strip()
        for place in range(len(cells))
        for bad in hostile
    ]
    parts = [[*headers, *runs[start : start + 100]] for start in range(0, len(runs), 100)]
    _assert_none_is_lost(tmp_path, parts, "csv", 4)


def test_hostile_headers_cost_no_run_its_reason(tmp_path):
    lines = _lines(table(new_run()))
    files = []
    for row, place in itertools.product(range(3), range(0, len(lines[0]), 7)):
        changed = [list(line) for line in lines]
        changed[row][place] = "x"
        files.append(f"{row}-{place}.csv")
        (tmp_path / files[-1]).write_text(_text(changed))
    scan = scan_runs(tmp_path, gpu="RTX 4090", n_gpus=1)
    told = {name.partition(":")[0] for name in scan.runs["source"]} | {*scan.refused["file"]}
    assert told == {*files}


def test_claims_never_raise_and_leave_other_objects_alone():
    for record in (
        {},
        {"benchmarks": None},
        {"benchmarks": [None, 1, "x", [], {}]},
        {"benchmarks": [{"name": "test_a", "stats": {"mean": 1.0}}], "machine_info": {}},
        {"metadata": ["guidellm_version"]},
        {"metrics": {"request_latency": {"avg": 1}}},
        {"metrics": 3, "type_": {"a": 1}},
    ):
        assert not guidellm.claims(record), record
    for head in ("", "Run Info", "model,gpu\n", "Run Info,a,b\nTimings,Request Counts,", "\x00"):
        assert not guidellm_csv.claims_text(head), head


def test_samples(tmp_path):
    if not SAMPLES:
        pytest.skip("HETCOST_SAMPLES is not set: the samples were not read")
    folder = Path(SAMPLES) / "formats" / "guidellm"
    scan = scan_runs(folder, gpu="RTX 4090", n_gpus=1)
    assert scan.refused["reason"].tolist() == ["the same run as v0.6_benchmarks.json:1"]
    table = scan_runs(folder / "v0.6_benchmarks.csv", gpu="RTX 4090", n_gpus=1).runs
    runs = pd.concat([scan.runs, table])
    runs = runs.set_index(runs["source"].str.partition(":")[0])
    old = runs.loc["v0.2_benchmarks_stripped.json"]
    _check(
        old,
        {
            "completed": 46,
            "n_requests": 47,
            "arrival": "closed",
            "max_concurrency": 1,
            "total_in_tok": 12083,
            "total_out_tok": 5943,
            "out_tok_per_s": 5943 / 29.997201442718506,
            "mean_e2el_ms": 644.4743664368339,
            "p50_ttft_ms": 16.38054847717285,
            "mean_tpot_ms": 4.941609043733832,
            "reported_out_tok_per_s": 198.08514508750469,
            "mean_norm_e2el_ms_per_tok": None,
        },
    )
    for name in ("v0.6_benchmarks.json", "v0.6_benchmarks.csv"):
        _check(
            runs.loc[name],
            {
                "tool_version": "0.6.0",
                "model": "unsloth/gemma-4-26B-A4B-it-GGUF",
                "out_tok_per_s": 1969 / 46.108335971832275,
                "reported_out_tok_per_s": 77.43273808011925,
                "mean_tpot_ms": 12.920996401368118,
                "mean_norm_e2el_ms_per_tok": 23.40506562852448,
                "p99_e2el_ms": 46108.335971832275,
            },
        )
    dates = runs["date"].to_dict()
    assert dates["v0.6_benchmarks.json"] == "2026-06-11T09:10:21Z"
    assert not dates["v0.6_benchmarks.csv"].endswith("Z"), "local time"
    assert old["mean_out_tok"] == pytest.approx(128)
    assert old["mean_concurrency"] == pytest.approx(0.99774, abs=1e-5)
    # E2E = TTFT + (n − 1) · TPOT, but for the time from the last token to the end
    made = old["mean_ttft_ms"] + (old["mean_out_tok"] - 1) * old["mean_tpot_ms"]
    assert made == pytest.approx(old["mean_e2el_ms"], rel=1e-3)


def test_no_other_sample_is_claimed():
    if not SAMPLES:
        pytest.skip("HETCOST_SAMPLES is not set: the samples were not read")
    others = [
        path
        for path in Path(SAMPLES).rglob("*")
        if path.is_file() and path.parent.name != "guidellm"
    ]
    assert len(others) > 20
    for path in others:
        text = path.read_text("utf-8", errors="replace")
        assert not guidellm_csv.claims_text(text[: 2**16]), path
        for found in hc.readers.json_records(text) if path.suffix in (".json", ".jsonl") else ():
            assert not (isinstance(found.value, dict) and guidellm.claims(found.value)), path
