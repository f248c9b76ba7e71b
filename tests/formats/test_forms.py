"""The two forms of a dump, read and written."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.common.records import Ad
from fairq.errors.pool import InvalidDumpError, UnwritableExportError
from fairq.formats import json_form, long_form, source
from fairq.formats.ads import read_ads
from fairq.formats.source import opened

REAL = Path(__file__).parents[1] / "data" / "condor_status-long-8.9.ads.gz"


def read(path):
    with opened(str(path)) as dump:
        return list(read_ads(dump))


def read_text(text, folder):
    path = folder / "dump"
    path.write_text(text, encoding="utf-8")
    return read(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("1.5", 1.5),
        ("1.0E3", 1000.0),
        ("TRUE", True),
        ("false", False),
        ('"x"', "x"),
        ('""', ""),
        (r'"a \"quoted\" word"', 'a "quoted" word'),
        (r'"C:\dir\file"', r"C:\dir\file"),
        ('"C:\\"', "C:\\"),
        ('"a" == "b"', '/Expr("a" == "b")/'),
        ("undefined", "/Expr(undefined)/"),
        ("(LoadAvg - 0.5) > 1", "/Expr((LoadAvg - 0.5) > 1)/"),
        ('{ 1, "b", x + 1 }', [1, "b", "/Expr(x + 1)/"]),
        ("[ a = 1; ]", {"a": 1}),
        ("- 5", "/Expr(- 5)/"),
    ],
)
def test_value_of_a_long_dump(text, value, tmp_path):
    """A literal is read as itself, everything else as an expression in the form of -json."""
    (ad,) = read_text(f"Name = {text}\n", tmp_path)

    assert ad == {"Name": value}
    assert type(ad["Name"]) is type(value)


def test_backslashes_in_expressions_of_a_long_dump(tmp_path):
    """An old-style expression has plain backslashes; as a new-style one, as in -json, they are doubled."""
    (ad,) = read_text('Start = regexp("\\.org$", Machine)\n', tmp_path)

    assert ad == {"Start": '/Expr(regexp("\\\\.org$", Machine))/'}


def test_long_dump_of_a_real_pool():
    """condor_status -long of HTCondor 8.9, compressed, loads completely."""
    ads = read(REAL)

    lines = gzip.decompress(REAL.read_bytes()).decode().splitlines()
    assert len(ads) == 8
    assert sum(map(len, ads)) == sum(bool(line.strip()) for line in lines)
    assert ads[0]["CpuBusy"] == "/Expr(((LoadAvg - CondorLoadAvg) >= 0.5))/"


def test_banners_and_blank_lines_of_a_long_dump_are_passed_over(tmp_path):
    """condor_q prints a line per schedd before its jobs, and ads end with one or more blank lines."""
    text = "\n\n-- Schedd: submit.example.org : <10.0.0.1:9618>\nA = 1\n\n\n\nA = 2\r\n \nA = 3"

    assert read_text(text, tmp_path) == [{"A": 1}, {"A": 2}, {"A": 3}]


@pytest.mark.parametrize(
    "text", ["[]", "[\n]\n", ' [ { "A" : 1 } , {"A":2} ] ', '[{"A":1},\n{"A":2}\n]\n', '\ufeff[{"A":1},{"A":2}]']
)
def test_json_dump_in_any_layout(text, tmp_path):
    """White space and a byte order mark do not matter."""
    assert read_text(text, tmp_path) == ([{"A": 1}, {"A": 2}] if "A" in text else [])


@pytest.mark.parametrize(("form", "chunk"), [("json", 1), ("json", 2), ("json", 7), ("long", 8), ("long", 9)])
def test_pieces_may_end_anywhere(form, chunk, tmp_path, monkeypatch):
    """A dump larger than what is read at once gives the same ads, wherever it is cut."""
    ads: list[Ad] = [{"A": 'é"\\', "B": [True, None, {"C": -1.5e-7}]}, {"A": "\n\t" if form == "json" else "x"}]
    ads[0]["B"] = ads[0]["B"] if form == "json" else "b"
    path = tmp_path / "dump"
    path.write_text(written(ads, form), encoding="utf-8")
    monkeypatch.setattr(source, "CHUNK", chunk)

    assert read(path) == ads


def written(ads, form):
    stream = io.StringIO()
    if form == "json":
        json_form.write(ads, stream)
    else:
        long_form.write(ads, stream, lambda ad: "the ad")
    return stream.getvalue()


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
EXPRESSIONS = st.sampled_from(
    [
        "/Expr(undefined)/",
        "/Expr(MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus)/",
        '/Expr(x == "a" || y =?= undefined)/',
        "/Expr(ifThenElse(isUndefined(Rank),0.0,Rank * 2))/",
    ]
)
LITERALS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXT.filter(lambda text: not text.startswith("/Expr(")),
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
ADS = st.lists(st.dictionaries(NAMES, LITERALS | EXPRESSIONS, min_size=1, max_size=6), max_size=4)


def exactly(ads):
    return json.dumps(ads)


@given(ADS)
def test_what_is_written_is_read_back(ads):
    """Both forms give back the very ads: kinds of numbers, quotes, backslashes and expressions included."""
    for form in ("json", "long"):
        dump = source.Source("the dump", io.BytesIO(written(ads, form).encode()))

        assert exactly(ads) == exactly(list(read_ads(dump)))


@given(ADS.filter(bool))
def test_long_form_is_htcondors(ads):
    """HTCondor's own library reads the same values from what is written."""
    import classad2

    text = written(ads, "long")

    for ad, theirs in zip(ads, classad2.parseAds(text, classad2.ParserType.Old), strict=True):
        spellings = {name.lower(): value for name, value in ad.items()}
        for name, value in theirs.items():
            if not isinstance(value, classad2.ExprTree | classad2.Value):
                assert spellings[name.lower()] == value


def test_line_break_cannot_be_written_in_long_form():
    """The long form has no way to write one: the ad and the attribute are named, with the way out."""
    with pytest.raises(UnwritableExportError, match=r"^Args of the ad cannot be written: .* --json$"):
        written([{"Args": "a\nb"}], "long")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('[{"A": 1},\n{"A": }]', "line 2, ad 2"),
        ('[{"A": 1},\n{"A": 1}', "line 2, ad 3"),
        ('[{"A": 1}\n{"A": 1}]', "line 2, ad 2"),
        ('[{"A": 1},]', "line 1, ad 2"),
        ('[{"A": 1},\n{"A": tru', "line 2, ad 2: not JSON"),
        ('[{"A": 1},\n{"A": [1,\n2', "line 3, ad 2: the text ends too early"),
        ("A = 1\n\nB = 1\nwhat is this", "line 4, ad 2"),
    ],
)
def test_place_of_a_fault(text, where, tmp_path):
    """The line and the ad are those where the dump goes wrong."""
    with pytest.raises(InvalidDumpError) as failure:
        read_text(text, tmp_path)

    assert where in str(failure.value)


def test_fault_is_found_before_the_rest_is_read(tmp_path, monkeypatch):
    """A fault early in a large dump is told at once."""
    path = tmp_path / "dump"
    path.write_text('[{"A": oops}' + ',{"A": 1}' * 10000)
    monkeypatch.setattr(source, "CHUNK", 64)
    pieces: list[int] = []
    read_piece: Callable[[source.Source], str] = source.Source.read
    monkeypatch.setattr(source.Source, "read", lambda self: pieces.append(1) or read_piece(self))

    with pytest.raises(InvalidDumpError):
        read(path)
    assert len(pieces) == 1
