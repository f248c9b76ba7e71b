"""The document that requests a change: read within limits, then parsed strictly."""

from __future__ import annotations

import json
import os
import re
import select
import time
from typing import Any

from msgspec import Struct

from fairq.common.depth import deeper_than
from fairq.errors.people import RequestError
from fairq.host.client.form import LARGEST, VERSION

PATIENCE = 20.0
"""Seconds within which the whole document must arrive."""

_DEEPEST = 20
_LARGEST_NUMBER = 2**63 - 1
_ID = re.compile(r"[0-9a-f]{32}")
_MEMBERS = {"fairq", "id", "verb", "command", "reason", "arguments"}
_LONGEST_TEXT = 4096


class Request(Struct, frozen=True):
    """A requested change: *verb* with its *arguments*, which are not checked yet.

    The asker chooses *id* at random; a repeated *id* is the same request. The *reason* goes into the history; the
    *command* there is composed of the arguments (see `fairq.host.verb.command`), not this one.
    """

    id: str
    verb: str
    command: str
    reason: str | None
    arguments: dict[str, Any]


def read(descriptor: int) -> bytes:
    """Return the document read from *descriptor*: its length in digits, a line feed, and that number of bytes.

    Raises RequestError if it is too large, too slow or incomplete.
    """
    deadline = time.monotonic() + PATIENCE
    head = bytearray()
    while not head.endswith(b"\n"):
        head += _read_some(descriptor, 1, deadline)
        if len(head) > len(str(LARGEST)) + 1:
            raise RequestError(problem="it does not begin with its length")
    digits = bytes(head[:-1])
    if not digits.isdigit() or (length := int(digits)) > LARGEST:
        raise RequestError(problem=f"its length is not a number up to {LARGEST}")
    body = bytearray()
    while len(body) < length:
        body += _read_some(descriptor, min(length - len(body), 1 << 16), deadline)
    return bytes(body)


def _read_some(descriptor: int, limit: int, deadline: float) -> bytes:
    ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
    if not ready:
        raise RequestError(problem=f"it did not come within {PATIENCE:g} seconds")
    try:
        chunk = os.read(descriptor, limit)
    except OSError as error:
        raise RequestError(problem=f"it cannot be read from standard input: {error.strerror}") from None
    if not chunk:
        raise RequestError(problem="it is incomplete")
    return chunk


def parse(content: bytes) -> Request:
    """Return the request in the document; raises RequestError unless it is exactly one valid request."""
    try:
        document = json.loads(
            content.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer,
            parse_float=_number,
        )  # fmt: skip
    except RecursionError:
        raise RequestError(problem="it is nested too deeply") from None
    except ValueError as error:
        raise RequestError(problem=f"it is not JSON in UTF-8 ({type(error).__name__})") from None
    if deeper_than(document, _DEEPEST):
        raise RequestError(problem="it is nested too deeply")
    if not isinstance(document, dict) or document.keys() != _MEMBERS:
        raise RequestError(problem=f"its members are not {', '.join(sorted(_MEMBERS))}")
    if type(document["fairq"]) is not int or document["fairq"] != VERSION:
        raise RequestError(problem=f"its version is not {VERSION}; use the same fairq as the pool")
    reason = document["reason"]
    return Request(
        text(document["id"], "id", _ID),
        text(document["verb"], "verb"),
        text(document["command"], "command"),
        None if reason is None else text(reason, "reason"),
        members(document["arguments"], "arguments"),
    )


def text(value: Any, name: str, pattern: re.Pattern[str] | None = None) -> str:
    """Return *value* if it is a printable text of allowed length and fits *pattern*; otherwise raise RequestError."""
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or (pattern and not pattern.fullmatch(value)):
        raise RequestError(problem=f"{name} is not such a text")
    if any(not (character.isprintable() or character in "\n\t") for character in value):
        raise RequestError(problem=f"{name} has control characters")
    return value


def members(value: Any, name: str) -> dict[str, Any]:
    """Return *value* if it is an object; otherwise raise RequestError."""
    if not isinstance(value, dict):
        raise RequestError(problem=f"{name} is not an object")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise RequestError(problem="a member occurs twice")
    return result


def _constant(word: str) -> Any:
    raise RequestError(problem=f"{word} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > len(str(_LARGEST_NUMBER)) + 1 or abs(int(digits)) > _LARGEST_NUMBER:
        raise RequestError(problem="a number is too large")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if len(digits) > 64 or value in (float("inf"), float("-inf")):
        raise RequestError(problem="a number is too large")
    return value
