"""The clauses of Requirements as written; all of them must be true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from msgspec import Struct

from fairq.common.expression_form import expression_text
from fairq.engine.classad import Expression, expression_of, parse
from fairq.engine.classad.nodes import Reference
from fairq.engine.classad.parser import LexicalError, Token, tokens

_BINDS_WEAKER = frozenset({"||", "?", "?:"})
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_LEVELS = 5
"""Maximum depth of clauses that are only the name of another expression of the same ad."""


class Clause(Struct, frozen=True):
    """One clause: its *text* and the *attribute* of its ad in which it is written, name in lower case."""

    attribute: str
    text: str

    @property
    def expression(self) -> Expression:
        """The clause as an expression."""
        return parse(self.text)


def split(text: str) -> list[str]:
    """Return the parts of *text* joined by ``&&`` at the top level, without brackets around a part.

    A text with invalid tokens is one part.
    """
    try:
        text_tokens = tokens(text)
    except LexicalError:
        return [text.strip()]
    parts = _parts(text_tokens, 0, len(text_tokens) - 1)
    return [text[text_tokens[start].position : text_tokens[end].position].strip() for start, end in parts]


def clauses_of(ad: Mapping[str, Any], attribute: str = "requirements", level: int = _LEVELS) -> list[Clause]:
    """Return the clauses of an attribute of *ad* (names in lower case); a named expression is replaced by its clauses.

    A constant is one clause; a missing attribute has none.
    """
    if attribute not in ad:
        return []
    value = ad[attribute]
    text = expression_text(value)
    if text is None:
        return [Clause(attribute, expression_of(value).text)]
    result: list[Clause] = []
    for part in split(text):
        named = _own_name(part, ad)
        if named is not None and level > 0:
            result += clauses_of(ad, named, level - 1)
        else:
            result.append(Clause(attribute, part))
    return list(dict.fromkeys(result))


def replace_clauses(text: str, clauses: Mapping[str, str | None]) -> str:
    """Return the expression *text* without its parts *clauses*, or with their replacements."""
    parts = [clauses.get(part, part) for part in split(text)]
    kept = [f"({part})" for part in parts if part is not None]
    return " && ".join(kept) if kept else "true"


def _own_name(text: str, ad: Mapping[str, Any]) -> str | None:
    """Return the name of another expression of the same ad if *text* is only that name."""
    node = parse(text).node
    if not isinstance(node, Reference) or node.absolute:
        return None
    is_own = node.scope is None or (isinstance(node.scope, Reference) and node.scope.name.lower() == "my")
    name = node.name.lower()
    return name if is_own and expression_text(ad.get(name)) is not None else None


def _parts(text_tokens: list[Token], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each part of the tokens from *start* to before *end*."""
    start, end = _strip_brackets(text_tokens, start, end)
    outside = [index for index, depth in enumerate(_depths(text_tokens, start, end), start) if depth == 0]
    cuts = [index for index in outside if text_tokens[index].type == "&&"]
    if not cuts or any(text_tokens[index].type in _BINDS_WEAKER for index in outside):
        yield start, end
        return
    for first, last in zip([start, *(cut + 1 for cut in cuts)], [*cuts, end], strict=True):
        yield from _parts(text_tokens, first, last)


def _depths(text_tokens: list[Token], start: int, end: int) -> Iterator[int]:
    """Yield the number of open brackets after each token from *start* to before *end*."""
    return accumulate((token.type in _OPEN) - (token.type in _CLOSE) for token in text_tokens[start:end])


def _strip_brackets(text_tokens: list[Token], start: int, end: int) -> tuple[int, int]:
    """Return the range of tokens without brackets that enclose all of them."""
    while end - start > 2 and text_tokens[start].type == "(" and text_tokens[end - 1].type == ")":
        if 0 in _depths(text_tokens, start, end - 1):
            break
        start, end = start + 1, end - 1
    return start, end
