"""GPU telemetry in the summaries of AIPerf and GenAI-Perf: which boards, their power and energy.

=============================  =============  ====================================================
field                          column         note
=============================  =============  ====================================================
gpu_uuid                       n_gpus         boards by UUID: two endpoints may report the same one
gpu_name                       gpu            where all boards have one name
gpu_utilization, …                            0 all through: a board that took no part
gpu_power_usage, …             gpu_power_w    mean of each board, summed
energy_consumption, …          gpu_energy_j   counter's last − first reading, summed
=============================  =============  ====================================================

AIPerf has ``telemetry_data.endpoints.URL.gpus.GPU.metrics``, GenAI-Perf ``telemetry_stats`` by
metric, without names or UUIDs. A counter is given by its statistics, of which maximum − minimum is
the energy, or in newer releases as the difference alone (``avg`` and nothing else). A counter that
stood still or was reset measured nothing. If one board lacks a figure, the sum is missing.

Telemetry sees every board of a machine. Those at 0 % all through are not of the run: they count
neither among the cards nor in energy and power, and a warning names them with their watts. Card and
number are inferred so, not stated: what the user says of them goes before.

The counter and mean power × time need not agree; both are kept, and a difference is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hetcost.errors import ReadError
from hetcost.readers.fields import INFERRED, inner, number, text

POWER = ("gpu_power_usage", "nvidia_power_usage", "nvidia_gpu_power_usage", "amd_power")
ENERGY = ("energy_consumption", "nvidia_energy_consumption", "amd_energy_consumption")
_USE = ("gpu_utilization", "nvidia_gpu_utilization", "amd_gfx_activity")
_W = {"mW": 1e-3, "W": 1.0, "kW": 1e3}
_J = {"mJ": 1e-3, "J": 1.0, "kJ": 1e3, "MJ": 1e6}
_RESET = 2.0  # times power × time that a counter may tell, or a part of it
_APART = 0.1  # of energy by the counter and by mean power × time


class Boards(NamedTuple):
    """Run columns on the boards, and what was noticed."""

    columns: dict[str, Any]
    warnings: list[str]


class _Board(NamedTuple):
    uuid: str
    name: str | None
    metrics: Mapping[str, Any]


def boards(record: Mapping[str, Any], duration: float) -> Boards:
    """Sum up the boards that a summary reports.

    Parameters
    ----------
    record : A summary.
    duration : Of the run. [s]

    Raises
    ------
    ReadError
        A field is not of its kind, or power or energy are in no known unit.
    """
    found: dict[str, _Board] = {}
    for board in (*_by_endpoint(record), *_by_metric(record)):
        found.setdefault(board.uuid, board)
    if not found:
        return Boards({}, [])
    idle = [board for board in found.values() if _did_nothing(board.metrics)]
    used = [board for board in found.values() if board not in idle]
    warnings = []
    if idle:
        shown = ", ".join(map(_shown, idle))
        warnings.append(f"{len(idle)} of {len(found)} boards did nothing and do not count: {shown}")
    if not used:
        return Boards({}, warnings)
    names = {board.name for board in used}
    energy = sum((_energy_j(board.metrics) for board in used), 0.0)
    power = sum((_power_w(board.metrics) for board in used), 0.0)
    by_power = power * duration
    if by_power > 0 and not 1 / _RESET < energy / by_power < _RESET and not math.isnan(energy):
        warnings.append("the energy counter contradicts power × time, and is left out")
        energy = math.nan
    if len(names) > 1:
        warnings.append(f"boards of several kinds: {', '.join(sorted(map(str, names)))}")
    if abs(energy - power * duration) > _APART * max(energy, power * duration):
        warnings.append(
            f"energy by the counter differs from mean power × time by more than {_APART:.0%}"
        )
    columns = {
        "gpu": names.pop() if len(names) == 1 else None,
        "n_gpus": len(used),
        "gpu_energy_j": energy,
        "gpu_power_w": power,
        "energy_method": None if math.isnan(energy) else "counter",
        INFERRED: ("gpu", "n_gpus"),
    }
    return Boards(columns, warnings)


def _by_endpoint(record: Mapping[str, Any]) -> Iterator[_Board]:
    endpoints = inner(record, "telemetry_data", "endpoints")
    for url in endpoints:
        gpus = inner(endpoints, url, "gpus")
        for key in gpus:
            gpu = inner(gpus, key)
            uuid = text(gpu, "gpu_uuid") or f"{url} {key}"
            yield _Board(uuid, text(gpu, "gpu_name"), inner(gpu, "metrics"))


def _by_metric(record: Mapping[str, Any]) -> Iterator[_Board]:
    metrics = inner(record, "telemetry_stats")
    gpus: dict[str, dict[str, Any]] = {}
    for tag in (*POWER, *ENERGY, *_USE):
        metric = inner(metrics, tag)
        for key in metric:
            if key.startswith("gpu"):
                stats = inner(metric, key)
                gpus.setdefault(key, {})[tag] = {"unit": metric.get("unit"), **stats}
    for key, by_tag in gpus.items():
        yield _Board(key, None, by_tag)


def _shown(board: _Board) -> str:
    power = _power_w(board.metrics)
    return f"{board.name or board.uuid} ({'?' if math.isnan(power) else f'{power:.4g}'} W)"


def _did_nothing(metrics: Mapping[str, Any]) -> bool:
    most = _stat(metrics, _USE, "max")
    return (_stat(metrics, _USE, "avg") if math.isnan(most) else most) == 0


def _power_w(metrics: Mapping[str, Any]) -> float:
    watts = _stat(metrics, POWER, "avg") * _unit(metrics, POWER, _W)
    return math.nan if watts < 0 else watts


def _energy_j(metrics: Mapping[str, Any]) -> float:
    tag = _tag(metrics, ENERGY)
    told = {key for key, value in inner(metrics, tag).items() if value is not None}
    if told <= {"unit", "avg"}:
        used = _stat(metrics, ENERGY, "avg")
    else:
        used = _stat(metrics, ENERGY, "max") - _stat(metrics, ENERGY, "min")
    return used * _unit(metrics, ENERGY, _J) if used > 0 else math.nan


def _tag(metrics: Mapping[str, Any], tags: tuple[str, ...]) -> str:
    return next((tag for tag in tags if metrics.get(tag) is not None), tags[0])


def _stat(metrics: Mapping[str, Any], tags: tuple[str, ...], name: str) -> float:
    tag = _tag(metrics, tags)
    path = f"{tag}.{name}"
    return number({path: inner(metrics, tag).get(name)}, path)


def _unit(metrics: Mapping[str, Any], tags: tuple[str, ...], units: Mapping[str, float]) -> float:
    tag = _tag(metrics, tags)
    metric = inner(metrics, tag)
    if not metric:
        return math.nan
    unit = text(metric, "unit")
    if unit is None or unit not in units:
        message = f"{tag}.unit: {unit!r} is none of {', '.join(units)}"
        raise ReadError(message)
    return units[unit]
