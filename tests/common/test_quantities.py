"""Sizes, durations, percentages and times are read in one way, and durations and times are shown as they are read."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.common.quantities import OutsideError, duration, moment, percentage, shown_duration, shown_time, size

NOW = 1_795_200_000  # 2026-11-20 18:40:00 UTC, 19:40 in Vienna
MIDNIGHT = 1_795_129_200


@pytest.fixture
def _vienna(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Vienna")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("512", 512), ("512M", 512), ("512MB", 512), ("512MiB", 512), ("2GB", 2048), ("2 gib", 2048), ("1.5T", 1572864),
        ("1K", 1), ("MB", None), ("2 XB", None), ("2iB", None), ("", None),
    ],
)  # fmt: skip
def test_sizes_are_powers_of_1024_rounded_up(text, mebibytes):
    assert size(text, 1024**2) == mebibytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90), ("90s", 90), ("15m", 900), ("12h", 43200), ("7d", 604800), ("2W", 1209600), ("1h30m", 5400),
        ("1.5h", 5400), ("1 h 30 m", 5400), ("1.5", None), ("h", None), ("-1h", None), ("7 days", 604800),
        ("2 hours", 7200), ("01:30:00", 5400), ("1-00:00:10", 86410),
        ("1:30", None), ("1:99:00", None), ("7 months", None),
        ("", None),
    ],
)  # fmt: skip
def test_durations(text, seconds):
    assert duration(text) == seconds


@given(st.integers(0, 10**10))
def test_a_duration_is_read_as_it_is_shown(seconds):
    assert duration(shown_duration(seconds)) == seconds


def test_percentages():
    assert [percentage(text) for text in ("50%", "12.5 %", "0.5", "%")] == [0.5, 0.125, None, None]


@pytest.mark.usefixtures("_vienna")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1795200000", NOW), ("1795200000.9", NOW), ("now", NOW), ("-1h", NOW - 3600), ("+30m", NOW + 1800),
        ("now+2hours", NOW + 7200), ("now 5", None),
        ("today", MIDNIGHT), ("yesterday", MIDNIGHT - 86400), ("Tomorrow", MIDNIGHT + 86400),
        ("10:30", MIDNIGHT + 37800), ("yesterday 10:30:05", MIDNIGHT - 86400 + 37805),
        ("2026-11-20T10:30", MIDNIGHT + 37800), ("2026-11-20 10:30", MIDNIGHT + 37800),
        ("2026-11-20T18:40Z", NOW), ("2026-11-20", MIDNIGHT),
        ("noon", None), ("25:00", None), ("2026-02-30", None), ("", None), ("-", None), ("-1x", None),
    ],
)  # fmt: skip
def test_times(text, seconds):
    assert moment(text, NOW) == seconds


@pytest.mark.usefixtures("_vienna")
def test_a_day_that_changes_the_clock_has_its_own_midnight():
    """On 25 October 2026 summer time ends: noon is 13 hours after midnight."""
    noon = moment("2026-10-25T12:00", 0)
    assert noon is not None
    assert moment("today", noon) == noon - 13 * 3600
    assert moment("12:00", noon) == noon
    assert shown_time(noon) == "2026-10-25 12:00:00"


@pytest.mark.parametrize("text", ["-5", "9999999999", "1969-06-01", "2300-01-01", "9" * 40])
def test_times_outside_1970_to_2200_are_refused(text):
    with pytest.raises(OutsideError):
        moment(text, NOW)
