"""The brokerage of production tasks (reference panda 3 and 4)."""
