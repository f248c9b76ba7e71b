"""Likely misconfigurations of a pool, and queues that no task can match."""
