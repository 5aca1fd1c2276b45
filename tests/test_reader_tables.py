"""Tables of runs: our own written and read back, tables of one's own by a mapping, Parquet."""

import importlib
import io
import itertools
import json
import os
import re
import warnings
from pathlib import Path

import pandas as pd
import pytest

import hetcost as hc
from hetcost.errors import DataWarning, ReadError, UnknownNameError
from hetcost.readers import parquet, tables
from hetcost.runs import scan_runs, write_runs

RUN = {
    "model": "org/model-8B",
    "gpu": "RTX 4090",
    "n_gpus": "2",
    "request_rate_per_s": "inf",
    "max_concurrency": "64",
    "n_requests": "200",
    "completed": "200",
    "duration_s": "50.0",
    "total_in_tok": "40000",
    "total_out_tok": "30000",
    "p99_ttft_ms": "90.5",
    "p99_9_ttft_ms": "120",
    "streaming": "True",
    "warnings": "",
}
MINE = {"Model": "org/model-8B", "Card": "RTX 4090", "tps": "612.5", "TTFT (p99)": "90"}
MAPPING = {
    "Model": "model",
    "Card": "gpu",
    "tps": "out_tok_per_s",
    "TTFT (p99)": "p99_ttft_ms",
}


def _table(*rows, delimiter=","):
    return "\n".join(delimiter.join(each) for each in ([*rows[0]], *(r.values() for r in rows)))


def _scan(path, content, **given):
    path.write_text(content, "utf-8", newline="")
    return scan_runs(path, **given)


def _only(scan):
    assert scan.refused.empty, scan.refused.to_string()
    assert len(scan.runs) == 1
    return scan.runs.iloc[0]


def _rows(found):
    found = list(found)
    assert not any(each.reason for each in found), found
    return [each.value for each in found]


def test_a_row_column_by_column(tmp_path):
    run = _only(_scan(tmp_path / "a.csv", _table(RUN)))
    for name, written in RUN.items():
        if name in ("model", "gpu"):
            assert run[name] == written
        elif name not in ("streaming", "warnings"):
            assert run[name] == float(written), name
    assert run["streaming"]
    assert run["out_tok_per_s"] == 600.0
    assert run["all_tok_per_s"] == 1400.0
    assert run["source"] == "a.csv:2"
    assert pd.isna(run["tool"])
    assert pd.isna(run["warnings"])


def _result(rate, second, **changes):
    return {
        "date": f"20250610-1612{second}",
        "backend": "vllm",
        "model_id": "org/model-8B",
        "num_prompts": 200,
        "request_rate": rate,
        "burstiness": 1.0,
        "duration": 50.0 + second,
        "completed": 200,
        "total_input_tokens": 40000,
        "total_output_tokens": 30000,
        "output_throughput": 600.0,
        "mean_ttft_ms": 40.125,
        "p99.9_ttft_ms": 90.0,
        "mean_tpot_ms": 1 / 3,
        **changes,
    }


def _again(tmp_path, *results):
    """Scan results, write the runs as `hetcost tidy` does, and scan what was written."""
    (tmp_path / "a.json").write_text("\n".join(json.dumps(each) for each in results))
    first = scan_runs(tmp_path / "a.json", gpu="RTX 4090", n_gpus=1)
    write_runs(first.runs, tmp_path / "runs.csv")
    again = scan_runs(tmp_path / "runs.csv")
    assert first.refused.empty
    assert again.refused.empty
    return [scan.runs.sort_values("date", ignore_index=True) for scan in (first, again)]


def test_what_tidy_writes_is_read_back(tmp_path):
    """A known run in the tool's layout: the rows of a scan, written and scanned again."""
    first, again = _again(tmp_path, *(_result(r, n) for n, r in enumerate((4.0, "inf", 4.0), 40)))
    ignored = ["run_id", "source"]
    pd.testing.assert_frame_equal(again.drop(columns=ignored), first.drop(columns=ignored))
    ids = [row["run_id"] for row in _rows(tables.rows_of_table(first.to_csv(index=False)))]
    assert ids == list(first["run_id"])


def test_what_a_scan_said_of_a_run_is_not_said_twice(tmp_path):
    first, again = _again(tmp_path, _result(4.0, 40, completed=0))
    assert list(again["warnings"]) == list(first["warnings"])


def test_a_run_keeps_its_id(tmp_path):
    first, again = _again(tmp_path, _result(4.0, 40))
    assert list(again["run_id"]) == list(first["run_id"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(tmp_path, delimiter, end):
    content = _table(RUN, delimiter=delimiter).replace("\n", end)
    assert _only(_scan(tmp_path / "a.csv", f"{end}{content}{end}{end}"))["out_tok_per_s"] == 600.0


def test_commas_quotes_and_lines_in_a_cell(tmp_path):
    content = _table(RUN | {"model": '"a ""b"", c"', "warnings": '"one; two"'})
    run = _only(_scan(tmp_path / "a.csv", content))
    assert run["model"] == 'a "b", c'
    assert run["warnings"].startswith("one; two")
    broken = _table(RUN | {"model": '"a\nb"'}, RUN)
    scan = _scan(tmp_path / "b.csv", broken)
    assert list(scan.refused["line"]) == [2]
    assert "not plain text" in scan.refused["reason"].item()
    assert list(scan.runs["source"]) == ["b.csv:4"], "the line, not the row"


def test_zeros_that_nobody_measured_are_missing(tmp_path):
    names = "model,gpu,n_gpus,completed,duration_s,total_in_tok,total_out_tok,mean_ttft_ms,"
    names += "mean_tpot_ms,mean_e2el_ms\n"
    run = _only(_scan(tmp_path / "a.csv", names + "m,H200 SXM,8,0,10,0,0,0.0,0.0,0.0\n"))
    assert run[["mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms"]].isna().all()
    run = _only(_scan(tmp_path / "a.csv", names + "m,H200 SXM,8,10,10,50,100,900,0.0,900\n"))
    assert not run["streaming"]
    assert run["mean_e2el_ms"] == 900


def test_a_quote_that_is_not_closed_costs_its_row_alone(tmp_path):
    lines = ["model,gpu,out_tok_per_s", *(f"m,RTX 4090,{rate}" for rate in range(100, 150))]
    lines[2] = '"' + lines[2]
    scan = _scan(tmp_path / "a.csv", "\n".join(lines))
    assert len(scan.runs) == 49
    assert scan.refused["line"].tolist() == [3]
    scan = _scan(tmp_path / "a.csv", lines[0] + '\n"m' * 5000)
    assert len(scan.refused) == 51
    assert scan.refused["reason"].iloc[-1] == "too many broken rows: 4950 lines were not read"


def test_a_decimal_comma_is_no_number(tmp_path):
    content = _table(RUN | {"duration_s": "50,5"}, delimiter=";")
    assert (
        "duration_s: '50,5' is not a number"
        in _scan(tmp_path / "a.csv", content).refused.to_string()
    )


def test_columns_of_ones_own_by_a_mapping():
    (row,) = _rows(tables.rows_of_table(_table(MINE), MAPPING))
    assert row == {
        "model": "org/model-8B",
        "gpu": "RTX 4090",
        "out_tok_per_s": 612.5,
        "p99_ttft_ms": 90.0,
        "warnings": "throughput as stated, tokens and duration are not known",
    }
    assert "token_count_source" not in row
    assert tables.claims_text(_table(MINE), MAPPING)
    assert not tables.claims_text(_table(MINE))
    (row,) = _rows(tables.rows_of_table("p\n1.5\n", {"p": "p99_9_itl_ms"}))
    assert row == {"p99_9_itl_ms": 1.5}


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, "tokens and duration are"),
        ({"duration_s": "5"}, "tokens are"),
        ({"total_out_tok": "500"}, "duration is"),
        ({"total_out_tok": "500", "duration_s": "5"}, None),
        ({"total_out_tok": "500", "duration_s": "5", "all_tok_per_s": "9"}, "tokens are"),
    ],
)
def test_a_stated_throughput_says_what_it_lacks(known, told):
    cells = {"gpu": "L4", "out_tok_per_s": "100", **known}
    (row,) = _rows(tables.rows_of_table(_table(cells)))
    expected = None if told is None else f"throughput as stated, {told} not known"
    assert row.get("warnings") == expected
    assert row["out_tok_per_s"] == 100.0
    assert "reported_out_tok_per_s" not in row


def test_a_stated_throughput_that_differs_is_kept_beside_ours(tmp_path):
    cells = RUN | {"out_tok_per_s": "900"}
    run = _only(_scan(tmp_path / "a.csv", _table(cells)))
    assert run["out_tok_per_s"] == 600.0
    assert run["reported_out_tok_per_s"] == 900.0
    assert "900" in run["warnings"]
    run = _only(_scan(tmp_path / "b.csv", _table(cells | {"reported_out_tok_per_s": "601"})))
    assert run["reported_out_tok_per_s"] == 601.0


def test_a_stated_throughput_without_tokens_or_time_survives_the_scan(tmp_path):
    cells = {"model": "m", "gpu": "RTX 4090", "n_gpus": "1", "out_tok_per_s": "100"}
    scan = _scan(tmp_path / "a.csv", _table(cells))
    run = _only(scan)
    assert run["out_tok_per_s"] == 100.0
    assert "throughput as stated, tokens and duration are not known" in run["warnings"]
    assert hc.evaluate(scan.runs)["usd_per_mtok_out"].notna().item()


def test_a_mapping_reaches_the_tables_of_a_scan(tmp_path):
    run = _only(_scan(tmp_path / "a.csv", _table(MINE), columns=MAPPING))
    assert run["p99_ttft_ms"] == 90.0
    assert run["model"] == "org/model-8B"


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"tps": "out_tok_s"}, "columns: unknown value 'out_tok_s'.*first: 'out_tok_per_s'"),
        ({"tps": "p100_ttft_ms"}, "p100_ttft_ms"),
        ({"tps": "source"}, "'source'"),
        ({"tps": "run_id"}, "'run_id'"),
        ({"tps": 3}, "3"),
        ({"tps": ["out_tok_per_s"]}, "columns"),
    ],
)
def test_a_mapping_to_what_is_no_run_column(mapping, message):
    with pytest.raises(UnknownNameError, match=message):
        list(tables.rows_of_table(_table(MINE), mapping))
    with pytest.raises(UnknownNameError):
        tables.claims_text(_table(MINE), mapping)


def test_what_is_no_mapping():
    with pytest.raises(ReadError, match="columns: 'tps'"):
        list(tables.rows_of_table(_table(MINE), "tps"))


def test_unknown_columns_are_left_out_and_told_once(tmp_path):
    rows = [RUN | {"price": "3", "": str(n), "n_requests": str(n)} for n in range(200, 205)]
    (tmp_path / "a.csv").write_text(_table(*rows))
    with pytest.warns(DataWarning, match="no run column: 'price'$") as told:
        scan = scan_runs(tmp_path / "a.csv")
    assert len(told) == 1
    assert len(scan.runs) == 5
    assert "price" not in scan.runs
    with pytest.warns(
        DataWarning, match="a table has no 'tpz'; the columns most like it are 'tps'"
    ):
        list(tables.rows_of_table(_table(MINE), MAPPING | {"tpz": "all_tok_per_s"}))


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("model,gpu,out_tok_per_s,gpu", "columns 'gpu' stand twice"),
        ("model,gpu,out_tok_per_s", "no runs in this file"),
        ("a,b,c", "neither in the run columns nor mapped to them: 'a', 'b', 'c'"),
        ("", "neither in the run columns"),
    ],
)
def test_headers_that_lead_nowhere(header, reason):
    (found,) = tables.rows_of_table(header)
    assert found.reason.startswith(reason)
    assert found.line == 1


def test_one_column_may_not_be_had_twice_by_mapping():
    header = "model,tps,out_tok_per_s\nm,1,2"
    (found,) = tables.rows_of_table(header, {"tps": "out_tok_per_s"})
    assert "'out_tok_per_s' stand twice" in found.reason


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"duration_s": "long"}, "duration_s: 'long' is not a number"),
        ({"duration_s": "-1"}, "duration_s: -1 is outside"),
        ({"completed": "1.5"}, "completed: 1.5 is outside"),
        ({"streaming": "perhaps"}, "streaming: 'perhaps' is neither true nor false"),
        ({"gpu": "H100"}, "'H100 PCIe 80GB', 'H100 SXM 80GB'"),
        ({"warnings": "a,b"}, "15 cells where the header has 14"),
        ({"warnings": '"open'}, "no row of a table"),
    ],
)
def test_a_row_that_makes_no_sense_is_refused_and_the_others_stand(tmp_path, changes, reason):
    # The bad row comes last: an open quote would swallow what follows.
    scan = _scan(tmp_path / "a.csv", _table(RUN, RUN | changes))
    assert len(scan.runs) == 1
    assert list(scan.refused["line"]) == [3]
    assert reason in scan.refused["reason"].item()


def test_hostile_cells_are_rows_or_refusals(tmp_path):
    cells = [
        "",
        "x",
        "-1",
        "1e400",
        "nan",
        "None",
        "\x00",
        "9" * 400,
        "=1+1",
        "{}",
        "a\rb",
        "x" * 200_000,
    ]
    names = [*RUN, "run_id", "study", "gpu_energy_j", "out_tok_per_s", "repeat", "tensor_parallel"]
    spoilt = list(itertools.product(names, cells))
    for index, (name, cell) in enumerate(spoilt):
        row = RUN | {"duration_s": f"{50 + index / 1000}", name: cell}
        (tmp_path / f"{index:03}.csv").write_text(_table(row), "utf-8", newline="")
    for name in RUN:
        row = {key: value for key, value in RUN.items() if key != name}
        (tmp_path / f"no {name}.csv").write_text(_table(row | {"study": name}))
    scan = scan_runs(tmp_path)
    told = set(scan.refused["file"]) | set(scan.runs["source"].str.rpartition(":")[0])
    assert told == {path.name for path in tmp_path.iterdir()}
    assert scan.refused["reason"].str.len().gt(0).all()


def test_tables_of_other_tools_are_not_ours():
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip("HETCOST_SAMPLES is not set: the samples were not looked at")
    texts = [path for path in Path(folder).rglob("*") if path.suffix in (".csv", ".txt", ".md")]
    assert texts
    for path in texts:
        assert not tables.claims_text(path.read_text("utf-8", "replace")[: 2**16]), path


def _parquet(frame):
    arrow = pytest.importorskip("pyarrow", reason="hetcost[parquet] is not installed")
    sink = io.BytesIO()
    table = arrow.Table.from_pandas(frame)
    importlib.import_module("pyarrow.parquet").write_table(table, sink)
    return sink.getvalue()


def test_parquet_says_the_same_as_csv(runs, tmp_path):
    frame = runs.head(20).assign(streaming=pd.array([True, None] * 10, dtype="boolean"))
    (tmp_path / "runs.parquet").write_bytes(_parquet(frame))
    wanted = _rows(tables.rows_of_table(frame.to_csv(index=False)))
    assert _rows(parquet.rows_of_parquet(tmp_path / "runs.parquet")) == wanted
    assert _rows(parquet.rows_of_parquet((tmp_path / "runs.parquet").read_bytes())) == wanted


def test_parquet_by_a_mapping_and_of_other_kinds():
    frame = pd.DataFrame(
        {
            "gpu": ["L4", "L4", "L4"],
            "tok/s": [612.5, None, 3.0],
            "date": pd.to_datetime(["2025-01-02 03:04:05"] * 3),
            "n_gpus": [1, 2, 4],
            "notes": [{"a": 1}] * 3,
        }
    )
    with pytest.warns(DataWarning, match="'notes'"):
        found = list(parquet.rows_of_parquet(_parquet(frame), {"tok/s": "out_tok_per_s"}))
    assert [each.line for each in found] == [1, 2, 3]
    assert found[0].value["out_tok_per_s"] == 612.5
    assert found[0].value["date"] == "2025-01-02T03:04:05"
    assert "out_tok_per_s" not in found[1].value
    lists = frame[["gpu"]].assign(total_out_tok=[[1], [2], [3]])
    found = list(parquet.rows_of_parquet(_parquet(lists)))
    assert [each.reason for each in found] == ["total_out_tok: a list is not a number"] * 3


def test_parquet_that_is_none():
    pytest.importorskip("pyarrow", reason="hetcost[parquet] is not installed")
    whole = _parquet(pd.DataFrame({"gpu": ["L4"] * 500, "out_tok_per_s": 1.0}))
    for cut in (b"", b"PAR1", whole[:-20], whole[:60] + bytes(40) + whole[100:]):
        with pytest.raises(ReadError, match="no Parquet table"):
            list(parquet.rows_of_parquet(cut))
    with pytest.raises(ReadError, match="neither in the run columns"):
        list(parquet.rows_of_parquet(_parquet(pd.DataFrame({"a": [1]}))))
    (found,) = parquet.rows_of_parquet(_parquet(pd.DataFrame({"gpu": [], "out_tok_per_s": []})))
    assert found.reason == "no runs in this file"
    with pytest.raises(UnknownNameError):
        list(parquet.rows_of_parquet(whole, {"x": "y"}))


def test_parquet_that_would_fill_the_memory(monkeypatch):
    monkeypatch.setattr(parquet, "_MOST_CELLS", 10)
    whole = _parquet(pd.DataFrame({"gpu": ["L4"] * 500, "out_tok_per_s": 1.0}))
    with pytest.raises(ReadError, match="larger than"):
        list(parquet.rows_of_parquet(whole))


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(parquet, "import_module", absent)
    with pytest.raises(ReadError, match=re.escape("hetcost[parquet]")):
        list(parquet.rows_of_parquet(b"PAR1"))


def test_nothing_is_told_of_a_table_without_unknown_columns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _rows(tables.rows_of_table(_table(RUN)))
