"""Pairs of rows to compare: one that matches `a` and one that matches `b`, in every group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pandas as pd

from hetcost.columns import require
from hetcost.errors import AssumptionError, listing

Pick = Callable[[pd.DataFrame], int]

_NAMED = ("gpu", "n_gpus", "request_rate_per_s")
_SHOWN = 6


class Pairs(NamedTuple):
    """Groups with the places of their two rows; and groups that lack one, with a note."""

    groups: list[dict[str, Any]]
    a: list[int]
    b: list[int]
    lacking: list[dict[str, Any]]


def pair_rows(
    runs: pd.DataFrame, a: str, b: str, by: str | Sequence[str], pick: Pick | None = None
) -> Pairs:
    """Pair one row of `a` with one of `b` in every group.

    Parameters
    ----------
    runs : Rows with a plain index of their places.
    a, b : Queries in pandas' syntax.
    by : Columns that make the groups.
    pick : Takes rows of one group that a query matches, returns the place of one of them.

    Raises
    ------
    ColumnError
        A column of `by` is missing.
    AssumptionError
        A query is none, matches nothing, or several rows of a group without `pick`; both match
        the same row; or no group has both.
    """
    keys = keys_of(by)
    require(runs, keys, "by")
    sides = {name: matched(runs, query, name) for name, query in (("a", a), ("b", b))}
    pairs = Pairs([], [], [], [])
    for key, members in _grouped(runs, keys):
        group = dict(zip(keys, key, strict=True))
        found = {name: members.index.intersection(rows) for name, rows in sides.items()}
        empty = [name for name, rows in found.items() if not len(rows)]
        if len(empty) == len(found):
            continue
        if empty:
            pairs.lacking.append({**group, "note": f"{empty[0]} matches no row here"})
            continue
        of_a, of_b = (_one(runs.loc[rows], name, group, pick) for name, rows in found.items())
        if of_a == of_b:
            message = f"a and b are the same row{_where(group)}: {name_of(runs.iloc[of_a])}"
            raise AssumptionError(message)
        pairs.groups.append(group)
        pairs.a.append(of_a)
        pairs.b.append(of_b)
    if not pairs.groups:
        message = f"no group of {listing(keys)} has a row of a ('{a}') and one of b ('{b}')"
        raise AssumptionError(message)
    return pairs


def keys_of(by: object) -> list[str]:
    """Return the columns that make groups: one name, or several."""
    if isinstance(by, str):
        return [by]
    if not isinstance(by, Sequence) or not all(isinstance(key, str) for key in by):
        message = f"by={by!r}: a column, or a list of columns, belongs here"
        raise AssumptionError(message)
    return list(by)


def matched(runs: pd.DataFrame, query: str, name: str) -> pd.Index:
    """Return the rows that a query matches; none at all is an error.

    Names of variables, ``@name``, are refused: they would be those of this module.
    """
    if not isinstance(query, str) or not query.strip() or "@" in query:
        message = f"{name}={query!r}: a query of columns and values belongs here, without @"
        raise AssumptionError(message)
    require(runs, [], name)
    try:
        rows = runs.query(query).index
    except Exception as error:  # whatever pandas makes of the text
        message = f"{name}: '{query}' is no query: {error}"
        raise AssumptionError(message) from None
    if rows.empty:
        cards = listing(sorted(runs["gpu"].dropna().unique())) if "gpu" in runs else "none"
        message = f"{name}: '{query}' matches no row; the cards are {cards}"
        raise AssumptionError(message)
    return rows


def single_row(runs: pd.DataFrame, query: str, name: str) -> int:
    """Return the place of the one row that a query matches."""
    return _one(runs.loc[matched(runs, query, name)], name, {}, None)


def name_of(row: pd.Series) -> str:
    """Return what a row is called in messages and tables."""
    known = {key: row[key] for key in _NAMED if key in row and pd.notna(row[key])}
    rate = f" at {known[_NAMED[2]]:g}/s" if _NAMED[2] in known else ""
    return f"{known.get('n_gpus', '?')}x {known.get('gpu', '?')}{rate}"


def why_missing(row: pd.Series, on: str) -> str:
    """Return why an evaluated row lacks a result."""
    kind = "cost" if on.startswith("usd") else "energy" if "_j_per_" in on else "carbon"
    return str(row[f"{kind}_note"])


def _grouped(runs: pd.DataFrame, keys: list[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    if not keys:
        return [((), runs)]
    groups = runs.groupby(keys, dropna=False, sort=True)
    return [(key if isinstance(key, tuple) else (key,), rows) for key, rows in groups]


def _one(rows: pd.DataFrame, name: str, group: dict[str, Any], pick: Pick | None) -> int:
    if len(rows) == 1:
        return int(rows.index.to_numpy()[0])
    if pick is not None:
        return pick(rows)
    found = "; ".join(name_of(row) for _, row in rows.head(_SHOWN).iterrows())
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    message = f"{name} matches {len(rows)} rows{_where(group)}: {found}{more}; narrow the query"
    raise AssumptionError(message)


def _where(group: dict[str, Any]) -> str:
    return f" of {', '.join(map(str, group.values()))}" if group else ""
