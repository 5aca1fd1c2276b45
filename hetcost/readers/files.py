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


class Candidate(NamedTuple):
    """A file, by a name relative to what was asked for; or why there is none to read."""

    name: str
    path: Path
    trouble: str = ""


def candidates(paths: Paths) -> Iterator[Candidate]:
    """Yield the files behind paths, folders (to the bottom, hidden ones not) and patterns."""
    asked = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    seen: set[str] = set()
    for entry in sorted(os.fspath(path) for path in asked):
        for candidate in _expand(entry):
            real = os.path.realpath(candidate.path)
            if real not in seen:
                seen.add(real)
                yield candidate


def _expand(entry: str) -> Iterator[Candidate]:
    root = Path(entry)
    if root.is_file():
        yield Candidate(root.name, root)
    elif root.is_dir():
        yield from _folder(root)
    elif matches := sorted(glob.glob(entry, recursive=True)):  # noqa: PTH207  patterns may be absolute
        for match in matches:
            yield from _expand(match)
    else:
        yield Candidate(entry, root, "no such file or folder, and as a pattern it matches none")


def _folder(root: Path) -> Iterator[Candidate]:
    found = sorted(
        Path(folder, file)
        for folder, _, files in os.walk(root)
        for file in files
        if not file.startswith(".")
    )
    results = {path for path in found if path.suffix.casefold() in SUFFIXES}
    if not results:
        yield Candidate(str(root), root, f"no {_RESULT_FILE} in this folder")
    for path in found:
        trouble = "" if path in results else f"not a {_RESULT_FILE}"
        yield Candidate(path.relative_to(root).as_posix(), path, trouble)
