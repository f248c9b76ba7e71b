"""The pool of a host: create, remove and check it (docs/pool.md)."""
