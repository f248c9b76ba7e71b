"""The budget of expressions: measurement and end of evaluations."""
