"""Findings about runs: each check with a run that breaks it and one that does not."""

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.columns import conform
from hetcost.errors import ColumnError
from hetcost.findings import CHECKS, noted
from hetcost.findings.load import saturated
from hetcost.findings.protocol import next_loads
from hetcost.findings.uses import COMPARISONS, FELL_BEHIND, USES, standing, uses

SOUND = {
    "run_id": "a",
    "study": "s",
    "date": "2026-01-01T00:00:00",
    "engine": "vLLM",
    "engine_version": "0.8.5",
    "model": "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",
    "weight_dtype": "float16",
    "gpu": "H100 PCIe 80GB",
    "n_gpus": 1,
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "replicas": 1,
    "arrival": "poisson",
    "request_rate_per_s": 4.0,
    "n_requests": 400,
    "completed": 400,
    "failed": 0,
    "duration_s": 110.0,
    "total_in_tok": 80_000,
    "total_out_tok": 80_000,
    "mean_out_tok": 200.0,
    "req_per_s": 400 / 110,
    "out_tok_per_s": 80_000 / 110,
    "mean_concurrency": 400 / 110 * 4.08,
    "mean_ttft_ms": 100.0,
    "p50_ttft_ms": 90.0,
    "p99_ttft_ms": 200.0,
    "mean_tpot_ms": 20.0,
    "mean_itl_ms": 20.0,
    "p50_itl_ms": 19.0,
    "p99_itl_ms": 60.0,
    "mean_e2el_ms": 4080.0,
    "gpu_power_w": 300.0,
    "repeat": 1,
}


def _runs(*changes):
    return conform(pd.DataFrame([SOUND | {"run_id": str(i)} | c for i, c in enumerate(changes)]))


def _found(*changes):
    table = hc.diagnose(_runs(*changes))
    return {(row["run_id"], row["check"]): row["what"] for _, row in table.iterrows()}


def test_a_sound_run_has_no_findings():
    assert hc.diagnose(_runs({})).empty


@pytest.mark.parametrize(
    ("check", "change", "told"),
    [
        ("rate_differs", {"reported_out_tok_per_s": 800.0}, "the tool reports 800 out_tok_per_s"),
        ("token_sum", {"total_all_tok": 170_000}, "170000 tokens in all, but 160000 in and out"),
        ("e2e_identity", {"mean_tpot_ms": 5.0, "mean_itl_ms": 5.0}, "makes 1095 ms"),
        (
            "littles_law",
            {"arrival": "closed", "request_rate_per_s": np.inf, "max_concurrency": 64},
            "14.8 requests were in flight on average, the client kept 64",
        ),
        (
            "ttft_over_e2e",
            {"mean_e2el_ms": 90.0, "mean_tpot_ms": None},
            "mean TTFT 100 ms is above mean E2E 90 ms",
        ),
        (
            "ttft_over_e2e",
            {"p99_e2el_ms": 150.0, "p50_e2el_ms": 120.0},
            "P99 TTFT 200 ms is above P99 E2E 150 ms",
        ),
        ("request_counts", {"completed": 390}, "400 requests sent, but 390 completed, failed"),
        (
            "request_counts",
            {"n_requests": 399, "failed": None},
            "400 requests completed of 399 sent",
        ),
        ("request_counts", {"goodput_per_s": 4.0}, "a goodput of 4/s is more than all 3.63636"),
        (
            "latency_units",
            {"mean_e2el_ms": 120_000.0, "mean_tpot_ms": None, "mean_itl_ms": None},
            "mean_e2el_ms of 120000 ms is longer than the run, 110000 ms",
        ),
        (
            "latency_units",
            {"mean_tpot_ms": 0.2, "mean_itl_ms": 0.2, "mean_e2el_ms": None},
            "mean TPOT of 0.2 ms: to read the weights alone takes 14.48 ms",
        ),
        (
            "latency_units",
            {"mean_tpot_ms": 0.01, "mean_itl_ms": 0.01, "mean_e2el_ms": None, "gpu": "Abacus"},
            "no token comes so fast",
        ),
        ("latency_units", {"mean_itl_ms": 0.02}, "mean ITL of 0.02 ms and mean TPOT of 20 ms"),
        ("latency_units", {"p99_ttft_ms": 2e5}, "p99_ttft_ms of 200000 ms is longer than the run"),
        ("percentile_order", {"p99_ttft_ms": 80.0}, "p99_ttft_ms 80 is below"),
        ("gpu_identity", {"n_gpus": 4, "gpu_power_w": 1200.0}, "4 cards, but"),
        (
            "gpu_identity",
            {"n_gpus": 4, "gpu_power_w": 1200.0, "data_parallel": 2},
            "4 cards, but",
        ),
        ("gpu_identity", {"tensor_parallel": 4, "replicas": None}, "1 cards, but"),
        (
            "memory",
            {"gpu": "RTX 4090", "gpu_power_w": None},
            "weights of 29.54 GB or more, and cards of 24 GB in all",
        ),
        ("short_run", {"duration_s": 39.0, "request_rate_per_s": 11.0}, "an answer takes 4.08 s"),
        ("power", {"gpu_power_w": 700.0}, "700 W a board, of a limit of 350 W"),
        ("power", {"gpu_power_w": 3.0}, "3 W a board"),
        (
            "burst",
            {"request_rate_per_s": 32.0},
            "requests arrive for 12.5 of 110 s (11 %), saturated, 3.64 of 32/s",
        ),
        (
            "few_requests",
            {"completed": 298, "n_requests": 298},
            "P99 of 298 requests, 299 bound it at 95 %",
        ),
        ("survivors", {"failed": 3, "completed": 397}, "3 of 400 requests failed"),
        ("merged_chunks", {"mean_itl_ms": 20.5}, "mean ITL 20.5 ms, mean TPOT 20 ms"),
        (
            "client_limit",
            {"request_rate_per_s": 32.0, "max_concurrency": 15},
            "14.8 of at most 15 requests in flight: 32/s were not offered",
        ),
        ("survivors", {"failed": 3, "n_requests": None}, "3 of ? requests failed"),
        ("power", {"gpu": "Abacus", "gpu_power_w": 3.0}, "3 W a board, of a limit of ? W"),
    ],
)
def test_what_a_single_run_shows(check, change, told):
    found = _found(change)
    assert told in found["0", check]
    assert set(found) == {("0", check)}, "and nothing else"


def test_a_closed_load_of_all_requests_at_once_is_no_burst():
    closed = {"arrival": "closed", "request_rate_per_s": np.inf, "max_concurrency": 15}
    assert _found(closed) == {}
    at_once = {"arrival": "burst", "request_rate_per_s": np.inf}
    assert _found(at_once | {"mean_ttft_ms": None}) == {}, "a batch, of which latency is not asked"
    assert "requests arrive for 0 of 110 s" in _found(at_once)["0", "burst"]


def test_a_closed_load_of_one_round_drains_and_ragged_lengths_are_no_contradiction():
    round_ = {"arrival": "closed", "request_rate_per_s": np.inf, "max_concurrency": 400}
    assert ("0", "littles_law") not in _found(round_)
    ragged = {"mean_tpot_ms": 35.0, "mean_itl_ms": 20.0}
    assert ("0", "e2e_identity") not in _found(ragged)
    assert ("0", "e2e_identity") in _found(ragged | {"mean_itl_ms": None})


def test_copies_of_attention_may_have_cards_of_their_own():
    assert _found({"n_gpus": 4, "gpu_power_w": 1200.0, "data_parallel": 4}) == {}
    two = {"n_gpus": 2, "tensor_parallel": 2, "gpu_power_w": 600.0}
    assert _found(two | {"data_parallel": 2}) == {}, "or share them"


def test_a_client_that_sends_less_than_its_limit_sends_all_there_is():
    few = {"arrival": "closed", "request_rate_per_s": np.inf, "n_requests": 30, "completed": 30}
    few |= {"max_concurrency": 512, "p99_ttft_ms": None, "p99_itl_ms": None}
    assert _found(few) == {}


def test_mean_gaps_above_mean_tpot_are_no_merged_chunks_where_lengths_differ():
    ragged = {"mean_itl_ms": 24.8, "mean_tpot_ms": 22.5, "mean_out_tok": 260.0}
    e2e = 100.0 + 259 * 24.8
    assert ("0", "merged_chunks") not in _found(ragged | {"mean_e2el_ms": e2e})
    assert ("0", "merged_chunks") in _found(ragged | {"mean_e2el_ms": 100.0 + 259 * 22.5})
    assert ("0", "merged_chunks") in _found(ragged | {"mean_e2el_ms": None}), "nothing else to tell"
    by_request = {"itl_kind": "request_mean", "mean_itl_ms": 20.0, "mean_e2el_ms": 3500.0}
    assert ("0", "merged_chunks") not in _found(by_request)


def test_formats_of_weights_that_are_not_known_are_not_mixed():
    found = _found({"weight_dtype": None}, {"duration_s": 99.0}, {"weight_dtype": "fp8"})
    assert {run for run, check in found if check == "mixed_dtypes"} == {"1", "2"}


def test_latency_that_falls_as_load_rises():
    slow = {"request_rate_per_s": 2.0, "p50_ttft_ms": 150.0, "n_requests": 300}
    found = _found(slow, {})
    told = found["1", "falling_latency"]
    assert told == "p50_ttft_ms falls from 150 to 90 as load rises from 2 to 4/s"
    assert ("0", "falling_latency") not in found
    other = {"gpu": "RTX 4090", "gpu_power_w": 400.0}
    assert ("1", "falling_latency") not in _found(slow | other, {}), (
        "another card is another series"
    )


def test_latency_of_unlike_loads_is_not_compared():
    alone = {"arrival": "closed", "request_rate_per_s": np.inf, "max_concurrency": 1}
    alone |= {"p50_ttft_ms": 30.0, "mean_concurrency": 1.0}
    assert ("0", "falling_latency") not in _found(alone, {}), "a closed load of one is no high rate"
    four = alone | {"max_concurrency": 4, "p50_ttft_ms": 20.0, "mean_concurrency": 4.0}
    told = _found(four, alone)["0", "falling_latency"]
    assert told.endswith("from 30 to 20 as load rises from 1 to 4 in flight")
    slow = {"model": None, "request_rate_per_s": 2.0, "p50_ttft_ms": 150.0, "n_requests": 300}
    here, there = ({"model": None, "source": f"{name}.jsonl:1"} for name in "ab")
    assert ("1", "falling_latency") in _found(slow | here, here), "lines of one file"
    assert ("1", "falling_latency") not in _found(slow | here, there), "unnamed models"


def test_a_cold_start_is_known_by_its_repeat():
    first = {"p99_ttft_ms": 900.0}
    again = {"repeat": 2, "date": "2026-01-02T00:00:00", "duration_s": 111.0}
    assert "900 ms, 200 ms when repeated" in _found(first, again)["0", "cold_start"]


def test_a_run_that_stands_twice():
    assert ("1", "duplicate") in _found({}, {})
    assert ("1", "duplicate") not in _found({}, {"duration_s": 110.5})


def test_formats_of_weights_that_are_mixed():
    found = _found({}, {"weight_dtype": "float8_e4m3", "gpu": "L40S", "duration_s": 99.0})
    assert found["0", "mixed_dtypes"].startswith("weights in float16")
    assert found["1", "mixed_dtypes"].startswith("weights in float8_e4m3")


# --- the prefix cache ---------------------------------------------------------------------------

LATER = {"date": "2026-01-01T01:00:00", "request_rate_per_s": 2.0, "duration_s": 205.0}
FLAT = {"p99_itl_ms": 21.0}


def _states(*changes):
    return noted(_runs(*changes))["prefix_state"].tolist()


@pytest.mark.parametrize(
    ("second", "state"),
    [
        (LATER | FLAT, "warm"),
        (LATER, "cold"),
        (LATER | {"p99_itl_ms": 30.0}, "unknown"),
        (LATER | FLAT | {"mean_itl_ms": 21.0}, "unknown"),
        (LATER | FLAT | {"mean_concurrency": 1.0}, "unknown"),
        (LATER | FLAT | {"total_in_tok": 90_000}, "unknown"),
        (LATER | FLAT | {"prompt_seed": 7}, "unknown"),
        (LATER | FLAT | {"kv_tokens": 100_000}, "cold"),
        (LATER | {"prefix_state": "warm"}, "warm"),
    ],
)
def test_a_second_run_of_the_same_prompts(second, state):
    assert _states({}, second) == ["cold", state]


@pytest.mark.parametrize(
    ("first", "second", "states"),
    [
        ({"date": None}, LATER | FLAT, ["unknown", "unknown"]),
        ({}, FLAT | {"duration_s": 205.0}, ["unknown", "unknown"]),
        ({"date": "2026-01-01T00:00:00Z"}, LATER | FLAT, ["unknown", "unknown"]),
        ({"date": "yesterday"}, LATER, ["unknown", "cold"]),
        ({"prompt_seed": 1}, LATER | {"prompt_seed": 2, "p99_itl_ms": 30.0}, ["cold", "cold"]),
        ({}, LATER | {"n_requests": 300, "p99_itl_ms": 30.0}, ["cold", "unknown"]),
        ({}, LATER | {"cached_frac": 0.95}, ["cold", "warm"]),
        ({"cached_frac": 0.95}, LATER | FLAT, ["unknown", "warm"]),
        ({}, LATER | FLAT | {"cached_frac": 0.0}, ["cold", "cold"]),
        ({}, LATER | {"cached_frac": 0.2}, ["cold", "unknown"]),
    ],
)
def test_what_is_known_of_the_cache_rests_on_dates_seeds_and_the_engines_word(
    first, second, states
):
    steep = {"p99_itl_ms": 30.0}  # tells nothing by itself
    assert _states(steep | first, second) == states
    assert _states(second, steep | first) == states[::-1]


def test_a_flat_tail_tells_nothing_where_the_first_run_has_one_too():
    later = LATER | FLAT
    assert _states(FLAT, later) == ["unknown", "unknown"]
    assert _states({}, later) == ["cold", "warm"]


def test_a_run_by_itself_may_have_had_others_before_it():
    assert _states({"p99_itl_ms": 30.0}) == ["unknown"]
    assert _states({"p99_itl_ms": 60.0}) == ["cold"], "prefill shows"


@pytest.mark.parametrize(
    ("version", "state"),
    [("0.7.3", "unknown"), ("0.8.5.post1", "warm"), ("main-abc123", "unknown")],
)
def test_an_engine_that_caches_no_prefixes_unless_asked_is_not_called_warm(version, state):
    engine = {"engine_version": version}
    assert _states(engine, engine | LATER | FLAT) == ["cold", state]


def test_without_room_nothing_is_warm():
    small = {"gpu": "RTX 4090", "gpu_power_w": 400.0, "n_gpus": 2, "tensor_parallel": 2}
    many = {"total_in_tok": 500_000}
    assert _states(small | many, small | many | LATER | FLAT) == ["cold", "cold"]


def test_a_model_that_is_not_known_has_no_room():
    assert _states({"model": "x"}, {"model": "x"} | LATER | FLAT) == ["cold", "unknown"]


def test_merged_chunks_anywhere_in_a_series_void_its_tails():
    states = _states({}, LATER, LATER | {"date": "2026-01-01T02:00:00", "mean_itl_ms": 30.0})
    assert states == ["cold", "unknown", "unknown"]


# --- what a server keeps up with, and what to measure next ---------------------------------------


def _behind(*changes):
    return saturated(_runs(*changes)).tolist()


def test_a_run_that_says_nothing_of_requests_sent_is_judged_by_those_answered():
    silent = {"n_requests": None, "request_rate_per_s": 8.0, "failed": None}
    assert _behind(silent) == [True]
    assert _behind(silent | {"completed": None}) == [pd.NA]
    found = _found(silent | {"completed": None, "duration_s": None})
    assert ("0", "burst") not in found


def test_few_random_arrivals_scatter_and_are_not_taken_for_a_server_that_falls_behind():
    draws = np.random.default_rng(1)
    for number, arrival, most in ((50, "poisson", 0.08), (400, "poisson", 0.08)):
        arrivals_s = draws.gamma(number, 1 / 4.0, 1000)
        made = [
            {
                "n_requests": number,
                "completed": number,
                "arrival": arrival,
                "duration_s": each + 4.0,
            }
            | {"req_per_s": number / (each + 4.0), "mean_concurrency": 4 * number / (each + 4.0)}
            for each in arrivals_s
        ]
        assert saturated(_runs(*made)).mean() < most
    late = {"n_requests": 50, "completed": 50, "duration_s": 50 / 4 * 1.15 + 4.0}
    late |= {"req_per_s": 50 / late["duration_s"], "mean_concurrency": 200 / late["duration_s"]}
    assert _behind(late | {"arrival": "poisson"}) == [False]
    assert _behind(late | {"arrival": "constant"}) == [True], "these do not scatter"


@pytest.mark.parametrize(
    ("offered", "achieved", "next_per_s", "why"),
    [
        ([1, 2], [1, 2], 4.0, "go on until it does not"),
        ([8, 16], [3, 3], 1.5, "half of what it achieved"),
        ([2, 8], [2, 4], 4.0, "the knee lies between"),
        ([4, 4.5], [4, 3], 1.0, "a quiet load shows"),
        ([1, 4, 4.5], [1, 4, 3], 4.0, "a repeat shows the noise"),
    ],
)
def test_which_load_to_measure_next(offered, achieved, next_per_s, why):
    runs = [
        {"request_rate_per_s": float(rate), "req_per_s": float(got), "n_requests": 10_000}
        | {"completed": 10_000, "duration_s": 10_000 / got, "mean_concurrency": 4.0 * got}
        for rate, got in zip(offered, achieved, strict=True)
    ]
    (row,) = next_loads(_runs(*runs)).to_dict("records")
    assert row["next_per_s"] == next_per_s
    assert why in row["why"]
    assert row["n_requests"] == max(300, 120 * next_per_s)


def test_a_load_that_the_client_limited_tells_nothing_of_the_server():
    limited = {"request_rate_per_s": 32.0, "max_concurrency": 15}
    (row,) = next_loads(_runs(limited, {})).to_dict("records")
    assert (row["kept_up_per_s"], row["next_per_s"]) == (4.0, 8.0)
    assert np.isnan(row["fell_behind_per_s"])
    assert next_loads(_runs(limited)).empty


# --- the study ----------------------------------------------------------------------------------


def test_the_prefix_cache_of_the_study(runs):
    raw = runs.assign(prefix_state="unknown", warnings=None)
    states = noted(raw)
    first = states[states["repeat"] == 1]
    assert not (first[first["request_rate_per_s"] == 32]["prefix_state"] == "warm").any()
    single = (first["gpu"] == "H100 PCIe 80GB") | (first["n_gpus"] == 1)
    at_16 = first[single & (first["request_rate_per_s"] == 16)]["prefix_state"]
    assert at_16.value_counts().to_dict() == {"warm": 11, "cold": 6}
    pools = first[(first["n_gpus"] > 1) & (first["gpu"] == "RTX 4090")]
    at_1 = pools[pools["request_rate_per_s"] == 1]
    assert (at_1["prefix_state"] == "unknown").all()
    assert at_1["warnings"].str.contains("merged stream chunks").all()


def test_the_bursts_of_the_study(runs):
    found = hc.diagnose(runs).query("check == 'burst'").merge(runs, on="run_id")
    by_rate = found["request_rate_per_s"].value_counts().to_dict()
    assert by_rate == {32.0: 25, 16.0: 17, 8.0: 5}, "of 26 each"
    assert found["what"].str.contains(", saturated").all()


def test_what_is_noted_once_is_not_noted_again(runs):
    once = noted(runs)
    pd.testing.assert_frame_equal(noted(once), once)


def test_every_check_says_why_and_what_to_do():
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.why and check.remedy for check in CHECKS)


@pytest.mark.parametrize(
    "runs", [pd.DataFrame(), pd.DataFrame({"x": [1]}), pd.DataFrame(SOUND, [])]
)
def test_runs_that_say_nothing(runs):
    assert hc.diagnose(runs).empty
    assert len(noted(runs)) == len(runs)


def test_what_is_no_frame_of_runs():
    with pytest.raises(ColumnError, match="diagnose: a DataFrame of runs belongs here"):
        hc.diagnose(None)
    with pytest.raises(ColumnError, match="mean_ttft_ms"):
        hc.diagnose(pd.DataFrame({"mean_ttft_ms": ["fast"], "mean_e2el_ms": [1.0]}))


# --- uses ---------------------------------------------------------------------------------------


def test_every_check_is_weighed_for_some_use_or_compares():
    weighed = {check for checks, _ in USES.values() for check in checks} - {FELL_BEHIND}
    assert weighed.isdisjoint(COMPARISONS)
    assert weighed | {*COMPARISONS} == {check.name for check in CHECKS}


def test_a_run_stands_is_spoilt_or_does_not_say():
    cold = {"prefix_state": "cold"}
    runs = _runs(cold, cold | {"request_rate_per_s": 32.0}, {"p99_itl_ms": 30.0}, cold)
    verdicts = standing(runs.assign(p99_ttft_ms=[200.0, 200.0, 200.0, None]).set_index("run_id"))
    assert verdicts["throughput at a steady load"].tolist() == ["yes", "no", "not known", "yes"]
    assert verdicts.iloc[:, -1].tolist() == ["yes", "no", "not known", "not known"]
    counts = uses(runs).set_index("use").loc["throughput at a steady load"]
    assert counts[["stand", "spoilt", "not_known"]].tolist() == [2, 1, 1]
    assert (counts["spoilt_by"], counts["lacks"]) == ("burst 1", "prefix state 1")
    assert uses(runs.iloc[:0])["stand"].tolist() == [0, 0, 0]


def test_what_readers_noticed_is_told_beside_what_checks_find():
    said = "the load rises; merged stream chunks: mean ITL 20.5 ms, mean TPOT 20 ms; a ramp"
    told = {"warnings": said}
    found = _found(told | {"mean_itl_ms": 20.5})
    assert found["0", "noticed"] == "the load rises; a ramp", "one finding a run, as of any check"
    assert len(hc.diagnose(_runs(told | {"mean_itl_ms": 20.5}))) == 2
    assert set(found) == {("0", "noticed"), ("0", "merged_chunks")}
