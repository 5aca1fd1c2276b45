"""Statistics that a vLLM result lacks, from its arrays of single requests (``--save-detailed``).

===========  ===========================  =============================================
field        column                       note
===========  ===========================  =============================================
ttfts        {mean,p50,…,p99}_ttft_ms     s per request
itls         {mean,p50,…,p99}_itl_ms      s; a list per request, pooled over all
latencies    {mean,p50,…,p99}_e2el_ms     s; from 2026, before it TTFT + the sum of ITL
output_lens  {mean,p50,…,p99}_tpot_ms     tokens; (E2E − TTFT) / (n − 1) where n > 1
errors       —                            blank where the request succeeded
===========  ===========================  =============================================

Percentiles are linear between ranks, as the tool's own. Only requests that succeeded count, and
nothing is filled in where their number is not the one that the file states.

Clients before 2025 counted output tokens by tokenizing the answer anew, which misses special
tokens. There a request has as many tokens as it has gaps and one more, if that is more. Where this
moves the total by more than 2 %, TPOT and total are taken from the stream.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcost.columns import STATISTICS
from hetcost.errors import ReadError
from hetcost.readers.pooled import statistics_ms
from hetcost.units import MS_PER_S

Floats = NDArray[np.float64]

_APART = 0.02  # of two counts of the same tokens


class _Requests(NamedTuple):
    """The requests that succeeded."""

    ttft_s: Floats
    e2el_s: Floats
    gaps_s: Floats
    n_gaps: Floats
    n_out: Floats


def fill(record: Mapping[str, Any], row: dict[str, Any], *, recount: bool) -> str:
    """Fill in the statistics that a row lacks.

    Parameters
    ----------
    record : The result as it was written.
    row : Its row; what it has stays.
    recount : Whether the file's output lengths are of answers tokenized anew.

    Returns
    -------
    A warning, or nothing.

    Raises
    ------
    ReadError
        An array holds something else than it should.
    """
    requests = _succeeded(record)
    if requests is None:
        return "the arrays of single requests are of unlike lengths and were not used"
    found, stated = len(requests.ttft_s), row["completed"]
    if found != stated:
        return (
            f"the arrays hold {found} answered requests where {stated:g} are stated, "
            "and were not used"
        )
    warning = ""
    if recount:
        requests = requests._replace(n_out=np.maximum(requests.n_out, requests.n_gaps + 1))
        warning = _take_count(row, float(requests.n_out.sum()))
    for metric, seconds in _metrics(requests).items():
        names = [f"{each}_{metric}_ms" for each in STATISTICS]
        wanted = [name for name in names if math.isnan(row[name])]
        if wanted:
            taken = statistics_ms(metric, seconds * MS_PER_S)
            row.update({name: taken[name] for name in wanted if name in taken})
    return warning


def _take_count(row: dict[str, Any], streamed: float) -> str:
    """Put the streamed tokens in place of the stated ones, if they are not much the same."""
    stated = row["total_out_tok"]
    if not abs(streamed - stated) > _APART * stated:
        return ""
    row["total_out_tok"] = streamed
    row["token_count_source"] = "client_stream"
    row.update({key: math.nan for key in row if "_tpot_" in key})
    return (
        f"{streamed:.0f} output tokens were streamed where {stated:.0f} are stated, which "
        "tokenizing anew gave; the former count, in TPOT too"
    )


def _metrics(requests: _Requests) -> dict[str, Floats]:
    several = requests.n_out > 1
    decoding_s = requests.e2el_s[several] - requests.ttft_s[several]
    return {
        "ttft": requests.ttft_s,
        "tpot": decoding_s / (requests.n_out[several] - 1),
        "itl": requests.gaps_s,
        "e2el": requests.e2el_s,
    }


def _succeeded(record: Mapping[str, Any]) -> _Requests | None:
    """Return the requests without an error that brought something; None if lengths differ."""
    gap_lists = [_checked("itls", gaps) for gaps in _list(record, "itls")]
    n_gaps = np.array([len(gaps) for gaps in gap_lists], dtype=np.float64)
    ttft_s, n_out = _numbers(record, "ttfts"), _numbers(record, "output_lens")
    errors = _list(record, "errors") or [""] * len(ttft_s)
    if not len(gap_lists) == len(ttft_s) == len(n_out) == len(errors):
        return None
    gaps_s = _array("itls", list(chain.from_iterable(gap_lists)))
    owner = np.repeat(np.arange(len(n_gaps)), n_gaps.astype(np.intp))
    e2el_s = _numbers(record, "latencies")
    if len(e2el_s) != len(ttft_s):
        e2el_s = ttft_s + np.bincount(owner, weights=gaps_s, minlength=len(n_gaps))
    good = np.array([not error for error in errors], dtype=bool) & ((ttft_s > 0) | (n_out > 0))
    return _Requests(ttft_s[good], e2el_s[good], gaps_s[good[owner]], n_gaps[good], n_out[good])


def _numbers(record: Mapping[str, Any], key: str) -> Floats:
    return _array(key, _list(record, key))


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    return _checked(key, record.get(key))


def _checked(key: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        message = f"{key}: {type(value).__name__} where a list belongs"
        raise ReadError(message)
    return value


def _array(key: str, values: list[Any]) -> Floats:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.full(1, np.nan)
    if found.ndim != 1 or not (np.isfinite(found) & (found >= 0)).all():
        message = f"{key}: an entry is not a number of at least 0"
        raise ReadError(message)
    return found
