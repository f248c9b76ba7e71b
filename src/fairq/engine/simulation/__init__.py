"""Many negotiation cycles on a simulated clock, over data in memory (DESIGN: looking ahead and back)."""
