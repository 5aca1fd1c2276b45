"""Commands on notebooks, reports and claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.markup import escape
from rich.progress import Progress

from hetcost.cli.shared import app, assigned, err, show
from hetcost.cli.shared import out as console
from hetcost.errors import HetcostError

_INTERRUPTED = 130


@app.command()
def report(
    context: typer.Context,
    notebooks: Annotated[
        list[str] | None, typer.Argument(help="Bundled notebooks by name, or paths. Default: all.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("-p", "--param", help="name=value; repeatable.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("build/reports"),
    workers: Annotated[int, typer.Option(help="Notebooks that run at once.")] = 2,
    timeout: Annotated[float | None, typer.Option(help="Seconds that a cell may take.")] = None,
) -> None:
    """Run notebooks, write their pages and an index, print what they find."""
    from hetcost.report import Job, render_many
    from hetcost.resources import notebooks_dir

    chosen = notebooks or sorted(path.stem for path in notebooks_dir().glob("*.ipynb"))
    given = {**context.obj, **assigned(param)}
    jobs = [Job(notebook, given, out, timeout) for notebook in chosen]
    findings: dict[str, list[str]] = {}
    failed = 0
    try:
        with Progress(console=err, transient=True, auto_refresh=False) as progress:
            bar = progress.add_task("reports", total=len(jobs))
            for done in render_many(jobs, workers=workers):
                progress.advance(bar)
                progress.refresh()
                if done.error is None:
                    findings[str(done.job.notebook)] = done.result.findings
                elif isinstance(done.error, HetcostError):
                    failed += 1
                    err.print(f"[bold red]failed:[/] {escape(str(done.error))}")
                else:
                    raise done.error
    except KeyboardInterrupt:
        err.print(f"interrupted; {len(findings)} of {len(jobs)} reports are finished")
        raise typer.Exit(_INTERRUPTED) from None
    for notebook in chosen:
        for finding in findings.get(notebook, []):
            console.print(f"• {escape(finding)}")
    console.print(f"report: {escape(str(out / 'index.html'))}")
    if failed:
        raise typer.Exit(1)


@app.command()
def params(notebook: Annotated[str, typer.Argument(help="A bundled notebook, or a path.")]) -> None:
    """List the parameters of a notebook."""
    from hetcost.report import inspect

    show(pd.DataFrame(inspect(notebook)))


@app.command()
def claims() -> None:
    """Recompute the study's published claims and say which hold."""
    from hetcost.claims import audit_claims

    audit = audit_claims()
    for claim in audit.to_dict("records"):
        cause = f" ({claim['cause']})" if claim["cause"] else ""
        recomputed = f", recomputed {claim['recomputed']}" if claim["recomputed"] else ""
        console.print(f"[bold]{claim['claim']}[/]: {claim['verdict']}{cause}")
        console.print(f"  stated {claim['stated'] or 'without a number'}{recomputed}", end="")
        console.print(f" [{claim['unit']}]", markup=False)
        console.print(f"  {escape(claim['why'])}", style="dim")
    counts = audit["verdict"].value_counts()
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
