"""Undo changes: the data stored with a change, and the undo of each kind."""
