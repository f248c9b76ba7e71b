"""DIRAC's configuration files: sections in braces, options, comments (DIRAC ``CFG.loadFromBuffer``)."""

from __future__ import annotations

import re

from msgspec import Struct, field

from fairq.errors.shares import DiracConfigError

_OPTION = re.compile(r"([^={}]*?)\s*(\+?=)\s*(.*)", re.DOTALL)
_BRACE = re.compile(r"[{}]")


class Option(Struct):
    """One option: its *value* as written, without the quotes around it, and its file and line, *where*."""

    value: str
    where: str

    def items(self) -> list[str]:
        """Return the value as a list, split at commas, without blank items."""
        return [item.strip() for item in self.value.split(",") if item.strip()]


class Section(Struct):
    """One section: its options and inner sections in file order, and the file and line *where* it begins."""

    where: str
    options: dict[str, Option] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)

    def merge(self, other: Section) -> None:
        """Merge *other* into this section; the options of *other* win."""
        self.options.update(other.options)
        for name, section in other.sections.items():
            self.sections.setdefault(name, Section(section.where)).merge(section)


def is_cfg(text: str) -> bool:
    """Return whether *text* is a DIRAC configuration: it has sections in braces, unlike HTCondor's."""
    previous = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        name, brace, _ = stripped.partition("{")
        if brace:
            section_name = name.strip() or previous
            return bool(section_name) and not re.search(r"[=:\[\]]", section_name)
        previous = stripped
    return False


def parse_cfg(text: str, file: str) -> Section:
    """Return the root section of the configuration *text* of *file*; repeated sections are merged.

    Raises DiracConfigError, which names file and line.
    """
    parser = _Parser(file)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip().startswith("#"):
            parser.read(line.strip(), f"{file}:{number}")
    return parser.finish()


class _Parser:
    """Reads line after line; a *pending* word must become the name of a section."""

    def __init__(self, file: str) -> None:
        self._root = Section(file)
        self._open = [self._root]
        self._pending, self._pending_where = "", file

    def read(self, text: str, where: str) -> None:
        """Read the line *text*, option by option and brace by brace."""
        while text:
            option = None if self._pending else _OPTION.fullmatch(text)
            if option is not None:
                text = self._option(option, where)
                continue
            brace = _BRACE.search(text)
            word = (text if brace is None else text[: brace.start()]).strip()
            if word:
                self._expect_nothing()
                self._pending, self._pending_where = word, where
            if brace is None:
                return
            text = text[brace.end() :].strip()
            if brace.group() == "{":
                self._begin(where)
            else:
                self._end(where)

    def finish(self) -> Section:
        """Return the root; all sections must be closed."""
        self._expect_nothing()
        if len(self._open) > 1:
            raise DiracConfigError(where=self._open[-1].where, problem="the } that closes this section is missing")
        return self._root

    def _begin(self, where: str) -> None:
        if not self._pending:
            raise DiracConfigError(where=where, problem="there is no section name before this {")
        inner = self._open[-1].sections.setdefault(self._pending, Section(self._pending_where))
        self._open.append(inner)
        self._pending = ""

    def _end(self, where: str) -> None:
        self._expect_nothing()
        if len(self._open) == 1:
            raise DiracConfigError(where=where, problem="this } closes no section")
        self._open.pop()

    def _option(self, option: re.Match[str], where: str) -> str:
        """Store an option in the innermost section; return the closing braces after it."""
        name, operator, value = option.groups()
        if not name.strip():
            raise DiracConfigError(where=where, problem="there is no option name before the =")
        value, closing = _value(value)
        options = self._open[-1].options
        former = options.get(name)
        if operator == "+=" and former is not None and former.value:
            value = f"{former.value}, {value}"
        options[name] = Option(value, where)
        return closing

    def _expect_nothing(self) -> None:
        if self._pending:
            problem = f"{self._pending[:60]!r} is neither an option, NAME = value, nor a section, which has a {{ next"
            raise DiracConfigError(where=self._pending_where, problem=problem)


def _value(text: str) -> tuple[str, str]:
    """Return the value at the start of *text*, and the closing braces after it on the same line."""
    closing = re.search(r"\s*[}\s]*\}$", text)
    braces = ""
    if closing is not None and text.count("{") < text.count("}"):
        text, braces = text[: closing.start()], closing.group().strip()
    quoted = re.fullmatch(r"""(["'])(.*)\1""", text, re.DOTALL)
    return (quoted.group(2) if quoted else text).strip(), braces
