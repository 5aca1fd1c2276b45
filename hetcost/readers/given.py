"""What result files do not say: run columns that the user states, by argument or sidecar."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hetcost.columns import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS, out_of_bounds
from hetcost.errors import AmbiguousNameError, ReadError, UnknownNameError, listing, unknown_name
from hetcost.readers.fields import INFERRED, add_warning, flag, number, shown, text
from hetcost.reference import gpu_name
from hetcost.yaml12 import read_yaml

BY_MODEL = "by_model"
DERIVED = (
    "run_id",
    "source",
    "req_per_s",
    "out_tok_per_s",
    "all_tok_per_s",
    "mean_in_tok",
    "mean_out_tok",
    "mean_concurrency",
    "repeat",
    "warnings",
    "cut_off",
)
_GIVEN = {column.name: column for column in (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS)}
_OF_BOARDS = ("gpu_energy_j", "gpu_power_w", "energy_method")


_WORDS = {"prefix_state": ("cold", "warm", "unknown"), "phase": ("warmup", "measure")}


class Given:
    """Run columns stated for all runs, and for the runs of single models.

    Parameters
    ----------
    sidecar : YAML file of run columns and their values; under ``by_model`` a mapping from
        model to further ones. None for no sidecar.
    **columns : The same, by argument; they win over the sidecar.

    Raises
    ------
    UnknownNameError
        A name is no run column.
    ReadError
        The sidecar cannot be read, or a value is not of its column's kind or outside its bounds.
    """

    def __init__(self, sidecar: str | os.PathLike[str] | None = None, /, **columns: Any) -> None:
        if not isinstance(sidecar, (str, os.PathLike, type(None))):
            message = f"sidecar: {shown(sidecar)} where the path of a YAML file belongs"
            raise ReadError(message)
        stated = {} if sidecar is None else _read_sidecar(sidecar)
        by_model = stated.pop(BY_MODEL, {})
        self._stated, self._columns = _known(stated), _known(columns)
        self._by_model = {model: _known(more) for model, more in by_model.items()}
        self.unused_models = set(self._by_model)
        self._cards: dict[Any, list[str]] = {}

    def complete(self, row: dict[str, Any]) -> None:
        """Fill in what the row lacks.

        Raises
        ------
        ReadError
            The row says something else than what was given, or names its GPU ambiguously.
        """
        model = row.get("model")
        self.unused_models.discard(model)
        given = {**self._stated, **self._by_model.get(model, {}), **self._columns}
        if inferred := row.pop(INFERRED, ()):
            self._weigh(row, inferred, given)
        self._name_gpu(row, given.get("gpu"))
        for name, value in given.items():
            said = row.get(name)
            if _is_missing(said):
                row[name] = value
            elif said != value:
                message = f"{name}: the file says {shown(said)}, given was {shown(value)}"
                raise ReadError(message)
        _share_out(row)

    def _weigh(
        self, row: dict[str, Any], inferred: tuple[str, ...], given: Mapping[str, Any]
    ) -> None:
        """Put what was given before what was inferred of the boards; energy of others is none."""
        told = []
        for name in inferred:
            said, value = row.get(name), given.get(name)
            if not _is_missing(said) and not _is_missing(value) and self._differ(name, said, value):
                told.append(f"{name}: telemetry shows {said}, given was {value}")
                row[name] = value
        if told:
            add_warning(row, *told, "energy and power are of other boards and left out")
            for name in _OF_BOARDS:
                row.pop(name, None)

    def _differ(self, name: str, said: Any, value: Any) -> bool:
        cards = self._named(said) if name == "gpu" else [said]
        return bool(cards) and value not in cards

    def _named(self, written: str) -> list[str]:
        """Return the cards that a name may mean, looked up once."""
        if written not in self._cards:
            self._cards[written] = _cards(written)
        return self._cards[written]

    def _name_gpu(self, row: dict[str, Any], given: str | None) -> None:
        """Turn the file's name of the card into the canonical one."""
        written: Any = row.get("gpu")
        if _is_missing(written):
            return
        cards = self._named(written)
        if len(cards) == 1:
            row["gpu"] = cards[0]
        elif given is not None and (not cards or given in cards):
            row["gpu"] = given
        elif cards:
            raise ReadError(str(AmbiguousNameError("gpu", written, cards)))
        else:
            unknown = f"GPU '{written}' is not in the table of GPUs"
            add_warning(row, unknown)


def _cards(written: str) -> list[str]:
    """Return the cards that a name may mean: one, several, or none that is known."""
    try:
        return [gpu_name(written)]
    except AmbiguousNameError as error:
        return error.choices
    except UnknownNameError:
        return []


def _read_sidecar(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        stated = read_yaml(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        message = f"sidecar {os.fspath(path)}: {error}"
        raise ReadError(message) from None
    fits = isinstance(stated, dict) and isinstance(stated.get(BY_MODEL, {}), dict)
    if not fits:
        message = f"sidecar {os.fspath(path)}: run columns and their values belong here"
        raise ReadError(message)
    return dict(stated)


def _known(columns: Any) -> dict[str, Any]:
    """Check names and kinds of given columns; numbers may be written as text."""
    if not isinstance(columns, Mapping):
        message = f"given: {shown(columns)} where run columns and their values belong"
        raise ReadError(message)
    known: dict[str, Any] = {}
    for name, value in columns.items():
        if name not in _GIVEN:
            raise unknown_name("given", name, _GIVEN)
        if name in DERIVED or name.startswith("reported_"):
            message = f"given: {name} is worked out from the file and cannot be given"
            raise ReadError(message)
        if value is not None:
            known[name] = _value(columns, name)
    if "gpu" in known:
        known["gpu"] = gpu_name(known["gpu"])
    return known


def _value(columns: Mapping[str, Any], name: str) -> Any:
    column = _GIVEN[name]
    if name in _WORDS and (word := text(columns, name)) not in _WORDS[name]:
        message = f"given: {name}: {word!r} is none of {listing(_WORDS[name])}"
        raise ReadError(message)
    if column.kind in ("text", "flag"):
        return (text if column.kind == "text" else flag)(columns, name)
    value = number(columns, name)
    wrong, why = out_of_bounds(column, np.array([value]))
    if wrong.any():
        message = f"given: {name}: {value:g} {why}"
        raise ReadError(message)
    return value


def _share_out(row: dict[str, Any]) -> None:
    """Work out tensor parallelism from n_gpus = tensor · pipeline · replicas, where it is open.

    Data parallelism takes cards in one engine and shares them in another: there it stays open.
    """
    if row.get("pipeline_parallel") is None or row.get("data_parallel", 1) not in (None, 1):
        return
    shape: list[Any] = [row.get(name) for name in ("n_gpus", "pipeline_parallel", "replicas")]
    if _is_missing(row.get("tensor_parallel")) and not any(map(_is_missing, shape)):
        n_gpus, pipeline, replicas = shape
        if pipeline and replicas:
            row["tensor_parallel"] = n_gpus / (pipeline * replicas)


def _is_missing(value: Any) -> bool:
    return value is None or value != value
