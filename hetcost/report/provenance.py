"""What a report was made from: version, commit, hashes."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from hetcost import __version__
from hetcost.resources import checkout_root, data_dir


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def input_hashes() -> dict[str, str]:
    """Return the SHA-256 of every bundled table, by its path below ``data/``."""
    tables = sorted(p for p in data_dir().rglob("*") if p.suffix in (".csv", ".yaml"))
    return {path.relative_to(data_dir()).as_posix(): sha256(path) for path in tables}


@cache
def commit() -> str | None:
    """Return the commit of the checkout, with ``-dirty`` where files were changed; else None."""
    root = checkout_root()
    if root is None or shutil.which("git") is None or not (root / ".git").exists():
        return None
    ask = ["git", "-C", str(root), "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() or None


def provenance_line() -> str:
    """Return version, commit and one hash over all bundled tables, for a footer."""
    data = hashlib.sha256(repr(sorted(input_hashes().items())).encode()).hexdigest()
    parts = [f"hetcost {__version__}", f"data {data[:12]}"]
    if (revision := commit()) is not None:
        parts.insert(1, f"commit {revision}")
    return ", ".join(parts)
