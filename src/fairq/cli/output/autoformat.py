"""``--af``: HTCondor's autoformat, for scripts that know it from condor_q and condor_status.

The modifiers are those of the manual's ``-af[:jlhVr,tng]``: *j* the job's id first, *l* ``Attr = value``, *h*
headings, *V* strings in quotes, *r* expressions unevaluated, a comma behind or a tab before each value, *n* a
line per value, *g* a blank line before each record. Separators are put as ``AttrListPrintMask`` puts them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TextIO

from fairq.cli.output.selection import Output
from fairq.cli.output.text import escape, width
from fairq.cli.output.view import Record
from fairq.common.expression_form import as_expression, expression_text

if TYPE_CHECKING:
    from fairq.engine.classad import EvaluationBudget

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BATCH: Final = 1000


def write(records: Iterable[Record], output: Output, stream: TextIO) -> None:
    """Write the requested attributes.

    Raises:
        ExpressionError: one does not parse.
        EvaluationBudgetError: evaluating them takes too long.
    """
    modifiers = output.modifiers
    budget = cache(_listing_budget)
    readers = [_reader(attribute, modifiers, budget) for attribute in output.attributes]
    if "j" in modifiers:
        readers.insert(0, _job_ids)
    headings = ["ID"] * ("j" in modifiers) + [escape(attribute) for attribute in output.attributes]
    rows: Iterable[Sequence[str]] = _rows(readers, records)
    before, between = _separators(modifiers)
    if "h" in modifiers and output.header:
        rows = _aligned(headings, list(rows))
    elif "l" in modifiers:
        rows = ([f"{name} = {text}" for name, text in zip(headings, row, strict=True)] for row in rows)
    stream.writelines(f"{before}{between.join(row)}\n" for row in rows)


def check(attributes: Iterable[str]) -> None:
    """Raise ExpressionError if one of *attributes* is neither a name nor an expression that parses."""
    for attribute in attributes:
        if not _is_name(attribute):
            _parsed(attribute)


class _Lowered:
    """A record whose attributes are found in any spelling (see `spelled`), searched only where the name differs."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._names: dict[str, Any] | None = None

    def get(self, name: str) -> Any:
        if name in self.record:
            return self.record[name]
        if self._names is None:
            from fairq.steps.evaluation.member_names import spelled

            self._names = {key.lower(): value for key, value in spelled(self.record).items()}
        return self._names.get(name.lower())


_Reader = Callable[[Sequence[_Lowered]], list[str]]


def _rows(readers: Sequence[_Reader], records: Iterable[Record]) -> Iterator[Sequence[str]]:
    """Yield the texts of each record; records are read in batches, for the evaluation of expressions."""
    lowered_records = map(_Lowered, records)
    while batch := list(islice(lowered_records, _BATCH)):
        yield from zip(*(reader(batch) for reader in readers), strict=True)


def _separators(modifiers: str) -> tuple[str, str]:
    """Return the separators before each record and between its values; of conflicting ones, the last wins."""
    before, prefix, suffix = "", " ", ""
    for modifier in modifiers:
        if modifier == ",":
            suffix = ","
        elif modifier == "n":
            suffix = "\n"
        elif modifier == "t":
            prefix = "\t"
        elif modifier == "g":
            before, prefix = "\n", ""
    return before, suffix + prefix


def _aligned(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    table = [list(headings), *rows]
    sizes = [max(width(row[column]) for row in table) for column in range(len(headings))]
    for row in table:
        padded = [text + " " * (size - width(text)) for text, size in zip(row, sizes, strict=True)]
        yield [*padded[:-1], row[-1]]


def _job_ids(records: Sequence[_Lowered]) -> list[str]:
    return [_job_id(record.get("ClusterId"), record.get("ProcId")) for record in records]


def _job_id(cluster: Any, proc: Any) -> str:
    return "undefined" if cluster is None else f"{cluster}.{0 if proc is None else proc}"


def _reader(attribute: str, modifiers: str, budget: Callable[[], EvaluationBudget]) -> _Reader:
    """Return the function that returns the text of *attribute* (a name or an expression) for each record.

    All expressions share one *budget* for evaluation.
    """
    quoted = "V" in modifiers
    if "r" in modifiers or "o" in modifiers:
        if _NAME.fullmatch(attribute):
            return lambda records: [unparsed(record.get(attribute), quoted=True) for record in records]
        _parsed(attribute)
        return lambda records: [attribute] * len(records)
    if not _is_name(attribute):
        expression = _parsed(attribute)
        return lambda records: [unparsed(value, quoted) for value in _evaluated(expression, records, budget())]

    def values(records: Sequence[_Lowered]) -> list[str]:
        results = [record.get(attribute) for record in records]
        indexes = [index for index, value in enumerate(results) if expression_text(value) is not None]
        if indexes:
            evaluated_values = _evaluated(_parsed(attribute), [records[index] for index in indexes], budget())
            for index, value in zip(indexes, evaluated_values, strict=True):
                results[index] = value
        return [unparsed(value, quoted) for value in results]

    return values


def _listing_budget() -> EvaluationBudget:
    from fairq.steps.evaluation.budget import listing_budget

    return listing_budget()


def _is_name(attribute: str) -> bool:
    return bool(_NAME.fullmatch(attribute)) and attribute.lower() not in ("true", "false", "undefined", "error")


def _parsed(text: str) -> Any:
    from fairq.engine.classad import parse

    return parse(text)


def _evaluated(expression: Any, records: Iterable[_Lowered], budget: EvaluationBudget) -> list[Any]:
    from fairq.engine.classad import ERROR, UNDEFINED
    from fairq.steps.evaluation.budget import evaluated

    shown = {UNDEFINED: None, ERROR: as_expression("error")}
    values = evaluated(expression, (record.record for record in records), budget)
    return [shown[value] if isinstance(value, type(ERROR)) else value for value in values]


def unparsed(value: Any, quoted: bool) -> str:
    """Return *value* in HTCondor's old ClassAd syntax; a string has quotes only if *quoted*."""
    if value is None or isinstance(value, bool):
        return {None: "undefined", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, (list, tuple)):
        return "{ " + ",".join(unparsed(item, quoted=True) for item in value) + " }"
    if isinstance(value, Mapping):
        return "[ " + "; ".join(f"{name} = {unparsed(item, True)}" for name, item in value.items()) + " ]"
    text = str(value)
    if isinstance(value, str):
        inner = expression_text(value)
        if inner is not None:
            return escape(inner)
        if quoted:
            text = '"' + text.replace('"', '\\"') + '"'
    return escape(text)


def _real(value: float) -> str:
    if not math.isfinite(value):
        return 'real("NaN")' if math.isnan(value) else f'real("{"-" if value < 0 else ""}INF")'
    text = f"{value or 0.0:.16G}"  # no sign of a zero
    return text if "." in text or "E" in text else text + ".0"
