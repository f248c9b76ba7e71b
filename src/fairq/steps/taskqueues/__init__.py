"""DIRAC's task queues on the state: form queues, compute shares, match pilots, explain."""
