"""Reads the words of a command line as Typer takes them: options with one dash, and options with several values.

Each option of a command also works with one dash. A command with a `Dialect` also knows the options of HTCondor's tool,
which may be abbreviated as far as the tool allows: at least to the minimum number of letters; if two options begin
alike, the first in the table wins. A shorter word is accepted, too, if it can mean only one option. With two dashes, an
option needs its full name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct

from fairq.errors.base import UsageError
from fairq.errors.nearest import nearest

SEPARATOR = "\x1f"
"""Separator between several values of an option in a single word for the parser."""

WATCH_DEFAULT = "5"
"""Seconds between two pictures of ``--watch``."""

_LEAST_OF_OWN = 2
"""Minimum number of letters of an abbreviated option without a dialect."""


class Spelling(Struct, frozen=True):
    """One option of the tool: its name, its minimum number of letters, and fairq's name for it.

    An option with a *cure* is not in fairq; the cure says what to use. An option without *effect* requests what fairq
    always does; it and its *values* are left out. The values of a *bare* option stay without it: they are arguments in
    fairq.
    """

    name: str
    least: int = 1
    meaning: str = ""
    cure: str = ""
    values: int = 0
    effect: bool = True
    bare: bool = False

    @property
    def option(self) -> str:
        """Fairq's option, with its dashes."""
        return f"--{self.meaning or self.name}"


class Dialect(Struct, frozen=True, dict=True):
    """The options of one *tool*, in the order in which it checks them; *hint* is for one that fairq does not have."""

    tool: str
    spellings: Sequence[Spelling]
    hint: str = ""

    @cached_property
    def by_name(self) -> dict[str, Spelling]:
        """The options by their full name."""
        return {spelling.name: spelling for spelling in self.spellings}

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """The words with one dash of options with an effect, by the option that they stand for."""
        words: dict[str, list[str]] = {}
        for spelling in self.spellings:
            if spelling.effect and not spelling.bare and not spelling.cure:
                words.setdefault(spelling.option, []).append(f"-{spelling.name}")
        return words

    def find(self, word: str) -> Spelling | None:
        """Return the option for *word*, which has no dash and no text after a colon."""
        for spelling in self.spellings:
            if len(word) >= spelling.least and spelling.name.startswith(word):
                return spelling
        possible = [spelling for spelling in self.spellings if spelling.name.startswith(word)]
        # Options with an effect come before options that are only accepted, these before options that fairq lacks.
        possible = (
            [spelling for spelling in possible if spelling.effect and not spelling.cure]
            or [spelling for spelling in possible if not spelling.cure]
            or possible
        )
        return possible[0] if len(possible) == 1 else None


class Values(Struct, frozen=True):
    """The values of an option on the command line.

    They are *count* words; *joined* ones become a single one for the parser. In the form ``rest``, they are all words
    up to the next dash, at least one; in the form ``number``, one word that begins with a digit, or none.
    """

    count: int = 0
    joined: bool = False
    form: Literal["", "rest", "number"] = ""


class Reader:
    """Reads the words of the command *path* with these *options*; *hidden* ones are never suggested."""

    def __init__(
        self,
        path: str,
        options: Mapping[str, Values],
        hidden: frozenset[str],
        dialect: Dialect,
        common: Dialect,
    ) -> None:
        self._path = path
        self._options = options
        self._names = [name[2:] for name in options if name.startswith("--") and name not in hidden]
        self._dialect = dialect
        self._common = common

    def read(self, words: Sequence[str], arguments: int | None = None) -> list[str]:
        """Return *words* as the parser expects them.

        If the command has a certain number of *arguments*, the last of which is a value, this may begin with a dash.

        Raises UsageError for an unknown option, for one that only HTCondor's tool has, and for missing values.
        """
        result: list[str] = []
        value_last: list[str] = []
        remaining = list(reversed(words))
        argument_count = 0
        while remaining:
            word = remaining.pop()
            if word == "--":
                return [*result, word, *reversed(remaining), *value_last]
            if word == "-" or not word.startswith("-"):
                argument_count += 1
                result.append(word)
            elif (
                arguments is not None
                and argument_count == arguments - 1
                and word.partition("=")[0] not in self._options
            ):
                argument_count += 1
                value_last.append(word)
            else:
                self._read_option(word, remaining, result)
        return [*result, "--", *value_last] if value_last else result

    def _read_option(self, word: str, remaining: list[str], result: list[str]) -> None:
        text, equals, value = word.partition("=")
        name, _, modifiers = text.partition(":")
        if (letters := self._letters(name)) is not None:
            if equals and not letters:
                raise UsageError(message=self._unknown(word))
            result += [word] if equals else [word, *self._next_words(word, letters, remaining)]
            return
        spelling = self._find(name)
        if spelling is None:
            raise UsageError(message=self._unknown(text if name.strip("-") else word))
        if spelling.cure:
            dashes = "--" if word.startswith("--") else "-"
            # A part of the name may mean something else: an option of a program to submit.
            hint = "" if name.lstrip("-") == spelling.name else self._dialect.hint
            cure = "; ".join(filter(None, [spelling.cure, hint]))
            raise UsageError(message=f"{self._path} has no {dashes}{spelling.name}: {cure}")
        option, own_values = spelling.option, [value] if equals else []
        if not spelling.effect or spelling.bare:
            own_values += self._next_words(word, spelling.values - len(own_values), remaining)
            if spelling.effect:
                result += self._arguments(word, own_values)
            return
        if text != name and option != "--af":
            raise UsageError(message=self._unknown(text))
        values = self._options[option]
        if values.form == "rest":
            words = own_values or self._words_up_to_dash(word, option, remaining)
            result.append(f"{option}={SEPARATOR.join([modifiers, *words])}")
        elif values.form == "number":
            if not own_values:
                own_values = [remaining.pop() if remaining and remaining[-1][:1].isdecimal() else WATCH_DEFAULT]
            result.append(f"{option}={own_values[0]}")
        elif not values.count:
            result.append("=".join([option, *own_values]))
        else:
            all_values = [*own_values, *self._next_words(word, values.count - len(own_values), remaining)]
            result += [f"{option}={SEPARATOR.join(all_values)}"] if values.joined else [option, *all_values]

    def _letters(self, word: str) -> int | None:
        """Return how many of the next words belong to *word*, one or more one-letter options: ``-n 5``, ``-qv``.

        None if it is no such word.
        """
        if word.startswith("--"):
            return None
        if word not in self._options and (self._dialect.find(word[1:]) or f"-{word}" in self._options):
            return None
        for position, letter in enumerate(word[1:], 2):
            values = self._options.get(f"-{letter}")
            if values is None:
                return None
            if values.count:
                return values.count if position == len(word) else 0
        return 0

    def _find(self, word: str) -> Spelling | None:
        """Return the option for *word*, with its dashes and without a value."""
        name = word[2:] if word.startswith("--") else word[1:]
        if word in self._options:
            return Spelling(name)
        if (spelling := self._dialect.by_name.get(name)) is not None:
            return spelling
        if not word.startswith("--"):
            if f"--{name}" in self._options:
                return Spelling(name)
            if (spelling := self._dialect.find(name)) is not None:
                return spelling
            matching = [own for own in self._names if own.startswith(name)]
            if len(matching) == 1 and len(name) >= _LEAST_OF_OWN:
                return Spelling(matching[0])
        spelling = self._common.by_name.get(name)
        return spelling if spelling is not None and (spelling.cure or spelling.option in self._options) else None

    def _unknown(self, word: str) -> str:
        if re.match(r"-\d", word):
            return f"no such option: {word}; give what begins with a dash after --, as '{self._path} -- {word}'"
        name = word.lstrip("-")
        tool_names = {spelling.name for spelling in self._dialect.spellings if not spelling.cure}
        beginning = [option for option in self._names if name and option.startswith(name)]
        # Who writes --surplus does not mean --no-surplus.
        meant = [option for option in self._names if name.startswith("no") or not option.startswith("no-")]
        near = nearest(name, [*tool_names, *meant]) if len(name) > 1 else None
        close = beginning[0] if len(beginning) == 1 else near
        hint = self._dialect.hint if close is None else f"perhaps {'--' if close in self._names else '-'}{close}"
        return "; ".join(filter(None, [f"no such option: {word}", hint, f"try '{self._path} --help'"]))

    def _next_words(self, word: str, count: int, remaining: list[str]) -> list[str]:
        if len(remaining) < count:
            noun = "value" if count == 1 else "values"
            raise UsageError(message=f"{word} needs {count} {noun}; see {self._path} --help")
        return [remaining.pop() for _ in range(count)]

    def _arguments(self, word: str, values: list[str]) -> list[str]:
        """Return the *values* of the option *word* as arguments; raises UsageError for one that is an option."""
        if any(value.startswith("-") and value != "-" for value in values):
            raise UsageError(message=f"{word} needs {len(values)} value; see {self._path} --help")
        return values

    def _words_up_to_dash(self, word: str, option: str, remaining: list[str]) -> list[str]:
        words = []
        while remaining and not remaining[-1].startswith("-"):
            words.append(remaining.pop())
        if not words and option == "--af":
            raise UsageError(message=f"{word} needs an attribute; give one or more, such as {word} Name Priority")
        return words or self._next_words(word, 1, [])
