"""How a test says which sentence of which text it holds fairq to.

Each text has a module ``tests/documents/test_NAME.py`` with a test for every normative sentence, in the order of the
text. A long text has several, ``test_NAME_1_CHAPTER.py`` and so on, with the same TEXT; they follow each other by name.

    TEXT = Text("DIRAC Priority schema", "LHCb TWiki, revision 3 of 2009-09-07")

    NOT_NORMATIVE = [
        NotNormative("Scenario, paragraph 1", "There are two kinds of users.", "describes who uses DIRAC"),
    ]

    @says("Priority implementation, paragraph 2, item 1", points=["shares.consolidation"])
    def test_a_sharing_group_divides_by_its_queues(run, state):
        '''Each of the N task queues of a group with job sharing gets 1/N of the group's priority.'''

The docstring is the claim in our own words; its first paragraph goes into ``docs/conformance.md``, which
``python -m tests.documents.conformance`` writes. A test without ``says`` is a further check of the sentence before it
(other numbers, a law) and does not appear there. Tests may stand in classes, and may be parametrised.

Where another text says the same, ``also={OTHER_TEXT: "its place there"}`` lets the one test count for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import cleandoc, isclass
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])

_MARK = "_fairq_says"


class Text(NamedTuple):
    """One of the texts: its title, and where it was published, with the version that is meant."""

    title: str
    source: str


class NotNormative(NamedTuple):
    """A sentence (or a run of them) that asks nothing of fairq: its place, what it says in our words, and why."""

    place: str
    paraphrase: str
    why: str


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text and the test that holds fairq to it.

    Attributes:
        places: where it stands; more than one if the text repeats it.
        claim: what it says, in our own words.
        test: the test's id below its file, as pytest prints it.
        points: full names of the rule points at which the real program does otherwise.
        note: how a contradiction with another sentence was settled; mostly empty.
        also: other texts that say the same, and where.
    """

    places: tuple[str, ...]
    claim: str
    test: str
    points: tuple[str, ...]
    note: str
    also: tuple[tuple[Text, str], ...] = ()

    def elsewhere(self) -> Iterator[tuple[Text, Sentence]]:
        """Yield the other texts that say the same, with the sentence as theirs."""
        for text, place in self.also:
            yield text, replace(self, places=(place,), also=())


def says(
    place: str, *more: str, points: Sequence[str] = (), note: str = "", also: Mapping[Text, str] | None = None
) -> Callable[[Test], Test]:
    """Mark a test as the one of the sentence at *place*, and at *more* places if the text repeats it.

    *points* are the full names of the settings (``shares.consolidation``) at which the real program does otherwise;
    *note* says how the sentence was read where another one contradicts it. *also* names other texts that say the same.
    """

    def mark(test: Test) -> Test:
        setattr(test, _MARK, ((place, *more), tuple(points), note, tuple((also or {}).items())))
        return test

    return mark


def sentences(module: ModuleType) -> Iterator[Sentence]:
    """Yield what the tests of *module* say, in their order."""
    for name, test in _tests(vars(module)):
        if (marked := getattr(test, _MARK, None)) is not None:
            places, points, note, also = marked
            claim = " ".join(cleandoc(test.__doc__ or "").partition("\n\n")[0].split())
            yield Sentence(places, claim, name, points, note, also)


def _tests(members: Any, inside: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, member in members.items():
        if isclass(member) and name.startswith("Test"):
            yield from _tests(vars(member), f"{inside}{name}::")
        elif callable(member) and name.startswith("test"):
            yield inside + name, member
