"""Commands on runs: read them, look for what is wrong with them, add cost, energy and carbon."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from rich.markup import escape
from rich.progress import Progress

from hetcost.cli.shared import app, assigned, err, out, show
from hetcost.columns import OPTIONAL_RUN_COLUMNS, RUN_COLUMNS
from hetcost.errors import AssumptionError
from hetcost.findings import diagnose as findings_of
from hetcost.findings.uses import uses
from hetcost.impacts import evaluate
from hetcost.readers.files import STDIN, candidates
from hetcost.readers.given import Given
from hetcost.replacing import check_place, replacing
from hetcost.runs import Scan, load_runs, place_and_reason, scan_runs, write_runs
from hetcost.scenario import Scenario

_SHOWN_REFUSALS = 50
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


@app.command()
def tidy(
    paths: Annotated[
        list[str], typer.Argument(help="Result files, folders or patterns; - for standard input.")
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write. Default: runs.csv.")
    ] = None,
    sidecar: Annotated[
        Path | None, typer.Option(help="YAML of run columns that the files do not say.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("-g", "--given", help="The same, name=value: gpu=H200, n_gpus=8; repeatable."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("-c", "--column", help="Of a table of one's own: its name=ours; repeatable."),
    ] = None,
    form: Annotated[
        Literal["csv", "parquet"] | None,
        typer.Option("--format", help="What to write. Default: as the output is named, else CSV."),
    ] = None,
    strict: Annotated[
        bool, typer.Option(help="Write nothing and exit 1 if anything was refused.")
    ] = False,
) -> None:
    """Read result files into one table of runs, and list what could not be read."""
    by_name: Literal["csv", "parquet"] = (
        "parquet" if output is not None and output.suffix == ".parquet" else "csv"
    )
    form = form or by_name
    target = output or Path(f"runs.{form}")
    read = [Path(found.path) for found in candidates(paths) if not found.trouble]
    if target.exists() and any(target.samefile(path) for path in read if path.exists()):
        message = f"{target} is one of the files to read: choose another output"
        raise AssumptionError(message)
    if str(target) == STDIN:
        message = "-o -: the table goes to a file; name one"
        raise AssumptionError(message)
    check_place(target)
    if form == "parquet" and find_spec("pyarrow") is None:
        message = "--format parquet needs pyarrow: install hetcost[parquet]"
        raise AssumptionError(message)
    scan = _scanned(paths, sidecar, assigned(column), assigned(given))
    for refusal in scan.refused.head(_SHOWN_REFUSALS).to_dict("records"):
        err.print(f"refused: {escape(place_and_reason(refusal))}")
    if len(scan.refused) > _SHOWN_REFUSALS:
        more = len(scan.refused) - _SHOWN_REFUSALS
        err.print(f"refused: {more} more, which `hetcost.scan_runs` lists")
    found = f"{len(read)} files: {len(scan.runs)} runs, {len(scan.refused)} refused"
    if scan.runs.empty or (strict and not scan.refused.empty):
        err.print(f"{found}: nothing was written")
        raise typer.Exit(1)
    counts = findings_of(scan.runs)["check"].value_counts()
    if len(counts):
        kinds = ", ".join(f"{count} {check}" for check, count in counts.items())
        err.print(f"found: {kinds}; `hetcost diagnose {escape(str(target))}` tells more")
    if form == "csv":
        write_runs(scan.runs, target)
    else:
        _write_parquet(scan.runs, target)
    out.print(f"{found}: {escape(str(target))}")


@app.command()
def columns() -> None:
    """List the run columns: name, unit and meaning. A table of one's own needs some of them."""
    for column in (*RUN_COLUMNS, *OPTIONAL_RUN_COLUMNS):
        unit = f" [{column.unit}]" if column.unit else ""
        out.print(f"{column.name}{escape(unit)}: {escape(column.meaning)}")


@app.command()
def diagnose(
    runs: Annotated[str, typer.Argument(help="A tidy CSV, or the name of a bundled study.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write all findings to this CSV.")
    ] = None,
) -> None:
    """Tell what is wrong with runs, or to be known before they are compared."""
    table = load_runs(runs)
    found = findings_of(table)
    if output is not None:
        write_runs(found, output)
        out.print(f"{len(found)} findings in {escape(str(output))}")
        return
    for (check, severity), rows in found.groupby(["check", "severity"], sort=False):
        first = rows.iloc[0]
        out.print(f"[bold]{check}[/]: {severity} of {len(rows)} runs")
        out.print(f"  {escape(first['run_id'])}: {escape(first['what'])}")
        out.print(f"  why: {escape(first['why'])}", style="dim")
        out.print(f"  do: {escape(first['do'])}", style="dim")
    if found.empty:
        out.print("nothing was found")
    out.print("what runs can be used for:")
    for row in uses(table).to_dict("records"):
        told = f"{row['stand']} of {len(table)} stand"
        told += f"; spoilt: {row['spoilt']}" if row["spoilt"] else ""
        if row["not_known"]:
            told += f"; not known: {row['not_known']}, for want of {row['lacks']}"
        out.print(f"  {row['use']}: {escape(told)}")


@app.command()
def protocol(
    runs: Annotated[
        str | None, typer.Argument(help="Runs so far, to say which load to measure next.")
    ] = None,
) -> None:
    """Print how to run a benchmark whose numbers will stand; of runs, which load is next."""
    from hetcost.findings.protocol import PROTOCOL, next_loads

    if runs is None:
        out.print(PROTOCOL, markup=False, end="")
        return
    table = next_loads(load_runs(runs))
    if table.empty:
        out.print("no run tells an offered rate and whether the server kept up with it")
        return
    kinds = ("model", "gpu", "n_gpus", "dataset", "weight_dtype")
    names = [name for name in kinds if name in table]
    told = ["kept_up_per_s", "fell_behind_per_s", "next_per_s", "n_requests", "why"]
    show(table[[*names, *told]])


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
    evaluated = evaluate(load_runs(runs), base.but(**{**context.obj, **assigned(assume)}))
    if output is None:
        said = [name for name in ("energy_note", "carbon_note") if evaluated[name].any()]
        show(evaluated[[*_SHOWN_BY_COST, *said]])
        for told in ("price_basis", "grid_basis"):
            for basis in evaluated[told].dropna().unique():
                out.print(f"{told.replace('_', ' ')}: {escape(basis)}", style="dim")
    else:
        write_runs(evaluated, output)
        out.print(f"{len(evaluated)} runs in {escape(str(output))}")


def _scanned(
    paths: list[str], sidecar: Path | None, columns: dict[str, Any], given: dict[str, Any]
) -> Scan:
    with Progress(console=err, transient=True) as progress:
        bar = progress.add_task("files", total=None)

        def advance(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        Given(None, **given)  # names of run columns alone may go on
        return scan_runs(paths, sidecar=sidecar, columns=columns or None, progress=advance, **given)


def _write_parquet(runs: pd.DataFrame, path: Path) -> None:
    with replacing(path) as begun:
        runs.to_parquet(begun, index=False)
