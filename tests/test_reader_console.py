"""Console logs of vLLM's and SGLang's serving clients."""

import itertools
import math
import os
from pathlib import Path

import pandas as pd
import pytest

from hetcost.runs import scan_runs

RULE = "=" * 50
HEAD = "============ Serving Benchmark Result ============"
VLLM = {
    "Successful requests:": "200",
    "Benchmark duration (s):": "50.00",
    "Total input tokens:": "40000",
    "Total generated tokens:": "30000",
    "Request throughput (req/s):": "4.00",
    "Output token throughput (tok/s):": "600.00",
    "Total Token throughput (tok/s):": "1400.00",
    "---------------Time to First Token----------------": "",
    "Mean TTFT (ms):": "40.12",
    "Median TTFT (ms):": "39.01",
    "P99 TTFT (ms):": "90.50",
    "-----Time per Output Token (excl. 1st token)------": "",
    "Mean TPOT (ms):": "20.10",
    "Median TPOT (ms):": "20.05",
    "P99 TPOT (ms):": "30.20",
    "---------------Inter-token Latency----------------": "",
    "Mean ITL (ms):": "20.00",
    "Median ITL (ms):": "19.00",
    "P99 ITL (ms):": "45.00",
}
LATER = {
    "Successful requests:": "198",
    "Failed requests:": "2",
    "Maximum request concurrency:": "64",
    "Request rate configured (RPS):": "4.00",
    "Benchmark duration (s):": "50.00",
    "Total input tokens:": "40000",
    "Total generated tokens:": "30000",
    "Request throughput (req/s):": "3.96",
    "Request goodput (req/s):": "3.50",
    "Output token throughput (tok/s):": "600.00",
    "Peak output token throughput (tok/s):": "9999.00",
    "Peak concurrent requests:": "77.00",
    "Total token throughput (tok/s):": "1400.00",
    "Mean TTFT (ms):": "40.12",
    "P50 TTFT (ms):": "39.01",
    "P99.9 TTFT (ms):": "99.00",
    "----------------End-to-end Latency----------------": "",
    "Mean E2EL (ms):": "3000.00",
    "Median E2EL (ms):": "2900.00",
    "P99 E2EL (ms):": "4800.00",
    "Mean Client Queue Time (ms):": "1.00",
    "Mean E2EL incl. Client Queue (ms):": "3001.00",
    "Median probe E2EL (ms):": "1.00",
    "Acceptance rate (%):": "50.00",
}
SGLANG = {
    "Backend:": "sglang",
    "Traffic request rate:": "8.0",
    "Max request concurrency:": "not set",
    "Successful requests:": "200",
    "Benchmark duration (s):": "50.00",
    "Total input tokens:": "40000",
    "Total input text tokens:": "39000",
    "Total input vision tokens:": "1000",
    "Total generated tokens:": "30000",
    "Total generated tokens (retokenized):": "29990",
    "Request throughput (req/s):": "4.00",
    "Input token throughput (tok/s):": "800.00",
    "Output token throughput (tok/s):": "600.00",
    "Peak output token throughput (tok/s):": "9999.00",
    "Total token throughput (tok/s):": "1400.00",
    "Concurrency:": "12.00",
    "Accept length:": "2.10",
    "----------------End-to-End Latency----------------": "",
    "Mean E2E Latency (ms):": "3000.00",
    "Median E2E Latency (ms):": "2900.00",
    "P90 E2E Latency (ms):": "4000.00",
    "P99 E2E Latency (ms):": "4800.00",
    "Mean TTFT (ms):": "40.12",
    "Median TTFT (ms):": "39.01",
    "P99 TTFT (ms):": "90.50",
    "Mean ITL (ms):": "20.00",
    "P95 ITL (ms):": "40.00",
    "Max ITL (ms):": "900.00",
    "Total prompt tokens:": "40000",
    "Total cached tokens:": "10000",
    "  Device:": "10000",
}
NAMESPACE = (
    "Namespace(subparser='bench', dispatch_function=<function Serve.cmd at 0x7f01>, "
    "extra_body='{\"model\": \"not/this-one\", \"x\": 1}', goodput=['ttft:100', 'seed=5'], "
    "backend='vllm', model='org/model-8B', tokenizer=None, dataset_name='sharegpt', "
    'dataset_path="/data/a b, c=d.json", num_prompts=202, request_rate=4.125, burstiness=0.5, '
    "max_concurrency=None, seed=42, random_input_len=1024)"
)
BAR = "\r  0%|          | 0/200 [00:00<?, ?it/s]\r 50%|█████     | 100/200 [00:25<00:25]"
ANNOUNCED = (
    "Starting main benchmark run...\nTraffic request rate: 4.125\n"
    "Burstiness factor: 0.5 (Gamma distribution)\nMaximum request concurrency: None\n"
)
HOSTILE = ["", "x", "[]", "{}", "-1", "1e400", "None", "True", "nan", "9" * 400]


def _block(values, end=RULE):
    lines = [f"{label:<40} {value:<10}" for label, value in values.items()]
    return "\n".join([HEAD, *lines, end]) + "\n"


def _write(path, text):
    path.write_text(text, "utf-8", newline="")
    return path


def _read(tmp_path, text, **given):
    scan = scan_runs(_write(tmp_path / "a.log", text), **given)
    assert scan.refused.empty, scan.refused["reason"].tolist()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _warned(run):
    return "" if pd.isna(run["warnings"]) else run["warnings"]


# Labels


def test_a_block_of_vllm_0_8_field_by_field(tmp_path):
    run = _read(tmp_path, _block(VLLM), gpu="RTX 4090", n_gpus=1)
    expected = {
        "tool": "vllm bench serve",
        "source": "a.log:1",
        "completed": 200,
        "duration_s": 50.0,
        "total_in_tok": 40_000,
        "total_out_tok": 30_000,
        "req_per_s": 4.0,
        "out_tok_per_s": 600.0,
        "all_tok_per_s": 1400.0,
        "mean_ttft_ms": 40.12,
        "p50_ttft_ms": 39.01,
        "p99_ttft_ms": 90.5,
        "mean_tpot_ms": 20.1,
        "p50_tpot_ms": 20.05,
        "p99_itl_ms": 45.0,
        "reported_req_per_s": 4.0,
        "reported_out_tok_per_s": 600.0,
        "reported_all_tok_per_s": 1400.0,
    }
    for name, value in expected.items():
        assert run[name] == value, name
    absent = ("model", "request_rate_per_s", "arrival", "failed", "mean_e2el_ms", "p90_ttft_ms")
    for name in absent:
        assert pd.isna(run[name]), name


def test_labels_that_were_added_later(tmp_path):
    run = _read(tmp_path, _block(LATER))
    expected = {
        "completed": 198,
        "failed": 2,
        "max_concurrency": 64,
        "request_rate_per_s": 4.0,
        "arrival": "poisson",
        "goodput_per_s": 3.5,
        "reported_out_tok_per_s": 600.0,
        "reported_all_tok_per_s": 1400.0,
        "p50_ttft_ms": 39.01,
        "p99_9_ttft_ms": 99.0,
        "mean_e2el_ms": 3000.0,
        "p50_e2el_ms": 2900.0,
        "p99_e2el_ms": 4800.0,
    }
    for name, value in expected.items():
        assert run[name] == value, name


def test_a_block_of_sglang_field_by_field(tmp_path):
    run = _read(tmp_path, _block(SGLANG))
    expected = {
        "tool": "sglang bench_serving",
        "engine": "SGLang",
        "arrival": "poisson",
        "request_rate_per_s": 8.0,
        "completed": 200,
        "total_in_tok": 40_000,
        "total_out_tok": 30_000,
        "out_tok_per_s": 600.0,
        "reported_out_tok_per_s": 600.0,
        "reported_all_tok_per_s": 1400.0,
        "mean_e2el_ms": 3000.0,
        "p90_e2el_ms": 4000.0,
        "mean_concurrency": 12.0,
        "p95_itl_ms": 40.0,
        "cached_frac": 0.25,
        "itl_kind": "pooled",
    }
    for name, value in expected.items():
        assert run[name] == value, name
    assert pd.isna(run["max_concurrency"])


def test_labels_of_early_sglang(tmp_path):
    early = SGLANG | {"Traffic request rate:": "inf", "Total throughput (tok/s):": "1400.00"}
    early["Max reqeuest concurrency:"] = "32"
    for label in ("Max request concurrency:", "Total token throughput (tok/s):"):
        del early[label]
    run = _read(tmp_path, _block(early))
    assert (run["arrival"], run["max_concurrency"]) == ("closed", 32)
    assert run["request_rate_per_s"] == math.inf
    assert run["reported_all_tok_per_s"] == 1400.0


def test_sglang_is_judged_as_its_json_is(tmp_path):
    anew = _read(tmp_path, _block(SGLANG | {"Total generated tokens (retokenized):": "20000"}))
    assert (anew["total_out_tok"], anew["token_count_source"]) == (20_000, "retokenized")
    gaps = {"Mean ITL (ms):": "0.00", "P95 ITL (ms):": "0.00", "Mean TTFT (ms):": "2999.00"}
    whole = _read(tmp_path, _block(SGLANG | gaps))
    assert not whole["streaming"]
    assert pd.isna(whole["mean_ttft_ms"])
    assert pd.isna(whole["p95_itl_ms"])
    trace = _read(tmp_path, _block(SGLANG | {"Traffic request rate:": "trace"}))
    assert pd.isna(trace["request_rate_per_s"])


def test_zeros_of_a_run_without_answers_are_none(tmp_path):
    zeros = {label: "0.00" for label in VLLM if label.endswith(" (ms):")}
    none = zeros | {"Successful requests:": "0", "Total generated tokens:": "0"}
    run = _read(tmp_path, _block(VLLM | none))
    assert pd.isna(run["mean_ttft_ms"])
    assert "no completed requests" in run["warnings"]


def test_rounded_rates_are_not_compared(tmp_path):
    slow = {"Benchmark duration (s):": "7067.00", "Request throughput (req/s):": "0.03"}
    run = _read(tmp_path, _block(VLLM | slow))
    assert "reported_req_per_s" not in run
    assert "req_per_s" not in _warned(run)
    wrong = _read(tmp_path, _block(VLLM | {"Request throughput (req/s):": "5.00"}))
    assert wrong["reported_req_per_s"] == 5.0
    assert "req_per_s" in _warned(wrong)


# Around the block


def test_arguments_above_the_block(tmp_path):
    run = _read(tmp_path, f"INFO\n{NAMESPACE}\n{ANNOUNCED}{BAR}\n{_block(VLLM)}INFO bye\n")
    expected = {
        "model": "org/model-8B",
        "engine": "vLLM",
        "dataset": "sharegpt",
        "prompt_seed": 42,
        "n_requests": 202,
        "failed": 2,
        "request_rate_per_s": 4.125,
        "burstiness": 0.5,
        "arrival": "gamma",
    }
    for name, value in expected.items():
        assert run[name] == value, name
    assert pd.isna(run["max_concurrency"])
    assert run["source"] == "a.log:8"
    bare = _read(tmp_path, f"Namespace(model=None, dataset_name=None)\n{_block(VLLM)}")
    assert pd.isna(bare["model"])
    assert pd.isna(bare["dataset"])


def test_the_exact_rate_goes_before_the_rounded_one(tmp_path):
    run = _read(tmp_path, f"{NAMESPACE}\n{_block(LATER)}")
    assert run["request_rate_per_s"] == 4.125
    assert run["max_concurrency"] == 64
    assert run["failed"] == 2


def test_what_is_announced_without_arguments(tmp_path):
    announced = "Traffic request rate: 15.0 RPS.\nMaximum request concurrency: 100\n"
    run = _read(tmp_path, announced + _block(VLLM))
    assert (run["request_rate_per_s"], run["max_concurrency"]) == (15.0, 100)
    burst = _read(tmp_path, "Traffic request rate: inf\n" + _block(VLLM))
    assert burst["arrival"] == "burst"


def test_a_ramp_is_no_single_rate(tmp_path):
    ramp = (
        "Traffic ramp-up strategy: linear.\n"
        "Will increase RPS from 1 to 10 RPS over the duration of the benchmark.\n"
    )
    run = _read(tmp_path, ramp + _block(VLLM))
    assert pd.isna(run["request_rate_per_s"])
    assert "from 1 to 10 requests/s" in run["warnings"]


def test_arguments_are_not_evaluated(tmp_path):
    ugly = 'Namespace(model=\'__import__("os").system("touch x")\', seed=7)'
    run = _read(tmp_path, f"{ugly}\n{_block(VLLM)}")
    assert run["model"] == '__import__("os").system("touch x")'
    assert run["prompt_seed"] == 7
    scan = scan_runs(_write(tmp_path / "a.log", f"Namespace(num_prompts=2**9)\n{_block(VLLM)}"))
    assert "num_prompts: '2**9' is not a number" in scan.refused["reason"].item()


def test_several_blocks_of_a_log_are_several_runs(tmp_path):
    other = NAMESPACE.replace("org/model-8B", "org/model-70B").replace("4.125", "2.0")
    text = f"{NAMESPACE}\n{_block(VLLM)}\n{other}\n{_block(LATER)}\n{_block(SGLANG)}"
    runs = scan_runs(_write(tmp_path / "a.log", text)).runs.set_index("source")
    place = 2 + len(VLLM) + 2 + 2
    assert set(runs.index) == {
        "a.log:2",
        f"a.log:{place}",
        f"a.log:{place + len(LATER) + 3}",
    }
    assert runs.loc["a.log:2", "model"] == "org/model-8B"
    assert runs.loc[f"a.log:{place}", "model"] == "org/model-70B"
    assert runs.loc[f"a.log:{place}", "request_rate_per_s"] == 2.0
    assert pd.isna(runs.loc[f"a.log:{place + len(LATER) + 3}", "model"]), "those were vLLM's"


def test_sglang_prints_its_arguments_once_for_several_rates(tmp_path):
    arguments = "benchmark_args=Namespace(model=None, seed=1)\nNamespace(backend='sglang', "
    arguments += "model='org/model-8B', dataset_name='random', num_prompts=200, seed=1)\n\n"
    faster = SGLANG | {"Traffic request rate:": "16.0"}
    text = arguments + _block(SGLANG) + BAR + "\n" + _block(faster)
    runs = scan_runs(_write(tmp_path / "a.log", text)).runs
    assert list(runs["request_rate_per_s"]) == [8.0, 16.0]
    assert set(runs["model"]) == {"org/model-8B"}
    assert set(runs["n_requests"]) == {200}
    shared = text.replace("'random'", "'generated-shared-prefix'")
    runs = scan_runs(_write(tmp_path / "a.log", shared)).runs
    assert runs["n_requests"].isna().all(), "that data set has its own number"


COMPOSE = """
============ Docker Compose Configuration ============
services:
  vllm_0:
    image: vllm/vllm-openai:v0.23.0
    container_name: vllm_benchmark_container_0
    command: >
      --tensor-parallel-size 2
      --pipeline-parallel-size 1
      --model /models/org/model-8B
  vllm_1:
    image: vllm/vllm-openai:v0.23.0
    container_name: vllm_benchmark_container_1
    command: >
      --tensor-parallel-size 2
      --pipeline-parallel-size 1
  benchmark:
    container_name: vllm_benchmark_client

============ Benchmark Command ============
vllm bench serve     --model org/model-8B     --dataset-name random     --num-prompts 200
    --max-concurrency 64     --seed 3
    --ignore-eos     --backend openai-chat     --base-url http://nginx_lb:8080
==================================================
"""


def test_a_compose_file_and_the_command_behind_a_single_block(tmp_path):
    run = _read(tmp_path, "gpu_name: NVIDIA GeForce RTX 4090\n" + _block(VLLM) + COMPOSE)
    expected = {
        "model": "org/model-8B",
        "gpu": "RTX 4090",
        "n_gpus": 4,
        "tensor_parallel": 2,
        "pipeline_parallel": 1,
        "replicas": 2,
        "engine": "vLLM",
        "engine_version": "0.23.0",
        "dataset": "random",
        "n_requests": 200,
        "max_concurrency": 64,
        "prompt_seed": 3,
        "arrival": "closed",
    }
    for name, value in expected.items():
        assert run[name] == value, name


def test_servers_that_differ_have_no_common_shape(tmp_path):
    unlike = COMPOSE.replace("--tensor-parallel-size 2", "--tensor-parallel-size 4", 1)
    run = _read(tmp_path, _block(VLLM) + unlike)
    assert pd.isna(run["tensor_parallel"])
    assert pd.isna(run["n_gpus"])


def test_data_parallelism_of_one_server_counts_and_of_several_leaves_the_cards_open(tmp_path):
    ranks = COMPOSE.replace("parallel-size 1", "parallel-size 1\n      --data-parallel-size 4")
    run = _read(tmp_path, _block(VLLM) + ranks)
    assert (run["data_parallel"], run["replicas"]) == (4, 2)
    assert pd.isna(run["n_gpus"])
    assert "the number of cards is left open" in run["warnings"]
    alone = ranks.replace("vllm_benchmark_container_1", "another")
    assert _read(tmp_path, _block(VLLM) + alone)["n_gpus"] == 8


def test_a_command_with_several_blocks_belongs_to_none(tmp_path):
    text = _block(VLLM) + _block(LATER) + COMPOSE
    runs = scan_runs(_write(tmp_path / "a.log", text)).runs
    assert runs["model"].isna().all()
    assert runs["tensor_parallel"].isna().all()


def test_a_command_with_shell_variables_says_what_it_can(tmp_path):
    command = (
        "python3 -m sglang.bench_serving --backend sglang \\\n"
        "  --model=org/model-8B --num-prompts $N --seed '42'\n"
    )
    run = _read(tmp_path, command + _block(SGLANG))
    assert (run["model"], run["prompt_seed"]) == ("org/model-8B", 42)
    assert pd.isna(run["n_requests"])


# Lines


@pytest.mark.parametrize(
    "before",
    ["bench-1  | ", "2026-08-11T01:03:21.123Z ", "[rank0] ", "> ", "# ", "\x1b[36m", "  "],
)
def test_what_a_log_driver_puts_before_a_line_is_passed_over(tmp_path, before):
    text = "".join(f"{before}{line}\n" for line in _block(VLLM).splitlines())
    run = _read(tmp_path, "INFO\n" + text)
    assert run["mean_ttft_ms"] == 40.12
    assert run["out_tok_per_s"] == 600.0
    assert run["reported_out_tok_per_s"] == 600.0
    assert "cut short" not in _warned(run)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_progress_bars_and_line_ends(tmp_path, ending):
    bars = BAR * 2000 + "\r100%|██████████| 200/200 [00:50<00:00]"
    text = f"{ANNOUNCED}{bars}{_block(VLLM)}".replace("\n", ending)
    assert len(bars) > 2**16
    run = _read(tmp_path, text)
    assert run["duration_s"] == 50.0
    assert run["request_rate_per_s"] == 4.125
    assert run["source"] == "a.log:5"


def test_a_bar_that_is_drawn_into_the_block_is_passed_over(tmp_path):
    text = _block(VLLM).replace("Mean TTFT", "\r 99%|█████| 199/200\rMean TTFT")
    assert _read(tmp_path, text)["mean_ttft_ms"] == 40.12


def test_labels_are_read_without_regard_to_case(tmp_path):
    text = _block(VLLM).upper().replace("SERVING BENCHMARK RESULT", "Serving Benchmark Result")
    assert _read(tmp_path, text)["p99_tpot_ms"] == 30.2


def test_a_block_that_is_cut_short_is_read_to_its_last_whole_line(tmp_path):
    whole = _block(VLLM)
    cut = whole[: whole.index("20.05")] + "2"
    run = _read(tmp_path, cut)
    assert run["mean_tpot_ms"] == 20.1
    assert pd.isna(run["p50_tpot_ms"])
    assert "the table of results is cut short" in run["warnings"]
    assert "cut short" not in _warned(_read(tmp_path, whole.rstrip()))
    scan = scan_runs(_write(tmp_path / "a.log", cut[: cut.index("Benchmark dur")]))
    assert "cut short: a vLLM result without 'duration'" in scan.refused["reason"].item()


def test_a_block_that_is_cut_short_takes_nothing_of_the_next_run(tmp_path):
    cut = _block(VLLM, end="")
    text = f"{cut}{NAMESPACE}\nTraffic request rate: 9\nMaximum request concurrency: 8\n"
    first, second = scan_runs(_write(tmp_path / "a.log", text + _block(LATER))).runs.iloc
    if "cut short" not in _warned(first):
        first, second = second, first
    assert pd.isna(first["max_concurrency"])
    assert pd.isna(first["model"])
    assert (second["model"], second["request_rate_per_s"]) == ("org/model-8B", 9)


def test_a_run_that_did_not_finish_is_refused(tmp_path):
    scan = scan_runs(_write(tmp_path / "a.log", f"{NAMESPACE}\n{ANNOUNCED}{BAR}\nKilled\n"))
    assert scan.runs.empty
    assert "the run did not finish" in scan.refused["reason"].item()


def test_a_label_that_stands_twice_is_refused_and_the_next_block_read(tmp_path):
    twice = _block(VLLM).replace("P99 ITL (ms):", "Mean ITL (ms):")
    scan = scan_runs(_write(tmp_path / "a.log", twice + _block(LATER)))
    assert len(scan.runs) == 1
    assert scan.refused["line"].item() == 1
    assert "'Mean ITL (ms)' stands twice" in scan.refused["reason"].item()


def test_text_where_a_number_belongs_is_refused(tmp_path):
    scan = scan_runs(_write(tmp_path / "a.log", _block(VLLM | {"Mean TTFT (ms):": "fast"})))
    assert "mean_ttft_ms: 'fast' is not a number" in scan.refused["reason"].item()


def test_a_run_is_read_back_as_it_was_written(tmp_path):
    first = _read(tmp_path, f"{NAMESPACE}\n{_block(LATER)}")
    words = {"mean": "Mean", "p50": "Median", "p99": "P99", "p99_9": "P99.9"}
    block = {
        "Successful requests:": first["completed"],
        "Failed requests:": first["failed"],
        "Maximum request concurrency:": first["max_concurrency"],
        "Benchmark duration (s):": first["duration_s"],
        "Total input tokens:": first["total_in_tok"],
        "Total generated tokens:": first["total_out_tok"],
        "Request throughput (req/s):": first["reported_req_per_s"],
        "Request goodput (req/s):": first["goodput_per_s"],
        "Output token throughput (tok/s):": first["out_tok_per_s"],
        "Total token throughput (tok/s):": first["all_tok_per_s"],
    }
    for metric, (statistic, word) in itertools.product(("ttft", "e2el"), words.items()):
        if not pd.isna(first.get(f"{statistic}_{metric}_ms")):
            block[f"{word} {metric.upper()} (ms):"] = first[f"{statistic}_{metric}_ms"]
    arguments = (
        f"Namespace(backend='vllm', model='{first['model']}', dataset_name='{first['dataset']}', "
        f"num_prompts={first['n_requests']}, request_rate={first['request_rate_per_s']}, "
        f"burstiness={first['burstiness']}, seed={first['prompt_seed']})"
    )
    text = f"{arguments}\n{_block({label: str(value) for label, value in block.items()})}"
    pd.testing.assert_series_equal(_read(tmp_path, text), first)


def test_hostile_input_is_a_row_or_a_refusal(tmp_path):
    count = 0
    for name, good in {"vllm": VLLM, "later": LATER, "sglang": SGLANG}.items():
        spoilt = [{each: good[each] for each in good if each != label} for label in good]
        spoilt += [good | {key: value} for key, value in itertools.product(good, HOSTILE)]
        _write(tmp_path / f"{name}.log", "".join(map(_block, spoilt)))
        count += len(spoilt)
    keys = ("model", "num_prompts", "request_rate", "burstiness", "max_concurrency", "seed")
    for index, (key, value) in enumerate(itertools.product(keys, [*HOSTILE, "'x", "[(", "''"])):
        _write(tmp_path / f"{index}.log", f"Namespace({key}={value}, x=1)\n{_block(VLLM)}")
        count += 1
    scan = scan_runs(tmp_path)
    told = len(scan.refused)
    more = scan.refused["reason"].str.extract(r"^(\d+) more entries")[0].dropna().astype(int)
    assert len(scan.runs) + told + int((more - 1).sum()) == count
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) >= 20


@pytest.mark.parametrize(
    "junk",
    [
        HEAD * 20_000,
        f"{HEAD}\n" * 20_000,
        f"{HEAD}\n" + "|" * 200_000,
        f"{HEAD}\n" + "=" * 200_000 + "\n",
        f"Namespace({chr(39)}" + "\\'" * 100_000 + f"\n{_block(VLLM)}",
        "Namespace(" * 50_000 + f"\n{_block(VLLM)}",
        "vllm bench serve \\\n" * 20_000 + _block(VLLM),
        "Traffic request rate: " * 20_000 + _block(VLLM),
        f"{HEAD}\n" + f"Mean TTFT (ms): {' ' * 100_000}x\n" * 5 + RULE,
        "vllm bench serve " + "--a" * 100_000 + f"\n{_block(VLLM)}",
        f"gpu_name: a{' ' * 100_000}x\t\n{_block(VLLM)}",
    ],
)
def test_junk_is_read_in_seconds(tmp_path, junk):
    scan = scan_runs(_write(tmp_path / "junk.log", junk))
    assert len(scan.runs) + len(scan.refused) >= 1


def test_logs_among_the_samples_are_not_claimed(tmp_path):
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: no other tool's text was tried")
    from hetcost.readers import console

    for path in Path(folder).rglob("*"):
        if path.suffix in (".txt", ".csv", ".log", ".md"):
            head = path.read_text("utf-8", errors="replace")[: 2**16]
            assert not console.claims_text(head), path
