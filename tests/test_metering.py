"""Energy from power logs: what is integrated, what is refused, what is told."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetcost as hc
from hetcost.errors import AssumptionError, ColumnError

RUN = {"gpu": "RTX 4090", "n_gpus": 1, "start_s": 100.0, "duration_s": 50.0}


def _runs(*changes):
    return pd.DataFrame([RUN | change for change in (changes or ({},))])


def _log(watts=300.0, *, start=90.0, end=160.0, every=1.0, gpu="a"):
    times = np.arange(start, end + every / 2, every)
    power = watts(times) if callable(watts) else np.full(len(times), float(watts))
    return pd.DataFrame({"t_s": times, "gpu_uuid": gpu, "power_w": power})


def _one(runs, log, **options):
    return hc.attach_power(runs, log, **options).iloc[0]


def test_constant_power_is_power_times_time():
    out = _one(_runs(), _log(300))
    assert (out["gpu_energy_j"], out["gpu_power_w"]) == (pytest.approx(15_000), pytest.approx(300))
    assert (out["energy_method"], out["power_covered_frac"], out["power_note"]) == (
        "integrated",
        1.0,
        "",
    )


def test_a_ramp_is_integrated_exactly_whatever_the_stamps():
    def ramp(t):
        return 2 * t

    rng = np.random.default_rng(1)
    log = _log(ramp, every=0.7)
    uneven = log.assign(t_s=np.sort(rng.uniform(90, 160, len(log))))
    uneven["power_w"] = ramp(uneven["t_s"])
    for samples in (log, uneven.sample(frac=1, random_state=2)):
        energy = _one(_runs(), samples, max_gap_s=20)["gpu_energy_j"]
        assert energy == pytest.approx(150**2 - 100**2, rel=1e-9)


def test_boards_are_summed_each_on_its_own_stamps():
    two = pd.concat([_log(300), _log(200, every=3.0, gpu="b")])
    out = _one(_runs({"n_gpus": 2}), two)
    assert out["gpu_energy_j"] == pytest.approx(25_000)


@given(
    cut=st.floats(min_value=103.0, max_value=147.0),
    watts=st.lists(st.floats(min_value=0, max_value=700), min_size=71, max_size=71),
)
def test_two_halves_make_the_whole(cut, watts):
    log = _log().assign(power_w=watts)
    whole = _one(_runs(), log)["gpu_energy_j"]
    halves = hc.attach_power(
        _runs({"duration_s": cut - 100}, {"start_s": cut, "duration_s": 150 - cut}), log
    )
    assert halves["gpu_energy_j"].sum() == pytest.approx(whole, abs=1e-6)


def test_a_gap_is_not_bridged_and_its_share_is_told():
    log = _log(300)
    hole = log[(log["t_s"] <= 120) | (log["t_s"] >= 124)]
    out = _one(_runs(), hole, max_gap_s=3)
    assert out["power_covered_frac"] == pytest.approx(46 / 50)
    assert out["gpu_energy_j"] == pytest.approx(15_000), "the gap draws the mean of the rest"
    wide = log[(log["t_s"] <= 120) | (log["t_s"] >= 130)]
    out = _one(_runs(), wide)
    assert np.isnan(out["gpu_energy_j"])
    assert out["power_note"] == "the log covers 80% of the run, less than 90%"
    assert _one(_runs(), wide, min_covered_frac=0.8)["gpu_energy_j"] == pytest.approx(15_000)


def test_a_log_that_starts_late_or_lacks_a_board_gives_nothing_and_says_so():
    late = _one(_runs(), _log(start=110))
    assert np.isnan(late["gpu_energy_j"])
    assert late["power_covered_frac"] == pytest.approx(0.8)
    lacking = _one(_runs({"n_gpus": 2}), _log())
    assert np.isnan(lacking["gpu_energy_j"])
    assert lacking["power_note"] == "1 of 2 boards are in the log"


def test_two_samples_around_a_run_are_no_measurement():
    wide = _log(start=0.0, end=1000.0, every=1000.0)
    with pytest.raises(AssumptionError, match="overlaps no run"):
        hc.attach_power(_runs(), wide)


def test_a_second_log_adds_to_the_first():
    runs = _runs({}, {"start_s": 900.0})
    first = hc.attach_power(runs, _log())
    both = hc.attach_power(first, _log(200, start=890, end=960))
    assert both["gpu_energy_j"].tolist() == [pytest.approx(15_000), pytest.approx(10_000)]
    assert both["power_note"].tolist() == ["", ""]


def test_runs_at_one_time_name_their_boards():
    runs = _runs({}, {"start_s": 120.0})
    out = hc.attach_power(runs, _log())
    assert out["gpu_energy_j"].isna().all()
    assert out["power_note"].str.contains("another run took place at the same time").all()
    log = pd.concat([_log(300), _log(200, gpu="b")])
    late = runs.assign(gpu_uuids=["a", "b"], start_s=[100.0, 105.0])
    assert hc.attach_power(late, log)["gpu_power_w"].tolist() == pytest.approx([300, 200])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"min_covered_frac": 90}, "min_covered_frac=90: valid values are above 0, at most 1"),
        ({"min_covered_frac": 0}, "min_covered_frac=0"),
        ({"max_gap_s": -1}, "max_gap_s=-1: valid values are above 0"),
        ({"start_s": None}, "start_s=None: a column's name or one number"),
    ],
)
def test_arguments_out_of_range_are_refused(options, told):
    with pytest.raises(AssumptionError, match=told):
        hc.attach_power(_runs(), _log(), **options)


def test_times_are_numbers_of_seconds():
    log = _log()
    stamped = log.assign(t_s=pd.to_datetime(log["t_s"], unit="s"))
    with pytest.raises(ColumnError, match="'t_s' is a time, not a number"):
        hc.attach_power(_runs(), stamped)
    with pytest.raises(ColumnError, match="'start_s' is a time, not a number"):
        hc.attach_power(_runs({"start_s": pd.Timestamp(100, unit="s")}), log)


def test_runs_that_the_log_does_not_reach_keep_what_they_had():
    runs = _runs({}, {"start_s": 900.0, "gpu_energy_j": 5.0, "energy_method": "counter"})
    out = hc.attach_power(runs, _log())
    assert out["gpu_energy_j"].tolist() == [pytest.approx(15_000), 5.0]
    assert out["energy_method"].tolist() == ["integrated", "counter"]
    assert out["power_note"].tolist() == ["", ""]


def test_measured_energy_goes_through_to_joules_per_token():
    rates = {"out_tok_per_s": 100.0, "all_tok_per_s": 200.0}
    runs = hc.attach_power(_runs(rates, rates | {"start_s": 900.0}), _log(300))
    out = hc.with_energy(runs, hc.Scenario(power_model="measured"))
    assert out["gpu_j_per_tok_out"][0] == pytest.approx(3.0)
    assert out["power_quality"][0] == "measured, integrated"
    assert out["energy_note"][1] == "the log holds no two samples in the run"


def test_what_makes_no_sense_is_refused():
    log = _log()
    with pytest.raises(
        AssumptionError, match=r"\(90 to 160 s\) overlaps no run \(1000 to 1050 s\)"
    ):
        hc.attach_power(_runs({"start_s": 1000.0}), log)
    two = pd.concat([log, _log(gpu="b")])
    with pytest.raises(AssumptionError, match=r"2 boards .'a', 'b'., the run used 1: keep its own"):
        hc.attach_power(_runs(), two)
    with pytest.raises(ColumnError, match=r"lack 'start_s'.*start_s="):
        hc.attach_power(_runs().drop(columns="start_s"), log)
    with pytest.raises(ColumnError, match="power_w=-1 in row 0"):
        hc.attach_power(_runs(), _log(-1.0))
    twice = pd.concat([log, log.assign(power_w=9.0)])
    with pytest.raises(ColumnError, match="'a' has two readings at t_s=90"):
        hc.attach_power(_runs(), twice)
    with pytest.raises(ColumnError, match="lacks 'gpu_uuid'"):
        hc.attach_power(_runs(), log.drop(columns="gpu_uuid"))
    with pytest.raises(ColumnError, match="'power_w' is not a number"):
        hc.attach_power(_runs(), log.astype({"power_w": "str"}).assign(power_w="[N/A]"))
    with pytest.raises(AssumptionError, match=r"empty.*overlaps no run"):
        hc.attach_power(_runs(), log.iloc[:0])


def test_unusable_samples_are_counted():
    log = _log()
    log.loc[[30, 31], "power_w"] = np.nan
    with pytest.warns(hc.DataWarning, match="2 of 71 samples lack"):
        out = _one(_runs(), log)
    assert out["gpu_energy_j"] == pytest.approx(15_000)


@pytest.mark.parametrize(("every", "joules"), [(20, 15_000), (5, None)])
def test_a_board_that_often_gives_nothing_was_not_measured(every, joules):
    log = _log()
    log.loc[log.index % every == 0, "power_w"] = np.nan
    with pytest.warns(hc.DataWarning, match="samples lack"):
        out = _one(_runs(), log)
    if joules:
        assert out["gpu_energy_j"] == pytest.approx(joules)
    else:
        assert np.isnan(out["gpu_energy_j"])
        assert out["power_note"] == "78% of a board's samples have power, less than 90%"


def test_one_start_for_all_and_nothing_is_changed():
    runs, log = _runs().drop(columns="start_s"), _log()
    before = runs.copy(), log.copy()
    assert _one(runs, log, start_s=100.0)["gpu_energy_j"] == pytest.approx(15_000)
    pd.testing.assert_frame_equal(runs, before[0])
    pd.testing.assert_frame_equal(log, before[1])
    assert hc.attach_power(_runs().iloc[:0], log).empty


def test_a_run_without_duration_is_told():
    out = hc.attach_power(_runs({}, {"duration_s": np.nan}), _log())
    assert out["power_note"].tolist() == ["", "the run has no start or no duration"]
