"""The ``-json`` form of a dump: one or more arrays of ads, or single ads as from ``-jsonl``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import IO, Any

from fairq.dumps.line_shapes import LineShapes
from fairq.dumps.repetition import Found, Repetition
from fairq.dumps.shapes import FoundByShape, Together, ads_after
from fairq.dumps.source import LARGEST_AD, Source
from fairq.errors.pool import InvalidAdError, InvalidDumpError
from fairq.records import Ad

_LONGEST_TOKEN = 16
"""Longest keyword or escape, in characters: an error this close to the end of a piece may be a cut token."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""A surrogate: Python's mark for a byte that is not UTF-8 (U+DC80 to U+DCFF), or half a character."""

_APART = 50
"""After so many more ads that repeat none, or few of them at a time, than others, they are parsed together."""

_FEW = 24
"""To find so many ads that repeat one costs as much time as to parse them together."""

_WORTH = 8
"""An ad that repeats none, and that was compared with others for it, costs as much time as so many that do."""

_LONGEST_WAIT = 1000

_SHORT = 1 << 14
"""Characters that hold few ads."""

_LEARNT = 12 << 20
"""To learn what the ads of a pool have in common costs as much as that spares for half as many characters."""

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonAds:
    """The ads of a JSON array, decoded one by one as the text comes in."""

    def __init__(
        self,
        source: Source,
        text: str,
        own: Collection[str] | None,
        most: Callable[[], int],
        counted: str | None = None,
    ) -> None:
        """Read *text*, the beginning of the dump that was already read, and then the rest of *source*.

        With *own*, ads of an array that are alike but for these attributes (in lower case) and some others come
        together, and so do many that repeat none before them: as many as *most* says, if they have an attribute a line.
        *counted*, one of *own*, is a number that mostly goes up by one from ad to ad.
        """
        self._most = most
        self._lines = LineShapes()
        self._size = 0
        """Characters of the last ad, or of several on average."""
        self._repetition = None if own is None else Repetition(own, counted)
        self._apart = 0
        """How many more ads repeated none, or few of them at a time, than others."""
        self._wait = _APART
        self._source = source
        self._text = text
        self._at = 0
        self._counted = 0
        """Up to where line breaks are counted; at most to the place that is read next."""
        self._breaks = 0
        self._number = 1
        self._decode = json.JSONDecoder(parse_constant=self._refuse_constant).raw_decode

    def __iter__(self) -> Iterator[Ad | Together]:
        """Yield every ad in turn; raises InvalidDumpError at the first item that is not an ad."""
        while True:
            match self._peek():
                case "":
                    return
                case "{":
                    yield self._ad()
                case _:
                    yield from self._array()

    def _array(self) -> Iterator[Ad | Together]:
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            self._peek()
            yield self._ad()
            while (found := self._together()) is not None:
                self._number += found.size
                yield found
            if self._peek() == "]":
                self._at += 1
                return
            self._expect(",")

    def _together(self) -> Together | None:
        """Take the ads after the last one that can be read together."""
        if self._repetition is None:
            return None
        found: Found | FoundByShape | None
        if self._apart >= self._wait:
            found = self._by_line() or ads_after(self._text, self._at)
            # Where the text read so far ends, one ad is in between; odd ads are not looked at again and again.
            self._wait = 1 if found else min(2 * self._wait, _LONGEST_WAIT)
            self._apart = self._wait if found else 0
        else:
            found = self._repetition.after(self._text, self._at)
            size = 0 if found is None else found.ads.size
            self._apart = self._apart + 1 if size <= _FEW else max(0, self._apart - size // _WORTH)
        if found is None:
            return None
        # They tell how many line breaks they have: counting these takes a tenth of the time of an import.
        self._count_to(self._at)
        self._at = self._counted = found.end
        self._breaks += found.breaks
        return found.ads

    def _by_line(self) -> FoundByShape | None:
        """Take ads that have an attribute a line."""
        if self._lines.is_in_vain or not self._text.startswith("\n", self._text.find("{", self._at) + 1):
            return None
        most = self._most()
        # If the ads to come are a little longer than those before them, all of them are there, too.
        self._read_to(min(max(most * self._size * 9 // 8, _LEARNT), LARGEST_AD))
        if not self._lines.has_learnt and len(self._text) - self._at < _LEARNT:
            return None
        found = self._lines.after(self._text, self._at, most)
        if found is not None:
            self._size = (found.end - self._at) // found.ads.size
        return found

    def _count_to(self, position: int) -> None:
        self._breaks += self._text.count("\n", self._counted, position)
        self._counted = position

    def _ad(self) -> Ad:
        if len(self._text) - self._at < _SHORT:
            # The error about an ad that is cut off counts the lines of all text before it.
            self._forget()
        while True:
            try:
                ad, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as failure:
                if self._may_be_cut(failure) and self._more():
                    continue
                raise self._syntax(failure) from None
            except RecursionError:
                raise self._problem("it is nested too deeply", "give ads as HTCondor prints them") from None
            except ValueError:
                raise self._problem("a number has too many digits", "whole numbers have at most 64 bits") from None
            if type(ad) is not dict:
                raise self._problem(f"not an ad but {_kind(ad)}", "every element must be an object")
            self._number += 1
            self._size = end - self._at
            if self._repetition is not None:
                self._repetition.seen(ad, self._text, self._at, end)
            self._at = end
            return ad

    def _peek(self) -> str:
        """Return the next character other than white space; the empty text at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # matches always
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        if len(self._text) - self._at > LARGEST_AD:
            raise self._at_line(f"the ad has no end within {LARGEST_AD >> 20} Mi characters", self._at)
        before = len(self._text) - self._at
        self._read_to(before + 1)
        return len(self._text) > before

    def _read_to(self, size: int) -> None:
        """Read on until so many characters are ahead, or the text ends."""
        ahead = len(self._text) - self._at
        if ahead >= size:
            return
        pieces: list[str] = []
        while ahead < size and (piece := self._source.read()):
            pieces.append(piece)
            ahead += len(piece)
        self._forget()
        self._text = "".join((self._text, *pieces))

    def _forget(self) -> None:
        """Drop the text before the next ad."""
        self._count_to(self._at)
        self._text = self._text[self._at :]
        self._at = self._counted = 0

    def _may_be_cut(self, failure: json.JSONDecodeError) -> bool:
        near_the_end = len(self._text) - failure.pos < _LONGEST_TOKEN
        return near_the_end or failure.msg.startswith("Unterminated")

    def _expect(self, character: str) -> None:
        found = self._peek()
        if found != character:
            what = f"{found!r} stands where {character!r} is expected" if found else "the text ends too early"
            raise self._at_line(what, self._at)
        self._at += 1

    def _syntax(self, failure: json.JSONDecodeError) -> InvalidDumpError:
        if not self._text[failure.pos :].strip() or failure.msg.startswith("Unterminated"):
            return self._at_line("the text ends too early", len(self._text))
        return self._at_line(f"not JSON ({failure.msg})", failure.pos)

    def _at_line(self, problem: str, position: int) -> InvalidDumpError:
        line = self._breaks + self._text.count("\n", self._counted, position) + 1
        return InvalidDumpError(
            source=self._source.name,
            where=f"line {line}, ad {self._number}",
            problem=problem,
            cure="give the whole array that -json prints",
        )

    def _problem(self, problem: str, cure: str) -> InvalidAdError:
        return InvalidAdError(source=self._source.name, number=self._number, problem=problem, cure=cure)

    def _refuse_constant(self, constant: str) -> Any:
        cure = "leave the attribute out, or write it as an /Expr(...)/"
        raise self._problem(f"{constant} is no number", cure)


def write(ads: Iterable[Ad], stream: IO[str]) -> None:
    """Write *ads* as ``-json`` prints them, one ad to a line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    before = "[\n"
    for ad in ads:
        stream.write(before)
        stream.write(as_unicode(encode(ad)))
        before = ",\n"
    stream.write("[\n]\n" if before == "[\n" else "\n]\n")


def as_unicode(text: str) -> str:
    """Return the JSON *text* so that every encoding can write it.

    Python holds a byte that is not UTF-8, as in a file's name, as a lone surrogate (PEP 383). It is written as the
    escape of the surrogate: 0xff becomes ``\\udcff``. Reading restores the byte.
    """
    if text.isascii():
        return text
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _kind(value: Any) -> str:
    names: dict[type, str] = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
