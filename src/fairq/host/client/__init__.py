"""The user's side of a host's pool: reads a copy of its state, and asks its program for changes."""
