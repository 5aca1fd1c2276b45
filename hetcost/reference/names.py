"""Canonical names of cards and zones from any spelling or alias."""

from __future__ import annotations

from collections.abc import Iterable

from hetcost.errors import AmbiguousNameError, unknown_name
from hetcost.reference.tables import Tables, facts, name_key


def gpu_name(text: str, field: str = "gpu", *, tables: Tables = None) -> str:
    """Return the canonical name of a card from any spelling or alias of it.

    Parameters
    ----------
    text : The name as written.
    field : What to call it in the error.
    tables : Folder of a user's own tables.

    Raises
    ------
    UnknownNameError
        No card goes by that name; the message lists the nearest.
    AmbiguousNameError
        Several cards do; the message lists them.

    Examples
    --------
    >>> gpu_name("NVIDIA-H100-PCIe"), gpu_name("rtx4090")
    ('H100 PCIe 80GB', 'RTX 4090')
    """
    rows = facts("gpu_aliases", tables)
    names = facts("gpus", tables)["entity"].unique()
    pairs = [*zip(names, names, strict=True), *zip(rows["value"], rows["entity"], strict=True)]
    return _resolve(field, text, pairs, choices=names)


def zone_code(text: str, *, tables: Tables = None) -> str:
    """Return the code of a grid zone from its code, alpha-3 code or English name.

    Raises
    ------
    UnknownNameError
        There is no such zone; the message lists the nearest.

    Examples
    --------
    >>> zone_code("DEU"), zone_code("germany")
    ('DE', 'DE')
    """
    rows = facts("grids", tables)
    codes = rows["entity"].unique()
    named = rows[rows["unit"] == "text"]
    pairs = [*zip(codes, codes, strict=True), *zip(named["value"], named["entity"], strict=True)]
    return _resolve("grid_zone", text, pairs, choices=[alias for alias, _ in pairs])


def _resolve(field: str, text: str, pairs: list[tuple[str, str]], choices: Iterable[str]) -> str:
    """Find the one entity that a name or alias stands for; case and punctuation do not count."""
    key = name_key(text)
    found = list(dict.fromkeys(entity for alias, entity in pairs if name_key(alias) == key))
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousNameError(field, text, found)
    raise unknown_name(field, text, choices)
