"""Ads whose values contain the job's number: one template stands for all jobs of a range."""

from __future__ import annotations

from typing import Any

from fairq.common.expression_form import is_expression, unwrapped
from fairq.common.records import PROC_PLACEHOLDER as MARK
from fairq.common.records import Ad


def has_mark(value: Any) -> bool:
    """Return whether *value* contains the job's number."""
    return isinstance(value, str) and MARK in value


def filled(template: Ad, proc: int) -> Ad:
    """Return *template* with the job number *proc* filled in."""
    number = str(proc)
    return {name: value.replace(MARK, number) if has_mark(value) else value for name, value in template.items()}


def same(one: Ad, other: Ad) -> bool:
    """Return whether two ads mean the same; one may hold a number as an expression."""
    return one.keys() == other.keys() and all(_plain(one[name]) == _plain(other[name]) for name in one)


def _plain(value: Any) -> Any:
    if is_expression(value) and unwrapped(value).isdigit():
        return int(unwrapped(value))
    return value
