"""Readings of the boards of this machine: by NVML, else by ``nvidia-smi`` on the PATH."""

from __future__ import annotations

import csv
import datetime as dt
import os
import queue
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from hetcost.errors import HetcostError
from hetcost.units import MS_PER_S

_QUERY = "timestamp,uuid,name,power.draw"
_ANSWER_S = 10.0  # in which nvidia-smi must have answered
_SILENT_S, _SILENT_INTERVALS = 10.0, 10.0  # of nvidia-smi in a loop, after which it hangs
_MOST_STARTS = 4
_ZONE_S = 900.0  # offsets from UTC are multiples
_MW_PER_W = _MJ_PER_J = 1000.0
_WATTS = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?: W)?")
_STOP_S = 2.0


class NoBoardError(HetcostError):
    """There is no board here whose power can be read."""


class Reading(NamedTuple):
    """Power and energy counter of a board at a time, in s since 1970, W, J; None: it gave none."""

    t_s: float
    uuid: str
    name: str
    power_w: float | None
    energy_j: float | None = None


class Boards(Protocol):
    """A way to read boards."""

    how: str

    def readings(self, every_s: float, stop: threading.Event) -> Iterator[Reading]:
        """Yield readings of all boards until told to stop."""

    def troubles(self) -> list[str]:
        """Return what went wrong while reading."""


def find_boards() -> Boards:
    """Return a way to read the boards of this machine.

    Raises
    ------
    NoBoardError
        There are none, or none gives its power; the message says what was tried.
    """
    tried = []
    for way in (_Nvml, _Smi):
        try:
            return way()
        except NoBoardError as error:
            tried.append(str(error))
    message = f"no board whose power can be read: {'; '.join(tried)}"
    raise NoBoardError(message)


class _Nvml:
    """Boards by NVIDIA's library; its Python bindings are an extra of ours."""

    how = "NVML"

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError:
            message = "NVML: nvidia-ml-py is not there (install hetcost[nvml])"
            raise NoBoardError(message) from None
        self._nvml: Any = pynvml
        self._failed = 0
        try:
            pynvml.nvmlInit()
            handles = [
                pynvml.nvmlDeviceGetHandleByIndex(index)
                for index in range(pynvml.nvmlDeviceGetCount())
            ]
            self._boards = [
                (
                    handle,
                    _text(pynvml.nvmlDeviceGetUUID(handle)),
                    _text(pynvml.nvmlDeviceGetName(handle)),
                )
                for handle in handles
            ]
        except pynvml.NVMLError as error:
            message = f"NVML: {error}"
            raise NoBoardError(message) from None
        if not any(self._power_w(handle) is not None for handle, *_ in self._boards):
            message = f"NVML: none of {len(self._boards)} boards gives its power"
            raise NoBoardError(message)

    def readings(self, every_s: float, stop: threading.Event) -> Iterator[Reading]:
        """Yield readings of all boards until told to stop."""
        due_s = time.monotonic()
        while True:
            for handle, uuid, name in self._boards:
                power_w, energy_j = self._power_w(handle), self._energy_j(handle)
                self._failed += power_w is None
                yield Reading(time.time(), uuid, name, power_w, energy_j)
            due_s = max(due_s + every_s, time.monotonic())
            if stop.wait(due_s - time.monotonic()):
                return

    def troubles(self) -> list[str]:
        """Return what went wrong while reading."""
        return [f"NVML gave no power {self._failed} times"] if self._failed else []

    def _power_w(self, handle: Any) -> float | None:
        return self._asked(self._nvml.nvmlDeviceGetPowerUsage, handle, _MW_PER_W)

    def _energy_j(self, handle: Any) -> float | None:
        return self._asked(self._nvml.nvmlDeviceGetTotalEnergyConsumption, handle, _MJ_PER_J)

    def _asked(self, ask: Callable[[Any], int], handle: Any, per_unit: float) -> float | None:
        try:
            return ask(handle) / per_unit
        except self._nvml.NVMLError:
            return None


class _Smi:
    """Boards by ``nvidia-smi``, which loops in a process of its own."""

    how = "nvidia-smi"

    def __init__(self) -> None:
        self._troubles: dict[str, int] = {}
        query = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader"]
        try:
            done = subprocess.run(
                query, capture_output=True, text=True, timeout=_ANSWER_S, check=False, env=_utc()
            )
        except FileNotFoundError:
            message = "nvidia-smi is not on the PATH"
            raise NoBoardError(message) from None
        except subprocess.TimeoutExpired:
            message = f"nvidia-smi did not answer in {_ANSWER_S:g} s"
            raise NoBoardError(message) from None
        except (OSError, ValueError) as error:
            message = f"nvidia-smi cannot be run: {error}"
            raise NoBoardError(message) from None
        found = [reading for line in done.stdout.splitlines() if (reading := _reading(line))]
        if done.returncode or not found:
            said = (done.stderr or done.stdout).strip().splitlines()
            told = said[0] if said else f"exit code {done.returncode}"
            message = f"nvidia-smi: {told}"
            raise NoBoardError(message)
        if all(reading.power_w is None for reading in found):
            message = f"nvidia-smi: none of {len(found)} boards gives its power"
            raise NoBoardError(message)

    def readings(self, every_s: float, stop: threading.Event) -> Iterator[Reading]:
        """Yield readings of all boards until told to stop; start again what ends or hangs."""
        for _ in range(_MOST_STARTS):
            yield from self._loop(every_s, stop)
            if stop.wait(every_s):
                return
        self._tell(f"nvidia-smi was given up after {_MOST_STARTS} starts")

    def troubles(self) -> list[str]:
        """Return what went wrong while reading."""
        return [f"{what} ({count} times)" for what, count in self._troubles.items()]

    def _tell(self, what: str) -> None:
        self._troubles[what] = self._troubles.get(what, 0) + 1

    def _loop(self, every_s: float, stop: threading.Event) -> Iterator[Reading]:
        loop = f"--loop-ms={max(round(every_s * MS_PER_S), 1)}"
        command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader", loop]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                env=_utc(),
                start_new_session=True,  # a signal to the command is none to it
            )
        except OSError as error:
            self._tell(f"nvidia-smi cannot be run: {error}")
            return
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True).start()
        silent_s = max(_SILENT_INTERVALS * every_s, _SILENT_S)
        try:
            yield from self._taken(lines, silent_s, stop)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _taken(
        self, lines: queue.Queue[str | None], silent_s: float, stop: threading.Event
    ) -> Iterator[Reading]:
        heard_s = time.monotonic()
        while not stop.is_set():
            try:
                line = lines.get(timeout=0.05)
            except queue.Empty:
                if time.monotonic() - heard_s > silent_s:
                    self._tell(f"nvidia-smi was silent for {silent_s:g} s and was started again")
                    return
                continue
            if line is None:
                self._tell("nvidia-smi ended in the middle and was started again")
                return
            heard_s = time.monotonic()
            reading = _reading(line)
            if reading is not None:
                if reading.power_w is None:
                    self._tell("nvidia-smi gave no power")
                yield reading
            elif line.strip():
                self._tell(f"nvidia-smi said {line.strip()[:80]!r}")


def _pump(stream: Any, lines: queue.Queue[str | None]) -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def _utc() -> dict[str, str]:
    return os.environ | {"TZ": "UTC"}


def _reading(line: str) -> Reading | None:
    """Read a line of nvidia-smi; None where it is none."""
    cells = [cell.strip() for cell in next(csv.reader([line.replace("\0", "")]), [])]
    if len(cells) < _QUERY.count(",") + 1:
        return None
    stamp, uuid, *name, power = cells
    found = _WATTS.fullmatch(power)
    is_board = uuid.startswith(("GPU-", "MIG-"))
    if not is_board or not (found or power.startswith("[") or power == "N/A"):
        return None
    return Reading(_time_s(stamp), uuid, ", ".join(name), float(found.group(1)) if found else None)


def _time_s(stamp: str) -> float:
    """Return nvidia-smi's own stamp in UTC, by the clock of this machine where it is local."""
    now_s = time.time()
    try:
        when = dt.datetime.strptime(stamp, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return now_s
    ahead_s = round((when.timestamp() - now_s) / _ZONE_S) * _ZONE_S
    return when.timestamp() - ahead_s


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
