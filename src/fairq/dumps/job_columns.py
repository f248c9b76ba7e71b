"""Jobs whose ads have the same names, by column: only what differs within a cluster is looked at job by job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fairq.dumps.ads import Soundness
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
    """The jobs by row: the numbers of their ads, schedds and clusters, procs, terms (None for one that is left out)."""

    numbers: Sequence[int]
    of: Sequence[tuple[str, int]]
    procs: Sequence[int]
    terms: Sequence[Terms | None]


class _Rests(NamedTuple):
    """What the terms do not have of the ads: *steady* values, but for *columns* of those of the attributes *names*."""

    steady: Ad
    names: Sequence[str]
    columns: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, ad: Ad, columns: Mapping[str, Sequence[Any]], removed: Collection[str]) -> _Rests:
        """Return those of ads like *ad*, but for *columns*, without the attributes *removed*."""
        left = {name: column for name, column in columns.items() if name not in removed}
        return cls({name: value for name, value in ad.items() if name not in removed}, tuple(left), [*left.values()])


class JobsByColumn:
    """Reads jobs by column."""

    def __init__(self, terms: TermsReader, soundness: Soundness) -> None:
        self._terms = terms
        self._soundness = soundness

    def of(self, part: RepeatedAds, numbers: Sequence[int]) -> JobsOfShape | None:
        """Return the jobs of *part*, the *numbers*-th ads of the dump; None if they must be looked at one by one."""
        names = SPELLINGS.of(part.ad)
        if len({name.lower() for name in part.ad}) < len(part.ad):
            return None
        clusters, procs = (_column(part, names, lower) for lower in ("clusterid", "procid"))
        if not (_are_numbers(clusters, 1) and _are_numbers(procs, 0)):
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
            terms = self._terms_of(steady, columns, names, numbers, left_out)
        except InvalidAdError:
            return None
        if terms is None:
            return None
        of = list(zip(_schedds(part, names), clusters, strict=True))
        rows = _Rows(numbers, of, procs, terms)
        removed = {names[lower] for lower in IN_TERMS if lower in names}
        rests: dict[bool, _Rests] = {}
        found: list[tuple[tuple[str, int], list[Stretch]]] = []
        for start, end, is_reason_taken in _runs(rows):
            rest = rests.get(is_reason_taken)
            if rest is None:
                more = {names["holdreason"]} if is_reason_taken else set()
                rest = rests[is_reason_taken] = _Rests.of(steady, columns, removed | more)
            found.append((of[start], _stretches(rows, rest, start, end)))
        return JobsOfShape(found, left_out)

    def _terms_of(
        self,
        steady: Ad,
        columns: Mapping[str, Sequence[Any]],
        names: Mapping[str, str],
        numbers: Sequence[int],
        left_out: Counter[str],
    ) -> list[Terms | None] | None:
        """Return the terms of each job, and count those *left_out*; None if equal values may have several meanings."""
        telling = [name for name in columns if name.lower() in _TELLING]
        kinds = [set(map(type, columns[name])) for name in telling]
        if not all(len(of_name) == 1 and of_name <= _EXACT for of_name in kinds):
            return None
        ad = {name: value for name, value in steady.items() if name.lower() in _TELLING}
        known: dict[tuple[Any, ...], tuple[Terms | None, str | None]] = {}
        found: list[Terms | None] = []
        values = zip(*(columns[name] for name in telling), strict=True) if telling else iter([()] * len(numbers))
        for number, key in zip(numbers, values, strict=True):
            one = known.get(key)
            if one is None:
                of_key = {**ad, **dict(zip(telling, key, strict=True))}
                why = self._terms.why_left_out(of_key, names, number)
                one = known[key] = (None if why else self._terms.terms(of_key, names, number)), why
            terms, why = one
            if why is not None:
                left_out[why] += 1
            found.append(terms)
        return found


def _column(part: RepeatedAds, names: Mapping[str, str], lower: str) -> Sequence[Any]:
    """Return an attribute of each job, None where it has none."""
    spelled = names.get(lower, "")
    return part.varying[spelled] if spelled in part.varying else [part.ad.get(spelled)] * part.size


def _are_numbers(values: Sequence[Any], lowest: int) -> bool:
    return set(map(type, values)) == {int} and min(values) >= lowest and max(values) <= LARGEST_ID


def _schedds(part: RepeatedAds, names: Mapping[str, str]) -> Iterator[str]:
    for job_id, name in zip(_column(part, names, "globaljobid"), _column(part, names, "scheddname"), strict=True):
        schedd = schedd_of(job_id)
        yield schedd if schedd is not None else name if isinstance(name, str) else ""


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
    rest = {**rests.steady, **{name: column[start] for name, column in zip(rests.names, rests.columns, strict=True)}}
    columns = [column[start:end] for column in rests.columns] if end - start > 1 else []
    own = [place for place, column in enumerate(columns) if column[0] != column[-1] or not is_one(column)]
    names = tuple([rests.names[place] for place in own])
    values = zip(*[columns[place] for place in own], strict=True) if own else iter([()] * (end - start))
    of_rows = zip(rows.numbers[start:end], rows.procs[start:end], rows.terms[start:end], values, strict=True)
    found: list[Stretch] = []
    next_number = next_proc = -1
    last: Terms | None = None
    for number, proc, terms, of_row in of_rows:
        assert terms is not None
        if not own and terms is last and (number, proc) == (next_number, next_proc):
            found[-1].last = proc
        else:
            found.append(Stretch(number, proc, proc, terms, rest, names, of_row))
        last, next_number, next_proc = terms, number + 1, proc + 1
    return found
