"""``fairq _complete KIND PREFIX``: the names a shell completes, by one indexed query; errors give none.

The completions in ``completions/`` call it with the command line's ``--state``. It is answered without the
parser, for it runs at every press of the tabulator key.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairq.cli.invocation import Invocation


def complete(words: Sequence[str]) -> None:
    """Print the names that *words* (KIND, PREFIX and perhaps ``--state FILE``) ask for, one per line."""
    try:
        names = _names(list(words))
    except Exception:  # a shell has no use for an error in the middle of a line
        return
    from fairq.cli.output.emit import write_text

    write_text("\n".join(names))


def _names(words: list[str]) -> list[str]:
    invocation = Invocation()
    if "--state" in words:
        at = words.index("--state")
        invocation.state = words[at + 1]
        del words[at : at + 2]
    kind, prefix = words[0], words[1] if len(words) > 1 else ""
    if kind == "setting":
        from fairq.settings.keys import SINGLE

        return [name for name in SINGLE if name.startswith(prefix)]
    if kind == "group":
        known = dict.fromkeys((*invocation.settings.groups, *invocation.settings.share_groups))
        return [name for name in known if name.startswith(prefix)]
    return _names_of_state(invocation, kind, prefix)


def _names_of_state(invocation: Invocation, kind: str, prefix: str) -> list[str]:
    from fairq.state.connection import reading

    with reading(invocation.state_path, wait=0.5) as state:
        if kind in ("queue", "task"):
            from fairq.brokerdata.places import QUEUES
            from fairq.brokerdata.work import TASKS
            from fairq.state import broker_data

            return broker_data.starting(state, QUEUES if kind == "queue" else TASKS, prefix)
        if kind == "slot":
            from fairq.state import slots

            return slots.names_starting(state, prefix)
        if kind == "submitter":
            from fairq.state import submitters

            return submitters.names_starting(state, prefix)
        from fairq.state import jobs

        return (jobs.owners_starting if kind == "owner" else jobs.names_starting)(state, prefix)
