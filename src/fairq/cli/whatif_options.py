"""The options that try a change."""

from __future__ import annotations

from typing import Annotated

import typer

With = Annotated[
    str | None, typer.Option("--with", metavar="FILE", help="Try FILE [settings or HTCondor configuration].")
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Try a setting; repeatable.")]
Factor = Annotated[
    list[str] | None, typer.Option("--factor", metavar="NAME=VALUE", help="Try a priority factor; repeatable.")
]
Without = Annotated[
    list[str] | None, typer.Option("--without", metavar="SLOT", help="Leave out a slot or machine; repeatable.")
]
