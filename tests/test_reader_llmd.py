"""Benchmark reports of llm-d, 0.1 and 0.2, as JSON and as YAML; other YAML is left alone."""

import copy
import itertools
import math

import pytest
import yaml
from result_files import assert_rows_or_reasons, check, reasons_of, row_of, samples, spoilt, write
from test_reader_inference_perf import STAGE

from hetcost.readers import llmd_yaml
from hetcost.runs import scan_runs

CARD = "H100 SXM 80GB"


def _stats(mean, units, **more):
    return {"units": units, "mean": mean, "p0p1": mean / 2, "p50": mean, "p99": mean * 2, **more}


def _accelerator(count, **axes):
    parallelism = {"tp": 1, "pp": 1, "dp": 1, "ep": 1} | axes
    return {"model": "NVIDIA-H100-80GB-HBM3", "count": count, "parallelism": parallelism}


def _component(role, count, replicas=1, **axes):
    return {
        "metadata": {"label": role, "cfg_id": "0"},
        "standardized": {
            "kind": "inference_engine",
            "tool": "vllm",
            "tool_version": "0.11.0",
            "role": role,
            "replicas": replicas,
            "model": {"name": "org/model-8B"},
            "accelerator": _accelerator(count, **axes),
        },
        "native": {},
    }


ROUTER = {"standardized": {"kind": "generic", "tool": "scheduler", "tool_version": "1"}}
NEW = {
    "version": "0.2",
    "run": {"time": {"start": "2025-11-05T18:00:42Z", "duration": "PT1M40.5S"}},
    "scenario": {
        "stack": [_component("aggregate", 2, replicas=3, tp=2), ROUTER],
        "load": {
            "standardized": {
                "tool": "some-generator",
                "tool_version": "0.3.0",
                "rate_qps": 2.5,
                "concurrency": math.inf,
            }
        },
    },
    "results": {
        "request_performance": {
            "aggregate": {
                "requests": {
                    "total": 210,
                    "failures": 9,
                    "input_length": _stats(500.0, "count"),
                    "output_length": _stats(101.0, "count"),
                },
                "latency": {
                    "time_to_first_token": _stats(0.2, "s", p99p9=0.9),
                    "time_per_output_token": _stats(20.0, "ms/token"),
                    "inter_token_latency": _stats(0.019, "s/token"),
                    "request_latency": _stats(2.2, "s"),
                    "normalized_time_per_output_token": _stats(0.022, "s/token"),
                },
                "throughput": {
                    "output_token_rate": _stats(210.0, "tokens/s"),
                    "total_token_rate": _stats(1210.0, "tokens/s"),
                    "request_rate": _stats(2.0, "queries/s"),
                },
            }
        }
    },
}
OLD = {
    "version": "0.1",
    "scenario": {
        "host": {
            "type": ["prefill", "decode", "decode"],
            "accelerator": [_accelerator(1), _accelerator(8, tp=8), _accelerator(8, tp=8)],
        },
        "platform": {"engine": [{"name": "vllm", "version": "0.9.0.1"}] * 3},
        "model": {"name": "org/model-671B", "quantization": "fp8"},
        "load": {"name": "vllm-benchmark"},
    },
    "metrics": {
        "time": {"duration": 16.0, "start": 1_749_570_563.5},
        "requests": {
            "total": 33,
            "failures": 0,
            "incomplete": 1,
            "input_length": _stats(600.0, "count"),
            "output_length": _stats(33.0, "count"),
        },
        "latency": {
            "time_to_first_token": _stats(100.0, "ms"),
            "request_latency": _stats(3300.0, "ms"),
            "time_per_output_token": _stats(100.0, "ms/token"),
        },
        "throughput": {"output_tokens_per_sec": 66.0, "total_tokens_per_sec": 1266.0},
    },
}


def _yaml(record):
    return yaml.safe_dump(record, sort_keys=False)


def _changed(record, *path, **changes):
    odd = copy.deepcopy(record)
    place = odd
    for key in path:
        place = place[key]
    place.update(changes)
    return odd


def test_a_report_of_0_2_field_by_field(tmp_path):
    check(
        row_of(tmp_path / "a.yaml", _yaml(NEW)),
        {
            "tool": "some-generator",
            "tool_version": "0.3.0",
            "engine": "vLLM",
            "engine_version": "0.11.0",
            "model": "org/model-8B",
            "date": "2025-11-05T18:00:42Z",
            "gpu": CARD,
            "n_gpus": 6,
            "replicas": 3,
            "tensor_parallel": 2,
            "pipeline_parallel": 1,
            "prefill_gpus": None,
            "request_rate_per_s": 2.5,
            "max_concurrency": None,
            "arrival": None,
            "n_requests": 210,
            "completed": 201,
            "failed": 9,
            "duration_s": 100.5,
            "total_in_tok": 100_500,
            "total_out_tok": 20_301,
            "out_tok_per_s": 202.0,
            "req_per_s": 2.0,
            "reported_out_tok_per_s": 210.0,
            "reported_all_tok_per_s": 1210.0,
            "mean_ttft_ms": 200.0,
            "p0_1_ttft_ms": 100.0,
            "p99_ttft_ms": 400.0,
            "p99_9_ttft_ms": 900.0,
            "mean_tpot_ms": 20.0,
            "p99_tpot_ms": 40.0,
            "mean_itl_ms": 19.0,
            "p50_e2el_ms": 2200.0,
            "mean_norm_e2el_ms_per_tok": 22.0,
        },
    )


def test_a_report_of_0_1_field_by_field(tmp_path):
    check(
        row_of(tmp_path / "a.yml", _yaml(OLD)),
        {
            "tool": "vllm bench serve",
            "engine": "vLLM",
            "engine_version": "0.9.0.1",
            "model": "org/model-671B",
            "weight_dtype": "fp8",
            "date": "2025-06-10T15:49:23Z",
            "gpu": CARD,
            "n_gpus": 17,
            "prefill_gpus": 1,
            "tensor_parallel": None,
            "replicas": None,
            "n_requests": 33,
            "completed": 32,
            "failed": 1,
            "duration_s": 16.0,
            "total_out_tok": 1056,
            "out_tok_per_s": 66.0,
            "mean_ttft_ms": 100.0,
            "mean_tpot_ms": 100.0,
            "p50_e2el_ms": 3300.0,
            "request_rate_per_s": None,
            "gpu_power_w": None,
        },
    )


@pytest.mark.parametrize("record", [NEW, OLD])
def test_json_and_yaml_say_the_same(tmp_path, record):
    one = row_of(tmp_path / "a.json", record)
    other = row_of(tmp_path / "b.yaml", "# made by hand\n---\n" + _yaml(record))
    assert one["run_id"] == other["run_id"]


def test_seconds_that_are_labelled_milliseconds_are_left_out(tmp_path):
    """CASES B30: 32 requests in 16 s of 3.3 ms each would leave 0.007 in flight."""
    wrong = _changed(
        OLD,
        "metrics",
        "latency",
        request_latency=_stats(3.3, "ms"),
        time_to_first_token=_stats(0.1, "ms"),
        time_per_output_token=_stats(0.1, "ms/token"),
    )
    run = row_of(tmp_path / "a.yaml", _yaml(wrong))
    check(run, {"mean_e2el_ms": None, "mean_ttft_ms": None, "p50_tpot_ms": None})
    assert "leaves 0.0066 requests in flight" in run["warnings"]
    check(run, {"out_tok_per_s": 66.0})
    rare = _changed(OLD, "metrics", "time", duration=3200.0)
    check(row_of(tmp_path / "b.yaml", _yaml(rare)), {"mean_e2el_ms": 3300.0})


def test_the_cards_of_components(tmp_path):
    both = [_component("prefill", 4, tp=4), _component("decode", 2, replicas=4, tp=2), ROUTER]
    run = row_of(tmp_path / "a.yaml", _yaml(_changed(NEW, "scenario", stack=both)))
    check(run, {"n_gpus": 12, "prefill_gpus": 4, "replicas": None, "gpu": CARD})
    of_all = [_component("aggregate", 8, replicas=4, tp=2)]
    run = row_of(tmp_path / "b.yaml", _yaml(_changed(NEW, "scenario", stack=of_all)))
    check(run, {"n_gpus": 8, "replicas": 4, "tensor_parallel": 2})
    run = row_of(tmp_path / "c.yaml", _yaml(_changed(NEW, "scenario", stack=[ROUTER])))
    check(run, {"n_gpus": None, "gpu": None, "model": None})


@pytest.mark.parametrize(
    ("load", "arrival", "limit"),
    [
        ({"concurrency": 8}, "closed", 8),
        ({"concurrency": math.inf}, "burst", None),
        ({"rate_qps": 1.5, "concurrency": 8}, None, 8),
    ],
)
def test_loads(tmp_path, load, arrival, limit):
    """CASES B33: ``.inf`` is no number of requests."""
    record = _changed(NEW, "scenario", "load", standardized={"tool": "x", **load})
    run = row_of(tmp_path / "a.yaml", _yaml(record))
    rate = load.get("rate_qps", math.inf)
    check(run, {"arrival": arrival, "max_concurrency": limit, "request_rate_per_s": rate})


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("PT49.5S", 49.5), ("PT2H", 7200.0), ("P1DT1M", 86_460.0), (12, 12.0), ("12.5", 12.5)],
)
def test_durations(tmp_path, written, seconds):
    record = _changed(NEW, "run", "time", duration=written)
    check(row_of(tmp_path / "a.yaml", _yaml(record)), {"duration_s": seconds})


def test_the_report_of_a_stage_is_a_copy_of_it(tmp_path):
    """llm-d writes the time of sending, 24 s, where the run took 25 s."""
    answered = STAGE["successes"]["latency"]
    names = {"request_latency": "s", "time_to_first_token": "s", "time_per_output_token": "s/token"}
    latency = {name: _stats(answered[name]["mean"], unit) for name, unit in names.items()}
    report = copy.deepcopy(NEW)
    report["run"]["time"]["duration"] = "PT24S"
    report["scenario"]["load"]["standardized"] |= {"tool": "inference-perf", "rate_qps": 2.0}
    report["results"]["request_performance"]["aggregate"] = {
        "requests": {
            "total": 52,
            "failures": 2,
            "input_length": _stats(200.02, "count"),
            "output_length": _stats(41.0, "count"),
        },
        "latency": latency,
        "throughput": {"request_rate": _stats(2.0, "queries/s")},
    }
    check(row_of(tmp_path / "alone.yaml", _yaml(report)), {"duration_s": 25.0})
    folder = tmp_path / "results"
    folder.mkdir()
    write(folder / "stage_0_lifecycle_metrics.json", STAGE)
    write(folder / "benchmark_report.yaml", _yaml(report))
    scan = scan_runs(folder)
    assert scan.runs["source"].tolist() == ["stage_0_lifecycle_metrics.json:1"]
    assert scan.refused["reason"].tolist() == ["the same run as stage_0_lifecycle_metrics.json:1"]


@pytest.mark.parametrize(
    "text",
    [
        "gpu: RTX 4090\nn_gpus: 2\nby_model:\n  org/model: {weight_dtype: fp8}\n",
        "# configuration\nserver:\n  type: vllm\nload:\n- rate: 1\n- rate: 2\n",
        "scenario:\n  model: x\n",
        "version: '3'\nservices:\n  vllm:\n    image: vllm\n",
    ],
)
def test_other_yaml_is_left_alone(tmp_path, text):
    (reason,) = reasons_of(tmp_path / "a.yaml", text)
    assert "looks like YAML, as a sidecar or a configuration" in reason


def test_a_sidecar_beside_the_results_costs_nothing(tmp_path):
    write(tmp_path / "a.json", {k: v for k, v in OLD.items() if k != "version"})
    side = write(tmp_path / "side.yaml", "dataset: mine\n")
    scan = scan_runs(tmp_path, sidecar=side)
    assert scan.runs["dataset"].tolist() == ["mine"]
    assert scan.refused["file"].tolist() == ["side.yaml"]


def test_yaml_is_data_and_never_runs(tmp_path):
    trap = tmp_path / "ran"
    for number, value in enumerate(
        [f"!!python/object/apply:os.mkdir ['{trap}']", "!!python/name:os.system", "!mine 3"]
    ):
        text = _yaml(NEW).replace("version: '0.2'", f"version: {value}")
        (reason,) = reasons_of(tmp_path / f"{number}.yaml", text)
        assert reason.startswith("not YAML: could not determine a constructor")
    assert not trap.exists()


def test_yaml_that_blows_up_or_takes_long_is_refused(tmp_path, monkeypatch):
    levels = itertools.pairwise("abcdefghijklmnop")
    bomb = "a: &a {x: 1}\n" + "".join(f"{b}: &{b} {{<<: [*{a}, *{a}, *{a}]}}\n" for a, b in levels)
    (reason,) = reasons_of(tmp_path / "a.yaml", bomb + _yaml(NEW))
    assert reason.startswith("YAML with merge keys")
    (reason,) = reasons_of(tmp_path / "b.yaml", _yaml(NEW) + "deep: " + "[" * 2000)
    assert reason.startswith("not YAML")
    (reason,) = reasons_of(tmp_path / "c.yaml", _yaml(NEW) + "version: '0.3'\n")
    assert "version stands twice" in reason
    monkeypatch.setattr(llmd_yaml, "_LARGEST", 1000)
    (reason,) = reasons_of(tmp_path / "d.yaml", _yaml(NEW))
    assert "more than 1000: leave its time series out, or write it as JSON" in reason


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (_changed(NEW, "run", "time", duration="PT"), "run.time.duration: 'PT' is no duration"),
        (_changed(NEW, "run", "time", duration="P1.2.3D"), "run.time.duration: 'P1.2.3D' is no"),
        (
            _changed(OLD, "metrics", "latency", request_latency=_stats(1.0, "min")),
            "latency.request_latency.units: 'min' is none of ms, s",
        ),
        (_changed(OLD, "metrics", "requests", total=1.5), "completed: 0.5 is outside"),
        (_changed(NEW, "scenario", stack=[3]), "stack: a list of objects belongs here"),
        (
            _changed(NEW, "results", request_performance=None),
            "results.request_performance.aggregate: nothing",
        ),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(tmp_path, record, reason):
    assert reasons_of(tmp_path / "a.json", record)[0].startswith(reason)
    assert reasons_of(tmp_path / "a.yaml", _yaml(record))[0].startswith(reason)


def test_hostile_reports_are_rows_or_refusals(tmp_path):
    bare = copy.deepcopy(NEW)
    bare["scenario"]["stack"] = bare["scenario"]["stack"][:1]
    assert_rows_or_reasons(tmp_path, spoilt(bare), at_least=50)


def test_hostile_reports_of_0_1_are_rows_or_refusals(tmp_path):
    assert_rows_or_reasons(tmp_path, spoilt(OLD), at_least=50)


def test_hostile_yaml_is_a_row_or_a_refusal(tmp_path):
    lines = _yaml(OLD).split("\n")
    for place in range(0, len(lines), 3):
        for name, odd in {"cut": "", "tab": "\t- x", "open": "a: [", "twice": "version: 1"}.items():
            changed = [*lines[:place], odd, *lines[place + 1 :]]
            write(tmp_path / f"{place:03}{name}.yaml", "\n".join(changed))
    scan = scan_runs(tmp_path)
    told = set(scan.refused["file"]) | set(scan.runs["source"].str.rpartition(":")[0])
    assert told == {path.name for path in tmp_path.iterdir()}


def test_samples_are_read():
    scan = scan_runs(samples("llmd_report"), gpu=CARD)
    assert scan.refused["file"].tolist() == ["br_v0_1_json_schema.json"]
    runs = scan.runs.set_index(scan.runs["source"].str.partition("_example")[0])
    check(
        runs.loc["br_v0_1"],
        {"n_gpus": 17, "prefill_gpus": 1, "engine": "vLLM", "completed": 31, "mean_e2el_ms": None},
    )
    assert "the unit is another than stated" in runs.loc["br_v0_1", "warnings"]
    check(
        runs.loc["br_v0_2"],
        {"n_gpus": 16, "replicas": 2, "tensor_parallel": 8, "duration_s": 49.97206788184121},
    )
