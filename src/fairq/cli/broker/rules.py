"""The option that chooses the rules, for every brokerage command that makes a decision."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from fairq.errors.base import UsageError
from fairq.settings.key import PANDA


def _rules(text: str) -> str:
    if text not in PANDA.choices:
        raise UsageError(message=f"--rules {text!r} is not known; give {' or '.join(PANDA.choices)}")
    return text


RulesOption = Annotated[
    str | None,
    Option(
        "--rules",
        metavar="RULES",
        parser=_rules,
        help="Rules: documented or panda [default: broker.rules].",
    ),
]
"""``rules: RulesOption = None``."""
