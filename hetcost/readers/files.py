"""Paths, folders and patterns → files to read, each once, in a stable order."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hetcost.errors import ReadError

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

STDIN = "-"
SUFFIXES = (
    *(".json", ".jsonl", ".csv", ".txt", ".log", ".md", ".yaml", ".yml"),
    *(".parquet", ".gz", ".zip"),
)
_RESULT_FILE = f"result file ({', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]})"
NO_RESULT = f"not a {_RESULT_FILE}"


class Candidate(NamedTuple):
    """A file, by a name relative to what was asked for; or why there is none to read."""

    name: str
    path: str
    trouble: str = ""


def candidates(paths: Paths) -> Iterator[Candidate]:
    """Yield the files behind paths, folders (to the bottom) and patterns.

    In a folder what is hidden is left out; links to folders are not followed, which is told. Files
    that would bear one name are told apart by the folders that they do not share.

    Raises
    ------
    ReadError
        What was asked for is no path.
    """
    found = list({candidate.path: candidate for candidate in _asked(paths)}.values())
    called: dict[str, list[str]] = {}
    for candidate in found:
        called.setdefault(candidate.name, []).append(candidate.path)
    shared = {
        name: os.path.commonpath([os.path.abspath(path) for path in same])  # noqa: PTH100
        for name, same in called.items()
        if len(same) > 1
    }
    for candidate in found:
        if candidate.name in shared:
            path = os.path.relpath(candidate.path, shared[candidate.name])
            yield candidate._replace(name=_shown(path))
        else:
            yield candidate


def _asked(paths: Paths) -> Iterator[Candidate]:
    asked = _paths(paths)
    seen: set[tuple[int, int]] = set()
    for entry in sorted(asked):
        if entry == STDIN:
            yield Candidate("standard input", STDIN)
            continue
        for candidate in _expand(entry):
            if candidate.trouble:
                yield candidate
                continue
            try:
                status = os.stat(candidate.path)  # noqa: PTH116  once a file: a Path costs more
            except OSError as error:
                yield candidate._replace(trouble=error.strerror or str(error))
                continue
            if not stat.S_ISREG(status.st_mode):
                yield candidate._replace(trouble="not a regular file")
            elif (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield candidate


def _paths(paths: Paths) -> list[str]:
    asked = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if isinstance(asked, Iterable) and not isinstance(asked, bytes):
        asked = list(asked)
        if all(isinstance(path, (str, os.PathLike)) for path in asked):
            return [str(os.fspath(path)) for path in asked]
    message = f"paths: {type(paths).__name__}, where a path or a list of paths belongs"
    raise ReadError(message)


def _expand(entry: str) -> Iterator[Candidate]:
    try:
        found = [entry] if os.path.exists(entry) else sorted(glob.glob(entry, recursive=True))  # noqa: PTH110, PTH207  patterns may be absolute
    except (OSError, ValueError) as error:
        yield Candidate(_shown(entry), entry, f"no path: {error}")
        return
    for name in found:
        if os.path.isdir(name):  # noqa: PTH112
            yield from _folder(name)
        else:
            shown = os.path.basename(name) if os.path.isabs(name) else name  # noqa: PTH117, PTH119
            yield Candidate(_shown(shown), name)
    if not found:
        missing = "no such file or folder, and as a pattern it matches none"
        yield Candidate(_shown(entry), entry, missing)


def _folder(root: str) -> Iterator[Candidate]:
    found = sorted(_below(root, ""))
    if all(candidate.trouble for candidate in found):
        yield Candidate(_shown(root), root, f"no {_RESULT_FILE} in this folder")
    yield from found


def _below(folder: str, prefix: str) -> Iterator[Candidate]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        yield Candidate(_shown(prefix or folder), folder, error.strerror or str(error))
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        name = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path, f"{name}/")
        elif entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112  a loop is none
            yield Candidate(_shown(name), entry.path, "a link to a folder, not followed")
        else:
            fits = name.lower().endswith(SUFFIXES)
            yield Candidate(_shown(name), entry.path, "" if fits else NO_RESULT)


def _shown(name: str) -> str:
    """Return a file name as text that can be written: bytes that are none are escaped."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")
