"""The sentences that people read, made of what the engine found: the engine returns reasons as data."""
