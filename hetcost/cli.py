"""The ``hetcost`` command: thin wrappers over the library, with messages instead of tracebacks.

Exit codes: 0 done, 1 done in part (a report failed, a file was refused under ``--strict``),
2 not done (an error of use or of input), 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from hetcost.errors import AssumptionError, HetcostError
from hetcost.impacts import evaluate
from hetcost.readers.files import candidates
from hetcost.runs import load_runs, place_and_reason, scan_runs, write_runs
from hetcost.scenario import Scenario
from hetcost.yaml12 import read_yaml

app = typer.Typer(
    help="Cost, energy and carbon per token from measured LLM-serving benchmarks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console(soft_wrap=True, highlight=False)
_err = Console(soft_wrap=True, highlight=False, stderr=True)

_INTERRUPTED = 130
_SHOWN_BY_COST = [
    "model",
    "gpu",
    "n_gpus",
    "request_rate_per_s",
    "usd_per_mtok_out",
    "usd_per_mtok_all",
    "site_j_per_tok_out",
    "op_gco2e_per_mtok_out",
    "gco2e_per_mtok_out",
    "cost_note",
]


def main() -> None:
    """Run the command; an error of ours is one message, unless ``--debug`` asks for more."""
    # jsonschema, which nbformat loads, offers a check of IRIs when it finds this module, and the
    # module takes over a second to load. No notebook needs the check.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    try:
        app()
    except (HetcostError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        _err.print(f"[bold red]error:[/] {escape(str(error))}")
        raise SystemExit(2) from None


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
    given = {**context.obj, **_assigned(param)}
    jobs = [Job(notebook, given, out, timeout) for notebook in chosen]
    findings: dict[str, list[str]] = {}
    failed = 0
    try:
        with Progress(console=_err, transient=True, auto_refresh=False) as progress:
            bar = progress.add_task("reports", total=len(jobs))
            for done in render_many(jobs, workers=workers):
                progress.advance(bar)
                progress.refresh()
                if done.error is None:
                    findings[str(done.job.notebook)] = done.result.findings
                elif isinstance(done.error, HetcostError):
                    failed += 1
                    _err.print(f"[bold red]failed:[/] {escape(str(done.error))}")
                else:
                    raise done.error
    except KeyboardInterrupt:
        _err.print(f"interrupted; {len(findings)} of {len(jobs)} reports are finished")
        raise typer.Exit(_INTERRUPTED) from None
    for notebook in chosen:
        for finding in findings.get(notebook, []):
            _out.print(f"• {escape(finding)}")
    _out.print(f"report: {escape(str(out / 'index.html'))}")
    if failed:
        raise typer.Exit(1)


@app.command()
def params(notebook: Annotated[str, typer.Argument(help="A bundled notebook, or a path.")]) -> None:
    """List the parameters of a notebook."""
    from hetcost.report import inspect

    _print(pd.DataFrame(inspect(notebook)))


@app.command()
def tidy(
    paths: Annotated[list[str], typer.Argument(help="Result files, folders or patterns.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="CSV to write.")] = Path(
        "runs.csv"
    ),
    sidecar: Annotated[
        Path | None, typer.Option(help="YAML of run columns that the files do not say.")
    ] = None,
    strict: Annotated[
        bool, typer.Option(help="Write nothing and exit 1 if anything was refused.")
    ] = False,
) -> None:
    """Read result files into one table of runs, and list what could not be read."""
    read = [Path(found.path) for found in candidates(paths) if not found.trouble]
    if output.exists() and any(output.samefile(path) for path in read):
        message = f"{output} is one of the files to read: choose another output"
        raise AssumptionError(message)
    scan = scan_runs(paths, sidecar=sidecar)
    for refusal in scan.refused.to_dict("records"):
        _err.print(f"refused: {escape(place_and_reason(refusal))}")
    found = f"{len(scan.runs)} runs, {len(scan.refused)} refused"
    if scan.runs.empty or (strict and not scan.refused.empty):
        _err.print(f"{found}: nothing was written")
        raise typer.Exit(1)
    write_runs(scan.runs, output)
    _out.print(f"{found}: {escape(str(output))}")


@app.command()
def cost(
    context: typer.Context,
    runs: Annotated[str, typer.Argument(help="A tidy CSV, or the name of a bundled study.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write all columns to this CSV.")
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option("-a", "--assume", help="A Scenario field, name=value; repeatable."),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="YAML of Scenario fields; --assume goes over it.")
    ] = None,
) -> None:
    """Add cost, energy and carbon to runs."""
    base = Scenario() if scenario is None else Scenario.from_yaml(scenario)
    evaluated = evaluate(load_runs(runs), base.but(**{**context.obj, **_assigned(assume)}))
    if output is None:
        said = [name for name in ("energy_note", "carbon_note") if evaluated[name].any()]
        _print(evaluated[[*_SHOWN_BY_COST, *said]])
    else:
        write_runs(evaluated, output)
        _out.print(f"{len(evaluated)} runs in {escape(str(output))}")


@app.command()
def claims() -> None:
    """Recompute the study's published claims and say which hold."""
    from hetcost.claims import audit_claims

    audit = audit_claims()
    for claim in audit.to_dict("records"):
        cause = f" ({claim['cause']})" if claim["cause"] else ""
        recomputed = f", recomputed {claim['recomputed']}" if claim["recomputed"] else ""
        _out.print(f"[bold]{claim['claim']}[/]: {claim['verdict']}{cause}")
        _out.print(f"  stated {claim['stated'] or 'without a number'}{recomputed}", end="")
        _out.print(f" [{claim['unit']}]", markup=False)
        _out.print(f"  {escape(claim['why'])}", style="dim")
    counts = audit["verdict"].value_counts()
    _out.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def _assigned(assignments: list[str] | None) -> dict[str, Any]:
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


def _print(frame: pd.DataFrame) -> None:
    shown = frame.to_string(index=False, na_rep="", float_format=lambda value: f"{value:.4g}")
    _out.print(shown, markup=False)


if __name__ == "__main__":
    main()
