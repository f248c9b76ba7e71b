"""The pool of a host, as its users see it: reading a copy of its state, and asking its program for changes."""
