"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ASKED = 0o666  # less what the user masks


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

    A link stays one, and a file keeps its permissions; devices and pipes are written to directly.

    Raises
    ------
    OSError
        The folder is not there or cannot be written to, or `path` is a folder; what stood there
        stays.
    """
    check_place(path)
    if Path(path).exists() and not Path(path).is_file():  # a pipe or a device
        yield Path(path)
        return
    target = Path(os.path.realpath(path))
    begun = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        os.close(os.open(begun, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ASKED))
        yield begun
        if target.exists():
            begun.chmod(target.stat().st_mode)
        begun.replace(target)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise
