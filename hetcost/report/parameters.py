"""Parameters of a notebook: what it takes, and whether what was given fits.

The ``parameters`` cell is read as Python, so that what papermill's own inspection does not see
(unions, a ``#`` in a string, two assignments on a line, calls) is seen.
"""

from __future__ import annotations

import ast
import datetime as dt
import io
import os
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import numpy as np

from hetcost.errors import ReportError, unknown_name
from hetcost.resources import notebooks_dir
from hetcost.yaml12 import read_yaml

_TYPES: Mapping[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list": list,
    "dict": dict,
    "None": type(None),
}
_NO_TYPE = "Any"


class Parameter(NamedTuple):
    """A parameter as the notebook's ``parameters`` cell states it."""

    name: str
    type: str
    default: str
    help: str


def notebook_path(notebook: str | Path) -> Path:
    """Return the path of a notebook: a bundled one by its name, or any by its path.

    Raises
    ------
    ReportError, UnknownNameError
        There is no such notebook.
    """
    path = Path(notebook)
    if path.suffix == ".ipynb":
        if not path.is_file():
            message = f"no such notebook: {notebook}"
            raise ReportError(message)
        return path
    bundled = {file.stem: file for file in sorted(notebooks_dir().glob("*.ipynb"))}
    if str(notebook) not in bundled:
        raise unknown_name("notebook", notebook, bundled)
    return bundled[str(notebook)]


def inspect(notebook: str | Path) -> list[Parameter]:
    """List the parameters of a notebook.

    Parameters
    ----------
    notebook : Name of a bundled notebook, or the path of one.

    Returns
    -------
    Name, type (as annotated, else that of the default), default (as written) and help (the
    comment behind it) of each.

    Raises
    ------
    ReportError, UnknownNameError
        There is no such notebook, or it is none.
    """
    path = notebook_path(notebook)
    try:
        node = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        sources = [c.source for c in node.cells if "parameters" in c.metadata.get("tags", [])]
        return [parameter for source in sources for parameter in _parameters(source)]
    except Exception as error:  # whatever nbformat meets in a file that is none
        message = f"{path.name}: not a notebook whose parameters can be read: {error}"
        raise ReportError(message) from None


def fitting(notebook: str | Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters in the types that the notebook declares.

    Parameters
    ----------
    notebook : As for :func:`inspect`.
    given : Values by name; text is read as the declared type (lists and dicts as YAML). Tuples
        become lists, paths and dates text, since a notebook takes nothing else.

    Raises
    ------
    UnknownNameError
        The notebook has no such parameter; the message lists those it has.
    ReportError
        A value is not of the declared type.
    """
    known = {parameter.name: parameter for parameter in inspect(notebook)}
    what = f"parameter of {notebook_path(notebook).stem}"
    for name in given:
        if name not in known:
            raise unknown_name(what, name, known)
    return {name: _as_declared(known[name], value) for name, value in given.items()}


def _parameters(source: str) -> Iterator[Parameter]:
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(source).body:
        targets: list[ast.expr]
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
            annotation = ast.unparse(statement.annotation)
        elif isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
            annotation = _type_of(value)
        else:
            continue
        default = ast.get_source_segment(source, value) or ""
        for target in targets:
            if isinstance(target, ast.Name):
                comment = comments.get(statement.end_lineno or 0, "")
                yield Parameter(target.id, annotation, default, comment)


def _type_of(default: ast.expr) -> str:
    try:
        kind = type(ast.literal_eval(default))
    except ValueError:
        return _NO_TYPE
    return "None" if kind is type(None) else kind.__name__


def _as_declared(parameter: Parameter, value: Any) -> Any:
    plain = _plain(parameter.name, value)
    declared = [part.partition("[")[0].strip() for part in parameter.type.split("|")]
    kinds = [_TYPES[name] for name in declared if name in _TYPES]
    if not kinds or type(plain) in kinds:
        return plain
    for kind in kinds:
        read = _plain(parameter.name, _read(kind, plain)) if isinstance(plain, str) else plain
        if kind is float and type(read) is int:
            read = float(read)
        if type(read) is kind:
            return read
    message = f"parameter {parameter.name}={value!r} is not of type {parameter.type}"
    raise ReportError(message)


def _read(kind: type, text: str) -> Any:
    try:
        return kind(text) if kind in (int, float) else read_yaml(text)
    except ValueError:
        return text


def _plain(name: str, value: Any) -> Any:
    """Turn a value into what a notebook takes: text, numbers, flags, None, lists and dicts."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(name, entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(name, entry) for key, entry in value.items()}
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            message = f"parameter {name}: {value!r} is not valid Unicode text"
            raise ReportError(message) from None
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    message = f"parameter {name}: a {type(value).__name__} cannot be passed to a notebook"
    raise ReportError(message)
