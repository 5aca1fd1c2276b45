"""AIPerf ``gpu_telemetry_export.jsonl``: samples of DCGM or NVML, one object each.

===========================================  ================================================
field                                        note
===========================================  ================================================
timestamp_ns                                 since 1970
gpu_uuid, gpu_model_name                     board and card
dcgm_url                                     endpoint; two may report one board, which counts once
telemetry_data.gpu_power_usage               W
telemetry_data.energy_consumption            MJ, a counter
===========================================  ================================================

The units are AIPerf's own: the file does not state them. Newer names (``nvidia_…``, ``amd_power``)
are those that the summaries bear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from hetcost.errors import ReadError
from hetcost.power_logs import cells as read
from hetcost.power_logs.samples import Options, Sample
from hetcost.readers.aiperf_gpus import ENERGY, POWER
from hetcost.readers.fields import inner, number, text

TOOL = "AIPerf"


def claims(record: Mapping[str, Any]) -> bool:
    """Say whether an object is a sample of telemetry."""
    return "telemetry_data" in record and ("timestamp_ns" in record or "gpu_index" in record)


class Reader:
    """Objects of one file, in order."""

    def __init__(self, options: Options) -> None:
        self._clock = options.clock

    def samples(self, record: Mapping[str, Any]) -> Iterator[Sample]:
        """Yield the sample in an object.

        Raises
        ------
        ReadError
            It has no time or board, or a field is not of its kind.
        """
        t_ns = number(record, "timestamp_ns")
        if math.isnan(t_ns):
            message = "a sample without timestamp_ns"
            raise ReadError(message)
        endpoint = text(record, "dcgm_url") or text(record, "telemetry_url") or ""
        uuid, index = text(record, "gpu_uuid"), text(record, "gpu_index")
        if uuid is None and index is None:
            message = "a sample without gpu_uuid and gpu_index"
            raise ReadError(message)
        data = inner(record, "telemetry_data")
        power_w, energy_mj = _first(data, POWER), _first(data, ENERGY)
        if power_w < 0:
            message = f"a power of {power_w:g} W is negative"
            raise ReadError(message)
        yield Sample(
            self._clock.count(t_ns, "ns"),
            "_".join((uuid or f"gpu{index}").split()),
            power_w,
            energy_mj * read.JOULES["MJ"],
            text(record, "gpu_model_name"),
            uuid is not None,
            endpoint=endpoint,
        )


def _first(data: Mapping[str, Any], names: tuple[str, ...]) -> float:
    """Return the first of these that is there, without what DCGM writes for "blank"."""
    for name in names:
        if data.get(name) is not None:
            return read.unless_blank(number(data, name))
    return math.nan
