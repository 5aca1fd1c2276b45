import json

import pytest

import hetcost as hc

FILES = 10_000
GROUP, AIM = f"read_runs of {FILES:,} files", "≤ 2"
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
    "request_throughput": 4.0,
    "request_goodput:": 3.9,
    "output_throughput": 600.0,
    "total_token_throughput": 1400.0,
} | {
    f"{statistic}_{metric}_ms": 12.345678901234567
    for metric in ("ttft", "tpot", "itl")
    for statistic in ("mean", "median", "std", "p50", "p90", "p95", "p99", "p100")
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for number in range(FILES):
        record = RESULT | {"duration": 50.0 + number / 1000}
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
    runs = case(GROUP, AIM, lambda: hc.read_runs(folder), rounds=3)
    assert len(runs) == FILES
