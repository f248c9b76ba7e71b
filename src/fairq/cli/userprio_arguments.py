"""condor_userprio's single-dash spelling of the options, turned into fairq's own.

An option may be cut short as far as condor_userprio allows: at least its minimum of letters, and where two
options begin alike, the first of the table wins. What has fewer letters than that is taken, too, where it can mean
one option only. With two dashes an option needs its whole name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairq.cli.command import Command
from fairq.errors.base import UsageError


class Spelling(NamedTuple):
    """One option of condor_userprio: its name, the letters it needs and how many values follow it."""

    name: str
    least: int = 1
    values: int = 0
    meaning: str = ""


SPELLINGS = (
    Spelling("setprio", values=2),
    Spelling("setfactor", values=2),
    Spelling("setfloor", values=2),
    Spelling("setceiling", values=2),
    Spelling("duration", values=1),
    Spelling("cancelceilinglease", values=1),
    Spelling("cancelfloorlease", values=1),
    Spelling("cancelfactorlease", values=1),
    Spelling("setbegin", values=2),
    Spelling("setaccum", values=2),
    Spelling("setlast", values=2),
    Spelling("resetusage", values=1),
    Spelling("delete", 3, 1),
    Spelling("resetall"),
    Spelling("long"),
    Spelling("constraint", values=1),
    Spelling("legacy", 3),
    Spelling("modular", 3),
    Spelling("af", 2),
    Spelling("autoformat", 5, meaning="af"),
    Spelling("debug"),
    Spelling("hierarchical", 2),
    Spelling("heir", meaning="hierarchical"),
    Spelling("flat", 2),
    Spelling("grouprollup"),
    Spelling("grouporder"),
    Spelling("quotas"),
    Spelling("surplus"),
    Spelling("sortkey", 2),
    Spelling("all"),
    Spelling("most", 2),
    Spelling("groupid"),
    Spelling("order"),
    Spelling("activefrom", values=3),
    Spelling("allusers"),
    Spelling("usage", 2),
    Spelling("priority", 4),
    Spelling("getreslist", 6, 1),
    Spelling("inputfile", 2),
    Spelling("pool"),
    Spelling("name"),
    Spelling("collector", 3),
    Spelling("negotiator", 3),
)
"""The options in the order in which condor_userprio looks for them."""

OWN = (Spelling("classic"), Spelling("plain"), Spelling("force"), Spelling("prune", values=1))
"""Options of fairq's own that are understood with one dash as well."""

_ABSENT = {
    "legacy": "ads come one per record only",
    "debug": "there is no debug log; set FAIRQ_DEBUG=1 for internal errors",
    "inputfile": "read accounting ads with 'fairq import --accounting FILE'",
    "pool": "a pool is one state file: choose it with --state FILE",
    "name": "a pool is one state file: choose it with --state FILE",
}

_WITHOUT_EFFECT = frozenset({"modular", "collector", "negotiator"})
"""They say from where and in which shape to fetch the records; there is only one of either here."""

_BY_NAME = {spelling.name: spelling for spelling in (*SPELLINGS, *OWN)}


def find(word: str) -> Spelling | None:
    """Return the option that *word*, without its dash and what follows a colon, stands for."""
    for spelling in SPELLINGS:
        if len(word) >= spelling.least and spelling.name.startswith(word):
            return spelling
    for table in (SPELLINGS, OWN):
        meant = [spelling for spelling in table if spelling.name.startswith(word)]
        # What has an effect comes before what is only accepted.
        meant = [one for one in meant if one.name not in _WITHOUT_EFFECT] or meant
        if len(meant) == 1:
            return meant[0]
    return None


def rewrite(arguments: list[str]) -> list[str]:
    """Return *arguments* with every single-dash option in its double-dash form, values untouched.

    ``-v`` stays fairq's own. Raises UsageError for an option that there is not, for one that only
    condor_userprio can have, and for one without its values.
    """
    result: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            return [*result, word, *reversed(waiting)]
        if word in ("--now", "--state", "--config") and waiting:
            result += (word, waiting.pop())
            continue
        if word.startswith("--"):
            spelling = _BY_NAME.get(word[2:])
        elif word.startswith("-") and word.strip("-v") and word != "-help":
            spelling = find(word[1:].partition(":")[0])
            if spelling is None:
                raise UsageError(message=f"no such option: {word}; try 'fairq userprio --help'")
        else:
            result.append("--help" if word == "-help" else word)
            continue
        if spelling is None:
            result.append(word)
            continue
        if spelling.name in _ABSENT:
            raise UsageError(message=f"fairq userprio has no {word}: {_ABSENT[spelling.name]}")
        if len(waiting) < spelling.values:
            noun = "value" if spelling.values == 1 else "values"
            raise UsageError(message=f"{word} needs {spelling.values} {noun}; see fairq userprio --help")
        if spelling.name in _WITHOUT_EFFECT:
            continue
        colon = word.partition(":")[1:]
        result.append(f"--{spelling.meaning or spelling.name}{''.join(colon)}")
        result += (waiting.pop() for _ in range(spelling.values))
    return result


class UserprioCommand(Command):
    """The command, reading condor_userprio's spelling too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the single-dash options, then parse as usual."""
        return super().parse_args(ctx, rewrite(args))
