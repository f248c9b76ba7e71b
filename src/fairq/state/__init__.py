"""The state file: the only place with SQL."""
