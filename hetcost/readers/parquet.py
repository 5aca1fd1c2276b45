"""Tables of runs as Parquet, by pyarrow (``hetcost[parquet]``); columns as :mod:`.tables` says."""

from __future__ import annotations

import datetime as dt
import decimal
import io
import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from hetcost.errors import ReadError
from hetcost.readers.opening import LARGEST
from hetcost.readers.records import Found
from hetcost.readers.tables import Columns, checked, names_of, row_of

_BATCH = 4096  # rows that are read at once
_MOST_CELLS = 10**8


def rows_of_parquet(
    source: str | os.PathLike[str] | bytes, columns: Columns = None
) -> Iterator[Found]:
    """Yield the rows of a Parquet table as run columns, each with its number; or why there is none.

    Parameters
    ----------
    source : The file's path, or its content.
    columns : Names of the table and the run columns that they mean.

    Raises
    ------
    ReadError
        It is no Parquet file, or not a table of runs; or pyarrow is not installed.
    UnknownNameError
        The mapping leads to what is no run column.
    """
    mapping = checked(columns)
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        message = "a Parquet table needs pyarrow: pip install 'hetcost[parquet]'"
        raise ReadError(message) from None
    file = io.BytesIO(source) if isinstance(source, bytes) else source
    count = 0
    try:
        with parquet.ParquetFile(file) as table:
            _measure(table.metadata)
            header = [str(name) for name in table.schema_arrow.names]
            names = names_of(header, mapping)
            known = {column: name for column, name in zip(header, names, strict=True) if name}
            for batch in table.iter_batches(_BATCH, columns=list(known)):
                for record in batch.to_pylist():
                    count += 1
                    yield row_of(count, {known[key]: _plain(cell) for key, cell in record.items()})
    except ReadError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        message = f"no Parquet table: {error}"
        raise ReadError(message) from None
    if not count:
        yield Found(1, reason="no runs in this file")


def _measure(metadata: Any) -> None:
    """Refuse what would fill the memory."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    if size > LARGEST or metadata.num_rows * metadata.num_columns > _MOST_CELLS:
        message = f"larger than {LARGEST / 2**20:.0f} MiB or {_MOST_CELLS:.0e} cells"
        raise ReadError(message)


def _plain(value: Any) -> Any:
    if isinstance(value, (dt.datetime, dt.date)):
        return value.isoformat()
    return float(value) if isinstance(value, decimal.Decimal) else value
