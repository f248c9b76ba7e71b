"""Open a dump as text: a file or the standard input, compressed or not."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from msgspec import Struct

from fairq.common.inputs import LARGEST, STANDARD_INPUT, says_nothing, standard_input, too_large
from fairq.errors.pool import EmptyInputError, InvalidAdError, InvalidDumpError, UnreadableDumpError

CHUNK = 1 << 20
"""Bytes to read at a time: the dump of a large pool is never completely in memory."""

NO_ADS = "# no ads"
"""The line that `fairq export --long` writes instead of no ads: an empty file would look like a failed dump."""

_READ = 1 << 18
"""Bytes to decode at a time: a larger buffer would be allocated from the system each time."""

LARGEST_AD = 1 << 25
"""Most characters in an ad or a line."""

_GZIP_MAGIC = b"\x1f\x8b"


Advance = Callable[[int], None]
"""Receives the amount of work done since the last call."""


class Source:
    """A dump that is being read: its *name* for messages, and its text in chunks."""

    def __init__(
        self,
        name: str,
        stream: BinaryIO,
        advance: Advance | None = None,
        *,
        lenient: bool = False,
        must_hold: bool = False,
    ) -> None:
        """Read *stream*, plain or compressed by gzip, as UTF-8; *lenient*: replace invalid bytes.

        If it *must_hold* something, it may not be empty.
        """
        self.name = name
        self._raw = stream
        self._advance = advance if stream.seekable() else None  # a pipe has no position
        self._is_new = must_hold
        self._reported = 0
        peekable = io.BufferedReader(cast(io.RawIOBase, stream))
        compressed = peekable.peek(2)[:2] == _GZIP_MAGIC
        self._plain = cast(BinaryIO, gzip.GzipFile(fileobj=peekable)) if compressed else peekable
        # `io.TextIOWrapper` would decode 8 KiB at a time and join them.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace" if lenient else "strict").decode

    def read(self) -> str:
        """Return the next chunk of the text; the empty text at the end.

        Raises UnreadableDumpError if the system or gzip fails, InvalidDumpError if the content is not text,
        EmptyInputError if there is none.
        """
        try:
            parts: list[str] = []
            size = 0
            while size < CHUNK or not any(parts):
                content = self._plain.read(min(_READ, CHUNK))
                parts.append(self._decode(content, final=not content))
                if not content:
                    break
                size += len(content)
            chunk = "".join(parts)
        except UnicodeDecodeError:
            raise self.not_text() from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as failure:
            raise UnreadableDumpError(
                source=self.name, reason=f"its compression is damaged ({failure})", cure="write the dump again"
            ) from None
        except OSError as failure:
            raise unreadable(self.name, failure) from None
        if "\0" in chunk:
            raise self.not_text()
        if self._is_new and len(chunk) < CHUNK and NO_ADS not in chunk and says_nothing(chunk):
            cure = "write it again; a dump without records is []"
            raise EmptyInputError(source=self.name, cure=cure)
        self._is_new = False
        if self._advance is not None:
            position = self._raw.tell()
            self._advance(position - self._reported)
            self._reported = position
        return chunk

    def read_all(self, limit: int = LARGEST) -> str:
        """Return all remaining text.

        Raises the errors of `read`, and UnreadableDumpError for more than *limit* characters.
        """
        chunks: list[str] = []
        size = 0
        while chunk := self.read():
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                raise unreadable(self.name, too_large(limit))
        return "".join(chunks)

    def ad_error(self, number: int, problem: str, cure: str) -> InvalidAdError:
        """Return the error of the *number*-th ad."""
        return InvalidAdError(source=self.name, number=number, problem=problem, cure=cure)

    def line_error(self, line: int, number: int, problem: str, cure: str) -> InvalidDumpError:
        """Return the error of a *line* in the *number*-th ad."""
        return InvalidDumpError(source=self.name, where=f"line {line}, ad {number}", problem=problem, cure=cure)

    def not_text(self) -> InvalidDumpError:
        """Return the error of a dump that holds something other than text."""
        return InvalidDumpError(
            source=self.name,
            where="at its start or further on",
            problem="not UTF-8 text",
            cure="give text in UTF-8: JSON, CSV, or what condor_status and condor_q print",
        )


class Held(Struct, frozen=True):
    """A dump in memory: its *name* for messages, its *content*, and when it was written (seconds; None: unknown)."""

    name: str
    content: bytes
    modified: float | None = None


@contextmanager
def opened(
    name: str | Held, advance: Advance | None = None, *, lenient: bool = False, must_hold: bool = False
) -> Iterator[Source]:
    """Open the dump *name*: a path, ``-`` for the standard input, or one in memory; gzip is recognised by content.

    *advance* receives the number of bytes of the file read since its last call. *lenient* and *must_hold*: see
    `Source`; a dump in memory may be empty.

    Raises UnreadableDumpError if the file is missing, a directory or not readable.
    """
    if isinstance(name, Held):
        yield Source(name.name, io.BytesIO(name.content), advance, lenient=lenient)
        return
    if name == STANDARD_INPUT:
        try:
            stream = standard_input()
        except OSError as failure:
            raise unreadable("standard input", failure) from None
        yield _started("standard input", stream, lenient=lenient, must_hold=must_hold)
        return
    try:
        file = Path(name).open("rb", buffering=0)  # noqa: SIM115 - closed below
    except (OSError, ValueError) as failure:
        raise unreadable(name, failure) from None
    with file:
        yield _started(name, cast(BinaryIO, file), advance, lenient=lenient, must_hold=must_hold)


def _started(name: str, stream: BinaryIO, advance: Advance | None = None, *, lenient: bool, must_hold: bool) -> Source:
    try:
        return Source(name, stream, advance, lenient=lenient, must_hold=must_hold)
    except OSError as failure:
        raise unreadable(name, failure) from None


def unreadable(
    name: str, failure: OSError | ValueError, cure: str = "name a readable file, or - for the standard input"
) -> UnreadableDumpError:
    """Return the error of a file that the system does not let read."""
    reason = getattr(failure, "strerror", None) or str(failure)
    source = name if name and name.isprintable() else repr(name)
    return UnreadableDumpError(source=source, reason=reason[:1].lower() + reason[1:], cure=cure)
