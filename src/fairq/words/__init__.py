"""Turn the engine's findings into sentences: the engine returns reasons as data."""
