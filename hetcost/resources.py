"""Where `data/` and `notebooks/` are: in the checkout if there is one, else inside the wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def checkout_root() -> Path | None:
    """Return the folder of the source checkout that this package runs from, if it does."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "data").is_dir() else None


def data_dir() -> Path:
    """Return the folder of the bundled tables."""
    return (checkout_root() or PACKAGE) / "data"


def notebooks_dir() -> Path:
    """Return the folder of the bundled notebooks."""
    return (checkout_root() or PACKAGE) / "notebooks"
