"""The pool of a host: how it is made, taken back and checked (docs/pool.md)."""
