"""Logs of power: every form gives its joules; what is wrong is refused or told with its place."""

import datetime as dt
import itertools
import json
import os
import random
import warnings
import zoneinfo
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.errors import AssumptionError, HetcostError, ReadError, UnknownNameError

T0 = 1_700_000_000.0  # 2023-11-14 22:13:20 UTC
A, B = "GPU-aaaaaaaa-1111", "GPU-bbbbbbbb-2222"
SAMPLES = os.environ.get("HETCOST_SAMPLES")
needs_samples = pytest.mark.skipif(not SAMPLES, reason="HETCOST_SAMPLES is not set")


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Return a function that writes a log and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="log.csv"):
        Path(name).write_text(text, "utf-8")
        return name

    return write


def _joules(power, board=None):
    rows = power if board is None else power[power["gpu_uuid"] == board]
    assert len(set(rows["gpu_uuid"])) == 1
    return float(np.trapezoid(rows["power_w"], rows["t_s"]))


def _scan(paths, **options):
    """Scan without regard to what is told."""
    with warnings.catch_warnings(action="ignore", category=hc.DataWarning):
        return hc.scan_power(paths, **options)


def _reasons(paths, **options):
    refused = _scan(paths, **options).refused
    return list(zip(refused["line"], refused["reason"], strict=True))


def _stamp(seconds):
    when = dt.datetime.fromtimestamp(T0 + seconds, dt.UTC)
    return when.strftime("%Y/%m/%d %H:%M:%S.") + f"{when.microsecond // 1000:03d}"


# Two boards at 0, 1, 2 s: A 100, 200, 300 W (400 J), B 50 W (100 J).
READINGS = [(0, 100.0, 50.0), (1, 200.0, 50.0), (2, 300.0, 50.0)]


def _smi(header, row, unit=" W", end="\n"):
    lines = [] if header is None else [header]
    for second, *watts in READINGS:
        for index, power in enumerate(watts):
            cells = {
                "t": _stamp(second + index / 1000),
                "i": index,
                "u": (A, B)[index],
                "p": f"{power:.2f}{unit}",
            }
            cells |= dict(zip("dh", cells["t"].split(" "), strict=True))
            lines.append(row.format(**cells))
    return "\n".join(lines) + end


SMI = {
    "units in cells and header": (
        "timestamp, index, uuid, name, power.draw [W]",
        "{t}, {i}, {u}, NVIDIA GeForce RTX 4090, {p}",
        " W",
        {},
    ),
    "nounits": ("timestamp, uuid, power.draw [W], power.limit [W]", "{t}, {u}, {p}, 450", "", {}),
    "noheader with uuids": (None, "{t}, {u}, 45, {p}", " W", {}),
    "noheader, columns listed": (
        None,
        "{t}, {i}, 45, {p}",
        "",
        {"columns": ["timestamp", "index", "temperature.gpu", "power.draw [W]"]},
    ),
    "semicolons": ("timestamp;gpu_uuid;power.draw [W]", "{t};{u};{p}", " W", {}),
    "header before every row": (
        None,
        "timestamp, uuid, power.draw [W]\n{t}, {u}, {p}",
        " W",
        {},
    ),
    "a bus address": (
        "timestamp, pci.bus_id, power.draw [W]",
        "{t}, 00000000:0{i}:00.0, {p}",
        " W",
        {},
    ),
    "own names": (
        "P,when,who",
        "{p},{t},{u}",
        "",
        {"columns": {"P": "power_w", "when": "timestamp", "who": "gpu_uuid"}},
    ),
    "quoted": ('"timestamp","uuid","power.draw [W]"', '"{t}","{u}","{p}"', " W", {}),
    "amd-smi, lists in cells": (
        "timestamp,gpu,gfx_activity,socket_power",
        '{t},{i},"[1, 2]",{p}\n',
        "",
        {},
    ),
    "day and time apart": ("date,time,gpu_uuid,power_w", "{d},{h},{u},{p}", "", {}),
    "draw is N/A, instant is there": (
        "timestamp, uuid, power.draw [W], power.draw.instant [W]",
        "{t}, {u}, [N/A], {p}",
        " W",
        {},
    ),
}


@pytest.mark.parametrize("shape", SMI)
def test_every_shape_of_nvidia_smi_gives_the_same_joules(log, shape):
    header, row, unit, options = SMI[shape]
    power = hc.read_power(log(_smi(header, row, unit)), timezone="UTC", **options)
    first, second = sorted(power["gpu_uuid"].unique())
    assert (_joules(power, first), _joules(power, second)) == pytest.approx((400, 100))
    assert power["t_s"].min() == T0
    assert set(power["scope"]) == {"board"}
    assert set(power["source"]) == {"log.csv"}


def test_the_frame_goes_into_attach_power_and_back_through_a_file(log):
    header, row, unit, options = SMI["units in cells and header"]
    power = hc.read_power(log(_smi(header, row, unit)), timezone="UTC", **options)
    assert power.columns.tolist() == [
        *("t_s", "gpu_uuid", "power_w", "energy_j", "gpu", "scope", "tool", "source")
    ]
    runs = pd.DataFrame([{"n_gpus": 2, "start_s": T0, "duration_s": 2.0}])
    out = hc.attach_power(runs, power, min_covered_frac=0.9).iloc[0]
    # B was read a thousandth of a second late, and its log covers so much less of the run.
    assert out["gpu_energy_j"] == pytest.approx(500, rel=1e-3)
    power.to_csv("tidy.csv", index=False)
    again = hc.read_power("tidy.csv")
    same = [name for name in power if name not in ("source", "tool")]
    pd.testing.assert_frame_equal(again[same], power[same])


def test_a_log_that_does_not_cover_the_run_gives_no_energy(log):
    power = hc.read_power(log(_smi(*SMI["nounits"][:2], "")), timezone="UTC")
    runs = pd.DataFrame([{"n_gpus": 2, "start_s": T0 + 0.5, "duration_s": 10.0}])
    out = hc.attach_power(runs, power).iloc[0]
    assert np.isnan(out["gpu_energy_j"])
    assert out["power_note"] == "the log covers 15% of the run, less than 90%"
    with pytest.raises(AssumptionError, match="overlaps no run"):
        hc.attach_power(runs.assign(start_s=T0 + 7200), power)


def _one(*cells, header="timestamp, uuid, power.draw [W]"):
    rows = [f"{_stamp(second)}, {A}, {cell}" for second, cell in enumerate(cells)]
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    "cell", ["[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "ERR!", "", "-", "[GPU is lost]"]
)
def test_a_missing_reading_is_nan_and_told(log, cell):
    text = _one("100 W", cell, "300 W")
    with pytest.warns(hc.DataWarning, match=f"board {A}: 1 of 3 samples have no power"):
        power = hc.read_power(log(text), timezone="UTC")
    assert np.isnan(power["power_w"][1])
    assert not (power["power_w"] == 0).any()


LINES = {
    "a decimal comma in its cell": ("100 W\n{t}; 1; 11,41 W", r"'11,41 W': a decimal comma"),
    "text": ("much W", "'much W' is no number"),
    "negative": ("-5.00 W", "'-5.00 W' is negative"),
    "another unit": ("31 C", "'31 C': the unit is none of W,"),
    "a cell too many": ("11,41 W", "4 cells where the header has 3; are there decimal commas"),
    "a glitch": ("4294967.29 W", f"board {A}: 4.29497e\\+06 W is far over"),
}


@pytest.mark.parametrize("kind", [kind for kind in LINES if "comma in" not in kind])
def test_what_is_no_sample_is_refused_by_line(log, kind):
    cell, told = LINES[kind]
    text = _one("100 W", "100 W", cell, "100 W", "100 W")
    scan = _scan(log(text), timezone="UTC")
    assert scan.power["power_w"].tolist() == [100] * 4
    assert scan.refused["line"].tolist() == [4]
    with pytest.raises(ReadError, match=f"1 refused \\(4 samples.*\n.*log.csv, line 4: .*{told}"):
        hc.read_power("log.csv", timezone="UTC")


def test_decimal_commas_are_read_where_asked(log):
    text = "timestamp;uuid;power.draw [W]\n" + "".join(
        f"2026/04/23 20:37:{29 + n},291; {A}; {n + 1}1,41 W\n" for n in range(3)
    )
    with pytest.raises(ReadError, match=r"'11,41 W': a decimal comma, where decimal='\.'"):
        hc.read_power(log(text), timezone="UTC")
    power = hc.read_power("log.csv", timezone="UTC", decimal=",")
    assert power["power_w"].tolist() == [11.41, 21.41, 31.41]
    assert power["t_s"][0] % 1 == pytest.approx(0.291, abs=1e-6)
    with pytest.raises(ReadError, match="a decimal point, where decimal=','"):
        hc.read_power(log(_one("53.16 W", "53.16 W")), timezone="UTC", decimal=",")


def test_ragged_rows_and_stamps_alone(log):
    sweep = "1700000{n},card0,154.0\n1700000{n},card1,145.0\n1700000{n},\n"
    head = "timestamp,device,power_watts,power_cap_watts\n"
    text = head + "".join(sweep.format(n=n) for n in range(100, 105))
    with pytest.warns(hc.DataWarning, match="5 rows hold a stamp and nothing else"):
        power = hc.read_power(log(text))
    assert power["power_w"].groupby(power["gpu_uuid"]).mean().tolist() == [154, 145]
    assert _reasons(log(text + "1700000105,card0\n")) == [(17, "2 cells where 3 belong")]


def test_the_last_row_may_be_cut_short(log):
    text = _one("100.00 W", "100.00 W", "145.00 W")
    assert _reasons(log(text[:-4]), timezone="UTC") == [
        (4, "the last row is cut short: its power has lost its unit")
    ]
    assert _reasons(log(text[:-1]), timezone="UTC") == [], "no line end alone is no loss"


@pytest.mark.parametrize(
    ("zone", "written", "seconds"),
    [
        ("UTC", "2026-01-31 12:00:00", 1769860800),
        ("Europe/Berlin", "2026-01-31 12:00:00.5", 1769857200.5),
        ("+05:30", "2026/01/31 12:00:00", 1769841000),
        (zoneinfo.ZoneInfo("America/New_York"), "2026-07-31 12:00:00", 1785513600),
        (None, "2026-01-31T12:00:00Z", 1769860800),
        (None, "2026-01-31T12:00:00+01:00", 1769857200),
        ("Europe/Berlin", "2026-01-31T12:00:00Z", 1769860800),
        (None, "1769860800", 1769860800),
        (None, "1769860800.25", 1769860800.25),
        (None, "1769860800123", 1769860800.123),
        (None, "1769860800123456", 1769860800.123456),
        (None, "Sat Jan 31 12:00:00 2026 +0100", 1769857200),
    ],
)
def test_stamps(log, zone, written, seconds):
    text = f"timestamp,uuid,power_w\n{written},{A},100\n"
    power = hc.read_power(log(text), timezone=zone)
    assert power["t_s"].item() == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("2026-03-29 02:30:00", "is never in Europe/Berlin, where clocks are set forward"),
        ("2026-10-25 02:30:00", "is twice in Europe/Berlin, where clocks are set back"),
        ("12:30:00", "a time of day without its day"),
        ("2026-02-30 02:30:00", "there is no such day"),
        ("03/04/2026 02:30:00", "is no time"),
        ("soon", "is no time"),
        ("", "a row without its time"),
        ("9" * 30, "is no time"),
        ("12.5", "a clock that does not count from 1970: pass zero_s="),
    ],
)
def test_stamps_that_may_mean_anything_are_refused(log, written, told):
    text = f"timestamp,uuid,power_w\n{written},{A},100\n2026-01-31 12:00:00,{A},100\n"
    ((line, reason),) = _reasons(log(text), timezone="Europe/Berlin")
    assert line == 2
    assert told in reason


def test_a_log_across_the_end_of_summer_time(log):
    stamps = [f"2026-10-25 {hour:02d}:{minute:02d}:00" for hour in (1, 2, 3) for minute in (0, 30)]
    text = "timestamp,uuid,power_w\n" + "".join(f"{stamp},{A},100\n" for stamp in stamps)
    scan = _scan(log(text), timezone="Europe/Berlin")
    assert scan.refused["line"].tolist() == [4, 5]
    # From half past one in summer to three in winter are two and a half hours.
    assert np.diff(scan.power["t_s"]).tolist() == [1800, 2.5 * 3600, 1800]


def test_a_zone_is_asked_for_once_and_checked(log):
    name = log(_one("100 W", "100 W"))
    ((line, reason),) = _reasons(name)
    assert line == 2
    assert "pass timezone=" in reason
    assert "the same of its 1 other lines" in reason
    with pytest.raises(
        UnknownNameError, match=r"timezone: unknown value 'Europe/Berln'.*'Europe/Berlin'"
    ):
        hc.read_power(name, timezone="Europe/Berln")
    for zone in ("America", "../UTC", "", 3):
        with pytest.raises(HetcostError, match="timezone"):
            hc.read_power(name, timezone=zone)


@pytest.mark.parametrize(
    ("card", "factor", "likely"),
    [
        ("NVIDIA GeForce RTX 4090", 1e3, r"likely milliwatts \(310 W\)"),
        ("NVIDIA GeForce RTX 4090", 1e2, r"likely milliwatts \(31 W\) or hundredths of a watt"),
        (None, 1e3, "the highest limit of any card in data/reference; likely milliwatts"),
        ("Unheard-of Card", 1e3, "the highest limit of any card"),
        ("NVIDIA GeForce RTX 4090", 1e-3, r"likely kilowatts \(310 W\)"),
        ("NVIDIA GeForce RTX 4090", 0, "0 W all through, which no board draws"),
    ],
)
def test_other_units_than_watts_are_refused_with_the_likely_one(log, card, factor, likely):
    text = _one(*[f"{310 * factor}"] * 4)
    with pytest.raises(ReadError, match=rf"line 2: board {A}: .*{likely}.*\(4 samples\)"):
        hc.read_power(log(text), timezone="UTC", gpu=card)


def test_units_that_are_stated_are_read(log):
    for header, cell in (
        ("power.draw [mW]", "310000"),
        ("power_mw", "310000"),
        ("power.draw [W]", "0.31 kW"),
        ("gpu_power (mW)", "310000"),
        ("power_w", "310000 mW"),
    ):
        text = _one(cell, cell, header=f"timestamp, uuid, {header}")
        power = hc.read_power(log(text), timezone="UTC")
        assert power["power_w"].tolist() == [310, 310], header


def test_own_tables_of_cards_set_the_bound(log, tmp_path):
    rows = "entity,quantity,value,low,high,unit,source,url,date,licence,quality,note\n"
    rows += "Furnace,tdp_w,9000,,,W,us,https://example.org,2026,facts only,A,\n"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "gpus.csv").write_text(rows)
    name = log(_one("8000 W", "8000 W"))
    with pytest.raises(ReadError, match="far over"):
        hc.read_power(name, timezone="UTC", gpu="Furnace")
    power = hc.read_power(name, timezone="UTC", gpu="Furnace", tables=tmp_path / "own")
    assert len(power) == 2


def test_several_boards_without_a_column_that_tells_them_apart(log):
    text = _smi("timestamp, power.draw [W]", "{t}, {p}")
    with pytest.raises(ReadError, match="rows come in bunches: several boards"):
        hc.read_power(log(text), timezone="UTC")
    with pytest.raises(ReadError, match="'0' may be an index or something else: pass columns="):
        hc.read_power(log(_smi(None, "{t}, {i}, {p}")), timezone="UTC")

    text = "timestamp, count, power.draw [W]\n" + "".join(
        f"{_stamp(n)}, 2, 100 W\n" for n in range(5)
    )
    with pytest.raises(ReadError, match="the machine has several boards"):
        hc.read_power(log(text), timezone="UTC")
    with pytest.raises(ReadError, match="no header, and 0 cells in W: pass columns="):
        hc.read_power(log(_smi(None, "{t}, {i}, {p}", "")), timezone="UTC")


def test_names_that_nothing_should_show_and_rows_without_board(log):
    text = f"timestamp,uuid,power_w\n{T0},GPU\u202eevil,100\n{T0 + 1},,100\n{T0 + 2},{A},100\n"
    assert _reasons(log(text)) == [
        (2, "the name of its board is not plain text"),
        (3, "a row without its board"),
    ]


def test_what_the_driver_says_in_between_is_refused(log):
    lost = "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost."
    text = _one("100 W", "100 W") + lost + "\n"
    assert _reasons(log(text), timezone="UTC") == [(4, "1 cells where 3 belong")]


def test_two_machines_are_told_apart_by_file(log):
    text = _smi("timestamp, index, power.draw [W]", "{t}, {i}, {p}")
    names = [log(text, "one.csv"), log(text.replace("300.00", "310.00"), "two logs.csv")]
    with pytest.warns(hc.DataWarning, match="2 logs name their boards by index only"):
        power = hc.read_power(names, timezone="UTC")
    assert sorted(power["gpu_uuid"].unique()) == [
        *("one.csv:gpu0", "one.csv:gpu1", "two_logs.csv:gpu0", "two_logs.csv:gpu1")
    ]
    assert _joules(power, "two_logs.csv:gpu0") == pytest.approx(405)
    log(text, "copy.csv")
    assert _reasons(["one.csv", "copy.csv"], timezone="UTC") == [
        (pd.NA, "the same log as copy.csv")
    ]


def test_logs_that_follow_each_other_are_of_one_board(log):
    first, second = _one("100 W", "100 W"), _one("100 W", "100 W").replace("22:13", "22:14")
    with pytest.warns(hc.DataWarning, match="1 gaps of 59 s in all"):
        power = hc.read_power([log(first, "a.csv"), log(second, "b.csv")], timezone="UTC")
    assert power["gpu_uuid"].unique().tolist() == [A]
    assert len(power) == 4


def test_a_long_log_costs_no_more_a_row(log):
    header = "timestamp, uuid, power.draw [W], power.draw.instant [W]"
    rows = [f"{header}\n{T0 + n}, {A}, [N/A], 100 W" for n in range(4000)]
    power = hc.read_power(log("\n".join([*rows, ""])))
    assert (len(power), power["power_w"].min()) == (4000, 100)


def test_gaps_are_counted(log):
    rows = [f"{T0 + second},{A},100" for second in (0, 1, 2, 3, 4, 5, 25, 26, 27, 28, 29, 49)]
    text = "\n".join(["timestamp,uuid,power_w", *rows, ""])
    with pytest.warns(hc.DataWarning, match="2 gaps of 40 s in all"):
        hc.read_power(log(text))


def test_stamps_that_go_back_and_samples_that_stand_twice(log):
    seconds = (0, 1.5, 2, 1, 1.5)
    text = "timestamp,uuid,power_w\n" + "".join(f"{T0 + s},{A},100\n" for s in seconds)
    with pytest.warns(hc.DataWarning) as told:
        power = hc.read_power(log(text))
    said = " ".join(str(each.message) for each in told)
    assert "stamps go back 1 times" in said
    assert "1 samples stand twice" in said
    assert len(power) == 4
    other = text + f"{T0 + 2},{A},111\n"
    assert _reasons(log(other)) == [(7, "a second reading of its board at the time of line 4")]


def test_readings_within_one_second_are_averaged(log):
    text = "timestamp,uuid,power_w\n" + "".join(
        f"{T0 + second:.0f},{A},{watts}\n"
        for second, watts in ((0, 100), (0, 200), (1, 150), (2, 100), (2, 140), (2, 180))
    )
    with pytest.warns(hc.DataWarning, match="5 readings share a stamp of whole seconds"):
        power = hc.read_power(log(text))
    assert power["power_w"].tolist() == [150, 150, 140]


def test_counters_that_are_reset_are_cut(log):
    joules = (100, 200, 300, 20, 120)
    text = "timestamp,uuid,power_w,energy_j\n" + "".join(
        f"{T0 + second},{A},100,{energy}\n" for second, energy in enumerate(joules)
    )
    with pytest.warns(
        hc.DataWarning, match=r"was reset 1 times; of 5 readings the 3 of the longest"
    ):
        power = hc.read_power(log(text))
    assert power["energy_j"].tolist()[:3] == [100, 200, 300]
    assert power["energy_j"][3:].isna().all()
    assert power["power_w"].notna().all()


def test_elapsed_seconds_and_logs_without_stamps(log):
    name = log("elapsed_s,power_w,temp_c\n10,100,60\n20,200,61\n30,300,62\n")
    with pytest.raises(ReadError, match="does not count from 1970: pass zero_s="):
        hc.read_power(name)
    power = hc.read_power(name, zero_s=T0)
    assert power["t_s"].tolist() == [T0 + 10, T0 + 20, T0 + 30]
    assert _joules(power) == 4000
    name = log("index, power.draw [W]\n0, 100 W\n1, 50 W\n0, 200 W\n1, 50 W\n")
    with pytest.raises(ReadError, match="no stamps: pass zero_s="):
        hc.read_power(name, zero_s=T0)
    power = hc.read_power(name, zero_s=T0, every_s=2)
    assert (_joules(power, "gpu0"), _joules(power, "gpu1")) == (300, 100)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"zero_s": T0}, "zero_s: every log has stamps of its own"),
        ({"every_s": 0}, "every_s=0: a number of seconds above 0"),
        ({"zero_s": "now"}, "zero_s='now'"),
        ({"decimal": ";"}, "decimal=';': valid values"),
        ({"columns": "power"}, "columns='power'"),
        ({"columns": {"P": "watts"}}, "columns: unknown value 'watts'"),
        ({"gpu": 4090}, "gpu=4090"),
        ({"between": (T0,)}, "between="),
        ({"between": (T0, T0)}, "the end is not after the begin"),
        ({"between": ("soon", "later")}, "between=.*is no time"),
        ({"between": 5}, "between=5"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(log, options, told):
    with pytest.raises(HetcostError, match=told):
        hc.read_power(log(_one("100 W", "100 W")), timezone="UTC", **options)


DMON = """\
#Date       Time        gpu    pwr  gtemp  mtemp
#YYYYMMDD   HH:MM:SS    Idx      W      C      C
 20231114   22:13:20      0    100     43      -
 20231114   22:13:20      1      -     43      -
 20231114   22:13:21      0    200     43      -
 20231114   22:13:21      1     50     43      -
#Date       Time        gpu    pwr  gtemp  mtemp
 20231114   22:13:22      0    300     43      -
 20231114   22:13:22      1     50     43      -
"""


def test_dmon(log):
    with pytest.warns(hc.DataWarning, match="board gpu1: 1 of 3 samples have no power"):
        power = hc.read_power(log(DMON, "dmon.txt"), timezone="UTC")
    assert _joules(power, "gpu0") == 400
    assert power["t_s"].min() == T0
    lines = [line[21:] if line[0] == " " else f"# {line[21:]}" for line in DMON.split("\n") if line]
    bare = "\n".join(lines)
    again = _scan(log(bare, "bare.txt"), zero_s=T0, every_s=1.0)
    assert again.refused.empty
    assert _joules(again.power, "gpu0") == 400
    commas = "# gpu, pwr, gtemp\n# Idx, W, C\n0, 100, 40\n0, 200, 40\n"
    assert _joules(hc.read_power(log(commas), zero_s=T0, every_s=1.0)) == 150
    for text, told in (
        ("# gpu pid type sm\n# Idx # C/G %\n 0 21 C 5\n", "pmon logs processes, not power"),
        ("# gpu sm mem\n# Idx % %\n 0 5 5\n", "dmon without power: log with -s p"),
        ("#Time gpu pwr\n#HH:MM:SS Idx W\n 22:13:20 0 5\n", "without day or without time"),
        ("# gpu pwr gtemp\n# Idx W C\n 0 5\n", "2 cells where the header has 3"),
    ):
        with pytest.raises(ReadError, match=told):
            hc.read_power(log(text), timezone="UTC")


def _dcgm(second, watts, uuid=A, *, energy=None, labels="", stamped=True):
    when = f" {int((T0 + second) * 1000)}" if stamped else ""
    of = f'{{gpu="0",UUID="{uuid}",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"{labels}}}'
    lines = ["# HELP DCGM_FI_DEV_POWER_USAGE Power draw (in W)."]
    lines.append(f"DCGM_FI_DEV_POWER_USAGE{of} {watts}{when}")
    if energy is not None:
        lines.append(f"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{of} {energy}{when}")
    return "\n".join(lines) + "\n"


def test_scrapes_of_dcgm(log):
    text = "".join(_dcgm(n, 100 * (n + 1), energy=1e6 + n * 150_000) for n in range(3))
    power = hc.read_power(log(text, "dcgm.prom"))
    assert _joules(power) == 400
    assert power["energy_j"].tolist() == [1000, 1150, 1300]
    assert power["gpu"].unique().tolist() == ["NVIDIA H100 80GB HBM3"]
    bare = "".join(_dcgm(n, 100 * (n + 1), stamped=False) for n in range(3))
    assert _joules(hc.read_power(log(bare, "dcgm.prom"), zero_s=T0, every_s=1.0)) == 400


@pytest.mark.parametrize("blank", ["9223372036854775794", "140737488355328.0", "4294967295", "NaN"])
def test_blanks_of_dcgm_are_missing(log, blank):
    text = _dcgm(0, 100) + _dcgm(1, blank) + _dcgm(2, 100)
    with pytest.warns(hc.DataWarning, match="1 of 3 samples have no power"):
        power = hc.read_power(log(text, "dcgm.prom"))
    assert np.isnan(power["power_w"][1])


def test_slices_of_a_board_repeat_its_power(log):
    text = "".join(
        _dcgm(n, 52.6, labels=f',GPU_I_PROFILE="1g.10gb",GPU_I_ID="{part}"')
        for n in range(3)
        for part in range(3, 7)
    )
    with pytest.warns(hc.DataWarning, match="9 readings of MIG slices repeat the power"):
        power = hc.read_power(log(text, "dcgm.prom"))
    assert power["power_w"].tolist() == [52.6] * 3


def test_one_board_at_two_endpoints_counts_once(log):
    def sample(n, url, late):
        data = {"gpu_power_usage": 100.0 * (n + 1), "energy_consumption": 32.0 + n * 1e-4}
        stamp = int((T0 + n + late) * 1e9)
        record = {"timestamp_ns": stamp, "dcgm_url": url, "gpu_uuid": A, "telemetry_data": data}
        return json.dumps(record | {"gpu_index": 0, "gpu_model_name": "NVIDIA H100 80GB HBM3"})

    lines = [sample(n, url, late) for n in range(3) for url, late in (("u0", 0), ("u2", 0.01))]
    with pytest.warns(
        hc.DataWarning, match="logged at 2 places at a time: 3 samples of u2 in gpu.jsonl"
    ):
        power = hc.read_power(log("\n".join(lines) + "\n", "gpu.jsonl"))
    assert _joules(power) == pytest.approx(400)
    assert power["energy_j"].iloc[-1] - power["energy_j"].iloc[0] == pytest.approx(200)
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(ReadError, match="line 7: the JSON is cut"),
    ):
        hc.read_power(log("\n".join([*lines, lines[0][:99]]), "cut.jsonl"))
    files = [
        log(_dcgm(0, 100) + _dcgm(1, 100), "a.prom"),
        log(_dcgm(0.5, 90) + _dcgm(1.5, 90), "b.prom"),
    ]
    with pytest.warns(hc.DataWarning, match="2 samples of n1 in b.prom are left out"):
        assert len(hc.read_power(files)) == 2


def test_a_counter_alone_gives_power(log):
    def lines(n, energy):
        return "\n".join(_dcgm(n, 1, energy=energy).split("\n")[2:])

    text = "".join(lines(n, energy * 1e3) for n, energy in enumerate((1000, 1100, 1300, 1600)))
    power = hc.read_power(log(text, "counter.prom"))
    assert _joules(power) == pytest.approx(600)
    run = pd.DataFrame([{"n_gpus": 1, "start_s": T0 + 0.5, "duration_s": 1.5}])
    assert hc.attach_power(run, power, max_gap_s=2)["gpu_energy_j"].item() == pytest.approx(250)


def test_windows_of_zeus(log):
    text = (
        "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n"
        "100,a,10,1000,500\n110,b,5,250,250\n125,c,5,-3,100\n101,step,2,100,100\n"
    )
    name = log(text)
    scan = _scan(name, zero_s=T0)
    assert scan.refused.values.tolist() == [
        ["log.csv", 4, "gpu0_energy: -3 J: the counter was reset in this window"]
    ]
    assert _joules(scan.power, "gpu0") == pytest.approx(1250, rel=1e-6)
    with pytest.warns(hc.DataWarning, match="2 windows lie within longer ones"):
        hc.scan_power(name, zero_s=T0)
    with pytest.raises(ReadError, match="does not count from 1970"):
        hc.read_power(name)
    run = pd.DataFrame([{"n_gpus": 2, "start_s": T0 + 100, "duration_s": 10}])
    assert hc.attach_power(run, scan.power, max_gap_s=11)["gpu_energy_j"].item() == pytest.approx(
        1500
    )
    partly = text.replace("101,step,2", "108,step,4")
    assert "overlaps that of line 2 in part" in str(_reasons(log(partly), zero_s=T0))
    wide = f"time,power0,power1\n{T0},100,50\n{T0 + 1},200,50\n"
    power = hc.read_power(log(wide))
    assert (_joules(power, "gpu0"), _joules(power, "gpu1")) == (150, 50)


def test_codecarbon_gives_energy_and_never_its_power(log):
    head = "timestamp,duration,emissions,emissions_rate,gpu_power,gpu_energy,gpu_count,gpu_model\n"
    row = "2023-11-14T22:13:20,{seconds},0.1,7,{power},{kwh},{count},{model}\n"
    text = head + row.format(
        seconds=100, power=9999, kwh=0.02, count="", model="2 x NVIDIA GeForce RTX 4090"
    )
    power = hc.read_power(log(text), timezone="UTC")
    for board in ("gpu0", "gpu1"):
        assert _joules(power, board) == pytest.approx(0.01 * 3.6e6)
    assert power["t_s"].max() == pytest.approx(T0)
    assert set(power["gpu"]) == {"NVIDIA GeForce RTX 4090"}
    for changes, told in (
        ({"kwh": 0}, "gpu_energy is 0: its energy was not measured"),
        ({"kwh": 0, "count": "", "model": ""}, "no board was seen"),
        ({"seconds": 0}, "duration: '0' s is no length"),
        ({"count": 1.5}, "gpu_count: 1.5 is no number of boards"),
    ):
        cells = {"seconds": 100, "power": 1, "kwh": 0.02, "count": 1, "model": "A"} | changes
        with pytest.raises(ReadError, match=told):
            hc.read_power(log(head + row.format(**cells)), timezone="UTC")
    with pytest.raises(ReadError, match="codecarbon writes it from version 2"):
        hc.read_power(log("timestamp,duration,emissions\n2023-11-14T22:13:20,5,1\n"))


def test_rows_that_codecarbon_writes_as_it_goes_hold_each_other(log):
    head = "timestamp,duration,emissions,gpu_energy,gpu_count\n"
    rows = [f"2023-11-14T22:13:{10 * n},{10 * n}.4,0,{n / 3600},1\n" for n in (1, 2, 3)]
    # The next run begins within the second that the stamp of the last is cut by.
    rows.append(f"2023-11-14T22:13:40,10.4,0,{2 / 3600},1\n")
    with pytest.warns(hc.DataWarning, match="2 windows lie within longer ones"):
        power = hc.read_power(log(head + "".join(rows)), timezone="UTC")
    assert _joules(power) == pytest.approx(5000, rel=1e-6)


def test_rocm_smi(log):
    def poll(average, current):
        card = {
            "Unique ID": "0x1",
            "Card series": "Instinct MI300X",
            "Max Graphics Package Power (W)": "750.0",
            "Average Graphics Package Power (W)": average,
            "Current Socket Graphics Package Power (W)": current,
        }
        return json.dumps({"card0": card, "system": {"Driver version": "6"}})

    text = "\n".join([poll("100.0", "N/A"), poll("N/A", "300.0")])
    power = hc.read_power(log(text, "rocm.json"), zero_s=T0, every_s=2)
    assert (_joules(power), power["gpu_uuid"][0]) == (400, "0x1")
    table = "device,Average Graphics Package Power (W)\ncard0,100.0\ncard1,50.0\n\n"
    power = hc.read_power(log(table * 3, "rocm.csv"), zero_s=T0, every_s=2)
    assert (_joules(power, "card0"), _joules(power, "card1")) == (400, 200)
    with pytest.raises(ReadError, match="--showpower"):
        hc.read_power(log('{"card0": {"Device ID": "1"}}', "r.json"))


SPL = "".join(
    f"Time,11-14-2023 22:13:{20 + n}.000,Watts,{watts},Volts,118.0,Amps,1.6,PF,0.8,Mark,run\n"
    for n, watts in enumerate((100, 100, 400, 400, 400, 100))
)


def test_the_wall_is_cut_to_its_window_and_is_no_board(log):
    name = log(SPL, "spl.txt")
    power = hc.read_power(name, timezone="UTC")
    assert (_joules(power), power["scope"].unique().tolist()) == (1400 - 100 + 150 - 50, ["wall"])
    power.to_csv("tidy.csv", index=False)
    assert set(hc.read_power("tidy.csv")["scope"]) == {"wall"}
    assert "scope: 'x' is none of" in str(_reasons(log(f"t_s,power_w,scope\n{T0},1,x\n")))
    between = ("11-14-2023 22:13:22", "11-14-2023 22:13:24")
    with pytest.warns(hc.DataWarning) as told:
        cut = hc.read_power(name, timezone="UTC", between=between)
    said = " ".join(str(each.message) for each in told)
    assert "2 samples before the window are cut: 1 s, mean 100 W" in said
    assert "1 samples after the window are cut" in said
    assert _joules(cut) == 800
    with warnings.catch_warnings(action="ignore"):
        between = (T0 + 1.5, T0 + 3.5)
        assert _joules(hc.read_power(name, timezone="UTC", between=between)) == 162.5 + 600
    with pytest.warns(hc.DataWarning, match="does not cover the window"):
        hc.read_power(name, timezone="UTC", between=(T0, T0 + 60))
    with pytest.raises(AssumptionError, match="at the wall, of whole servers"):
        hc.attach_power(pd.DataFrame([{"n_gpus": 1, "start_s": T0, "duration_s": 5}]), power)


def test_each_board_is_cut_by_its_own_readings(log):
    rows = [(n, A, 100 + n) for n in range(10)] + [(n, B, "") for n in range(10)]
    text = "timestamp,uuid,power_w\n" + "".join(f"{T0 + n},{u},{w}\n" for n, u, w in rows)
    with pytest.warns(hc.DataWarning) as told:
        power = hc.read_power(log(text), between=(T0 + 2.5, T0 + 6))
    assert f"board {B}: its log does not cover the window" in " ".join(str(w.message) for w in told)
    assert f"board {A}: its log" not in " ".join(str(w.message) for w in told)
    assert power.loc[power["gpu_uuid"] == A, "power_w"].tolist() == [102.5, 103, 104, 105, 106]
    assert power.loc[power["gpu_uuid"] == B, "power_w"].isna().all()


def test_windows_that_follow_each_other_are_all_kept(log):
    head = "start_time,window_name,elapsed_time,gpu0_energy\n"
    starts = 1e6 + np.cumsum(np.r_[0, np.full(99, 0.1)])
    text = head + "".join(f"{start},w,{0.1000001},10\n" for start in starts)
    power = hc.read_power(log(text), zero_s=T0)
    assert len(power) == 200
    assert _joules(power) == pytest.approx(1000, rel=1e-4)


def test_powermetrics(log):
    block = "*** Sampled system activity (Tue Nov 14 23:13:{s} 2023 +0100) ({ms}ms elapsed) ***\n"
    text = "Machine model: Mac\n" + "".join(
        block.format(s=20 + n // 2, ms=500) + f"CPU Power: 900 mW\nGPU Power: {mw} mW\n\n"
        for n, mw in enumerate((1000, 2000, 3000, 4000))
    )
    power = hc.read_power(log(text, "pm.txt"))
    assert _joules(power) == pytest.approx(0.5 * (1 + 2 + 3 + 4), rel=1e-6)
    assert set(power["scope"]) == {"module"}
    cut = text + block.format(s=22, ms=500)
    assert _reasons(log(cut, "pm.txt"))[0][1] == "the last sample is cut short: no GPU power"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("hello\n", "no log of power of a known tool"),
        ("{}", "no sample of power of a known tool"),
        (
            '{"telemetry_data": {"gpu_power_usage": "x"}, "timestamp_ns": 1, "gpu_uuid": "a"}',
            "not a number",
        ),
        ('{"telemetry_data": {}, "timestamp_ns": null}', "without timestamp_ns"),
        ("index,utilization.gpu\n0,5\n", "no log of power"),
        ("timestamp,uuid,power_w\n", "no samples in this file"),
        ("# TYPE x gauge\nx 1\n", "no metric of power"),
        ("Time,11-14-2023 22:13:20,Watts\n", "no samples in this file"),
    ],
)
def test_what_is_no_log_is_refused(log, text, told):
    with pytest.raises(ReadError, match=told):
        hc.read_power(log(text, "log.txt"), timezone="UTC")


def test_packed_and_missing_files(log, tmp_path):
    import gzip
    import zipfile

    text = _smi(*SMI["nounits"][:2], "")
    Path("a.csv.gz").write_bytes(gzip.compress(text.encode("utf-16")))
    assert len(hc.read_power("a.csv.gz", timezone="UTC")) == 6
    with zipfile.ZipFile("b.zip", "w") as archive:
        archive.writestr("power.csv", text)
        archive.writestr("readme.md", "x")
    scan = _scan("b.zip", timezone="UTC")
    assert (len(scan.power), len(scan.refused)) == (6, 1)
    with pytest.raises(ReadError, match="no such file"):
        hc.read_power("nowhere.csv")
    assert hc.scan_power("nowhere.csv").power.empty


KINDS = {
    "smi.csv": _smi(*SMI["units in cells and header"][:2]),
    "dmon.txt": DMON,
    "dcgm.prom": _dcgm(0, 100, energy=1e6) + _dcgm(1, 200, energy=2e6),
    "zeus.csv": "start_time,window_name,elapsed_time,gpu0_energy\n100,a,10,1000\n110,b,5,250\n",
    "cc.csv": (
        "timestamp,duration,emissions,gpu_energy,gpu_count\n2023-11-14T22:13:20,100,0.1,0.02,2\n"
    ),
    "rocm.json": '{"card0": {"Unique ID": "0x1", "Average Graphics Package Power (W)": "100"}}\n',
    "spl.txt": SPL,
    "pm.txt": (
        "*** Sampled system activity (Tue Nov 14 23:13:20 2023 +0100) (104.5ms elapsed) ***\n"
        "GPU Power: 153 mW\n"
    ),
    "gpu.jsonl": json.dumps(
        {
            "timestamp_ns": int(T0 * 1e9),
            "gpu_uuid": A,
            "telemetry_data": {"gpu_power_usage": 30.2, "energy_consumption": 32.6},
        }
    )
    + "\n",
}
SPLINTERS = [
    *("nan", "inf", "-1", "1e400", "9" * 40, '"', "'", ",", ";", "\t", "\0", "{", "}", "[", "]"),
    *("\n", "\r\n", "é", "\u2028", "#", "=cmd()", "0", "-", "2026-02-31 00:00:00", "N/A", " W"),
    *("null", "true", "[]", "{}", "1_000", "٣", "−5", "12:00:00", "\ud7ff", "kW"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_mutations_give_samples_or_a_reason(log, kind):
    text = KINDS[kind]
    rng = random.Random(kind)
    for _ in range(15):
        mutant = text
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(mutant) + 1)
            end = place + rng.choice([0, 0, 1, 3, 20])
            mutant = mutant[:place] + rng.choice(SPLINTERS) + mutant[end:]
        name = log(mutant, kind)
        zero = {"zero_s": T0, "every_s": 1.0}
        try:
            scan = _scan(name, timezone="Europe/Berlin", **zero)
        except AssumptionError:  # it has stamps of its own
            scan = _scan(name, timezone="Europe/Berlin")
        assert len(scan.power) + len(scan.refused) > 0, mutant
        power = scan.power
        assert np.isfinite(power["t_s"]).all(), mutant
        assert not (power["power_w"] < 0).any(), mutant
        assert not np.isinf(power["power_w"]).any(), mutant
        assert not power.duplicated(["gpu_uuid", "t_s"]).any(), mutant


def _sample(name):
    return str(Path(SAMPLES) / name)


@needs_samples
def test_nvidia_smi_samples():
    power = hc.read_power(_sample("power/nvidia_smi_csv/*.csv"), zero_s=T0, every_s=1.0)
    assert power["power_w"].sum() == pytest.approx(
        432.56 + 117.04 + 73.44 + 72.11 + 72.35 + 121.70 + 70.02 + 119.79
    )
    elapsed = hc.read_power(_sample("power/telemetry_csv/*.csv"), zero_s=T0)
    rows = pd.read_csv(next(Path(SAMPLES, "power/telemetry_csv").glob("*.csv")))
    seconds, watts = np.diff(rows["elapsed_s"]), rows["power_w"].to_numpy()
    by_hand = (seconds * (watts[1:] + watts[:-1]) / 2).sum()
    assert _joules(elapsed) == pytest.approx(by_hand)


def _sections(text, first):
    """Return the parts of a capture that begin with a line, up to the next blank one."""
    return [part.split("\n\n")[0] + "\n" for part in text.split(f"\n{first}")[1:]]


@needs_samples
@pytest.mark.parametrize(
    ("capture", "joules", "idle_w", "load_w"),
    [("4080-super", (103.5, None), 26.2, 84.24), ("h100-mig", (280.0, 1754.5), None, None)],
)
def test_sections_of_captures(log, capture, joules, idle_w, load_w):
    (path,) = Path(SAMPLES, "power/nvidia_smi_captures").glob(f"*{capture}*")
    text = path.read_text("utf-8")
    for section, expected in zip(_sections(text, "# gpu    pwr"), joules, strict=False):
        power = hc.read_power(log("# gpu    pwr" + section, "dmon.txt"), zero_s=T0, every_s=1.0)
        assert len(power) == 5
        if expected:
            assert _joules(power) == expected
    for section in _sections(text, "# gpu         pid"):
        with pytest.raises(ReadError, match="pmon logs processes"):
            hc.read_power(log("# gpu         pid" + section, "pmon.txt"))
    header = "timestamp, driver_version, kmd_version"
    csvs = [header + part for part in _sections(text, header)]
    for section, watts in zip(csvs, (idle_w, load_w), strict=False):
        power = hc.read_power(log(section, "smi.csv"), timezone="UTC")
        assert power["gpu_uuid"].str.startswith("GPU-").all()
        assert power["power_w"].notna().all()
        assert watts is None or power["power_w"].item() == watts


@needs_samples
def test_rocm_samples():
    with pytest.warns(hc.DataWarning, match="361 rows hold a stamp and nothing else"):
        power = hc.read_power(_sample("power/rocm_smi/*.csv"))
    (path,) = Path(SAMPLES, "power/rocm_smi").glob("*.csv")
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    for card in ("card0", "card7"):
        mine = [(float(t), float(w)) for t, board, *w in rows for w in w if board == card]
        by_hand = sum((t1 - t0) * (w0 + w1) / 2 for (t0, w0), (t1, w1) in itertools.pairwise(mine))
        assert _joules(power, card) == pytest.approx(by_hand)
    polls = hc.read_power(_sample("power/rocm_smi/*.json"), zero_s=T0, every_s=1.0)
    assert len(polls) == 4
    assert polls.set_index("gpu_uuid")["power_w"]["0x79ccd55167a2124a"] == 36


@needs_samples
def test_energy_samples():
    zeus = _scan(_sample("power/zeus/*.csv"), zero_s=T0).power
    rows = pd.read_csv(next(Path(SAMPLES, "power/zeus").glob("*.csv")))
    each = zeus.groupby(np.arange(len(zeus)) // 2)[["t_s", "power_w"]]
    joules = [float(np.trapezoid(part["power_w"], part["t_s"])) for _, part in each]
    assert joules == pytest.approx(rows["gpu0_energy"].tolist(), rel=1e-6)
    scan = _scan(_sample("power/codecarbon/*.csv"), timezone="Europe/Paris")
    assert [reason for reason in scan.refused["reason"]] == ["gpu_energy is 0: no board was seen"]
    rows = pd.read_csv(Path(SAMPLES, "power/codecarbon/examples_emissions.csv"))
    first = scan.power.iloc[:2]
    assert _joules(first) == pytest.approx(rows["gpu_energy"][0] * 3.6e6, rel=1e-6)
    power = hc.read_power(_sample("power/powermetrics/*"))
    by_hand = [(104.51, 153), (104.81, 67), (105.93, 28), (108.22, 9), (109.24, 9)]
    by_hand += [(108.45, 46), (108.38, 28), (106.72, 19), (108.88, 18), (108.92, 9)]
    assert _joules(power) == pytest.approx(sum(ms * mw for ms, mw in by_hand) * 1e-6, rel=1e-5)


@needs_samples
def test_wall_and_telemetry_samples():
    power = hc.read_power(_sample("power/mlperf_ptd/spl.txt"), timezone="UTC")
    assert len(power) == 692
    assert power["power_w"].iloc[[0, -1]].tolist() == [172.9, 174.5]
    seconds, watts = np.diff(power["t_s"]), power["power_w"].to_numpy()
    assert _joules(power) == pytest.approx((seconds * (watts[1:] + watts[:-1]) / 2).sum())
    with pytest.warns(hc.DataWarning, match="10 samples of http://localhost:9402/metrics"):
        gpu = hc.read_power(_sample("formats/aiperf/*telemetry*.jsonl"))
    counter = gpu["energy_j"].iloc[-1] - gpu["energy_j"].iloc[0]
    assert counter == pytest.approx((32.627733932 - 32.62748095) * 1e6, abs=0.01)
    assert 250 < counter < _joules(gpu) < 300
    with pytest.raises(ReadError, match="no metric of power"):
        hc.read_power(_sample("power/dcgm_prometheus/*"))
    for other in ("ipmitool/*", "nvidia_smi_xml/*"):
        with pytest.raises(ReadError, match="no log of power of a known tool"):
            hc.read_power(_sample(f"power/{other}"))
