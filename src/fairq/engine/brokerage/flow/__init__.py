"""Filters and weights applied to a task, and the result; shared by production and analysis."""
