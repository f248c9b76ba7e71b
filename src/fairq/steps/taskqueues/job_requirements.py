"""The attributes of a job of fairq's queue that task queues go by, and who the job is for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.shares.job_needs import ATTRIBUTES as NEEDS
from fairq.errors.base import ExpressionError
from fairq.records import Ad

IDENTITY = ("acctgroup", "acctgroupuser", "accountinggroup")
"""The attributes, in lower case, that say who the job is for."""

ATTRIBUTES = NEEDS | {*IDENTITY}
"""Lower-case names of all attributes that are read."""


def relevant(ad: Ad) -> dict[str, Any]:
    """Return what of *ad* is read, by lower-case name."""
    return {lower: value for name, value in ad.items() if (lower := _read_as(name))}


@cache
def _read_as(name: str) -> str:
    """Return the lower-case name of an attribute that is read, else nothing."""
    lower = name.lower()
    return lower if lower in ATTRIBUTES else ""


def identity_of(ad: Mapping[str, Any], owner: str) -> tuple[str, str]:
    """Return Owner and OwnerGroup of a job; *ad* as `relevant` returns it, *owner* who submitted it."""
    group, user = _text(ad.get("acctgroup")), _text(ad.get("acctgroupuser"))
    whole = _text(ad.get("accountinggroup"))
    if not group and whole and whole != user:
        group, _, last = whole.rpartition(".")
        user = user or last
    return user or owner, group or ROOT_GROUP


def _text(value: Any) -> str:
    return value if isinstance(value, str) and not value.startswith("/Expr(") else ""


def plain_value(value: Any) -> Any:
    """Return a plain value: an expression is evaluated by itself, None if it has no value."""
    if not isinstance(value, str) or not value.startswith("/Expr("):
        return value
    from fairq.engine.classad import ERROR, UNDEFINED, evaluate_alone, parse

    try:
        found = evaluate_alone(parse(value.removeprefix("/Expr(").removesuffix(")/")))
    except ExpressionError:
        return None
    return None if found is UNDEFINED or found is ERROR else found
