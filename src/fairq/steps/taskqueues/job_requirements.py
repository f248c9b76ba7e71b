"""The attributes of a job that define its task queue, and its owner and group."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fairq.common.expression_form import is_expression, unwrapped
from fairq.common.records import Ad
from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.shares.needs import ATTRIBUTES as NEEDS
from fairq.errors.base import ExpressionError

IDENTITY = ("acctgroup", "acctgroupuser", "accountinggroup")
"""The attributes of owner and group, in lower case."""

ATTRIBUTES = NEEDS | {*IDENTITY}
"""Lower-case names of all attributes used."""


def relevant(ad: Ad) -> dict[str, Any]:
    """Return the used attributes of *ad*, by lower-case name."""
    return {lower: value for name, value in ad.items() if (lower := read_as(name))}


@cache
def read_as(name: str) -> str:
    """Return the lower-case name of an attribute that is used, otherwise an empty text."""
    lower = name.lower()
    return lower if lower in ATTRIBUTES else ""


def identity_of(ad: Mapping[str, Any], owner: str) -> tuple[str, str]:
    """Return Owner and OwnerGroup of a job; *ad* comes from `relevant`, *owner* is its submitting user."""
    group, user = _text(ad.get("acctgroup")), _text(ad.get("acctgroupuser"))
    accounting_group = _text(ad.get("accountinggroup"))
    if not group and accounting_group and accounting_group != user:
        group, _, last = accounting_group.rpartition(".")
        user = user or last
    return user or owner, group or ROOT_GROUP


def _text(value: Any) -> str:
    return value if isinstance(value, str) and not is_expression(value) else ""


def plain_value(value: Any) -> Any:
    """Return a plain value: an expression is evaluated on its own; None if it has no value."""
    if not is_expression(value):
        return value
    from fairq.engine.classad import ERROR, UNDEFINED, evaluate_alone, parse

    try:
        result = evaluate_alone(parse(unwrapped(value)))
    except ExpressionError:
        return None
    return None if result is UNDEFINED or result is ERROR else result
