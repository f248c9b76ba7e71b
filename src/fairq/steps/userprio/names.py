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
    matching = sorted(name for name in people(state) if answers_to(name, word))
    if len(matching) > 1:
        raise AmbiguousNameError(name=word, found=", ".join(matching))
    return matching[0] if matching else word


def people(state: State) -> set[str]:
    """Return all submitters that have a record or jobs."""
    names = {record.name for record in submitters.load_all(state) if not record.is_group}
    return names | {submitter for submitter, _ in jobs.owners(state)}


def similar_name(name: str, known_names: set[str]) -> str | None:
    """Return the name in *known_names* that *name* may have been meant for; None if none is similar.

    It is the same user in another domain or group, else a name of which *name* may be a misspelling.
    """
    user = name.rpartition("@")[0] or name
    same_user = (
        candidate
        for candidate in sorted(known_names)
        if answers_to(candidate, user) or answers_to(name, candidate.rpartition("@")[0])
    )
    if (similar := next(same_user, None)) is not None:
        return similar
    # A shared domain does not make names similar.
    people = {candidate.lower().partition("@")[0]: candidate for candidate in sorted(known_names, reverse=True)}
    close = nearest(name.partition("@")[0], people)
    return None if close is None else people[close]
