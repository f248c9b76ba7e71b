"""Rules that came with a version of HTCondor."""

import pytest

from fairq.common.versions import newest, version_of
from fairq.settings.model import load

OLD = '[negotiator]\nrules = "htcondor"\ncondor_version = "23.9.6"\n'


def given(folder, text=""):
    file = folder / "given.toml"
    file.write_text(text)
    return load(file, None, {})


def test_a_rule_of_a_later_version_does_not_hold_for_an_older_one(tmp_path):
    """count_preempted came with 25.10; whoever sets it gets it."""
    assert given(tmp_path, OLD)["accounting.count_preempted"] is False
    assert given(tmp_path, OLD.replace("23.9.6", "25.10.1"))["accounting.count_preempted"] is True
    assert given(tmp_path, OLD + "[accounting]\ncount_preempted = true\n")["accounting.count_preempted"] is True
    assert given(tmp_path)["accounting.count_preempted"] is False


def test_a_single_point_can_be_looked_at_alone(tmp_path):
    """It keeps its value where the version of the pool is found out later."""
    alone = given(tmp_path).under("htcondor", only={"accounting.count_preempted"})
    assert alone.at_version(None)["accounting.count_preempted"] is True


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("23.9.6", (23, 9, 6)),
        ("$CondorVersion: 25.10.1 2026-04-06 BuildID: 1 $", (25, 10, 1)),
        ("8.9", (8, 9)),
        ("unknown", None),
        (None, None),
    ],
)
def test_the_version_in_a_text(text, version):
    assert version_of(text) == version


def test_the_newest_of_several_counts():
    """10 is more than 9."""
    assert newest("25.9.0", None, "25.10.1", "") == (25, 10, 1)
    assert newest("", None) is None
