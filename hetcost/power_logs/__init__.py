"""Logs of power → one tidy table of samples; what cannot be read is refused.

One module per tool, registered below. What a file is, its content says, never its name. A module
reads objects of JSON (`claims`, `Reader`) or text (`claims_text`, `samples_of_text`); all raise
:class:`~hetcost.errors.ReadError` or yield the reason where no sample can be made.
"""

from __future__ import annotations

from hetcost.power_logs.scan import PowerScan, read_power, scan_power

__all__ = ["PowerScan", "read_power", "scan_power"]
