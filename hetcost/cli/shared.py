"""What the commands share: the app, where they print, and how they read name=value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import typer
from rich.console import Console

from hetcost.errors import AssumptionError
from hetcost.yaml12 import read_yaml

app = typer.Typer(
    help="Cost, energy and carbon per token from measured LLM-serving benchmarks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(soft_wrap=True, highlight=False)
err = Console(soft_wrap=True, highlight=False, stderr=True)


def assigned(assignments: list[str] | None) -> dict[str, Any]:
    """Split ``name=value``; a value in braces is a mapping, in brackets a range, as in YAML."""
    given: dict[str, Any] = {}
    for assignment in assignments or []:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            message = f"'{assignment}': write name=value"
            raise AssumptionError(message)
        if name in given:
            message = f"{name} is given twice"
            raise AssumptionError(message)
        given[name] = _structured(value) if value.startswith(("{", "[")) else value
    return given


def _structured(text: str) -> Any:
    try:
        read = read_yaml(text)
    except AssumptionError:
        return text
    if isinstance(read, Mapping):
        return {str(key): value for key, value in read.items()}
    return read if isinstance(read, list) else text


def show(frame: pd.DataFrame) -> None:
    """Print a table."""
    shown = frame.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.4g}")
    out.print(shown, markup=False)
