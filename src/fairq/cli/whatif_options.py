"""The options that try a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from fairq.steps.simulate.alteration import Alteration

With = Annotated[str | None, Option("--with", metavar="FILE", help="Try FILE [settings or HTCondor configuration].")]
Set = Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE", help="Try a setting; repeatable.")]
Factor = Annotated[
    list[str] | None, Option("--factor", metavar="NAME=VALUE", help="Try a priority factor; repeatable.")
]
Ceiling = Annotated[
    list[str] | None, Option("--ceiling", metavar="NAME=N", help="Try a ceiling in slot weight [-1: none]; repeatable.")
]
Floor = Annotated[
    list[str] | None, Option("--floor", metavar="NAME=N", help="Try a floor in slot weight [0: none]; repeatable.")
]
Limit = Annotated[list[str] | None, Option("--limit", metavar="NAME=N", help="Try a concurrency limit; repeatable.")]
Without = Annotated[
    list[str] | None, Option("--without", metavar="SLOT", help="Leave out a slot or machine; repeatable.")
]


def alteration_of(
    other: str | None,
    sets: list[str] | None,
    factor: list[str] | None,
    slots: str | None,
    without: list[str] | None,
    ceiling: list[str] | None,
    floor: list[str] | None,
    limit: list[str] | None,
) -> Alteration:
    """Return the change that these options describe."""
    from fairq.steps.simulate.alteration import Alteration

    return Alteration(other, sets or (), factor or (), slots, without or (), ceiling or (), floor or (), limit or ())
