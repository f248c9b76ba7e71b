"""One command line as the source of jobs, for each of some items if there are any."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairq.common.arguments import quoted
from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile.description import Statement
from fairq.formats.submitfile.items import Item
from fairq.formats.submitfile.library import new_submit
from fairq.formats.submitfile.lines import QueueLine
from fairq.formats.submitfile.queue_statement import QueueStatement

_ITEM = "Item"
_REPLACED = (_ITEM, "Process", "Cluster")
"""The macros in the words of a program."""

_BRACES = "{}"
_MACRO = re.compile(rf"\$\(({'|'.join(_REPLACED)})\)")

_FILES = ("input", "output", "error", "log", "initialdir")
"""Commands with the name of a file: a macro in it that nobody has defined stays as it is."""

_OF_LIBRARY = ("ProcId", "ClusterId", "Step", "Row", "ItemIndex", "JobId", "DOLLAR")
"""Macros of every job besides those in words."""

_DOLLAR = "$(DOLLAR)"


class Program:
    """One command line to queue *count* times, for each of the *items* if there are any.

    *words* are the program and its arguments. In the arguments, ``$(Item)``, ``$(Process)`` and ``$(Cluster)`` are
    replaced, and with *items* also ``{}``; *verbatim* ones and names of files stay as they are. *commands* are submit
    commands; their values may hold macros, among them *macros*. The values of *literals* hold none.
    """

    warnings: Sequence[str] = ()
    source = "the command line"

    def __init__(
        self,
        words: Sequence[str],
        commands: Mapping[str, str],
        count: int = 1,
        macros: Mapping[str, str] | None = None,
        *,
        items: Sequence[str] | None = None,
        literals: Mapping[str, str] | None = None,
        verbatim: bool = False,
    ) -> None:
        """Take the program's *words*; the first one is the executable."""
        self._words = list(words)
        self._commands = dict(commands)
        self._count = count
        self._macros = dict(macros or {})
        self._items = items
        self._literals = {**(literals or {}), "executable": self._words[0]}
        self._verbatim = verbatim
        if items is not None and not verbatim and not self._names_item():
            self.warnings = ("the jobs are alike: neither {} nor $(Item) is in the arguments or the names of files",)

    def statements(self) -> Iterator[Statement]:
        """Yield the one statement."""
        submit, _ = new_submit("")
        for name, value in self._macros.items():
            submit[name] = value
        literals = dict(self._literals)
        for name, value in self._commands.items():
            if name in _FILES and self._verbatim:
                literals[name] = value
                continue
            text = self._of_file(value) if name in _FILES else value
            try:
                submit[name] = text
            except UnicodeEncodeError:  # a file's name may be any bytes, but the library accepts UTF-8 only
                if "$" in value:
                    cure = "give macros in UTF-8 text only"
                    raise InvalidSubmitValueError(where=self.source, command=name, value=value, expected=cure) from None
                literals[name] = text
        arguments = self._words[1:]
        used = [] if self._verbatim else self._used(arguments)
        if used:
            # The rule of the arguments is to know what they depend on; their value is that of the words.
            submit["arguments"] = " ".join(f"$({name})" for name in used)
        elif arguments:
            literals["arguments"] = quoted(arguments)
        yield _OfProgram(submit, self.source, literals, arguments if used else (), self._count, self._items)

    def _names_item(self) -> bool:
        return _ITEM in self._used([*self._words[1:], *self._commands.values()])

    def _used(self, texts: Sequence[str]) -> list[str]:
        """Return the macros that are replaced in *texts*."""
        used = {name: True for text in texts for name in _MACRO.findall(text)}
        if self._items is not None and any(_BRACES in text for text in texts):
            used[_ITEM] = True
        return list(used)

    def _of_file(self, text: str) -> str:
        """Return the name of a file with macros only where there is one of this name."""
        if self._items is not None:
            text = text.replace(_BRACES, f"$({_ITEM})")
        known = "|".join(map(re.escape, (*_REPLACED, *_OF_LIBRARY, *self._macros, *self._commands)))
        return re.sub(rf"(?i)(?<!\$)\$\((?!(?:{known})[):])", lambda _: f"{_DOLLAR}(", text)


class _OfProgram(Statement):
    """The statement of a program: *words* are arguments with macros."""

    def __init__(
        self,
        submit: Any,
        source: str,
        literals: Mapping[str, str],
        words: Sequence[str],
        count: int,
        items: Sequence[str] | None,
    ) -> None:
        super().__init__(submit, lambda _: source, QueueLine(0, 0, "", str(count)), [], [], literals)
        self._words = words
        self._each = items
        self._values: dict[str, str] = {}
        if items is not None:
            self.queue = QueueStatement(str(count), (_ITEM,), "in")

    def items(self) -> list[Item] | None:
        """Return the items, each as one value."""
        return None if self._each is None else [(row, (item,)) for row, item in enumerate(self._each)]

    def set(self, name: str, value: str) -> None:
        """See `Statement`; the value of an item has no macros."""
        self._values[name] = value
        super().set(name, value.replace("$", _DOLLAR) if name == _ITEM else value)

    def expand(self, name: str) -> str | None:
        """See `Statement`."""
        if name == "arguments" and self._words:
            return quoted([self._replaced(word) for word in self._words])
        return super().expand(name)

    def _replaced(self, word: str) -> str:
        parts = word.split(_BRACES) if self._each is not None else [word]
        item = self._values.get(_ITEM, "")
        return item.join(_MACRO.sub(lambda found: self._values.get(found[1], found[0]), part) for part in parts)
