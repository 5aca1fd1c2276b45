"""Which module reads which text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from hetcost.errors import ReadError, listing
from hetcost.power_logs import (
    codecarbon,
    dmon,
    powermetrics,
    prometheus,
    ptdaemon,
    rocm,
    tables,
    telemetry,
    zeus,
)
from hetcost.power_logs.samples import Options, Sample
from hetcost.readers.opening import Opened
from hetcost.readers.records import Found, json_lines, json_records

_HEAD = 2**16  # letters by which a text is known
_MOST_OTHERS = 20  # objects at the begin of a file that may be of another kind
_JSON = re.compile(r"\s*(\{|\[\s*\{)")


class ObjectReader(Protocol):
    """Objects of one file, in order."""

    def samples(self, record: Mapping[str, Any]) -> Iterator[Sample]:
        """Yield the samples in an object."""


class ObjectTool(Protocol):
    """A module that reads objects of JSON."""

    TOOL: str

    def claims(self, record: Mapping[str, Any]) -> bool:
        """Say whether the object is of this tool."""

    def Reader(self, options: Options) -> ObjectReader:
        """Begin a file."""


class TextTool(Protocol):
    """A module that reads text."""

    TOOL: str

    def claims_text(self, head: str, options: Options) -> bool:
        """Say whether a text that begins so is of this tool."""

    def samples_of_text(self, text: str, options: Options) -> Iterator[Found]:
        """Yield samples or notes as values, each with its line; or why there is none."""


OBJECT_TOOLS: tuple[ObjectTool, ...] = (telemetry, rocm)
TEXT_TOOLS: tuple[TextTool, ...] = (
    ptdaemon,
    zeus,
    codecarbon,
    powermetrics,
    dmon,
    prometheus,
    tables,
)


def samples_of(source: Opened, options: Options) -> tuple[str, Iterator[Found]]:
    """Return the tool that wrote a text, and its samples, each with its line.

    Raises
    ------
    ReadError
        The text is of no known tool.
    """
    if source.trouble:
        raise ReadError(source.trouble)
    if source.data is not None:
        message = "a Parquet table, no log of power"
        raise ReadError(message)
    if source.text is None:
        return _of_objects(json_lines(source.lines or ()), options)
    text = source.text
    if not text.strip():
        message = "the file is empty"
        raise ReadError(message)
    head = text[:_HEAD]
    if _JSON.match(head):
        return _of_objects(json_records(text), options)
    for tool in TEXT_TOOLS:
        if tool.claims_text(head, options):
            return tool.TOOL, tool.samples_of_text(text, options)
    raise ReadError(_unknown("no log of power"))


def _unknown(what: str) -> str:
    tools: list[Any] = [*TEXT_TOOLS, *OBJECT_TOOLS]
    return f"{what} of a known tool ({listing([*(each.TOOL for each in tools), 'nvidia-smi'])})"


def _of_objects(values: Iterable[Found], options: Options) -> tuple[str, Iterator[Found]]:
    """Return the tool that wrote objects, and their samples."""
    rest = iter(values)
    before: list[Found] = []
    for found in rest:
        before.append(found)
        if found.reason:
            continue
        record = found.value
        if isinstance(record, Mapping):
            for tool in OBJECT_TOOLS:
                if tool.claims(record):
                    return tool.TOOL, _samples([*before], rest, tool, options)
        if sum(not each.reason for each in before) == _MOST_OTHERS:
            break
    if any(not each.reason for each in before):
        raise ReadError(_unknown("no sample of power"))
    raise ReadError(before[0].reason if before else "the file is empty")


def _samples(
    before: list[Found], rest: Iterator[Found], tool: ObjectTool, options: Options
) -> Iterator[Found]:
    reader = tool.Reader(options)
    for found in (each for part in (before, rest) for each in part):
        if found.reason:
            yield found
            continue
        try:
            if not isinstance(found.value, Mapping) or not tool.claims(found.value):
                message = f"no sample of {tool.TOOL}"
                raise ReadError(message)  # noqa: TRY301  one place that tells the line
            for sample in reader.samples(found.value):
                yield Found(found.line, sample)
        except ReadError as error:
            yield Found(found.line, reason=str(error))
