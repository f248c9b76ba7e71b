"""DIRAC's task queues on the state: form them, share, match pilots, explain."""
