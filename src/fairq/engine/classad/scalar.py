"""One evaluation for one pair of ads, by HTCondor's own library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from fairq.engine.classad.clock import at_time, reads_clock
from fairq.engine.classad.expression import Expression, expression_of, parse
from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.library import (
    evaluate_tree,
    expression_text,
    has_name,
    library,
    readable_tree,
    to_library,
    tree,
)
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.pair import Pair
from fairq.engine.classad.references import closure
from fairq.engine.classad.scopes import CURRENT_TIME, Side
from fairq.engine.classad.unparse import unparse
from fairq.errors import ExpressionError


def evaluate_scalar(
    expression: Expression,
    my: Mapping[str, Any],
    target: Mapping[str, Any] | None = None,
    now: int | None = None,
) -> Any:
    """Evaluate once; ``time()`` is *now* (seconds since 1970), undefined without it.

    Returns a Python value, UNDEFINED or ERROR; the latter also for what the library cannot evaluate.
    """
    if recurses_endlessly(expression.node, my, target or {}):
        return ERROR
    other = None if target is None else library_ad(target, now, True)
    return evaluate_tree(tree(timed_text(expression.text, now)), library_ad(my, now, True), other)


def recurses_endlessly(node: Node | None, my: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Tell whether evaluating *node* may lead in a circle that the library would not notice and not survive."""
    pair = Pair(my, target)
    found = closure([(Side.AD, node)], pair)
    if found.everything:
        found = closure([(Side.AD, node)], pair, pair.attributes())
    return found.may_recurse_endlessly()


def library_ad(ad: Mapping[str, Any], now: int | None, reads_time: bool) -> Any:
    """Return *ad* as the library's, with *now* wherever it would look at the clock."""
    result = library().ClassAd()
    for name, value in ad.items():
        if not has_name(name):
            continue
        text = expression_text(value)
        if text is not None:
            result[name] = _timed_tree(text, now)
        elif isinstance(value, list | Mapping) and (node := expression_of(value).node) and reads_clock(node):
            result[name] = tree(unparse(at_time(node, now)))
        else:
            result[name] = to_library(value)
    if reads_time and not any(name.lower() == CURRENT_TIME for name in ad):
        result[CURRENT_TIME] = to_library(UNDEFINED if now is None else now)
    return result


def _timed_tree(text: str, now: int | None) -> Any:
    try:
        return readable_tree(timed_text(text, now))
    except ExpressionError:
        return library().Value.Error


@lru_cache(maxsize=20_000)
def timed_text(text: str, now: int | None) -> str:
    """Return the expression *text* with *now* in place of what reads the clock."""
    node = parse(text).node
    return text if node is None or not reads_clock(node) else unparse(at_time(node, now))
