"""The bundled study, and reading of good, bad and hostile result files."""

import itertools
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import MODEL_14B, ROOT

import hetcost as hc
from hetcost.columns import RUN_COLUMNS, check
from hetcost.errors import (
    AmbiguousNameError,
    ColumnError,
    DataWarning,
    ReadError,
    UnknownNameError,
)
from hetcost.readers.copies import twins
from hetcost.runs import scan_runs, write_runs

SIDECAR = ROOT / "data" / "runs" / "ionet-2025.yaml"
GOOD = {
    "date": "20250610-161248",
    "backend": "vllm",
    "model_id": "org/model-8B",
    "num_prompts": 200,
    "gpu_name": "NVIDIA-GeForce-RTX-4090",
    "gpu_count": "2",
    "request_rate": 4.0,
    "burstiness": 1.0,
    "max_concurrency": None,
    "duration": 50.0,
    "completed": 200,
    "total_input_tokens": 40000,
    "total_output_tokens": 30000,
    "request_throughput": 4.0,
    "request_goodput:": 3.9,
    "output_throughput": 600.0,
    "total_token_throughput": 1400.0,
    "mean_ttft_ms": 40.0,
    "median_ttft_ms": 39.0,
    "p99_ttft_ms": 90.0,
    "mean_tpot_ms": 20.0,
    "p99_tpot_ms": 30.0,
    "mean_itl_ms": 20.0,
}


def _write(path, *records):
    path.write_text("\n".join(json.dumps(record) for record in records), "utf-8")
    return path


def _only(scan):
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def test_the_bundled_study_is_complete(runs):
    assert len(runs) == 130
    assert list(runs.columns)[: len(RUN_COLUMNS)] == [column.name for column in RUN_COLUMNS]
    assert runs["run_id"].is_unique
    assert (runs["tensor_parallel"] == runs["n_gpus"]).all()
    for name, value in {
        "engine": "vLLM",
        "engine_version": "0.8.5",
        "prompt_seed": 42,
        "pipeline_parallel": 1,
        "completed": 200,
        "failed": 0,
    }.items():
        assert (runs[name] == value).all(), name
    fp8 = runs["model"].str.contains("FP8")
    assert (runs.loc[~fp8, "weight_dtype"] == "float16").all()
    assert (runs.loc[fp8, "weight_dtype"] == "float8_e4m3").all()
    assert (runs["repeat"] == 2).sum() == 10
    assert set(runs["gpu"]) == {"H100 PCIe 80GB", "RTX 4090"}
    check(runs)


def test_the_bundled_study_is_what_the_reader_makes_of_the_published_files(tmp_path):
    raw = os.environ.get("HETCOST_RAW")
    if not raw:
        pytest.skip("HETCOST_RAW is not set: the published files were not compared")
    scan = scan_runs(Path(raw), sidecar=SIDECAR)
    assert scan.refused.empty
    write_runs(scan.runs, tmp_path / "again.csv")
    bundled = (ROOT / "data" / "runs" / "ionet-2025.csv").read_text("utf-8").splitlines()
    again = (tmp_path / "again.csv").read_text("utf-8").splitlines()
    assert len(again) == len(bundled) == 131
    for ours, theirs in zip(again, bundled, strict=True):
        assert ours == theirs


def test_what_is_written_is_read_back(runs, tmp_path):
    write_runs(runs, tmp_path / "runs.csv")
    pd.testing.assert_frame_equal(hc.load_runs(str(tmp_path / "runs.csv")), runs)


def test_a_study_that_is_not_there():
    with pytest.raises(UnknownNameError, match="'ionet-2025'"):
        hc.load_runs("ionet-2024")
    with pytest.raises(ReadError, match=r"nowhere\.csv"):
        hc.load_runs("nowhere.csv")


def test_a_tidy_table_with_text_where_a_number_belongs(runs, tmp_path):
    bad = runs.head(3).astype({"duration_s": object})
    bad.loc[1, "duration_s"] = "long"
    write_runs(bad, tmp_path / "runs.csv")
    with pytest.raises(ColumnError, match=r"'duration_s' is not a number: row 1: 'long'"):
        hc.load_runs(str(tmp_path / "runs.csv"))
    write_runs(runs.head(3).assign(duration_s=[1.0, -2.0, 3.0]), tmp_path / "runs.csv")
    with pytest.raises(ColumnError, match=r"'duration_s' is outside 0 … inf: row 1: -2\.0"):
        hc.load_runs(str(tmp_path / "runs.csv"))
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReadError, match="not in the run columns"):
        hc.load_runs(str(tmp_path / "other.csv"))


def test_a_vllm_result_field_by_field(tmp_path):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD), study="mine"))
    expected = {
        "study": "mine",
        "source": "a.json:1",
        "tool": "vllm bench serve",
        "engine": "vLLM",
        "date": "2025-06-10T16:12:48",
        "gpu": "RTX 4090",
        "n_gpus": 2,
        "arrival": "poisson",
        "failed": 0,
        "req_per_s": 4.0,
        "goodput_per_s": 3.9,
        "out_tok_per_s": 600.0,
        "all_tok_per_s": 1400.0,
        "mean_in_tok": 200.0,
        "mean_out_tok": 150.0,
        "p50_ttft_ms": 39.0,
        "p99_ttft_ms": 90.0,
        "prefix_state": "unknown",
        "repeat": 1,
    }
    for name, value in expected.items():
        assert run[name] == value or (value is None and pd.isna(run[name])), name
    # Little's law: 4 requests/s, each 40 + 149 · 20 ms
    assert run["mean_concurrency"] == pytest.approx(4 * (40 + 149 * 20) / 1000)
    for never_measured in ("p90_ttft_ms", "mean_e2el_ms", "gpu_energy_j", "tensor_parallel"):
        assert pd.isna(run[never_measured])


def test_throughput_is_tokens_over_duration_not_the_tools_own_figure(tmp_path):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD | {"output_throughput": 9999.0})))
    assert run["out_tok_per_s"] == 600.0


@pytest.mark.parametrize(
    ("changes", "arrival", "rate"),
    [
        ({"request_rate": "inf"}, "burst", np.inf),
        ({"request_rate": "inf", "max_concurrency": 64}, "closed", np.inf),
        ({"request_rate": None, "max_concurrency": 64}, "closed", np.inf),
        ({"request_rate": None}, None, np.nan),
        ({"burstiness": 0.5}, "gamma", 4.0),
    ],
)
def test_arrivals(tmp_path, changes, arrival, rate):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD | changes)))
    assert run["arrival"] == arrival or (arrival is None and pd.isna(run["arrival"]))
    np.testing.assert_equal(run["request_rate_per_s"], rate)


def test_several_objects_in_one_file_are_several_runs_and_repeats_are_numbered(tmp_path):
    later = GOOD | {"date": "20250610-170000", "duration": 51.0}
    runs = scan_runs(_write(tmp_path / "a.json", later, GOOD)).runs
    assert list(runs["repeat"]) == [1, 2]
    assert list(runs["date"]) == ["2025-06-10T16:12:48", "2025-06-10T17:00:00"]
    assert list(runs["source"]) == ["a.json:2", "a.json:1"]


def test_tokens_that_nobody_counted_are_missing(tmp_path):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD | {"total_output_tokens": 0})))
    assert pd.isna(run["out_tok_per_s"])
    assert pd.isna(run["mean_out_tok"])
    assert "no output token was counted" in run["warnings"]


def test_a_load_repeated_with_other_prompts_is_a_repeat_and_another_load_is_none(tmp_path):
    seed = {"date": "20250610-170000", "duration": 51.0, "num_prompts": 208, "completed": 208}
    rate = {"date": "20250610-180000", "request_rate": 8.0}
    runs = scan_runs(_write(tmp_path / "a.json", GOOD, GOOD | seed, GOOD | rate)).runs
    assert list(runs["repeat"]) == [1, 2, 1]


def test_repeats_are_numbered_by_date_and_else_by_line_and_lengths_may_differ_a_little(tmp_path):
    lines = [
        GOOD | {"date": None, "duration": 50.0 + n, "total_output_tokens": 36_180 + 20 * n}
        for n in range(12)
    ]
    runs = scan_runs(_write(tmp_path / "a.json", *lines)).runs
    order = runs.sort_values("repeat")
    assert order["repeat"].tolist() == list(range(1, 13))
    assert order["source"].tolist() == [f"a.json:{n}" for n in range(1, 13)]


def test_the_identity_of_a_run_is_what_was_measured(tmp_path):
    def identity(**changes):
        return _only(scan_runs(_write(tmp_path / "a.json", GOOD | changes)))["run_id"]

    assert identity(run_number=0) == identity(), "a note"
    assert identity(output_throughput=99.0) == identity(), "the tool's own figure"
    assert identity(mean_ttft_ms=33.0) != identity()
    assert identity(date="20250610-170000") != identity()


def test_numeric_strings_are_numbers(tmp_path):
    text = {key: str(value) if isinstance(value, float) else value for key, value in GOOD.items()}
    strings = scan_runs(_write(tmp_path / "a.json", text)).runs
    numbers = scan_runs(_write(tmp_path / "b.json", GOOD)).runs
    ignored = ["run_id", "source"]
    pd.testing.assert_frame_equal(strings.drop(columns=ignored), numbers.drop(columns=ignored))


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"completed": 0, "total_output_tokens": 0}, "no completed requests"),
        ({"duration": 0}, "no duration"),
        ({"duration": float("nan")}, "no duration"),
    ],
)
def test_a_run_without_result_keeps_its_row_with_nan_and_the_reason(tmp_path, changes, warning):
    scan = scan_runs(_write(tmp_path / "a.json", GOOD | changes))
    assert scan.refused.empty
    run = _only(scan)
    assert warning in run["warnings"]
    assert pd.isna(run["out_tok_per_s"])
    evaluated = hc.evaluate(scan.runs)
    assert np.isnan(evaluated["usd_per_mtok_out"].item())
    assert evaluated["cost_note"].item() == warning
    if changes.get("completed") == 0:
        assert pd.isna(run["p99_ttft_ms"]), "latencies of 0.0 are none"
        assert run["failed"] == 200


def test_one_token_answers_have_no_time_per_token(tmp_path):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD | {"total_output_tokens": 200})))
    assert pd.isna(run["mean_tpot_ms"])
    assert pd.isna(run["mean_itl_ms"])
    assert run["mean_concurrency"] == pytest.approx(4 * 0.040)


REFUSED = {
    "truncated": (json.dumps(GOOD)[:300], 1, "cut short"),
    "another tool": ('{"hello": 1, "world": 2}', 1, "its keys are 'hello', 'world'"),
    "not an object": ("[1, 2]", 1, "not a result but a JSON int"),
    "empty": ("", 1, "the file is empty"),
    "blank": (" \n\n ", 1, "the file is empty"),
    "no runs": ("[]", 1, "no runs in this list"),
    "prose": ("INFO starting\nINFO done\n", 1, "not JSON"),
    "no duration": (
        json.dumps({k: v for k, v in GOOD.items() if k != "duration"}),
        1,
        "a vLLM result without 'duration'",
    ),
    "text for number": (json.dumps(GOOD | {"duration": "long"}), 1, "duration: 'long'"),
    "list for number": (
        json.dumps(GOOD | {"completed": [1]}),
        1,
        "completed: a list is not a number",
    ),
    "negative": (json.dumps(GOOD | {"total_output_tokens": -5}), 1, "total_out_tok: -5 is outside"),
    "half a request": (json.dumps(GOOD | {"completed": 1.5}), 1, "not a whole number"),
    "negative percentile": (
        json.dumps(GOOD | {"p75_ttft_ms": -4}),
        1,
        "p75_ttft_ms: -4 is outside",
    ),
    "infinite": (json.dumps(GOOD | {"duration": float("inf")}), 1, "duration_s: inf"),
    "ambiguous card": (
        json.dumps(GOOD | {"gpu_name": "H100"}),
        1,
        "'H100 PCIe 80GB', 'H100 SXM 80GB'",
    ),
    "huge number": (json.dumps(GOOD | {"completed": 10**400}), 1, "too large"),
    "endless number": ('{"completed": ' + "9" * 5000 + "}", 1, "too many digits"),
    "no Unicode": (json.dumps(GOOD | {"model_id": "a\ud800"}), 1, "is not plain text"),
    "deep": ("[" * 100_000, 1, "nested too deeply"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_result_is_refused_once_with_place_and_reason(tmp_path, case):
    content, line, reason = REFUSED[case]
    (tmp_path / "bad.json").write_text(content, "utf-8")
    _write(tmp_path / "good.json", GOOD)
    scan = scan_runs(tmp_path)
    assert len(scan.runs) == 1, "the good row survives"
    assert len(scan.refused) == 1
    assert set(scan.refused["file"]) == {"bad.json"}
    assert set(scan.refused["line"]) == {line}
    assert scan.refused["reason"].str.contains(reason).all()
    with pytest.raises(ReadError, match=r"bad\.json, line 1: "):
        hc.read_runs(tmp_path)


def test_good_objects_around_bad_text_survive(tmp_path):
    other = GOOD | {"date": "20250611-000000"}
    lines = [json.dumps(GOOD), "progress: 50%", json.dumps(other)[:200], json.dumps(other)]
    (tmp_path / "mixed.jsonl").write_text("\n".join(lines), "utf-8")
    scan = scan_runs(tmp_path / "mixed.jsonl")
    assert len(scan.runs) == 2
    assert list(scan.refused["line"]) == [2, 3]


def test_lines_of_another_kind_of_file_are_told_once_with_their_number(tmp_path):
    path = tmp_path / "power.jsonl"
    path.write_text('{"timestamp_ns": 1, "gpu_uuid": "a"}\n' * 250, "utf-8")
    (reason,) = scan_runs(path).refused["reason"]
    assert reason.endswith("; the same of its 249 other entries")
    path.write_text(path.read_text("utf-8") + json.dumps(GOOD), "utf-8")
    scan = scan_runs(path)
    assert len(scan.runs) == 1
    assert len(scan.refused) == 101, "beside a run each line counts"
    assert scan.refused["reason"].iloc[-1] == "150 more entries of this file are no results"


@pytest.mark.parametrize(
    "junk", ["{}" * 100_000, "1 " * 100_000, '{"a": \n' * 30_000, "}\n" * 99_999]
)
def test_junk_is_read_in_seconds_and_told_in_few_lines(tmp_path, junk):
    (tmp_path / "junk.json").write_text(junk)
    _write(tmp_path / "good.json", GOOD)
    scan = scan_runs(tmp_path)
    assert len(scan.runs) == 1
    assert len(scan.refused) <= 101


def test_special_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path)
    _write(tmp_path / "good.json", GOOD)
    scan = scan_runs(tmp_path)
    assert len(scan.runs) == 1
    reasons = dict(zip(scan.refused["file"], scan.refused["reason"], strict=True))
    assert reasons["pipe.json"] == "not a regular file"
    assert "No such file" in reasons["dangling.json"]
    assert reasons["loop"] == "a link to a folder, not followed"
    assert scan_runs(tmp_path / "pipe.json").refused["reason"].item() == "not a regular file"


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.rst").write_text("hello")
    for path, reason in {
        tmp_path / "missing.json": "no such file",
        tmp_path / "empty": "no result file",
        tmp_path / "other": "no result file",
        tmp_path / "*.json": "no such file",
    }.items():
        scan = scan_runs(path)
        assert scan.runs.empty
        assert reason in scan.refused["reason"].str.cat()
        assert list(scan.runs.columns) == [column.name for column in RUN_COLUMNS]
        with pytest.raises(ReadError):
            hc.read_runs(path)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a.json").write_bytes(b"\x00binary\x80")
    assert scan_runs(tmp_path).refused["reason"].item() == "not UTF-8 text"


def test_the_order_of_files_changes_nothing_and_copies_are_reported(tmp_path):
    files = [
        _write(tmp_path / f"{n}.json", GOOD | {"request_rate": float(n), "duration": 200.0 / n})
        for n in (1, 2, 4)
    ]
    one, other = scan_runs(files), scan_runs(list(reversed(files)))
    pd.testing.assert_frame_equal(one.runs, other.runs)
    assert len(scan_runs([tmp_path, *files]).runs) == 3, "a file named twice is one file"
    shutil.copy(files[0], tmp_path / "copy.json")
    scan = scan_runs(tmp_path)
    assert len(scan.runs) == 3
    assert scan.refused["reason"].item() == "the same run as 1.json:1"


HOSTILE = ["<script>alert(1)</script>", "../../etc/passwd", "=cmd()", r"a$b\frac$"]


def test_a_missing_token_count_is_not_0(tmp_path):
    run = scan_runs(_write(tmp_path / "a.json", GOOD | {"total_input_tokens": None})).runs
    assert run["out_tok_per_s"].item() == 600.0
    assert run["all_tok_per_s"].isna().item()
    assert run["warnings"].item() == "a token count is missing"
    evaluated = hc.evaluate(run)
    assert evaluated["usd_per_mtok_out"].notna().item()
    assert np.isnan(evaluated["usd_per_mtok_all"].item())
    assert evaluated["cost_note"].item() == "no all_tok_per_s"


def test_further_percentiles_stand_behind_the_run_columns(tmp_path):
    run = scan_runs(_write(tmp_path / "a.json", GOOD | {"p99.9_ttft_ms": 95.0})).runs
    assert run["p99_9_ttft_ms"].item() == 95.0
    assert run.columns[-1] == "p99_9_ttft_ms"
    assert hc.meets_slo(run, hc.SLO(p99_9_ttft_ms=94))["meets_slo"].item() is np.False_


def test_one_model_goes_by_its_last_part(runs):
    short = hc.of_model(runs, "DeepSeek-R1-Distill-Qwen-14B")
    pd.testing.assert_frame_equal(short, hc.of_model(runs, MODEL_14B))
    assert set(short["model"]) == {MODEL_14B}
    with pytest.raises(UnknownNameError, match="first: 'deepseek-ai/DeepSeek-R1-Distill-Qwen-14B'"):
        hc.of_model(runs, "DeepSeek-R1-Distill-Qwen-14")
    twins = pd.DataFrame({"model": ["a/m", "b/m"]})
    with pytest.raises(AmbiguousNameError, match="'a/m', 'b/m'"):
        hc.of_model(twins, "m")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_plain_text(tmp_path, name):
    scan = scan_runs(_write(tmp_path / "a.json", GOOD | {"model_id": name}))
    assert _only(scan)["model"] == name
    write_runs(scan.runs, tmp_path / "runs.csv")
    assert hc.load_runs(str(tmp_path / "runs.csv"))["model"].item() == name


def test_what_the_file_does_not_say_can_be_given(tmp_path):
    bare = {k: v for k, v in GOOD.items() if not k.startswith("gpu")}
    path = _write(tmp_path / "a.json", bare)
    assert "names no GPU" in hc.evaluate(scan_runs(path).runs)["cost_note"].item()
    run = _only(scan_runs(path, gpu="4090", n_gpus=4, pipeline_parallel=2, replicas=1))
    assert (run["gpu"], run["n_gpus"], run["tensor_parallel"]) == ("RTX 4090", 4, 2)
    with pytest.raises(UnknownNameError, match="'n_gpus'"):
        scan_runs(path, n_gpu=2)
    with pytest.raises(ReadError, match="n_gpus: 'two' is not a number"):
        scan_runs(path, n_gpus="two")
    clash = scan_runs(_write(tmp_path / "b.json", GOOD), gpu="H100 PCIe 80GB")
    assert clash.runs.empty
    assert "the file says 'RTX 4090'" in clash.refused["reason"].item()
    named = scan_runs(_write(tmp_path / "c.json", GOOD | {"gpu_name": "H100"}), gpu="H100 SXM 80GB")
    assert _only(named)["gpu"] == "H100 SXM 80GB"


def test_a_card_nobody_knows_keeps_its_name_and_a_warning(tmp_path):
    run = _only(scan_runs(_write(tmp_path / "a.json", GOOD | {"gpu_name": "TPU v9"})))
    assert run["gpu"] == "TPU v9"
    assert "not in the table of GPUs" in run["warnings"]


def test_a_sidecar_gives_way_to_arguments_and_goes_before_nothing(tmp_path):
    path = _write(tmp_path / "a.json", GOOD)
    side = tmp_path / "side.yaml"
    side.write_text(
        "study: s\nweight_dtype: float16\nby_model:\n  org/model-8B: {weight_dtype: fp8}\n"
    )
    assert _only(scan_runs(path, sidecar=side))["weight_dtype"] == "fp8"
    given = _only(scan_runs(path, sidecar=side, weight_dtype="int4"))
    assert (given["study"], given["weight_dtype"]) == ("s", "int4")
    side.write_text("by_model: {org/model-9B: {weight_dtype: fp8}}")
    with pytest.warns(DataWarning, match="no run is of the models 'org/model-9B'"):
        scan_runs(path, sidecar=side)


def test_a_sidecar_that_is_none(tmp_path):
    path = _write(tmp_path / "a.json", GOOD)
    for text in ("- a\n- b\n", "by_model: 3\n", "{", "\x00"):
        (tmp_path / "side.yaml").write_text(text)
        with pytest.raises(ReadError, match="sidecar"):
            scan_runs(path, sidecar=tmp_path / "side.yaml")
    with pytest.raises(ReadError, match="sidecar"):
        scan_runs(path, sidecar=tmp_path / "none.yaml")


# --- copies -------------------------------------------------------------------------------------


def _row(source, **changes):
    run = {"tool": "AIPerf", "completed": 100, "total_out_tok": 5000, "duration_s": 60.0}
    run |= {"total_in_tok": 9000, "mean_ttft_ms": 30.0, "run_id": source, "source": f"{source}:1"}
    return run | changes


def _copies(*rows, folders=None):
    found = twins(list(rows), folders or ["a"] * len(rows), range(len(rows)))
    return sorted((rows[one]["run_id"], rows[two]["run_id"]) for one, two in found)


@pytest.mark.parametrize(
    ("second", "is_copy"),
    [
        (_row("run.csv", duration_s=60.3), True),
        (_row("run.csv", mean_ttft_ms=None, total_in_tok=None), True),
        (_row("run.csv", mean_ttft_ms=300.0), False),
        (_row("run.csv", total_in_tok=14000), False),
        (_row("run.csv", duration_s=90.0), False),
        (_row("other.json"), False),
        (_row("run.csv", tool="llmperf"), False),
    ],
)
def test_one_run_in_two_forms_is_kept_once_and_two_runs_twice(second, is_copy):
    found = _copies(_row("run.json"), second)
    assert found == ([("run.csv", "run.json")] if is_copy else [])
    assert _copies(_row("run.json"), second, folders=["a", "b"]) == []


@pytest.mark.parametrize("turn", [1, -1])
def test_runs_of_equal_counts_in_two_forms_find_their_own_copies(turn):
    pairs = itertools.product(("json", "csv"), (46.0, 92.0))
    rows = [_row(f"r.{end}", run_id=f"{end}{s:g}", duration_s=s) for end, s in pairs]
    assert _copies(*rows[::turn]) == [("csv46", "json46"), ("csv92", "json92")]
    near = [_row("a.csv", duration_s=60.4), _row("p.csv", duration_s=60.001), _row("p.json")]
    assert _copies(*near[::turn]) == [("p.csv", "p.json")], "the nearest, not the first"


def test_an_identity_that_stands_for_two_runs_is_said_to(tmp_path):
    table = "run_id,model,gpu,n_gpus,duration_s,completed,total_in_tok,total_out_tok\n"
    rows = [f"{'a' * 12},m,RTX 4090,1,60,10,100,{tokens}\n" for tokens in (100, 200, 100)]
    (tmp_path / "a.csv").write_text(table + "".join(rows), "utf-8")
    scan = scan_runs(tmp_path / "a.csv")
    assert len(scan.runs) == 1
    first, second = scan.refused["reason"]
    assert first == "its run_id is that of a.csv:2, whose figures are others"
    assert second == "the same run as a.csv:2"


def test_percentiles_of_more_kinds_than_anyone_compares_are_left_out_and_told(tmp_path):
    lines = [
        json.dumps(GOOD | {"duration": 50.0 + n} | {f"p{n}.{k}_ttft_ms": 20.0 for k in range(5)})
        for n in range(1, 60)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), "utf-8")
    runs = scan_runs(tmp_path).runs
    assert len(runs.columns) < 300
    assert runs["warnings"].str.contains("left out: too many columns").sum() == 59 - 40


# --- tables are written whole or not at all -------------------------------------------------------


def test_a_table_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "runs.csv"
    path.write_text("old", "utf-8")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(OSError, match="No space"):
        write_runs(pd.DataFrame(), path)
    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_links_and_permissions_stay(tmp_path):
    real, link, new = (tmp_path / name for name in ("real.csv", "link.csv", "new.csv"))
    real.write_text("old", "utf-8")
    real.chmod(0o600)
    link.symlink_to(real)
    mask = os.umask(0o027)
    try:
        for path in (link, new):
            write_runs(pd.DataFrame({"a": [1]}), path)
    finally:
        os.umask(mask)
    assert link.is_symlink()
    assert real.read_text("utf-8") == new.read_text("utf-8") == "a\n1\n"
    assert [path.stat().st_mode & 0o777 for path in (real, new)] == [0o600, 0o640]


@pytest.mark.parametrize(("name", "told"), [("no/runs.csv", "no such folder"), ("", "a folder")])
def test_a_place_where_no_table_can_stand(tmp_path, name, told):
    with pytest.raises(OSError, match=told):
        write_runs(pd.DataFrame(), tmp_path / name)
