"""How a task goes through filters and weights, and what is told of it; common to production and analysis."""
