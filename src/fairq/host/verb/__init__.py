"""The narrow verb: changes a shared pool for an asker, under the account that owns the pool.

It reads one bounded document from standard input and takes the asker's identity from sudo. It checks the asker's
rights, makes the change, and prints one line. It takes nothing else from the asker; docs/pool.md gives details. No
command of fairq uses it yet.
"""
