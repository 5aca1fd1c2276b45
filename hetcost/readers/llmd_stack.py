"""Engines and cards in benchmark reports of llm-d.

===============================  ===================================  =============================
0.1                              0.2, of ``stack[].standardized``     column
===============================  ===================================  =============================
scenario.model.name              model.name                           model
scenario.model.quantization                                           weight_dtype
scenario.platform.engine         tool, tool_version                   engine, engine_version
host.accelerator[].model         accelerator.model                    gpu, where all are of one kind
host.accelerator[].count         accelerator.count × replicas         n_gpus, summed
host.type[] is ``prefill``       role is ``prefill``                  prefill_gpus, summed
parallelism.{tp,pp,dp,ep}        the same                             tensor_parallel …
===============================  ===================================  =============================

An entry of 0.1 is one server. A component of 0.2 with replicas counts the cards of one of them,
unless its count is that of tensor · pipeline · data parallelism times the replicas: then of all.
Components without an accelerator, as routers, have no cards. Parallelism and replicas are stated
where all servers are alike and each does both prefill and decode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hetcost.errors import ReadError
from hetcost.readers.clients import engine
from hetcost.readers.fields import inner
from hetcost.readers.nested import figure, word

_AXES = ("tp", "pp", "dp", "ep")
_PREFILL = "prefill"


class _Server(NamedTuple):
    """Servers that are alike: their role, kind of card, cards in all, number, parallelism."""

    role: str | None
    card: str | None
    cards: float
    replicas: float
    axes: tuple[float, ...]


def old_stack(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return model, engine and cards of a report of schema 0.1.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    host, platform = inner(scenario, "host"), inner(scenario, "platform")
    roles = [word({"type": role}, "type") for role in _list(host, "type")]
    servers = [
        _server(entry, roles[place] if place < len(roles) else None, 1.0)
        for place, entry in enumerate(_objects(host, "accelerator"))
    ]
    engines = [(word(e, "name"), word(e, "version")) for e in _objects(platform, "engine")]
    return {
        "model": word(scenario, "model", "name"),
        "weight_dtype": word(scenario, "model", "quantization"),
        **_engine(engines),
        **_cards(servers),
    }


def stack(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Return model, engine and cards of a report of schema 0.2.

    Raises
    ------
    ReadError
        A field is not of its kind.
    """
    parts = [inner(each, "standardized") for each in _objects(scenario, "stack")]
    parts = [part for part in parts if "accelerator" in part]
    servers = []
    for part in parts:
        replicas = figure(part, "replicas")
        replicas = 1.0 if math.isnan(replicas) else replicas
        servers.append(_server(inner(part, "accelerator"), word(part, "role"), replicas))
    models = {word(part, "model", "name") for part in parts}
    return {
        "model": models.pop() if len(models) == 1 else None,
        **_engine([(word(part, "tool"), word(part, "tool_version")) for part in parts]),
        **_cards(servers),
    }


def _server(accelerator: Mapping[str, Any], role: str | None, replicas: float) -> _Server:
    axes = tuple(figure(accelerator, "parallelism", axis) for axis in _AXES)
    count = figure(accelerator, "count")
    of_all = replicas > 1 and math.prod(axes[:3]) * replicas == count
    cards = count if of_all else count * replicas
    return _Server(role, word(accelerator, "model"), cards, replicas, axes)


def _engine(named: Iterable[tuple[str | None, str | None]]) -> dict[str, Any]:
    known = set(named)
    if len(known) != 1:
        return {}
    name, version = known.pop()
    return {"engine": engine(name), "engine_version": version}


def _cards(servers: list[_Server]) -> dict[str, Any]:
    if not servers:
        return {}
    kinds = {server.card for server in servers}
    out: dict[str, Any] = {
        "gpu": kinds.pop() if len(kinds) == 1 else ", ".join(sorted(map(str, kinds))),
        "n_gpus": sum(server.cards for server in servers),
    }
    if any(server.role == _PREFILL for server in servers):
        prefill = (server.cards for server in servers if server.role == _PREFILL)
        return out | {"prefill_gpus": sum(prefill)}
    shapes = {server.axes for server in servers}
    if len(shapes) == 1:
        tensor, pipeline, data, expert = shapes.pop()
        out |= {
            "tensor_parallel": tensor,
            "pipeline_parallel": pipeline,
            "data_parallel": data,
            "expert_parallel": expert,
            "replicas": sum(server.replicas for server in servers),
        }
    return out


def _list(record: Mapping[str, Any], key: str) -> list[Any]:
    found = record.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        message = f"{key}: {type(found).__name__} where a list belongs"
        raise ReadError(message)
    return found


def _objects(record: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = _list(record, key)
    if not all(isinstance(each, Mapping) for each in found):
        message = f"{key}: a list of objects belongs here"
        raise ReadError(message)
    return found
