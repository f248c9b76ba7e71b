"""One command line as the source of jobs, for each of some items if there are any."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairq.common.arguments import quoted
from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile.description import Statement
from fairq.formats.submitfile.library import new_submit
from fairq.formats.submitfile.lines import QueueLine
from fairq.formats.submitfile.queue import Item, QueueStatement

_ITEM = "Item"
_REPLACED_MACROS = (_ITEM, "Process", "Cluster")
"""The macros in the words of a program."""

_BRACES = "{}"
_MACRO = re.compile(rf"\$\(({'|'.join(_REPLACED_MACROS)})\)")

_FILES = ("input", "output", "error", "log", "initialdir")
"""Commands whose value is a file name; undefined macros in it are kept as text."""

_LIBRARY_MACROS = ("ProcId", "ClusterId", "Step", "Row", "ItemIndex", "JobId", "DOLLAR")
"""Macros of every job that are not replaced in words."""

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
        """Store the arguments; the first of *words* is the executable."""
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
            text = self._file_name(value) if name in _FILES else value
            try:
                submit[name] = text
            except UnicodeEncodeError:  # a file's name may be any bytes, but the library accepts UTF-8 only
                if "$" in value:
                    cure = "give macros in UTF-8 text only"
                    raise InvalidSubmitValueError(where=self.source, command=name, value=value, expected=cure) from None
                literals[name] = text
        arguments = self._words[1:]
        macros = [] if self._verbatim else self._used_macros(arguments)
        if macros:
            # This value only tells the rule which macros the arguments depend on; `expand` returns the value.
            submit["arguments"] = " ".join(f"$({name})" for name in macros)
        elif arguments:
            literals["arguments"] = quoted(arguments)
        yield _ProgramStatement(submit, self.source, literals, arguments if macros else (), self._count, self._items)

    def _names_item(self) -> bool:
        return _ITEM in self._used_macros([*self._words[1:], *self._commands.values()])

    def _used_macros(self, texts: Sequence[str]) -> list[str]:
        """Return the macros that are replaced in *texts*."""
        used = {name: True for text in texts for name in _MACRO.findall(text)}
        if self._items is not None and any(_BRACES in text for text in texts):
            used[_ITEM] = True
        return list(used)

    def _file_name(self, text: str) -> str:
        """Return the file name *text* with undefined macros escaped."""
        if self._items is not None:
            text = text.replace(_BRACES, f"$({_ITEM})")
        defined = "|".join(map(re.escape, (*_REPLACED_MACROS, *_LIBRARY_MACROS, *self._macros, *self._commands)))
        return re.sub(rf"(?i)(?<!\$)\$\((?!(?:{defined})[):])", lambda _: f"{_DOLLAR}(", text)


class _ProgramStatement(Statement):
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
        self._items = items
        self._values: dict[str, str] = {}
        if items is not None:
            self.queue = QueueStatement(str(count), (_ITEM,), "in")

    def items(self) -> list[Item] | None:
        """Return the items, each as one value."""
        return None if self._items is None else [(row, (item,)) for row, item in enumerate(self._items)]

    def set(self, name: str, value: str) -> None:
        """See `Statement`; the value of an item has no macros."""
        self._values[name] = value
        super().set(name, value.replace("$", _DOLLAR) if name == _ITEM else value)

    def expand(self, name: str) -> str | None:
        """See `Statement`."""
        if name == "arguments" and self._words:
            return quoted([self._replace_macros(word) for word in self._words])
        return super().expand(name)

    def _replace_macros(self, word: str) -> str:
        parts = word.split(_BRACES) if self._items is not None else [word]
        item = self._values.get(_ITEM, "")
        return item.join(_MACRO.sub(lambda macro: self._values.get(macro[1], macro[0]), part) for part in parts)
