"""Filters and weights by topic: each file tells its rule whole, for production and analysis."""
