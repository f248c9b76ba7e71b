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


def same(left: Ad, right: Ad) -> bool:
    """Return whether two ads are equal; a number may be an expression in one of them."""
    return left.keys() == right.keys() and all(_plain(left[name]) == _plain(right[name]) for name in left)


def _plain(value: Any) -> Any:
    if is_expression(value) and unwrapped(value).isdigit():
        return int(unwrapped(value))
    return value
