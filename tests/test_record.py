"""`hetcost record` with stand-ins for nvidia-smi and NVML: what is logged, told, and passed on."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hetcost as hc
from hetcost.cli import main, shared
from hetcost.errors import AssumptionError
from hetcost.recording import NoBoardError, readings, record

LIGHT = (
    "import sys; from hetcost.recording import record as r; sys.exit(r(sys.argv[1:], 'p.csv')[0])"
)
UUIDS = ("GPU-11111111-aaaa", "GPU-22222222-bbbb")

# A stand-in: one line per board, again and again if asked to loop. Its clock is `{ahead}` hours off
# UTC, as that of nvidia-smi may be.
SMI = """\
#!{python}
import sys, time, os
count = os.path.join(os.path.dirname(os.path.abspath(__file__)), "starts")
loops = [a for a in sys.argv if a.startswith("--loop-ms=")]
if loops:
    with open(count, "a") as f: f.write("x")
starts = os.path.getsize(count) if os.path.exists(count) else 0
def sweep():
    now = time.time() + {ahead} * 3600
    for uuid, power in {boards!r}:
        stamp = time.strftime("%Y/%m/%d %H:%M:%S", time.gmtime(now))
        print(f"{{stamp}}.{{int(now % 1 * 1000):03d}}, {{uuid}}, NVIDIA Test Card, {{power}}")
    sys.stdout.flush()
{begin}
sweep()
n = 0
while loops:
    time.sleep(int(loops[0].split("=")[1]) / 1000)
    n += 1
    {middle}
    sweep()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a function that puts a stand-in for nvidia-smi first on the PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.chdir(tmp_path / "work")

    def put(*, begin="", middle="pass", ahead=0, boards=None, text=None):
        boards = boards or [(UUIDS[0], "300.00 W"), (UUIDS[1], "200.00 W")]
        path = tmp_path / "bin" / "nvidia-smi"
        written = text or SMI.format(
            python=f"{sys.executable} -IS",
            ahead=ahead,
            boards=boards,
            begin=begin,
            middle=middle,
        )
        path.write_text(written, "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return put


def _read(path="power.csv"):
    """Read a log without regard to gaps: the machine of a test may be busy."""
    with warnings.catch_warnings(action="ignore", category=hc.DataWarning):
        return hc.read_power(path)


def _sleep(seconds=0.15, code=0):
    script = f"import sys, time; print('out'); time.sleep({seconds}); sys.exit({code})"
    return [sys.executable, "-IS", "-c", script]


@pytest.fixture
def cli(monkeypatch, capfd):
    """Return a function that runs the command in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["hetcost", "record", *map(str, arguments)])
        monkeypatch.setattr(shared.err, "_file", sys.stderr)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr()
        return ended.value.code, said.out, " ".join(said.err.split())

    return run


@pytest.mark.parametrize("ahead", [0, -9.5])
def test_the_log_reads_back_in_utc_and_covers_the_command(place, ahead):
    place(ahead=ahead)
    before = time.time()
    done = record(_sleep(code=3), "power.csv", every_s=0.05)
    assert done.exit_code == 3
    assert done.troubles == []
    power = _read()
    assert set(power["gpu_uuid"]) == set(UUIDS)
    assert power["t_s"].between(before - 5, time.time() + 5).all()
    run = pd.DataFrame([{"n_gpus": 2, "start_s": done.start_s, "duration_s": done.duration_s}])
    out = hc.attach_power(run, power, max_gap_s=10).iloc[0]
    assert out["gpu_energy_j"] == pytest.approx(500 * done.duration_s)
    assert out["power_covered_frac"] == pytest.approx(1)


def test_the_command_is_heard_and_its_exit_code_kept(place, cli):
    place()
    code, out, err = cli("-o", "p.csv", "--every", "0.05", "--", *_sleep(0.1, code=7))
    assert (code, out) == (7, "out\n"), err
    assert "recorded: p.csv" in err
    assert "of 2 boards; the command ran 0." in err
    code, out, err = cli("-o", "p.csv", "--", *_sleep(0))
    assert (code, out) == (2, "")
    assert "p.csv is there already" in err


def test_a_name_with_a_comma_and_a_missing_reading(place):
    place(boards=[(UUIDS[0], "[N/A]"), (UUIDS[1], "200.00 W")])
    done = record(_sleep(), "power.csv", every_s=0.05)
    assert any("gave no power" in told for told in done.troubles)
    with pytest.warns(hc.DataWarning, match=f"board {UUIDS[0]}: .* have no power"):
        power = hc.read_power("power.csv")
    assert power.loc[power["gpu_uuid"] == UUIDS[0], "power_w"].isna().all()
    assert (power.loc[power["gpu_uuid"] == UUIDS[1], "power_w"] == 200).all()


NO_BOARD = {
    "is not on the PATH": None,
    "No devices were found": "#!/bin/sh\necho 'No devices were found'; exit 6\n",
    "couldn't communicate": '#!/bin/sh\necho "couldn\'t communicate" >&2; exit 9\n',
    "none of 1 boards gives its power": (
        "#!/bin/sh\necho '2026/01/01 00:00:00.000, GPU-11111111-aaaa, Card, [N/A]'\n"
    ),
    "cannot be run": "no script at all",
    "exit code 0": "#!/bin/sh\nexit 0\n",
}


@pytest.mark.parametrize("told", NO_BOARD)
def test_no_board_is_told_before_the_command_is_run(place, told, monkeypatch, tmp_path):
    if NO_BOARD[told] is None:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    else:
        place(text=NO_BOARD[told])
    with pytest.raises(NoBoardError, match=told):
        record([sys.executable, "-c", "open('ran', 'w')"], "power.csv")
    assert not list(Path().iterdir()), "no command, no log"


def test_exit_code_2_without_a_board_unless_anyway(place, cli):
    place(text=NO_BOARD["No devices were found"])
    code, out, err = cli("--", *_sleep(0, code=7))
    assert (code, out) == (2, "")
    assert "No devices were found" in err
    assert "--anyway" in err
    code, out, err = cli("--anyway", "--", *_sleep(0, code=7))
    assert (code, out) == (7, "out\n")
    assert "not recorded:" in err
    assert not Path("power.csv").exists()


def test_one_that_hangs_at_once_is_no_board(place, monkeypatch):
    monkeypatch.setattr(readings, "_ANSWER_S", 0.3)
    place(begin="time.sleep(60)")
    with pytest.raises(NoBoardError, match="did not answer in"):
        record(_sleep(0), "power.csv")


def test_one_that_hangs_in_the_middle_is_started_again(place, monkeypatch):
    monkeypatch.setattr(readings, "_SILENT_S", 0.5)
    monkeypatch.setattr(readings, "_SILENT_INTERVALS", 1)
    place(middle="if n == 3 and starts == 1: time.sleep(60)")
    done = record(_sleep(1.0), "power.csv", every_s=0.05)
    assert done.exit_code == 0
    assert any("silent for 0.5 s" in told for told in done.troubles)
    with pytest.warns(hc.DataWarning, match="gaps of"):
        power = hc.read_power("power.csv")
    assert power["t_s"].max() >= done.start_s + done.duration_s


def test_one_that_dies_in_the_middle_is_started_again_and_given_up_at_last(place):
    place(middle="if n == 2: print('GPU is lost'); sys.exit(15)")
    done = record(_sleep(0.6), "power.csv", every_s=0.01)
    told = "; ".join(done.troubles)
    assert "nvidia-smi ended in the middle" in told
    assert "'GPU is lost' (4 times)" in told
    assert "given up after 4 starts" in told
    assert done.exit_code == 0
    assert len(_read()) == 4 * 2 * 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_go_on_to_the_command(place, number):
    place()
    script = textwrap.dedent(
        f"""
        import os, signal, time
        signal.signal({int(number)}, lambda *a: (os.write(1, b"heard\\n"), os._exit(42)))
        print("ready", flush=True)
        time.sleep(20)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", LIGHT, sys.executable, "-IS", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == ("heard\n", 42), err
    assert len(_read("p.csv")) > 0


def test_a_command_that_a_signal_ends_or_that_is_none(place):
    place()
    done = record([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "a.csv")
    assert done.exit_code == 128 + 9
    done = record(["no-such-command"], "b.csv")
    assert done.exit_code == 127
    assert "no-such-command" in done.troubles[0]
    assert record([str(Path.cwd())], "c.csv").exit_code == 126
    for command, options in (([], {}), (["true"], {"every_s": 0})):
        with pytest.raises(AssumptionError):
            record(command, "d.csv", **options)
    with pytest.raises(OSError, match="no such folder"):
        record(["true"], "nowhere/d.csv")


NVML = """\
class NVMLError(Exception): pass
energy = [5_000_000, 7_000_000]
def nvmlInit(): pass
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(i): return i
def nvmlDeviceGetUUID(h): return [b"GPU-11111111-aaaa", "GPU-22222222-bbbb"][h]
def nvmlDeviceGetName(h): return "NVIDIA GeForce RTX 4090"
def nvmlDeviceGetPowerUsage(h):
    if h and LOST: raise NVMLError("GPU is lost")
    return [310_000, 20_500][h]
def nvmlDeviceGetTotalEnergyConsumption(h):
    if h: raise NVMLError("Not Supported")
    energy[h] += 1000
    return energy[h]
"""


@pytest.mark.parametrize("lost", [False, True])
def test_nvml_goes_before_nvidia_smi(place, monkeypatch, lost):
    place(text=NO_BOARD["No devices were found"])
    module = type(sys)("pynvml")
    exec(f"LOST = {lost}\n{NVML}", module.__dict__)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    done = record(_sleep(0.2), "power.csv", every_s=0.05)
    assert bool(done.troubles) == lost
    power = _read().groupby("gpu_uuid")
    first, second = (power.get_group(uuid) for uuid in UUIDS)
    assert (first["power_w"] == 310).all()
    assert first["gpu"].unique() == ["NVIDIA GeForce RTX 4090"]
    assert np.diff(first["energy_j"]) == pytest.approx(1)
    assert second["energy_j"].isna().all()
    assert second["power_w"].isna().all() if lost else (second["power_w"] == 20.5).all()


def test_nvml_without_a_driver_gives_way(place, monkeypatch):
    place()
    module = type(sys)("pynvml")
    exec(
        NVML.replace("def nvmlInit(): pass", "def nvmlInit(): raise NVMLError('no')"), vars(module)
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    assert record(_sleep(0), "power.csv").n_boards == 2
