"""Tables of runs: CSV in the run columns, as ``hetcost tidy`` writes, or mapped to them.

The header names run columns (:mod:`hetcost.columns`), or other names that a mapping
``columns={"tps": "out_tok_per_s"}`` translates; units are those of the run columns. A text is such
a table if its first line names the model or the GPU, and a throughput or the output tokens.
Delimiter is a comma, a semicolon or a tab; numbers have a decimal point.

===================================  ===============================================================
column                               note
===================================  ===============================================================
any run column, any pNN_…_ms         as stated; an empty cell is missing
out_tok_per_s, all_tok_per_s,        worked out anew where tokens, time and requests are known; a
req_per_s, mean_in_tok,              stated throughput that differs is kept as ``reported_…``. Where
mean_out_tok, mean_concurrency       they are not known the stated figure is all there is, and the
                                     row says so in ``warnings``
run_id                               kept where it is one of ours
source, repeat                       left out: they are worked out anew
any other                            left out, and told in a :class:`DataWarning`, once per table
===================================  ===============================================================
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hetcost.columns import LATENCIES, OPTIONAL_RUN_COLUMNS, RUN_COLUMNS
from hetcost.errors import DataWarning, ReadError, listing, nearest_first, unknown_name
from hetcost.readers.fields import add_warning, date, flag, number, shown, text
from hetcost.readers.records import Found
from hetcost.readers.streamed import keep_measured

TOOL = "table of runs"

Columns = Mapping[str, str] | None

_KINDS = {column.name: column.kind for column in (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS)}
_ANEW = ("source", "repeat")
_MAPPABLE = [name for name in _KINDS if name not in (*_ANEW, "run_id")]
_PERCENTILE = re.compile(rf"p\d{{1,2}}(_\d+)?_({'|'.join(LATENCIES)})_ms")
_RUN_ID = re.compile(r"[0-9a-f]{12}")
_SUBJECTS = {"model", "gpu"}
_RATES = {"out_tok_per_s", "all_tok_per_s", "total_out_tok"}
_NAMELESS = ("", "__index_level_0__")  # the index of a frame, as pandas writes it
_FEWEST_COLUMNS, _LOOKED_AT = 3, 4  # of what looks like a table: columns, and lines
_MOST_BROKEN = 50  # rows of a table after which it is no table
_SAME = 1e-6  # of a stated rate and the one that is worked out


def claims_text(head: str, columns: Columns = None) -> bool:
    """Say whether a text that begins so is a table of runs, by its header.

    Raises
    ------
    UnknownNameError
        The mapping leads to what is no run column.
    """
    return _is_runs(_header(head)[0], checked(columns))


def unnamed(head: str, columns: Columns = None) -> str:
    """Return what a table lacks to be one of runs; "" where a text does not look like a table."""
    names, delimiter = _header(head)
    lines = [line for line in head.split("\n", _LOOKED_AT) if line.strip()][1:_LOOKED_AT]
    rows = [_split(line, delimiter) for line in lines]
    if len(names) < _FEWEST_COLUMNS or not rows or any(len(row) != len(names) for row in rows):
        return ""
    absent = sorted(set(columns or {}) - set(names), key=str)
    told = f"a table without {listing(absent)}; its" if absent else "a table of no run columns: its"
    return (
        f"{told} columns are {listing(names, 8)}. State which is which: "
        'columns={"tps": "out_tok_per_s"}, or -c tps=out_tok_per_s; `hetcost columns` lists ours'
    )


def checked(columns: Columns) -> dict[str, str]:
    """Return a mapping from names in a table to run columns, if it leads to such.

    Raises
    ------
    UnknownNameError
        It leads elsewhere; the message lists the nearest run columns.
    ReadError
        It is no mapping.
    """
    if columns is not None and not isinstance(columns, Mapping):
        message = f"columns: {shown(columns)} where names and their run columns belong"
        raise ReadError(message)
    mapping = dict(columns or {})
    for name in mapping.values():
        if not (name in _MAPPABLE or (isinstance(name, str) and _PERCENTILE.fullmatch(name))):
            raise unknown_name("columns", name, _MAPPABLE)
    return mapping


def rows_of_table(text: str, columns: Columns = None) -> Iterator[Found]:
    """Yield the rows of a table as run columns, each with its line; or why there is none.

    Parameters
    ----------
    text : A delimited table with a header.
    columns : Names of the table and the run columns that they mean.

    Raises
    ------
    UnknownNameError
        The mapping leads to what is no run column.
    """
    mapping = checked(columns)
    header, delimiter = _header(text)
    rows = _numbered(text, delimiter)
    first = next(rows, Found(1))
    try:
        names = names_of(header, mapping)
    except ReadError as error:
        yield Found(first.line, reason=str(error))
        return
    none = True
    for found in rows:
        none = False
        cells = found.value
        if found.reason:
            yield found
        elif len(cells) != len(header):
            told = f"{len(cells)} cells where the header has {len(header)}"
            more = sum(cell.count("\n") for cell in cells)
            told += f" (lines {found.line} to {found.line + more}, by its quotes)" if more else ""
            yield Found(found.line, reason=told)
        else:
            yield row_of(found.line, dict(zip(names, cells, strict=True)))
    if none:
        yield Found(first.line, reason="no runs in this file")


rows_of_text = rows_of_table


def _header(text: str) -> tuple[list[str], str]:
    """Return the names on the first line, and the delimiter that parts them."""
    line = next((line for line in text.split("\n", 1000) if line.strip()), "")
    found = [(_split(line, delimiter), delimiter) for delimiter in (",", ";", "\t")]
    return max(found, key=lambda each: len(each[0]))


def _split(line: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([line.strip("\r")], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
    return [cell.strip() for cell in cells]


def _numbered(text: str, delimiter: str) -> Iterator[Found]:
    """Yield the cells of each row that is not blank, with the line that it begins on.

    A row that cannot be read, as one whose quote is not closed, ends with its line.
    """
    rest, before, broken = list(io.StringIO(text, newline="")), 0, 0
    lines = csv.reader(rest, delimiter=delimiter, strict=True)
    while True:
        line = before + lines.line_num + 1
        try:
            cells = next(lines)
        except StopIteration:
            return
        except csv.Error as error:
            yield Found(line, reason=f"no row of a table: {error}")
            broken += 1
            if broken == _MOST_BROKEN:
                left = len(rest) - line + before
                yield Found(line + 1, reason=f"too many broken rows: {left} lines were not read")
                return
            rest, before = rest[line - before :], line
            lines = csv.reader(rest, delimiter=delimiter, strict=True)
        else:
            if any(cell.strip() for cell in cells):
                yield Found(line, cells)


def _is_runs(header: Sequence[str], mapping: Mapping[str, str]) -> bool:
    names = {mapping.get(name, name) for name in header}
    return bool(names & _SUBJECTS and names & _RATES) or not mapping.keys().isdisjoint(header)


def names_of(header: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
    """Return the run column of each name in a header, blank where it is none.

    Raises
    ------
    ReadError
        The header is not of a table of runs, or names a run column twice.
    """
    if not _is_runs(header, mapping):
        message = f"neither in the run columns nor mapped to them: {listing(header, 6)}"
        raise ReadError(message)
    names = [mapping.get(name, name) for name in header]
    known = [name if name in _KINDS or _PERCENTILE.fullmatch(name) else "" for name in names]
    twice = [name for name in dict.fromkeys(known) if name and known.count(name) > 1]
    if twice:
        message = f"columns {listing(twice)} stand twice"
        raise ReadError(message)
    others = [n for n, name in zip(header, known, strict=True) if not name and n not in _NAMELESS]
    if others:
        _tell(f"left out of a table what is no run column: {listing(others)}")
    for absent in sorted(mapping.keys() - set(header), key=str):
        likely = listing(nearest_first(absent, header)[:3])
        _tell(f"columns: a table has no '{absent}'; the columns most like it are {likely}")
    return [name if name not in _ANEW else "" for name in known]


def _tell(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=2)


def row_of(line: int, cells: Mapping[str, Any]) -> Found:
    """Return the run columns of a row by their names; or why there are none."""
    row: dict[str, Any] = {}
    try:
        for name in cells:
            value = _value(cells, name) if name else None
            if value is not None and value == value:
                row[name] = value
    except ReadError as error:
        return Found(line, reason=str(error))
    if not _RUN_ID.fullmatch(row.get("run_id", "")):
        row.pop("run_id", None)
    _weigh_rates(row)
    keep_measured(row)
    return Found(line, row)


def _value(cells: Mapping[str, Any], name: str) -> Any:
    kind = _KINDS.get(name, "number")
    if name == "date":
        return date(cells, name)
    if kind == "text":
        return text(cells, name)
    return flag(cells, name) if kind == "flag" else number(cells, name)


def _weigh_rates(row: dict[str, Any]) -> None:
    """Keep a stated throughput that differs from tokens / time; say where it is all there is."""
    duration, tok_out = row.get("duration_s", math.nan), row.get("total_out_tok", math.nan)
    tokens = {"out": tok_out, "all": row.get("total_in_tok", math.nan) + tok_out}
    lacking: dict[str, None] = {}
    for basis, count in tokens.items():
        name = f"{basis}_tok_per_s"
        if name not in row:
            continue
        worked_out = count / duration if duration > 0 else math.nan
        if abs(row[name] - worked_out) > _SAME * worked_out:
            row.setdefault(f"reported_{name}", row[name])
        lacking |= {"tokens": None} if math.isnan(count) else {}
        lacking |= {"duration": None} if math.isnan(duration) else {}
    if lacking:
        verb = "are" if "tokens" in lacking else "is"
        told = f"throughput as stated, {' and '.join(lacking)} {verb} not known"
        if told not in row.get("warnings", ""):
            add_warning(row, told)
