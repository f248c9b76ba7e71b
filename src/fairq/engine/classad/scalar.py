"""One evaluation for one pair of ads, by HTCondor's own library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from fairq.common.expression_form import expression_text
from fairq.engine.classad.budget import Culprit, EvaluationBudget
from fairq.engine.classad.clock import at_time, reads_clock
from fairq.engine.classad.costs import UNGUARDED, Costs
from fairq.engine.classad.expression import Expression, expression_of, parse
from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.library import (
    evaluate_tree,
    has_name,
    library,
    readable_tree,
    to_library,
    tree,
)
from fairq.engine.classad.nodes import Node, Reference, children, unparse
from fairq.engine.classad.references import CURRENT_TIME, RESERVED, Pair, Side, closure
from fairq.errors.base import ExpressionError

_BATCH_SIZE: Final = 1000

FREE_PER_AD: Final = 5e-4
"""Free CPU seconds for each evaluation: passing an ad to the library takes longer than most expressions."""


def evaluate_scalar(
    expression: Expression,
    my: Mapping[str, Any],
    target: Mapping[str, Any] | None = None,
    now: int | None = None,
    budget: EvaluationBudget | None = None,
) -> Any:
    """Evaluate once; ``time()`` is *now* (seconds since 1970), undefined without it.

    Returns a Python value, UNDEFINED or ERROR. ERROR also stands for an expression that the library cannot evaluate,
    or that uses up *budget*.
    """
    if budget is None:
        return _evaluate_once(expression, my, target, now)
    return next(evaluate_each(expression, [my], budget, target, now))


def evaluate_alone(expression: Expression) -> Any:
    """Return the value of an expression evaluated without ads; ERROR if its cost has no bound."""
    return _evaluate_once(expression, {}, None, None) if nodes_of(expression, {}) <= UNGUARDED else ERROR


def nodes_of(expression: Expression, ad: Mapping[str, Any], target: Mapping[str, Any] | None = None) -> float:
    """Return the most nodes that evaluating *expression* in *ad* visits; infinite if there is no bound."""
    return Costs(Pair(ad, target or {})).nodes(expression.node, Side.AD)


def names_read(expression: Expression) -> frozenset[str]:
    """Return the lower-case names of the attributes that *expression* itself reads of its ad.

    EVERY_ATTRIBUTE is among them if they cannot be determined.
    """
    return closure([(Side.AD, expression.node)], Pair({}, {})).single_names()


def names_deciding(expression: Expression) -> frozenset[str] | None:
    """Return the lower-case names of the attributes that decide the value of *expression* if they are plain.

    A plain value is no expression, list or ad. None if the value depends on the clock, on random numbers, or on
    attributes that cannot be determined.
    """
    reads = closure([(Side.AD, expression.node)], Pair({}, {}))
    names = reads.single_names()
    is_undetermined = reads.everything or reads.draws or CURRENT_TIME.lower() in names
    return None if is_undetermined or expression.node is None or reads_clock(expression.node) else names


def decides_alone(expression: Expression) -> bool:
    """Return whether plain values of one ad decide *expression* (see `names_deciding`) and it names no other scope."""
    return names_deciding(expression) is not None and not _names_scope(expression.node)


def _names_scope(node: Node | None) -> bool:
    if isinstance(node, Reference):
        scope = node.scope
        is_own = isinstance(scope, Reference) and scope.scope is None and scope.name.lower() == "my"
        return node.absolute or node.name.lower() in RESERVED or not (scope is None or is_own)
    return node is not None and any(map(_names_scope, children(node)))


def evaluate_each(
    expression: Expression,
    ads: Iterable[Mapping[str, Any]],
    budget: EvaluationBudget,
    target: Mapping[str, Any] | None = None,
    now: int | None = None,
) -> Iterator[Any]:
    """Yield for each of *ads* what `evaluate_scalar` returns for it.

    Ads are evaluated in batches; those for which the evaluation has no bound share one guard.
    """
    waiting = iter(ads)
    while batch := list(islice(waiting, _BATCH_SIZE)):
        yield from _evaluate_batch(expression, batch, budget, target, now)


def _evaluate_batch(
    expression: Expression,
    batch: list[Mapping[str, Any]],
    budget: EvaluationBudget,
    target: Mapping[str, Any] | None,
    now: int | None,
) -> list[Any]:
    key = (Side.AD, expression.text)
    values: list[Any] = [ERROR] * len(batch)
    risky: list[int] = []
    culprit: Culprit | None = None
    free = FREE_PER_AD * len(batch)
    start = budget.meter()
    for index, ad in enumerate(batch):
        costs = Costs(Pair(ad, target or {}))
        if costs.nodes(expression.node, Side.AD) > UNGUARDED:
            risky.append(index)
            culprit = culprit or _find_culprit(expression, costs.culprit, ad, target or {}, budget)
            continue
        seconds_left, limit = budget.seconds_left(key)
        if seconds_left + free <= 0:
            budget.record(_find_culprit(expression, None, ad, {}, budget), limit, 0.0, len(batch) - index)
            break
        values[index] = _evaluate_once(expression, ad, target, now)
        used, start = budget.meter() - start, budget.meter()
        budget.charge(key, used - free)
        free = max(0.0, free - used)
    if culprit is not None:

        def work() -> Iterator[list[Any]]:
            return ([_evaluate_once(expression, batch[index], target, now)] for index in risky)

        results = budget.under_guard(work, key, culprit, len(risky), free)
        for index, value in zip(risky, results, strict=False):
            values[index] = value
    return values


def _evaluate_once(
    expression: Expression, my: Mapping[str, Any], target: Mapping[str, Any] | None, now: int | None
) -> Any:
    if recurses_endlessly(expression.node, my, target or {}):
        return ERROR
    target_ad = None if target is None else library_ad(target, now, True)
    return evaluate_tree(tree(timed_text(expression.text, now)), library_ad(my, now, True), target_ad)


def _find_culprit(
    expression: Expression,
    attribute: tuple[Side, str] | None,
    my: Mapping[str, Any],
    target: Mapping[str, Any],
    budget: EvaluationBudget,
) -> Culprit:
    """Return the expression to name: that of the *attribute* without a bound, else the whole expression."""
    if attribute is None:
        return Culprit(budget.names.get(expression.text), expression.text)
    side, name = attribute
    ad = my if side is Side.AD else target
    value = next(value for key, value in ad.items() if key.lower() == name)
    return Culprit(name, expression_text(value) or repr(value), of_slot=side is Side.COLUMNS)


def recurses_endlessly(node: Node | None, my: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Return whether evaluating *node* may run into a circle that the library does not notice and that crashes it."""
    pair = Pair(my, target)
    reads = closure([(Side.AD, node)], pair)
    if reads.everything:
        reads = closure([(Side.AD, node)], pair, pair.attributes())
    return reads.may_recurse_endlessly()


def library_ad(ad: Mapping[str, Any], now: int | None, reads_time: bool) -> Any:
    """Return *ad* as an ad of the library, with *now* in place of every read of the clock."""
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
    """Return the expression *text* with *now* in place of every read of the clock."""
    node = parse(text).node
    return text if node is None or not reads_clock(node) else unparse(at_time(node, now))
