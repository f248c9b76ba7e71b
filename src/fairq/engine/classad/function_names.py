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
