"""ClassAd expressions: parsed once, evaluated for one ad against many at once.

The meaning of every expression is that of HTCondor's own ClassAd library, which also evaluates whatever the
columns cannot. Pure: the time comes from the caller, as ``AdColumns(ads, now=...)``.
"""

from fairq.engine.classad.api import (
    attributes_read,
    evaluate_in_ad,
    evaluate_in_columns,
    evaluate_scalar,
)
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.expression import Expression, expression_of, parse
from fairq.engine.classad.kinds import (
    BOOLEAN,
    ERROR,
    ERROR_KIND,
    INTEGER,
    OTHER,
    REAL,
    STRING,
    UNDEFINED,
    UNDEFINED_KIND,
)
from fairq.engine.classad.references import EVERY_ATTRIBUTE
from fairq.engine.classad.values import Values

__all__ = [
    "BOOLEAN",
    "ERROR",
    "ERROR_KIND",
    "EVERY_ATTRIBUTE",
    "INTEGER",
    "OTHER",
    "REAL",
    "STRING",
    "UNDEFINED",
    "UNDEFINED_KIND",
    "AdColumns",
    "Expression",
    "Values",
    "attributes_read",
    "evaluate_in_ad",
    "evaluate_in_columns",
    "evaluate_scalar",
    "expression_of",
    "parse",
]
