"""The ``-long`` form of a dump: one ``Name = value`` per line, with blank lines between ads.

Text inside quotes follows the old ClassAd rule: a backslash stands for itself unless a quote follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import IO, Any

from fairq.common.expression_form import as_expression, expression_text
from fairq.common.records import Ad
from fairq.errors.base import ExpressionDepthError, ExpressionError
from fairq.errors.pool import InvalidAdError, InvalidDumpError, UnwritableExportError
from fairq.formats.json_form import SURROGATE
from fairq.formats.source import LARGEST_AD, NO_ADS, Source

_LINE = re.compile(r"\s*([^\s=]+)\s*=(?!=)(.*)")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_LONE_BACKSLASH = re.compile(r'\\(?!")')
_PLAIN = r'(?:0|[1-9][0-9]{0,17}|"[ !#-\[\]-~]*+")'
_PLAIN_LIST = re.compile(rf"\{{ *(?:{_PLAIN}(?: *, *{_PLAIN})*)? *\}}")
_KEYWORDS = {"true": True, "false": False}
_CACHED_LINES = 10_000
"""Number of parsed lines to cache: ads of a pool share most lines, and parsing takes ten times as long."""

_LONGEST_CACHED = 1024


class LongAds:
    """The ads of a dump in the ``-long`` form, as the text is read."""

    def __init__(self, source: Source, text: str) -> None:
        """Read *text*, the beginning of the dump that was already read, and then the rest of *source*."""
        self._source = source
        self._text = text
        self._number = 1
        """The number of the ad."""
        self._line = 0

    def __iter__(self) -> Iterator[Ad]:
        """Yield every ad in turn; raises InvalidDumpError or InvalidAdError at the first bad line."""
        cached_attribute = lru_cache(_CACHED_LINES)(_attribute)
        ad: Ad = {}
        for line in chain.from_iterable(text.split("\n") for text in self._texts()):
            self._line += 1
            try:
                attribute = cached_attribute(line) if len(line) <= _LONGEST_CACHED else _attribute(line)
            except (ValueError, ExpressionError) as failure:
                raise self._bad_value(line, failure) from None
            if attribute is not None:
                name, value = attribute
                ad[name] = value
            elif line and not line.isspace():
                if not line.startswith(("-- ", "#")):
                    raise self._bad_line("not of the form Name = value")
            elif ad:
                yield ad
                ad = {}
                self._number += 1
        if ad:
            yield ad

    def _texts(self) -> Iterator[str]:
        """Yield the text in chunks of complete lines, without the last line break."""
        partial_line = ""
        chunk = self._text
        while chunk:
            text = partial_line + chunk
            end = text.rfind("\n")
            partial_line = text[end + 1 :]
            if len(partial_line) > LARGEST_AD:
                raise self._bad_line(f"the line has no end within {LARGEST_AD >> 20} Mi characters")
            if end >= 0:
                yield text[:end]
            chunk = self._source.read()
        if partial_line:
            yield partial_line

    def _bad_value(self, line: str, failure: Exception) -> InvalidAdError:
        name, _, text = (part.strip() for part in line.partition("="))
        problem = "is nested too deeply" if isinstance(failure, ExpressionDepthError) else "is not an expression"
        problem = f"line {self._line}: the value of {name[:60]} {problem}: {text[:60]}"
        return self._source.ad_error(self._number, problem, "write it as -long prints it")

    def _bad_line(self, problem: str) -> InvalidDumpError:
        cure = "give the output of -long, or that of -json, as it was printed"
        return self._source.line_error(self._line, self._number, problem, cure)


def _attribute(line: str) -> tuple[str, Any] | None:
    """Return the name and the value of the attribute on a *line*, None if there is none; raises like `_value_of`."""
    match = _LINE.fullmatch(line)
    return None if match is None else (match[1], _value_of(match[2].strip()))


def _value_of(text: str) -> Any:
    """Return the value of *text*; a text other than a literal becomes ``/Expr(...)/``.

    Raises ValueError for a text that cannot be a value.
    """
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        plain = text[1:-1].replace('\\"', "\0")
        if '"' not in plain:
            return plain.replace("\0", '"')
    if text.lower() in _KEYWORDS:
        return _KEYWORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        if "." in text or "e" in text.lower():
            return float(text)
        if text.lstrip("-").startswith("0") and text.strip("-0"):
            raise ValueError(text)  # ambiguous: it may be octal or decimal, for HTCondor's library and for people
        return int(text)
    if not text:
        raise ValueError(text)
    return _structure(text) if text[0] in "{[" else as_expression(_doubled_backslashes(text))


def _structure(text: str) -> Any:
    """Return the list or nested ad *text*, whose parts may be expressions, in the ``-json`` form."""
    if _PLAIN_LIST.fullmatch(text):
        # The ad of a partitionable slot has a dozen such lists; the library would take much longer for them.
        return json.loads(f"[{text[1:-1]}]")
    from fairq.engine.classad import parse
    from fairq.engine.classad.library import library

    classad2 = library()
    parse(text)  # refuse text that crashes the library
    try:
        ad = classad2.ClassAd({"Value": classad2.ExprTree(_doubled_backslashes(text))})
    except classad2.ClassAdException:
        raise ValueError(text) from None
    return json.loads(ad.printJson())["Value"]


def _doubled_backslashes(text: str) -> str:
    return _LONE_BACKSLASH.sub(r"\\\\", text)


def write(ads: Iterable[Ad], stream: IO[str], describe: Callable[[Ad], str]) -> None:
    """Write *ads* as ``-long`` prints them; *describe* names an ad for messages.

    If there are no ads, a comment says so: an empty file would look like a failed dump.

    Raises UnwritableExportError for a text with a line break or a byte that is not UTF-8: this form cannot hold them.
    """
    ad: Ad | None = None
    for ad in ads:
        for name, value in ad.items():
            text = _old_text(value)
            if "\n" in text or "\r" in text:
                raise _unwritable(f"{name} of {describe(ad)}", "a line break")
            if not text.isascii() and SURROGATE.search(text):
                raise _unwritable(f"{name} of {describe(ad)}", "a byte that is not UTF-8")
            if "\0" in text:
                raise _unwritable(f"{name} of {describe(ad)}", "a zero byte, or something that HTCondor cannot read")
            stream.write(f"{name} = {text}\n")
        stream.write("\n")
    if ad is None:
        stream.write(f"{NO_ADS}\n")


def _unwritable(target: str, content: str) -> UnwritableExportError:
    reason = f"it holds {content}, which the long form has no way to write"
    return UnwritableExportError(target=target, reason=reason, cure="export with --json")


def _old_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        text = expression_text(value)
        if text is None:
            return '"' + value.replace('"', '\\"') + '"'
        if "\\" not in text and "\n" not in text:
            return text
    return _by_library(value)


def _by_library(value: Any) -> str:
    from fairq.engine.classad.library import library

    json_text = json.dumps(value, ensure_ascii=False)
    if SURROGATE.search(json_text):
        return json_text  # it would crash the library; `write` refuses it
    classad2 = library()
    # Escape slashes: by this, the library recognises an expression.
    text = json.dumps({"Value": value}).replace("/", "\\/")
    try:
        ad = classad2.parseOne(text, classad2.ParserType.JSON)
    except ValueError:
        return "\0"  # `write` refuses it
    return str(ad.printOld()).removesuffix("\n").partition(" = ")[2]
