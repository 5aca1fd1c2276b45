"""Paths, folders and patterns → files to read, each once, in a stable order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

SUFFIXES = (".json", ".jsonl")
_RESULT_FILE = f"result file ({' or '.join(SUFFIXES)})"
_NO_RESULT = f"not a {_RESULT_FILE}"


def _shown(name: str) -> str:
    """Return a file name as text that can be written: bytes that are none are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


class Candidate(NamedTuple):
    """A file, by a name relative to what was asked for; or why there is none to read."""

    name: str
    path: Path
    trouble: str = ""


def candidates(paths: Paths) -> Iterator[Candidate]:
    """Yield the files behind paths, folders (to the bottom) and patterns.

    In a folder what is hidden is left out; links to folders are not followed, which is told.
    """
    asked = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    seen: set[str] = set()
    for entry in sorted(os.fspath(path) for path in asked):
        for candidate in _expand(entry):
            real = os.path.realpath(candidate.path)
            if real not in seen:
                seen.add(real)
                yield candidate


def _expand(entry: str) -> Iterator[Candidate]:
    try:
        found = [entry] if Path(entry).exists() else sorted(glob.glob(entry, recursive=True))  # noqa: PTH207  patterns may be absolute
    except (OSError, ValueError) as error:
        yield Candidate(_shown(entry), Path(), f"no path: {error}")
        return
    for name in found:
        path = Path(name)
        if path.is_dir():
            yield from _folder(path)
        else:
            shown = path.name if path.is_absolute() else path.as_posix()
            yield Candidate(_shown(shown), path, _trouble(path))
    if not found:
        missing = "no such file or folder, and as a pattern it matches none"
        yield Candidate(_shown(entry), Path(entry), missing)


def _trouble(path: Path) -> str:
    return "" if path.is_file() else "not a regular file"


def _folder(root: Path) -> Iterator[Candidate]:
    unread: list[OSError] = []
    found: list[Candidate] = []
    for place, folders, files in os.walk(root, onerror=unread.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*folders, *files):
            path = Path(place, name)
            shown = _shown(path.relative_to(root).as_posix())
            if name in folders:
                if path.is_symlink():
                    found.append(Candidate(shown, path, "a link to a folder, not followed"))
            elif not name.startswith("."):
                fits = path.suffix.casefold() in SUFFIXES
                found.append(Candidate(shown, path, _trouble(path) if fits else _NO_RESULT))
    found += [Candidate(_shown(str(e.filename)), Path(e.filename), str(e.strerror)) for e in unread]
    if all(candidate.trouble for candidate in found):
        yield Candidate(_shown(str(root)), root, f"no {_RESULT_FILE} in this folder")
    yield from sorted(found)
