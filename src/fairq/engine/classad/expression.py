"""Expressions: text that was read once and is evaluated many times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from fairq.engine.classad.grammar import Unreadable, read
from fairq.engine.classad.kinds import UNDEFINED, Absent
from fairq.engine.classad.lexer import wrapped_integer
from fairq.engine.classad.library import EXPR_OPEN, expression_text, library, tree
from fairq.engine.classad.nodes import Call, ListOf, Literal, NestedAd, Node, children, depth
from fairq.engine.classad.unparse import unparse
from fairq.errors import ExpressionError

SHOWN = 100  # characters of a wrong expression that a message repeats
DEPTH = 150  # deeper trees are left to the library, which gives up at 400 levels


@dataclass(frozen=True, slots=True)
class Expression:
    """A ClassAd expression; *node* is its tree, None if only HTCondor's library can read or evaluate it."""

    text: str
    node: Node | None = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=50_000)
def parse(text: str) -> Expression:
    """Return *text* as an Expression; raises ExpressionError for what HTCondor's library cannot read."""
    try:
        node = read(text)
    except Unreadable as problem:
        near = text[max(0, problem.position - 5) : problem.position + 15].strip() or text[-20:]
        if not problem.uncertain:
            raise _refusal(text, near) from None
        return Expression(text, _read_by_library(text, near))
    if depth(node) > DEPTH:
        return Expression(text, None)
    if _has_time_literal(node):
        _read_by_library(text, text[:20])
    return Expression(text, node)


def _refusal(text: str, near: str) -> ExpressionError:
    return ExpressionError(text=text if len(text) <= SHOWN else f"{text[:SHOWN]}...", near=near)


def _has_time_literal(node: Node) -> bool:
    """Tell whether *node* has a time as text, which is computed, and may be refused, while being read."""
    if isinstance(node, Call) and node.name.lower() in ("abstime", "reltime"):
        return True
    return any(map(_has_time_literal, children(node)))


def _read_by_library(text: str, near: str) -> Node | None:
    exception = library()._class_ad.ClassAdException
    # brackets keep a text such as "1; other = 2" from being read as two attributes
    try:
        canonical = str(tree(f"({text}\n)"))
    except (exception, UnicodeError, ValueError):
        raise _refusal(text, near) from None
    try:
        node = read(canonical)
    except Unreadable:
        return None
    return node if depth(node) <= DEPTH else None


def expression_of(value: Any) -> Expression:
    """Return an ad's value, as HTCondor's ``-json`` prints it, as an Expression."""
    text = expression_text(value)
    if text is not None:
        return parse(text)
    try:
        node = literal_node(value)
    except Unreadable:
        return Expression("undefined", None)
    return Expression(unparse(node), node)


def constant_size(value: Any) -> int | None:
    """Return the size of a value in JSON form, None if it holds an expression.

    That is the characters of a string, the elements of a list or nested ad and what is in them.
    """
    if isinstance(value, str):
        return None if value.startswith(EXPR_OPEN) else len(value)
    if not isinstance(value, list | tuple | Mapping):
        return 0
    sizes = [constant_size(part) for part in (value.values() if isinstance(value, Mapping) else value)]
    return None if None in sizes else len(sizes) + sum(size or 0 for size in sizes)


def literal_node(value: Any) -> Node:
    """Return the tree of a value in JSON form; raises Unreadable for what only the library reads."""
    text = expression_text(value)
    if text is not None:
        inner = parse(text).node
        if inner is not None:
            return inner
        raise Unreadable(0, uncertain=True)
    if value is None:
        return Literal(UNDEFINED)
    if isinstance(value, bool | float | str | Absent):
        return Literal(value)
    if isinstance(value, int):
        return Literal(wrapped_integer(value))
    if isinstance(value, list | tuple):
        return ListOf(tuple(literal_node(item) for item in value))
    if isinstance(value, Mapping):
        return NestedAd(tuple((name, literal_node(part)) for name, part in value.items()))
    raise ExpressionError(text=repr(value), near=repr(value)[:20])
