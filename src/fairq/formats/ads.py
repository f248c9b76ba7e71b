"""The ads of a dump in either form, and the checks on an ad."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fairq.common.depth import DEEPEST as _DEEPEST
from fairq.common.expression_form import CLOSE, OPEN, as_expression, unwrapped
from fairq.common.records import Ad
from fairq.errors.base import ExpressionDepthError, ExpressionError
from fairq.errors.pool import InvalidDumpError
from fairq.formats.ad_parts import AdPart
from fairq.formats.json_form import JsonAds
from fairq.formats.long_form import LongAds
from fairq.formats.source import Source

UNDEFINED = as_expression("undefined")

_FIRST_LINE = re.compile(r"\s*(?:--|#|[^\s=\"{}<]+\s*=)")
_NO_JOBS = re.compile(r"All queues are empty\s*")
"""The output of ``condor_q -global``, even with ``-json``, if no schedd has a job."""

_LARGEST = 2**63 - 1


def read_ads(source: Source) -> Iterator[Ad]:
    """Yield the ads of *source*, see `read_lists`."""
    return chain.from_iterable(read_lists(source))


def read_lists(source: Source) -> Iterator[list[Ad]]:
    """Yield lists of ads of *source*, in the ``-json`` or the ``-long`` form, recognised by the content.

    An empty text has no ads: HTCondor's tools print nothing if there are none.

    Raises UnreadableDumpError, InvalidDumpError or InvalidAdError at the first error.
    """
    text = source.read()
    while text and text.isspace():
        text = source.read()
    start = text.lstrip()
    if not start or _NO_JOBS.fullmatch(start):
        return
    if start.startswith(("[", "{")):
        yield from JsonAds(source, text)
    elif _FIRST_LINE.match(start):
        yield from ([ad] for ad in LongAds(source, text))
    else:
        raise _unknown_form(source, start)


def _unknown_form(source: Source, start: str) -> InvalidDumpError:
    problem = "XML, which is not read" if start.startswith("<") else "neither the -json nor the -long form"
    return InvalidDumpError.at_line(source.name, 1, problem, "print the dump with -json or -long")


class Soundness:
    """Checks that the values of ads can be stored and evaluated; parses every expression once."""

    def __init__(self, source: Source) -> None:
        """Use the name of *source* in error messages."""
        self._source = source
        self._sound: dict[str, str] = {}
        self._replaced: dict[tuple[str, ...], frozenset[str]] = {}
        """For each list of names of an ad, the spellings that later ones replace."""

    def tidied(self, ad: Ad, number: int) -> Ad:
        """Return *ad*, the *number*-th of its dump, with null as undefined and one spelling per attribute.

        If two attributes differ in letter case only, the later one counts, as in HTCondor. An expression that
        many ads repeat is one object in memory. Raises InvalidAdError for an expression that does not parse, a
        number out of range or damaged text.
        """
        names = tuple(ad)
        replaced = self._replaced.get(names)
        if replaced is None:
            last_spelling = {name.lower(): name for name in names}
            replaced = self._replaced[names] = frozenset(name for name in names if last_spelling[name.lower()] != name)
        result = {name: self._tidied_value(name, value, number) for name, value in ad.items()}
        return {name: value for name, value in result.items() if name not in replaced} if replaced else result

    def tidied_part(self, part: AdPart) -> AdPart:
        """Return *part* with all its ads tidied, see `tidied`."""
        number = part.numbers[0]
        ad = self.tidied(part.ad, number)
        varying = {
            name: column
            if _are_obviously_sound(column)
            else [self._tidied_value(name, value, number) for value in column]
            for name, column in part.varying.items()
        }
        return AdPart(ad, {name: column for name, column in varying.items() if name in ad}, part.numbers)

    def _tidied_value(self, name: str, value: Any, number: int) -> Any:
        if value is None:
            return UNDEFINED
        if type(value) is not str:
            self._check(name, value, number, _DEEPEST)
        elif value.startswith(OPEN):
            if value not in self._sound:
                self._check_text(name, value, number)
                self._sound[value] = value
            return self._sound[value]
        elif not value.isascii():
            self._check_text(name, value, number)
        return value

    def _check(self, name: str, value: Any, number: int, levels: int) -> None:
        if isinstance(value, int):
            if abs(value) > _LARGEST:
                problem = f"{name} is too large a number ({str(value)[:20]}...)"
                raise self._source.ad_error(number, problem, "whole numbers have 64 bits")
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise self._source.ad_error(number, f"{name} is not a finite number", "give it as an /Expr(...)/")
        elif isinstance(value, str):
            self._check_text(name, value, number)
        elif not levels:
            raise self._source.ad_error(number, f"{name} is nested too deeply", f"{_DEEPEST} levels are the most")
        elif isinstance(value, Mapping):
            for inner, part in value.items():
                if not inner or "\0" in inner:
                    raise self._source.ad_error(
                        number, f"an attribute inside {name} has no name", "give it one, or remove it"
                    )
                self._check(f"{name}.{inner}", part, number, levels - 1)
        elif isinstance(value, list):
            for part in value:
                self._check(name, part, number, levels - 1)

    def _check_text(self, name: str, value: str, number: int) -> None:
        # A byte that is not UTF-8, as in a file's name, is valid: U+DC80 to U+DCFF, see `json_form.as_unicode`.
        if not value.isascii() and any(
            "\ud800" <= character <= "\udfff" and not "\udc80" <= character <= "\udcff" for character in value
        ):
            problem = f"the text of {name} is damaged (half a character)"
            raise self._source.ad_error(number, problem, "write the dump again")
        if value.startswith(OPEN):
            self._check_expression(name, value, number)

    def _check_expression(self, name: str, value: str, number: int) -> None:
        from fairq.engine.classad import parse

        text = unwrapped(value)
        near = value[-20:]
        try:
            if value.endswith(CLOSE):
                parse(text)
                return
        except ExpressionDepthError as failure:
            raise self._source.ad_error(number, f"{name}: {failure}", "split the expression") from None
        except ExpressionError as failure:
            near = failure.fields["near"]
        except ValueError:  # a number of thousands of digits
            pass
        cure = f"check quotes, brackets and operators near {shown(near)}"
        raise self._source.ad_error(number, f"{name} does not parse: {shown(text)}", cure)


def _are_obviously_sound(values: Sequence[Any]) -> bool:
    """Return whether all *values* are sound by a cheap check; values that fail it may still be sound."""
    kinds = set(map(type, values))
    for kind in kinds:
        same_kind: Sequence[Any] = values if len(kinds) == 1 else [value for value in values if type(value) is kind]
        if kind is str:
            texts = "\n".join(same_kind)
            is_sound = texts.isascii() and OPEN not in texts
        elif kind is int:
            is_sound = min(same_kind) >= -_LARGEST and max(same_kind) <= _LARGEST
        elif kind is float:
            is_sound = all(map(math.isfinite, same_kind))
        elif kind is list:
            members: list[Any] = list(chain.from_iterable(same_kind))
            is_sound = list not in set(map(type, members)) and _are_obviously_sound(members)
        else:
            is_sound = kind is bool
        if not is_sound:
            return False
    return True


class Spellings:
    """The spellings of attributes in an ad; cached per list of names, because dumps repeat the list."""

    def __init__(self, *names: str) -> None:
        """Look for the attributes *names*, in lower case."""
        self._names = names
        self._by_names: dict[tuple[str, ...], dict[str, str]] = {}

    def of(self, ad: Mapping[str, Any]) -> dict[str, str]:
        """Return the spelling in *ad* of each attribute searched for, by its lower-case name."""
        names = tuple(ad)
        spellings = self._by_names.get(names)
        if spellings is None:
            spellings = {name.lower(): name for name in names if name.lower() in self._names}
            self._by_names[names] = spellings
        return spellings


def is_whole(value: Any, lowest: int, highest: int = _LARGEST) -> bool:
    """Return whether *value* is a whole number, not a boolean, from *lowest* to *highest*."""
    return type(value) is int and lowest <= value <= highest


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same type: 1, 1.0 and true are three values."""
    if type(left) is not type(right) or left != right:
        return False
    if isinstance(left, dict):
        return all(same(value, right[name]) for name, value in left.items())
    if isinstance(left, list):
        return all(map(same, left, right))
    return True


def all_same(value: Any, others: Sequence[Any]) -> bool:
    """Return whether all *others* are the same as *value*."""
    if others.count(value) < len(others) or set(map(type, others)) != {type(value)}:
        return False
    return type(value) not in (dict, list) or all(same(value, other) for other in others)


def shown(value: Any) -> str:
    """Return *value* for a message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
