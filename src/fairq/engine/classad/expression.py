"""Expressions: text that is parsed once and evaluated many times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from fairq.common.depth import DEEPEST as DEEPEST_VALUE
from fairq.common.depth import deeper_than
from fairq.common.expression_form import expression_text, is_expression
from fairq.engine.classad.kinds import UNDEFINED, Absent
from fairq.engine.classad.library import has_name, is_unicode, library, tree, writable
from fairq.engine.classad.nodes import Call, ListOf, Literal, NestedAd, Node, children, depth, unparse
from fairq.engine.classad.parser import Unreadable, read, wrapped_integer
from fairq.errors.base import ExpressionDepthError, ExpressionError

SHOWN = 100  # characters of a wrong expression shown in a message
DEPTH = 150  # deeper trees are left to the library, which gives up at 400 levels
DEEPEST = 5000  # levels; the library crashes on trees of some ten thousand
BRACKETS = 150  # levels that the library surely reads; it gives up a little later

_STRING = re.compile(r""" "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' """, re.DOTALL | re.VERBOSE)
_OPERATOR = re.compile(r"[-+*/%&|^<>=!~?:.(\[{]+|\bisn?t?\b", re.IGNORECASE)


class Expression(Struct, frozen=True, eq=False):
    """A ClassAd expression; *node* is its tree, None if only HTCondor's library can read or evaluate it."""

    text: str
    node: Node | None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=50_000)
def parse(text: str) -> Expression:
    """Return *text* as an Expression; raises ExpressionError for what HTCondor's library cannot read.

    It also refuses text that makes the library crash: bytes that are not UTF-8, and more than DEEPEST levels.
    """
    if not text.isascii() and not is_unicode(text):
        index = next(i for i, character in enumerate(text) if not is_unicode(character))
        raise _error_near(text, text[max(0, index - 5) : index + 15])
    if "\0" in text:
        raise _error_near(text, text[max(0, text.index("\0") - 5) :][:20])
    try:
        node = read(text)
    except Unreadable as problem:
        near = text[max(0, problem.position - 5) : problem.position + 15].strip() or text[-20:]
        if not problem.uncertain:
            raise _error_near(text, near) from None
        return Expression(text, _read_by_library(text, near))
    levels = depth(node)
    if levels > DEEPEST:
        raise _too_deep(text)
    if levels > DEPTH:
        return Expression(text, None)
    if _has_time_literal(node):
        _read_by_library(text, text[:20])
    return Expression(text, node)


def _error_near(text: str, near: str) -> ExpressionError:
    return ExpressionError(text=text if len(text) <= SHOWN else f"{text[:SHOWN]}...", near=near)


def _too_deep(text: str) -> ExpressionDepthError:
    return ExpressionDepthError(text=f"{text[:SHOWN]}...", near=text[:20])


def _brackets(text: str) -> int:
    """Return the nesting depth of the brackets in *text*, which has no strings."""
    deepest = level = 0
    for bracket in re.findall(r"[][(){}]", text):
        level += 1 if bracket in "([{" else -1
        deepest = max(deepest, level)
    return deepest


def _has_time_literal(node: Node) -> bool:
    """Return whether *node* has a time as text; the library computes it, and may refuse it, while parsing."""
    if isinstance(node, Call) and node.name.lower() in ("abstime", "reltime"):
        return True
    return any(map(_has_time_literal, children(node)))


def _read_by_library(text: str, near: str) -> Node | None:
    exception = library()._class_ad.ClassAdException
    bare = _STRING.sub('""', text)
    if len(text) > DEEPEST and sum(map(len, _OPERATOR.findall(bare))) > DEEPEST:
        raise _too_deep(text)
    # brackets keep a text such as "1; other = 2" from being read as two attributes
    try:
        canonical = str(tree(f"({text}\n)"))
    except (exception, UnicodeError, ValueError):
        raise (_too_deep(text) if _brackets(bare) > BRACKETS else _error_near(text, near)) from None
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

    The size is the characters of a string, or the elements of a list or nested ad with their own sizes.
    """
    if isinstance(value, str):
        return None if is_expression(value) else len(value)
    if not isinstance(value, list | tuple | Mapping):
        return 0
    sizes = [constant_size(part) for part in (value.values() if isinstance(value, Mapping) else value)]
    return None if None in sizes else len(sizes) + sum(size or 0 for size in sizes)


def literal_node(value: Any) -> Node:
    """Return the tree of a value in JSON form.

    Raises Unreadable for a value that only the library reads, or one that is nested too deeply.
    """
    if deeper_than(value, DEEPEST_VALUE):
        raise Unreadable(0, uncertain=True)
    return _literal_node(value)


def _literal_node(value: Any) -> Node:
    text = expression_text(value)
    if text is not None:
        inner = parse(text).node
        if inner is not None:
            return inner
        raise Unreadable(0, uncertain=True)
    if value is None:
        return Literal(UNDEFINED)
    if isinstance(value, bool | float | str | Absent):
        return Literal(writable(value) if isinstance(value, str) else value)
    if isinstance(value, int):
        return Literal(wrapped_integer(value))
    if isinstance(value, list | tuple):
        return ListOf(tuple(_literal_node(item) for item in value))
    if isinstance(value, Mapping):
        return NestedAd(tuple((name, _literal_node(part)) for name, part in value.items() if has_name(name)))
    raise ExpressionError(text=repr(value), near=repr(value)[:20])
