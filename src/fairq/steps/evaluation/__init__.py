"""The budget of expressions: what measures evaluation, and what ends it."""
