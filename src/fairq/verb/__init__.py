"""The narrow verb: what a pool of many people does for somebody who asks, under the account that owns the pool.

It reads one bounded document from standard input, knows the asker from sudo, checks who he is and what he may, makes
the change, and prints one line. Nothing else of the asker reaches it; docs/pool.md says how. No command of fairq leads
here yet.
"""
