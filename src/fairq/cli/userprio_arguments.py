"""Converts condor_userprio's single-dash options to fairq's own."""

from __future__ import annotations

from fairq.cli.single_dash import Dialect, Spelling

_SPELLINGS = (
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
    Spelling("modular", 3, effect=False),
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
    Spelling("collector", 3, effect=False),
    Spelling("negotiator", 3, effect=False),
)
"""The options in the order in which condor_userprio checks them."""

_OWN = (
    Spelling("classic"),
    Spelling("plain"),
    Spelling("force"),
    Spelling("prune", values=1),
    Spelling("target", values=1),
    Spelling("yes"),
)
"""fairq's own options that are also accepted with one dash."""

_ABSENT = {
    "legacy": "ads come one per record only",
    "debug": "there is no debug log; set FAIRQ_DEBUG=1 for internal errors",
    "inputfile": "read accounting ads with 'fairq import --accounting FILE'",
    "pool": "a pool is one state file: choose it with --state FILE",
    "name": "a pool is one state file: choose it with --state FILE",
}

SEPARATOR = "\x1f"
"""Separator between the name and the value of an edit in a single word for the parser."""

_PAIRS = frozenset(f"--{one.name}" for one in _SPELLINGS if one.values == 2)

USERPRIO = Dialect("userprio", _SPELLINGS, _OWN, _ABSENT, keep="v")
"""``-v`` is fairq's own option. ``-modular``, ``-collector`` and ``-negotiator`` choose the source and form of the
records; fairq has only one of each.
"""


def rewritten(arguments: list[str]) -> list[str]:
    """Return *arguments* with fairq's own options, and with the two values of each edit joined."""
    return _joined(USERPRIO.rewrite(arguments))


def _joined(arguments: list[str]) -> list[str]:
    """Return *arguments* with the name and value of every edit as one word, so that the option can repeat."""
    result: list[str] = []
    waiting = list(reversed(arguments))
    while waiting:
        word = waiting.pop()
        if word == "--":
            return [*result, word, *reversed(waiting)]
        if word in _PAIRS:
            # `Dialect.rewrite` has checked that both words are present.
            result.append(f"{word}={waiting.pop()}{SEPARATOR}{waiting.pop()}")
        else:
            result.append(word)
    return result
