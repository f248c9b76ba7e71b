"""One negotiation cycle on the state: load the pool, decide, store; and the engine's input from settings."""
