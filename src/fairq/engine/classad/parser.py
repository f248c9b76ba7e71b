"""From text to the syntax tree, by HTCondor's grammar (Lexer and ClassAdParser, lexer.cpp and source.cpp).

The tokens keep HTCondor's peculiarities: adjacent string literals are one literal. A minus before a digit belongs to
the number, except after an operand. An integer beyond 64 bits reads as 0.
"""

from __future__ import annotations

import re

from msgspec import Struct

from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.nodes import (
    Binary,
    Call,
    Conditional,
    ListOf,
    Literal,
    NestedAd,
    Node,
    Reference,
    Scalar,
    Unary,
)

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
        matched = _PATTERN.match(text, position)
        if position > start and (matched is None or matched.lastgroup != "number"):
            position = start
            matched = _PATTERN.match(text, position)
        if matched is None or (
            text.startswith(("//", "/*", "=?", "=!"), matched.start()) and len(matched.group()) == 1
        ):
            raise LexicalError(position)
        position = matched.end()
        if matched.lastgroup != "space":
            result.append(_token(text, start, matched))
    result.append(Token(END, len(text)))
    return result


def _can_be_subtracted_from(previous: list[Token]) -> bool:
    return bool(previous) and previous[-1].type in (LITERAL, NAME, ".", "]", ")", "}")


def _token(text: str, start: int, matched: re.Match[str]) -> Token:
    written = text[start : matched.end()]
    match matched.lastgroup:
        case "number":
            return Token(LITERAL, start, written, _number(text, start, matched))
        case "name":
            lower = written.lower()
            if lower in _RESERVED:
                return Token(LITERAL, start, written, _RESERVED[lower])
            return Token(_WORDS.get(lower, NAME), start, written)
        case "elvis":
            return Token("?:", start, written)
        case _:
            return Token(_SAME.get(written, written), start, written)


def _number(text: str, start: int, matched: re.Match[str]) -> int | float:
    digits = matched.group()
    next_character = text[matched.end() : matched.end() + 1]
    if not digits.isdigit():
        return float(text[start : matched.end()])
    if (
        next_character == "."
        or next_character in ("e", "E")
        or (digits[0] == "0" and (len(digits) > 1 or next_character in ("x", "X")))
    ):
        raise LexicalError(start)
    return wrapped_integer(int(text[start : matched.end()])) if len(digits) < _MANY_DIGITS else 0


def wrapped_integer(value: int) -> int:
    """Return *value*, or 0 if it needs more than 64 bits, as HTCondor reads such a number."""
    return value if -(2**63) <= value < 2**63 else 0


def _string(text: str, start: int) -> tuple[Token, int]:
    quote = text[start]
    segment = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}", re.DOTALL)
    raw: list[str] = []
    position = start
    while matched := segment.match(text, position):
        raw.append(matched.group(1))
        position = matched.end()
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

    def octal_or_named(matched: re.Match[bytes]) -> bytes:
        escaped = matched.group(1)
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


NESTING = 60  # deeper texts are left to the library, which has its own bound

_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "is", "isnt"),
    ("<", "<=", ">", ">="),
    ("<<", ">>", ">>>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_PRECEDENCE = {operator: level for level, operators in enumerate(_LEVELS) for operator in operators}


class Unreadable(ValueError):  # noqa: N818 - not every reason for it is an error of the text
    """The text is wrong at *position*; if *uncertain*, HTCondor's own parser must decide."""

    def __init__(self, position: int, uncertain: bool = False) -> None:
        super().__init__(position)
        self.position = position
        self.uncertain = uncertain


def read(text: str) -> Node:
    """Return the tree of *text*; raises Unreadable."""
    try:
        stream = _Stream(tokens(text))
    except LexicalError as problem:
        raise Unreadable(problem.position, uncertain=True) from None
    node = stream.expression()
    stream.expect(END)
    return node


class _Stream:
    def __init__(self, stream_tokens: list[Token]) -> None:
        self._tokens = stream_tokens
        self._next = 0
        self._nesting = 0

    def _peek(self) -> str:
        return self._tokens[self._next].type

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _refuse(self, uncertain: bool = False) -> Unreadable:
        return Unreadable(self._tokens[min(self._next, len(self._tokens) - 1)].position, uncertain)

    def expect(self, kind: str) -> Token:
        if self._peek() != kind:
            raise self._refuse()
        return self._take()

    def _enter(self) -> None:
        self._nesting += 1
        if self._nesting > NESTING:
            raise self._refuse(uncertain=True)

    def expression(self) -> Node:
        self._enter()
        node = self._binary(0)
        if self._peek() == "?":
            self._take()
            positive = self.expression()
            self.expect(":")
            node = Conditional(node, positive, self.expression())
        self._nesting -= 1
        return node

    def _binary(self, lowest_level: int) -> Node:
        node = self._unary()
        while (level := _PRECEDENCE.get(self._peek(), -1)) >= lowest_level:
            operator = self._take().type
            node = Binary(operator, node, self._binary(level + 1))
        return node

    def _unary(self) -> Node:
        if self._peek() not in ("-", "+", "!", "~"):
            return self._postfix()
        operator = self._take().type
        self._enter()
        node = Unary(operator, self._unary())
        self._nesting -= 1
        return node

    def _postfix(self) -> Node:
        node = self._primary()
        while True:
            match self._peek():
                case "[":
                    self._take()
                    node = Binary("[]", node, self.expression())
                    self.expect("]")
                case "?:":
                    self._take()
                    self._enter()
                    node = Binary("?:", node, self._postfix())
                    self._nesting -= 1
                case ".":
                    self._take()
                    node = Reference(node, self.expect(NAME).text)
                case _:
                    return node

    def _primary(self) -> Node:  # noqa: PLR0911 - one per case
        token = self._take()
        match token.type:
            case "literal":
                return Literal(token.value)
            case "name":
                if self._peek() == "(":
                    self._take()
                    return Call(token.text, self._items(")", (",", ";")))
                return Reference(None, token.text)
            case ".":
                return Reference(None, self.expect(NAME).text, absolute=True)
            case "(":
                node = self.expression()
                self.expect(")")
                return node
            case "{":
                return ListOf(self._items("}", (",",)))
            case "[":
                return self._nested_ad()
        self._next -= 1
        raise self._refuse()

    def _items(self, close: str, separators: tuple[str, ...]) -> tuple[Node, ...]:
        items: list[Node] = []
        if self._peek() != close:
            items.append(self.expression())
            while self._peek() in separators:
                self._take()
                items.append(self.expression())
        self.expect(close)
        return tuple(items)

    def _nested_ad(self) -> Node:
        attributes: list[tuple[str, Node]] = []
        while self._peek() == ";":
            self._take()
        while self._peek() != "]":
            name = self.expect(NAME).text
            self.expect("=")
            attributes.append((name, self.expression()))
            if self._peek() not in (";", "]"):
                raise self._refuse()
            while self._peek() == ";":
                self._take()
        self._take()
        return NestedAd(tuple(attributes))
