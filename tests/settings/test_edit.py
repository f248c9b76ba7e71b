"""A value is changed in place; what people wrote around it stays."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from fairq.settings.edit import set_value

TEXT = """\
# our pool
[accounting]   # who pays
  priority_halflife = 3600   # an hour, "for now"
uid_domain = "a#b" # ours

[groups."physics.hep"]
quota = 3
[groups]
chem = { quota = 3 }
[schedd]
significant_attributes = [
  "A",  # one
  "B",
]
# the end
"""

CASES: dict[str, tuple[tuple[str, ...], Any, str, str]] = {
    "a value keeps its key's place and comment": (
        ("accounting", "priority_halflife"), 7200,
        '  priority_halflife = 3600   # an hour, "for now"', '  priority_halflife = 7200   # an hour, "for now"'),
    "a comment sign in a text is no comment": (
        ("accounting", "uid_domain"), "c", 'uid_domain = "a#b" # ours', 'uid_domain = "c" # ours'),
    "a value of several lines becomes one": (
        ("schedd", "significant_attributes"), ["C", "D"],
        'significant_attributes = [\n  "A",  # one\n  "B",\n]', 'significant_attributes = ["C", "D"]'),
    "a new key goes to the end of its table": (
        ("accounting", "remote_prio_factor"), 2, '"a#b" # ours\n', '"a#b" # ours\nremote_prio_factor = 2\n'),
    "a group is found in any case": (
        ("groups", "Physics.HEP", "quota"), 4, "quota = 3\n[groups]", "quota = 4\n[groups]"),
    "a new table goes to the end": (
        ("groups", "physics", "quota"), 9, "# the end\n", "# the end\n\n[groups.physics]\nquota = 9\n"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "value", "before", "after"), CASES.values(), ids=CASES)
def test_the_rest_of_the_file_stays(path, value, before, after):
    """Exactly one place of the text changes."""
    assert set_value(TEXT, path, value) == (TEXT.replace(before, after), True)


def test_what_cannot_be_changed_in_place_is_written_anew():
    """Inside an inline table the document is rewritten, and that is said."""
    edited, keeps_comments = set_value(TEXT, ("groups", "chem", "quota"), 5)

    document = tomllib.loads(TEXT)
    document["groups"]["chem"]["quota"] = 5
    assert tomllib.loads(edited) == document
    assert not keeps_comments


def test_an_empty_file_is_begun():
    """The first setting makes its table."""
    assert set_value("", ("groups", "a.b", "quota"), 5) == ('[groups."a.b"]\nquota = 5\n', True)


AWKWARD = {
    "keys with dots instead of tables": "negotiator.rules = 'documented'\ngroups.a.quota = 3\n",
    "a group's child as a table in its table": "[groups.a]\nquota = 1\n[groups.a.b]\nquota = 2\n",
    "text that looks like keys": '[negotiator]\npreemption_requirements = """\nrules = 3 # no\n[x]"""\n',
    "no end of line at the end": "[negotiator]\nrules = 'documented'",
}


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize(("path", "value"), [(("negotiator", "rules"), "htcondor"), (("groups", "a.b", "quota"), 7)])
def test_nothing_but_the_value_changes(text, path, value):
    """However a document is written, it afterwards says the same and the new value."""
    from fairq.settings.collect import Collection

    def said(text):
        from pathlib import Path

        collection = Collection(lambda error: pytest.fail(str(error)))
        collection.add_document(tomllib.loads(text), Path("x"))
        return {key: entry.value for key, entry in collection.entries.items()}

    edited, _ = set_value(text, path, value)
    assert said(edited) == said(text) | {path: value}
