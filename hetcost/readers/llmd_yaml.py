"""llm-d benchmark reports as YAML (see :mod:`hetcost.readers.llmd` for their fields).

A text is such a report if it has the keys ``scenario`` and ``metrics`` or ``results`` at the left
margin. It is read as data alone: tags are refused, and so are merge keys (``<<:``), which can blow
a small text up, and texts of more than 256 KiB, which take long and hold time series mostly. Other
YAML, as a sidecar or a configuration that lies beside the results, is refused with a reason and
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hetcost.errors import AssumptionError, ReadError
from hetcost.readers.llmd import TOOL, claims, rows
from hetcost.readers.records import Found
from hetcost.yaml12 import read_yaml

__all__ = ["TOOL", "claims_text", "is_yaml", "rows_of_text"]

_LARGEST = 2**18  # letters, which take seconds; a report without time series has about 2**14
_SCENARIO = re.compile(r"^scenario:(?=\s|$)", re.MULTILINE)
_FIGURES = re.compile(r"^(?:metrics|results):(?=\s|$)", re.MULTILINE)
_MERGE = re.compile(r"<<[\"']?\s*:(?=\s|$)")
_IGNORED = re.compile(r"\s*(#.*|---.*|\.\.\.|%YAML.*)?")
_KEY = re.compile(r"[\"']?[\w./-]+[\"']?\s*:(\s.*)?")
_WITHIN = re.compile(r"[\s-].*|[\]}],?\s*")
_TRIED = 50  # lines by which YAML is known


def claims_text(head: str) -> bool:
    """Say whether a text that begins so is a benchmark report of llm-d."""
    return _SCENARIO.search(head) is not None and _FIGURES.search(head) is not None


def rows_of_text(text: str) -> Iterator[Found]:
    """Yield the row of the report; or why there is none."""
    try:
        for row in rows(_report(text)):
            yield Found(1, row)
    except ReadError as error:
        yield Found(1, reason=str(error))


def is_yaml(text: str) -> bool:
    """Say whether a text looks like YAML: its first lines are keys and what belongs to them."""
    lines = [line for line in text.lstrip("\ufeff").splitlines() if not _IGNORED.fullmatch(line)]
    first = lines[:_TRIED]
    return bool(first and _KEY.fullmatch(first[0])) and all(
        _KEY.fullmatch(line) or _WITHIN.fullmatch(line) for line in first
    )


def _report(text: str) -> Mapping[str, object]:
    if len(text) > _LARGEST:
        message = (
            f"a YAML report of {len(text)} letters, more than {_LARGEST}: leave its time series "
            "out, or write it as JSON"
        )
        raise ReadError(message)
    if _MERGE.search(text):
        message = "YAML with merge keys (<<), which are not read: write them out"
        raise ReadError(message)
    try:
        record = read_yaml(text)
    except AssumptionError as error:
        raise ReadError(str(error)) from None
    if not isinstance(record, Mapping) or not claims(record):
        message = f"not a {TOOL}: scenario, and metrics or results with requests, belong in it"
        raise ReadError(message)
    return record
