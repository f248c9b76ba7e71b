"""Where the value of a setting came from."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Origin(NamedTuple):
    """A default, the rules' default, a variable, or a place in a *file* (*path*: the keys to it)."""

    words: str = "default"
    file: Path | None = None
    path: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether somebody set the value, in a file or a variable."""
        return self.file is not None or self.words.startswith("$")

    def __str__(self) -> str:
        """Say it for people; a file with the line, which is looked up only now."""
        if self.file is None:
            return self.words
        from fairq.settings.statements import line_of

        line = line_of(self.file, self.path)
        return f"{self.file}:{line}" if line else str(self.file)


DEFAULT = Origin()
