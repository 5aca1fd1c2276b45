"""llama-benchy: a table in Markdown, whose output rate leaves the prompts out."""

import pytest
from result_files import check, reasons_of, row_of, rows_of, samples

from hetcost.runs import scan_runs

HEAD = (
    "| model | test | t/s (total) | t/s (req) | peak t/s | ttfr (ms) | est_ppt (ms) "
    "| e2e_ttft (ms) |\n|:--|--:|--:|--:|--:|--:|--:|--:|\n"
)
TAIL = "\nllama-benchy (0.4.0)\ndate: 2026-08-07 19:26:52 | latency mode: generation\n"
ONE = (
    "| m-8b | pp1000 (c1) | 2000.00 ± 20.00 | 2000.00 ± 20.00 | | 480.00 ± 5.00 | 470.00 ± 5.00 "
    "| 500.00 ± 5.00 |\n"
    "| m-8b | tg101 (c1) | 20.00 ± 0.10 | 20.00 ± 0.10 | 22.00 ± 1.00 | | | |\n"
)
FIVE = (
    "| m-8b | pp1000 (c5) | 4000.00 ± 20.00 | 1500.00 ± 900.00 | | 900.00 ± 90.00 | 800.00 ± 9.00 "
    "| 1000.00 ± 300.00 |\n"
    "| m-8b | tg101 (c5) | 50.00 ± 0.50 | 12.50 ± 0.50 | 60.00 ± 1.00 | | | |\n"
)


def test_one_request_field_by_field(tmp_path):
    run = row_of(tmp_path / "a.md", "# Test\n\n" + HEAD + ONE + TAIL)
    check(
        run,
        {
            "tool": "llama-benchy",
            "tool_version": "0.4.0",
            "date": "2026-08-07T19:26:52",
            "model": "m-8b",
            "dataset": "pp1000 (c1) + tg101 (c1)",
            "arrival": "closed",
            "max_concurrency": 1,
            "completed": 1,
            "total_in_tok": 1000,
            "total_out_tok": 101,
            "duration_s": 5.5,  # 500 ms to the first token, 100 more at 20 a second
            "out_tok_per_s": 101 / 5.5,
            "reported_out_tok_per_s": 20.0,
            "mean_ttft_ms": 500.0,
            "mean_tpot_ms": 50.0,
            "p99_ttft_ms": None,
            "mean_itl_ms": None,
            "mean_concurrency": 1.0,
            "itl_kind": "request_mean",
            "token_count_source": "requested",
            "gpu": None,
        },
    )
    assert run["source"] == "a.md:5"


def test_several_at_once_take_no_longer_than_stated(tmp_path):
    run = row_of(tmp_path / "a.md", HEAD + FIVE)
    check(
        run,
        {
            "max_concurrency": 5,
            "completed": 5,
            "total_out_tok": 505,
            "duration_s": 11.0,  # 1 s, and 5 · 100 tokens at 50 a second
            "out_tok_per_s": 505 / 11,
            "mean_tpot_ms": 80.0,
            "tool_version": None,
        },
    )
    assert "duration is at most as stated, and throughput at least" in run["warnings"]


def test_a_table_gives_a_row_per_load(tmp_path):
    runs = rows_of(tmp_path / "a.md", (HEAD + ONE + FIVE + TAIL).replace("\n", "\r\n"))
    assert [run["max_concurrency"] for run in runs] == [1, 5]


def test_a_table_of_one_request_alone_says_no_load(tmp_path):
    text = HEAD + ONE
    text = text.replace("t/s (total)", "t/s").replace(" t/s (req) |", "").replace(" (c1)", "")
    text = text.replace(" 2000.00 ± 20.00 |", "", 1).replace(" 20.00 ± 0.10 |", "", 1)
    text = text.replace("|--:|--:|--:|--:|--:|--:|--:|", "|--:|--:|--:|--:|--:|--:|")
    check(row_of(tmp_path / "a.md", text), {"max_concurrency": 1, "duration_s": 5.5})


def test_rates_that_vary_give_no_time_per_token(tmp_path):
    """CASES B28: one over a mean of rates is no mean of times."""
    check(
        row_of(tmp_path / "a.md", HEAD + FIVE.replace("12.50 ± 0.50", "12.50 ± 2.50")),
        {
            "mean_tpot_ms": None,
            "out_tok_per_s": 505 / 11,
        },
    )


def test_input_is_not_counted_with_a_context(tmp_path):
    deep = FIVE.replace(" (c5)", " @ d4096 (c5)")
    run = row_of(tmp_path / "a.md", HEAD + deep)
    check(run, {"total_in_tok": None, "all_tok_per_s": None, "total_out_tok": 505})
    assert "a context of 4096 tokens, cached or not, is not counted" in run["warnings"]


@pytest.mark.parametrize(
    ("old", "new", "reasons"),
    [
        (FIVE.split("\n")[1] + "\n", "", ["'pp1000 (c5)' has no row of output (tg) behind it"]),
        (FIVE.split("\n")[0] + "\n", "", ["'tg101 (c5)' has no row of prompts (pp) before it"]),
        ("tg101 (c5)", "tg101 (c4)", ["'pp1000 (c5)' has no row", "'tg101 (c4)' has no row"]),
        ("tg101 (c5)", "ctx_tg @ d9", ["'pp1000 (c5)' has no row", "test: 'ctx_tg @ d9' is not"]),
        ("tg101 (c5)", "tg0 (c5)", ["'pp1000 (c5)' has no row", "test: 'tg0 (c5)' is not"]),
        ("(c5)", "(c0)", ["test: no request at once", "test: no request at once"]),
        ("| 22.00 ± 1.00 |", "|", []),
    ],
)
def test_a_row_without_its_half_is_refused(tmp_path, old, new, reasons):
    (tmp_path / "a.md").write_text(HEAD + ONE + FIVE.replace(old, new), "utf-8")
    scan = scan_runs(tmp_path)
    assert 1 in scan.runs["max_concurrency"].tolist()
    assert len(scan.refused) == len(reasons)
    for told, reason in zip(scan.refused["reason"], reasons, strict=True):
        assert told.startswith(reason)


def test_a_line_that_was_cut_is_told(tmp_path):
    (tmp_path / "a.md").write_text(HEAD + ONE + FIVE.rstrip("\n")[:-20] + "|", "utf-8")
    scan = scan_runs(tmp_path)
    assert "cells where the table has 8" in scan.refused["reason"].str.cat()
    assert len(scan.runs) == 1


def test_other_markdown_is_refused(tmp_path):
    (reason,) = reasons_of(tmp_path / "README.md", "# Results\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert reason.startswith("no result of a known tool")
    assert reasons_of(tmp_path / "b.md", HEAD) == ["no runs in this file"]


def test_hostile_tables_are_rows_or_refusals(tmp_path):
    lines = (HEAD + ONE + FIVE + TAIL).split("\n")
    count = 0
    for place in range(len(lines)):
        cells = lines[place].split("|")
        for at in range(len(cells)):
            for odd in (" ", " x ", " -1 ", " inf ", " 1e999 ", " 9" * 40, "|"):
                changed = "|".join([*cells[:at], odd, *cells[at + 1 :]])
                text = "\n".join([*lines[:place], changed, *lines[place + 1 :]])
                (tmp_path / f"{count:04}.md").write_text(text, "utf-8")
                count += 1
    scan = scan_runs(tmp_path)
    told = set(scan.refused["file"]) | set(scan.runs["source"].str.rpartition(":")[0])
    assert told == {path.name for path in tmp_path.iterdir()}
    assert not scan.runs["out_tok_per_s"].eq(0).any()


def test_samples_are_read():
    scan = scan_runs(samples("llama_benchy"))
    assert scan.refused.empty
    runs = scan.runs.set_index("max_concurrency")
    assert list(runs.index) == [1, 5, 10]
    check(runs.loc[5], {"total_out_tok": 5120, "mean_ttft_ms": 1022.04})
    assert runs.loc[5, "duration_s"] == pytest.approx(1.02204 + 5 * 1023 / 64.89)
    assert runs.loc[10, "mean_tpot_ms"] == pytest.approx(1000 / 12.51)
