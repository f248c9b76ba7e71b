"""The options that try a change."""

from __future__ import annotations

from typing import Annotated

from typer import Option

With = Annotated[str | None, Option("--with", metavar="FILE", help="Try FILE [settings or HTCondor configuration].")]
Set = Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE", help="Try a setting; repeatable.")]
Factor = Annotated[
    list[str] | None, Option("--factor", metavar="NAME=VALUE", help="Try a priority factor; repeatable.")
]
Without = Annotated[
    list[str] | None, Option("--without", metavar="SLOT", help="Leave out a slot or machine; repeatable.")
]
