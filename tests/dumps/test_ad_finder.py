"""Ads of one text are found by what stands between their values, and no others."""

from __future__ import annotations

import pytest

from fairq.dumps.ad_finder import AdFinder

INSIDE = '", "Start": true, "Requirements": "/Expr(TARGET.Memory < 5)/", "Memory": '
NUMBER = "[0-9]+"


def _ads(count: int, inside: str = INSIDE) -> str:
    return "".join(f',{{"Name": "slot{place}{inside}{place}}}' for place in range(count))


def _finder() -> AdFinder:
    return AdFinder([',{"Name": "', INSIDE, "}"], ['[^"]*', NUMBER])


def _all(finder: AdFinder, text: str) -> tuple[list[str], int]:
    """Return the names found from the beginning on, and where the last ad ends."""
    names: list[str] = []
    end = 0
    while (found := finder.ads(text, end)) is not None:
        (column, numbers), end = found
        assert [f"slot{number}" for number in numbers] == list(column)
        names += column
    return names, end


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_all_ads_are_found(count: int) -> None:
    """However many, over several calls."""
    text = _ads(count)

    assert _all(_finder(), text) == ([f"slot{place}" for place in range(count)], len(text))


@pytest.mark.parametrize(
    "other",
    [
        _ads(1, INSIDE.replace("Memory < 5", "Memory < 6")),
        _ads(1, INSIDE.replace("Start", "start")),
        _ads(1)[:-1],
        _ads(1, "\n" * len(INSIDE)),
        "]",
        ",",
        "\n" + _ads(1),
    ],
)
def test_an_ad_with_another_text_ends_what_is_found(other: str) -> None:
    """Also if it has the same length and differs only in the middle of a long text."""
    before = _ads(300)

    names, end = _all(_finder(), before + other + _ads(5))

    assert (len(names), end) == (300, len(before))


def test_an_ad_with_another_text_is_not_found() -> None:
    """Nothing is found if the next ad is another."""
    finder = _finder()

    assert finder.ads(_ads(1, INSIDE.replace("true", "TRUE")) + _ads(5), 0) is None
    assert finder.ads("", 0) is None
    assert finder.ads(_ads(1), 1) is None
