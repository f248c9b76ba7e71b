"""``fairq _complete KIND PREFIX [BEFORE]``: names for shell completion, by indexed queries; errors give no names.

BEFORE is the previous argument: the setting whose value is completed.

The completions in ``completions/`` call it with the command line's ``--state``. It runs without the parser, because
every press of the Tab key calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fairq.cli.invocation import Invocation


def complete(words: Sequence[str]) -> None:
    """Print the names for *words* (KIND, PREFIX, BEFORE and optionally ``--state FILE``), one per line."""
    try:
        names = _names(list(words))
    except Exception:  # a shell has no use for an error in the middle of a line
        return
    from fairq.cli.output.renderer import write_text

    write_text("\n".join(names))


def _names(words: list[str]) -> list[str]:
    invocation = Invocation()
    if "--state" in words:
        index = words.index("--state")
        invocation.state = words[index + 1]
        del words[index : index + 2]
    kind, prefix = words[0], words[1] if len(words) > 1 else ""
    names: Iterable[str]
    if kind in ("setting", "table"):
        names = _settings(invocation, prefix, tables=kind == "table")
    elif kind == "value":
        names = _values(words[2])
    elif kind == "broker-setting":
        from fairq.steps.broker.config import setting_names

        names = setting_names()
    elif kind.endswith("-attribute"):
        names = _attributes(invocation, kind)
    elif kind == "group":
        names = (*invocation.settings.groups, *invocation.settings.share_groups)
    else:
        return _names_of_state(invocation, kind, prefix)
    return [name for name in dict.fromkeys(names) if name.startswith(prefix)]


def _settings(invocation: Invocation, prefix: str, *, tables: bool) -> Iterator[str]:
    """Yield the names of the settings; with *tables*, also those of tables."""
    from fairq.settings.keys import GROUP_KEYS, SECTIONS, SINGLE

    if tables:
        yield from SECTIONS
    yield from SINGLE
    if prefix and "." not in prefix:
        yield from (key.name for key in SINGLE.values())
    if prefix.startswith("groups."):
        for group in invocation.settings.groups:
            yield from [f"groups.{group}"] * tables
            yield from (f"groups.{group}.{name}" for name in GROUP_KEYS)


def _values(setting: str) -> Iterator[str]:
    """Yield the possible values of *setting* if they are few, else its default."""
    from fairq.settings.names import resolve
    from fairq.settings.values import to_text

    key, _ = resolve(setting, "")
    yield from key.choices
    if key.type == "boolean":
        yield from ("true", "false")
    if key.unset:
        yield key.unset
    if key.default is not None:
        yield to_text(key, key.default)


def _attributes(invocation: Invocation, kind: str) -> Iterator[str]:
    """Yield the attributes that a command shows, then those of stored ads."""
    if kind == "record-attribute":
        from fairq.cli.userprio_views import FIELDS as OF_RECORDS

        yield from OF_RECORDS
        return
    if kind == "job-attribute":
        from fairq.cli.queue import FIELDS as OF_JOBS

        yield from OF_JOBS
    from fairq.state import job_ads, slots
    from fairq.state.connection import reading
    from fairq.state.location import last_copy

    with reading(last_copy(invocation.state_path), wait=0.5) as state:
        yield from (job_ads if kind == "job-attribute" else slots).attribute_names(state)


def _names_of_state(invocation: Invocation, kind: str, prefix: str) -> list[str]:
    from fairq.state.connection import reading
    from fairq.state.location import last_copy

    with reading(last_copy(invocation.state_path), wait=0.5) as state:
        if kind in ("queue", "task"):
            from fairq.columns.broker.places import QUEUES
            from fairq.columns.broker.work import TASKS
            from fairq.state import broker_data

            return broker_data.starting(state, QUEUES if kind == "queue" else TASKS, prefix)
        from fairq.state import cycles, jobs, slots, submitters, undo

        if kind == "partition":
            return [name for name in slots.partitions(state) if name.startswith(prefix)]
        if kind == "cycle":
            return [name for cycle in cycles.summaries(state, 50) if (name := str(cycle.number)).startswith(prefix)]
        if kind in ("job", "subject") and prefix[:1].isalpha():
            names = jobs.owners_starting(state, prefix) + submitters.names_starting(state, prefix)
            if kind == "subject":
                names += [name for name in invocation.settings.groups if name.startswith(prefix)]
            return list(dict.fromkeys(names))
        readers = {
            "slot": slots.names_starting,
            "submitter": submitters.names_starting,
            "owner": jobs.owners_starting,
            "change": undo.numbers_starting,
        }
        return readers.get(kind, jobs.names_starting)(state, prefix)
