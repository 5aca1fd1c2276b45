"""MLPerf: the summary that LoadGen writes, Server and Offline, before and after a label changed."""

import math

import pytest
from result_files import check, reasons_of, row_of, rows_of, samples

from hetcost.runs import scan_runs

RULE = "=" * 48
HEAD = f"{RULE}\nMLPerf Results Summary\n{RULE}\nSUT name : mine\n"
SERVER = f"""{HEAD}Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 8.00
Completed tokens per second: 1600.00
Result is : VALID
  Min duration satisfied : Yes

{RULE}
Additional Stats
{RULE}
Scheduled samples per second : 8.10
Min latency (ns)                : 100000000
Mean latency (ns)               : 5000000000
50.00 percentile latency (ns)   : 4000000000
99.00 percentile latency (ns)   : 9000000000
99.90 percentile latency (ns)   : 9500000000

Completed tokens per second                 : 1600.00
Mean First Token latency (ns)               : 80000000
50.00 percentile first token latency (ns)   : 60000000
97.00 percentile first token latency (ns)   : 180000000
99.00 percentile first token latency (ns)   : 300000000

Mean Time to Output Token (ns)                : 25000000
50.00 percentile time to output token (ns)   : 24000000
99.00 percentile time to output token (ns)   : 40000000

{RULE}
Test Parameters Used
{RULE}
samples_per_query : 1
target_qps : 8.2
ttft_latency (ns): 2000000000
min_duration (ms): 600000
qsl_rng_seed : 3066443479025735752

No warnings encountered during test.
"""
OFFLINE = f"""{HEAD}Scenario : Offline
Mode     : PerformanceOnly
Samples per second: 10
Tokens per second: 2500
Result is : VALID

{RULE}
Additional Stats
{RULE}
Min latency (ns)                : 99000000000
Max latency (ns)                : 100000000000
Mean latency (ns)               : 99500000000
99.00 percentile latency (ns)   : 99900000000

{RULE}
Test Parameters Used
{RULE}
samples_per_query : 1000
target_qps : 10
"""


def test_a_server_run_field_by_field(tmp_path):
    run = row_of(tmp_path / "a.txt", SERVER)
    check(
        run,
        {
            "tool": "MLPerf LoadGen",
            "dataset": "MLPerf Server",
            "arrival": "poisson",
            "request_rate_per_s": 8.2,
            "req_per_s": 8.0,
            "out_tok_per_s": 1600.0,
            "mean_out_tok": 200.0,
            "mean_concurrency": 40.0,
            "mean_e2el_ms": 5000.0,
            "p50_e2el_ms": 4000.0,
            "p99_9_e2el_ms": 9500.0,
            "mean_ttft_ms": 80.0,
            "p97_ttft_ms": 180.0,
            "p99_ttft_ms": 300.0,
            "mean_tpot_ms": 25.0,
            "p99_tpot_ms": 40.0,
            "mean_itl_ms": None,
            "duration_s": None,
            "completed": None,
            "total_in_tok": None,
            "all_tok_per_s": None,
            "model": None,
            "gpu": None,
            "prompt_seed": None,
        },
    )
    assert run["source"].endswith(":2"), "the line of the title"
    assert "no duration" in run["warnings"]


def test_the_label_of_tpot_changed(tmp_path):
    """CASES B31."""
    newer = SERVER.replace("Time to Output", "Time per Output").replace(
        "time to out", "time per out"
    )
    old, new = row_of(tmp_path / "a.txt", SERVER), row_of(tmp_path / "b.txt", newer)
    for name in ("mean_tpot_ms", "p50_tpot_ms", "p99_tpot_ms"):
        assert new[name] == old[name]


def test_an_offline_latency_is_of_the_batch(tmp_path):
    """CASES B31: there is no E2E of a request."""
    check(
        row_of(tmp_path / "a.txt", OFFLINE),
        {
            "arrival": "burst",
            "request_rate_per_s": math.inf,
            "n_requests": 1000,
            "completed": 1000,
            "duration_s": 100.0,
            "req_per_s": 10.0,
            "out_tok_per_s": 2500.0,
            "mean_out_tok": 250.0,
            "mean_e2el_ms": None,
            "p99_e2el_ms": None,
            "mean_ttft_ms": None,
        },
    )


def test_a_result_that_is_invalid_says_so(tmp_path):
    run = row_of(tmp_path / "a.txt", SERVER.replace("VALID", "INVALID"))
    assert "by MLPerf's rules the result is INVALID" in run["warnings"]
    assert "by MLPerf's rules" not in row_of(tmp_path / "b.txt", SERVER)["warnings"]


def test_two_summaries_of_one_text_are_two_runs(tmp_path):
    runs = rows_of(tmp_path / "a.txt", (SERVER + OFFLINE).replace("\n", "\r\n"))
    assert sorted(run["arrival"] for run in runs) == ["burst", "poisson"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Scenario : Server", "Scenario : Wish", "Scenario: 'Wish' is none of Server"),
        ("PerformanceOnly", "AccuracyOnly", "Mode: 'AccuracyOnly' is no measurement"),
        ("okens per second", "eads per second", "no tokens per second: not a run of a language"),
        ("Token latency (ns)               : 8", "Token latency (ns): -8", "mean_ttft_ms: -80 is"),
        (
            "per second: 1600.00",
            "per second: 1500.00",
            "'completed tokens per second' stands",
        ),
        ("per second    : 8.00", "per second: many", "completed samples per second: 'many' is not"),
    ],
)
def test_a_summary_that_makes_no_sense_is_refused(tmp_path, old, new, reason):
    assert old in SERVER
    (told,) = reasons_of(tmp_path / "a.txt", SERVER.replace(old, new))
    assert told.startswith(reason)


def test_hostile_summaries_are_rows_or_refusals(tmp_path):
    count = 0
    for text in (SERVER, OFFLINE):
        lines = text.split("\n")
        for place, line in enumerate(lines):
            label = line.partition(":")[0]
            for odd in ("", f"{label}: x", f"{label}: -1", f"{label}: inf", f"{label}: \x00", ":"):
                changed = [*lines[:place], odd, *lines[place + 1 :]]
                (tmp_path / f"{count:04}.txt").write_text("\n".join(changed), "utf-8")
                count += 1
    scan = scan_runs(tmp_path)
    told = set(scan.refused["file"]) | set(scan.runs["source"].str.rpartition(":")[0])
    assert told == {path.name for path in tmp_path.iterdir()}
    assert len(scan.runs) > 10


def test_samples_are_read():
    scan = scan_runs(samples("mlperf"))
    assert scan.refused.empty
    runs = scan.runs.set_index(scan.runs["source"].str.partition("_summary")[0])
    check(
        runs.loc["rtx4090x2_llama2-7b_server"],
        {
            "out_tok_per_s": 1954.36,
            "req_per_s": 6.89,
            "request_rate_per_s": 6.9,
            "p99_ttft_ms": 319.452702,
            "mean_tpot_ms": 54.997988,
        },
    )
    check(
        runs.loc["rtx4090x2_llama2-7b_offline"],
        {"out_tok_per_s": 1871.84, "completed": 24_576, "duration_s": 3892.270829917},
    )
    assert runs.loc["rtx4090x2_llama2-7b_offline", "req_per_s"] == pytest.approx(6.31405, rel=1e-5)
    check(runs.loc["h200x8_maxq_llama2-70b_server"], {"out_tok_per_s": 23_113.14})
