"""A command that also accepts the option style of a tool of HTCondor."""

from __future__ import annotations

from typing import Any, ClassVar

from fairq.cli.parser import Command
from fairq.cli.single_dash import Dialect


class DialectCommand(Command):
    """A command that also accepts the options of *dialect*."""

    dialect: ClassVar[Dialect]

    @property
    def single_dash(self) -> dict[str, list[str]]:
        """The single-dash words of the tool, by the option that they stand for."""
        return self.dialect.words

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite the single-dash options, then parse as usual."""
        return super().parse_args(ctx, self.rewritten(args))

    def rewritten(self, args: list[str]) -> list[str]:
        """Return *args* with fairq's own options."""
        return self.dialect.rewrite(args)
