"""What is left of the rules of the house that are not kept everywhere yet: these lists may only shrink.

Names of modules are those below `fairq`.
"""

NAMED_BY_A_PARTICIPLE = (
    "cli.broker.importing",
    "cli.output.printing",
    "formats.published",
    "formats.separated",
    "engine.brokerage.flow.pending",
    "engine.brokerage.jobs.memory_needed",
    "engine.brokerage.jobs.scratch_needed",
    "engine.brokerage.jobs.splitting",
    "engine.brokerage.jobs.walltime_needed",
    "engine.brokerage.lint.finding",
    "engine.brokerage.software.judging",
    "engine.classad.apart",
    "engine.classad.metered",
    "engine.classad.reduced",
    "engine.explain.fitting",
    "engine.negotiation.carving",
    "launch.owned",
    "launch.slurm.listing",
    "launch.supervisor.owned",
    "launch.waiting",
    "settings.writing",
    "steps.broker.derived",
    "steps.broker.importing",
    "steps.broker.listing",
    "steps.broker.reading",
    "steps.cycle.sampling",
    "steps.evaluation.spelling",
    "steps.jobs.ended",
    "steps.jobs.matching",
    "steps.launch.decided",
    "steps.launch.holding",
    "steps.pool.finding",
    "steps.pool.import_accounting",
    "steps.pool.standing",
    "steps.quotas.configured",
    "steps.reports.simulated",
    "steps.reports.standing",
    "host.setup.installed",
    "steps.userprio.reported",
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
