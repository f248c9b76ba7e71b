"""DIRAC's scheme: task queues, shares, corrections of shares, and matching."""
