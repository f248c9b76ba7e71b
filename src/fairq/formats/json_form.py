"""The ``-json`` form of a dump: one or more arrays of ads, or single ads as from ``-jsonl``.

msgspec parses all whole ads of a piece of text at once. Python's parser reads an ad that a piece cuts, and the ads of a
piece that msgspec refuses: it accepts more, such as half a character, and tells what is wrong and where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any

import msgspec

from fairq.common.records import Ad
from fairq.errors.pool import InvalidAdError, InvalidDumpError
from fairq.formats.source import LARGEST_AD, Source

_LONGEST_TOKEN = 16
"""Longest keyword or escape, in characters: an error this close to the end of a piece may be a cut token."""

SURROGATE = re.compile("[\ud800-\udfff]")
"""A surrogate: Python's mark for a byte that is not UTF-8 (U+DC80 to U+DCFF), or half a character."""

_MOST_SINGLE = 1000
"""After a refused piece, one ad is parsed by itself; after each further one twice as many, up to this number."""

_SPACE = re.compile(r"[ \t\r\n]*")

_decode_array = msgspec.json.Decoder(list[dict[str, Any]]).decode


class JsonAds:
    """The ads of a JSON text, decoded as the text comes in."""

    def __init__(self, source: Source, text: str) -> None:
        """Read *text*, the beginning of the dump that was already read, and then the rest of *source*."""
        self._source = source
        self._text = text
        self._at = 0
        self._line = 1
        self._number = 1
        self._between = "\n,\n"
        """What is between two ads of an array; HTCondor writes this."""
        self._singles, self._next_singles = 0, 1
        """How many ads are to be parsed singly, and how many after the next refused piece."""
        self._decode = json.JSONDecoder(parse_constant=self._refuse_constant).raw_decode

    def __iter__(self) -> Iterator[list[Ad]]:
        """Yield all ads in turn, some at a time; raises InvalidDumpError at the first item that is not an ad."""
        while next_character := self._peek():
            if next_character == "{":
                yield [self._ad()]
            else:
                yield from self._array()

    def _array(self) -> Iterator[list[Ad]]:
        self._expect("[")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            self._peek()
            yield self._whole_ads() or [self._ad()]
            text, end = self._text, self._at
            if self._peek() == "]":
                self._at += 1
                return
            self._expect(",")
            self._peek()
            if self._text is text:
                self._between = text[end : self._at]

    def _whole_ads(self) -> list[Ad]:
        """Return the whole ads of the text but the last one; none if the next ad must be parsed singly."""
        if self._singles:
            self._singles -= 1
            return []
        end = self._text.rfind(f"}}{self._between}{{", self._at) + 1
        if not end:
            return []
        try:
            # An ad inside an ad may end here, too: then this is no whole array.
            ads = _decode_array(f"[{self._text[self._at : end]}]")
        except (msgspec.DecodeError, RecursionError):
            self._singles = self._next_singles - 1
            self._next_singles = min(2 * self._next_singles, _MOST_SINGLE)
            return []
        self._next_singles = 1
        self._at = end
        self._number += len(ads)
        return ads

    def _ad(self) -> Ad:
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
        """Read the next piece of the text, and forget what is before the next ad; return False at the end."""
        if len(self._text) - self._at > LARGEST_AD:
            raise self._at_line(f"the ad has no end within {LARGEST_AD >> 20} Mi characters", self._at)
        pieces = [self._text[self._at :], self._source.read()]
        if not pieces[-1]:
            return False
        # An ad that goes on is parsed from its beginning again: the longer it is, the more is read.
        while pieces[-1] and sum(map(len, pieces[1:])) < len(pieces[0]):
            pieces.append(self._source.read())
        self._line += self._text.count("\n", 0, self._at)
        self._text = "".join(pieces)
        self._at = 0
        return True

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
        line = self._line + self._text.count("\n", 0, position)
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
