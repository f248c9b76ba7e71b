"""Reading and writing dumps of a pool: the output of ``condor_status``, ``condor_q`` and the accountant.

The package works with text, records and files only; it does not read or write the state.
"""
