"""The command that runs a benchmark and logs board power beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from hetcost.cli.shared import app, err
from hetcost.errors import AssumptionError
from hetcost.recording import NoBoardError, run
from hetcost.recording import record as record_power


@app.command(context_settings={"allow_interspersed_args": False})
def record(
    command: Annotated[list[str], typer.Argument(help="The command, behind --.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Log to write, which hc.read_power reads.")
    ] = Path("power.csv"),
    every: Annotated[float, typer.Option(help="Seconds between samples.")] = 0.2,
    overwrite: Annotated[bool, typer.Option(help="Write over a log that is there.")] = False,
    anyway: Annotated[
        bool, typer.Option(help="Run the command even if no board gives its power.")
    ] = False,
) -> None:
    """Run a benchmark and log the power of this machine's boards meanwhile.

    The exit code is the command's; 2 before it is run, where no board gives its power.
    """
    if output.exists() and not overwrite:
        message = f"{output} is there already: choose another -o, or --overwrite"
        raise AssumptionError(message)
    try:
        done = record_power(command, output, every_s=every)
    except NoBoardError as error:
        if not anyway:
            message = f"{error}. The command was not run (--anyway runs it without a log)"
            raise NoBoardError(message) from None
        err.print(f"[bold red]not recorded:[/] {escape(str(error))}")
        exit_code, trouble = run(command)
        if trouble:
            err.print(f"[bold red]error:[/] {escape(trouble)}")
        raise typer.Exit(exit_code) from None
    for trouble in done.troubles:
        err.print(f"[bold red]while recording:[/] {escape(trouble)}")
    err.print(
        f"recorded: {escape(str(output))}, {done.n_samples} samples of {done.n_boards} boards; the "
        f"command ran {done.duration_s:.3f} s from start_s={done.start_s:.3f}"
    )
    raise typer.Exit(done.exit_code)
