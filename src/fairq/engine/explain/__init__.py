"""The explanation of a cycle's decisions: slots lost to each test, clauses, and changes that would help. Pure."""
