"""The tree of accounting groups: as it is, as it would be, and what is wrong with it."""
