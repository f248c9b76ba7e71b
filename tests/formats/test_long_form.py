"""The long form is read many ads at a time: as it would be read line by line."""

import io

import pytest
from tests.formats.reading import slots_of

from fairq.formats import source
from fairq.formats.slots import read_slots

COUNT = 60


def _ad(number):
    return [
        'MyType = "Machine"',
        f'Name = "slot{number}@wn"',
        f"Cpus = {number % 4}",
        f"Load = {number % 3 / 4}",
        r'Text = "a \"quoted\" word"',
        f"Requirements = Memory > {number % 5}",
        f'ChildName = {{ "slot1_{number % 2}@wn",{number % 3} }}',
    ]


@pytest.mark.parametrize(
    "odd",
    [
        "Odd = 1", "Odd=1", " Odd  =  1 ", "Odd = = 1", "Odd == 1", "Odd", "# a comment", "#Odd = 1", "-- Schedd: a",
        "", "  ", "Odd = 01", "Odd = ", "Odd = {", 'Odd = "a', 'Odd = "a"b"', "Odd = ٣", "Odd = 1\r", "Cpus = 7",
        'Name = "slot1@wn"', 'Cpus = "x"', 'MyType = "Scheduler"', "Odd = [ a = 1; ]", "Odd = a b", "Odd = \udcff",
        "= 1", "Odd = " + "9" * 5000,
    ],
)  # fmt: skip
@pytest.mark.parametrize("between", ["\n", "\n\n", "  \n", "# next\n\n"])
def test_odd_lines_among_many_ads_are_read_as_in_small_pieces(odd, between, monkeypatch):
    """Ads, or the message with its line and ad, do not depend on how much of the text is read at a time."""
    ads = [_ad(number) for number in range(COUNT)]
    for index in (40, 45):
        ads[index].insert(3, odd)
    text = between.join("".join(f"{line}\n" for line in ad) for ad in ads)
    expected = slots_of(text)

    monkeypatch.setattr(source, "CHUNK", 40)

    assert slots_of(text) == expected


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("Odd = 01", "ad 41: line 324: the value of Odd is not an expression: 01"),
        ("Odd", "line 324, ad 41: not of the form Name = value"),
        ('Name = "slot1@wn"', "ad 41"),
    ],
)
def test_the_message_names_the_line_and_the_ad(odd, expected):
    ads = [_ad(number) for number in range(COUNT)]
    ads[40].insert(3, odd)

    assert expected in slots_of("\n".join("".join(f"{line}\n" for line in ad) for ad in ads))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{  }", []),
        ("{ 1 , 20,3 }", [1, 20, 3]),
        ('{ "a, }","/x",0 }', ["a, }", "/x", 0]),
        ("{ 1.5,true,-1 }", [1.5, True, -1]),
        ("{ { 1 } }", [[1]]),
        ('{ "a\\"b" }', ['a"b']),
    ],
)
def test_lists_have_the_values_of_htcondors_library(text, value):
    """Plain lists are read without the library."""
    dump = read_slots(source.Source("slots.long", io.BytesIO(f'Name = "a"\nList = {text}\n'.encode())))

    assert dump.slots[0].ad["List"] == value
