"""Parameters of a notebook: what it takes, and whether what was given fits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import papermill
import yaml

from hetcost.errors import ReportError, unknown_name
from hetcost.resources import notebooks_dir

_TYPES: Mapping[str, type] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "list": list,
    "dict": dict,
}


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
    ReportError
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
    Name, type, default (as written) and help of each.

    Raises
    ------
    ReportError, UnknownNameError
        There is no such notebook, or it is none.
    """
    path = notebook_path(notebook)
    try:
        found = papermill.inspect_notebook(escaped(path))
    except Exception as error:
        message = f"{path.name}: not a notebook: {error}"
        raise ReportError(message) from None
    return [
        Parameter(
            name, str(entry["inferred_type_name"]), str(entry["default"]), str(entry["help"] or "")
        )
        for name, entry in found.items()
    ]


def fitting(notebook: str | Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given parameters in the types that the notebook declares.

    Parameters
    ----------
    notebook : As for :func:`inspect`.
    given : Values by name; text is read as the declared type (lists and dicts as YAML).

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
    return {name: _as_type(known[name], value) for name, value in given.items()}


def _as_type(parameter: Parameter, value: Any) -> Any:
    wanted = _TYPES.get(parameter.type.partition("[")[0])
    if wanted is None or wanted is str:
        read = value
    elif isinstance(value, str):
        read = _number_or_yaml(wanted, value)
    else:
        read = float(value) if wanted is float and type(value) is int else value
    if wanted is not None and type(read) is not wanted:
        message = f"parameter {parameter.name}={value!r} is not of type {parameter.type}"
        raise ReportError(message)
    return read


def _number_or_yaml(wanted: type, text: str) -> Any:
    try:
        return wanted(text) if wanted in (int, float) else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return text


def escaped(path: Path) -> str:
    """Papermill formats paths with the parameters; a brace in a path is not one of them."""
    return str(path).replace("{", "{{").replace("}", "}}")
