"""``input_config`` of AIPerf and GenAI-Perf: what was asked of which model, and how fast.

Four layouts are read: AIPerf's ``loadgen``, the ``phases`` of its newer releases (the one phase
that is profiled), GenAI-Perf's flat options and its ``perf_analyzer.stimulus``. The layout is the
tools' own affair and changes; what is not found stays missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hetcost.readers.clients import engine
from hetcost.readers.fields import flag, inner, number, text

_ARRIVALS = ("poisson", "gamma", "constant")
_CLOSED = ("concurrency", "concurrency_burst")


def settings(record: Mapping[str, Any], *, retokenizes: bool) -> dict[str, Any]:
    """Read model, prompts and kind of answer.

    Parameters
    ----------
    record : A summary.
    retokenizes : Whether the tool always counts tokens itself.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    config = inner(record, "input_config")
    endpoint, prompts = _object(config, "endpoint"), _object(config, "input")
    names = (config.get("model"), config.get("model_names"), endpoint.get("model_names"))
    counted = flag(endpoint, "use_server_token_count")
    source = "server" if counted else "retokenized" if retokenizes or config else None
    return {
        "model": next(filter(None, map(_name, (*names, config.get("models")))), None),
        "engine": _engine(config) or _engine(endpoint),
        "dataset": text(config, "prompt_source")
        or text(prompts, "prompt_source")
        or text(prompts, "public_dataset"),
        "prompt_seed": _first_number(
            (config, "random_seed"),
            (prompts, "random_seed"),
            (inner(record, "run_info"), "random_seed"),
        ),
        "streaming": _first_flag((config, "streaming"), (endpoint, "streaming")),
        "token_count_source": source,
    }


def load(record: Mapping[str, Any], *, default: str) -> dict[str, Any]:
    """Read rate, limit and arrivals.

    Parameters
    ----------
    record : A summary.
    default : How requests arrive at a rate of which the file says no more.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    config = inner(record, "input_config")
    stated = (
        _profiled(config.get("phases"))
        or inner(config, "loadgen")
        or inner(config, "perf_analyzer", "stimulus")
        or config
    )
    rate = _first_number((stated, "request_rate"), (stated, "rate"))
    limit = _first_number((stated, "concurrency"))
    pattern = next(
        filter(None, (text(stated, key) for key in ("arrival_pattern", "request_rate_mode"))),
        text(stated, "type"),
    )
    shape = _first_number((stated, "arrival_smoothness"), (stated, "smoothness"))
    arrival: str | None = None
    if not math.isnan(rate) and not math.isinf(rate):
        arrival = pattern or default
        arrival = arrival if arrival in _ARRIVALS else None
    elif limit > 0 or pattern in _CLOSED:
        rate, arrival = math.inf, "closed"
    elif math.isinf(rate):
        arrival = "burst"
    if arrival == "gamma" and math.isnan(shape):
        shape = 1.0
    return {
        "request_rate_per_s": rate,
        "max_concurrency": limit,
        "arrival": arrival,
        "burstiness": shape if arrival == "gamma" else math.nan,
    }


def _profiled(phases: Any) -> Mapping[str, Any]:
    """Return the phase that was measured, where it is one."""
    if isinstance(phases, Mapping):
        return phases
    listed = phases if isinstance(phases, list) else []
    measured = [
        phase
        for phase in listed
        if isinstance(phase, Mapping) and "profiling" in (phase.get("kind"), phase.get("name"))
    ]
    return measured[0] if len(measured) == 1 else {}


def _name(value: Any) -> str | None:
    """Return the name of a model however it is wrapped; None of several."""
    for key in ("items", "name"):
        if isinstance(value, Mapping):
            value = value.get(key, value)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
    return text({"model": value}, "model") if isinstance(value, str) else None


def _engine(config: Mapping[str, Any]) -> str | None:
    """Return the engine behind a Triton server; against others the option says nothing."""
    if text(config, "service_kind") != "triton":
        return None
    return engine(text(config, "backend"))


def _object(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return an object inside an object; an empty one where a text stands, as a path may."""
    value = config.get(key)
    return {} if isinstance(value, str) else inner(config, key)


def _first_number(*places: tuple[Mapping[str, Any], str]) -> float:
    for record, key in places:
        value = record.get(key)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not math.isnan(found := number({key: value}, key)):
            return found
    return math.nan


def _first_flag(*places: tuple[Mapping[str, Any], str]) -> bool | None:
    return next((said for said in (flag(*place) for place in places) if said is not None), None)
