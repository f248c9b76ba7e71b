"""``fairq pool``: the pool that the commands work on."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.pool_check import add_check

app = App(help="Check the pool.", default="check")

add_check(app)
