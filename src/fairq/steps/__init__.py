"""One file per step: load from the state, let the engine decide, store."""
