"""Correctors: settings, bounds, and what happens to slices and users without use."""

import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED, HOUR, WEEK, corrected, history, instance

from fairq.cli.taskqueues_notes import WORDS, in_words
from fairq.engine.shares.corrector import Correction, Corrections
from fairq.engine.shares.history_corrector import built_in
from fairq.engine.shares.options import NoteKind
from fairq.errors.shares import DiracStopsError, ShareCorrectionError

WIDE = {"TimeSpan": HOUR, "Weight": 1, "MaxCorrection": 10}


def shares(rules, block, use, expected, group=""):
    return dict(corrected(rules, block, history({group: use})).correct(expected, group).shares)


def test_three_times_the_share_gives_a_third():
    expected = {"a": 1, "b": 1, "c": 1, "d": 1}
    use = {HOUR: {"a": 75, "b": 25 / 3, "c": 25 / 3, "d": 25 / 3}}
    assert shares(DOCUMENTED, instance(S=WIDE), use, expected)["a"] == pytest.approx(1 / 3)


def test_who_used_nothing_gets_the_maximum_of_the_slice():
    """Times the slice's weight; DIRAC gives it in full, so that almost any newcomer ends at the global bound."""
    block = instance(
        Week={"TimeSpan": WEEK, "Weight": 80, "MaxCorrection": 2},
        Hour={"TimeSpan": HOUR, "Weight": 20, "MaxCorrection": 5},
    )
    use = {WEEK: {"a": 50, "b": 50}, HOUR: {"a": 10}}
    expected = {"a": 100.0, "b": 100.0}
    assert shares(DOCUMENTED, block, use, expected) == pytest.approx({"a": 90, "b": 100 * (0.8 + 0.2 * 5)})
    assert shares(DIRAC, block, use, expected) == pytest.approx({"a": 90, "b": 100 * (0.8 + 5)})


@pytest.mark.parametrize("hour", [{}, None, {"stranger": 7.0}], ids=["empty", "failed", "of others"])
def test_a_slice_that_says_nothing_leaves_its_weight_to_the_others(hour):
    """In DIRAC an empty or failed report voids all slices, and a skipped slice's weight is lost."""
    block = instance(
        Week={"TimeSpan": WEEK, "Weight": 80, "MaxCorrection": 2},
        Hour={"TimeSpan": HOUR, "Weight": 20, "MaxCorrection": 5},
    )
    use = {WEEK: {"a": 60, "b": 40}, HOUR: hour}
    expected = {"a": 100.0, "b": 100.0}
    assert shares(DOCUMENTED, block, use, expected) == pytest.approx({"a": 100 * 0.5 / 0.6, "b": 125})
    dirac = {"a": 80 * 0.5 / 0.6, "b": 100} if hour else expected
    assert shares(DIRAC, block, use, expected) == pytest.approx(dirac)


def test_options_that_are_not_read_are_told():
    block = instance(Maximum=3, S={**WIDE, "Max": 2})
    assert [in_words(note) for note in corrected(DOCUMENTED, block, history({"": {HOUR: {"a": 1}}})).notes] == [
        "WMSHistory I: Maximum is not read; known are "
        "Group, MaxGlobalCorrection, MaxGlobalCorrectionFactor, UpdateHistoryPeriod",
        "WMSHistory I, slice S: Max is not read; known are MaxCorrection, TimeSpan, Weight",
    ]


def test_failed_and_empty_reports_are_told():
    block = instance(Week={"TimeSpan": WEEK}, Hour={"TimeSpan": HOUR})
    notes = corrected(DOCUMENTED, block, history({"": {WEEK: None}})).notes
    assert [in_words(note).partition(": ")[2] for note in notes[1:]] == [
        "the report for slice Week failed; the slice is left out",
        "the report for slice Hour is empty; the slice is left out",
    ]


def test_a_use_of_zero_is_no_use_and_stops_dirac():
    use = {HOUR: {"a": 10.0, "b": 0.0}}
    assert shares(DOCUMENTED, instance(S=WIDE), use, {"a": 100, "b": 100})["b"] == 1000
    with pytest.raises(DiracStopsError, match="slice S reports a use of 0"):
        shares(DIRAC, instance(S=WIDE), use, {"a": 100, "b": 100})


def test_shares_that_are_all_zero_stay_so_and_stop_dirac():
    use = {HOUR: {"a": 1.0}}
    assert shares(DOCUMENTED, instance(S=WIDE), use, {"a": 0, "b": 0}) == {"a": 0, "b": 0}
    with pytest.raises(DiracStopsError):
        shares(DIRAC, instance(S=WIDE), use, {"a": 0, "b": 0})


def test_shares_that_add_up_to_no_number_are_not_corrected():
    expected = {"a": 1e308, "b": 1e308}
    assert shares(DOCUMENTED, instance(S=WIDE), {HOUR: {"a": 1.0, "b": 3.0}}, expected) == expected


def test_decimal_weights_count_and_dirac_is_said_to_take_defaults():
    block = instance(
        maximum=2.5,
        W={"TimeSpan": WEEK, "Weight": 0.8, "MaxCorrection": 2},
        H={"TimeSpan": HOUR, "Weight": "0.2", "MaxCorrection": 2},
    )
    use = {WEEK: {"a": 90, "b": 10}, HOUR: {"a": 50, "b": 50}}
    assert shares(DOCUMENTED, block, use, {"a": 1, "b": 1})["b"] == pytest.approx(0.8 * 2 + 0.2)
    texts = [in_words(note) for note in corrected(DIRAC, block, history({})).notes]
    assert texts[0] == "WMSHistory I: MaxGlobalCorrection = 2.5 is not an integer; DIRAC uses the default 5"
    assert sum("uses the default 1" in note for note in texts) == 2


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (instance(W={"TimeSpan": 1, "Weight": 0}), "the weights of all slices are 0"),
        (instance(W={"TimeSpan": 1, "MaxCorrection": 0.5}), "slice W: MaxCorrection is 0.5"),
        (instance(maximum=0, W={"TimeSpan": 1}), "MaxGlobalCorrection is 0; a bound is 1 or more"),
        (instance(W={"Weight": 1}), "slice W: it has no TimeSpan"),
        (instance(W={"TimeSpan": 0}), "TimeSpan is 0"),
        (instance(W={"TimeSpan": 1, "Weight": -1}), "Weight is -1"),
        (instance(W={"TimeSpan": "soon"}), "TimeSpan = 'soon' is not a number"),
        (instance(W={"TimeSpan": "nan"}), "TimeSpan = 'nan' is not a number"),
        (instance(MaxGlobalCorrectionFactor=3, W={"TimeSpan": 1}), "two names of one bound"),
        ({"ShareCorrectorsToStart": ["Guess"]}, "known are: WMSHistory, MonitoringHistory"),
        (
            {"ShareCorrectorsToStart": "WMSHistory", "WMSHistory": {"A": {"S": WIDE}, "B": {"S": WIDE}}},
            "WMSHistory B: another instance is for all groups already",
        ),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(block, message):
    with pytest.raises(ShareCorrectionError) as refusal:
        corrected(DOCUMENTED, block, history({}))
    assert message in str(refusal.value)


def test_an_instance_for_a_group_without_queues_is_told():
    block = {"ShareCorrectorsToStart": "WMSHistory", "WMSHistory": {"I": {"Group": "ghosts", "S": WIDE}}}
    corrections = corrected(DOCUMENTED, block, history({}))
    assert corrections.idle({"ghosts"}, {"ghosts"}) == []
    assert [
        in_words(note) for note in (*corrections.idle({"ghosts"}, {}), *corrections.idle({"users"}, {"users"}))
    ] == [
        "WMSHistory: the group ghosts has no task queue at the moment; nothing is corrected",
        "WMSHistory: the group ghosts has no share and no task queue; nothing is corrected",
    ]


def test_dirac_passes_over_what_it_does_not_know_and_over_second_instances():
    block = {
        "ShareCorrectorsToStart": "Guess, WMSHistory",
        "WMSHistory": {"A": {"S": WIDE}, "B": {"S": {**WIDE, "MaxCorrection": 1}}},
    }
    corrections = corrected(DIRAC, block, history({"": {HOUR: {"a": 90, "b": 10}}}))
    assert corrections.correct({"a": 100, "b": 100}).shares["a"] == pytest.approx(100 * 0.5 / 0.9)
    assert [in_words(note).partition(":")[0] for note in corrections.notes] == ["Guess", "WMSHistory B"]


def test_correctors_work_one_after_the_other_and_may_be_anybodys():
    """A plugin gets the shares that the one before it made."""

    class Double:
        group = ""
        notes = ()

        def __init__(self, corrector, instance, options, rules):
            self.by = options["By"]

        def update(self, reports, now):
            pass

        def correct(self, expected):
            return Correction({name: share * self.by for name, share in expected.items()})

    corrections = Corrections(DOCUMENTED, {"Double": Double, "Triple": Double})
    block = {"ShareCorrectorsToStart": "Triple, Double", "Double": {"I": {"By": 2}}, "Triple": {"J": {"By": 3}}}
    corrections.update(block, history({}))
    assert corrections.correct({"a": 1.0}).shares == {"a": 6.0}
    assert corrections.correct({"ann": 1.0}, "a").shares == {"ann": 1.0}


def test_history_is_asked_for_again_after_its_period():
    requested_spans = []

    def reports(request):
        requested_spans.append(request.span)
        return {"a": 1.0}

    corrections = Corrections(DOCUMENTED, built_in())
    for now in (0, 899, 900):
        corrections.update(instance(S=WIDE), reports, now)
    assert requested_spans == [HOUR, HOUR]


def test_a_corrector_taken_out_while_it_runs_stops_dirac_alone():
    for rules in (DOCUMENTED, DIRAC):
        corrections = corrected(rules, instance(S=WIDE), history({"": {HOUR: {"a": 9, "b": 1}}}))
        if rules is DIRAC:
            with pytest.raises(DiracStopsError, match="removed from"):
                corrections.update({}, history({}))
        else:
            corrections.update({}, history({}))
        assert corrections.correct({"a": 1, "b": 1}).shares == {"a": 1, "b": 1}


def test_every_note_has_words():
    assert {kind.value for kind in NoteKind} == set(WORDS)
