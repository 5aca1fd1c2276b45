import json
import subprocess
import sys

import pytest

import hetcost as hc

FILES = 10_000
GROUP, AIM = f"scan_runs of {FILES:,} files, all checks", "≤ 3"
RESULT = {
    "date": "20250610-161248",
    "backend": "vllm",
    "model_id": "org/model-8B",
    "num_prompts": 200,
    "gpu_name": "NVIDIA-GeForce-RTX-4090",
    "gpu_count": "2",
    "request_rate": 4.0,
    "burstiness": 1.0,
    "max_concurrency": None,
    "completed": 200,
    "total_input_tokens": 40000,
    "total_output_tokens": 30000,
    "request_goodput:": 3.9,
} | {
    f"{statistic}_{metric}_ms": 12.345678901234567
    for metric in ("ttft", "tpot", "itl")
    for statistic in ("mean", "median", "std", "p50", "p90", "p95", "p99", "p100")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for number in range(FILES):
        duration = 50.0 + number / 1000
        rates = {
            "request_throughput": 200 / duration,
            "output_throughput": 30_000 / duration,
            "total_token_throughput": 70_000 / duration,
        }
        record = RESULT | rates | {"duration": duration}
        (folder / f"{number}.json").write_text(json.dumps(record))
    return folder


def only_parse(folder):
    parsed = []
    for path in sorted(folder.iterdir()):
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  the quickest way
            parsed.append(json.loads(file.read()))
    return parsed


def test_baseline(case, folder):
    case(GROUP, AIM, lambda: only_parse(folder), baseline="open + read + json.loads", rounds=3)


def test_ours(case, folder):
    scan = case(GROUP, AIM, lambda: hc.scan_runs(folder), rounds=3)
    assert len(scan.runs) == FILES


MIB, REQUESTS = 2**20, 500
STREAM, STREAM_AIM = f"a requests file of {REQUESTS} MiB: peak memory of the process", "≤ 1"
READ = (
    "import resource, sys, hetcost as hc;"
    "scan = hc.scan_runs(sys.argv[1]);"
    "assert scan.refused.empty and len(scan.runs) == 1, scan.refused;"
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
)


def _request(number):
    start = number * 10_000_000
    metric = {"value": 12.345678901, "unit": "ms"}
    metrics = dict.fromkeys(("time_to_first_token", "inter_token_latency"), metric)
    metrics["request_latency"] = {"value": 1250.0, "unit": "ms"}
    counts = {"output_sequence_length": {"value": 100, "unit": "tokens"}}
    chunks = {"inter_chunk_latency": {"value": [12.345678 + number % 7] * 99, "unit": "ms"}}
    stamps = {"request_start_ns": start, "request_end_ns": start + 1_250_000_000}
    stamps |= {"session_num": number, "x_request_id": f"request-{number:027}"}
    return {
        "metadata": {"benchmark_phase": "profiling", **stamps},
        "metrics": metrics
        | counts
        | chunks
        | {"input_sequence_length": counts["output_sequence_length"]},
        "error": None,
    }


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    path = tmp_path_factory.mktemp("requests") / "profile_export.jsonl"
    written, number = 0, 0
    with path.open("w") as file:
        while written < REQUESTS * MIB:
            written += file.write(json.dumps(_request(number)) + "\n")
            number += 1
    return path


def test_stream_baseline(case, benchmark):
    benchmark.extra_info["value"] = 512 * MIB
    case(STREAM, STREAM_AIM, lambda: None, baseline="512 MiB", rounds=1)


def test_stream_ours(case, requests, benchmark):
    done = subprocess.run(
        [sys.executable, "-c", READ, requests], capture_output=True, text=True, check=True
    )
    benchmark.extra_info["value"] = int(done.stdout)
    case(STREAM, STREAM_AIM, lambda: None, rounds=1)
