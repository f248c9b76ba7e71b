"""The definition of one setting: its type, range, defaults and HTCondor macro."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from msgspec import Struct

Type = Literal["integer", "real", "boolean", "string", "expression", "list", "choice", "option"]

DOCUMENTED = "documented"
"""The rules that follow the documentation of a scheme; every scheme has them."""

_LARGEST_WRITTEN_OUT = 1e15


class Scheme(Struct, frozen=True):
    """A system whose documentation and program differ at some points.

    The setting *rules* chooses between them; *real* is the value for the program.
    """

    rules: str
    real: str

    @property
    def choices(self) -> tuple[str, str]:
        """The values of the rules setting."""
        return (DOCUMENTED, self.real)


HTCONDOR = Scheme("negotiator.rules", "htcondor")
DIRAC = Scheme("shares.rules", "dirac")
PANDA = Scheme("broker.rules", "panda")

SCHEMES: dict[str, Scheme] = {"shares": DIRAC, "broker": PANDA}
"""The scheme of each section of the settings; those not named here are HTCondor's."""


class Difference(NamedTuple):
    """A difference between a text and a program, as shown in `docs/differences.md` and the manual.

    Args:
        text: what the text says, in our own words.
        source: the text and the place in it, for example "HTCondor 8 manual, Group Accounting".
        program: what the program does instead, in our own words.
        function: the place in the program, for example "matchmaker_negotiate.cpp, getGroupInfoFromUserId".
    """

    text: str
    source: str
    program: str
    function: str


class Key(Struct, frozen=True):
    """One setting, for the manual, the checks and the commands.

    Args:
        section: the table of the TOML file; ``groups`` and ``limits`` hold names of their own.
        name: the macro's name in lower case, or fairq's own; ``slurm.account`` is a key of the section's table slurm.
        type: the kind of value; ``list`` is a list of strings, ``expression`` a ClassAd expression, ``option``
            any single value, which its reader checks.
        default: the value if nothing is set, under the rules ``documented``; None is *unset*.
        help: one line for people.
        unit: the unit of a number; empty if it has none.
        minimum, maximum: the range of a number, both ends included; None is unbounded.
        choices: the values of a choice.
        macros: HTCondor's names for it, the current one first; empty for fairq's own settings.
        real: the default under the rules of the real program; only a *point* has one.
        point: whether the rules decide the default, because the scheme's texts and its program differ.
        unset: the word that means None for a value which cannot be the empty text.
        optional: whether the empty text unsets it although it has a default.
        spaces: whether a string may hold white space.
        holds: what a list holds.
        without_effect: why the setting changes nothing in this version; empty if it does.
        difference: for a point, the statements of text and program; None for any other setting.
        since: the version of the program that introduced a point; older versions did as documented.
    """

    section: str
    name: str
    type: Type
    default: Any
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    real: Any = None
    point: bool = False
    unset: str = ""
    optional: bool = False
    spaces: bool = False
    holds: str = "names"
    without_effect: str = ""
    difference: Difference | None = None
    since: tuple[int, ...] = ()

    @property
    def full_name(self) -> str:
        """Section and name, for example ``negotiator.rules``."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"FAIRQ_{self.full_name}".replace(".", "_").upper()

    @property
    def path(self) -> tuple[str, ...]:
        """The keys that lead to a single setting in a TOML document; a dot in its name stands for a table."""
        return tuple(self.full_name.split("."))

    @property
    def is_pattern(self) -> bool:
        """Whether it describes the entries of a table with free names, not a single setting."""
        return self.section in ("groups", "limits") or "." in self.section

    def default_under(self, rules: str, version: tuple[int, ...] | None = None) -> Any:
        """Return the default under *rules*, those of the real program in that *version* (None: the newest)."""
        is_new = version is None or version >= self.since
        return self.real if self.point and rules != DOCUMENTED and is_new else self.default

    @property
    def scheme(self) -> Scheme:
        """The system that the setting belongs to."""
        return SCHEMES.get(self.section.partition(".")[0], HTCONDOR)

    @property
    def range(self) -> str:
        """The range of a number in words; empty if there is none."""
        if self.minimum is not None and self.maximum is not None:
            return f"{figure(self.minimum)} to {figure(self.maximum)}"
        if self.minimum is not None:
            return f"at least {figure(self.minimum)}"
        return f"at most {figure(self.maximum)}" if self.maximum is not None else ""

    @property
    def is_fraction(self) -> bool:
        """Whether it is a fraction from 0 to 1, which may be written as a percentage."""
        return self.type == "real" and not self.unit and self.minimum == 0 and self.maximum == 1

    @property
    def expected(self) -> str:
        """The valid values, in words, for messages and the manual."""
        nouns = {
            "integer": "a whole number",
            "real": "a number",
            "boolean": "true or false",
            "string": "a text" if self.spaces else "a text without white space",
            "expression": "a ClassAd expression",
            "list": f"a list of {self.holds}",
            "option": "a number, a text or a list of texts",
            "choice": _any_of([f'"{choice}"' for choice in self.choices]),
        }
        if self.type in ("integer", "real"):
            amounts = {"seconds": " of seconds or a duration such as 12h", "MiB": " of MiB or a size such as 2GB"}
            nouns[self.type] += amounts.get(self.unit, " or a percentage" if self.is_fraction else "")
        words = ", ".join(part for part in (nouns[self.type], self.range) if part)
        return f'{words}, or "{self.unset}"' if self.unset else words


def figure(value: float) -> str:
    """Return a number as people write it: 86400, 0.00001, 2147483647; from 1e15 on, with an exponent."""
    if abs(value) >= _LARGEST_WRITTEN_OUT:
        return f"{value:g}"
    return f"{value:.10f}".rstrip("0").rstrip(".")


def _any_of(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def macro(section: str, name: str, kind: Type, default: Any, text: str, **details: Any) -> Key:
    """Return the key of the HTCondor macro of the same name, or of the *macros* in *details*."""
    details.setdefault("macros", (name.upper(),))
    return Key(section, name, kind, default, text, **details)


def rule_point(
    section: str,
    name: str,
    kind: Type,
    documented: Any,
    program: Any,
    text: str,
    difference: Difference,
    **details: Any,
) -> Key:
    """Return the key of a rule point: *documented* is its value under the rules of the texts, *program* otherwise.

    The name is that of the field of the engine's rules. A choice without *choices* has those two values. *text*
    describes in one line what the setting decides; *difference* explains the two answers.
    """
    if kind == "choice":
        details.setdefault("choices", (documented, program))
    return Key(section, name, kind, documented, text, real=program, point=True, difference=difference, **details)
