"""docs/json.md says what ``--json`` prints: every member with its type, and no other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.json_sample import collect

from fairq.host.setup import rule

PAGE = Path(__file__).parents[1] / "docs" / "json.md"
ROW = re.compile(r"\| `(\w+)` \| ([^|]*) \|")
SCALARS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "true or false": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
    "any": lambda value: True,
}

Members = dict[str, str]


def sections():
    """The members by heading, and whether others may follow."""
    found: dict[str, tuple[Members, bool]] = {}
    for part in re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        text = text.split("\n## ")[0]
        members = {name: kind.strip() for name, kind in ROW.findall(text)}
        for other in re.findall(r"embers of \[([^\]]+)\]", text):
            members = found[other][0] | members
        found[heading] = members, "other attributes" in text
    return found


SECTIONS = sections()
SHAPES = {name.casefold(): name for name in SECTIONS}


class Reader:
    """Compares documents with the page and notes which members were seen."""

    def __init__(self):
        self.seen: set[tuple[str, str]] = set()

    def faults(self, shape, value, where):
        """Yield what *value* has otherwise than the table of *shape* says."""
        members, is_open = SECTIONS[shape]
        if not isinstance(value, dict):
            yield f"{where} is not an object"
            return
        for name, kind in members.items():
            if name in value:
                self.seen.add((shape, name))
                yield from self._typed(kind.removesuffix(", optional"), value[name], f"{where}.{name}")
            elif not kind.endswith("optional"):
                yield f"{where} has no {name}"
        if not is_open:
            yield from (f"{where}.{name} is not documented" for name in value.keys() - members.keys())

    def _typed(self, kind, value, where):
        for collection, items in (("list", enumerate), ("map", dict.items)):
            if kind.startswith(f"{collection} of "):
                if not isinstance(value, list if collection == "list" else dict):
                    yield f"{where} is no {collection}"
                    return
                for at, item in items(value):
                    yield from self._typed(kind.removeprefix(f"{collection} of "), item, f"{where}[{at}]")
                return
        link = re.match(r"\[([^\]]+)\]\(#([^)]+)\)( or null)?$", kind)
        if link:
            if value is not None or not link[3]:
                yield from self.faults(SHAPES[link[1].casefold()], value, where)
        elif not any(SCALARS[one](value) for one in _alternatives(kind)):
            yield f"{where} is {value!r}, not {kind}"


def _alternatives(kind):
    if kind.startswith("true or false"):
        return ["true or false", *kind.removeprefix("true or false").split(" or ")[1:]]
    return kind.split(" or ")


def of_cycle(heading):
    return "negotiate" if heading == "state cycle" else heading


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("json")


def test_what_is_printed_is_what_the_page_says(run, folder, monkeypatch):
    # A pool is planned with sudo wherever the tests run.
    monkeypatch.setattr(rule, "has_sudo", lambda: True)
    found = collect(run, folder)
    reader = Reader()
    faults = []
    for heading, documents in found.items():
        if of_cycle(heading) not in SECTIONS:
            faults.append(f"{heading} has no section")
            continue
        for document in documents:
            for one in document if isinstance(document, list) else [document]:
                faults += reader.faults(of_cycle(heading), one, heading)
    unseen = [
        f"{shape}: {name} is documented and never appears"
        for shape, (members, _) in SECTIONS.items()
        for name, kind in members.items()
        if (shape, name) not in reader.seen and "optional" not in kind and shape != "task queue"
    ]
    assert sorted({re.sub(r"\[[^\]]*\]", "[]", fault) for fault in faults}) + unseen == []


def test_every_link_of_the_page_leads_to_a_section():
    anchors = {re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in SECTIONS}
    links = set(re.findall(r"\]\(#([^)]+)\)", PAGE.read_text()))
    assert links <= anchors
