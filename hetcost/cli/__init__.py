"""The ``hetcost`` command: thin wrappers over the library, with messages instead of tracebacks.

Exit codes: 0 done, 1 done in part (a report failed, a file was refused under ``--strict``),
2 not done (an error of use or of input), 130 interrupted; `record` has the code of the command that
it runs.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hetcost.cli import record, reports, runs
from hetcost.cli.shared import app, err
from hetcost.errors import HetcostError
from hetcost.scenario import Scenario

__all__ = ["app", "main", "record", "reports", "runs"]


def main() -> None:
    """Run the command; an error of ours is one message, unless ``--debug`` asks for more."""
    # jsonschema, which nbformat loads, offers a check of IRIs when it finds this module, and the
    # module takes over a second to load. No notebook needs the check.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    warnings.showwarning = _tell  # type: ignore[assignment]
    try:
        app()
    except (HetcostError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]error:[/] {escape(str(error))}")
        raise SystemExit(2) from None


def _tell(message: Warning | str, *_: object) -> None:
    err.print(f"warning: {escape(str(message))}")


@app.callback()
def common(
    context: typer.Context,
    tables: Annotated[
        Path | None, typer.Option(help="Folder of own gpus/prices/grids tables, laid over ours.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    """Cost, energy and carbon per token from measured LLM-serving benchmarks."""
    # What the commands share; `main` looks for --debug itself, since it must see it early.
    context.obj = {} if tables is None else {"tables": Scenario(tables=tables).tables}
