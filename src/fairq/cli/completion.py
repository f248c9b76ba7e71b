"""``fairq _complete KIND PREFIX``: the names a shell completes, by one indexed query; errors give none.

The completions in ``completions/`` call it with the command line's ``--state``. It is answered without the
parser, for it runs at every press of the tabulator key.
"""

from __future__ import annotations

from collections.abc import Sequence

KINDS = ("submitter", "group", "slot", "job")


def complete(words: Sequence[str]) -> None:
    """Print the names that *words* (KIND, PREFIX and perhaps ``--state FILE``) ask for, one per line."""
    try:
        names = _names(list(words))
    except Exception:  # a shell has no use for an error in the middle of a line
        return
    from fairq.cli.output.emit import write_text

    write_text("\n".join(names))


def _names(words: list[str]) -> list[str]:
    from fairq.cli.invocation import Invocation
    from fairq.state.connection import reading

    state = None
    if "--state" in words:
        at = words.index("--state")
        state = words[at + 1]
        del words[at : at + 2]
    kind, prefix = words[0], words[1] if len(words) > 1 else ""
    with reading(Invocation(state=state).state_path) as opened:
        if kind == "slot":
            from fairq.state import slots

            return slots.names_starting(opened, prefix)
        if kind == "job":
            from fairq.state import jobs

            return jobs.names_starting(opened, prefix)
        from fairq.state import submitters

        return submitters.names_starting(opened, prefix)
