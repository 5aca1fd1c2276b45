import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.errors import AssumptionError, HetcostError, UnknownNameError
from hetcost.slo import SLO, meets_slo


def test_an_slo_is_a_value():
    chat = SLO(p99_ttft_ms=300, p99_tpot_ms=50)
    assert chat == SLO(p99_tpot_ms=50.0, p99_ttft_ms=300.0)
    assert hash(chat) == hash(SLO(p99_tpot_ms=50, p99_ttft_ms=300))
    assert eval(repr(chat)) == chat
    assert pickle.loads(pickle.dumps(chat)) == chat
    with pytest.raises(AttributeError):
        chat._limits = ()
    assert str(SLO(p99_9_e2el_ms=12_000)) == "P99.9 E2E ≤ 12,000 ms"
    assert str(SLO()) == "no latency limit"


@pytest.mark.parametrize("name", ["p99_ttft", "p99_itl_ms", "mean_ttft_ms", "ttft_ms"])
def test_an_unknown_limit_is_refused_with_the_nearest(name):
    with pytest.raises(UnknownNameError, match=rf"unknown limit '{name}'.*'p\d\d_\w+_ms'"):
        SLO(**{name: 100})


def test_the_nearest_name_leads():
    with pytest.raises(UnknownNameError, match="such as 'p99_ttft_ms'"):
        SLO(p99_tftt_ms=100)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "300", None, True])
def test_a_limit_is_a_number_above_0(limit):
    with pytest.raises(AssumptionError, match="p99_ttft_ms="):
        SLO(p99_ttft_ms=limit)
    with pytest.raises(HetcostError, match="at most at 100"):
        SLO(p101_ttft_ms=1)


def _frame(**columns):
    return pd.DataFrame(columns)


def test_rows_are_judged_and_none_is_dropped():
    frame = _frame(
        p99_ttft_ms=[100.0, 400.0, np.nan, 300.0], p99_tpot_ms=[20.0, 60.0, 20.0, np.nan]
    )
    out = meets_slo(frame, SLO(p99_ttft_ms=300, p99_tpot_ms=50))
    assert len(out) == 4
    assert out["meets_slo"].dtype == "boolean"
    assert list(out["meets_slo"].astype(object).fillna("?")) == [True, False, "?", "?"]
    assert out["slo_note"][0] == ""
    assert out["slo_note"][1] == "p99_tpot_ms above 50; p99_ttft_ms above 300"
    assert out["slo_note"][2] == "p99_ttft_ms not measured"
    assert "meets_slo" not in frame


def test_one_broken_limit_decides_even_if_another_is_unknown():
    out = meets_slo(_frame(p99_ttft_ms=[900.0]), SLO(p99_ttft_ms=300, p99_tpot_ms=50))
    assert not out["meets_slo"].item()
    assert "p99_tpot_ms not measured" in out["slo_note"].item()


def test_failed_requests_are_misses():
    limit = SLO(p99_ttft_ms=100)
    counts = {"completed": [198, 199, 180, 100], "failed": [102, 1, 20, None], "n_requests": 200}
    out = meets_slo(_frame(p99_ttft_ms=90.0, **counts), limit)
    assert list(out["meets_slo"].astype(object).fillna("?")) == [False, "?", False, False]
    assert out["slo_note"][0] == "p99_ttft_ms: too many requests failed"
    assert "that succeeded" in out["slo_note"][1]
    assert not meets_slo(_frame(p99_ttft_ms=110.0, **counts), limit)["meets_slo"].any()
    exactly = _frame(p90_ttft_ms=90.0, completed=[180], failed=[20])
    assert meets_slo(exactly, SLO(p90_ttft_ms=100))["meets_slo"].isna().item()
    lost = _frame(p99_ttft_ms=90.0, completed=[50], failed=[0], n_requests=[100])
    assert not meets_slo(lost, limit)["meets_slo"].item(), "50 requests are unaccounted for"
    assert meets_slo(_frame(p99_ttft_ms=[-5.0]), limit)["meets_slo"].isna().item()
    nobody = _frame(p99_ttft_ms=[np.nan], completed=[0], failed=[20])
    assert not meets_slo(nobody, SLO(p99_ttft_ms=100))["meets_slo"].item()


def test_without_limits_all_that_answered_comply():
    frame = _frame(completed=[10, 0], failed=[0, 0])
    assert list(meets_slo(frame, SLO())["meets_slo"].astype(object).fillna("?")) == [True, "?"]


def test_a_looser_slo_never_loses_a_row(runs):
    kept = [meets_slo(runs, SLO(p99_ttft_ms=ms))["meets_slo"] for ms in (50, 100, 500, 5_000)]
    for strict, loose in itertools.pairwise(kept):
        assert (loose | ~strict).all()
    assert hc.meets_slo is meets_slo


# --- with a confidence --------------------------------------------------------------------------


def _measured(n, **percentiles):
    return pd.DataFrame([{"completed": n, "failed": 0, **percentiles}])


def _verdict(frame, confidence=0.95, **limits):
    row = hc.meets_slo(frame, hc.SLO(**limits), confidence=confidence).iloc[0]
    return row["meets_slo"], row["slo_note"]


def test_the_p99_of_200_requests_has_no_upper_bound():
    kept, note = _verdict(_measured(200, p95_ttft_ms=80.0, p99_ttft_ms=100.0), p99_ttft_ms=300)
    assert kept is pd.NA
    assert "p99_ttft_ms undetermined: the P99 TTFT of 200 requests is not bounded" in note
    assert _verdict(_measured(200, p99_ttft_ms=100.0), None, p99_ttft_ms=300) == (True, "")


@pytest.mark.parametrize(("n", "bounded"), [(298, False), (299, True), (5000, True)])
def test_the_largest_of_299_bounds_the_p99(n, bounded):
    frame = _measured(n, p99_ttft_ms=100.0, p100_ttft_ms=200.0)
    kept, _ = _verdict(frame, p99_ttft_ms=300)
    assert (kept is not pd.NA) == bounded


def test_a_higher_percentile_bounds_a_lower_one_and_a_lower_breaks_a_higher():
    frame = _measured(200, p50_ttft_ms=40.0, p90_ttft_ms=90.0, p95_ttft_ms=100.0, p99_ttft_ms=900.0)
    assert _verdict(frame, p90_ttft_ms=100) == (True, "")
    assert _verdict(frame, p90_ttft_ms=95)[0] is pd.NA, "P90 is kept, but its bound P95 is not"
    assert _verdict(frame, p99_ttft_ms=99)[0] == False  # noqa: E712
    assert "above 99 at 95 %" in _verdict(frame, p99_ttft_ms=99)[1]
    assert _verdict(frame, p99_ttft_ms=899)[0] is pd.NA, "broken as measured, not with confidence"


def test_a_failed_request_ranks_above_all_others():
    many = _measured(5000, p99_ttft_ms=100.0, p99_9_ttft_ms=110.0)
    assert _verdict(many.assign(failed=1), p99_ttft_ms=300) == (True, "")
    kept, note = _verdict(many.assign(failed=100), p99_ttft_ms=300)
    assert kept == False  # noqa: E712
    assert note == "p99_ttft_ms: too many requests failed, at 95 %"
    few = _measured(197, p99_ttft_ms=100.0).assign(failed=3)
    kept, note = _verdict(few, p99_ttft_ms=300)
    assert kept is pd.NA, "three of 200 fail about as often where one in a hundred does"
    assert "of 200 requests is not bounded" in note
    assert _verdict(few, None, p99_ttft_ms=300)[0] == False  # noqa: E712


def test_a_request_that_the_end_cut_off_did_not_fail():
    frame = _measured(46, p99_ttft_ms=100.0).assign(n_requests=47)
    assert _verdict(frame, None, p99_ttft_ms=300)[0] == False  # noqa: E712
    assert _verdict(frame.assign(cut_off=1), None, p99_ttft_ms=300) == (True, "")


def test_a_verdict_that_is_missing_has_a_note():
    uncounted = pd.DataFrame([{"p99_ttft_ms": 100.0}])
    assert "how many requests completed is not known" in _verdict(uncounted, p99_ttft_ms=300)[1]
    assert _verdict(_measured(5000), p99_ttft_ms=300)[1] == "p99_ttft_ms not measured"


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(5)
    n, true = 400, -np.log(0.1)
    samples = rng.exponential(size=(2000, n))
    frame = pd.DataFrame(
        {f"p{q}_ttft_ms": np.percentile(samples, q, axis=1) for q in range(85, 100)}
    ).assign(completed=n, failed=0)
    wrong = [
        hc.meets_slo(frame, hc.SLO(p90_ttft_ms=limit), confidence=0.95)["meets_slo"]
        for limit in (true * 0.999, true * 1.001)
    ]
    assert (wrong[0].fillna(False)).mean() <= 0.05, "kept, where the limit is broken"
    assert (~wrong[1].fillna(True)).mean() <= 0.05, "broken, where the limit is kept"


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(AssumptionError, match=r"confidence.*between 0 and 1"):
        hc.meets_slo(_measured(200), hc.SLO(), confidence=confidence)
