"""Converts the single-dash options of HTCondor's tools to fairq's own.

An option may be abbreviated as far as the tool allows. It needs at least its minimum number of letters; if two options
begin alike, the first in the table wins. A shorter word is also accepted if it can mean only one option. With two
dashes, an option needs its full name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from fairq.cli.global_options import WITH_VALUE
from fairq.errors.base import UsageError

_WITH_VALUE = WITH_VALUE | {"--now"}
"""fairq's own options whose value may begin with a dash, for example ``--now -1h``."""


class Spelling(Struct, frozen=True):
    """One option of the tool: its name, its minimum number of letters, its number of values, and fairq's name for it.

    An option without *effect* asks for what fairq always does; it and its values are left out. The values of a *bare*
    option stay without it: they are arguments in fairq.
    """

    name: str
    least: int = 1
    values: int = 0
    meaning: str = ""
    effect: bool = True
    bare: bool = False


class Dialect(Struct, frozen=True, dict=True):
    """The options of one tool for *command*, in the order in which the tool checks them.

    Args:
        own: fairq's own options that are also accepted with one dash.
        absent: options that fairq does not have, with the cure.
        keep: the letters of fairq's own short options.
    """

    command: str
    spellings: Sequence[Spelling]
    own: Sequence[Spelling]
    absent: Mapping[str, str]
    keep: str

    @cached_property
    def _by_name(self) -> dict[str, Spelling]:
        return {spelling.name: spelling for spelling in (*self.spellings, *self.own)}

    @cached_property
    def words(self) -> dict[str, list[str]]:
        """The single-dash words of options with an effect, by the option that they stand for."""
        found: dict[str, list[str]] = {}
        for one in (*self.spellings, *self.own):
            if one.effect and not one.bare and one.name not in self.absent:
                found.setdefault(f"--{one.meaning or one.name}", []).append(f"-{one.name}")
        return found

    def find(self, word: str) -> Spelling | None:
        """Return the option for *word*, which has no dash and no text after a colon."""
        for spelling in self.spellings:
            if len(word) >= spelling.least and spelling.name.startswith(word):
                return spelling
        for table in (self.spellings, self.own):
            meant = [spelling for spelling in table if spelling.name.startswith(word)]
            # Options with an effect come before options that are only accepted.
            meant = [one for one in meant if one.effect] or meant
            if len(meant) == 1:
                return meant[0]
        return None

    def rewrite(self, arguments: list[str]) -> list[str]:
        """Return *arguments* with every single-dash option in its double-dash form, and values unchanged.

        Raises UsageError for an unknown option, for one that only HTCondor's tool can have, and for missing values.
        """
        result: list[str] = []
        waiting = list(reversed(arguments))
        while waiting:
            word = waiting.pop()
            if word == "--":
                return [*result, word, *reversed(waiting)]
            if word in _WITH_VALUE and waiting:
                result += (word, waiting.pop())
            elif word.startswith("--"):
                self._add(word, self._by_name.get(word[2:]), waiting, result)
            elif word.startswith("-") and word.strip(f"-{self.keep}") and word != "-help":
                spelling = self.find(word[1:].partition(":")[0])
                if spelling is None:
                    raise UsageError(message=f"no such option: {word}; try 'fairq {self.command} --help'")
                self._add(word, spelling, waiting, result)
            else:
                result.append("--help" if word == "-help" else word)
        return result

    def _add(self, word: str, spelling: Spelling | None, waiting: list[str], result: list[str]) -> None:
        if spelling is None:
            result.append(word)
            return
        if spelling.name in self.absent:
            raise UsageError(message=f"fairq {self.command} has no {word}: {self.absent[spelling.name]}")
        if len(waiting) < spelling.values:
            noun = "value" if spelling.values == 1 else "values"
            raise UsageError(message=f"{word} needs {spelling.values} {noun}; see fairq {self.command} --help")
        values = [waiting.pop() for _ in range(spelling.values)]
        if not spelling.effect:
            return
        if not spelling.bare:
            colon = "".join(word.partition(":")[1:])
            result.append(f"--{spelling.meaning or spelling.name}{colon}")
        result += values
