"""Jobs whose ads have the same names, by column: only what differs within a cluster is looked at job by job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from fairq.dumps.ads import Soundness, same
from fairq.dumps.job_stretches import Stretch
from fairq.dumps.job_terms import IN_TERMS, LARGEST_ID, OWN, SPELLINGS, TELLING, Terms, TermsReader, schedd_of
from fairq.dumps.repetition import RepeatedAds
from fairq.dumps.shapes import is_one
from fairq.errors.pool import InvalidAdError
from fairq.records import Ad

_TELLING = frozenset(TELLING)
_EXACT = {str, int, bool}
"""Types of which no value equals another that is written otherwise."""


class JobsOfShape(NamedTuple):
    """The stretches of jobs, by runs of a schedd and cluster, and how many jobs are left out, by reason."""

    stretches: list[tuple[tuple[str, int], list[Stretch]]]
    left_out: Counter[str]


class _Rows(NamedTuple):
    """Runs of jobs by row: the number of the first ad, schedd and cluster, the first and last proc, and the terms.

    Those that are left out have no terms.
    """

    numbers: Sequence[int]
    of: Sequence[tuple[str, int]]
    firsts: Sequence[int]
    lasts: Sequence[int]
    terms: Sequence[Terms | None]


class _Rests(NamedTuple):
    """What the terms do not have of the ads: *steady* values, but for the *values* of the attributes *names* by row."""

    steady: Ad
    names: Sequence[str]
    values: Sequence[tuple[Any, ...]]

    @classmethod
    def of(cls, part: RepeatedAds, removed: Collection[str]) -> _Rests:
        """Return those of *part* without the attributes *removed*."""
        left = {name: column for name, column in part.varying.items() if name not in removed}
        values = list(zip(*left.values(), strict=True)) if left else [()] * part.size
        return cls({name: value for name, value in part.ad.items() if name not in removed}, tuple(left), values)

    def at(self, row: int) -> Ad:
        """Return the rest of the ads of a row."""
        return {**self.steady, **dict(zip(self.names, self.values[row], strict=True))}


class JobsByColumn:
    """Reads jobs by column."""

    def __init__(self, terms: TermsReader, soundness: Soundness) -> None:
        self._terms = terms
        self._soundness = soundness

    def of(self, part: RepeatedAds, numbers: Sequence[int], lasts: Sequence[int] | None = None) -> JobsOfShape | None:
        """Return the jobs of *part*, the *numbers*-th ads of the dump; None if they must be looked at one by one.

        With *lasts*, each ad stands for a run of jobs up to this proc.
        """
        names = SPELLINGS.of(part.ad)
        if len({name.lower() for name in part.ad}) < len(part.ad):
            return None
        clusters, firsts = (_column(part, names, lower) for lower in ("clusterid", "procid"))
        lasts = firsts if lasts is None else lasts
        if not (_are_numbers(clusters, 1) and _are_numbers(firsts, 0) and _are_numbers(lasts, 0)):
            return None
        own = {names[lower] for lower in OWN if lower in names}
        left_out: Counter[str] = Counter()
        try:
            steady = {name: value for name, value in part.ad.items() if name not in own}
            steady = self._soundness.tidied(steady, numbers[0])
            columns = {
                name: self._soundness.tidied_column(name, column, numbers[0])
                for name, column in part.varying.items()
                if name not in own
            }
            found = self._terms_of(steady, columns, names, numbers)
        except InvalidAdError:
            return None
        if found is None:
            return None
        for (_, why), first, last in zip(found, firsts, lasts, strict=True):
            if why is not None:
                left_out[why] += last - first + 1
        of = list(zip(_schedds(part, names), clusters, strict=True))
        rows = _Rows(numbers, of, firsts, lasts, [terms for terms, _ in found])
        return JobsOfShape(_stretches_of(rows, RepeatedAds(steady, columns, part.size), names), left_out)

    def _terms_of(
        self, steady: Ad, columns: Mapping[str, Sequence[Any]], names: Mapping[str, str], numbers: Sequence[int]
    ) -> list[tuple[Terms | None, str | None]] | None:
        """Return the terms of each row, or why it is left out; None if equal values may have several meanings."""
        telling = [name for name in columns if name.lower() in _TELLING]
        kinds = [set(map(type, columns[name])) for name in telling]
        if not all(len(of_name) == 1 and of_name <= _EXACT for of_name in kinds):
            return None
        ad = {name: value for name, value in steady.items() if name.lower() in _TELLING}
        known: dict[tuple[Any, ...], tuple[Terms | None, str | None]] = {}
        keys = list(zip(*(columns[name] for name in telling), strict=True)) if telling else [()] * len(numbers)
        for number, key in zip(numbers, keys, strict=True):
            if key not in known:
                of_key = {**ad, **dict(zip(telling, key, strict=True))}
                why = self._terms.why_left_out(of_key, names, number)
                known[key] = (None if why else self._terms.terms(of_key, names, number)), why
        return list(map(known.__getitem__, keys))


def _column(part: RepeatedAds, names: Mapping[str, str], lower: str) -> Sequence[Any]:
    """Return an attribute of each job, None where it has none."""
    return part.column(names.get(lower, ""))


def _are_numbers(values: Sequence[Any], lowest: int) -> bool:
    return set(map(type, values)) == {int} and min(values) >= lowest and max(values) <= LARGEST_ID


def _schedds(part: RepeatedAds, names: Mapping[str, str]) -> Iterator[str]:
    of_name = (name if isinstance(name, str) else "" for name in _column(part, names, "scheddname"))
    if "globaljobid" not in names:
        yield from of_name
        return
    for job_id, name in zip(_column(part, names, "globaljobid"), of_name, strict=True):
        schedd = schedd_of(job_id)
        yield name if schedd is None else schedd


def _stretches_of(
    rows: _Rows, part: RepeatedAds, names: Mapping[str, str]
) -> list[tuple[tuple[str, int], list[Stretch]]]:
    """Return the jobs of all rows, whose ads are those of *part*, by runs of a schedd and cluster."""
    removed = {names[lower] for lower in IN_TERMS if lower in names}
    rests: dict[bool, _Rests] = {}
    found: list[tuple[tuple[str, int], list[Stretch]]] = []
    last_row, last = -1, Stretch(-1, 0, 0, Terms("", "", 0, 0, 0, 0, None), {})
    for start, end, is_reason_taken in _runs(rows):
        rest = rests.get(is_reason_taken)
        if rest is None:
            more = {names["holdreason"]} if is_reason_taken else set()
            rest = rests[is_reason_taken] = _Rests.of(part, removed | more)
        if end - start > 1:
            found.append((rows.of[start], _stretches(rows, rest, start, end)))
            continue
        terms = rows.terms[start]
        assert terms is not None
        number, first = rows.numbers[start], rows.firsts[start]
        # Jobs in succession that are the same but for their numbers share what is left of their ads.
        is_same = (
            terms is last.terms
            and number == last.number + last.last - last.first + 1
            and rest.values[start] == rest.values[last_row]
            and all(map(same, rest.values[start], rest.values[last_row]))
        )
        last_row, last = (
            start,
            Stretch(number, first, rows.lasts[start], terms, last.rest if is_same else rest.at(start)),
        )
        found.append((rows.of[start], [last]))
    return found


def _runs(rows: _Rows) -> Iterator[tuple[int, int, bool]]:
    """Yield from where to where jobs of one schedd and cluster are, and whether the reason of a hold is in their terms.

    Jobs that are left out are in no run.
    """
    start, of, is_taken = -1, ("", 0), False
    for row, (of_row, terms) in enumerate(zip(rows.of, rows.terms, strict=True)):
        if start >= 0:
            if terms is not None and of_row == of and (terms.reason is not None) == is_taken:
                continue
            yield start, row, is_taken
        if terms is None:
            start = -1
        else:
            start, of, is_taken = row, of_row, terms.reason is not None
    if start >= 0:
        yield start, len(rows.of), is_taken


def _stretches(rows: _Rows, rests: _Rests, start: int, end: int) -> list[Stretch]:
    """Return the jobs of the rows from *start* to before *end*."""
    columns = list(zip(*rests.values[start:end], strict=True))
    own = [place for place, column in enumerate(columns) if column[0] != column[-1] or not is_one(column)]
    names = tuple([rests.names[place] for place in own])
    values = zip(*[columns[place] for place in own], strict=True) if own else repeat((), end - start)
    rest = rests.at(start)
    of_rows = zip(*(column[start:end] for column in (rows.numbers, rows.firsts, rows.lasts, rows.terms)), strict=True)
    found: list[Stretch] = []
    next_number = next_proc = -1
    before: Terms | None = None
    for (number, first, last, terms), of_row in zip(of_rows, values, strict=True):
        assert terms is not None
        if not own and terms is before and (number, first) == (next_number, next_proc):
            found[-1].last = last
        else:
            found.append(Stretch(number, first, last, terms, rest, names, of_row))
        before, next_number, next_proc = terms, number + last - first + 1, last + 1
    return found
