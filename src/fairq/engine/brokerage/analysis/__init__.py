"""The brokerage of analysis tasks (reference panda 5)."""
