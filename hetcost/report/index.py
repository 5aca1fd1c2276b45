"""The front page over all reports of a folder, and its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hetcost import __version__
from hetcost.errors import ReportError
from hetcost.replacing import replacing
from hetcost.report.pages import index_page
from hetcost.report.provenance import commit, input_hashes, provenance_line
from hetcost.report.rendering import Rendered, read_card

INDEX, MANIFEST = "index.html", "manifest.json"
SCHEMA_VERSION = 1


def write_index(out: str | Path = "build/reports") -> Path:
    """Write ``index.html`` and ``manifest.json`` over the finished reports in a folder.

    Parameters
    ----------
    out : The folder that :func:`render` wrote to.

    Returns
    -------
    The path of the index. Each file is replaced as a whole, so that a reader never meets half
    of one. The manifest is described by ``manifest.schema.json`` beside this module.

    Raises
    ------
    ReportError
        The folder cannot be written, or holds an index that is not ours.
    """
    root = Path(out)
    check_ours(root)
    try:
        cards = (read_card(folder) for folder in sorted(root.iterdir()) if folder.is_dir())
        reports = [card for card in cards if card is not None]
        manifest = {
            "schema_version": SCHEMA_VERSION,
            "hetcost_version": __version__,
            "commit": commit(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "inputs": input_hashes(),
            "reports": [asdict(report) for report in reports],
        }
        written = json.dumps(manifest, indent=2, ensure_ascii=True) + "\n"
        with replacing(root / MANIFEST) as begun:
            begun.write_text(written, "utf-8")
        page = index_page(reports, _sources(reports), provenance_line())
        with replacing(root / INDEX) as begun:
            begun.write_text(page, "utf-8")
    except OSError as error:
        message = f"cannot write to {out}: {error.strerror or error}"
        raise ReportError(message) from None
    return root / INDEX


def check_ours(out: Path) -> None:
    """Raise :class:`ReportError` if the folder holds an index that hetcost did not write."""
    if not (out / INDEX).exists():
        return
    try:
        known = "hetcost_version" in json.loads((out / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        known = False
    if not known:
        message = f"{out / INDEX} is not hetcost's: choose another folder"
        raise ReportError(message)


def _sources(reports: Iterable[Rendered]) -> list[dict[str, Any]]:
    """Collect what the reports cite, each fact once."""
    facts = {json.dumps(fact, sort_keys=True): fact for r in reports for fact in r.sources}
    return [facts[key] for key in sorted(facts, key=lambda key: _rank(facts[key]))]


def _rank(fact: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(fact.get(name)) for name in ("table", "entity", "quantity", "date"))
