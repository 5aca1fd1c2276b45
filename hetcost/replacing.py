"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_READABLE = 0o644


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if no file can stand there: its folder is missing, or it is a folder."""
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(target.parent))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "a folder, where a file belongs", str(target))


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of the file once all is written.

    Raises
    ------
    OSError
        The folder is not there or cannot be written to, or `path` is a folder; what stood there
        stays.
    """
    check_place(path)
    target = Path(path)
    if target.exists() and not target.is_file():  # a pipe or a device
        yield target
        return
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield Path(name)
        Path(name).chmod(_READABLE)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
