"""Result files of load generators → rows in the run columns; what cannot be read is refused.

One module per tool, registered below. What a file is, its content says, never its name. A module
reads one or more of three forms:

* *results*: JSON objects that are a result each (`claims`, `rows`);
* *requests*: JSON objects that are one request each, summed up over the file (`claims_request`,
  `Requests`);
* *texts*: console output, tables (`claims_text`, `rows_of_text`).

All raise :class:`~hetcost.errors.ReadError` with the reason where no row can be made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from hetcost.errors import ReadError, listing
from hetcost.readers import (
    aiperf,
    aiperf_requests,
    console,
    genai_csv,
    guidellm,
    guidellm_csv,
    inference_perf,
    inferencex,
    llama_bench,
    llama_bench_text,
    llama_benchy,
    llmd,
    llmd_yaml,
    llmperf,
    mlenergy,
    mlperf,
    optimum,
    sglang,
    tables,
    trtllm,
    vllm,
    vllm_batch,
)
from hetcost.readers.records import Found, json_records

Row = dict[str, Any]
HEAD = 2**16  # letters at either end of a text by which it is known
_OTHER_YAML = (
    "no result but what looks like YAML, as a sidecar or a configuration, and is no "
    f"{llmd_yaml.TOOL}"
)
_JSON = re.compile(r"\s*(\{|\[\s*[\[{\]])")


class ResultReader(Protocol):
    """A module that reads JSON objects which are results."""

    TOOL: str

    def claims(self, record: Mapping[str, Any]) -> bool:
        """Say whether the object is a result of this tool."""

    def rows(self, record: Mapping[str, Any]) -> list[Row]:
        """Turn the object into rows of run columns."""


class Sum(Protocol):
    """Requests of one file, summed up."""

    def add(self, record: Mapping[str, Any]) -> None:
        """Count in one request."""

    def row(self) -> Row:
        """Turn what was counted into a row of run columns."""


class RequestReader(Protocol):
    """A module that reads JSON objects which are requests."""

    TOOL: str

    def claims_request(self, record: Mapping[str, Any]) -> bool:
        """Say whether the object is a request as this tool writes it."""

    def Requests(self) -> Sum:
        """Begin a file."""


class TextReader(Protocol):
    """A module that reads text."""

    TOOL: str

    def claims_text(self, head: str) -> bool:
        """Say whether a text that begins so is a result of this tool."""

    def rows_of_text(self, text: str) -> Iterator[Found]:
        """Yield rows of run columns as values, each with its line; or why there is none."""


RESULT_READERS: tuple[ResultReader, ...] = (
    vllm,
    sglang,
    vllm_batch,
    aiperf,
    llmperf,
    llama_bench,
    guidellm,
    trtllm,
    inferencex,
    mlenergy,
    optimum,
    inference_perf,
    llmd,
)
REQUEST_READERS: tuple[RequestReader, ...] = (aiperf_requests, llmperf)
TEXT_READERS: tuple[TextReader, ...] = (
    console,
    genai_csv,
    llama_bench_text,
    llama_benchy,
    guidellm_csv,
    mlperf,
    llmd_yaml,
    tables,
)


def rows_of_text(text: str, columns: Mapping[str, str] | None = None) -> Iterator[Found]:
    """Yield the rows of a text in any known form, each with its line; or why there is none.

    `columns` are names of a table of the user's own, and the run columns that they mean.
    """
    head = text if len(text) <= 2 * HEAD else f"{text[:HEAD]}\n{text[-HEAD:]}"
    if _JSON.match(head) is None:
        if columns and tables.claims_text(head, columns):
            yield from tables.rows_of_table(text, columns)
            return
        for reader in TEXT_READERS:
            if reader.claims_text(head):
                yield from reader.rows_of_text(text)
                return
        values = list(json_records(text))
        if text.strip() and all(found.reason for found in values):
            foreign = "no result of a known tool: not JSON, nor a text of theirs"
            other = _OTHER_YAML if llmd_yaml.is_yaml(head) else foreign
            yield Found(1, reason=tables.unnamed(head, columns) or other)
            return
        yield from rows_of_values(values)
        return
    yield from rows_of_values(json_records(text))


def rows_of_values(values: Iterable[Found]) -> Iterator[Found]:
    """Yield the rows of JSON values, each with its line; or why there is none.

    Requests are summed up over all the values, and their row comes last.
    """
    sums: dict[str, tuple[int, Sum]] = {}
    for found in values:
        if found.reason:
            yield found
            continue
        try:
            rows = _rows(found, sums)
        except ReadError as error:
            yield Found(found.line, reason=str(error))
            continue
        for row in rows:
            yield Found(found.line, row)
    for line, total in sums.values():
        try:
            yield Found(line, total.row())
        except ReadError as error:
            yield Found(line, reason=str(error))


def _rows(found: Found, sums: dict[str, tuple[int, Sum]]) -> list[Row]:
    record = found.value
    if not isinstance(record, Mapping):
        message = f"not a result but a JSON {type(record).__name__}"
        raise ReadError(message)
    for reader in RESULT_READERS:
        if reader.claims(record):
            return reader.rows(record)
    for requests in REQUEST_READERS:
        if requests.claims_request(record):
            sums.setdefault(requests.TOOL, (found.line, requests.Requests()))[1].add(record)
            return []
    keys = listing(record, 6) or "none"
    message = f"not a result of a known tool; its keys are {keys}"
    raise ReadError(message)
