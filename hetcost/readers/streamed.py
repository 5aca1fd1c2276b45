"""Latencies that a client writes although it did not measure them.

* A run without a completed request has no latencies, whatever zeros stand there.
* Where no first token was timed, or TTFT is all of E2E and no gap was measured behind it, the
  answers were not streamed: each came in one piece. What is called TTFT is E2E then (unless it is
  0), and there is neither TTFT, TPOT nor ITL. Where gaps were measured, a TTFT above E2E is a
  contradiction; it stays, and checks tell it.
* Answers of one token each have no time per token.
* A single 0 is not measured either: no token takes no time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.columns import LATENCIES
from hetcost.readers.fields import add_warning

_OF_TOKENS = ("ttft", "tpot", "itl")
_GAPS = ("tpot", "itl")
_ALL_OF_IT = 0.99  # share of E2E that TTFT has where answers come in one piece
_LEAST_MS = 0.02  # no token takes less


def keep_measured(row: dict[str, Any]) -> None:
    """Take the latencies out of a row that were not measured; warn if answers were not streamed."""
    completed, tokens = row.get("completed", math.nan), row.get("total_out_tok", math.nan)
    zeros = [name for name, value in row.items() if value == 0 and name.endswith("_ms")]
    if not zeros and tokens > completed > 0 and _is_streamed(row):
        return
    if completed == 0:
        _drop(row, *LATENCIES)
        row.pop("goodput_per_s", None)
    elif row.get("streaming") is False:
        _drop(row, *_OF_TOKENS)
    elif _all_zero(row, "ttft"):
        _take_untimed(row)
    elif tokens <= completed:
        _drop(row, *_GAPS)
    elif _is_whole(row):
        _take_whole(row)
    for name in zeros:
        row.pop(name, None)
    if not (_known(row, "tpot") or _known(row, "itl")):
        row.pop("itl_kind", None)


def _is_streamed(row: Mapping[str, Any]) -> bool:
    first, gap = row.get("mean_ttft_ms", math.nan), row.get("mean_itl_ms", math.nan)
    return bool(first > 0 and gap >= _LEAST_MS and row.get("streaming") is not False)


def _take_untimed(row: dict[str, Any]) -> None:
    """Drop what rests on a first token at 0 ms; gaps that were measured stay."""
    if any(_known(row, "itl")):
        _drop(row, "ttft", "tpot")
        add_warning(row, "no first token was timed")
        return
    _drop(row, *_OF_TOKENS)
    row["streaming"] = False
    add_warning(row, "no first token was timed: answers were not streamed")


def _take_whole(row: dict[str, Any]) -> None:
    """Take TTFT for the E2E it is."""
    for name in [name for name in row if name.endswith("_ttft_ms")]:
        whole = name.replace("_ttft_", "_e2el_")
        if math.isnan(row.get(whole, math.nan)):
            row[whole] = row[name]
    _drop(row, *_OF_TOKENS)
    row["streaming"] = False
    add_warning(row, "TTFT is the whole latency: answers were not streamed")


def _is_whole(row: Mapping[str, Any]) -> bool:
    gaps = _known(row, "itl") or _known(row, "tpot")  # ITL is timed, TPOT is worked out
    if any(gap >= _LEAST_MS for gap in gaps):
        return False
    for statistic in ("mean", "p50"):
        first, whole = (row.get(f"{statistic}_{m}_ms", math.nan) for m in ("ttft", "e2el"))
        if not math.isnan(first + whole):
            return bool(first >= _ALL_OF_IT * whole)
    return bool(_known(row, "ttft")) and _all_zero(row, *_GAPS)


def _all_zero(row: Mapping[str, Any], *metrics: str) -> bool:
    known = [value for metric in metrics for value in _known(row, metric)]
    return bool(known) and not any(known)


def _known(row: Mapping[str, Any], metric: str) -> list[float]:
    return [row[name] for name in row if name.endswith(f"_{metric}_ms") and row[name] == row[name]]


def _drop(row: dict[str, Any], *metrics: str) -> None:
    for name in [name for name in row if name.endswith(tuple(f"_{each}_ms" for each in metrics))]:
        del row[name]
