import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import hetcost as hc
from hetcost.errors import AssumptionError, ColumnError, DataWarning, UnknownNameError
from hetcost.frontier import head_to_head

SMALL = arrays(
    np.float64,
    st.tuples(st.integers(1, 25), st.just(3)),
    elements=st.one_of(st.integers(0, 4).map(float), st.just(np.inf)),
)


def _by_definition(values):
    def dominates(a, b):
        return (a <= b).all() and (a < b).any()

    return [not any(dominates(other, row) for other in values) for row in values]


@given(SMALL)
def test_pareto_is_the_definition(values):
    frame = pd.DataFrame(values * [1, 1, -1], columns=list("abc"), index=[7] * len(values))
    found = hc.pareto(frame, minimize=["a", "b"], maximize="c")
    pd.testing.assert_frame_equal(found, frame[_by_definition(values)])


def test_pareto_keeps_ties_and_sets_missing_rows_apart():
    frame = pd.DataFrame({"a": [1.0, 1.0, 2.0, np.nan], "b": [2.0, 2.0, 2.0, 0.0]})
    with pytest.warns(DataWarning, match="1 of 4 rows"):
        assert list(hc.pareto(frame, minimize=["a", "b"]).index) == [0, 1]


def test_pareto_of_nothing():
    frame = pd.DataFrame({"a": [1.0]})
    assert hc.pareto(frame.iloc[:0], minimize="a").empty
    with pytest.raises(AssumptionError, match="at least one column"):
        hc.pareto(frame)
    with pytest.raises(AssumptionError, match="'a' cannot be"):
        hc.pareto(frame, minimize="a", maximize="a")
    with pytest.raises(ColumnError, match="'z'"):
        hc.pareto(frame, minimize="z")


def _evaluated(rows):
    frame = pd.DataFrame(rows, columns=["gpu", "cost", "meets_slo"])
    return frame.rename(columns={"cost": "usd_per_mtok_out"}).astype({"meets_slo": "boolean"})


def test_the_cheapest_row_that_keeps_the_slo():
    frame = _evaluated(
        [("A", 3.0, True), ("A", 1.0, False), ("A", 2.0, True), ("A", 0.5, None), ("A", 2.0, True)]
    )
    assert list(hc.sweet_spots(frame, by="gpu").index) == [2]


def test_a_group_without_a_spot_is_named():
    frame = _evaluated([("A", 3.0, True), ("B", 1.0, False), ("C", np.nan, True)])
    with pytest.warns(DataWarning, match="2 of 3 groups have no row .*: 'B', 'C'"):
        assert list(hc.sweet_spots(frame, by="gpu")["gpu"]) == ["A"]


def test_sweet_spots_refuse_what_they_do_not_know():
    frame = _evaluated([("A", 3.0, True)])
    with pytest.raises(UnknownNameError, match="'cheapest'"):
        hc.sweet_spots(frame, by="gpu", rule="best")
    with pytest.raises(UnknownNameError, match="'out'"):
        hc.sweet_spots(frame, by="gpu", basis="in")
    with pytest.raises(ColumnError, match="meets_slo"):
        hc.sweet_spots(frame.drop(columns="meets_slo"), by="gpu")


def test_sweet_spots_of_the_study(paper):
    tested = hc.meets_slo(paper, hc.SLO(p99_ttft_ms=700))
    with warnings.catch_warnings(action="ignore", category=DataWarning):
        spots = hc.sweet_spots(tested, by=["model", "gpu", "n_gpus"], basis="all")
    pair = spots.query("gpu == 'RTX 4090' and n_gpus == 2 and model.str.contains('14B')").iloc[0]
    assert (pair["request_rate_per_s"], round(pair["usd_per_mtok_all"], 3)) == (4.0, 0.111)
    duels = head_to_head(spots, basis="all")
    assert set(duels["gpu"]) | set(duels["other_gpu"]) == {"H100 PCIe 80GB", "RTX 4090"}
    assert duels["saving_frac"].between(0, 1).all()
    assert len(duels) == 5
