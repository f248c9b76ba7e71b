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
"""Letters that an option without a dialect needs at least."""


class Spelling(Struct, frozen=True):
    """One option of the tool: its name, its minimum number of letters, and fairq's name for it.

    An option with a *cure* is not in fairq; the cure says what to use. An option without *effect* asks for what fairq
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
        found: dict[str, list[str]] = {}
        for one in self.spellings:
            if one.effect and not one.bare and not one.cure:
                found.setdefault(one.option, []).append(f"-{one.name}")
        return found

    def find(self, word: str) -> Spelling | None:
        """Return the option for *word*, which has no dash and no text after a colon."""
        for spelling in self.spellings:
            if len(word) >= spelling.least and spelling.name.startswith(word):
                return spelling
        meant = [spelling for spelling in self.spellings if spelling.name.startswith(word)]
        # Options with an effect come before options that are only accepted, these before options that fairq lacks.
        meant = [one for one in meant if one.effect and not one.cure] or [one for one in meant if not one.cure] or meant
        return meant[0] if len(meant) == 1 else None


class Values(Struct, frozen=True):
    """The words that are the values of an option.

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
        """Return *words* as the parser takes them.

        If the command has a certain number of *arguments*, the last of which is a value, this may begin with a dash.

        Raises UsageError for an unknown option, for one that only HTCondor's tool has, and for missing values.
        """
        result: list[str] = []
        last: list[str] = []
        waiting = list(reversed(words))
        named = 0
        while waiting:
            word = waiting.pop()
            if word == "--":
                return [*result, word, *reversed(waiting), *last]
            if word == "-" or not word.startswith("-"):
                named += 1
                result.append(word)
            elif arguments is not None and named == arguments - 1 and word.partition("=")[0] not in self._options:
                named += 1
                last.append(word)
            else:
                self._read_option(word, waiting, result)
        return [*result, "--", *last] if last else result

    def _read_option(self, word: str, waiting: list[str], result: list[str]) -> None:
        text, equals, given = word.partition("=")
        name, _, modifiers = text.partition(":")
        if (letters := self._letters(name)) is not None:
            if equals and not letters:
                raise UsageError(message=self._unknown(word))
            result += [word] if equals else [word, *self._taken(word, letters, waiting)]
            return
        spelling = self._find(name)
        if spelling is None:
            raise UsageError(message=self._unknown(text if name.strip("-") else word))
        if spelling.cure:
            dashes = "--" if word.startswith("--") else "-"
            # Whoever writes a part of the name may mean something else: an option of a program to submit.
            hint = "" if name.lstrip("-") == spelling.name else self._dialect.hint
            cure = "; ".join(filter(None, [spelling.cure, hint]))
            raise UsageError(message=f"{self._path} has no {dashes}{spelling.name}: {cure}")
        option, before = spelling.option, [given] if equals else []
        if not spelling.effect or spelling.bare:
            before += self._taken(word, spelling.values - len(before), waiting)
            if spelling.effect:
                result += self._arguments(word, before)
            return
        if text != name and option != "--af":
            raise UsageError(message=self._unknown(text))
        values = self._options[option]
        if values.form == "rest":
            rest = before or self._rest(word, option, waiting)
            result.append(f"{option}={SEPARATOR.join([modifiers, *rest])}")
        elif values.form == "number":
            if not before:
                before = [waiting.pop() if waiting and waiting[-1][:1].isdecimal() else WATCH_DEFAULT]
            result.append(f"{option}={before[0]}")
        elif not values.count:
            result.append("=".join([option, *before]))
        else:
            taken = [*before, *self._taken(word, values.count - len(before), waiting)]
            result += [f"{option}={SEPARATOR.join(taken)}"] if values.joined else [option, *taken]

    def _letters(self, word: str) -> int | None:
        """Return how many of the next words belong to *word*, one option of a letter or several: ``-n 5``, ``-qv``.

        None: it is no such word.
        """
        if word.startswith("--"):
            return None
        if word not in self._options and (self._dialect.find(word[1:]) or f"-{word}" in self._options):
            return None
        for at, letter in enumerate(word[1:], 2):
            values = self._options.get(f"-{letter}")
            if values is None:
                return None
            if values.count:
                return values.count if at == len(word) else 0
        return 0

    def _find(self, word: str) -> Spelling | None:
        """Return the option for *word*, with its dashes and without a value."""
        name = word[2:] if word.startswith("--") else word[1:]
        if word in self._options:
            return Spelling(name)
        if (found := self._dialect.by_name.get(name)) is not None:
            return found
        if not word.startswith("--"):
            if f"--{name}" in self._options:
                return Spelling(name)
            if (found := self._dialect.find(name)) is not None:
                return found
            own = [one for one in self._names if one.startswith(name)]
            if len(own) == 1 and len(name) >= _LEAST_OF_OWN:
                return Spelling(own[0])
        found = self._common.by_name.get(name)
        return found if found is not None and (found.cure or found.option in self._options) else None

    def _unknown(self, word: str) -> str:
        if re.match(r"-\d", word):
            return f"no such option: {word}; give what begins with a dash after --, as '{self._path} -- {word}'"
        name = word.lstrip("-")
        of_tool = {one.name for one in self._dialect.spellings if not one.cure}
        begun = [one for one in self._names if name and one.startswith(name)]
        near = nearest(name, [*of_tool, *self._names]) if len(name) > 1 else None
        close = begun[0] if len(begun) == 1 else near
        hint = self._dialect.hint if close is None else f"perhaps {'--' if close in self._names else '-'}{close}"
        return "; ".join(filter(None, [f"no such option: {word}", hint, f"try '{self._path} --help'"]))

    def _taken(self, word: str, count: int, waiting: list[str]) -> list[str]:
        if len(waiting) < count:
            noun = "value" if count == 1 else "values"
            raise UsageError(message=f"{word} needs {count} {noun}; see {self._path} --help")
        return [waiting.pop() for _ in range(count)]

    def _arguments(self, word: str, values: list[str]) -> list[str]:
        """Return the *values* of the option *word* as arguments; raises UsageError for one that is an option."""
        if any(value.startswith("-") and value != "-" for value in values):
            raise UsageError(message=f"{word} needs {len(values)} value; see {self._path} --help")
        return values

    def _rest(self, word: str, option: str, waiting: list[str]) -> list[str]:
        taken = []
        while waiting and not waiting[-1].startswith("-"):
            taken.append(waiting.pop())
        if not taken and option == "--af":
            raise UsageError(message=f"{word} needs an attribute; give one or more, such as {word} Name Priority")
        return taken or self._taken(word, 1, [])
