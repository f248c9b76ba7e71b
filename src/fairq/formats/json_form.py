"""The ``-json`` form of a dump: one or more arrays of ads, or single ads as from ``-jsonl``.

msgspec parses all complete ads of a chunk of text at once. Python's parser reads an ad that a chunk cuts, and the ads
of a chunk that msgspec refuses: it accepts more, such as half a character, and reports what is wrong and where.
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
"""After a refused chunk, one ad is parsed singly; after each further one twice as many, up to this number."""

_SPACE = re.compile(r"[ \t\r\n]*")

_decode_array = msgspec.json.Decoder(list[dict[str, Any]]).decode


class JsonAds:
    """The ads of a JSON text, decoded as the text comes in."""

    def __init__(self, source: Source, text: str) -> None:
        """Read *text*, the beginning of the dump that was already read, and then the rest of *source*."""
        self._source = source
        self._text = text
        self._position = 0
        self._line = 1
        self._number = 1
        self._separator = "\n,\n"
        """The text between two ads of an array; this is what HTCondor writes."""
        self._singles, self._next_singles = 0, 1
        """The number of ads to parse singly now, and after the next refused chunk."""
        self._decode = json.JSONDecoder(parse_constant=self._refuse_constant).raw_decode

    def __iter__(self) -> Iterator[list[Ad]]:
        """Yield the ads in lists; raises InvalidDumpError at the first item that is not an ad."""
        while next_character := self._peek():
            if next_character == "{":
                yield [self._ad()]
            else:
                yield from self._array()

    def _array(self) -> Iterator[list[Ad]]:
        self._expect("[")
        if self._peek() == "]":
            self._position += 1
            return
        while True:
            self._peek()
            yield self._complete_ads() or [self._ad()]
            text, end = self._text, self._position
            if self._peek() == "]":
                self._position += 1
                return
            self._expect(",")
            self._peek()
            if self._text is text:
                self._separator = text[end : self._position]

    def _complete_ads(self) -> list[Ad]:
        """Return the complete ads of the text except the last; none if the next ad must be parsed singly."""
        if self._singles:
            self._singles -= 1
            return []
        end = self._text.rfind(f"}}{self._separator}{{", self._position) + 1
        if not end:
            return []
        try:
            # If a nested ad ends here, this is not a complete array.
            ads = _decode_array(f"[{self._text[self._position : end]}]")
        except (msgspec.DecodeError, RecursionError):
            self._singles = self._next_singles - 1
            self._next_singles = min(2 * self._next_singles, _MOST_SINGLE)
            return []
        self._next_singles = 1
        self._position = end
        self._number += len(ads)
        return ads

    def _ad(self) -> Ad:
        while True:
            try:
                ad, end = self._decode(self._text, self._position)
            except json.JSONDecodeError as failure:
                if self._may_be_cut(failure) and self._read_more():
                    continue
                raise self._syntax_error(failure) from None
            except RecursionError:
                raise self._ad_error("it is nested too deeply", "give ads as HTCondor prints them") from None
            except ValueError:
                raise self._ad_error("a number has too many digits", "whole numbers have at most 64 bits") from None
            if type(ad) is not dict:
                raise self._ad_error(f"not an ad but {_type_name(ad)}", "every element must be an object")
            self._number += 1
            self._position = end
            return ad

    def _peek(self) -> str:
        """Return the next character other than white space; the empty text at the end."""
        while True:
            self._position = _SPACE.match(self._text, self._position).end()  # type: ignore[union-attr]  # matches always
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def _read_more(self) -> bool:
        """Read the next chunk of the text, and drop the text before the next ad; return False at the end."""
        if len(self._text) - self._position > LARGEST_AD:
            raise self._line_error(f"the ad has no end within {LARGEST_AD >> 20} Mi characters", self._position)
        chunks = [self._text[self._position :], self._source.read()]
        if not chunks[-1]:
            return False
        # An incomplete ad is parsed again from its beginning: the longer it is, the more is read.
        while chunks[-1] and sum(map(len, chunks[1:])) < len(chunks[0]):
            chunks.append(self._source.read())
        self._line += self._text.count("\n", 0, self._position)
        self._text = "".join(chunks)
        self._position = 0
        return True

    def _may_be_cut(self, failure: json.JSONDecodeError) -> bool:
        near_the_end = len(self._text) - failure.pos < _LONGEST_TOKEN
        return near_the_end or failure.msg.startswith("Unterminated")

    def _expect(self, character: str) -> None:
        next_character = self._peek()
        if next_character != character:
            problem = (
                f"{next_character!r} stands where {character!r} is expected"
                if next_character
                else "the text ends too early"
            )
            raise self._line_error(problem, self._position)
        self._position += 1

    def _syntax_error(self, failure: json.JSONDecodeError) -> InvalidDumpError:
        if not self._text[failure.pos :].strip() or failure.msg.startswith("Unterminated"):
            return self._line_error("the text ends too early", len(self._text))
        return self._line_error(f"not JSON ({failure.msg})", failure.pos)

    def _line_error(self, problem: str, position: int) -> InvalidDumpError:
        line = self._line + self._text.count("\n", 0, position)
        return self._source.line_error(line, self._number, problem, "give the whole array that -json prints")

    def _ad_error(self, problem: str, cure: str) -> InvalidAdError:
        return self._source.ad_error(self._number, problem, cure)

    def _refuse_constant(self, constant: str) -> Any:
        cure = "leave the attribute out, or write it as an /Expr(...)/"
        raise self._ad_error(f"{constant} is no number", cure)


def write(ads: Iterable[Ad], stream: IO[str]) -> None:
    """Write *ads* as ``-json`` prints them, one ad to a line."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    separator = "[\n"
    for ad in ads:
        stream.write(separator)
        stream.write(as_unicode(encode(ad)))
        separator = ",\n"
    stream.write("[\n]\n" if separator == "[\n" else "\n]\n")


def as_unicode(text: str) -> str:
    """Return the JSON *text* in a form that every encoding can write.

    Python holds a byte that is not UTF-8, as in a file's name, as a lone surrogate (PEP 383). It is written as the
    escape of the surrogate: 0xff becomes ``\\udcff``. Reading restores the byte.
    """
    if text.isascii():
        return text
    return SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _type_name(value: Any) -> str:
    names: dict[type, str] = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
