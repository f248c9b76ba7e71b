"""The brokerage of production tasks (docs/panda.md, Production filters and Production weight)."""
