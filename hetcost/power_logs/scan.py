"""Read logs of power: read, refuse, tell boards apart, check, cut, sort."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from hetcost.errors import AssumptionError, DataWarning, ReadError
from hetcost.power_logs import checks
from hetcost.power_logs.clock import Clock, Zone
from hetcost.power_logs.cutting import Between, cut, window_of
from hetcost.power_logs.registry import samples_of
from hetcost.power_logs.samples import Columns, Note, Options, Sample, checked
from hetcost.readers.fields import is_unicode
from hetcost.readers.files import Paths, candidates
from hetcost.readers.opening import Opened
from hetcost.readers.records import Found
from hetcost.readers.scan import place_and_reason, read_whole, readable
from hetcost.reference.tables import Tables

_MOST_TOLD = 100  # refusals of one file that are listed one by one
_SHOWN = 5
_KINDS = {
    "t_s": "float64",
    "gpu_uuid": "str",
    "power_w": "float64",
    "energy_j": "float64",
    "gpu": "str",
    "scope": "str",
    "tool": "str",
    "source": "str",
}


@dataclass(frozen=True)
class PowerScan:
    """What a scan of power logs found.

    Attributes
    ----------
    power : One row per sample, as :func:`read_power` returns them.
    refused : One row per file or line that gave none: ``file line reason``.
    """

    power: pd.DataFrame
    refused: pd.DataFrame


@dataclass
class _Finds:
    """Samples, refusals and notes as they come in."""

    samples: list[Sample] = field(default_factory=list)
    places: list[tuple[str, int, str]] = field(default_factory=list)  # file, line, tool
    refused: list[tuple[str, int | None, str]] = field(default_factory=list)
    told: dict[str, None] = field(default_factory=dict)
    hashes: dict[bytes, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.samples)

    def undo(self, before: int) -> None:
        """Forget the samples of a file that turns out to be no whole one."""
        del self.samples[before:], self.places[before:]

    def tell(self, message: str) -> None:
        """Keep what is to be told, once."""
        self.told.setdefault(message)

    def refuse(self, rows: pd.DataFrame, reason: str) -> None:
        """Refuse samples of one board: their first line, and how many more of each file."""
        for file, mine in rows.groupby("source", sort=False):
            more = f" ({len(mine)} samples)" if len(mine) > 1 else ""
            self.refused.append((str(file), int(mine["line"].min()), f"{reason}{more}"))


def read_power(
    paths: Paths,
    *,
    timezone: Zone = None,
    zero_s: float | None = None,
    every_s: float | None = None,
    gpu: str | None = None,
    columns: Columns = None,
    decimal: str = ".",
    between: Between = None,
    tables: Tables = None,
) -> pd.DataFrame:
    """Read logs of power into the table that :func:`~hetcost.attach_power` takes.

    Known by content: ``nvidia-smi --query-gpu`` and ``dmon``, tables of one's own, DCGM and other
    exporters of Prometheus, AIPerf's telemetry, Zeus, codecarbon, rocm-smi, powermetrics, MLPerf's
    PTDaemon, and what ``hetcost record`` writes.

    Parameters
    ----------
    paths : Files, folders (searched to the bottom) or patterns.
    timezone : Zone of stamps that name none: ``"Europe/Berlin"``, ``"UTC"``, ``"+02:00"``. Times
        that its clocks show twice or never are refused.
    zero_s : When a clock that does not count from 1970 showed 0 (elapsed seconds, boot time); of
        logs without stamps, when the first sample was taken. [s since 1970]
    every_s : Interval of logs without stamps. [s]
    gpu : The card, where the log does not name it.
    columns : Of tables, their column names and ours (``timestamp gpu_uuid index name power_w
        energy_j``); or, of tables without a header, the names of their columns in order.
    decimal : Decimal sign of tables, ``"."`` or ``","``.
    between : Begin and end to cut to: seconds since 1970, or stamps as in the logs. What is cut is
        told with its mean power.
    tables : Folder of a user's own tables; cards are weighed by their ``tdp_w``.

    Returns
    -------
    One row per sample, by board and time: ``t_s`` [s since 1970, UTC], ``gpu_uuid`` (where there is
    none, the index; with its file before it, if several files lack them), ``power_w`` [W],
    ``energy_j`` (a counter's reading; [J]), ``gpu`` as the log names it, ``scope`` (``board``,
    ``module``, ``wall``), ``tool``, ``source``. A missing reading is NaN. Windows of energy are
    two samples each, whose trapezoid is the energy. A :class:`DataWarning` tells of missing
    readings, gaps, boards told twice, counters reset (of which the longest stretch stays).

    Raises
    ------
    ReadError
        Something was refused; the message lists file, line and reason. `scan_power` keeps the
        good samples beside the refusals.
    AssumptionError
        An argument is out of range, or says what no log needed.
    UnknownNameError
        There is no such zone, or no such column of ours.
    """
    scan = scan_power(
        paths,
        timezone=timezone,
        zero_s=zero_s,
        every_s=every_s,
        gpu=gpu,
        columns=columns,
        decimal=decimal,
        between=between,
        tables=tables,
    )
    if scan.refused.empty:
        return scan.power
    lines = [place_and_reason(row) for row in scan.refused.head(_SHOWN).to_dict("records")]
    if len(scan.refused) > _SHOWN:
        lines.append(f"… and {len(scan.refused) - _SHOWN} more")
    kept = f"{len(scan.power)} samples were read; scan_power keeps them"
    lines.insert(0, f"{len(scan.refused)} refused ({kept})")
    raise ReadError("\n  ".join(lines))


def scan_power(
    paths: Paths,
    *,
    timezone: Zone = None,
    zero_s: float | None = None,
    every_s: float | None = None,
    gpu: str | None = None,
    columns: Columns = None,
    decimal: str = ".",
    between: Between = None,
    tables: Tables = None,
) -> PowerScan:
    """Read logs of power, and list what could not be read.

    Parameters
    ----------
    paths, timezone, zero_s, every_s, gpu, columns, decimal, between, tables : As for
        :func:`read_power`.

    Returns
    -------
    The samples and the refusals (``file line reason``).

    Raises
    ------
    AssumptionError
        An argument is out of range, or says what no log needed.
    UnknownNameError
        There is no such zone, or no such column of ours.
    """
    clock = Clock(timezone, zero_s, every_s)
    options = checked(clock, decimal, columns)
    if gpu is not None and not isinstance(gpu, str):
        message = f"gpu={gpu!r}: the name of a card"
        raise AssumptionError(message)
    window = window_of(between, clock)
    finds = _Finds()
    for candidate in candidates(paths):
        read_whole(candidate, finds, partial(_take, options=options, finds=finds))
    if finds.samples and clock.unused:
        message = f"{', '.join(sorted(clock.unused))}: every log has stamps of its own"
        raise AssumptionError(message)
    samples = _settled(_frame(finds, gpu), tables, finds)
    if window is not None:
        samples = cut(samples, window, finds.tell)
    power = samples.drop(columns=["line", "endpoint", "named", "step"])
    for message in finds.told:
        warnings.warn(f"power: {message}", DataWarning, stacklevel=2)
    told = [(file, line, readable(reason)) for file, line, reason in finds.refused]
    refused = pd.DataFrame(told, columns=["file", "line", "reason"])
    refused = refused.astype({"file": "str", "line": "Int64", "reason": "str"})
    return PowerScan(power, refused.sort_values(["file", "line"], ignore_index=True))


def _take(source: Opened, options: Options, finds: _Finds) -> None:
    if source.text:
        digest = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).digest()
        if (twin := finds.hashes.setdefault(digest, source.name)) != source.name:
            message = f"the same log as {twin}"
            raise ReadError(message)
    tool, found = samples_of(source, options)
    before = len(finds.samples)
    refused: list[tuple[int, str]] = []
    number, reasons = 0, set()
    for each in map(_with_plain_names, found):
        if each.reason:
            number += 1
            reasons.add(each.reason)
            if number <= _MOST_TOLD:
                refused.append((each.line, each.reason))
        elif isinstance(each.value, Note):
            finds.tell(f"{source.name}: {each.value.text}")
        else:
            finds.samples.append(each.value)
            finds.places.append((source.name, each.line, tool))
    if not number and len(finds.samples) == before:
        message = "no samples in this file"
        raise ReadError(message)
    if number > 1 and len(finds.samples) == before and len(reasons) == 1:
        line, reason = refused[0]
        refused = [(line, f"{reason}; the same of its {number - 1} other lines")]
    finds.refused += [(source.name, line, reason) for line, reason in refused]
    if number > _MOST_TOLD == len(refused):
        more = f"{number - _MOST_TOLD} more lines of this file are no samples"
        finds.refused.append((source.name, None, more))


def _with_plain_names(found: Found) -> Found:
    """Refuse a sample whose board bears a name that no terminal and no page should show."""
    if not isinstance(found.value, Sample):
        return found
    names = (found.value.board, found.value.gpu or "", found.value.endpoint)
    if all(name.isprintable() and is_unicode(name) for name in names):
        return found
    return Found(found.line, reason="the name of its board is not plain text")


def _frame(finds: _Finds, gpu: str | None) -> pd.DataFrame:
    """Return the samples as they stand in the files, boards named across files."""
    rows = pd.DataFrame(finds.samples, columns=Sample._fields)
    places = pd.DataFrame(finds.places, columns=["source", "line", "tool"])
    frame = pd.concat([rows.rename(columns={"board": "gpu_uuid"}), places], axis=1)
    kinds = {name: kind for name, kind in _KINDS.items() if name in frame}
    frame = frame.astype(kinds | {"named": "bool", "step": "bool", "endpoint": "str"})
    if gpu is not None:
        frame["gpu"] = frame["gpu"].fillna(gpu)
    unnamed = ~frame["named"]
    files = frame.loc[unnamed, "source"].unique()
    if len(files) > 1:
        prefix = frame["source"].str.replace(r"\s", "_", regex=True) + ":"
        frame["gpu_uuid"] = (prefix + frame["gpu_uuid"]).where(unnamed, frame["gpu_uuid"])
        told = f"{len(files)} logs name their boards by index only: told apart by file"
        finds.tell(told)
    return frame[[*_KINDS, "line", "endpoint", "named", "step"]]


def _settled(samples: pd.DataFrame, tables: Tables, finds: _Finds) -> pd.DataFrame:
    """Leave out what cannot be, tell what is odd, sort by board and time."""
    for message in checks.set_back(samples):
        finds.tell(message)
    samples = checks.one_endpoint(samples, finds.tell)
    samples = checks.one_reading(samples, finds.refuse, finds.tell)
    samples = checks.cut_at_resets(samples, finds.tell)
    samples = checks.power_from_counter(samples)
    samples = checks.check_units(samples, tables, finds.refuse)
    for check in (checks.missing, checks.gaps):
        for message in check(samples):
            finds.tell(message)
    return samples.reset_index(drop=True)
