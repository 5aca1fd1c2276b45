"""llama-bench: JSON, JSON Lines, CSV and Markdown say the same; what is no test is refused."""

import csv
import io
import itertools
import json
import math
import os
from pathlib import Path

import pandas as pd
import pytest

import hetcost as hc
from hetcost.runs import scan_runs

PROMPT = {
    "build_commit": "0a1b2c3d",
    "build_number": 7001,
    "cpu_info": "A CPU",
    "gpu_info": "NVIDIA GeForce RTX 4090",
    "backends": "CUDA",
    "model_filename": "models/Tiny-2B-Q4_K_M.gguf",
    "model_type": "llama 2B Q4_K - Medium",
    "model_size": 1_500_000_000,
    "model_n_params": 2_500_000_000,
    "n_batch": 2048,
    "type_k": "f16",
    "type_v": "f16",
    "n_gpu_layers": 99,
    "split_mode": "layer",
    "main_gpu": 0,
    "flash_attn": True,
    "devices": "auto",
    "tensor_split": "0.00",
    "n_prompt": 512,
    "n_gen": 0,
    "n_depth": 0,
    "test_time": "2026-01-02T03:04:05Z",
    "avg_ns": 100_000_000,
    "stddev_ns": 0,
    "avg_ts": 5120.0,
    "stddev_ts": 0.0,
}
OUTPUT = PROMPT | {"n_prompt": 0, "n_gen": 128, "avg_ns": 640_000_000, "avg_ts": 200.0}
BOTH = PROMPT | {"n_gen": 128, "avg_ns": 800_000_000, "avg_ts": 800.0}
SAMPLED = {"samples_ns": [100_000_000], "samples_ts": [5120.0]}
LOG = [
    "ggml_cuda_init: GGML_CUDA_FORCE_MMQ:    no",
    "ggml_cuda_init: found 1 CUDA devices:",
    "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes",
]
HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]


def _jsonl(*records):
    return "".join(json.dumps(record | SAMPLED) + "\n" for record in records)


def _csv(*records):
    """Write tests as llama-bench does: a bare header, every cell in quotes, flags as 0 and 1."""
    out = io.StringIO()
    out.write(",".join(PROMPT) + "\n")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for record in records:
        writer.writerow(int(value) if value is True else value for value in record.values())
    return out.getvalue()


def _test(record):
    parts = [f"pp{record['n_prompt']}"] * (record["n_prompt"] > 0)
    parts += [f"tg{record['n_gen']}"] * (record["n_gen"] > 0)
    return "+".join(parts) + (f" @ d{record['n_depth']}" if record["n_depth"] else "")


def _markdown(*records, build="0a1b2c3d (7001)"):
    lines = [
        "| model                          |     params | backend    | ngl |   test |        t/s |",
        "| ------------------------------ | ---------: | ---------- | --: | -----: | ---------: |",
    ]
    lines += [
        f"| {each['model_type']:<30} |     2.50 B | CUDA       |  99 | {_test(each)} "
        f"| {each['avg_ts']:.2f} ± 0.05 |"
        for each in records
    ]
    return "\n".join([*lines, "", f"build: {build}", ""])


def _scan(path, content, **given):
    path.write_text(content, "utf-8")
    return scan_runs(path, **given)


def _only(scan):
    assert scan.refused.empty, scan.refused.to_string()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def test_a_test_of_output_field_by_field(tmp_path):
    run = _only(_scan(tmp_path / "a.jsonl", _jsonl(OUTPUT)))
    expected = {
        "tool": "llama-bench",
        "tool_version": "b7001 (0a1b2c3d)",
        "engine": "llama.cpp",
        "engine_version": "b7001 (0a1b2c3d)",
        "date": "2026-01-02T03:04:05Z",
        "model": "Tiny-2B-Q4_K_M",
        "weight_dtype": "Q4_K_M",
        "kv_dtype": "float16",
        "gpu": "RTX 4090",
        "n_gpus": 1,
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "replicas": 1,
        "dataset": "tg128",
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": 1,
        "completed": 1,
        "failed": 0,
        "duration_s": 0.64,
        "total_out_tok": 128,
        "out_tok_per_s": 200.0,
        "reported_out_tok_per_s": 200.0,
        "mean_tpot_ms": 5.0,
        "mean_concurrency": 1.0,
        "prefix_state": "cold",
    }
    for name, value in expected.items():
        want = pytest.approx(value) if isinstance(value, float) else value
        assert run[name] == want, name
    for missing in ("total_in_tok", "all_tok_per_s", "mean_ttft_ms", "mean_itl_ms", "p50_tpot_ms"):
        assert pd.isna(run[missing]), missing
    evaluated = hc.evaluate(pd.DataFrame([run]))
    assert evaluated["usd_per_mtok_out"].notna().item()


def test_a_test_of_the_prompt_has_an_estimated_ttft_and_no_output(tmp_path):
    run = _only(_scan(tmp_path / "a.jsonl", _jsonl(PROMPT)))
    assert run["total_in_tok"] == 512
    assert run["mean_ttft_ms"] == pytest.approx(100.0)
    assert "TTFT is estimated from prompt speed" in run["warnings"]
    for missing in ("total_out_tok", "out_tok_per_s", "mean_tpot_ms"):
        assert pd.isna(run[missing]), missing


def test_a_test_of_both_mixes_their_speeds(tmp_path):
    run = _only(_scan(tmp_path / "a.jsonl", _jsonl(BOTH | {"n_depth": 4096})))
    assert run["dataset"] == "pp512+tg128 @ d4096"
    assert (run["total_in_tok"], run["total_out_tok"]) == (512, 128)
    assert run["out_tok_per_s"] == pytest.approx(160.0)
    assert run["all_tok_per_s"] == pytest.approx(run["reported_all_tok_per_s"])
    assert run["mean_e2el_ms"] == pytest.approx(800.0)
    assert pd.isna(run["mean_tpot_ms"])
    assert pd.isna(run["mean_ttft_ms"])


def test_all_four_formats_say_the_same(tmp_path):
    """Known tests, written in each of the tool's layouts and read back."""
    tests = [PROMPT, OUTPUT, BOTH, OUTPUT | {"n_depth": 64, "avg_ns": 800_000_000, "avg_ts": 160.0}]
    written = {
        "a.jsonl": "\n".join(LOG) + "\n" + _jsonl(*tests),
        "a.json": json.dumps(tests, indent=2),
        "a.csv": "\n".join(LOG) + "\n" + _csv(*tests),
        "a.txt": "\n".join(LOG) + "\n" + _markdown(*tests),
    }
    read = {}
    for name, content in written.items():
        scan = _scan(tmp_path / name, content)
        read[name] = scan.runs.sort_values("dataset", ignore_index=True)
        assert list(read[name]["dataset"]) == sorted(map(_test, tests)), name
        assert len(scan.refused) == (name == "a.jsonl"), "the log before JSON Lines is told"
    ignored = ["run_id", "source"]
    wanted = read["a.json"].drop(columns=ignored)
    for name in ("a.jsonl", "a.csv"):
        pd.testing.assert_frame_equal(read[name].drop(columns=ignored), wanted)
    # A Markdown table names neither file, time nor cache, and rounds speeds.
    told = read["a.txt"].drop(columns=[*ignored, "date", "model"])
    assert (read["a.txt"]["model"] == "llama 2B Q4_K - Medium").all()
    wanted = wanted.drop(columns=["date", "model", "kv_dtype"])
    pd.testing.assert_frame_equal(told, wanted, rtol=1e-4)


def test_a_cut_line_and_noise_are_told_with_their_lines(tmp_path):
    """CASES B35."""
    content = "ggml_cuda_init: noise\n" + _jsonl(OUTPUT) + _jsonl(PROMPT)[:90]
    scan = _scan(tmp_path / "a.jsonl", content)
    assert list(scan.runs["dataset"]) == ["tg128"]
    assert list(scan.refused["line"]) == [1, 3]
    with pytest.raises(hc.errors.ReadError, match="line 1"):
        hc.read_runs(tmp_path / "a.jsonl")
    for cut in (_csv(PROMPT, OUTPUT).rstrip()[:-12], _markdown(PROMPT, OUTPUT)[:-60]):
        scan = _scan(tmp_path / "a.txt", cut)
        assert list(scan.runs["dataset"]) == ["pp512"]
        assert "cut short" in scan.refused["reason"].item()
        assert scan.refused["line"].item() == len(cut.split("\n"))


@pytest.mark.parametrize("content", [_csv(), _markdown(), "\n".join(LOG) + "\n" + _csv(), "[]"])
def test_a_header_alone_is_no_runs(tmp_path, content):
    """CASES B16."""
    scan = _scan(tmp_path / "a.csv", content)
    assert scan.runs.empty
    assert len(scan.refused) == 1
    assert "no runs in this" in scan.refused["reason"].item()
    full = _scan(tmp_path / "b.csv", _csv(OUTPUT)).runs
    core = [name for name in full if name in scan.runs]
    assert scan.runs[core].dtypes.equals(full[core].dtypes)


def test_tables_amid_a_log_take_the_cards_listed_above_and_the_build_below(tmp_path):
    vulkan = "ggml_vulkan: {} = NVIDIA GeForce RTX 4090 (NVIDIA) | uma: 0 | fp16: 1 | warp size: 32"
    content = "\n".join(
        [
            "=== my benchmark ===",
            "| what | value |",
            "| ---- | ----- |",
            "| driver | 5 |",
            *LOG,
            _markdown(OUTPUT, build="aaaa (1)"),
            "ggml_vulkan: Found 2 Vulkan devices:",
            vulkan.format(0),
            vulkan.format(1),
            _markdown(OUTPUT, build="bbbb (2)"),
            "| name | backend |",
            "| ---- | ------- |",
            "| fan  | quiet   |",
            _markdown(OUTPUT | {"avg_ts": 9.0}, build="cccc (3)"),
        ]
    )
    scan = _scan(tmp_path / "a.log", content)
    assert scan.refused.empty
    runs = scan.runs.sort_values("engine_version")
    assert list(runs["engine_version"]) == ["b1 (aaaa)", "b2 (bbbb)", "b3 (cccc)"]
    assert list(runs["n_gpus"].fillna(0)) == [1, 2, 0], "cards of another process are not these"
    assert list(runs["pipeline_parallel"].fillna(0)) == [1, 2, 0]
    assert list(runs["repeat"]) == [1, 1, 1]


def test_old_tables_write_a_space_in_the_test(tmp_path):
    table = _markdown(OUTPUT).replace("tg128", "tg 128").replace("±", "�")
    assert _only(_scan(tmp_path / "a.txt", table))["total_out_tok"] == 128


def test_tables_of_other_tools_are_not_these(tmp_path):
    benchy = (
        "| model | test | t/s | peak t/s | ttfr (ms) |\n"
        "|:------|-----:|----:|---------:|----------:|\n"
        "| m | tg128 | 12.42 ± 0.07 | 15.33 ± 1.25 | |\n"
    )
    scan = _scan(tmp_path / "a.txt", benchy)
    assert scan.runs.empty
    assert len(scan.refused) == 1


CARDS = [
    ({"gpu_info": "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090"}, ("RTX 4090", 2, 1, 2)),
    ({"gpu_info": "NVIDIA GeForce RTX 4090/NVIDIA GeForce RTX 4090"}, ("RTX 4090", 2, 1, 2)),
    ({"gpu_info": "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090", "split_mode": "row"},
     ("RTX 4090", 2, 2, 1)),
    ({"gpu_info": "A B, NVIDIA GeForce RTX 4090", "split_mode": "none", "main_gpu": 1},
     ("RTX 4090", 1, 1, 1)),
    ({"gpu_info": "A B, NVIDIA GeForce RTX 4090", "devices": "CUDA1"}, ("RTX 4090", 1, 1, 1)),
    ({"gpu_info": "A B, NVIDIA GeForce RTX 4090", "tensor_split": "0.00/1.00"},
     ("RTX 4090", 1, 1, 1)),
    ({"gpu_info": "X Y, X Y, X Y", "tensor_split": "1.00/0.00/3.00"}, ("X Y", 2, 1, 2)),
    ({"gpu_info": "AMD Radeon RX 7900 XT/7900 XTX"}, ("AMD Radeon RX 7900 XT/7900 XTX", 1, 1, 1)),
    ({"gpu_info": "A B, C D"}, ("A B, C D", 2, 1, 2)),
    ({"gpu_info": "A B, C D", "devices": "RPC[x]"}, (None, None, None, None)),
    ({"gpu_info": "A B", "devices": "none"}, (None, None, None, None)),
    ({"gpu_info": ""}, (None, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), CARDS)
def test_cards_and_how_they_share_the_model(tmp_path, changes, expected):
    run = _only(_scan(tmp_path / "a.jsonl", _jsonl(OUTPUT | changes)))
    names = ("gpu", "n_gpus", "tensor_parallel", "pipeline_parallel")
    for name, value in zip(names, expected, strict=True):
        assert run[name] == value or (value is None and pd.isna(run[name])), name


@pytest.mark.parametrize(
    ("model_type", "weights"),
    [
        ("llama 7B F16", "float16"),
        ("llama 7B all F32", "float32"),
        ("qwen2 7B BF16", "bfloat16"),
        ("llama 7B mostly Q4_0", "Q4_0"),
        ("qwen35moe 35B.A3B Q3_K - Large", "Q3_K_L"),
        ("llama 70B IQ2_XXS - 2.0625 bpw", "IQ2_XXS"),
        ("gpt-oss 20B MXFP4 MoE", "MXFP4"),
        ("llama 7B unknown, may not work", None),
    ],
)
def test_number_formats_of_weights(tmp_path, model_type, weights):
    run = _only(_scan(tmp_path / "a.jsonl", _jsonl(OUTPUT | {"model_type": model_type})))
    assert run["weight_dtype"] == weights or (weights is None and pd.isna(run["weight_dtype"]))


def test_other_fields(tmp_path):
    def read(**changes):
        return _only(_scan(tmp_path / "a.jsonl", _jsonl(OUTPUT | changes)))

    assert read(model_filename=r"D:\models\Big-00001-of-00003.gguf")["model"] == "Big"
    assert read(model_filename="")["model"] == "llama 2B Q4_K - Medium"
    assert read(type_k="q8_0", type_v="q8_0")["kv_dtype"] == "q8_0"
    assert read(type_k="q8_0")["kv_dtype"] == "q8_0/float16"
    assert "weights were in the host's memory" in read(n_gpu_layers=0)["warnings"]
    assert read(avg_ns=None)["duration_s"] == pytest.approx(0.64)
    assert read(avg_ts=None)["out_tok_per_s"] == pytest.approx(200.0)
    assert "the tool reports 400" in read(avg_ts=400.0)["warnings"]
    assert "no duration" in read(avg_ns=0)["warnings"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_gen": 0}, "no test: n_prompt 0, n_gen 0"),
        ({"n_gen": -1}, "no test"),
        ({"n_gen": None}, "no test"),
        ({"n_gen": 0.5}, "total_out_tok: 0.5 is outside"),
        ({"avg_ts": "fast"}, "avg_ts: 'fast' is not a number"),
        ({"avg_ts": -2}, "reported_out_tok_per_s: -2 is outside"),
        ({"avg_ns": -2}, "duration_s: -2e-09 is outside"),
        ({"tensor_split": "half"}, "tensor_split: 'half' is no list of shares"),
        ({"split_mode": "none", "main_gpu": 4}, "main_gpu: 4 of 1 cards"),
        ({"split_mode": "none", "main_gpu": 0.5}, "main_gpu: 0.5 of 1 cards"),
    ],
)
def test_what_is_no_test_is_refused(tmp_path, changes, reason):
    scan = _scan(tmp_path / "a.jsonl", _jsonl(OUTPUT | changes) + _jsonl(PROMPT))
    assert len(scan.runs) == 1
    assert scan.refused["reason"].item().startswith(reason)


def test_hostile_objects_are_rows_or_refusals(tmp_path):
    spoilt = [{k: v for k, v in OUTPUT.items() if k != key} for key in OUTPUT]
    spoilt += [OUTPUT | {key: value} for key, value in itertools.product(OUTPUT, HOSTILE)]
    for start in range(0, len(spoilt), 90):
        content = "\n".join(json.dumps(record) for record in spoilt[start : start + 90])
        (tmp_path / f"{start}.jsonl").write_text(content, "utf-8")
    scan = scan_runs(tmp_path)
    assert len(scan.runs) + len(scan.refused) == len(spoilt)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) > 20


def test_hostile_tables_are_rows_or_refusals(tmp_path):
    cells = ["", "x", "-1", "1e400", "nan", "|", '"', "9" * 400, "None", "\x00", "=1+1", "a\rb"]
    lines = _csv(OUTPUT).split("\n")
    spoilt = [OUTPUT | {key: cell} for key, cell in itertools.product(OUTPUT, cells)]
    (tmp_path / "a.csv").write_text(_csv(*spoilt[:90]), "utf-8")
    for index, record in enumerate(spoilt[90:]):
        (tmp_path / f"{index:03}.csv").write_text(_csv(record), "utf-8", newline="")
    (tmp_path / "short.csv").write_text(lines[0] + "\n" + lines[1][: len(lines[1]) // 2])
    (tmp_path / "odd.csv").write_text("\n".join([lines[0], '"', lines[1], '"""', "a,b", lines[1]]))
    for index, cell in enumerate(cells):
        table = _markdown(OUTPUT)
        (tmp_path / f"{index:03}.txt").write_text(table.replace("tg128", cell), newline="")
        (tmp_path / f"{index:03}.log").write_text(table.replace("200.00", cell), newline="")
    scan = scan_runs(tmp_path)
    told = set(scan.refused["file"]) | set(scan.runs["source"].str.rpartition(":")[0])
    assert told == {path.name for path in tmp_path.iterdir()}
    odd = scan.refused[scan.refused["file"] == "odd.csv"]
    assert set(odd["line"]) >= {2, 4, 5}, "each line that is no row is told"


def test_samples_are_read():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples of llama-bench were not read")
    scan = scan_runs(Path(folder) / "formats" / "llama_bench")
    assert list(scan.refused["line"]) == [1], "the log lines before JSON Lines"
    runs = scan.runs
    assert len(runs) == 6 + 2 + 6
    jsonl = runs[runs["source"].str.startswith("lhl")]
    assert set(jsonl["model"]) == {"Llama-3.2-1B-Instruct-Q4_K_M"}
    assert jsonl["n_gpus"].eq(1).all()
    deep = jsonl[jsonl["dataset"] == "tg128 @ d4096"].iloc[0]
    assert deep["mean_tpot_ms"] == pytest.approx(7.000834, rel=1e-6)
    table = runs[runs["source"].str.startswith("vulkan")]
    assert set(table["engine_version"]) == {"b7361 (a81a56957)"}
    output = table[table["dataset"] == "tg128"].sort_values("source")
    assert list(output["out_tok_per_s"].round(2)) == [150.97, 172.86, 129.80]
    assert list(output["n_gpus"]) == [1, 1, 2]
    assert list(output["repeat"]) == [1, 2, 1]
    benchy = scan_runs(Path(folder) / "formats" / "llama_benchy" / "qwen3.5-9b_01-chat.md")
    assert set(benchy.runs["tool"]) == {"llama-benchy"}, "which measures a server"
