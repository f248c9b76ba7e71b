"""Slot ads with one attribute a line are read as they are one by one, whatever is odd or damaged among them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from fairq.dumps.slots import read_slots
from fairq.dumps.source import Source
from fairq.errors.base import FairqError

COUNT = 260
ODD = 200


def _lines(place: int) -> list[str]:
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


def _text(ads: list[list[str]], *, apart: bool) -> str:
    """The ads as condor_status prints them; *apart*: no two brackets are alike, and each ad is read by itself."""
    starts = ("{ \n" if apart and place % 2 else "{\n" for place in range(len(ads)))
    bodies = map(",\n".join, ads)
    return "[\n" + ",\n".join(f"{start}{body}\n}}" for start, body in zip(starts, bodies, strict=True)) + "\n]\n"


def _read(text: str) -> str:
    try:
        dump = read_slots(Source("slots.json", io.BytesIO(text.encode())))
    except FairqError as error:
        return str(error)
    return repr((list(dump.slots), dump.left_out, dump.version))


@pytest.mark.parametrize(
    "odd",
    [
        '"Odd": 1', '"Odd": 1, "Odder": 2', '"Odd": 1,', '"Odd": 1 "Odder": 2', '"Odd": [1', '"Odd": 2]', '"Odd": "a',
        '"Odd": NaN', '"Odd": 99999999999999999999', '"Odd": 1e999', '"Odd": "/Expr(1 +)/"', '"Odd": "\\ud800"',
        '"Odd": "a\tb"', '"Odd": {\n"A": 1\n}', '"Odd": [\n{\n"A": 1\n},\n{\n"B": 2\n}\n]', '"Cpus": 7', '"cpus": 7',
        '"MyType": "Scheduler"', '"Name": 5', '"Name": "slot1@wn3"', '"Draining": true', "", "}\n]\n[\n{", "}\n]",
    ],
)  # fmt: skip
def test_odd_and_damaged_ads_are_read_as_one_by_one(odd: str) -> None:
    """Slots, their order and ads, and the message with its line and ad are the same."""
    ads = [_lines(place) for place in range(COUNT)]
    for at in (ODD, ODD + 5):
        ads[at].append(odd)

    assert _read(_text(ads, apart=False)) == _read(_text(ads, apart=True))


def test_values_of_one_line_do_not_complete_those_of_another() -> None:
    """A list that one ad begins and the next one of its shape ends is damage."""
    ads = [[*_lines(3 * place), '"Odd": 1', '"Last": 0'] for place in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2], ads[ODD + 2][-2] = '"Odd": [1', '"Odd": 2]', '"Odd": 3, 4'

    found = _read(_text(ads, apart=False))

    assert found == _read(_text(ads, apart=True))
    assert f"ad {ODD + 1}" in found


@pytest.mark.parametrize("cut", ['"Odd', '"Odd": ', '"Odd":   '])
def test_two_values_of_one_line_do_not_make_up_for_none_of_another(cut: str) -> None:
    """A line that is cut off, and one with two values, are damage."""
    ads = [[*_lines(3 * place), '"Odd": 1', '"Last": 0'] for place in range(COUNT)]
    ads[ODD][-2], ads[ODD + 1][-2] = cut, '"Odd": 3, 4'
    # The line that is cut off has no comma.
    text = _text(ads, apart=False).replace(f"{cut},\n", f"{cut}\n")

    found = _read(text)

    assert found == _read(_text(ads, apart=True).replace(f"{cut},\n", f"{cut}\n"))
    assert f"ad {ODD + 1}" in found


def test_shapes_are_told_apart_by_names_in_the_same_number() -> None:
    """Ads with as many lines, but another attribute in the middle, keep their names."""
    ads = [[*_lines(3 * place), f'"{"ABC"[place % 3]}": {place}', '"Last": 0'] for place in range(COUNT)]

    found = _read(_text(ads, apart=False))

    assert found == _read(_text(ads, apart=True))
    assert "'A': 0" in found and "'B': 1" in found
