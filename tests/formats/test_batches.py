"""Ads that are read together are read as they are one by one, whatever is odd or damaged among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.formats.reading import jobs_of, one_by_one, slots_of

COUNT = 700
ODD = 520


def _lines(number):
    """Return the lines of a slot's ad: static, partitionable with lists, or claimed."""
    ad: dict[str, Any] = {"MyType": "Machine", "Name": f"slot1@wn{number}", "MyAddress": f"<10.0.0.{number % 7}:9618>"}
    if number % 3 == 1:
        ad |= {"ChildCpus": [1] * (number % 4), "PartitionableSlot": True}
    elif number % 3 == 2:
        ad |= {"GlobalJobId": f"s#1.{number}#5", "RemoteOwner": f"o{number % 5}@x", "Draining": number % 2 == 0}
    ad |= {
        "Cpus": number % 4,
        "Load": (0.25, -0.0, 0.0, 1)[number % 4],
        "Text": 'a "b" \\ ' + ("é" if number % 9 == 0 else str(number)),
        "Requirements": f"/Expr(TARGET.Memory < {number % 6})/",
        "Nothing": None if number % 2 else number,
        "Start": number % 8 > 0,
    }
    return [f'"{name}": {json.dumps(value)}' for name, value in ad.items()]


def _text(ads, *, singly):
    """Return ads as condor_status prints them; *singly*: with differing separators, so that each is read singly."""
    texts = (f"{{\n{body}\n}}" for body in map(",\n".join, ads))
    return "[\n" + "".join(_with_separators(texts, singly=singly)) + "\n]\n"


def _with_separators(texts, *, singly):
    for number, text in enumerate(texts):
        yield f"{',' if number else ''}\n{' ' * number if singly else ''}{text}"


@pytest.mark.parametrize(
    "odd",
    [
        '"Odd": 1', '"Odd": 1, "Odder": 2', '"Odd": 1,', '"Odd": 1 "Odder": 2', '"Odd": [1', '"Odd": 2]', '"Odd": "a',
        '"Odd": NaN', '"Odd": 99999999999999999999', '"Odd": 1e999', '"Odd": "/Expr(1 +)/"', '"Odd": "\\ud800"',
        '"Odd": "a\tb"', '"Odd": {\n"A": 1\n}', '"Odd": [\n{\n"A": 1\n},\n{\n"B": 2\n}\n]', '"Cpus": 7', '"cpus": 7',
        '"MyType": "Scheduler"', '"Name": 5', '"Name": "slot1@wn3"', '"Draining": true', "", "}\n]\n[\n{", "}\n]",
    ],
)  # fmt: skip
def test_odd_and_damaged_ads_are_read_as_one_by_one(odd):
    """Slots, their order and ads, and the message with its line and ad are the same."""
    ads = [_lines(number) for number in range(COUNT)]
    for index in (ODD, ODD + 5):
        ads[index].append(odd)

    assert slots_of(_text(ads, singly=False)) == one_by_one(slots_of, _text(ads, singly=True))


def test_values_of_one_line_do_not_complete_those_of_another():
    """A list that one ad begins and the next one of its shape ends is damage."""
    ads = [[*_lines(3 * number), '"Odd": 1', '"Last": 0'] for number in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2], ads[ODD + 2][-2] = '"Odd": [1', '"Odd": 2]', '"Odd": 3, 4'

    result = slots_of(_text(ads, singly=False))

    assert result == one_by_one(slots_of, _text(ads, singly=True))
    assert f"ad {ODD + 1}" in result


@pytest.mark.parametrize("cut", ['"Odd', '"Odd": ', '"Odd":   '])
def test_two_values_of_one_line_do_not_make_up_for_none_of_another(cut):
    """A line that is cut off, and one with two values, are damage."""
    ads = [[*_lines(3 * number), '"Odd": 1', '"Last": 0'] for number in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2] = cut, '"Odd": 3, 4'
    # The line that is cut off has no comma.
    text = _text(ads, singly=False).replace(f"{cut},\n", f"{cut}\n")

    result = slots_of(text)

    assert result == one_by_one(slots_of, _text(ads, singly=True).replace(f"{cut},\n", f"{cut}\n"))
    assert f"ad {ODD + 1}" in result


def test_shapes_are_told_apart_by_names_in_the_same_number():
    """Ads with as many lines, but another attribute in the middle, keep their names."""
    ads = [[*_lines(3 * number), f'"{"ABC"[number % 3]}": {number}', '"Last": 0'] for number in range(COUNT)]

    result = slots_of(_text(ads, singly=False))

    assert result == one_by_one(slots_of, _text(ads, singly=True))
    assert "'A': 0" in result and "'B': 1" in result


def test_ads_on_lines_of_their_own_are_read_as_one_by_one():
    """The layout does not matter: here, each ad is a line, and has lists of ads."""
    ads = ['{"Devices": [{"Id": 1}, {"Id": 2}], ' + ", ".join(_lines(number)) + "}" for number in range(COUNT)]

    result = slots_of("[" + "".join(_with_separators(ads, singly=False)) + "]")

    assert result == one_by_one(slots_of, "[" + "".join(_with_separators(ads, singly=True)) + "]")
    assert f"slot1@wn{COUNT - 1}" in result


def test_lists_in_lists_without_end_are_refused():
    """Also where several ads have them."""
    ads = [[*_lines(3 * number), f'"Deep": {"[" * 800}{"]" * 800}'] for number in range(COUNT)]

    assert "nested too deeply" in slots_of(_text(ads, singly=False))


@pytest.mark.parametrize(
    "odd", ["1", "1.0", "true", "-0.0", "[1]", "[1.0]", '"a"', "null", '"/Expr(1 +)/"', "NaN", "1 2"]
)
def test_jobs_that_do_not_repeat_are_read_as_one_by_one(odd):
    """Their order, what those of a cluster share, and the message are the same; equal values keep their types."""
    ads = [
        f'{{\n"ClusterId": {number // 4 + 1},\n"ProcId": {number % 4},\n"Owner": "u{number % 3}",\n'
        f'"Args": "\\"{number}",\n"Odd": {odd if number in (ODD, ODD + 5) else number % 2}\n}}'
        for number in range(COUNT)
    ]

    result = jobs_of("[" + "".join(_with_separators(ads, singly=False)) + "]")

    assert result == one_by_one(jobs_of, "[" + "".join(_with_separators(ads, singly=True)) + "]")


_OF_JOBS: list[dict[int, dict[str, Any]]] = [
    {},
    {place: {"JobStatus": 5, "HoldReason": f"why {place % 2}"} for place in range(0, COUNT, 3)},
    {place: {"JobStatus": 4 if place % 2 else 2} for place in range(0, COUNT, 5)},
    {place: {"JobUniverse": 9, "WantMatching": place % 2 == 0} for place in range(COUNT)},
    {place: {"GlobalJobId": f"s{place % 2}.x#1.2#3", "ScheddName": "t"} for place in range(COUNT // 2)},
    {place: {"procid": place} for place in range(COUNT)},
    {place: {"owner": "eve"} for place in range(COUNT)},
    {place: {"QDate": (5, 5.0, True)[place % 3]} for place in range(ODD, COUNT)},
    {ODD: {"ProcId": 0}},
    {ODD: {"ProcId": 2**31}},
    {ODD: {"JobStatus": 9}, ODD + 5: {"ProcId": None}},
    {ODD: {"Owner": "a b"}},
]


@pytest.mark.parametrize("changed", _OF_JOBS)
@pytest.mark.parametrize("form", ["json", "long"])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_jobs_by_column_are_those_read_one_by_one(changed, form, size):
    """Clusters of one job or many, held, ended and damaged jobs, several schedds, and the message about the first."""
    ads = []
    for number in range(COUNT):
        cluster = number // size + 1
        ad: dict[str, Any] = {
            "ClusterId": cluster,
            "ProcId": number % size,
            "Owner": f"u{cluster % 3}",
            "QDate": cluster,
        }
        ad |= {
            "JobStatus": 1,
            "Args": f"{number}",
            "Cmd": f"c{cluster}",
            "Nice": number % 4 // 2,
            "Load": (0.0, 1.5)[number % 2],
        }
        ads.append(ad | changed.get(number, {}))
    if form == "json":
        texts = list(map(json.dumps, ads))
        joined_text, single_text = (
            "[" + "".join(_with_separators(texts, singly=singly)) + "]" for singly in (False, True)
        )
    else:
        blocks = ["".join(f"{name} = {json.dumps(value)}\n" for name, value in ad.items()) for ad in ads]
        joined_text, single_text = (
            "\n".join(blocks).replace(" = null\n", " = undefined\n"),
            "[" + "".join(_with_separators(map(json.dumps, ads), singly=True)) + "]",
        )

    assert jobs_of(joined_text) == one_by_one(jobs_of, single_text)
