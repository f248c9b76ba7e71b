"""The macros that configuration files define, and their expansion."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.errors.base import HTCondorConfigError
from fairq.settings.keys import BY_MACRO
from fairq.settings.values import BadValueError, to_text

NAME = re.compile(r"[A-Za-z0-9_./]+")
LONGEST_VALUE = 1_000_000

_REFERENCE = re.compile(r"\$\$|\$(\w*)\(")

_DEFAULTS = {
    macro: to_text(key, default)
    for macro, key in BY_MACRO.items()
    if (default := key.default_under("htcondor")) is not None
} | {
    "DOLLAR": "$",
    "MINUTE": "60",
    "HOUR": "3600",
    "STATETIMER": "(time() - EnteredCurrentState)",
    "ACTIVITYTIMER": "(time() - EnteredCurrentActivity)",
}
"""The definitions of HTCondor itself to which negotiation policies refer."""


class Assignment(Struct):
    """One definition: the *name* as written, the unexpanded *value*, *where* as ``file:line``.

    *used*: a setting or another macro has used it.
    """

    name: str
    value: str
    where: str
    used: bool = False


class Expansion(Struct):
    """An expanded text; *blanks* are the references in it that could not be resolved (they became empty)."""

    text: str
    blanks: list[str] = field(default_factory=list)


class Macros:
    """The definitions in force; names ignore case.

    Args:
        environ: the environment, for ``$ENV(NAME)``.
        evaluate: returns the value of an expression that needs no ad; raises BadValueError.
    """

    def __init__(self, environ: Mapping[str, str], evaluate: Callable[[str], Any]) -> None:
        self.assigned: dict[str, Assignment] = {}
        self._environ = environ
        self._evaluate = evaluate
        self._expanded: dict[tuple[str, str], Expansion] = {}

    def find(self, name: str, prefix: str = "") -> Assignment | None:
        """Return the definition of *name*; one for the daemon *prefix* only (``NEGOTIATOR``) comes first."""
        own_assignment = self.assigned.get(f"{prefix}.{name}".upper()) if prefix else None
        return own_assignment or self.assigned.get(name.upper())

    def assign(self, name: str, value: str, where: str) -> Assignment | None:
        """Define *name*, with references to itself replaced at once; return the definition that it overrides.

        Raises HTCondorConfigError if the value gets longer than LONGEST_VALUE characters.
        """
        former = self.assigned.get(name.upper())
        text = self._with_former(name, value)
        if len(text) > LONGEST_VALUE:
            raise _too_long(where)
        self.assigned[name.upper()] = Assignment(name, text, where)
        self._expanded.clear()
        return former if text == value else None

    def value(self, assignment: Assignment, prefix: str = "") -> Expansion:
        """Return the expanded value of *assignment* for the daemon *prefix*, and mark it as used."""
        assignment.used = True
        return self.expand(assignment.value, assignment.where, prefix, (assignment.name.upper(),))

    def expand(self, text: str, where: str, prefix: str = "", within: tuple[str, ...] = ()) -> Expansion:
        """Return *text*, from the place *where*, with ``$(NAME)``, ``$(NAME:default)`` and ``$ENV`` replaced.

        *within* are the macros whose expansion is under way. Raises HTCondorConfigError if a macro refers to itself.
        """
        try:
            return self._expand(text, prefix, within)
        except RecursionError:
            raise HTCondorConfigError(where=where, problem="macros are nested too deeply here") from None
        except OverflowError:
            raise _too_long(where) from None

    def _expand(self, text: str, prefix: str, within: tuple[str, ...]) -> Expansion:
        parts: list[str] = []
        blanks: dict[str, None] = {}
        copied = length = 0
        for start, function, body, end in _references(text):
            parts.append(text[copied:start])
            copied = end
            expansion = self._resolve(function, body, prefix, within)
            if expansion is None:
                parts.append(text[start:end])
                continue
            parts.append(expansion.text)
            blanks |= dict.fromkeys(expansion.blanks)
            length += len(expansion.text)
            if length > LONGEST_VALUE:
                raise OverflowError
        return Expansion("".join([*parts, text[copied:]]), list(blanks))

    def _resolve(self, function: str, body: str, prefix: str, within: tuple[str, ...]) -> Expansion | None:
        """Return the value of one reference; None if *body* is not a valid name."""
        name, colon, default = body.partition(":")
        if function == "ENV":
            fallback = self._expand(default, prefix, within).text if colon else "UNDEFINED"
            return Expansion(self._environ.get(name.strip(), fallback))
        if function:
            text = self._computed(function, body, prefix, within)
            return Expansion("", [f"${function}(...)"]) if text is None else Expansion(text)
        if not NAME.fullmatch(name):
            return None
        value = self._value(name, prefix, within)
        if colon and (value is None or not value.text):
            return self._expand(default, prefix, within)
        return value if value is not None else Expansion("", [f"$({name})"])

    def _computed(self, function: str, body: str, prefix: str, within: tuple[str, ...]) -> str | None:
        """Return the value of a macro function; None if it is unknown or cannot be computed.

        A random function returns the smallest value or the first choice, so that each import gives the same settings.
        """
        words = [word.strip() for word in self._expand(body, prefix, within).text.split(",")]
        try:
            match function:
                case "INT" | "REAL":
                    expansion = self._value(words[0], prefix, within) if NAME.fullmatch(words[0]) else None
                    number = self._number(words[0] if expansion is None else expansion.text)
                    default_form = "%d" if function == "INT" else "%16G"
                    form = words[1].strip('"') if len(words) > 1 else default_form
                    return _formatted(form, int(number) if function == "INT" else float(number))
                case "RANDOM_INTEGER" if len(words) in (2, 3):
                    smallest, largest, _ = (int(self._number(word)) for word in [*words, "1"][:3])
                    return str(smallest) if smallest <= largest else None
                case "RANDOM_CHOICE":
                    return words[0]
        except (BadValueError, OverflowError, ValueError):
            pass
        return None

    def _number(self, text: str) -> float | int:
        value = self._evaluate(text)
        if not isinstance(value, int | float):
            raise BadValueError
        return value

    def _value(self, name: str, prefix: str, within: tuple[str, ...]) -> Expansion | None:
        assignment = self.find(name, prefix)
        if assignment is not None and prefix and assignment.name.upper() in within:  # NEGOTIATOR.X = $(X)
            assignment = self.find(name)
        if assignment is None:
            default = _DEFAULTS.get(name.upper())
            return None if default is None else Expansion(default)
        upper_name = assignment.name.upper()
        if upper_name in within:
            raise HTCondorConfigError(where=assignment.where, problem=f"{assignment.name} refers to itself")
        assignment.used = True
        if (upper_name, prefix) not in self._expanded:
            self._expanded[upper_name, prefix] = self._expand(assignment.value, prefix, (*within, upper_name))
        return self._expanded[upper_name, prefix]

    def _with_former(self, name: str, value: str) -> str:
        """Return *value* with references to *name* replaced by its former value, unexpanded."""
        former = self.assigned.get(name.upper())
        text = former.value if former else _DEFAULTS.get(name.upper(), "")
        parts: list[str] = []
        copied = length = 0
        for start, function, body, end in _references(value):
            referred, _, default = body.partition(":")
            is_self = not function and referred.upper() == name.upper()
            parts += [value[copied:start], (text or default) if is_self else value[start:end]]
            copied = end
            length += len(parts[-1])
            if length > LONGEST_VALUE:
                break  # the caller refuses it
        return "".join([*parts, value[copied:]])


def _formatted(form: str, number: float) -> str:
    """Return *number* in C's *form*; raises BadValueError for a form that does not fit the number."""
    kind = "diouxX" if isinstance(number, int) else "eEfFgG"
    if not re.fullmatch(rf"%[-+ 0#]*\d{{0,3}}(?:\.\d{{0,3}})?l{{0,2}}[{kind}]", form):
        raise BadValueError
    return (form.replace("l", "") % number).strip()


def _too_long(where: str) -> HTCondorConfigError:
    problem = f"macros expand to more than {LONGEST_VALUE} characters here; do they double each other?"
    return HTCondorConfigError(where=where, problem=problem)


class _Reference(NamedTuple):
    """A reference in a text: its *start* and *end*, ``ENV`` or another *function*, and the *body* in brackets."""

    start: int
    function: str
    body: str
    end: int


def _references(text: str) -> Iterator[_Reference]:
    """Yield each outermost reference; ``$$(...)`` is not a reference."""
    if "$" not in text:
        return
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer(r"[()]", text):
        if match.group() == "(":
            opened.append(match.start())
        elif opened:
            closing[opened.pop()] = match.start()
    end = 0
    for match in _REFERENCE.finditer(text):
        if match.start() < end or match.group() == "$$":
            continue
        body_end = closing.get(match.end() - 1)
        if body_end is None:
            return
        end = body_end + 1
        yield _Reference(match.start(), match.group(1), text[match.end() : body_end], end)
