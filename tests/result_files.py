"""What tests of readers share: writing results, reading them back, spoiling them."""

import copy
import json
import math
import os
from pathlib import Path

import pandas as pd
import pytest

from hetcost.runs import scan_runs

HOSTILE = ["", "x", [], {}, -1, math.inf, None, True, math.nan, 10**400]


def write(path, content):
    written = content if isinstance(content, str) else json.dumps(content)
    path.write_text(written, "utf-8", newline="")
    return path


def rows_of(path, content, **given):
    """Return the rows of a result, of which nothing may be refused."""
    scan = scan_runs(write(path, content), **given)
    assert scan.refused.empty, scan.refused.to_string()
    return [row for _, row in scan.runs.iterrows()]


def row_of(path, content, **given):
    (row,) = rows_of(path, content, **given)
    return row


def reasons_of(path, content, **given):
    """Return why a result gave no row at all."""
    scan = scan_runs(write(path, content), **given)
    assert scan.runs.empty, scan.runs.T.to_string()
    return list(scan.refused["reason"])


def check(row, expected):
    """Compare a row with what is expected; None means missing."""
    for name, value in expected.items():
        if value is None:
            assert name not in row or pd.isna(row[name]), (name, row[name])
        else:
            want = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert row[name] == want, name


def spoilt(record):
    """Yield the object with each part of it removed, and replaced by what does not belong."""
    for path in _paths(record):
        for value in ("removed", *HOSTILE):
            odd = copy.deepcopy(record)
            *outer, last = path
            place = odd
            for key in outer:
                place = place[key]
            if value == "removed":
                del place[last]
            else:
                place[last] = value
            yield odd


def _paths(value, path=()):
    keys = value if isinstance(value, dict) else ()
    if isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield (*path, key)
        yield from _paths(value[key], (*path, key))


def assert_rows_or_reasons(folder, records, at_least):
    """Each object is a row or a refusal that says why, whatever is wrong with it."""
    records = list(records)
    for start in range(0, len(records), 90):
        write(folder / f"{start:04}.json", records[start : start + 90])
    scan = scan_runs(folder)
    assert len(scan.runs) + len(scan.refused) >= len(records)
    assert scan.refused["reason"].str.len().gt(0).all()
    assert len(scan.runs) >= at_least, len(scan.runs)
    numbers = scan.runs.select_dtypes("number").drop(columns="request_rate_per_s")
    assert not (numbers == math.inf).any(axis=None)
    assert not scan.runs["out_tok_per_s"].eq(0).any(), "what is missing is not 0"


def samples(tool):
    """Return the folder of a tool's samples; skip where there are none."""
    folder = os.environ.get("HETCOST_SAMPLES")
    if not folder:
        pytest.skip(f"HETCOST_SAMPLES is not set: the samples of {tool} were not read")
    return Path(folder) / "formats" / tool
