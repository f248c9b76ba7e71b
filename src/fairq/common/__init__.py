"""Modules for all packages: the records that they exchange, quantities and periods, files and locks."""
