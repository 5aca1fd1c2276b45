"""Answers that were not streamed, and zeros that nobody measured, whichever tool wrote them."""

import math

import pytest

from hetcost.readers import aiperf_requests, console, guidellm, llmperf, sglang, vllm
from hetcost.readers.streamed import keep_measured

STATISTICS = ("mean", "p50", "p99")


def _row(ttft=100.0, tpot=10.0, itl=10.0, e2el=1090.0, **changes):
    """Write a row of 10 answers of 100 tokens each."""
    values = {"ttft": ttft, "tpot": tpot, "itl": itl, "e2el": e2el}
    latencies = {
        f"{statistic}_{metric}_ms": value
        for metric, value in values.items()
        for statistic in STATISTICS
        if value is not None
    }
    return {"completed": 10, "total_out_tok": 1000, "itl_kind": "pooled", **latencies} | changes


def _measured(row):
    keep_measured(row)
    found = {name.split("_")[-2] for name in row if name.endswith("_ms") and row[name] == row[name]}
    return found, row.get("streaming"), row.get("warnings")


WHOLE = "TTFT is the whole latency: answers were not streamed"
UNTIMED = "no first token was timed: answers were not streamed"
CASES = {
    "streamed": (_row(), {"ttft", "tpot", "itl", "e2el"}, None, None),
    "all of them 0": (_row(0.0, 0.0, 0.0), {"e2el"}, False, UNTIMED),
    "TPOT from the start": (_row(0.0, 11.0, 0.0), {"e2el"}, False, UNTIMED),
    "only gaps were timed": (_row(0.0, 11.0), {"itl", "e2el"}, None, "no first token was timed"),
    "TTFT is E2E": (_row(1085.0, 0.0, 0.0), {"e2el"}, False, WHOLE),
    "and nothing is said of gaps": (_row(1085.0, None, None), {"e2el"}, False, WHOLE),
    "TTFT above E2E": (_row(1100.0), {"ttft", "tpot", "itl", "e2el"}, None, None),
    "TTFT above E2E, no gaps": (_row(1100.0, 0.0, None), {"e2el"}, False, WHOLE),
    "E2E in seconds": (_row(e2el=1.09), {"ttft", "tpot", "itl", "e2el"}, None, None),
    "two tokens": (
        _row(1e4, None, None, 10020.0, mean_tpot_ms=20.0, total_out_tok=20),
        {"ttft", "tpot", "e2el"},
        None,
        None,
    ),
    "a long wait": (_row(1085.0, 0.05, 0.05), {"ttft", "tpot", "itl", "e2el"}, None, None),
    "no E2E, no gaps": (_row(500.0, 0.0, 0.0, None), {"e2el"}, False, WHOLE),
    "no E2E": (_row(e2el=None), {"ttft", "tpot", "itl"}, None, None),
    "an early first token": (_row(100.0, 0.0, 0.0), {"ttft", "e2el"}, None, None),
    "a token each": (_row(1090.0, 0.0, 0.0, total_out_tok=10), {"ttft", "e2el"}, None, None),
    "said by the file": (_row(streaming=False), {"e2el"}, False, None),
    "no answers": (_row(0.0, 0.0, 0.0, 0.0, completed=0, total_out_tok=0), set(), None, None),
}


@pytest.mark.parametrize(("row", "kept", "streaming", "told"), CASES.values(), ids=CASES)
def test_what_was_measured_stays_and_nothing_else(row, kept, streaming, told):
    assert _measured(row) == (kept, streaming, told)
    assert ("itl_kind" in row) == bool(kept & {"tpot", "itl"})


def test_ttft_of_answers_in_one_piece_is_e2e_where_that_is_not_stated():
    row = _row(500.0, 0.0, 0.0, None, p50_e2el_ms=490.0)
    keep_measured(row)
    assert (row["mean_e2el_ms"], row["p50_e2el_ms"], row["p99_e2el_ms"]) == (500.0, 490.0, 500.0)


def test_a_single_0_among_others_is_missing():
    row = _row(p50_itl_ms=0.0)
    keep_measured(row)
    assert "p50_itl_ms" not in row
    assert (row["mean_itl_ms"], row["p99_itl_ms"]) == (10.0, 10.0)


def _written(metrics, **values):
    return {f"{statistic}_{metric}_ms": values[metric] for metric in metrics for statistic in
            ("mean", "median", "p99")}  # fmt: skip


COUNTS = {"completed": 10, "duration": 10.0, "total_input_tokens": 500, "total_output_tokens": 1000}
TIMES = {"ttft": 1085.0, "tpot": 0.0, "itl": 0.0, "e2el": 1090.0, "e2e_latency": 1090.0}


def _vllm():
    times = _written(("ttft", "tpot", "itl", "e2el"), **TIMES)
    return vllm.rows({"model_id": "org/model-8B", "num_prompts": 10, **COUNTS, **times})[0]


def _sglang():
    times = _written(("ttft", "tpot", "itl", "e2e_latency"), **TIMES)
    return sglang.rows({"backend": "sglang", **COUNTS, **times})[0]


def _console():
    lines = {
        "Successful requests:": 10,
        "Benchmark duration (s):": 10.0,
        "Total input tokens:": 500,
        "Total generated tokens:": 1000,
        **{f"Mean {name} (ms):": value for name, value in
           {"TTFT": 1085.0, "TPOT": "0.00", "ITL": "0.00", "E2EL": 1090.0}.items()},
    }  # fmt: skip
    table = "\n".join(f"{label}  {value}" for label, value in lines.items())
    head = "============ Serving Benchmark Result ============\n"
    return next(console.rows_of_text(f"{head}{table}\n{'=' * 50}\n")).value


def _guidellm():
    figures = {"request_latency": 1.09, "time_to_first_token_ms": 1085.0}
    metrics = {name: {"successful": {"mean": mean}} for name, mean in figures.items()}
    metrics["output_token_count"] = {"total": {"total_sum": 1000}, "successful": {"mean": 100}}
    run = {"duration": 10.0, "metrics": {"request_totals": {"successful": 10}, **metrics}}
    return guidellm.row(run, {})


def _llmperf_summary():
    times = {"ttft": 1.085, "end_to_end_latency": 1.09}
    means = {f"results_{name}_s_mean": value for name, value in times.items()}
    tokens = {"results_number_output_tokens_mean": 100, "results_number_input_tokens_mean": 50}
    return llmperf.rows({"results_num_completed_requests": 10, **means, **tokens})[0]


def _llmperf_responses():
    responses = llmperf.Requests()
    times = {"ttft_s": 1.09, "end_to_end_latency_s": 1.09, "inter_token_latency_s": 0.0109}
    responses.add({**times, "number_output_tokens": 100, "number_input_tokens": 50})
    return responses.row()


def _aiperf_requests():
    requests = aiperf_requests.Requests()
    start = 1_760_000_000 * 10**9
    stamps = {"request_start_ns": start, "request_end_ns": start + 1_090_000_000}
    metrics = {
        name: {"value": 1090.0, "unit": "ms"} for name in ("time_to_first_token", "request_latency")
    } | {f"{side}_sequence_length": {"value": 100} for side in ("input", "output")}
    requests.add({"metadata": stamps, "metrics": metrics})
    return requests.row()


@pytest.mark.parametrize(
    "read",
    [_vllm, _sglang, _console, _guidellm, _llmperf_summary, _llmperf_responses, _aiperf_requests],
)
def test_every_tool_is_judged_alike(read):  # B26
    row = read()
    latencies = {name for name in row if name.endswith("_ms") and not math.isnan(row[name])}
    assert latencies
    assert all(name.endswith("_e2el_ms") for name in latencies), latencies
    assert row["mean_e2el_ms"] == pytest.approx(1090.0)
    assert row["streaming"] is False
    assert row["warnings"] == WHOLE


def test_a_vllm_result_of_a_client_that_does_not_stream_has_no_first_token():
    times = _written(("ttft", "tpot", "itl"), ttft=0.0, tpot=0.0, itl=0.0)
    row = vllm.rows({"model_id": "org/model-8B", **COUNTS, **times})[0]
    assert row["streaming"] is False
    assert row["warnings"] == UNTIMED
    assert not any(row[name] == row[name] for name in row if name.endswith("_ms"))
