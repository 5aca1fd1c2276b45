"""llama-benchy tables in Markdown: a server under so many equal requests at once.

=============================  ======================  ============================================
cell or line                   column                  note
=============================  ======================  ============================================
model                          model
test                           dataset, mean lengths   ``pp1024 @ d4 (c5)``, then ``tg128 …``
(cN) of test                   max_concurrency,        N equal requests at once; 1 if it is absent
                               completed
e2e_ttft (ms), of pp           mean_ttft_ms
t/s (req), of tg               mean_tpot_ms            1000 / it, where it varies by less than 10 %
t/s (total) or t/s, of tg      reported_out_tok_per_s  prompts left out
the two above it               duration_s              see below
``llama-benchy (VERSION)``     tool_version            the line below the table
``date: …``                    date                    no zone
=============================  ======================  ============================================

A row of prompts and the row of output behind it are one run. Numbers are mean ± standard deviation
over several batches. The tool's output rate is of the time from the first of all first tokens to
the end, without the prompts: no cost follows from it. Here the time of a batch is mean TTFT + N ·
(tg − 1) / that rate. For one request this is its latency, for several the batch takes no longer,
so throughput is at least tokens / duration, and the row says so.

Lengths are those asked for. With a context (``@ d…``) input is not counted: whether it was cached
the table does not tell. Context phases (``ctx_pp``, ``ctx_tg``) do not tell their lengths and are
refused, and so is a row without its other half. Engine and cards are not in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hetcost.readers.fields import add_warning
from hetcost.readers.records import Found
from hetcost.units import MS_PER_S

TOOL = "llama-benchy"

_NEEDED = {"model", "test", "e2e_ttft (ms)"}
_TOTALS = ("t/s (total)", "t/s")
_TEST = re.compile(r"(pp|tg)(\d{1,9})(?: @ d(\d{1,9}))?(?: \(c(\d{1,6})\))?")
_VALUE = re.compile(r"(\d{1,15}(?:\.\d+)?)(?: ± (\d{1,15}(?:\.\d+)?))?")
_RULE = re.compile(r"\|(\s*:?-+:?\s*\|)+")
_VERSION = re.compile(r"llama-benchy \((\S{1,40})\)")
_DATE = re.compile(r"date: (\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)\b.*")
_STEADY = 0.1  # standard deviation over mean, below which 1 / mean is the mean of 1 / each


class _Half(NamedTuple):
    """A row of the table: where it stands, its test and its cells."""

    line: int
    kind: str
    tokens: int
    depth: int
    requests: int
    cells: dict[str, str]


def claims_text(head: str) -> bool:
    """Say whether a text that begins so holds a table of llama-benchy."""
    return "e2e_ttft (ms)" in head and any(
        _is_header(_cells(line)) for line in head.split("\n") if "e2e_ttft (ms)" in line
    )


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield a row per run, with the line of its prompts; or why there is none."""
    lines = [line.strip() for line in text.split("\n")]
    about = _about(lines)
    header: list[str] = []
    waiting: _Half | None = None
    nothing = True
    for place, line in enumerate(lines, start=1):
        cells = _cells(line)
        if _is_header(cells):
            header = cells
        elif not line.startswith("|"):
            header = []
        elif header and not _RULE.fullmatch(line):
            nothing = False
            half = _half(place, cells, header)
            if isinstance(half, Found):
                yield half
            elif waiting is not None and _fit(waiting, half):
                yield Found(waiting.line, _row(waiting, half) | about)
                waiting = None
            else:
                yield from _alone(waiting)
                waiting = half
    yield from _alone(waiting)
    if nothing:
        yield Found(1, reason="no runs in this file")


def _about(lines: list[str]) -> dict[str, str]:
    """Return version and date, where the text tells one of each."""
    versions = {match[1] for line in lines if (match := _VERSION.fullmatch(line))}
    dates = {f"{match[1]}T{match[2]}" for line in lines if (match := _DATE.fullmatch(line))}
    found = {}
    if len(versions) == 1:
        found["tool_version"] = versions.pop()
    if len(dates) == 1:
        found["date"] = dates.pop()
    return found


def _half(place: int, cells: list[str], header: list[str]) -> _Half | Found:
    if len(cells) != len(header):
        reason = f"{len(cells)} cells where the table has {len(header)}: cut short, or no row of it"
        return Found(place, reason=reason)
    named = dict(zip(header, cells, strict=True))
    match = _TEST.fullmatch(named["test"])
    if match is None or not int(match[2]):
        reason = f"test: {named['test'][:40]!r} is not a test as pp512 or tg128 @ d64 (c2)"
        return Found(place, reason=reason)
    requests = int(match[4] or 1)
    if not requests:
        return Found(place, reason="test: no request at once (c0)")
    return _Half(place, match[1], int(match[2]), int(match[3] or 0), requests, named)


def _fit(prompt: _Half, output: _Half) -> bool:
    alike = (prompt.depth, prompt.requests, prompt.cells["model"])
    return (prompt.kind, output.kind) == ("pp", "tg") and alike == (
        output.depth,
        output.requests,
        output.cells["model"],
    )


def _alone(half: _Half | None) -> Iterator[Found]:
    if half is not None:
        other = "output (tg) behind it" if half.kind == "pp" else "prompts (pp) before it"
        reason = f"{half.cells['test']!r} has no row of {other}, of the same model and load"
        yield Found(half.line, reason=reason)


def _row(prompt: _Half, output: _Half) -> dict[str, Any]:
    requests, length = output.requests, output.tokens
    whole = next((name for name in _TOTALS if name in output.cells), "")
    rate, deviation = _value(output.cells, whole)
    each, varies = (rate, deviation) if requests == 1 else _value(output.cells, "t/s (req)")
    first_ms = _value(prompt.cells, "e2e_ttft (ms)")[0] or math.nan
    decoding_s = requests * (length - 1) / rate if rate > 0 else math.nan
    row: dict[str, Any] = {
        "tool": TOOL,
        "model": output.cells["model"] or None,
        "dataset": f"{prompt.cells['test']} + {output.cells['test']}",
        "arrival": "closed",
        "request_rate_per_s": math.inf,
        "max_concurrency": requests,
        "n_requests": requests,
        "completed": requests,
        "duration_s": first_ms / MS_PER_S + decoding_s,
        "total_in_tok": math.nan if prompt.depth else requests * prompt.tokens,
        "total_out_tok": requests * length,
        "mean_ttft_ms": first_ms,
        "reported_out_tok_per_s": rate,
        "token_count_source": "requested",
    }
    if length > 1 and each > 0 and varies < _STEADY * each:
        row["mean_tpot_ms"], row["itl_kind"] = MS_PER_S / each, "request_mean"
    if requests > 1:
        add_warning(row, "duration is at most as stated, and throughput at least")
    if prompt.depth:
        add_warning(row, f"a context of {prompt.depth} tokens, cached or not, is not counted")
    return row


def _value(cells: dict[str, str], name: str) -> tuple[float, float]:
    """Return mean and standard deviation of a cell; NaN where it is empty or no such pair."""
    match = _VALUE.fullmatch(cells.get(name, ""))
    if match is None:
        return math.nan, math.nan
    return float(match[1]), float(match[2] or 0)


def _is_header(cells: Sequence[str]) -> bool:
    names = set(cells)
    return names >= _NEEDED and not names.isdisjoint(_TOTALS) and len(names) == len(cells)


def _cells(line: str) -> list[str]:
    line = line.strip()
    if len(line) < 2 or line[0] != "|" or line[-1] != "|":
        return []
    return [cell.strip() for cell in line[1:-1].split("|")]
