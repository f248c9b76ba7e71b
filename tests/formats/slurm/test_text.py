"""Slurm's notations: resources, lists of hosts, durations and times."""

import pytest

from fairq.formats.slurm.text import MOST_HOSTS, Resources, duration, hosts, moment, resources


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu=4,mem=8000M,node=1,billing=9,gres/gpu=1", Resources(4, 8000, 1)),
        ("cpu=16,mem=62.50G", Resources(16, 64000, 0)),
        ("cpu=1,mem=1T,gres/gpu=3,gres/gpu:a100=2,gres/gpu:v100=1", Resources(1, 1024**2, 3)),
        ("cpu=1,gres/gpu:a100=2,gres/gpu:v100=1", Resources(1, 0, 3)),
        ("", Resources()),
        ("cpu=x,mem=", Resources()),
    ],
)
def test_resources(text, found):
    assert resources(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("n1", ["n1"]),
        ("n[1-3,07],g1", ["n1", "n2", "n3", "n07", "g1"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("", []),
    ],
)
def test_hosts(text, found):
    assert hosts(text) == found


@pytest.mark.parametrize("text", ["n[1-999999999]", "n[a-b]", "n[1-]", "[1]" * 100, f"n[1-{MOST_HOSTS}],m"])
def test_a_list_of_hosts_that_cannot_be_right_is_refused(text):
    with pytest.raises(ValueError):
        hosts(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("7-00:00:00", 604800),
        ("1-12", 129600),
        ("12:00:00", 43200),
        ("05:30", 330),
        ("UNLIMITED", None),
        ("", None),
    ],
)
def test_durations(text, found):
    assert duration(text) == found


def test_times():
    assert moment("1970-01-02T00:00:01") == 86401
    assert moment("Unknown") is None
    assert moment("N/A") is None
