"""The accounting group of a job, its priority among its owner's jobs, and the attributes that are taken literally.

Source: the manual of ``condor_submit``; ``SetAccountingGroup``, ``SetConcurrencyLimits``,
``SetForcedAttributes``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from fairq.common.cron import next_time, numbers
from fairq.common.quantities import OutsideError, upcoming
from fairq.common.records import JOB_COLUMNS, PROC_PLACEHOLDER, Ad, JobStatus
from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile.commands import SIMPLE, Kind, Simple
from fairq.formats.submitfile.rules import Commands, Rule, rule

_NICE_GROUP = "nice-user"
_NOTIFICATIONS = ("never", "always", "complete", "error", "start")
_HELD_AT_SUBMISSION = 15
_NAME = re.compile(r"[A-Za-z_]\w*")
_LARGEST_PRIORITY = 2**31 - 1


def accounting(commands: Commands) -> Ad:
    """Return the accounting group and user; ``nice_user`` is the group ``nice-user``."""
    group, user = commands.text("accounting_group"), commands.text("accounting_group_user")
    ad: Ad = {}
    if commands.boolean("nice_user"):
        ad["MaxJobRetirementTime"] = 0
        if group is not None and group != _NICE_GROUP:
            commands.warn("nice_user conflicts with accounting_group. nice_user will be ignored")
        group = group or _NICE_GROUP
    for command, text in (("accounting_group", group), ("accounting_group_user", user)):
        if text is not None and any(character.isspace() for character in text):
            raise commands.wrong(command, text, "spaces are not allowed")
    if group is None and user is None:
        return ad
    user = user or commands.context.owner
    ad["AcctGroupUser"] = user
    if group is None:
        return {**ad, "AccountingGroup": user}
    return {**ad, "AcctGroup": group, "AccountingGroup": f"{group}.{user}"}


def concurrency_limits(commands: Commands) -> Ad:
    """Return the job's concurrency limits: in lower case and sorted, or an expression."""
    names, expression = commands.text("concurrency_limits"), commands.text("concurrency_limits_expr")
    if names is None:
        if expression is None:
            return {}
        return {"ConcurrencyLimits": commands.expression("concurrency_limits_expr", expression)}
    if expression is not None:
        raise commands.wrong("concurrency_limits", names, "give either concurrency_limits or concurrency_limits_expr")
    limits = sorted(names.lower().replace(",", " ").split())
    for limit in limits:
        name = limit.partition(":")[0].replace(PROC_PLACEHOLDER.lower(), "0")
        if not all(_NAME.fullmatch(part) for part in name.split(".", 1)):
            raise commands.wrong("concurrency_limits", limit, "give names, for example SW_LICENSE or SW_LICENSE:2")
    return {"ConcurrencyLimits": ",".join(limits)}


def standing(commands: Commands) -> Ad:
    """Return the job's priority among its submitter's jobs, and whether it begins held."""
    priority = commands.integer("priority")
    if priority is not None and abs(priority) > _LARGEST_PRIORITY:
        raise commands.wrong("priority", str(priority), "give a whole number from -2147483648 to 2147483647")
    ad: Ad = {"JobPrio": priority or 0}
    if commands.boolean("hold"):
        reason = "submitted on hold at user's request"
        ad |= {"JobStatus": int(JobStatus.HELD), "HoldReasonCode": _HELD_AT_SUBMISSION, "HoldReason": reason}
    return ad


def begin(commands: Commands) -> Ad:
    """Return the time before which the job does not start."""
    text = commands.text("begin")
    if text is None:
        return {}
    try:
        seconds = upcoming(text, commands.context.now)
    except OutsideError:
        seconds = None
    if seconds is None:
        raise commands.wrong("begin", text, "give a time such as 20:00, +1h, or 2026-12-24 08:00")
    return {"BeginTime": seconds}


_CRON = {
    "cron_minute": "CronMinute",
    "cron_hour": "CronHour",
    "cron_day_of_month": "CronDayOfMonth",
    "cron_month": "CronMonth",
    "cron_day_of_week": "CronDayOfWeek",
}


def cron(commands: Commands) -> Ad:
    """Return the schedule of a job that starts at times of cron."""
    fields = {name: text for command, name in _CRON.items() if (text := commands.text(command)) is not None}
    for command, name in _CRON.items():
        if name in fields:
            try:
                numbers(name, fields[name])
            except ValueError as error:
                raise commands.wrong(command, fields[name], str(error)) from None
    if fields and next_time(fields, commands.context.now) is None:
        command = next(command for command, name in _CRON.items() if name in fields)
        raise commands.wrong(command, fields[_CRON[command]], "there is no such day")
    return dict(fields)


def notification(commands: Commands) -> Ad:
    """Return the events for which the owner gets a mail."""
    text = commands.text("notification")
    if text is None:
        return {"JobNotification": 0}
    if text.lower() not in _NOTIFICATIONS:
        raise commands.wrong("notification", text, "give never, always, complete, error or start")
    return {"JobNotification": _NOTIFICATIONS.index(text.lower())}


def _simple(simple: Simple) -> Rule:
    read = _READERS[simple.kind]

    def build(commands: Commands) -> Ad:
        text = commands.text(simple.command)
        value = simple.default if text is None else read(commands, simple.command, text)
        return {} if value is None else {simple.attribute: value}

    return rule(build, simple.command, *(["initialdir"] if simple.kind == "path" else []))


def _list(commands: Commands, command: str, text: str) -> str:
    return ",".join(part for part in re.split(r"\s*,\s*", text.strip()) if part)


def _bare(commands: Commands, command: str, text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


_READERS: dict[Kind, Callable[[Commands, str, str], Any]] = {
    "text": lambda commands, command, text: text,
    "bare": _bare,
    "list": _list,
    "path": lambda commands, command, text: commands.path(text, commands.directory()),
    "expression": lambda commands, command, text: commands.expression(command, text),
    "boolean": lambda commands, command, text: commands.boolean(command),
    "integer": lambda commands, command, text: commands.integer(command),
}


def forced(commands: Commands) -> Iterator[Rule]:
    """Yield a rule for every ``+Attribute`` (or ``MY.Attribute``): its value goes into the ad unchanged."""
    for lower, name in commands.named():
        if not lower.startswith("my.") or (attribute := name[len("my.") :]).lower() == "jobprio":
            continue
        is_set_here = attribute.lower() in JOB_COLUMNS
        if is_set_here and (commands.raw_text(lower) or "undefined").lower() == "undefined":
            continue  # undefined: fairq sets the value
        if is_set_here or not _NAME.fullmatch(attribute):
            raise InvalidSubmitValueError(
                where=commands.wrong(lower, "", "").fields["where"],
                command=f"+{attribute}",
                value=commands.raw_text(lower) or "",
                expected="fairq sets this attribute itself" if is_set_here else "this is not an attribute name",
            )

        def build(commands: Commands, lower: str = lower, attribute: str = attribute) -> Ad:
            return {attribute: commands.expression(lower, commands.raw_text(lower) or "undefined")}

        yield Rule(frozenset({lower}), build)


_GPU = ("require_gpus", "gpus_")

RULES: tuple[Rule, ...] = (
    *(_simple(simple) for simple in SIMPLE if not simple.command.startswith(_GPU)),
    rule(accounting, "accounting_group", "accounting_group_user", "nice_user"),
    rule(concurrency_limits, "concurrency_limits", "concurrency_limits_expr"),
    rule(standing, "priority", "hold"),
    rule(begin, "begin"),
    rule(cron, *_CRON),
    rule(notification, "notification"),
)
