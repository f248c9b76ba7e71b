"""The tree of accounting groups: quotas, surplus, and the order in which groups negotiate."""
