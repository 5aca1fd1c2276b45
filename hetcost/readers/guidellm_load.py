"""What GuideLLM measured, and how it sent requests.

===========  ===================================================  ====================
strategy     arrival                                              rate
===========  ===================================================  ====================
synchronous  closed, one request in flight                        inf
concurrent   closed, ``streams`` requests in flight               inf
throughput   closed at ``max_concurrency``; a burst without one   inf
constant     constant                                             ``rate``, 1/s
poisson      poisson                                              ``rate``, 1/s
===========  ===================================================  ====================

A sweep is a run of each of several strategies. Up to 0.3 ``constant`` and ``poisson`` begin with a
burst of one second's requests. From 0.4 on the limit of requests in flight is always stated, with
512 where none was asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from hetcost.readers.clients import engine
from hetcost.readers.fields import date, date_utc, inner, number, text

_TIME = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})?")


def subject(run: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was measured, when, and with which prompts.

    Parameters
    ----------
    run : An entry of ``benchmarks``.
    args : Arguments of the report.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    return {
        "engine": engine(text(args, "backend")),
        "date": _date(run),
        "model": _model(run),
        "dataset": _dataset(run, args),
        "prompt_seed": _seed(run, args),
    }


def load(run: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return how requests were sent; add to the notes where the load was no steady one.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    strategy = inner(run, "config", "strategy") or inner(run, "args", "strategy")
    kind = text(strategy, "type_")
    limit, rate = number(strategy, "max_concurrency"), number(strategy, "rate")
    arrival = kind if kind in ("constant", "poisson") else None
    if kind == "synchronous":
        arrival, limit = "closed", 1.0
    elif kind == "concurrent":
        arrival, limit = "closed", number(strategy, "streams")
    elif kind == "throughput":
        arrival = "burst" if math.isnan(limit) else "closed"
    if arrival in ("closed", "burst"):
        rate = math.inf
    rise = number(strategy, "rampup_duration")
    if rise > 0:
        notes.append(f"the load rises over the first {rise:g} s")
    return {"arrival": arrival, "request_rate_per_s": rate, "max_concurrency": limit}


def _date(run: Mapping[str, Any]) -> str | None:
    written = run.get("start_time")
    if isinstance(written, str) and _TIME.fullmatch(written.strip()):
        return (date(run, "start_time") or "").replace(" ", "T")
    seconds = number(run, "start_time")
    return None if seconds <= 0 else date_utc(seconds, "start_time")


def _model(run: Mapping[str, Any]) -> str | None:
    named = text(inner(run, "config", "backend"), "model")
    named = named or text(inner(run, "worker"), "backend_model")
    return None if named == "None" else named


def _dataset(run: Mapping[str, Any], args: Mapping[str, Any]) -> str | None:
    data = args.get("data") or inner(run, "request_loader").get("data")
    parts: list[Any] = data if isinstance(data, list) else [data]
    if not all(isinstance(part, str) for part in parts):
        return None
    return text({"data": " ".join(", ".join(parts).split())}, "data")


def _seed(run: Mapping[str, Any], args: Mapping[str, Any]) -> float:
    seed = number(args, "random_seed")
    return number(inner(run, "args", "profile"), "random_seed") if math.isnan(seed) else seed
