"""Why a cycle decided as it did: slots lost to each test, clause by clause, and what would change it. Pure."""
