"""The options that every command has."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class GlobalOption(Struct, frozen=True):
    """An option of every command: its *spellings*, its *help*, and the *metavar* of its value; a flag has none."""

    spellings: tuple[str, ...]
    help: str
    metavar: str | None = None

    @property
    def name(self) -> str:
        """The name of the attribute of `fairq.cli.invocation.Invocation` that it sets."""
        return self.spellings[-1].removeprefix("--")


STATE = GlobalOption(("--state",), "State file [default: $FAIRQ_STATE, then the user's].", "FILE")
CONFIG = GlobalOption(("--config",), "Use only this settings file [default: $FAIRQ_CONFIG].", "FILE")
QUIET = GlobalOption(("-q", "--quiet"), "Print no notes, progress or change reports.")
VERBOSE = GlobalOption(("-v", "--verbose"), "Print more detail on stderr; repeatable.")
VERSION = GlobalOption(("--version",), "Show the version and exit.")

GLOBAL_OPTIONS = (STATE, CONFIG, QUIET, VERBOSE, VERSION)
"""All of them, in the order of the help."""

WITH_VALUE = frozenset(spelling for option in GLOBAL_OPTIONS if option.metavar for spelling in option.spellings)
"""The spellings of those that take a value."""

_WITHOUT_VALUE = frozenset(spelling for option in GLOBAL_OPTIONS for spelling in option.spellings) - WITH_VALUE


def count_leading(words: Sequence[str]) -> int:
    """Return the number of words at the start of *words* that are global options and their values."""
    count = 0
    while count < len(words):
        word = words[count]
        if word in WITH_VALUE:
            count += 2
        elif word.partition("=")[0] in WITH_VALUE or word in _WITHOUT_VALUE:
            count += 1
        else:
            break
    return min(count, len(words))
