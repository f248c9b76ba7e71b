"""Sets of functions by the way they are evaluated and by their cost; names are in lower case."""

from __future__ import annotations

from typing import Final

TIMES: Final = frozenset(
    {"abstime", "reltime", "isabstime", "isreltime", "currenttime", "daytime"}
    | {"timezoneoffset", "formattime", "splittime", "getyear", "getmonth", "getdayofyear"}
    | {"getdayofmonth", "getdayofweek", "getdays", "gethours", "getminutes", "getseconds"}
)
"""Functions with times as values or arguments: Python cannot tell times from numbers, so the library evaluates them."""

UNSCOPED: Final = frozenset(
    ["eval", "unparse", "unresolved", "evalineachcontext", "countmatches", "debug", "usermap", "userhome"]
)
"""Functions that read the unevaluated argument, or values outside their arguments."""

RANDOM: Final = "random"
"""The function whose value differs from row to row although it reads no attribute."""

LINEAR: Final = frozenset[str]().union(
    TIMES,
    ["time", "random", "interval", "ifthenelse", "pow", "quantize", "floor", "ceil", "ceiling", "round"],
    ["int", "real", "bool", "string", "isboolean", "isclassad", "iserror", "isinteger", "islist", "isreal"],
    ["isstring", "isundefined", "member", "identicalmember", "anycompare", "allcompare", "size", "sum"],
    ["avg", "min", "max", "strcat", "strcmp", "stricmp", "substr", "tolower", "toupper", "split"],
    ["splitslotname", "splitusername", "envv1tov2", "argstolist", "listtoargs", "stringlistavg"],
    ["stringlistimember", "stringlistmax", "stringlistmember", "stringlistmin", "stringlistsize"],
    ["stringlistsum", "version_in_range", "versioncmp", "versioneq", "versionge", "versiongt", "versionle"],
    ["versionlt"],
)
"""Functions whose cost and value size grow at most linearly with the sizes of their arguments."""

PRODUCTS: Final = frozenset(
    ["join", "mergeenvironment", "stringlistsubsetmatch", "stringlistisubsetmatch", "stringlistsintersect"]
)
"""Functions whose cost or value size grows with the product of the sizes of their arguments."""

PATTERNS: Final = frozenset(["regexp", "regexps", "regexpmember", "replace", "replaceall", "stringlist_regexpmember"])
"""Functions whose first argument is a regular expression."""

TAKE_LISTS: Final = frozenset(
    {"member", "identicalmember", "anycompare", "allcompare", "size", "sum", "avg", "min", "max", "quantize"}
    | {"regexpmember", "islist"}
)
"""Functions for which a list is its elements; to all others, it may be the text in which it is written."""

PER_ELEMENT: Final = frozenset(["evalineachcontext", "countmatches"])
"""Functions that evaluate their first argument once for each element of the second."""
