"""One attribute of many ads as one typed vector."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from fairq.common.expression_form import as_expression, expression_text
from fairq.engine.classad.convert import is_scalar, item
from fairq.engine.classad.expression import Expression, constant_size, expression_of, parse
from fairq.engine.classad.kinds import BOOLEAN, EXPRESSION, INTEGER, LIST, MISSING, RAW, REAL, STRING, Absent
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.parser import wrapped_integer
from fairq.engine.classad.vectors import MIXED, Array, Rows, ValuePool, Vector, kinds_in, merge
from fairq.engine.distinct import distinct

ABSENT: Final = object()


class Column:
    """The values of one attribute: a vector with three more kinds, MISSING, EXPRESSION and RAW.

    Codes of EXPRESSION rows count in `expressions`, those of RAW rows (nested ads, lists that hold more than
    constants) in `raw`.
    """

    def __init__(self, vector: Vector, expressions: list[Expression], raw: list[Any]) -> None:
        self.vector = vector
        self.expressions = expressions
        self.raw = raw
        self.kinds = frozenset([vector.kind] if vector.kind != MIXED else kinds_in(vector.kind_array(0)))
        self._size: int | None = None

    @cached_property
    def unevaluated(self) -> list[Node | None]:
        """The trees of all values that are not constants; None for an unreadable one."""
        raw = [expression_of(value).node for value in self.raw if constant_size(value) is None]
        return [expression.node for expression in self.expressions] + raw

    @cached_property
    def shape(self) -> Hashable:
        """Return a key: expressions read the same attributes of columns with equal keys."""
        raw = tuple(map(repr, self.raw))
        return self.is_missing, self.may_be_missing, tuple(expression.text for expression in self.expressions), raw

    @cached_property
    def values(self) -> Hashable:
        """Return a key that differs for columns of different values; both need the same number of rows and one pool."""
        vector = self.vector
        arrays = (vector.data, vector.kinds, vector.codes, vector.reals)
        return vector.kind, self.shape, tuple(None if array is None else array.tobytes() for array in arrays)

    def keys(self, rows: int) -> Sequence[Hashable]:
        """Return a key for each of the *rows* rows; keys are equal only for equal values, in columns of one pool."""
        vector = self.vector
        texts = [expression.text for expression in self.expressions]
        raw = list(map(repr, self.raw))

        def key_of(kind: int, code: int) -> Hashable:
            return texts[code] if kind == EXPRESSION else raw[code] if kind == RAW else code

        if vector.kinds is None:
            kind = vector.kind
            if vector.data is None:
                return [kind] * rows
            # Reals by their bits: 0.0 and -0.0 are not equal.
            data = (vector.data.view(np.int64) if kind == REAL else vector.data).tolist()
            keys = [(kind, key_of(kind, code)) for code in data]
            return keys * rows if len(keys) == 1 else keys
        assert vector.codes is not None
        reals = [0] * rows if vector.reals is None else vector.reals.view(np.int64).tolist()
        return [
            (kind, real if kind == REAL else key_of(kind, code))
            for kind, code, real in zip(vector.kinds.tolist(), vector.codes.tolist(), reals, strict=True)
        ]

    def size(self, pool: ValuePool) -> int:
        """Return the largest size of a constant: a string's characters, or a list's elements with their own sizes."""
        if self._size is None:
            sizes = [constant_size(value) or 0 for value in self.raw]
            if not self.kinds.isdisjoint((STRING, LIST)):
                sizes += [constant_size(text) or 0 for text in self.strings(pool)]
                sizes += [constant_size(pool.lists.items[code]) or 0 for code in self._codes(LIST)]
            self._size = max(sizes, default=0)
        return self._size

    def of_rows(self, rows: Rows) -> Column:
        """Return the column of *rows*, with only the expressions and raw values that these rows have."""
        vector = self.vector.take(rows)
        part = Column(vector, self.expressions, self.raw)
        expressions, raw = part._codes(EXPRESSION), part._codes(RAW)
        vector = _renumber_codes(_renumber_codes(vector, EXPRESSION, expressions), RAW, raw)
        return Column(vector, [self.expressions[code] for code in expressions], [self.raw[code] for code in raw])

    def strings(self, pool: ValuePool) -> list[str]:
        """Return all distinct strings of the column."""
        return [pool.strings.texts[code] for code in self._codes(STRING)]

    def _codes(self, kind: int) -> list[int]:
        vector = self.vector
        if vector.kind == kind:
            assert vector.data is not None
            return distinct(vector.data).tolist()  # type: ignore[no-any-return]
        if vector.kinds is None or vector.codes is None:
            return []
        return distinct(vector.codes[vector.kinds == kind]).tolist()  # type: ignore[no-any-return]

    @property
    def may_be_missing(self) -> bool:
        """Return whether some ad lacks the attribute."""
        return MISSING in self.kinds

    @property
    def is_missing(self) -> bool:
        """Return whether every ad lacks the attribute."""
        return self.vector.kind == MISSING

    @property
    def is_constant(self) -> bool:
        """Return whether one value is stored for all ads."""
        return self.vector.is_constant()

    def json_value(self, row: int, pool: ValuePool) -> Any:
        """Return the attribute of *row* in JSON form, ABSENT if it has none."""
        vector = self.vector
        kind = vector.kind if vector.kinds is None else int(vector.kinds[row])
        if kind == MISSING:
            return ABSENT
        if kind in (EXPRESSION, RAW):
            codes = vector.data if vector.kinds is None else vector.codes
            assert codes is not None
            code = int(codes[row if len(codes) > 1 else 0])
            return as_expression(self.expressions[code].text) if kind == EXPRESSION else self.raw[code]
        return item(vector, row, pool)


def build(values: list[Any], pool: ValuePool) -> Column:
    """Return the column of *values* in JSON form; ABSENT where an ad lacks the attribute."""
    types = set(map(type, values))
    column = _Builder(pool)
    if len(types) == 1 and (only := types.pop()) in (int, bool, float, str):
        vector = column.of_one_type(only, values)
    else:
        vector = column.of_many_types(values)
    return Column(_compacted(vector), column.expressions, column.raw)


def build_array(values: Array, pool: ValuePool) -> Column:
    """Return the column of a NumPy array of booleans, integers, reals or Python values."""
    kind = {"b": BOOLEAN, "i": INTEGER, "u": INTEGER, "f": REAL}.get(values.dtype.kind)
    if kind is None:
        return build([ABSENT if value is None else value for value in values.tolist()], pool)
    dtype = {BOOLEAN: np.bool_, INTEGER: np.int64, REAL: np.float64}[kind]
    return Column(_compacted(Vector(kind, values.astype(dtype))), [], [])


def build_numbers(values: Array, present: Array) -> Column:
    """Return the column of *values*, whole numbers as integers; ads that are not *present* lack the attribute."""
    integral = values == np.floor(values)
    if present.all() and integral.all():
        return build_array(values.astype(np.int64), ValuePool())
    kinds = np.where(present, np.where(integral, np.uint8(INTEGER), np.uint8(REAL)), np.uint8(MISSING))
    codes = np.where(integral, values, 0.0).astype(np.int64)
    return Column(Vector(MIXED, kinds=kinds, codes=codes, reals=values.astype(np.float64)), [], [])


def _renumber_codes(vector: Vector, kind: int, codes: list[int]) -> Vector:
    """Return *vector* with each code of *kind* replaced by its position in *codes*, which are ascending."""
    if vector.kind == kind:
        assert vector.data is not None
        return Vector(kind, np.searchsorted(codes, vector.data))
    if vector.kinds is None or vector.codes is None or not codes:
        return vector
    new_codes = np.where(vector.kinds == kind, np.searchsorted(codes, vector.codes), vector.codes)
    return Vector(MIXED, kinds=vector.kinds, codes=new_codes, reals=vector.reals)


def _compacted(vector: Vector) -> Vector:
    """Return *vector* stored as one value if all rows are equal."""
    data = vector.data
    if data is None or len(data) < 2 or data[0] != data[-1] or not (data == data[0]).all():
        return vector
    if vector.kind == REAL and len(distinct(data.view(np.int64))) > 1:  # 0.0 and -0.0
        return vector
    return Vector(vector.kind, data[:1].copy())


class _Builder:
    def __init__(self, pool: ValuePool) -> None:
        self._pool = pool
        self.expressions: list[Expression] = []
        self.raw: list[Any] = []

    def of_one_type(self, only: type, values: list[Any]) -> Vector:
        if only is str:
            return self._strings(values)
        if only is bool:
            return Vector(BOOLEAN, np.array(values, np.bool_))
        if only is float:
            return Vector(REAL, np.array(values, np.float64))
        try:
            return Vector(INTEGER, np.array(values, np.int64))
        except OverflowError:
            return Vector(INTEGER, np.array([wrapped_integer(value) for value in values], np.int64))

    def _strings(self, values: list[str]) -> Vector:
        if len(values) > 1 and values[0] == values[-1] and values.count(values[0]) == len(values):
            values = values[:1]
        strings = ValuePool().strings
        codes = np.fromiter(map(strings.__getitem__, values), np.int64, len(values))
        kinds = np.empty(len(strings.texts), np.uint8)
        new_codes = np.empty(len(strings.texts), np.int64)
        for code, text in enumerate(strings.texts):
            inner = expression_text(text)
            if inner is None:
                kinds[code], new_codes[code] = STRING, self._pool.strings[text]
            else:
                kinds[code], new_codes[code] = EXPRESSION, len(self.expressions)
                self.expressions.append(parse(inner))
        if (kinds == kinds[0]).all():
            return Vector(int(kinds[0]), new_codes[codes])
        return Vector(MIXED, kinds=kinds[codes], codes=new_codes[codes])

    def of_many_types(self, values: list[Any]) -> Vector:
        numbers_by_type = {value_type: number for number, value_type in enumerate(dict.fromkeys(map(type, values)))}
        type_numbers = np.fromiter(map(numbers_by_type.__getitem__, map(type, values)), np.intp, len(values))
        parts = []
        for value_type, number in numbers_by_type.items():
            rows = np.flatnonzero(type_numbers == number)
            parts.append((rows, self._part(value_type, [values[row] for row in rows.tolist()])))
        return merge(len(values), parts)

    def _part(self, value_type: type, values: list[Any]) -> Vector:
        if value_type in (int, bool, float, str):
            return self.of_one_type(value_type, values)
        if value_type is object:
            return Vector(MISSING)
        if issubclass(value_type, Absent) or value_type is type(None):
            undefined = np.array([value is None or value.value == "undefined" for value in values])
            return merge(len(values), [(np.nonzero(undefined)[0], Vector(0)), (np.nonzero(~undefined)[0], Vector(1))])
        kinds = np.empty(len(values), np.uint8)
        codes = np.empty(len(values), np.int64)
        for index, value in enumerate(values):
            if isinstance(value, int | float | str):
                return self.of_many_types([_plain(other) for other in values])
            if not isinstance(value, Mapping) and all(
                is_scalar(element) and expression_text(element) is None for element in value
            ):
                kinds[index], codes[index] = LIST, self._pool.lists.code(tuple(value))
            else:
                kinds[index], codes[index] = RAW, len(self.raw)
                self.raw.append(value)
        return Vector(MIXED, kinds=kinds, codes=codes)


def _plain(value: Any) -> Any:
    """Return the plain Python number or string for one of a derived type, for example a NumPy scalar."""
    if isinstance(value, str):
        return str(value)
    return float(value) if isinstance(value, float) else int(value)
