"""The tokens of the ClassAd language, by the rules of HTCondor's Lexer (src/classad/lexer.cpp).

It keeps HTCondor's peculiarities: adjacent string literals are one literal. A minus before a digit belongs to the
number, except after an operand. An integer beyond 64 bits reads as 0.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.nodes import Scalar

NAME = "name"
LITERAL = "literal"
END = "end"
SPACE = " \t\n\v\f\r"

_PATTERN = re.compile(
    r"""(?P<space>[ \t\n\v\f\r]+)
      | (?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<elvis>\?[ \t\n\v\f\r]*:)
      | (?P<operator>>>>|>>|<<|<=|>=|==|=\?=|=!=|!=|&&|\|\||[-+*/%~^?:;,()\[\]{}&|<>!=.])
    """,
    re.VERBOSE | re.ASCII,
)
_RESERVED: dict[str, Scalar] = {"true": True, "false": False, "undefined": UNDEFINED, "error": ERROR}
_MANY_DIGITS = 20  # a number with this many digits never fits into 64 bits
_WORDS = {"is": "is", "isnt": "isnt"}
_SAME = {"=?=": "is", "=!=": "isnt"}
_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class LexicalError(ValueError):
    """This lexer knows no token that matches the text at *position*."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Token(Struct, frozen=True):
    """One token: a NAME, a LITERAL, END or the operator itself as its *type*."""

    type: str
    position: int
    text: str = ""
    value: Scalar = UNDEFINED


def tokens(text: str) -> list[Token]:
    """Return the tokens of *text*, the last one END; raises LexicalError."""
    result: list[Token] = []
    position = 0
    while position < len(text):
        if text[position] in "\"'":
            token, position = _string(text, position)
            result.append(token)
            continue
        start = position
        if text[position] == "-" and not _can_be_subtracted_from(result):
            position += 1
        found = _PATTERN.match(text, position)
        if position > start and (found is None or found.lastgroup != "number"):
            position = start
            found = _PATTERN.match(text, position)
        if found is None or (text.startswith(("//", "/*", "=?", "=!"), found.start()) and len(found.group()) == 1):
            raise LexicalError(position)
        position = found.end()
        if found.lastgroup != "space":
            result.append(_token(text, start, found))
    result.append(Token(END, len(text)))
    return result


def _can_be_subtracted_from(before: list[Token]) -> bool:
    return bool(before) and before[-1].type in (LITERAL, NAME, ".", "]", ")", "}")


def _token(text: str, start: int, found: re.Match[str]) -> Token:
    written = text[start : found.end()]
    match found.lastgroup:
        case "number":
            return Token(LITERAL, start, written, _number(text, start, found))
        case "name":
            lower = written.lower()
            if lower in _RESERVED:
                return Token(LITERAL, start, written, _RESERVED[lower])
            return Token(_WORDS.get(lower, NAME), start, written)
        case "elvis":
            return Token("?:", start, written)
        case _:
            return Token(_SAME.get(written, written), start, written)


def _number(text: str, start: int, found: re.Match[str]) -> int | float:
    digits = found.group()
    follows = text[found.end() : found.end() + 1]
    if not digits.isdigit():
        return float(text[start : found.end()])
    if follows == "." or follows in ("e", "E") or (digits[0] == "0" and (len(digits) > 1 or follows in ("x", "X"))):
        raise LexicalError(start)
    return wrapped_integer(int(text[start : found.end()])) if len(digits) < _MANY_DIGITS else 0


def wrapped_integer(value: int) -> int:
    """Return *value*, or 0 if it needs more than 64 bits, as HTCondor reads such a number."""
    return value if -(2**63) <= value < 2**63 else 0


def _string(text: str, start: int) -> tuple[Token, int]:
    quote = text[start]
    segment = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL)
    raw: list[str] = []
    position = start
    while found := segment.match(text, position):
        raw.append(found.group(1))
        position = found.end()
        following = position
        while following < len(text) and text[following] in SPACE:
            following += 1
        if text[following : following + 1] != quote:
            break
        position = following
    else:
        raise LexicalError(start)
    value = _unescape("".join(raw), start)
    if quote == '"':
        return Token(LITERAL, start, text[start:position], value), position
    return Token(NAME, start, value), position


def _unescape(raw: str, start: int) -> str:
    if "\0" in raw:
        raise LexicalError(start)
    if "\\" not in raw:
        return raw

    def octal_or_named(found: re.Match[bytes]) -> bytes:
        escaped = found.group(1)
        if escaped.isdigit():
            if int(escaped, 8) == 0:
                raise LexicalError(start)
            return bytes([int(escaped, 8) & 255])
        return bytes([_ESCAPES[escaped.decode()]]) if escaped.decode("latin-1") in _ESCAPES else escaped

    # three octal digits only while the value stays within a byte
    pattern = rb"\\([0-3][0-7][0-7]|[0-7][0-7]?|.)"
    try:
        return re.sub(pattern, octal_or_named, raw.encode(), flags=re.DOTALL).decode()
    except UnicodeError:
        raise LexicalError(start) from None
