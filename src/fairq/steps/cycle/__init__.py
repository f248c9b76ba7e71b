"""One negotiation cycle on the state: load the pool, decide, store; and the settings as the engine wants them."""
