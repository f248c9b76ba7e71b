"""From tokens to the syntax tree, by HTCondor's grammar (ClassAdParser in src/classad/source.cpp)."""

from __future__ import annotations

from fairq.engine.classad.lexer import END, NAME, LexicalError, Token, tokens
from fairq.engine.classad.nodes import (
    Binary,
    Call,
    Conditional,
    ListOf,
    Literal,
    NestedAd,
    Node,
    Reference,
    Unary,
)

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
    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
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

    def _binary(self, least: int) -> Node:
        node = self._unary()
        while (level := _PRECEDENCE.get(self._peek(), -1)) >= least:
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
