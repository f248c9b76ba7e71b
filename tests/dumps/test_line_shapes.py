"""Ads with an attribute a line are put into columns without parsing what they have in common."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

from fairq.dumps.line_shapes import LineShapes
from fairq.dumps.shapes import FoundByShape
from fairq.records import Ad

COUNT = 600
BEFORE = "}"
"""The end of the ad before the first."""


def _ads(**of: Sequence[str]) -> list[str]:
    """Ads with a name and these attributes, whose texts come in turn."""
    return [
        ",\n".join(
            [f'"Name": "slot{place}"', *(f'"{name}": {texts[place % len(texts)]}' for name, texts in of.items())]
        )
        for place in range(COUNT)
    ]


def _text(ads: Sequence[str]) -> str:
    return "".join(f"{BEFORE}\n,\n{{\n{ad}\n" for ad in ads) + "}\n]\n"


def _find(ads: Sequence[str], shapes: LineShapes | None = None) -> FoundByShape | None:
    # The last ad has no separator behind it: it may be cut off.
    return (shapes or LineShapes()).after(_text([*ads, '"Name": "last"']), len(BEFORE), len(ads))


def _parsed(ads: Sequence[str]) -> list[Ad]:
    return [json.loads(f"{{{ad}}}") for ad in ads]


VALUES = [
    ["1", "2", "3"],
    ["1", "1"],
    ["1.5", "2.25", "0.0", "-0.0"],
    ["1E-05", "0.00001", "1.50", "1e20", "12345678901234567.0"],
    ["-0", "0", "1"],
    ["true", "false"],
    ["null", "1"],
    ['"a"', '"b,\\"c\\""', '"\\/d"', '""', '"\\u007f"', '"\\n"'],
    ['"é"', '"\\u00e9"', '"漢"'],
    ['"/Expr(Cpus + 1)/"', '"\\/Expr(Cpus + 2)\\/"', "1", "2.5", "true"],
    ["[1, 2]", "[]", '["a,"]'],
    ['{"A": 1}', '{"A": [1.50]}'],
    ["99999999999999999999", "1"],
]


@pytest.mark.parametrize("texts", VALUES)
@pytest.mark.parametrize("is_last", [True, False])
def test_values_are_those_of_a_parser(texts: Sequence[str], is_last: bool) -> None:
    """All ads are found, with the order of their attributes and the types of their values."""
    ads = _ads(Odd=texts) if is_last else _ads(Odd=texts, Cpus=["1"], Last=["7", "8"])

    found = _find(ads)

    assert found is not None and found.ads.is_divided
    assert repr(found.ads.ads) == repr(_parsed(ads))
    text = _text([*ads, '"Name": "last"'])
    assert text.startswith("}\n,\n{\n", found.end - 1)
    assert found.breaks == text.count("\n", len(BEFORE), found.end)


def test_what_begins_to_vary_later_varies_in_all_ads() -> None:
    """An attribute that was the same in the first ads is not taken for their value in others."""
    shapes = LineShapes()
    ads = _ads(Cpus=["1"], Memory=["5", "6"])
    for place in (250, 251, 420, COUNT - 1):
        ads[place] = ads[place].replace('"Cpus": 1', f'"Cpus": {place}')

    for _ in range(2):
        found = _find(ads, shapes)
        assert found is not None
        assert found.ads.ads == _parsed(ads)
        assert len(list(found.ads.parts())) == 1


def test_lists_of_several_lines_are_parsed() -> None:
    """A partitionable slot has lists of as many elements as it has dynamic slots."""
    ads = [
        f'{ad},\n"Child": [\n' + ",\n".join(map(str, range(place % 5 + 1))) + f'\n],\n"Last": {place}'
        for place, ad in enumerate(_ads(Cpus=["1", "2"]))
    ]

    found = _find(ads)

    assert found is not None
    assert found.ads.ads == _parsed(ads)


@pytest.mark.parametrize(
    "odd",
    [
        '"Odd": [\n{\n"A": 1\n}\n,\n{\n"B": 2\n}\n]',  # the separator of ads, inside an ad
        '"Odd": "a',
        '"Odd": ',
        '"Odd": 1,',
        '"Odd": 1, 2',
        "",
    ],
)
@pytest.mark.parametrize("at", [30, 300])
def test_what_is_written_otherwise_is_left_to_a_parser(odd: str, at: int) -> None:
    """Damage is found by the parser, which tells where it is; so are lists that look like ads."""
    ads = _ads(Odd=["1", "2"], Last=["0"])
    ads[at] = f'"Name": "odd",\n{odd},\n"Last": 0'

    assert _find(ads) is None


def test_two_ads_between_which_nothing_is_expected_are_not_joined() -> None:
    """As many ads are found as there are, also if one seems to be two and two seem to be one."""
    ads = _ads(Odd=["1", "2"], Last=["0"])
    ads[30] = '"Name": "odd",\n"Odd": [\n{\n"A": 1\n}\n,\n{\n"B": 2\n}\n],\n"Last": 0'
    ads[32] = '"Name": "odd",\n"Odd": 1,\n"Last": 0},{"Name": "odd",\n"Odd": 2,\n"Last": 0'

    assert _find(ads) is None


def test_other_layouts_are_left_to_a_parser() -> None:
    """Ads on a line, and line breaks of other systems."""
    ads = _ads(Cpus=["1", "2"])
    text = _text(ads)
    for other in (text.replace(',\n"', ', "').replace("{\n", "{"), text.replace("\n", "\r\n")):
        assert LineShapes().after(other, len(BEFORE), COUNT) is None


def _fuzzed(seed: int) -> list[str]:
    rng = random.Random(seed)
    names = [f"A{number}" for number in range(12)]
    ads = []
    for place in range(COUNT):
        left = [name for name in names if rng.random() > 0.02]
        values: dict[str, Any] = {
            name: rng.choice(VALUES[(seed * 31 + int(name[1:]) * 7) % len(VALUES)]) for name in left
        }
        ads.append(",\n".join([f'  "Name": "slot{place}"', *(f'  "{name}" : {text}' for name, text in values.items())]))
    return ads


@pytest.mark.parametrize("seed", range(8))
def test_many_shapes_are_read_as_by_a_parser(seed: int) -> None:
    """Ads that lack some attributes, with blanks before and after the names."""
    shapes = LineShapes()
    ads = _fuzzed(seed)

    for _ in range(2):
        found = _find(ads, shapes)
        assert found is not None
        assert repr(found.ads.ads) == repr(_parsed(ads))
