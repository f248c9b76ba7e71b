"""The page of ``fairq page``: a template, its style and its script, put together into one file."""

from __future__ import annotations

import hashlib
import socket
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairq.cli.figures import counted, duration, known, local, moment, percent, short
from fairq.cli.output.text import escape
from fairq.cli.page_form.chart import Chart, chart
from fairq.common.quantities import shown_duration
from fairq.errors.report import PagePackageError
from fairq.steps.pool.pause import pause_words

if TYPE_CHECKING:
    from fairq.steps.reports.page import Machine, Page

_GB = 1024
_SHOWN_USERS = 6
"""Number of named users of a machine, those with most cores first."""


def html(page: Page, title: str | None, old_after: int) -> str:
    """Return the page as HTML; from an age of *old_after* seconds it says that it is old.

    Raises PagePackageError without Jinja2.
    """
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise PagePackageError from error
    directory = files(__name__)
    style, script = ((directory / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_visible
    )
    environment.filters |= {
        "weight": known,
        "percent": lambda value: "" if value is None else percent(value),
        "moment": lambda value: "" if value is None else moment(value),
        "duration": lambda value: "" if value is None else duration.brief(value),
        "gigabytes": lambda value: "" if value is None else f"{value / _GB:.4g}",
        "short": lambda value: "" if value is None else short(value),
        "hours": lambda value: f"{value / 3600:.1f}",
    }
    environment.globals |= {"counted": counted}
    template = environment.from_string((directory / "page.html").read_text(encoding="utf-8"))
    return template.render(
        page=page,
        pool=page.status,
        title=title or socket.gethostname(),
        when=f"{local(page.status.now).astimezone():%Y-%m-%d %H:%M %Z}",
        old_after=old_after,
        old=shown_duration(old_after),
        paused="" if page.status.pause is None else pause_words(page.status.pause),
        charts=_charts(page),
        users_of=_users,
        style=style,
        script=script,
        hashes={"style": _digest(style), "script": _digest(script)},
    )


def _visible(value: Any) -> Any:
    """Return texts with control and invisible characters as escapes, as on a terminal."""
    return escape(value) if type(value) is str else value


def _digest(text: str) -> str:
    """Return the hash by which the policy of the page permits an inline *text*."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _charts(page: Page) -> Sequence[Chart]:
    return (
        chart("hours", "Use of the last 24 hours", page.hours, "%H:%M"),
        chart("days", "Use of the last 30 days", page.days, "%m-%d"),
    )


def _users(machine: Machine) -> str:
    """Return the users of a machine and the cores that each uses."""
    largest = sorted(machine.users.items(), key=lambda share: (-share[1], share[0]))[:_SHOWN_USERS]
    named = ", ".join(f"{name or 'unknown'} {short(cpus)}" for name, cpus in largest)
    unnamed = len(machine.users) - len(largest)
    return f"{named} and {unnamed} more" if unnamed else named
