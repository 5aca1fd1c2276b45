"""Execute notebooks and write their pages, figures and tables."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError

from hetcost.errors import ReportError
from hetcost.report import outputs
from hetcost.report.kernels import KERNEL, manager_for, warn_of_a_foreign_kernelspec
from hetcost.report.pages import notebook_page
from hetcost.report.parameters import fitting, inspect, notebook_path
from hetcost.report.provenance import provenance_line, sha256

CARD = "report.json"
_LOCK = ".lock"
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]+")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object in memory
_LONGEST_NAME = 80
_INJECTED = "injected-parameters"
_RESERVED = ("index.html", "manifest.json")


@dataclass(frozen=True)
class Rendered:
    """A report on disk; paths are relative to its folder.

    Attributes
    ----------
    name : Folder of the report.
    title : First heading of the notebook.
    notebook : File name of the notebook.
    notebook_sha256 : Hash of the notebook before it ran.
    parameters : What was given.
    defaults : The other parameters, as the notebook states them.
    files : SHA-256 of every file that a parameter names.
    page, executed : HTML and executed notebook.
    findings : Sentences that the notebook said.
    figures : ``png``, ``svg`` and ``title`` of each figure.
    tables : CSV files.
    sources : Facts that the notebook cited.
    """

    name: str
    title: str
    notebook: str
    notebook_sha256: str
    parameters: dict[str, Any]
    defaults: dict[str, str]
    files: dict[str, str]
    page: str
    executed: str
    findings: list[str] = field(default_factory=list)
    figures: list[dict[str, str]] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)


def render(
    notebook: str | Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    out: str | Path = "build/reports",
    timeout: float | None = None,
) -> Rendered:
    """Execute a notebook and write its page, figures and tables.

    Parameters
    ----------
    notebook : Name of a bundled notebook, or the path of one (whose code will run).
    parameters : Values by name, checked against the notebook's ``parameters`` cell.
    out : Folder to write to; the report gets a folder of its own in it. An older report of the
        same name gives way; files that hetcost did not write stay.
    timeout : Seconds that a single cell may take; no limit if None.

    Returns
    -------
    What was written.

    Raises
    ------
    UnknownNameError, ReportError
        A parameter that the notebook does not have or of the wrong type; a folder that cannot be
        written; another process that writes the same report; a cell that fails or takes too long,
        a kernel that dies (the partly executed notebook is kept, its path is in the message).
    """
    source = notebook_path(notebook)
    given = fitting(source, parameters or {})
    warn_of_a_foreign_kernelspec()
    folder = report_folder(source, given, out)
    executed = folder / f"{source.stem}.ipynb"
    page = folder / f"{source.stem}.html"
    if folder.is_symlink() or folder in source.resolve().parents:
        message = f"{folder} holds the notebook itself or is a link: choose another output folder"
        raise ReportError(message)
    try:
        with _own_folder(folder):
            for file in (page, executed):
                if file.exists() or file.is_symlink():
                    message = f"{file} is there and no report of hetcost: choose another folder"
                    raise ReportError(message)
                outputs.note_in(folder, outputs.PAGES, file.name)
            node = _execute(source, executed, given, timeout)
            title = _title(node, source.stem)
            page.write_text(notebook_page(node, title, provenance_line()), "utf-8")
            record = outputs.read_record(folder)
            rendered = Rendered(
                name=folder.name,
                title=title,
                notebook=source.name,
                notebook_sha256=sha256(source),
                parameters=_in_json(given),
                defaults={p.name: p.default for p in inspect(source) if p.name not in given},
                files={
                    value: sha256(Path(value))
                    for value in given.values()
                    if isinstance(value, str) and Path(value).is_file()
                },
                page=page.name,
                executed=executed.name,
                findings=record[outputs.FINDINGS],
                figures=record[outputs.FIGURES],
                tables=record[outputs.TABLES],
                sources=record[outputs.SOURCES],
            )
            card = json.dumps(asdict(rendered), indent=1, ensure_ascii=True, allow_nan=False)
            (folder / CARD).write_text(card + "\n", "utf-8")
    except OSError as error:
        message = f"cannot write to {folder}: {error.strerror or error}"
        raise ReportError(message) from None
    return rendered


def report_folder(notebook: str | Path, parameters: Mapping[str, Any], out: str | Path) -> Path:
    """Return the folder that a report goes to, its parameters checked as :func:`render` does."""
    source = notebook_path(notebook)
    return Path(out).resolve() / _folder_name(source.stem, fitting(source, parameters))


def read_card(folder: Path) -> Rendered | None:
    """Return the report in a folder, if there is a finished one."""
    try:
        return Rendered(**json.loads((folder / CARD).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _execute(source: Path, executed: Path, given: dict[str, Any], timeout: float | None) -> Any:
    where = f"the partly executed notebook is {executed}"
    try:
        node = papermill.execute_notebook(
            _escaped(source),
            _escaped(executed),
            parameters=given,
            kernel_name=KERNEL,
            language="python",
            kernel_manager_class=manager_for(executed.parent),
            execution_timeout=timeout,
            progress_bar=False,
            log_output=False,
            record_timing=False,
            coalesce_streams=True,
        )
    except PapermillExecutionError as error:
        said = f"{error.ename}: {' '.join(str(error.evalue).split())}"
        message = f"{source.name}, cell {error.cell_index}: {said} ({where})"
        raise ReportError(message) from None
    except CellTimeoutError:
        message = f"{source.name}: a cell took longer than {timeout:g} s ({where})"
        raise ReportError(message) from None
    except DeadKernelError:
        message = f"{source.name}: the kernel died ({where})"
        raise ReportError(message) from None
    _settle(node, source, executed)
    executed.write_text(papermill.iorw.nbformat.writes(node) + "\n", "utf-8")
    return node


def _settle(node: Any, source: Path, executed: Path) -> None:
    """Leave nothing in an executed notebook that differs from run to run, but its time stamps."""
    for cell in node.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if _INJECTED in cell.metadata.get("tags", []):
            cell.id = _INJECTED
        for output in cell.get("outputs", []):
            plain = output.get("data", {}).get("text/plain")
            if plain:
                output.data["text/plain"] = _ADDRESS.sub("", plain)
    node.metadata.papermill.update(input_path=source.name, output_path=executed.name)


def _in_json(value: Any) -> Any:
    """Write what JSON has no number for, NaN and infinity, as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_in_json(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _in_json(entry) for key, entry in value.items()}
    return value


def _folder_name(stem: str, parameters: Mapping[str, Any]) -> str:
    """Name a report's folder after notebook and parameters; never a path, never two alike."""
    pairs = "--".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    wanted = f"{stem}--{pairs}" if pairs else stem
    safe = _UNSAFE.sub("_", wanted)[:_LONGEST_NAME].lstrip(".") or "_"
    plain = safe == wanted and not any(set("=-") & set(str(v)) for v in parameters.values())
    if plain and safe not in _RESERVED:
        return safe
    return f"{safe}-{hashlib.sha256(wanted.encode()).hexdigest()[:8]}"


@contextmanager
def _own_folder(folder: Path) -> Iterator[None]:
    """Hold a report's folder for this process, cleared of what an older report left there."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another process is writing {folder}"
            raise ReportError(message) from None
        try:
            _clear(folder)
            yield
        finally:
            (folder / _LOCK).unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    """Remove what an older report noted as its own; the rest is somebody else's."""
    old = outputs.read_record(folder)
    files = [*old[outputs.PAGES], *old[outputs.TABLES], CARD, outputs.RECORD]
    files += [figure[kind] for figure in old[outputs.FIGURES] for kind in ("png", "svg")]
    for file in files:
        path = folder / file
        if folder in path.resolve().parents or path.is_symlink():
            path.unlink(missing_ok=True)
    for kind in (outputs.FIGURES, outputs.TABLES):
        with suppress(OSError):  # not empty: somebody else's files, or not there
            (folder / kind).rmdir()


def _title(node: Any, stem: str) -> str:
    for cell in node.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            return str(cell.source.splitlines()[0][2:])
    return stem.replace("_", " ").capitalize()


def _escaped(path: Path) -> str:
    """Papermill formats paths with the parameters; a brace in a path is not one of them."""
    return os.fspath(path).replace("{", "{{").replace("}", "}}")
