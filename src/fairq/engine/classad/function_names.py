"""Functions that need more than the values of their arguments, in lower case."""

from __future__ import annotations

from typing import Final

TIMES: Final = frozenset(
    {"abstime", "reltime", "isabstime", "isreltime", "currenttime", "daytime"}
    | {"timezoneoffset", "formattime", "splittime", "getyear", "getmonth", "getdayofyear"}
    | {"getdayofmonth", "getdayofweek", "getdays", "gethours", "getminutes", "getseconds"}
)
"""Functions that know times, which Python cannot tell from numbers: only the library passes them on."""

UNSCOPED: Final = frozenset(
    ["eval", "unparse", "unresolved", "evalineachcontext", "countmatches", "debug", "usermap", "userhome"]
)
"""Functions that look at the unevaluated argument or at what is not in it at all."""

RANDOM: Final = "random"
"""Differs from row to row although nothing is read."""

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
"""Functions whose work, and whose value's size, grow with the sizes of their arguments and no faster."""

PRODUCTS: Final = frozenset(
    ["join", "mergeenvironment", "stringlistsubsetmatch", "stringlistisubsetmatch", "stringlistsintersect"]
)
"""Functions whose work, or whose value's size, grows with the product of the sizes of their arguments."""

PATTERNS: Final = frozenset(["regexp", "regexps", "regexpmember", "replace", "replaceall", "stringlist_regexpmember"])
"""Functions whose first argument is a regular expression."""

PER_ELEMENT: Final = frozenset(["evalineachcontext", "countmatches"])
"""Functions that evaluate their first argument once for each element of the second."""
