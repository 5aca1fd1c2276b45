"""Execute notebooks and write the report: pages, index, manifest."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import papermill
from papermill.exceptions import PapermillExecutionError

from hetcost import __version__
from hetcost.errors import ReportError
from hetcost.report.outputs import FIGURES, FINDINGS, REPORT_DIR, TABLES
from hetcost.report.pages import index_page, notebook_page
from hetcost.report.parameters import escaped, fitting, notebook_path
from hetcost.resources import checkout_root, data_dir

MANIFEST = "manifest.json"
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Rendered:
    """A report on disk; paths are relative to the output folder.

    Attributes
    ----------
    name : Folder of the report.
    title : First heading of the notebook.
    notebook : File name of the notebook.
    notebook_sha256 : Hash of the notebook before it ran.
    parameters : What was given; the defaults stand in the executed copy.
    findings : Sentences that the notebook said.
    page, executed : HTML and executed notebook.
    figures, tables : PNG, SVG and CSV files.
    """

    name: str
    title: str
    notebook: str
    notebook_sha256: str
    parameters: dict[str, Any]
    findings: list[str] = field(default_factory=list)
    page: str = ""
    executed: str = ""
    figures: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)


def render(
    notebook: str | Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | Path = "build/reports",
) -> Rendered:
    """Execute a notebook and write its page, figures and tables.

    Parameters
    ----------
    notebook : Name of a bundled notebook, or the path of one (whose code will run).
    parameters : Values by name, checked against the notebook's ``parameters`` cell.
    out : Folder to write to; the report gets a folder of its own in it.

    Returns
    -------
    What was written.

    Raises
    ------
    UnknownNameError, ReportError
        A parameter that the notebook does not have or of the wrong type; a cell that fails
        (the partly executed notebook is kept, its path is in the message).
    """
    source = notebook_path(notebook)
    given = fitting(source, parameters or {})
    name = _folder_name(source.stem, given)
    folder = _fresh_folder(Path(out), name)
    executed = folder / f"{source.stem}.ipynb"
    try:
        with _environment(folder):
            node = papermill.execute_notebook(
                escaped(source),
                escaped(executed),
                parameters=given,
                cwd=str(folder),
                progress_bar=False,
                log_output=False,
            )
    except PapermillExecutionError as error:
        message = (
            f"{source.name}, cell {error.cell_index}: {error.ename}: {error.evalue}\n"
            f"the partly executed notebook is {executed}"
        )
        raise ReportError(message) from None
    page = folder / f"{source.stem}.html"
    page.write_text(notebook_page(node, _provenance_line()), "utf-8")
    findings = folder / FINDINGS
    rendered = Rendered(
        name=name,
        title=_title(node, source.stem),
        notebook=source.name,
        notebook_sha256=_sha256(source),
        parameters=given,
        findings=json.loads(findings.read_text("utf-8")) if findings.exists() else [],
        page=f"{name}/{page.name}",
        executed=f"{name}/{executed.name}",
        figures=_listed(folder, FIGURES),
        tables=_listed(folder, TABLES),
    )
    findings.unlink(missing_ok=True)
    return rendered


def write_index(reports: Sequence[Rendered], out: str | Path = "build/reports") -> Path:
    """Write ``index.html`` and ``manifest.json`` over reports, and return the index.

    The manifest states version, commit, time, the SHA-256 of every bundled table, and each
    report's parameters, findings and files.
    """
    root = Path(out)
    manifest = {
        "schema_version": 1,
        "hetcost_version": __version__,
        "commit": _commit(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "inputs": {
            path.relative_to(data_dir()).as_posix(): _sha256(path)
            for path in sorted(data_dir().rglob("*"))
            if path.suffix in (".csv", ".yaml")
        },
        "reports": [asdict(report) for report in reports],
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False)
    (root / MANIFEST).write_text(text + "\n", "utf-8")
    index = root / "index.html"
    index.write_text(index_page(reports, _provenance_line()), "utf-8")
    return index


def _folder_name(stem: str, parameters: Mapping[str, Any]) -> str:
    """Name a report's folder after notebook and parameters; never a path, never two alike."""
    pairs = "--".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    wanted = f"{stem}--{pairs}" if pairs else stem
    safe = _UNSAFE.sub("_", wanted)[:_LONGEST_NAME]
    if safe == wanted:
        return safe
    return f"{safe}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"


def _fresh_folder(out: Path, name: str) -> Path:
    """Make the report's folder; an older report of that name gives way, other files do not."""
    folder = (out / name).resolve()
    try:
        for old in (FIGURES, TABLES):
            shutil.rmtree(folder / old, ignore_errors=True)
        (folder / FINDINGS).unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot write to {out}: {error.strerror}"
        raise ReportError(message) from None
    return folder


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Tell the kernel where the report goes; keep it quiet and its figures in the background."""
    told = {REPORT_DIR: str(folder), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    before = {name: os.environ.get(name) for name in told}
    os.environ.update(told)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _title(node: Any, stem: str) -> str:
    for cell in node.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            return str(cell.source.splitlines()[0][2:])
    return stem.replace("_", " ").capitalize()


def _listed(folder: Path, kind: str) -> list[str]:
    return [f"{folder.name}/{kind}/{path.name}" for path in sorted((folder / kind).glob("*"))]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _commit() -> str | None:
    root = checkout_root()
    if root is None or shutil.which("git") is None:
        return None
    asked = [
        "git",
        "-C",
        str(root),
        "describe",
        "--always",
        "--abbrev=12",
        "--dirty",
        "--exclude=*",
    ]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _provenance_line() -> str:
    commit = _commit()
    return f"hetcost {__version__}" + (f", commit {commit}" if commit else "")
