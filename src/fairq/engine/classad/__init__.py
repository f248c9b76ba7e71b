"""ClassAd expressions: parsed once, evaluated for one ad against many at once.

Every expression has the same meaning as in HTCondor's own ClassAd library. The library also evaluates whatever the
columns cannot. The package is pure: the caller gives the time, as in ``AdColumns(ads, now=...)``.

Names are loaded on first use: a caller that only parses or evaluates one expression does not load NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairq.engine.classad.budget import EvaluationBudget
    from fairq.engine.classad.columns import AdColumns
    from fairq.engine.classad.evaluation import attributes_read, columns_read, evaluate_in_ad, evaluate_in_columns
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
    from fairq.engine.classad.scalar import evaluate_alone, evaluate_each, evaluate_scalar
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
    "EvaluationBudget",
    "Expression",
    "Values",
    "attributes_read",
    "columns_read",
    "evaluate_alone",
    "evaluate_each",
    "evaluate_in_ad",
    "evaluate_in_columns",
    "evaluate_scalar",
    "expression_of",
    "parse",
]

_HOMES = {
    "evaluation": ("attributes_read", "columns_read", "evaluate_in_ad", "evaluate_in_columns"),
    "budget": ("EvaluationBudget",),
    "columns": ("AdColumns",),
    "expression": ("Expression", "expression_of", "parse"),
    "references": ("EVERY_ATTRIBUTE",),
    "scalar": ("evaluate_alone", "evaluate_each", "evaluate_scalar"),
    "values": ("Values",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'kinds')}"), name)
    globals()[name] = value
    return value
