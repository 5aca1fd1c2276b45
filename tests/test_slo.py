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
