"""Run a command and log board power beside it: before it starts, until after it ends."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from hetcost.errors import AssumptionError
from hetcost.recording.readings import Boards, Reading, find_boards
from hetcost.replacing import check_place

HEADER = ("time_utc", "gpu_uuid", "name", "power_w", "energy_j")

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_FIRST_S = 15.0  # for which a first sample is waited before the command starts
_END_S = 5.0  # in which sampling must end
_NOT_FOUND, _NOT_RUN, _BY_SIGNAL = 127, 126, 128  # exit codes, as of a shell


class Recorded(NamedTuple):
    """What was recorded of a command.

    ``start_s`` and ``duration_s`` are what :func:`hetcost.attach_power` needs of a run. [s since
    1970], [s]
    """

    exit_code: int
    start_s: float
    duration_s: float
    n_samples: int
    n_boards: int
    troubles: list[str]


def record(
    command: Sequence[str],
    output: str | os.PathLike[str],
    *,
    every_s: float = 0.2,
    boards: Boards | None = None,
) -> Recorded:
    """Run a command and log the power of all boards of this machine while it runs.

    Rows are written as they come, so a log of what was cut off stands too. Signals that reach this
    process go on to the command; those of a terminal reach it anyway.

    Parameters
    ----------
    command : The command and its arguments.
    output : File to write: ``time_utc gpu_uuid name power_w energy_j``, one row per board and
        sample; an empty cell where a board gave nothing.
    every_s : Interval. [s]
    boards : A way to read boards; that of this machine if None.

    Returns
    -------
    The command's exit code (128 + n where signal n ended it; 127 or 126 where it cannot be run),
    when it ran, how much was logged, and what went wrong.

    Raises
    ------
    NoBoardError
        No board gives its power. The command was not run.
    AssumptionError
        There is no command, or the interval is out of range.
    OSError
        The log cannot be written. The command was not run.
    """
    if not command:
        message = "record: no command to run"
        raise AssumptionError(message)
    if not 0.01 <= every_s <= 3600:
        message = f"every_s={every_s!r}: valid values are 0.01 to 3600"
        raise AssumptionError(message)
    check_place(output)
    sampling = _Sampling(boards or find_boards(), Path(output), every_s)
    sampling.begin()
    start_s, begun = time.time(), time.monotonic()
    exit_code, trouble = run(command)
    duration_s = time.monotonic() - begun
    sampling.end()
    return Recorded(
        exit_code,
        start_s,
        duration_s,
        sampling.n_samples,
        len(sampling.seen),
        [*filter(None, [trouble]), *sampling.troubles()],
    )


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command to its end and return its exit code, and why it cannot be run.

    Signals that reach this process go on to it.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        elif not (number != signal.SIGTERM and _terminal_is_ours()):
            child.send_signal(number)

    with _handling(forward):
        try:
            child = subprocess.Popen(list(command))
        except (OSError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            return _NOT_FOUND if missing else _NOT_RUN, f"{command[0]}: cannot be run: {error}"
        for number in early:
            child.send_signal(number)
        code = child.wait()
    return code if code >= 0 else _BY_SIGNAL - code, ""


def _terminal_is_ours() -> bool:
    """Say whether keys such as Ctrl-C reach the command without us."""
    try:
        with open("/dev/tty", "rb") as terminal:  # noqa: PTH123  no file
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


@contextlib.contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What is ignored, as under nohup, stays so, in the command too.
    mine = [number for number in _FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in mine}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class _Sampling:
    """Samples that a thread of its own writes to a file."""

    def __init__(self, boards: Boards, path: Path, every_s: float) -> None:
        self._boards, self._every_s = boards, every_s
        self._stop, self._first, self._ended = (threading.Event() for _ in range(3))
        self._lock = threading.Lock()
        self._trouble: list[str] = []
        self._file = path.open("w", encoding="utf-8", newline="")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(HEADER)
        self._last_s = 0.0
        self.n_samples = 0
        self.seen: set[str] = set()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        """Begin, and wait for the first sample."""
        self._thread.start()
        if not self._first.wait(_FIRST_S):
            self._trouble.append(f"no sample in the first {_FIRST_S:g} s")

    def end(self) -> None:
        """Wait for a sample after the end of the command, and close the file."""
        now_s, patience_s = time.time(), time.monotonic() + min(2 * self._every_s + 1, _END_S)
        while self._last_s <= now_s and time.monotonic() < patience_s:
            if self._ended.wait(0.02):
                break
        self._stop.set()
        self._thread.join(_END_S)
        if self._thread.is_alive():
            self._trouble.append("sampling hung and was left behind")
        with self._lock, contextlib.suppress(OSError):
            self._file.close()

    def troubles(self) -> list[str]:
        """Return what went wrong."""
        return [*self._trouble, *self._boards.troubles()]

    def _work(self) -> None:
        try:
            for reading in self._boards.readings(self._every_s, self._stop):
                self._write(reading)
        except OSError as error:
            self._trouble.append(f"the log could not be written on: {error.strerror or error}")
        except ValueError:  # the file was closed: sampling hung before
            pass
        finally:
            self._ended.set()
            self._first.set()

    def _write(self, reading: Reading) -> None:
        when = dt.datetime.fromtimestamp(reading.t_s, dt.UTC).replace(tzinfo=None)
        row = (
            f"{when.isoformat(timespec='microseconds')}Z",
            reading.uuid,
            reading.name,
            "" if reading.power_w is None else f"{reading.power_w:.3f}",
            "" if reading.energy_j is None else f"{reading.energy_j:.3f}",
        )
        with self._lock:
            self._rows.writerow(row)
            self._file.flush()
        self.n_samples += reading.power_w is not None
        self.seen.add(reading.uuid)
        self._last_s = reading.t_s
        self._first.set()
