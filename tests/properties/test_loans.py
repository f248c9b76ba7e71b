"""Laws of what groups borrow: which of their stays on slots are above their quota, and until when."""

from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.quotas.loans import Stay, borrowed_until

TIMES = st.integers(0, 20)


@st.composite
def lives(draw):
    """Draw stays in two groups, some of which go on, and the groups' quotas."""
    weights = st.sampled_from([1.0, 1.0, 2.0, 0.5, 8.0])
    stays = []
    for _ in range(draw(st.integers(0, 14))):
        start = draw(TIMES)
        end = draw(st.none() | st.integers(start, 25))
        stays.append(Stay(draw(st.sampled_from("ab")), draw(weights), start, end))
    return stays, {"a": draw(st.sampled_from([0.0, 1.0, 2.5, 4.0, 9.0]))}


def running(stays, now):
    """The stays at a moment, in their order, as they look then."""
    return [stay._replace(end=None) for stay in stays if stay.start <= now and (stay.end is None or now < stay.end)]


@given(lives(), TIMES)
def test_what_is_borrowed_at_a_moment_follows_from_what_runs_then(life, now):
    stays, quotas = life
    then = {id(stay): until for stay, until in zip(stays, borrowed_until(stays, quotas), strict=True)}
    there = [stay for stay in stays if stay.start <= now and (stay.end is None or now < stay.end)]
    seen = [until is None for until in borrowed_until(running(stays, now), quotas)]
    assert seen == [then[id(stay)] is None or then[id(stay)] > now for stay in there]


@given(lives(), TIMES)
def test_borrowed_and_own_are_what_is_in_use_and_own_is_within_the_quota(life, now):
    stays, quotas = life
    there = running(stays, now)
    until = borrowed_until(there, quotas)
    for group in "ab":
        quota = quotas.get(group, 0.0)
        members = [(stay, end is None) for stay, end in zip(there, until, strict=True) if stay.group == group]
        own = sum(stay.weight for stay, is_borrowed in members if not is_borrowed)
        borrowed = sum(stay.weight for stay, is_borrowed in members if is_borrowed)
        assert own + borrowed == sum(stay.weight for stay, _ in members)
        assert own <= quota + 0.5
        # The latest ones are borrowed, and no more than it takes.
        first = min((stay.start for stay, is_borrowed in members if is_borrowed), default=None)
        assert first is None or all(stay.start <= first for stay, is_borrowed in members if not is_borrowed)
        assert first is None or own + max(stay.weight for stay, is_borrowed in members if is_borrowed) > quota


@given(lives())
def test_a_stay_is_borrowed_from_its_start_to_its_end_at_most(life):
    stays, quotas = life
    for stay, until in zip(stays, borrowed_until(stays, quotas), strict=True):
        last = 10**9 if stay.end is None else stay.end
        assert (until is None and stay.end is None) or stay.start <= until <= last
