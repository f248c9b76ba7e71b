"""The times of a cron schedule."""

import time
from datetime import datetime

import pytest

from fairq.common.cron import next_time, numbers


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def seconds(text):
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp())


@pytest.mark.parametrize(
    ("fields", "after", "then"),
    [
        ({"CronMinute": "*"}, "2026-03-01 10:00:30", "2026-03-01 10:01"),
        ({"CronMinute": "0"}, "2026-03-01 09:30", "2026-03-01 10:00"),
        ({"CronMinute": "0"}, "2026-03-01 10:00", "2026-03-01 11:00"),
        ({"CronMinute": "*/20", "CronHour": "8-10/2"}, "2026-03-01 08:40", "2026-03-01 10:00"),
        ({"CronMinute": "30", "CronHour": "22"}, "2026-12-31 23:00", "2027-01-01 22:30"),
        ({"CronMinute": "0", "CronHour": "0", "CronDayOfMonth": "29", "CronMonth": "2"}, "2026-03-01", "2028-02-29"),
        # 2026-03-01 is a Sunday; with both days, either counts.
        ({"CronMinute": "0", "CronHour": "6", "CronDayOfWeek": "1"}, "2026-03-01 10:00", "2026-03-02 06:00"),
        ({"CronMinute": "0", "CronHour": "6", "CronDayOfWeek": "7"}, "2026-03-01 10:00", "2026-03-08 06:00"),
        (
            {"CronMinute": "0", "CronHour": "6", "CronDayOfWeek": "0", "CronDayOfMonth": "3"},
            "2026-03-01 10:00",
            "2026-03-03 06:00",
        ),
    ],
)
def test_the_next_time(fields, after, then):
    assert next_time(fields, seconds(after)) == seconds(then)


def test_a_day_that_never_comes():
    assert next_time({"CronDayOfMonth": "31", "CronMonth": "2,4"}, 0) is None


@pytest.mark.parametrize("text", ["60", "5-1", "a", "*/0", "1,,2", "-1", ""])
def test_what_is_no_field(text):
    with pytest.raises(ValueError, match="give numbers"):
        numbers("CronMinute", text)
