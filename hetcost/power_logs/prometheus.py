"""Text of Prometheus exporters: DCGM, and others of NVIDIA boards; scrapes one after the other.

========================================  ===================================================
metric                                    unit
========================================  ===================================================
DCGM_FI_DEV_POWER_USAGE                   W, of the whole board; so in each of its MIG slices
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION      mJ, a counter
nvidia_smi_power_draw_watts               W
nvidia_gpu_power_usage_milliwatts         mW
========================================  ===================================================

Labels tell the board (``UUID``, else ``Hostname`` and ``gpu``) and the card (``modelName``). A new
scrape begins where a series stands again. Time is that behind the value, in ms; scrapes without it
need ``zero_s= every_s=``. Values that DCGM writes for "blank" are missing. Slices of a board
(``GPU_I_ID``) repeat its power: it counts once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Note, Options, Sample, Sweeps, numbered
from hetcost.readers.fields import shown
from hetcost.readers.records import Found

TOOL = "Prometheus exporter"

_POWER = {
    "DCGM_FI_DEV_POWER_USAGE": 1.0,
    "nvidia_smi_power_draw_watts": 1.0,
    "nvidia_gpu_power_usage_milliwatts": 1e-3,
}
_ENERGY = {
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 1e-3,
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total": 1e-3,
}
_FAMILY = re.compile(r"^(# (HELP|TYPE) |DCGM_FI_|nvidia_smi_|nvidia_gpu_)", re.MULTILINE)
_WRITTEN = re.compile(r"([A-Za-z_:][\w:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+(-?\d+))?")
_LABEL = re.compile(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SLICE = "GPU_I_ID"


class _Board(NamedTuple):
    name: str
    named: bool
    gpu: str | None
    endpoint: str


class _Line(NamedTuple):
    """A value of a series, and its time in ms where it is stated."""

    metric: str
    labels: dict[str, str]
    value: float
    t_ms: float | None

    @property
    def series(self) -> str:
        """Return what it is a value of."""
        return f"{self.metric}{sorted(self.labels.items())}"


class _Reading:
    """What one scrape says of one board."""

    def __init__(self, line: int, t_ms: float | None) -> None:
        self.line, self.t_ms = line, t_ms
        self.power_w = self.energy_j = math.nan


class _Scrape:
    """What one scrape says of all boards."""

    def __init__(self) -> None:
        self.series: set[str] = set()
        self.boards: dict[_Board, _Reading] = {}
        self.repeated = 0  # readings of slices of a board

    def take(self, line: int, found: _Line) -> None:
        """Take a value, once per board."""
        self.series.add(found.series)
        reading = self.boards.setdefault(_board(found.labels), _Reading(line, found.t_ms))
        value = read.unless_blank(found.value)
        if found.metric in _ENERGY:
            if math.isnan(reading.energy_j):
                reading.energy_j = value * _ENERGY[found.metric]
        elif math.isnan(reading.power_w):
            reading.power_w = value * _POWER[found.metric]
        else:
            self.repeated += _SLICE in found.labels


def claims_text(head: str, options: Options) -> bool:
    """Say whether a text that begins so is of an exporter."""
    return _FAMILY.search(head) is not None


def samples_of_text(text: str, options: Options) -> Iterator[Found]:
    """Yield the samples of scrapes, each with its line; or why there is none."""
    sweeps = Sweeps(options.clock)
    scrape = _Scrape()
    repeated, any_power = 0, False
    for line, written in numbered(text):
        if written.startswith("#"):
            continue
        try:
            found = _read(written)
        except ReadError as error:
            yield Found(line, reason=str(error))
            continue
        if found.metric not in _POWER and found.metric not in _ENERGY:
            continue
        any_power = True
        if found.series in scrape.series:
            yield from _samples(scrape, sweeps, options)
            repeated, scrape = repeated + scrape.repeated, _Scrape()
        scrape.take(line, found)
    yield from _samples(scrape, sweeps, options)
    if repeated := repeated + scrape.repeated:
        told = f"{repeated} readings of MIG slices repeat the power of their board, counted once"
        yield Found(1, Note(told))
    if not any_power:
        yield Found(1, reason="no metric of power (DCGM_FI_DEV_POWER_USAGE …) in this file")


def _samples(scrape: _Scrape, sweeps: Sweeps, options: Options) -> Iterator[Found]:
    for board, reading in scrape.boards.items():
        try:
            if reading.t_ms is None:
                t_s = sweeps.t_s(f"{board.endpoint} {board.name}")
            else:
                t_s = options.clock.count(reading.t_ms, "ms")
        except ReadError as error:
            yield Found(reading.line, reason=str(error))
            continue
        sample = Sample(
            t_s,
            board.name,
            reading.power_w,
            reading.energy_j,
            board.gpu,
            board.named,
            endpoint=board.endpoint,
        )
        yield Found(reading.line, sample)


def _read(written: str) -> _Line:
    found = _WRITTEN.fullmatch(written)
    if found is None:
        message = f"{shown(written)} is no line of an exporter"
        raise ReadError(message)
    metric, labels, value, t_ms = found.groups()
    try:
        number = float(value)
    except ValueError:
        message = f"{metric}: {shown(value)} is no number"
        raise ReadError(message) from None
    if metric in _POWER and (number < 0 or math.isinf(number)):
        message = f"{metric}: {number:g} is no power"
        raise ReadError(message)
    found_labels = dict(_LABEL.findall(labels or ""))
    return _Line(metric, found_labels, number, float(t_ms) if t_ms else None)


def _board(labels: dict[str, str]) -> _Board:
    uuid = labels.get("UUID") or labels.get("uuid")
    host = labels.get("instance") or labels.get("Hostname") or labels.get("hostname") or ""
    index = labels.get("gpu") or labels.get("minor_number") or ""
    gpu = labels.get("modelName") or labels.get("name") or None
    plain = "_".join((uuid or ":".join(filter(None, (host, f"gpu{index}")))).split())
    return _Board(plain, bool(uuid), gpu, host)
