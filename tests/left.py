"""What is left of the rules of the house that are not kept everywhere yet: these lists may only shrink.

Names of modules are those below `fairq`.
"""

NAMED_BY_A_PARTICIPLE: tuple[str, ...] = ()
"""Modules whose name ends as a participle or is a riddle; a file is a noun of the field."""

KEYED_BY_ID = (
    "engine.classad.costs",
    "engine.classad.partial_evaluation",
    "host.client.changes",
    "steps.jobs.submit",
)
"""Modules that know something by the `id` of an object, not by what it depends on."""
