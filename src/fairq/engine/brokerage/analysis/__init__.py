"""The brokerage of analysis tasks (docs/panda.md, Analysis)."""
