"""Many negotiation cycles on a clock of their own, over data in memory (DESIGN: looking ahead and back)."""
