"""``fairq _complete KIND PREFIX``: the names a shell completes, by one indexed query; errors give none."""

from __future__ import annotations

from typing import Annotated

import typer

from fairq.cli.command import App
from fairq.cli.invocation import Invocation

app = App()


@app.command()
def complete(
    invocation: Invocation,
    kind: Annotated[str, typer.Argument(metavar="KIND")],
    prefix: Annotated[str, typer.Argument(metavar="PREFIX")] = "",
) -> None:
    """Print the names of KIND that begin with PREFIX, one per line."""
