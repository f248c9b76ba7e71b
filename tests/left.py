"""What is left of the rules of the house that are not kept everywhere yet: these lists may only shrink.

Names of modules are those below `fairq`.
"""

NAMED_BY_A_PARTICIPLE = (
    "engine.classad.apart",
    "engine.classad.metered",
    "engine.classad.reduced",
)
"""Modules whose name ends as a participle or is a riddle; a file is a noun of the field."""

KEYED_BY_ID = (
    "engine.accounting.accountant",
    "engine.classad.costs",
    "engine.classad.reduced",
    "engine.quotas.order",
    "engine.simulation.simulation",
    "settings.dirac.translate",
    "state.idle_columns",
    "host.client.changes",
    "steps.jobs.submit",
    "steps.reports.report",
)
"""Modules that know something by the `id` of an object, not by what it depends on."""
