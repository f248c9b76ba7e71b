"""Find the accounting record that a name means, and known names similar to it."""

from __future__ import annotations

from fairq.engine.accounting.identity import answers_to
from fairq.errors.nearest import nearest
from fairq.errors.people import AmbiguousNameError
from fairq.state import jobs, submitters
from fairq.state.connection import State


def full_name(state: State, word: str) -> str:
    """Return the submitter that *word* names: ``bob`` is ``bob@host`` or ``physics.bob@host`` if only one exists.

    A word with its own record (e.g. a group's name) and a word that fits no submitter are returned unchanged.

    Raises AmbiguousNameError if it fits several submitters.
    """
    if "@" in word or submitters.load(state, word) is not None:
        return word
    found = sorted(name for name in people(state) if answers_to(name, word))
    if len(found) > 1:
        raise AmbiguousNameError(name=word, found=", ".join(found))
    return found[0] if found else word


def people(state: State) -> set[str]:
    """Return all submitters that have a record or jobs."""
    names = {record.name for record in submitters.load_all(state) if not record.is_group}
    return names | {submitter for submitter, _ in jobs.owners(state)}


def like(name: str, known: set[str]) -> str | None:
    """Return the *known* name that may have been meant by *name*; None if none is similar.

    It is the same user in another domain or group, else one for whose name *name* may be a typing error.
    """
    user = name.rpartition("@")[0] or name
    same = (one for one in sorted(known) if answers_to(one, user) or answers_to(name, one.rpartition("@")[0]))
    if (found := next(same, None)) is not None:
        return found
    # A shared domain does not make names similar.
    people = {one.lower().partition("@")[0]: one for one in sorted(known, reverse=True)}
    close = nearest(name.partition("@")[0], people)
    return None if close is None else people[close]
