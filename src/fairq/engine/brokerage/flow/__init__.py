"""The way of a task through filters and weights, and its result; common to production and analysis."""
