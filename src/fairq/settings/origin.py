"""The origin of the value of a setting."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Origin(Struct, frozen=True):
    """A default, the rules' default, a variable, or a place in a *file* (*path*: the keys to it)."""

    words: str = "default"
    file: Path | None = None
    path: tuple[str, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the value was set in a file or a variable."""
        return self.file is not None or self.words.startswith("$")

    def __str__(self) -> str:
        """Describe the origin for people; the line in a file is looked up only now."""
        if self.file is None:
            return self.words
        from fairq.settings.statements import line_of

        line = line_of(self.file, self.path)
        return f"{self.file}:{line}" if line else str(self.file)


DEFAULT = Origin()
