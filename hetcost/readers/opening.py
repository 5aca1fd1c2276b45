"""Files → text: archives, encodings, and files that are too large or change under the reader."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import IO, NamedTuple

from hetcost.errors import ReadError
from hetcost.readers.fields import printable
from hetcost.readers.files import NO_RESULT, STDIN, SUFFIXES

WHOLE = 2**25  # bytes; a file of JSON Lines that is larger is read line by line
LARGEST = 2**28  # bytes; anything else that is larger is refused, and so is a longer line
_EXPANSION = 200  # bytes that a compressed one may become; results become about 20
_MOST_MEMBERS = 100_000
_MOST_OF_ONE = 2**30  # bytes that the members of one archive may become together
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LINES = ".jsonl"
_PARQUET = b"PAR1"
_PACKED = (".zip", ".gz")
_MAGICS = (b"\x1f\x8b", b"PK\x03\x04")
_OF_SYSTEMS = "__MACOSX"
_DAMAGES = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    NotImplementedError,  # a way of packing that Python does not know
    struct.error,
)

Stream = IO[bytes] | gzip.GzipFile


class Opened(NamedTuple):
    """A text by its name: all of it, or its lines where it is too large; or a Parquet table.

    Of a member of an archive that cannot be read, ``trouble`` says why.
    """

    name: str
    text: str | None = None
    lines: Iterator[str | None] | None = None
    data: bytes | None = None
    trouble: str = ""


def opened(name: str, path: str) -> Iterator[Opened]:
    """Yield the texts of a file: itself, or the members of an archive.

    Raises
    ------
    ReadError
        It is no text, too large, damaged, or changed while it was read. What is wrong with a
        large file of JSON Lines shows while its lines are read.
    OSError
        It cannot be read.
    """
    if path == STDIN:
        yield _text(name, sys.stdin.buffer, LARGEST)
        return
    lower = name.lower()
    packed = lower.endswith(_PACKED)
    with open(path, "rb", -1 if packed else 0) as file:  # noqa: PTH123  once a file
        before = os.fstat(file.fileno())
        try:
            if lower.endswith(".zip"):
                yield from _members(name, file)
            elif lower.endswith(".gz"):
                most = min(LARGEST * 64, before.st_size * _EXPANSION + WHOLE)
                with gzip.open(file) as stream:
                    yield _text(name[:-3], stream, most, shown=name)
            else:
                yield _text(name, file, before.st_size + LARGEST, size=before.st_size)
        except (*_DAMAGES, UnicodeDecodeError) as error:
            raise _damaged(error) from None
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        message = "it changed while it was read"
        raise ReadError(message)


def _members(name: str, file: IO[bytes]) -> Iterator[Opened]:
    with zipfile.ZipFile(file) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.filename)
        if len(members) > _MOST_MEMBERS:
            message = f"an archive of {len(members)} members"
            raise ReadError(message)
        left, found = _MOST_OF_ONE, False
        for member in members:
            parts = member.filename.split("/")
            hidden = _OF_SYSTEMS in parts or parts[-1].startswith(".")
            if hidden or member.filename.endswith("/"):
                continue
            found, left = True, left - member.file_size
            shown = f"{name}/{printable(member.filename)}"
            trouble = "the archive becomes too large" if left < 0 else _trouble(member)
            if trouble:
                yield Opened(shown, trouble=trouble)
                continue
            try:
                with closing(archive.open(member)) as stream:
                    yield _text(shown, stream, member.compress_size * _EXPANSION + WHOLE)
            except (ReadError, *_DAMAGES) as error:
                yield Opened(shown, trouble=str(error or type(error).__name__))
    if not found:
        yield Opened(name, trouble="no result file in this archive")


def _trouble(member: zipfile.ZipInfo) -> str:
    lower = member.filename.lower()
    if not lower:
        return "it has no name"
    if member.flag_bits & 1:
        return "it is encrypted"
    if lower.endswith(_PACKED):
        return "an archive inside an archive: unpack it"
    return "" if lower.endswith(SUFFIXES) else NO_RESULT


def _damaged(error: Exception) -> ReadError:
    return ReadError(f"a damaged archive: {error or type(error).__name__}")


def _text(name: str, stream: Stream, most: int, shown: str = "", size: int = LARGEST) -> Opened:
    """Read a stream to its end, or hand out its lines if it is a large one of JSON Lines."""
    by_line = name.lower().endswith(_LINES)
    begun = stream.read(min(size + 1, WHOLE if by_line else LARGEST + 1))
    encoding = "utf-8"
    if begun.startswith(tuple(_BOMS)):
        encoding = next(kind for bom, kind in _BOMS.items() if begun.startswith(bom))
    if by_line and len(begun) == WHOLE:
        whole = io.BufferedReader(_Joined(begun, stream, most))
        return Opened(shown or name, None, _lines(io.TextIOWrapper(whole, encoding)))
    if len(begun) > min(LARGEST, most):
        message = f"larger than {min(LARGEST, most) / 2**20:.0f} MiB"
        raise ReadError(message)
    if begun.startswith(_MAGICS):
        message = "packed, by its content: unpack it, or name a file that ends in .gz or .zip"
        raise ReadError(message)
    if begun.startswith(_PARQUET):
        return Opened(shown or name, None, None, begun)
    try:
        return Opened(shown or name, begun.decode(encoding))
    except UnicodeDecodeError:
        message = "not UTF-8 text" if encoding == "utf-8" else "not Unicode text"
        raise ReadError(message) from None


def _lines(text: io.TextIOWrapper) -> Iterator[str | None]:
    """Yield lines; None for one that is too long."""
    try:
        while line := text.readline(WHOLE):
            too_long = len(line) == WHOLE
            while too_long and line and not line.endswith("\n"):
                line = text.readline(WHOLE)
            yield None if too_long else line
    except UnicodeDecodeError:
        message = "not Unicode text"
        raise ReadError(message) from None
    except _DAMAGES as error:
        raise _damaged(error) from None


class _Joined(io.RawIOBase):
    """What was read already, and the rest of a stream, up to so many bytes in all."""

    def __init__(self, begun: bytes, rest: Stream, most: int) -> None:
        self._begun, self._rest, self._left = memoryview(begun), rest, most

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill a buffer, and refuse more than there should be."""
        part: bytes | memoryview = self._begun[: len(buffer)]
        self._begun = self._begun[len(part) :]
        if not len(part):
            part = self._rest.read(len(buffer))
        self._left -= len(part)
        if self._left < 0:
            message = "an archive that becomes too large"
            raise ReadError(message)
        buffer[: len(part)] = part
        return len(part)
