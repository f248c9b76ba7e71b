"""Ads of one text are found by what stands between their values, and no others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (column, numbers), end = found.columns, found.end
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


def _counted(text: str) -> tuple[list[tuple[str, str, int]], int]:
    """Return the values of each ad that is found by runs, and where the last one ends."""
    finder = AdFinder([',{"Id": "', '", "Proc": ', ', "Owner": "', '"}'], ['[^"]*', "[0-9]{1,18}", '[^"]*'], 1)
    ads: list[tuple[str, str, int]] = []
    end = 0
    while (found := finder.ads(text, end)) is not None:
        before = len(ads)
        for name, owner, first, last in zip(*found.columns, found.firsts, found.lasts, strict=True):
            ads += [(name, owner, number) for number in range(first, last + 1)]
        assert len(ads) - before == found.size
        end = found.end
    return ads, end


numbers = st.one_of(st.integers(0, 12), st.sampled_from([10**17, 10**18, 10**30]))
runs = st.tuples(st.sampled_from(["a", "b", "1", ""]), st.integers(0, 12), st.integers(1, 15), st.sampled_from("xy"))


@given(
    st.lists(st.one_of(runs, st.tuples(st.just("a"), numbers, st.just(1), st.just("x"))), max_size=8),
    st.integers(0, 40),
)
def test_runs_have_the_ads_that_the_text_has(found: list[tuple[str, int, int, str]], lost: int) -> None:
    """Whether numbers go on, are missing, come twice or go back, and wherever the text is damaged."""
    ads = [(name, owner, first + more) for name, first, count, owner in found for more in range(count)]
    texts = [f',{{"Id": "{name}", "Proc": {number}, "Owner": "{owner}"}}' for name, owner, number in ads]
    if lost < len(texts):
        texts[lost] = texts[lost].replace("Owner", "owner")
    sound = re.compile(r'(?:,\{"Id": "[^"]*", "Proc": [0-9]{1,18}, "Owner": "[^"]*"\})*').match("".join(texts))

    assert sound is not None
    assert _counted("".join(texts)) == (ads[: sound[0].count("{")], sound.end())


def test_a_number_out_of_proportion_makes_no_run() -> None:
    """Two jobs are two jobs, though there are millions of numbers between theirs."""
    text = "".join(f',{{"Id": "a", "Proc": {number}, "Owner": "x"}}' for number in (0, 3_999_999, 4_000_000))

    assert _counted(text) == ([("a", "x", 0), ("a", "x", 3_999_999), ("a", "x", 4_000_000)], len(text))
