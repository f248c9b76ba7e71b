"""Ads that are read together are read as they are one by one, whatever is odd or damaged among them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.formats.reading import jobs_of, one_by_one, slots_of

COUNT = 700
ODD = 520


def _lines(place):
    """The lines of a slot's ad: static, partitionable with lists, or claimed."""
    ad: dict[str, Any] = {"MyType": "Machine", "Name": f"slot1@wn{place}", "MyAddress": f"<10.0.0.{place % 7}:9618>"}
    if place % 3 == 1:
        ad |= {"ChildCpus": [1] * (place % 4), "PartitionableSlot": True}
    elif place % 3 == 2:
        ad |= {"GlobalJobId": f"s#1.{place}#5", "RemoteOwner": f"o{place % 5}@x", "Draining": place % 2 == 0}
    ad |= {
        "Cpus": place % 4,
        "Load": (0.25, -0.0, 0.0, 1)[place % 4],
        "Text": 'a "b" \\ ' + ("é" if place % 9 == 0 else str(place)),
        "Requirements": f"/Expr(TARGET.Memory < {place % 6})/",
        "Nothing": None if place % 2 else place,
        "Start": place % 8 > 0,
    }
    return [f'"{name}": {json.dumps(value)}' for name, value in ad.items()]


def _text(ads, *, apart):
    """The ads as condor_status prints them; *apart*: nothing between two is alike, so that each is read by itself."""
    texts = (f"{{\n{body}\n}}" for body in map(",\n".join, ads))
    return "[\n" + "".join(_separated(texts, apart=apart)) + "\n]\n"


def _separated(texts, *, apart):
    for place, text in enumerate(texts):
        yield f"{',' if place else ''}\n{' ' * place if apart else ''}{text}"


@pytest.mark.parametrize(
    "odd",
    [
        '"Odd": 1', '"Odd": 1, "Odder": 2', '"Odd": 1,', '"Odd": 1 "Odder": 2', '"Odd": [1', '"Odd": 2]', '"Odd": "a',
        '"Odd": NaN', '"Odd": 99999999999999999999', '"Odd": 1e999', '"Odd": "/Expr(1 +)/"', '"Odd": "\\ud800"',
        '"Odd": "a\tb"', '"Odd": {\n"A": 1\n}', '"Odd": [\n{\n"A": 1\n},\n{\n"B": 2\n}\n]', '"Cpus": 7', '"cpus": 7',
        '"MyType": "Scheduler"', '"Name": 5', '"Name": "slot1@wn3"', '"Draining": true', "", "}\n]\n[\n{", "}\n]",
    ],
)  # fmt: skip
def test_odd_and_damaged_ads_areslots_of_asone_by_one(odd):
    """Slots, their order and ads, and the message with its line and ad are the same."""
    ads = [_lines(place) for place in range(COUNT)]
    for at in (ODD, ODD + 5):
        ads[at].append(odd)

    assert slots_of(_text(ads, apart=False)) == one_by_one(slots_of, _text(ads, apart=True))


def test_values_of_one_line_do_not_complete_those_of_another():
    """A list that one ad begins and the next one of its shape ends is damage."""
    ads = [[*_lines(3 * place), '"Odd": 1', '"Last": 0'] for place in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2], ads[ODD + 2][-2] = '"Odd": [1', '"Odd": 2]', '"Odd": 3, 4'

    found = slots_of(_text(ads, apart=False))

    assert found == one_by_one(slots_of, _text(ads, apart=True))
    assert f"ad {ODD + 1}" in found


@pytest.mark.parametrize("cut", ['"Odd', '"Odd": ', '"Odd":   '])
def test_two_values_of_one_line_do_not_make_up_for_none_of_another(cut):
    """A line that is cut off, and one with two values, are damage."""
    ads = [[*_lines(3 * place), '"Odd": 1', '"Last": 0'] for place in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2] = cut, '"Odd": 3, 4'
    # The line that is cut off has no comma.
    text = _text(ads, apart=False).replace(f"{cut},\n", f"{cut}\n")

    found = slots_of(text)

    assert found == one_by_one(slots_of, _text(ads, apart=True).replace(f"{cut},\n", f"{cut}\n"))
    assert f"ad {ODD + 1}" in found


def test_shapes_are_told_apart_by_names_in_the_same_number():
    """Ads with as many lines, but another attribute in the middle, keep their names."""
    ads = [[*_lines(3 * place), f'"{"ABC"[place % 3]}": {place}', '"Last": 0'] for place in range(COUNT)]

    found = slots_of(_text(ads, apart=False))

    assert found == one_by_one(slots_of, _text(ads, apart=True))
    assert "'A': 0" in found and "'B': 1" in found


def test_ads_on_lines_of_their_own_areslots_of_asone_by_one():
    """The layout does not matter: here, each ad is a line, and has lists of ads."""
    ads = ['{"Devices": [{"Id": 1}, {"Id": 2}], ' + ", ".join(_lines(place)) + "}" for place in range(COUNT)]

    found = slots_of("[" + "".join(_separated(ads, apart=False)) + "]")

    assert found == one_by_one(slots_of, "[" + "".join(_separated(ads, apart=True)) + "]")
    assert f"slot1@wn{COUNT - 1}" in found


def test_lists_in_lists_without_end_are_refused():
    """Also where several ads have them."""
    ads = [[*_lines(3 * place), f'"Deep": {"[" * 800}{"]" * 800}'] for place in range(COUNT)]

    assert "nested too deeply" in slots_of(_text(ads, apart=False))


@pytest.mark.parametrize(
    "odd", ["1", "1.0", "true", "-0.0", "[1]", "[1.0]", '"a"', "null", '"/Expr(1 +)/"', "NaN", "1 2"]
)
def test_jobs_that_do_not_repeat_areslots_of_asone_by_one(odd):
    """Their order, what those of a cluster share, and the message are the same; equal values keep their types."""
    ads = [
        f'{{\n"ClusterId": {place // 4 + 1},\n"ProcId": {place % 4},\n"Owner": "u{place % 3}",\n"Args": "\\"{place}",\n'
        f'"Odd": {odd if place in (ODD, ODD + 5) else place % 2}\n}}'
        for place in range(COUNT)
    ]

    found = jobs_of("[" + "".join(_separated(ads, apart=False)) + "]")

    assert found == one_by_one(jobs_of, "[" + "".join(_separated(ads, apart=True)) + "]")


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
def test_jobs_by_column_are_thoseslots_ofone_by_one(changed, form, size):
    """Clusters of one job or many, held, ended and damaged jobs, several schedds, and the message about the first."""
    ads = []
    for place in range(COUNT):
        cluster = place // size + 1
        ad: dict[str, Any] = {
            "ClusterId": cluster,
            "ProcId": place % size,
            "Owner": f"u{cluster % 3}",
            "QDate": cluster,
        }
        ad |= {
            "JobStatus": 1,
            "Args": f"{place}",
            "Cmd": f"c{cluster}",
            "Nice": place % 4 // 2,
            "Load": (0.0, 1.5)[place % 2],
        }
        ads.append(ad | changed.get(place, {}))
    if form == "json":
        texts = list(map(json.dumps, ads))
        together, apart = ("[" + "".join(_separated(texts, apart=one)) + "]" for one in (False, True))
    else:
        blocks = ["".join(f"{name} = {json.dumps(value)}\n" for name, value in ad.items()) for ad in ads]
        together, apart = (
            "\n".join(blocks).replace(" = null\n", " = undefined\n"),
            "[" + "".join(_separated(map(json.dumps, ads), apart=True)) + "]",
        )

    assert jobs_of(together) == one_by_one(jobs_of, apart)
