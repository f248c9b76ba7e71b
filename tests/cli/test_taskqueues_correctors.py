"""Share correctors of plugins: whatever one does wrong is one line with its name."""

import pytest
from tests.cli.test_taskqueues import pool, settings, submit

__all__ = ["pool"]

PLUGIN = """
import math
from fairq.engine.shares.corrector import Correction

class Odd:
    notes = ()
    group = ""
    answer = staticmethod(lambda expected: {answer})
    def __init__(self, corrector, instance, options, rules):
        {made}
    def update(self, reports, now):
        {updated}
    def correct(self, expected):
        return self.answer(expected)
"""

BLOCK = """
[shares.ShareCorrections]
ShareCorrectorsToStart = ["Odd"]
[shares.ShareCorrections.Odd.Everybody]
By = 1
"""


@pytest.fixture
def shares(run, pool, state, tmp_path, monkeypatch):
    """Run taskqueues shares with a plugin of one group whose answer, start and update are given."""
    info = tmp_path / "odd-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    settings(state, BLOCK)
    submit(run, "anna", "a")

    def shares(number, answer="Correction(expected)", made="pass", updated="pass"):
        # Every test brings a module of its own: one that is imported stays.
        name = f"odd_corrector_{number}"
        (tmp_path / f"{name}.py").write_text(PLUGIN.format(answer=answer, made=made, updated=updated))
        (info / "entry_points.txt").write_text(f"[fairq.share_correctors]\nOdd = {name}:Odd\n")
        return run("taskqueues", "shares", "--json")

    return shares


ODD = [
    ("{'a': 1}", "its method correct returned {'a': 1}, not a Correction"),
    ("None", "its method correct returned None, not a Correction"),
    ("Correction([1, 2])", "its shares are [1, 2], not a mapping of names to numbers"),
    ("Correction({})", "it returned no share for 'a'"),
    ("Correction({'a': 'much'})", "its share for 'a' is 'much', not a number"),
    ("Correction({'a': None})", "its share for 'a' is None, not a number"),
    ("Correction({'a': True})", "its share for 'a' is True, not a number"),
    ("Correction({'a': math.nan})", "its share for 'a' is nan, not a finite number of 0 or more"),
    ("Correction({'a': math.inf})", "its share for 'a' is inf, not a finite number of 0 or more"),
    ("Correction({'a': -1})", "its share for 'a' is -1.0, not a finite number of 0 or more"),
    ("Correction(expected, {'a': 5})", "its entities are {'a': 5}, not a mapping of names to EntityCorrections"),
    ("1 / 0", "its correct raised ZeroDivisionError: division by zero"),
    ("Correction({'a': 'x' * 9000})", "'xxx"),
]


@pytest.mark.parametrize(("number", "answer", "problem"), [(n, *case) for n, case in enumerate(ODD)])
def test_an_odd_answer_is_told_with_the_name_of_the_plugin(number, answer, problem, shares):
    ended = shares(number, answer)
    assert (ended.code, ended.out, ended.err.count("\n")) == (76, "", 1), ended.err
    assert ended.err.startswith("fairq: the share corrector 'Odd' cannot be used: ")
    assert problem in ended.err
    assert f"fix the plugin odd_corrector_{number}:Odd, or remove Odd from ShareCorrectorsToStart" in ended.err
    assert len(ended.err) < 1100


@pytest.mark.parametrize(
    ("number", "made", "updated", "problem"),
    [
        (100, "self.group = 5", "pass", "its group is 5, not a text"),
        (101, "self.notes = 'ab'", "pass", "its notes are 'ab', not a list of texts"),
        (102, "pass", "raise KeyError('x')", "its update raised KeyError: 'x'"),
        (103, "raise OSError('no disk')", "pass", "cannot be started: odd_corrector_103:Odd: OSError: no disk"),
    ],
)
def test_so_is_whatever_else_it_does(number, made, updated, problem, shares):
    ended = shares(number, made=made, updated=updated)
    assert (ended.code, ended.err.count("\n")) == (76, 1), ended.err
    assert problem in ended.err
    assert "'Odd'" in ended.err


def test_a_corrector_in_order_is_left_alone(shares):
    assert shares(200, "Correction({name: share / 4 for name, share in expected.items()})").code == 0
