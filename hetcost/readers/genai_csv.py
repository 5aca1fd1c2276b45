"""The CSV form of the summaries of GenAI-Perf and AIPerf: blocks parted by empty lines.

=========================================  ======================================================
block                                      what is taken
=========================================  ======================================================
``Metric,avg,min,max,p99,…``               latencies and lengths
``Metric,Value``                           counts, rates, duration
``Metric,GPU,avg,…``                       power of each board (GenAI-Perf)
``Endpoint,GPU_Index,GPU_Name,…``          name, UUID and power of each board (AIPerf)
=========================================  ======================================================

Metrics go by their title and unit, ``Time To First Token (ms)``, which is the JSON's name written
otherwise: the rows are turned into that form and read as :mod:`~hetcost.readers.aiperf` reads it.
All figures are rounded to two decimals. Counters of energy, in MJ, are therefore left out, and a
duration that is not stated comes from the output rate. −1 is written where a figure is missing.
Model, load and date are not in the file. GenAI-Perf is layout only.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers import aiperf
from hetcost.readers.records import Found

TOOL = aiperf.TOOL

_FIRST_LINE = re.compile(r"Metric,(avg,min,max\b.*|Value)")
_KNOWN = re.compile(
    r"^(request (latency|throughput)|time to first token|output token throughput)\b",
    re.IGNORECASE | re.MULTILINE,
)
_TITLE = re.compile(r"(?P<name>.+?)\s*(\((?P<unit>[^()]*)\))?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_ENERGY = "energy_consumption"


def claims_text(head: str) -> bool:
    """Say whether a text that begins so is such a table."""
    first = head.lstrip().partition("\n")[0].strip()
    return bool(_FIRST_LINE.fullmatch(first)) and bool(_KNOWN.search(head))


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield the row of run columns of the table; or why there is none."""
    try:
        for row in aiperf.rows(_record(text)):
            yield Found(1, row)
    except (ReadError, csv.Error) as error:
        yield Found(1, reason=str(error))


def _record(text: str) -> dict[str, Any]:
    """Turn the blocks into the form that the JSON has."""
    metrics: dict[str, Any] = {}
    endpoints: dict[str, Any] = {}
    by_metric: dict[str, Any] = {}
    header: list[str] = []
    for cells in csv.reader(text.splitlines()):
        if not any(cells):
            header = []
        elif not header:
            header = cells
        elif len(cells) != len(header):
            message = f"a row of {len(cells)} cells under {len(header)} titles: {cells[0]!r}"
            raise ReadError(message)
        else:
            _take(dict(zip(header, cells, strict=True)), metrics, endpoints, by_metric)
    telemetry = {"telemetry_data": {"endpoints": endpoints}, "telemetry_stats": by_metric}
    return metrics | telemetry


def _take(
    row: Mapping[str, str],
    metrics: dict[str, Any],
    endpoints: dict[str, Any],
    by_metric: dict[str, Any],
) -> None:
    if "Metric" not in row:
        return
    tag, unit = _named(row["Metric"])
    if tag.endswith(_ENERGY):
        return
    stats = {"avg" if key == "Value" else key: _plain(value) for key, value in row.items()}
    stats["unit"] = unit
    if "Endpoint" in row:
        gpus = endpoints.setdefault(row["Endpoint"], {"gpus": {}})["gpus"]
        uuid, name = row.get("GPU_UUID"), row.get("GPU_Name")
        gpu: dict[str, Any] = {"gpu_uuid": uuid, "gpu_name": name, "metrics": {}}
        place = gpus.setdefault(f"{row.get('GPU_Index')} {uuid}", gpu)["metrics"]
    elif "GPU" in row:
        place, tag = by_metric.setdefault(tag, {"unit": unit}), row["GPU"]
    else:
        place = metrics
    if place.setdefault(tag, stats) != stats:
        message = f"'{row['Metric']}' stands twice, with different values"
        raise ReadError(message)


def _named(title: str) -> tuple[str, str | None]:
    """Split ``Time To First Token (ms)`` into the JSON's name and the unit."""
    match = _TITLE.fullmatch(title.strip())
    if match is None:
        message = f"'{title}' is no title of a metric"
        raise ReadError(message)
    return re.sub(r"\W+", "_", match["name"].lower()).strip("_"), match["unit"]


def _plain(written: str) -> str | None:
    """Take out thousands separators; −1 stands for a figure that is missing."""
    if _THOUSANDS.fullmatch(written):
        written = written.replace(",", "")
    return None if written in ("-1", "-1.00") else written
